// The words that several lexicons have numbered, in the order of their code points.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "core/large_array.hpp"
#include "core/lexicon.hpp"
#include "core/parallel.hpp"
#include "core/terms.hpp"

namespace tallywise {

// A term of a lexicon, with its first eight bytes as a number that compares as the bytes do.
struct TermRef {
    std::uint64_t beginning;
    std::uint32_t place;  // in the lexicon's list
    std::uint32_t lexicon;
};

// The words of all lexicons. Buckets by the first two bytes, then sorts inside: 8 instead of 17 comparisons a word, and
// buckets go in parallel.
class SortedWords {
  public:
    SortedWords(std::vector<GrowingLexicon const*> const& lexicons, Team& team) : lexicons_(lexicons) {
        constexpr std::size_t buckets = 65536;
        std::vector<std::vector<std::uint32_t>> next(lexicons.size());  // by lexicon and bucket
        team.each(lexicons.size(), [&](std::size_t k) {
            next[k].assign(buckets, 0);
            for (auto const& term : words_of(k).terms()) ++next[k][beginning(k, term) >> 48];
        });
        std::vector<std::size_t> ends(buckets + 1, 0);
        std::uint32_t total = 0;
        for (std::size_t bucket = 0; bucket < buckets; ++bucket) {
            for (auto& counts : next) total += std::exchange(counts[bucket], total);
            ends[bucket + 1] = total;
        }
        refs_.resize(total);
        team.each(lexicons.size(), [&](std::size_t k) {
            auto const& terms = words_of(k).terms();
            for (std::size_t place = 0; place < terms.size(); ++place) {
                std::uint64_t const first = beginning(k, terms[place]);
                refs_[next[k][first >> 48]++] = {first, static_cast<std::uint32_t>(place),
                                                 static_cast<std::uint32_t>(k)};
            }
        });
        auto const begin = refs_.begin();
        team.each_range(buckets, 256, [&](std::size_t first, std::size_t last, std::size_t) {
            for (std::size_t bucket = first; bucket < last; ++bucket) {
                std::sort(begin + static_cast<long>(ends[bucket]), begin + static_cast<long>(ends[bucket + 1]),
                          [&](TermRef const& a, TermRef const& b) {
                              return a.beginning != b.beginning ? a.beginning < b.beginning : text(a) < text(b);
                          });
            }
        });
    }

    LargeArray<TermRef> const& refs() const { return refs_; }
    TermTable::Term const& term(TermRef const& ref) const { return words_of(ref.lexicon).terms()[ref.place]; }
    std::string_view text(TermRef const& ref) const { return words_of(ref.lexicon).text(term(ref)); }
    bool same(TermRef const& a, TermRef const& b) const { return a.beginning == b.beginning && text(a) == text(b); }

  private:
    TermTable const& words_of(std::size_t lexicon) const { return lexicons_[lexicon]->words(); }

    std::uint64_t beginning(std::size_t lexicon, TermTable::Term const& term) const {
        std::uint64_t word = term.key[0];
        if (term.length > Key::inline_bytes) std::memcpy(&word, words_of(lexicon).text(term).data(), 8);
        return __builtin_bswap64(word);
    }

    std::vector<GrowingLexicon const*> const& lexicons_;
    LargeArray<TermRef> refs_;
};

}  // namespace tallywise
