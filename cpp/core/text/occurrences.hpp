// Every occurrence of a term in a line, as text and place: for hashing, and for showing where a verdict comes from.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/text/analyzer.hpp"
#include "core/text/char_grams.hpp"

namespace tallywise::text {

// The text of a term (readable 16 bytes beyond), and from which to which byte of the line it stretches.
struct Occurrence {
    char const* bytes;
    std::size_t length;
    std::size_t begin, end;
};

class Occurrences {
  public:
    explicit Occurrences(Analyzer const& analyzer) : analyzer_(analyzer) {}

    // f(occurrence) over the terms of the line in `scratch`.
    template <class F>
    void each(Scratch& scratch, F&& f) {
        AnalyzerOptions const& options = analyzer_.options();
        Line& line = scratch.line;
        if (options.units == Units::words) return words(scratch, f);
        if (options.units == Units::characters) {
            squeeze_spaces(line);
            char const* const bytes = line.bytes.data();
            each_gram(bytes, line.size, line.ascii, options.min_n, options.max_n, starts_,
                      [&](std::size_t b, std::size_t e) { f(Occurrence{bytes + b, e - b, b, e}); });
            return;
        }
        each_run(line, line.between_spaces(), [&](std::size_t begin, std::size_t end) {
            padded_.each(line.bytes.data() + begin, end - begin, line.ascii, options.min_n, options.max_n,
                         [&](std::size_t b, std::size_t e) {
                             // The spaces around a word are none of the text's: they stand for its first and last byte.
                             std::size_t const first = std::min(begin + (b == 0 ? 0 : b - 1), end - 1);
                             std::size_t const last = std::clamp(begin + e - 1, first + 1, end);
                             f(Occurrence{padded_.bytes() + b, e - b, first, last});
                         });
        });
    }

  private:
    template <class F>
    void words(Scratch& scratch, F&& f) {
        Line const& line = scratch.line;
        auto const range = analyzer_.word_range();
        std::size_t const min_n = range.first, max_n = range.second;  // clang 14 captures no structured binding
        tokens_.clear();
        joined_.clear();
        auto const each_key = [&](std::span<Key const> block) {
            for (Key const& key : block) {
                auto const begin = static_cast<std::size_t>(key.bytes - line.bytes.data());
                if (max_n == 1) {
                    f(Occurrence{key.bytes, key.length, begin, begin + key.length});
                    continue;
                }
                tokens_.push_back({joined_.size(), begin, key.length});
                joined_.insert(joined_.end(), key.bytes, key.bytes + key.length);
                joined_.push_back(' ');
            }
        };
        analyzer_.words(scratch, [](Key const&) {}, each_key);
        joined_.resize(joined_.size() + Line::padding);
        for (std::size_t n = min_n; n <= max_n && n <= tokens_.size(); ++n) {
            for (std::size_t i = 0; i + n <= tokens_.size(); ++i) {
                Token const &first = tokens_[i], &last = tokens_[i + n - 1];
                f(Occurrence{joined_.data() + first.joined, last.joined + last.length - first.joined, first.begin,
                             last.begin + last.length});
            }
        }
    }

    struct Token {
        std::size_t joined, begin, length;
    };

    Analyzer const& analyzer_;
    std::vector<Token> tokens_;
    std::vector<char> joined_;  // the words with one space between them, so that an n-gram is a piece of it
    std::vector<std::size_t> starts_;
    PaddedWord padded_;
};

// Where the terms of a document are in it, as characters of the document: what a verdict can point at.
struct Spans {
    std::vector<std::int64_t> columns, begins, ends;
};

// column_of(term) gives a column, or a negative number for terms to leave out.
template <class F>
Spans spans(Analyzer const& analyzer, Text const& text, F&& column_of) {
    Spans result;
    Scratch scratch;
    analyzer.read(text, scratch, true);
    Occurrences(analyzer).each(scratch, [&](Occurrence const& term) {
        std::int64_t const column = column_of(std::string_view(term.bytes, term.length));
        if (column < 0) return;
        result.columns.push_back(column);
        result.begins.push_back(scratch.line.origin[term.begin]);
        result.ends.push_back(scratch.line.origin[term.end - 1] + std::int64_t{1});
    });
    return result;
}

}  // namespace tallywise::text
