// Documents as lists of (word, count), and their cut into cells that can be learned from side by side.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <utility>
#include <vector>

#include "core/base/parallel.hpp"
#include "core/data/design.hpp"

namespace tallywise::topics {

// Rows of (word, count) with the zeros left out. Entries keep the order of X.
struct Corpus {
    std::size_t documents = 0, words = 0;
    std::vector<std::size_t> begin;  // of each document's entries, documents + 1
    std::vector<std::uint32_t> word;
    std::vector<float> count;

    std::size_t entries() const { return word.size(); }

    double length(std::size_t d) const {
        double total = 0;
        for (std::size_t e = begin[d]; e < begin[d + 1]; ++e) total += static_cast<double>(count[e]);
        return total;
    }
};

inline Corpus read_corpus(Design const& X) {
    return visit(X, [](auto const& x) {
        if (x.width > std::numeric_limits<std::uint32_t>::max()) throw std::invalid_argument("X has too many columns.");
        Corpus corpus{x.lines, x.width, {0}, {}, {}};
        corpus.begin.reserve(x.lines + 1);
        for (std::size_t d = 0; d < x.lines; ++d) {
            x.each(d, [&](std::size_t w, auto value) {
                if (value == 0) return;
                corpus.word.push_back(static_cast<std::uint32_t>(w));
                corpus.count.push_back(static_cast<float>(value));
            });
            corpus.begin.push_back(corpus.word.size());
        }
        return corpus;
    });
}

// The same entries by word: document and count. `begin` has words + 1 places.
struct ByWord {
    std::vector<std::size_t> begin;
    std::vector<std::uint32_t> document;
    std::vector<float> count;
};

inline ByWord by_word(Corpus const& corpus) {
    ByWord result{std::vector<std::size_t>(corpus.words + 1), std::vector<std::uint32_t>(corpus.entries()),
                  std::vector<float>(corpus.entries())};
    for (auto w : corpus.word) ++result.begin[w + 1];
    std::partial_sum(result.begin.begin(), result.begin.end(), result.begin.begin());
    std::vector<std::size_t> next(result.begin.begin(), result.begin.end() - 1);
    for (std::size_t d = 0; d < corpus.documents; ++d) {
        for (std::size_t e = corpus.begin[d]; e < corpus.begin[d + 1]; ++e) {
            std::size_t const place = next[corpus.word[e]]++;
            result.document[place] = static_cast<std::uint32_t>(d);
            result.count[place] = corpus.count[e];
        }
    }
    return result;
}

// Scalar products of every document with the chosen ones, documents x chosen.
inline std::vector<float> document_products(Team& team, Corpus const& corpus, std::vector<std::size_t> const& chosen) {
    Corpus some{chosen.size(), corpus.words, {0}, {}, {}};
    for (auto d : chosen) {
        for (std::size_t e = corpus.begin[d]; e < corpus.begin[d + 1]; ++e) {
            some.word.push_back(corpus.word[e]);
            some.count.push_back(corpus.count[e]);
        }
        some.begin.push_back(some.word.size());
    }
    ByWord const index = by_word(some);
    std::vector<float> result(corpus.documents * chosen.size());
    team.each_range(corpus.documents, 64, [&](std::size_t begin, std::size_t end, std::size_t) {
        for (std::size_t d = begin; d < end; ++d) {
            float* const out = &result[d * chosen.size()];
            for (std::size_t e = corpus.begin[d]; e < corpus.begin[d + 1]; ++e) {
                std::size_t const w = corpus.word[e];
                for (std::size_t i = index.begin[w]; i < index.begin[w + 1]; ++i) {
                    out[index.document[i]] += corpus.count[e] * index.count[i];
                }
            }
        }
    });
    return result;
}

// Entries [begin, end), in order of visit, of one document with words of one block.
struct Run {
    std::uint32_t document;
    std::size_t begin, end;
};

// The corpus cut into blocks of documents times blocks of words (Yan, Xu and Qi, NIPS 2009). In step t of a sweep,
// document block i meets word block (i + t) mod blocks: no two cells of a step share a document or a word, so they can
// be learned from at once with no conflict and no copies; only the topic totals are as old as the step. The number of
// blocks depends on the data alone. Small corpora are one cell, for which a sweep is exactly sequential.
class Partition {
  public:
    static constexpr std::size_t grain = 1 << 15;  // entries worth a block: below it the steps cost more than they give
    static constexpr std::size_t most = 16;

