// Word n-grams of documents: counted, those of too few documents left out, and put in the order of their code points.
//
// A document is a sequence of words, each numbered by its rank. An n-gram is a pair of numbers: the rank of its first
// n - 1 words among the (n-1)-grams, and the rank of its last word. No string is built or hashed for it.
//
// It is in no more documents than its first and its last n - 1 words are, so only places where both of these were kept
// are looked at (Agrawal and Srikant, "Fast algorithms for mining association rules", VLDB 1994). Pairs are dealt out
// by hash to parts whose tables stay in cache, each place once: one table of all pairs missed the cache at nearly
// every n-gram (17,824 posts, 1 to 3 words, two documents at least: 2.4 s of one core, and 1.0 s so).
//
// A space sorts before every character of a word. So n-grams are ordered by the ranks of their words, a shorter one
// before what it begins: the order in which a walk through the tree of n-grams, children by rank, meets them.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/large_array.hpp"
#include "core/base/parallel.hpp"
#include "core/text/rows.hpp"
#include "core/text/term_order.hpp"
#include "core/text/terms.hpp"

namespace tallywise::text {

// The words of consecutive documents, in the numbers of the worker that read them.
struct WordBlock {
    std::size_t worker = 0;
    std::vector<TermId> words;
    std::vector<std::size_t> ends;  // of each document
};

// Lengths of n-grams that are terms, and in how many documents a term is at least.
struct GramRange {
    std::size_t min_n, max_n;
    std::size_t least = 1;
};

class GramOrder {
  public:
    GramOrder(WordOrder const& words, std::vector<WordBlock> blocks, GramRange range, Team& team)
        : words_(words), range_(range), team_(team), levels_(range.max_n) {
        gather(std::move(blocks));
        keep_words();
        for (std::size_t n = 2; n <= range_.max_n; ++n) find_grams(n);
        place_columns();
    }

    // Rows are in the order of columns, which are terms.
    CountedRows rows() const {
        CountedRows result{std::vector<RowBlock>(stretches()), {std::vector<TermId>(width_)}, true};
        for (std::size_t j = 0; j < width_; ++j) result.columns[0][j] = static_cast<TermId>(j);
        team_.each(stretches(), [&](std::size_t s) {
            std::vector<std::uint64_t> row, spare;
            std::vector<Entry> entries;
            for (std::size_t d = first_document_[s]; d < first_document_[s + 1]; ++d) {
                row.clear();
                for (std::size_t n = range_.min_n; n <= range_.max_n; ++n) {
                    auto const& columns = levels_[n - 1].columns;
                    for (std::size_t i = begin_of(d); i + n <= ends_[d]; ++i) {
                        TermId const gram = levels_[n - 1].at[i];
                        if (gram != no_term) row.push_back(packed(columns[gram], 1));
                    }
                }
                sort_by_column(row, spare, bits_of_columns(width_));
                add_up(row);
                entries.clear();
                for (auto const x : row) {
                    entries.push_back({static_cast<TermId>(x >> 32), static_cast<std::int32_t>(x)});
                }
                result.blocks[s].add_row(entries);
            }
        });
        return result;
    }

