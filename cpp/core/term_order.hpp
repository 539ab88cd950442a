// The terms that several lexicons have numbered, in the order of their code points, each once.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "core/lexicon.hpp"
#include "core/parallel.hpp"
#include "core/rows.hpp"
#include "core/terms.hpp"

namespace tallywise {

// Terms one behind the other in UTF-8, and where each begins (and the last one ends).
struct TermList {
    std::vector<std::uint8_t> bytes;
    std::vector<std::int64_t> offsets{0};

    std::size_t size() const { return offsets.size() - 1; }

    void validate() const {
        bool const whole = !offsets.empty() && offsets.front() == 0 &&
                           offsets.back() == static_cast<std::int64_t>(bytes.size()) &&
                           std::is_sorted(offsets.begin(), offsets.end());
        if (!whole) throw std::invalid_argument("The offsets of terms must rise from 0 to the number of their bytes.");
    }

    std::string_view operator()(std::size_t j) const {
        return {reinterpret_cast<char const*>(bytes.data()) + offsets[j],
                static_cast<std::size_t>(offsets[j + 1] - offsets[j])};
    }
};

struct OrderedTerms {
    TermList terms;
    ColumnMaps columns;  // of each lexicon's numbers
};

namespace detail {

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

// An n-gram by the rank of its beginning among the (n-1)-grams and of its last word among the words.
struct GramRef {
    std::uint64_t key;  // (rank of the beginning, rank of the last word)
    TermId id;
    std::uint32_t lexicon;
};

inline void sort_by_key(LargeArray<GramRef>& grams, std::size_t beginnings, std::size_t words) {
    LargeArray<GramRef> spare(grams.size());
    constexpr unsigned digit = 11;
    std::vector<std::size_t> places(std::size_t{1} << digit);
    for (auto const& [low, values] : {std::pair{0u, words}, std::pair{32u, beginnings}}) {
        for (unsigned shift = low; shift < low + std::bit_width(values); shift += digit) {
            std::fill(places.begin(), places.end(), 0);
            std::uint64_t const mask = (std::uint64_t{1} << std::min(digit, low + 32 - shift)) - 1;
            for (GramRef const& gram : grams) ++places[(gram.key >> shift) & mask];
            std::size_t total = 0;
            for (std::size_t& place : places) total += std::exchange(place, total);
            for (GramRef const& gram : grams) spare[places[(gram.key >> shift) & mask]++] = gram;
            grams.swap(spare);
        }
    }
}

// The distinct n-grams of one n, in order.
struct Level {
    std::vector<std::uint64_t> keys;        // (beginning, last word); for n = 1 (0, the word)
    std::vector<std::size_t> first_column;  // of the n-gram itself or, where n-grams are not counted, of what it begins

