// The terms that several lexicons have numbered, in the order of their code points, each once.
//
// A space sorts before every character of a word. So n-grams are ordered by the ranks of their words, a shorter one
// before what it begins: the order in which a walk through the tree of n-grams, children by rank, meets them.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/large_array.hpp"
#include "core/base/parallel.hpp"
#include "core/text/lexicon.hpp"
#include "core/text/rows.hpp"
#include "core/text/terms.hpp"

namespace tallywise {

// Terms as plain data.
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

// The words that several lexicons have numbered, in the order of their code points.
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

struct OrderedTerms {
    TermList terms;
    ColumnMaps columns;  // of each lexicon's numbers
};

class TermOrder {
  public:
    // Terms have at least min_n words.
    TermOrder(std::vector<GrowingLexicon const*> const& lexicons, std::size_t min_n, Team& team)
        : lexicons_(lexicons), min_n_(min_n), sorted_(lexicons, team) {
        for (auto const* lexicon : lexicons) {
            ranks_.emplace_back(lexicon->size(), no_term);
            max_n_ = std::max(max_n_, lexicon->longest());
        }
        levels_.resize(max_n_);
        rank_words();
        for (std::size_t n = 2; n <= max_n_; ++n) rank_grams(n);
        place_columns();
    }

    OrderedTerms finish() && {
        TermList terms = write_terms();
        for (std::size_t k = 0; k < lexicons_.size(); ++k) {
            auto const place = [&](std::size_t n, TermId id) {
                TermId const rank = ranks_[k][id];
                ranks_[k][id] = n < min_n_ ? no_term : static_cast<TermId>(levels_[n - 1].columns[rank]);
            };
            for (auto const& term : lexicons_[k]->words().terms()) place(1, term.id);
            for (std::size_t n = 2; n <= max_n_; ++n) {
                lexicons_[k]->grams(n).each([&](PairTable::Slot const& slot) { place(n, slot.id); });
            }
        }
        return {std::move(terms), std::move(ranks_)};
    }

  private:
    // The distinct n-grams of one n, in order.
    struct Level {
        LargeArray<std::uint64_t> keys;  // rank of the beginning among the (n-1)-grams, rank of the last word
        LargeArray<std::uint32_t>
            columns;  // of the n-gram or, where that is no term itself, of the first that it begins

        std::size_t size() const { return keys.size(); }
    };

    struct GramRef {
        std::uint64_t key;
        TermId id;
        std::uint32_t lexicon;
    };

    bool counted(std::size_t n) const { return n >= min_n_; }

    void rank_words() {
        for (TermRef const& ref : sorted_.refs()) {
            if (words_.empty() || !sorted_.same(words_.back(), ref)) words_.push_back(ref);
            ranks_[ref.lexicon][sorted_.term(ref).id] = static_cast<TermId>(words_.size() - 1);
        }
        levels_[0].keys.resize(words_.size());
        for (std::size_t j = 0; j < words_.size(); ++j) levels_[0].keys[j] = j;
    }

    void rank_grams(std::size_t n) {
        LargeArray<GramRef> grams;
        std::size_t expected = 0;
        for (auto const* lexicon : lexicons_) expected += lexicon->grams(n).size();
        grams.reserve(expected);
        for (std::size_t k = 0; k < lexicons_.size(); ++k) {
            lexicons_[k]->grams(n).each([&](PairTable::Slot const& slot) {
                std::uint64_t const first = ranks_[k][slot.first], last = ranks_[k][slot.second];
                grams.push_back({(first << 32) | last, slot.id, static_cast<std::uint32_t>(k)});
            });
        }
        sort_by_key(grams, levels_[n - 2].size(), words_.size());
        Level& level = levels_[n - 1];
        for (GramRef const& gram : grams) {
            if (level.keys.empty() || level.keys.back() != gram.key) level.keys.push_back(gram.key);
            ranks_[gram.lexicon][gram.id] = static_cast<TermId>(level.size() - 1);
        }
    }

    // By the last word, then by the beginning, eleven bits at a time.
    static void sort_by_key(LargeArray<GramRef>& grams, std::size_t beginnings, std::size_t words) {
        constexpr unsigned digit = 11;
        LargeArray<GramRef> spare(grams.size());
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

    // How many terms each n-gram begins, itself included, from the longest up; then where each begins, from the
    // shortest down.
    void place_columns() {
        std::vector<LargeArray<std::uint32_t>> terms_of(max_n_);
        for (std::size_t n = max_n_; n >= 1; --n) {
            terms_of[n - 1].assign(levels_[n - 1].size(), counted(n) ? 1 : 0);
            if (n == max_n_) continue;
            for (std::size_t k = 0; k < levels_[n].size(); ++k) {
                terms_of[n - 1][levels_[n].keys[k] >> 32] += terms_of[n][k];
            }
        }
        for (std::size_t n = 1; n <= max_n_; ++n) {
            Level& level = levels_[n - 1];
            level.columns.resize(level.size());
            std::size_t next = 0, parent = no_term;
            for (std::size_t k = 0; k < level.size(); ++k) {
                if (n > 1 && level.keys[k] >> 32 != parent) {
                    parent = level.keys[k] >> 32;
                    next = levels_[n - 2].columns[parent] + (counted(n - 1) ? 1u : 0u);
                }
                level.columns[k] = static_cast<std::uint32_t>(next);
                next += terms_of[n - 1][k];
            }
            if (n == 1) width_ = next;
        }
        if (width_ >= no_term) throw std::length_error("More than 4,294,967,294 distinct terms.");
    }

    // f(word) over the words of an n-gram, the last one first.
    template <class F>
    void each_word_of(std::size_t n, std::size_t rank, F&& f) const {
        for (; n >= 1; --n) {
            std::uint64_t const key = levels_[n - 1].keys[rank];
            f(sorted_.text(words_[key & 0xFFFFFFFF]));
            rank = key >> 32;
        }
    }

    template <class F>
    void each_term(F&& f) const {
        for (std::size_t n = min_n_; n <= max_n_; ++n) {
            for (std::size_t rank = 0; rank < levels_[n - 1].size(); ++rank) f(n, rank, levels_[n - 1].columns[rank]);
        }
    }

    TermList write_terms() const {
        TermList terms;
        terms.offsets.assign(width_ + 1, 0);
        each_term([&](std::size_t n, std::size_t rank, std::size_t column) {
            std::size_t length = n - 1;  // spaces
            each_word_of(n, rank, [&](std::string_view word) { length += word.size(); });
            terms.offsets[column + 1] = static_cast<std::int64_t>(length);
        });
        for (std::size_t j = 0; j < width_; ++j) terms.offsets[j + 1] += terms.offsets[j];
        terms.bytes.resize(static_cast<std::size_t>(terms.offsets.back()), ' ');
        each_term([&](std::size_t n, std::size_t rank, std::size_t column) {
            std::uint8_t* end = terms.bytes.data() + terms.offsets[column + 1];
            bool last = true;
            each_word_of(n, rank, [&](std::string_view word) {
                end -= word.size() + (last ? 0 : 1);  // with the space behind it
                std::copy(word.begin(), word.end(), end);
                last = false;
            });
        });
        return terms;
    }

    std::vector<GrowingLexicon const*> const& lexicons_;
    std::size_t min_n_, max_n_ = 1;
    SortedWords sorted_;
    std::vector<TermRef> words_;  // each once
    std::vector<Level> levels_;
    ColumnMaps ranks_;  // of each lexicon's numbers within their level
    std::size_t width_ = 0;
};

}  // namespace tallywise