    TermList terms() const {
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

  private:
    static constexpr std::size_t stretch_words = std::size_t{1} << 16, most_stretches = 128;
    static constexpr std::size_t part_places = std::size_t{1} << 14, most_parts = 1024;

    // The n-grams of one n that are kept, in order, and the one that begins at each place.
    struct Level {
        LargeArray<std::uint64_t> keys;     // rank of the beginning among the (n-1)-grams, rank of the last word
        LargeArray<std::uint32_t> columns;  // of the n-gram or, if that is no term, of the first that it begins
        LargeArray<TermId> at;              // no_term where there is none that is kept

        std::size_t size() const { return keys.size(); }
    };

    // An n-gram at a place of a stretch. `document` becomes the n-gram's number within its part.
    struct Place {
        std::uint64_t key;
        std::uint32_t place, document;

        Place() {}  // NOLINT: an array of them is written once, and not cleared before
        Place(std::uint64_t k, std::uint32_t p, std::uint32_t d) : key(k), place(p), document(d) {}
    };

    struct GramRef {
        std::uint64_t key;
        std::uint32_t number, part;
    };

    std::size_t stretches() const { return first_document_.size() - 1; }
    std::size_t begin_of(std::size_t document) const { return document == 0 ? 0 : ends_[document - 1]; }
    bool counted(std::size_t n) const { return n >= range_.min_n; }

    // All words by rank, one document after the other, cut into stretches of documents.
    void gather(std::vector<WordBlock> blocks) {
        std::vector<std::size_t> first_word(blocks.size() + 1, 0);
        for (std::size_t b = 0; b < blocks.size(); ++b) {
            first_word[b + 1] = first_word[b] + blocks[b].words.size();
            for (std::size_t const end : blocks[b].ends) ends_.push_back(first_word[b] + end);
        }
        auto& at = levels_[0].at;
        at.resize(first_word.back());
        team_.each(blocks.size(), [&](std::size_t b) {
            auto const& rank = words_.ranks()[blocks[b].worker];
            for (std::size_t i = 0; i < blocks[b].words.size(); ++i) at[first_word[b] + i] = rank[blocks[b].words[i]];
            blocks[b].words = {};
        });
        std::size_t const most = std::clamp<std::size_t>(at.size() / stretch_words, 1, most_stretches);
        first_document_.push_back(0);
        for (std::size_t d = 0; d < ends_.size(); ++d) {
            if (ends_[d] - begin_of(first_document_.back()) > no_term) {
                throw std::length_error("More than 4,294,967,295 words in a stretch of documents.");
            }
            bool const full = ends_[d] >= at.size() * first_document_.size() / most;
            if (d + 1 == ends_.size() || (full && first_document_.size() < most)) first_document_.push_back(d + 1);
        }
    }

    void keep_words() {
        Level& level = levels_[0];
        std::vector<TermId> rank(words_.size());  // among the words that are kept
        std::vector<std::uint32_t> const documents = documents_of_words();
        for (std::size_t w = 0; w < words_.size(); ++w) {
            bool const keeps = range_.least <= 1 || documents[w] >= range_.least;
            rank[w] = keeps ? static_cast<TermId>(kept_words_.size()) : no_term;
            if (keeps) kept_words_.push_back(static_cast<TermId>(w));
        }
        level.keys.resize(kept_words_.size());
        for (std::size_t j = 0; j < kept_words_.size(); ++j) level.keys[j] = j;
        if (kept_words_.size() == words_.size()) return;
        team_.each(stretches(), [&](std::size_t s) {
            for (std::size_t i = begin_of(first_document_[s]); i < begin_of(first_document_[s + 1]); ++i) {
                level.at[i] = rank[level.at[i]];
            }
        });
    }

    // In how many documents each word is; nothing where no word can be in too few.
    std::vector<std::uint32_t> documents_of_words() const {
        if (range_.least <= 1) return {};
        constexpr std::size_t groups = 8;
        std::vector<std::vector<std::uint32_t>> counts(groups);
        team_.each(groups, [&](std::size_t g) {
            std::vector<std::size_t> last(words_.size(), 0);  // document + 1
            counts[g].assign(words_.size(), 0);
            std::size_t const first = stretches() * g / groups, end = stretches() * (g + 1) / groups;
            for (std::size_t d = first_document_[first]; d < first_document_[end]; ++d) {
                for (std::size_t i = begin_of(d); i < ends_[d]; ++i) {
                    TermId const w = levels_[0].at[i];
                    if (last[w] != d + 1) ++counts[g][w];
                    last[w] = d + 1;
                }
            }
        });
        for (std::size_t g = 1; g < groups; ++g) {
            for (std::size_t w = 0; w < words_.size(); ++w) counts[0][w] += counts[g][w];
        }
        return std::move(counts[0]);
    }

    // f(key, place within the stretch, document) for the n-grams of a stretch that can be kept.
    template <class F>
    void each_place(std::size_t s, std::size_t n, F&& f) const {
        TermId const* const before = levels_[n - 2].at.data();
        TermId const* const word = levels_[0].at.data();
        std::size_t const first = begin_of(first_document_[s]);
        for (std::size_t d = first_document_[s]; d < first_document_[s + 1]; ++d) {
            for (std::size_t i = begin_of(d); i + n <= ends_[d]; ++i) {
                if (before[i] == no_term || before[i + 1] == no_term) continue;
                f((std::uint64_t{before[i]} << 32) | word[i + n - 1], static_cast<std::uint32_t>(i - first),
                  static_cast<std::uint32_t>(d));
            }
        }
    }

    void find_grams(std::size_t n) {
        std::size_t const S = stretches();
        std::size_t const P = std::bit_ceil(std::clamp<std::size_t>(levels_[0].at.size() / part_places, 1, most_parts));
        int const bits = std::countr_zero(P);
        auto const part_of = [bits](std::uint64_t hash) { return (hash >> 32) >> (32 - bits); };

        // Where the places of each stretch go in each part.
        std::vector<std::size_t> next(S * P + 1, 0);
        team_.each(S, [&](std::size_t s) {
            std::vector<std::size_t> counts(P, 0);
            each_place(s, n, [&](std::uint64_t key, auto, auto) { ++counts[part_of(hashing::pair(key, 0))]; });
            for (std::size_t p = 0; p < P; ++p) next[p * S + s] = counts[p];
        });
        std::size_t total = 0;
        for (std::size_t& place : next) total += std::exchange(place, total);
        std::vector<std::size_t> const begin = next;
        LargeArray<Place> places(total);
        team_.each(S, [&](std::size_t s) {
            std::vector<std::size_t> to(P);
            for (std::size_t p = 0; p < P; ++p) to[p] = begin[p * S + s];
            each_place(s, n, [&](std::uint64_t key, std::uint32_t place, std::uint32_t document) {
                places[to[part_of(hashing::pair(key, 0))]++] = Place(key, place, document);
            });
        });

        std::vector<std::vector<TermId>> ranks(P);  // of the numbers of each part
        std::vector<std::vector<GramRef>> kept(P);
        team_.each_range(P, 8, [&](std::size_t first, std::size_t end, std::size_t) {
            PartTable table;
            for (std::size_t p = first; p < end; ++p) {
                count_part(std::span(places).subspan(begin[p * S], begin[(p + 1) * S] - begin[p * S]), table);
                ranks[p].assign(table.found.size(), no_term);
                for (std::uint32_t k = 0; k < table.found.size(); ++k) {
                    if (table.found[k].documents < range_.least) continue;
                    kept[p].push_back({table.found[k].key, k, static_cast<std::uint32_t>(p)});
                }
            }
        });
        rank_grams(n, kept, ranks);

        auto& at = levels_[n - 1].at;
        at.assign(levels_[0].at.size(), no_term);
        team_.each(P, [&](std::size_t p) {
            for (std::size_t s = 0; s < S; ++s) {
                TermId* const stretch = at.data() + begin_of(first_document_[s]);
                for (std::size_t k = begin[p * S + s]; k < begin[p * S + s + 1]; ++k) {
                    stretch[places[k].place] = ranks[p][places[k].document];
                }
            }
        });
    }

    // The n-grams of a part, found by their hash.
    struct PartTable {
        struct Found {
            std::uint64_t key;
            std::uint32_t documents, last;
        };
        std::vector<Found> found;
        std::vector<std::uint32_t> slots;  // numbers of what was found, or no_term
    };

    // Numbers the n-grams of a part.
    static void count_part(std::span<Place> places, PartTable& table) {
        auto& [found, slots] = table;
        found.clear();
        slots.assign(std::bit_ceil(2 * places.size() + 2), no_term);
        std::size_t const mask = slots.size() - 1;
        for (Place& place : places) {
            std::size_t k = hashing::pair(place.key, 0) & mask;
            while (slots[k] != no_term && found[slots[k]].key != place.key) k = (k + 1) & mask;
            if (slots[k] == no_term) {
                slots[k] = static_cast<std::uint32_t>(found.size());
                found.push_back({place.key, 1, place.document});
            } else if (found[slots[k]].last != place.document) {
                ++found[slots[k]].documents;
                found[slots[k]].last = place.document;
            }
            place.document = slots[k];
        }
    }

    void rank_grams(std::size_t n, std::vector<std::vector<GramRef>> const& kept,
                    std::vector<std::vector<TermId>>& ranks) {
        LargeArray<GramRef> grams;
        std::size_t total = 0;
        for (auto const& part : kept) total += part.size();
        if (total >= no_term) throw std::length_error("More than 4,294,967,294 distinct terms.");
        grams.reserve(total);
        for (auto const& part : kept) grams.insert(grams.end(), part.begin(), part.end());
        sort_by_key(grams, levels_[n - 2].size(), levels_[0].size());
        auto& keys = levels_[n - 1].keys;
        keys.resize(total);
        for (std::size_t rank = 0; rank < total; ++rank) {
            keys[rank] = grams[rank].key;
            ranks[grams[rank].part][grams[rank].number] = static_cast<TermId>(rank);
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
        std::size_t const max_n = range_.max_n;
        std::vector<LargeArray<std::uint32_t>> terms_of(max_n);
        for (std::size_t n = max_n; n >= 1; --n) {
            terms_of[n - 1].assign(levels_[n - 1].size(), counted(n) ? 1 : 0);
            if (n == max_n) continue;
            for (std::size_t k = 0; k < levels_[n].size(); ++k) {
                terms_of[n - 1][levels_[n].keys[k] >> 32] += terms_of[n][k];
            }
        }
        for (std::size_t n = 1; n <= max_n; ++n) {
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
            f(words_.text(kept_words_[key & 0xFFFFFFFF]));
            rank = key >> 32;
        }
    }

    template <class F>
    void each_term(F&& f) const {
        for (std::size_t n = range_.min_n; n <= range_.max_n; ++n) {
            Level const& level = levels_[n - 1];
            team_.each_range(level.size(), std::size_t{1} << 14, [&](std::size_t begin, std::size_t end, std::size_t) {
                for (std::size_t rank = begin; rank < end; ++rank) f(n, rank, level.columns[rank]);
            });
        }
    }

    WordOrder const& words_;
    GramRange range_;
    Team& team_;
    std::vector<std::size_t> ends_;            // of each document
    std::vector<std::size_t> first_document_;  // of each stretch, and of what would follow
    std::vector<TermId> kept_words_;           // ranks among all words
    std::vector<Level> levels_;                // by the number of words
    std::size_t width_ = 0;
};

}  // namespace tallywise::text