    std::size_t size() const { return keys.size(); }
};

}  // namespace detail

// A space sorts before every character of a word. So n-grams are ordered by the ranks of their words, a shorter one
// before what it begins: the order in which a walk through the tree of n-grams, children by rank, meets them.
inline OrderedTerms in_order(std::vector<GrowingLexicon const*> const& lexicons, std::size_t min_n, std::size_t max_n,
                             Team& team) {
    using namespace detail;
    ColumnMaps ranks;  // of each lexicon's numbers within their level; later their columns
    for (auto const* lexicon : lexicons) ranks.emplace_back(lexicon->size(), no_term);

    SortedWords const sorted(lexicons, team);
    std::vector<TermRef> words;
    for (TermRef const& ref : sorted.refs()) {
        if (words.empty() || !sorted.same(words.back(), ref)) words.push_back(ref);
        ranks[ref.lexicon][sorted.term(ref).id] = static_cast<TermId>(words.size() - 1);
    }
    std::vector<Level> levels(max_n);
    levels[0].keys.resize(words.size());
    for (std::size_t j = 0; j < words.size(); ++j) levels[0].keys[j] = j;

    for (std::size_t n = 2; n <= max_n; ++n) {
        LargeArray<GramRef> grams;
        for (std::size_t k = 0; k < lexicons.size(); ++k) {
            lexicons[k]->grams(n).each([&](PairTable::Slot const& slot) {
                std::uint64_t const first = ranks[k][slot.first], last = ranks[k][slot.second];
                grams.push_back({(first << 32) | last, slot.id, static_cast<std::uint32_t>(k)});
            });
        }
        sort_by_key(grams, levels[n - 2].size(), words.size());
        Level& level = levels[n - 1];
        for (GramRef const& gram : grams) {
            if (level.keys.empty() || level.keys.back() != gram.key) level.keys.push_back(gram.key);
            ranks[gram.lexicon][gram.id] = static_cast<TermId>(level.size() - 1);
        }
    }

    // Columns below each n-gram, from the longest up; then where each begins, from the shortest down.
    std::vector<std::vector<std::size_t>> below(max_n);
    for (std::size_t n = max_n; n >= 1; --n) {
        Level& level = levels[n - 1];
        below[n - 1].assign(level.size(), n >= min_n ? 1 : 0);
        if (n == max_n) continue;
        for (std::size_t child = 0; child < levels[n].size(); ++child) {
            below[n - 1][levels[n].keys[child] >> 32] += below[n][child];
        }
    }
    TermList terms;
    std::size_t total = 0;
    for (std::size_t n = 1; n <= max_n; ++n) {
        Level& level = levels[n - 1];
        level.first_column.resize(level.size());
        std::size_t next = 0, parent = no_term;
        for (std::size_t k = 0; k < level.size(); ++k) {
            if (n > 1 && level.keys[k] >> 32 != parent) {
                parent = level.keys[k] >> 32;
                next = levels[n - 2].first_column[parent] + (n - 1 >= min_n ? 1 : 0);
            }
            level.first_column[k] = next;
            next += below[n - 1][k];
        }
        if (n == 1) total = next;
    }
    if (total >= no_term) throw std::length_error("More than 4,294,967,294 distinct terms.");

    // Lengths, then offsets, then bytes.
    auto const each_word_of = [&](std::size_t n, std::size_t k, auto&& f) {  // last word first
        for (; n >= 1; --n) {
            std::uint64_t const key = levels[n - 1].keys[k];
            f(sorted.text(words[key & 0xFFFFFFFF]));
            k = key >> 32;
        }
    };
    terms.offsets.assign(total + 1, 0);
    for (std::size_t n = min_n; n <= max_n; ++n) {
        for (std::size_t k = 0; k < levels[n - 1].size(); ++k) {
            std::size_t length = n - 1;
            each_word_of(n, k, [&](std::string_view word) { length += word.size(); });
            terms.offsets[levels[n - 1].first_column[k] + 1] = static_cast<std::int64_t>(length);
        }
    }
    for (std::size_t j = 0; j < total; ++j) terms.offsets[j + 1] += terms.offsets[j];
    terms.bytes.resize(static_cast<std::size_t>(terms.offsets.back()), ' ');
    for (std::size_t n = min_n; n <= max_n; ++n) {
        for (std::size_t k = 0; k < levels[n - 1].size(); ++k) {
            std::uint8_t* end = terms.bytes.data() + terms.offsets[levels[n - 1].first_column[k] + 1];
            bool last = true;
            each_word_of(n, k, [&](std::string_view word) {
                end -= word.size() + (last ? 0 : 1);  // with the space behind it
                std::copy(word.begin(), word.end(), end);
                last = false;
            });
        }
    }

    for (std::size_t k = 0; k < lexicons.size(); ++k) {
        auto const place = [&](std::size_t n, TermId id) {
            ranks[k][id] = n < min_n ? no_term : static_cast<TermId>(levels[n - 1].first_column[ranks[k][id]]);
        };
        for (std::size_t n = max_n; n >= 2; --n) {
            lexicons[k]->grams(n).each([&](PairTable::Slot const& slot) { place(n, slot.id); });
        }
        for (auto const& term : lexicons[k]->words().terms()) place(1, term.id);
    }
    return {std::move(terms), std::move(ranks)};
}

}  // namespace tallywise
