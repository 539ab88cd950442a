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

// A term of a lexicon with its first 16 bytes as two numbers that compare as the bytes do.
struct TermRef {
    std::uint64_t high, low;
    char const* bytes;
    std::uint32_t length;
    TermId id;
    std::uint32_t lexicon;

    std::string_view text() const { return {bytes, length}; }

    bool operator<(TermRef const& other) const {
        if (high != other.high) return high < other.high;
        if (low != other.low) return low < other.low;
        return text() < other.text();
    }
    bool operator==(TermRef const& other) const {
        return high == other.high && low == other.low && text() == other.text();
    }
};

// Buckets by the first two bytes, then sorts inside: 8 instead of 17 comparisons a word, and buckets go in parallel.
inline std::vector<TermRef> sorted_words(std::vector<GrowingLexicon const*> const& lexicons, Team& team) {
    std::vector<std::size_t> places(65537, 0);
    auto const reference = [](TermTable const& table, TermTable::Slot const& slot, std::size_t lexicon) {
        std::string_view const term = table.term(slot);
        std::uint64_t words[2] = {0, 0};
        std::memcpy(words, term.data(), std::min<std::size_t>(16, term.size()));
        return TermRef{
            __builtin_bswap64(words[0]),        __builtin_bswap64(words[1]), term.data(), slot.length, slot.id,
            static_cast<std::uint32_t>(lexicon)};
    };
    std::vector<TermRef> unsorted;
    for (std::size_t k = 0; k < lexicons.size(); ++k) {
        TermTable const& table = lexicons[k]->words();
        unsorted.reserve(unsorted.size() + table.size());
        table.each([&](TermTable::Slot const& slot) {
            unsorted.push_back(reference(table, slot, k));
            ++places[(unsorted.back().high >> 48) + 1];
        });
    }
    for (std::size_t k = 0; k < 65536; ++k) places[k + 1] += places[k];
    std::vector<TermRef> result(unsorted.size());
    std::vector<std::size_t> next(places.begin(), places.end() - 1);
    for (TermRef const& term : unsorted) result[next[term.high >> 48]++] = term;
    team.each_range(65536, 256, [&](std::size_t begin, std::size_t end, std::size_t) {
        for (std::size_t k = begin; k < end; ++k) {
            if (places[k + 1] - places[k] > 1) {
                std::sort(result.begin() + static_cast<long>(places[k]),
                          result.begin() + static_cast<long>(places[k + 1]));
            }
        }
    });
    return result;
}

// An n-gram by the rank of its beginning among the (n-1)-grams and of its last word among the words.
struct GramRef {
    std::uint64_t key;  // (rank of the beginning, rank of the last word)
    TermId id;
    std::uint32_t lexicon;
};

inline void sort_by_key(std::vector<GramRef>& grams, std::size_t beginnings, std::size_t words) {
    std::vector<GramRef> spare(grams.size());
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

    std::vector<TermRef> words;
    for (TermRef const& term : sorted_words(lexicons, team)) {
        if (words.empty() || !(words.back() == term)) words.push_back(term);
        ranks[term.lexicon][term.id] = static_cast<TermId>(words.size() - 1);
    }
    std::vector<Level> levels(max_n);
    levels[0].keys.resize(words.size());
    for (std::size_t j = 0; j < words.size(); ++j) levels[0].keys[j] = j;

    for (std::size_t n = 2; n <= max_n; ++n) {
        std::vector<GramRef> grams;
        for (std::size_t k = 0; k < lexicons.size(); ++k) {
            grams.reserve(grams.size() + lexicons[k]->grams(n).size());
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
            f(words[key & 0xFFFFFFFF].text());
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
        lexicons[k]->words().each([&](TermTable::Slot const& slot) { place(1, slot.id); });
    }
    return {std::move(terms), std::move(ranks)};
}

}  // namespace tallywise
