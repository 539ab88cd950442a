// The terms that several lexicons have numbered, in the order of their code points, each once.
//
// A space sorts before every character of a word. So n-grams are ordered by the ranks of their words, a shorter one
// before what it begins: the order in which a walk through the tree of n-grams, children by rank, meets them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "core/bucket_sort.hpp"
#include "core/large_array.hpp"
#include "core/lexicon.hpp"
#include "core/parallel.hpp"
#include "core/rows.hpp"
#include "core/term_list.hpp"
#include "core/terms.hpp"

namespace tallywise {

struct OrderedTerms {
    TermList terms;
    ColumnMaps columns;  // of each lexicon's numbers
};

class TermOrder {
  public:
    // Terms have at least min_n words.
    TermOrder(std::vector<GrowingLexicon const*> const& lexicons, std::size_t min_n, Team& team)
        : lexicons_(lexicons), team_(team), min_n_(min_n) {
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
        team_.each(lexicons_.size(), [&](std::size_t k) {
            auto const place = [&](std::size_t n, TermId id) {
                TermId const rank = ranks_[k][id];
                ranks_[k][id] = n < min_n_ ? no_term : levels_[n - 1].columns[rank];
            };
            for (auto const& term : lexicons_[k]->words().terms()) place(1, term.id);
            for (std::size_t n = 2; n <= max_n_; ++n) {
                lexicons_[k]->grams(n).each([&](PairTable::Slot const& slot) { place(n, slot.id); });
            }
        });
        return {std::move(terms), std::move(ranks_)};
    }

  private:
    // The distinct n-grams of one n, in order.
    struct Level {
        LargeArray<std::uint64_t> keys;  // rank of the beginning among the (n-1)-grams, rank of the last word
        LargeArray<TermId> columns;  // of the n-gram or, where that is no term itself, of the first that it begins

        std::size_t size() const { return keys.size(); }
    };

    // A word of a lexicon, with its first eight bytes as a number that compares as the bytes do.
    struct WordRef {
        std::uint64_t beginning;
        std::uint32_t place;  // in the lexicon's list
        std::uint32_t lexicon;
    };

    struct GramRef {
        std::uint64_t key;
        TermId id;
        std::uint32_t lexicon;
    };

    static constexpr unsigned bucket_bits = 16;

    bool counted(std::size_t n) const { return n >= min_n_; }

    TermTable const& words_of(std::size_t lexicon) const { return lexicons_[lexicon]->words(); }
    TermTable::Term const& term(WordRef const& ref) const { return words_of(ref.lexicon).terms()[ref.place]; }
    std::string_view text(WordRef const& ref) const { return words_of(ref.lexicon).text(term(ref)); }

    // Buckets by the first two bytes.
    void rank_words() {
        auto const each = [&](std::size_t lexicon, auto&& f) {
            TermTable const& table = words_of(lexicon);
            for (std::size_t place = 0; place < table.size(); ++place) {
                std::uint64_t const first = table.first_eight(table.terms()[place]);
                f(WordRef{first, static_cast<std::uint32_t>(place), static_cast<std::uint32_t>(lexicon)});
            }
        };
        SortedBuckets<WordRef> const sorted(
            team_, lexicons_.size(), std::size_t{1} << bucket_bits, each,
            [](WordRef const& ref) { return ref.beginning >> (64 - bucket_bits); },
            [&](WordRef const& a, WordRef const& b) {
                return a.beginning != b.beginning ? a.beginning < b.beginning : text(a) < text(b);
            });
        sorted.number(
            team_,
            [&](WordRef const& a, WordRef const& b) { return a.beginning == b.beginning && text(a) == text(b); },
            [&](std::size_t distinct) {
                words_.resize(distinct);
                levels_[0].keys.resize(distinct);
            },
            [&](WordRef const& ref, std::size_t rank) {
                words_[rank] = ref;
                levels_[0].keys[rank] = rank;
            },
            [&](WordRef const& ref, std::size_t rank) {
                ranks_[ref.lexicon][term(ref).id] = static_cast<TermId>(rank);
            });
    }

    // Buckets by the rank of the beginning.
    void rank_grams(std::size_t n) {
        auto const each = [&](std::size_t lexicon, auto&& f) {
            auto const& rank = ranks_[lexicon];
            lexicons_[lexicon]->grams(n).each([&](PairTable::Slot const& slot) {
                std::uint64_t const first = rank[slot.first], last = rank[slot.second];
                f(GramRef{(first << 32) | last, slot.id, static_cast<std::uint32_t>(lexicon)});
            });
        };
        unsigned const beginning_bits = bits_of_columns(levels_[n - 2].size());
        unsigned const shift = 32 + beginning_bits - std::min(beginning_bits, bucket_bits);
        SortedBuckets<GramRef> const sorted(
            team_, lexicons_.size(), std::size_t{1} << bucket_bits, each,
            [&](GramRef const& gram) { return gram.key >> shift; },
            [](GramRef const& a, GramRef const& b) { return a.key < b.key; });
        auto& keys = levels_[n - 1].keys;
        sorted.number(
            team_, [](GramRef const& a, GramRef const& b) { return a.key == b.key; },
            [&](std::size_t distinct) { keys.resize(distinct); },
            [&](GramRef const& gram, std::size_t rank) { keys[rank] = gram.key; },
            [&](GramRef const& gram, std::size_t rank) {
                ranks_[gram.lexicon][gram.id] = static_cast<TermId>(rank);
            });
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
                level.columns[k] = static_cast<TermId>(next);
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
            f(text(words_[key & 0xFFFFFFFF]));
            rank = key >> 32;
        }
    }

    template <class F>
    void each_term(F&& f) const {
        for (std::size_t n = min_n_; n <= max_n_; ++n) {
            team_.each_range(levels_[n - 1].size(), 8192, [&](std::size_t begin, std::size_t end, std::size_t) {
                for (std::size_t rank = begin; rank < end; ++rank) f(n, rank, levels_[n - 1].columns[rank]);
            });
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
    Team& team_;
    std::size_t min_n_, max_n_ = 1;
    LargeArray<WordRef> words_;  // each once
    std::vector<Level> levels_;
    ColumnMaps ranks_;  // of each lexicon's numbers within their level
    std::size_t width_ = 0;
};

}  // namespace tallywise
