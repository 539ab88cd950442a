// The numbers of a document's terms. A lexicon that grows numbers what it has not met; a fixed one knows a vocabulary.
//
// In a vocabulary, a word n-gram is the pair of its first n-1 words, already numbered, and its last word: no string is
// built or hashed for it. Where a vocabulary is still to be found, n-grams are those of gram_order.hpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "core/text/analyzer.hpp"
#include "core/text/terms.hpp"

namespace tallywise::text {

class GrowingLexicon {
  public:
    std::size_t size() const { return next_; }
    static constexpr bool knows_grams = false;

    void prefetch(Key const& key) const { words_.prefetch(key); }
    void prefetch_term(Key const& key) const { words_.prefetch_term(key); }

    TermId word(Key const& key) {
        TermId const id = words_.insert(key, next_);
        if (id == next_ && ++next_ == no_term) throw std::length_error("More than 4,294,967,294 distinct terms.");
        return id;
    }

    bool counted(TermId) const { return true; }

    TermTable const& words() const { return words_; }

  private:
    TermTable words_;
    TermId next_ = 0;
};

// Terms of a vocabulary are numbered by their column; beginnings of n-grams that are no terms themselves, behind them.
class FixedLexicon {
  public:
    // `terms` hands out the term of each column; n-grams of words are split at their spaces.
    template <class Terms>
    FixedLexicon(Terms const& terms, std::size_t columns, bool split, std::size_t max_n)
        : columns_(columns), next_(static_cast<TermId>(columns)) {
        if (columns >= no_term) throw std::length_error("More than 4,294,967,294 terms.");
        std::vector<std::vector<TermId>> by_words(1);  // a beginning before what it begins
        for (std::size_t j = 0; j < columns; ++j) {
            std::string_view const term = terms(j);
            std::size_t const n = split ? 1 + static_cast<std::size_t>(std::count(term.begin(), term.end(), ' ')) : 1;
            if (n > max_n && n > 1) continue;
            if (by_words.size() < n) by_words.resize(n);
            by_words[n - 1].push_back(static_cast<TermId>(j));
        }
        // Tables of the size that they need: of 3,500,000 terms, 150,000 are words, which then stay in a cache.
        words_ = TermTable(by_words[0].size());
        for (TermId const j : by_words[0]) words_.insert(Key::of(terms(j)), j);
        for (std::size_t n = 1; n < by_words.size(); ++n) pairs_.emplace_back(by_words[n].size() * 3 / 4);
        for (std::size_t n = 1; n < by_words.size(); ++n) {
            Beginnings known;
            for (TermId const j : by_words[n]) add(terms(j), j, known);
        }
    }

    static constexpr bool knows_grams = true;

    std::size_t size() const { return columns_; }

    void prefetch(Key const& key) const { words_.prefetch(key); }
    void prefetch_term(Key const& key) const { words_.prefetch_term(key); }
    void prefetch(std::size_t n, TermId first, TermId last) const {
        if (n - 2 < pairs_.size()) pairs_[n - 2].prefetch(first, last);
    }

    TermId word(Key const& key) const { return words_.find(key); }
    TermId gram(std::size_t n, TermId first, TermId last) const {
        return first == no_term || last == no_term || n - 2 >= pairs_.size() ? no_term
                                                                             : pairs_[n - 2].find(first, last);
    }

    bool counted(TermId id) const { return id < columns_; }

    // The column of a term given as text, or no_term.
    TermId column(std::string_view term) const {
        TermId gram = no_term;
        for (std::size_t n = 1; n <= pairs_.size() + 1; ++n) {
            std::size_t const end = pairs_.empty() ? term.size() : std::min(term.find(' '), term.size());
            TermId const found = word(Key::of(term.substr(0, end)));
            gram = n == 1 ? found : this->gram(n, gram, found);
            if (gram == no_term || end == term.size()) return counted(gram) ? gram : no_term;
            term.remove_prefix(end + 1);
        }
        return no_term;
    }

