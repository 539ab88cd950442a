// What a document is made of: the options of an analysis, and the terms of a document as keys ready for lookup.
// Built from plain data, so that a scorer without Python can own one.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/characters.hpp"
#include "core/text/deobfuscate.hpp"
#include "core/text/markup.hpp"
#include "core/text/normalize.hpp"
#include "core/text/terms.hpp"
#include "core/text/tokens.hpp"

namespace tallywise::text {

enum class Units : std::uint8_t { words, characters, characters_in_words };

struct AnalyzerOptions {
    Units units = Units::words;
    bool lower = true;
    std::size_t least = 2;  // characters of a word
    bool marks = false;     // words of any length, and each other character that is not white space, are tokens
    std::size_t min_n = 1, max_n = 1;
    bool deobfuscate = false;
    std::vector<std::string> stop_words;
    bool strip_markup = false;  // tags and entities of HTML are no words
};

// Room that a thread uses again for each document.
struct Scratch {
    static constexpr std::size_t block = 64;      // keys between a prefetch and its use
    static constexpr std::size_t many = 1 << 14;  // numbers before they are counted

    Line line;
    std::array<Key, block> keys;
    std::size_t pending = 0;  // keys in use
    std::vector<TermId> words, previous, grams;
    Deobfuscator deobfuscator;
    MarkupStripper stripper;
};

class Analyzer {
  public:
    // The table outlives the analyzer: there is one a process.
    Analyzer(AnalyzerOptions options, CharacterTable const& table) : options_(std::move(options)), table_(table) {
        if (options_.min_n < 1 || options_.max_n < options_.min_n) {
            throw std::invalid_argument("The lengths of n-grams must be at least 1 and rise.");
        }
        for (std::string const& word : options_.stop_words) stop_.insert(Key::of(word), 0);
    }

    AnalyzerOptions const& options() const { return options_; }

    // Least and most words of a term.
    std::pair<std::size_t, std::size_t> word_range() const {
        if (options_.units != Units::words) return {1, 1};
        return {options_.min_n, options_.max_n};
    }

    void set_foldings(std::shared_ptr<Foldings const> foldings) { foldings_ = std::move(foldings); }

    // Leaves the text in scratch.line, normalised; with `track`, also where each byte comes from.
    void read(Text const& text, Scratch& scratch, bool track = false) const { read(text, scratch, runs(), track); }

    // Marked as another analysis of the same line may need it.
    void read(Text const& text, Scratch& scratch, Runs runs, bool track) const {
        Normalizer const normalize({options_.lower, runs, track}, table_, foldings_.get());
        bool const stripped = options_.strip_markup && MarkupStripper::may_have(text);
        Text plain = stripped ? scratch.stripper(text) : text;
        if (options_.deobfuscate) plain = scratch.deobfuscator(plain);
        normalize(plain, scratch.line);
        for (std::uint32_t& place : scratch.line.origin) {
            if (options_.deobfuscate) place = scratch.deobfuscator.origin()[place];
            if (stripped) place = scratch.stripper.origin()[place];
        }
    }

    // What the line of a text must have marked.
    Runs runs() const {
        if (options_.units != Units::words) return Runs::between_spaces;
        return options_.marks ? Runs::both : Runs::words;
    }

    // Whether a line read by one of two analyses with Runs::both serves both of them.
    bool shares_lines_with(Analyzer const& other) const {
        return options_.lower == other.options_.lower && options_.deobfuscate == other.options_.deobfuscate &&
               options_.strip_markup == other.options_.strip_markup && foldings_ == other.foldings_;
    }

    // f(keys) over the words of a line in blocks, stop words left out. Blocks give prefetched lookups time to arrive.
    template <class Prefetch, class F>
    void words(Scratch& scratch, Prefetch&& prefetch, F&& f) const {
        bool const filtered = stop_.size() > 0;
        char const* const bytes = scratch.line.bytes.data();
        Key* const keys = scratch.keys.data();
        std::size_t pending = 0;
        auto const take = [&](std::size_t begin, std::size_t end) {
            keys[pending] = Key::padded(bytes + begin, end - begin);
            if (filtered && stop_.find(keys[pending]) != no_term) return;
            prefetch(keys[pending]);
            if (++pending == Scratch::block) {
                f(std::span<Key const>(keys, pending));
                pending = 0;
            }
        };
        if (options_.marks) {
            each_word_or_mark(scratch.line, take);
        } else {
            each_word(scratch.line, options_.least, take);
        }
        f(std::span<Key const>(keys, pending));
    }

  private:
    AnalyzerOptions options_;
    CharacterTable const& table_;
    std::shared_ptr<Foldings const> foldings_;
    TermTable stop_;
};

}  // namespace tallywise::text