    // `blocks` = 0 chooses by the data.
    Partition(Corpus given, std::size_t blocks) : corpus(std::move(given)) {
        if (blocks == 0) blocks = std::clamp<std::size_t>(corpus.entries() / grain, 1, most);
        blocks_ = std::max<std::size_t>(1, std::min(blocks, corpus.documents));
        std::vector<std::size_t> const home = word_blocks();
        cells_.resize(blocks_ * blocks_);
        std::vector<std::vector<std::size_t>> entries(blocks_);  // of the block's cells
        std::size_t d = 0;
        for (std::size_t i = 0; i < blocks_; ++i) {
            first_document_.push_back(d);
            std::size_t const goal = corpus.entries() * (i + 1) / blocks_;
            for (; d < corpus.documents && (corpus.begin[d] < goal || i + 1 == blocks_); ++d) {
                for (std::size_t e = corpus.begin[d]; e < corpus.begin[d + 1]; ++e) {
                    std::size_t const step = (home[corpus.word[e]] + blocks_ - i) % blocks_;
                    auto& runs = cells_[i * blocks_ + step];
                    std::size_t const n = entries[step].size();
                    if (runs.empty() || runs.back().document != d)
                        runs.push_back({static_cast<std::uint32_t>(d), n, n});
                    ++runs.back().end;
                    entries[step].push_back(e);
                }
            }
            lay_out(i, entries);
        }
        first_document_.push_back(corpus.documents);
    }

    std::size_t blocks() const { return blocks_; }
    std::vector<Run> const& cell(std::size_t block, std::size_t step) const { return cells_[block * blocks_ + step]; }

    template <class F>
    void each_run(F&& f) const {
        for (auto const& runs : cells_) {
            for (Run const& run : runs) f(run);
        }
    }

    // Documents of block i are [first_document(i), first_document(i + 1)).
    std::size_t first_document(std::size_t block) const { return first_document_[block]; }

    Corpus corpus;
    // Entries in order of visit (by document block, step, document), so that what is kept for each entry is read in one
    // stream: with entries by document, a sweep of eight blocks took twice as long as one of a single block.
    std::vector<std::uint32_t> word;
    std::vector<float> count;
    std::vector<std::size_t> source;  // place of the entry in the corpus

  private:
    // Words to blocks, the most frequent first, each to the block with the fewest entries.
    std::vector<std::size_t> word_blocks() const {
        std::vector<std::size_t> frequency(corpus.words), home(corpus.words), load(blocks_);
        for (auto w : corpus.word) ++frequency[w];
        std::vector<std::size_t> order(corpus.words);
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return frequency[a] > frequency[b]; });
        for (auto w : order) {
            auto const least = std::min_element(load.begin(), load.end());
            home[w] = static_cast<std::size_t>(least - load.begin());
            *least += frequency[w];
        }
        return home;
    }

    void lay_out(std::size_t block, std::vector<std::vector<std::size_t>>& entries) {
        for (std::size_t step = 0; step < blocks_; ++step) {
            for (Run& run : cells_[block * blocks_ + step]) {
                run.begin += source.size();
                run.end += source.size();
            }
            for (auto e : entries[step]) {
                word.push_back(corpus.word[e]);
                count.push_back(corpus.count[e]);
            }
            source.insert(source.end(), entries[step].begin(), entries[step].end());
            entries[step].clear();
        }
    }

    std::size_t blocks_;
    std::vector<std::size_t> first_document_;
    std::vector<std::vector<Run>> cells_;
};

}  // namespace tallywise::topics