  private:
    // The beginnings of the last term, which its neighbour in the order of terms often shares.
    struct Beginnings {
        std::string_view term;
        std::vector<std::pair<std::size_t, TermId>> parts;  // where each ends, and its number
    };

    void add(std::string_view term, TermId column, Beginnings& known) {
        auto const shared = [&](std::size_t end) {
            return term.size() > end && term.substr(0, end + 1) == known.term.substr(0, end + 1);
        };
        while (!known.parts.empty() && !shared(known.parts.back().first)) known.parts.pop_back();
        known.term = term;
        auto [begin, gram] = known.parts.empty() ? std::pair(std::size_t{0}, no_term) : known.parts.back();
        if (!known.parts.empty()) ++begin;
        for (std::size_t n = known.parts.size() + 1;; ++n) {
            std::size_t const end = std::min(term.find(' ', begin), term.size());
            if (end == begin) return;  // two spaces in a row: no analysis gives that
            TermId const word = numbered(words_.insert(Key::of(term.substr(begin, end - begin)), next_));
            bool const last = end == term.size();
            gram = n == 1 ? word : numbered(pairs_[n - 2].insert(gram, word, last ? column : next_));
            if (last) return;
            known.parts.emplace_back(end, gram);
            begin = end + 1;
        }
    }

    TermId numbered(TermId id) {
        if (id == next_ && ++next_ == no_term) throw std::length_error("More than 4,294,967,294 distinct terms.");
        return id;
    }

    TermTable words_;
    std::vector<PairTable> pairs_;
    std::size_t columns_;
    TermId next_;
};

// Appends the numbers of keys whose slots are on their way.
template <class Lexicon>
void look_up(Lexicon& lexicon, std::span<Key const> keys, std::vector<TermId>& ids) {
    for (Key const& key : keys) lexicon.prefetch_term(key);
    std::size_t const before = ids.size();
    ids.resize(before + keys.size());
    TermId* const out = ids.data() + before;
    for (std::size_t k = 0; k < keys.size(); ++k) out[k] = lexicon.word(keys[k]);
}

// Leaves in scratch.words the numbers of a line's words.
template <class Lexicon>
void line_words(Analyzer const& analyzer, Lexicon& lexicon, Scratch& scratch) {
    scratch.words.clear();
    analyzer.words(
        scratch, [&](Key const& key) { lexicon.prefetch(key); },
        [&](std::span<Key const> block) { look_up(lexicon, block, scratch.words); });
}

// Leaves in scratch.grams the numbers of a line's word n-grams, one for each occurrence; no_term where there is none.
// A lexicon that knows words only gives these.
template <class Lexicon>
void word_grams(Analyzer const& analyzer, Lexicon& lexicon, Scratch& scratch) {
    auto &words = scratch.words, &previous = scratch.previous, &grams = scratch.grams;
    line_words(analyzer, lexicon, scratch);
    auto const [min_n, max_n] = std::pair(analyzer.options().min_n, analyzer.options().max_n);
    if (max_n == 1 || !Lexicon::knows_grams) return grams.swap(words);
    if constexpr (Lexicon::knows_grams) {
        grams.clear();
        if (min_n == 1) grams = words;
        previous = words;  // the (n-1)-gram that begins at each word
        constexpr std::size_t ahead = 16;
        for (std::size_t n = 2; n <= max_n && n <= words.size(); ++n) {
            std::size_t const count = words.size() - n + 1;
            auto const prefetch = [&, n](std::size_t i) { lexicon.prefetch(n, previous[i], words[i + n - 1]); };
            for (std::size_t i = 0; i < std::min(ahead, count); ++i) prefetch(i);
            for (std::size_t i = 0; i < count; ++i) {
                if (i + ahead < count) prefetch(i + ahead);
                previous[i] = lexicon.gram(n, previous[i], words[i + n - 1]);
            }
            if (n >= min_n)
                grams.insert(grams.end(), previous.begin(), previous.begin() + static_cast<std::ptrdiff_t>(count));
        }
    }
}

}  // namespace tallywise::text
