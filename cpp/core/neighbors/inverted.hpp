// Inverted index for cosine and Euclidean searches of sparse rows: exact, and most of the data is never touched.
//
// Both metrics rank by inner products: the nearest rows have the largest <q, x> - h(x), with h = 0 for unit rows
// (cosine) and h = |x|^2 / 2 (Euclidean). Terms fall into levels by how many rows hold them, rare ones first. A query
// is multiplied into one accumulator a row, level by level; what a level m left could still add to a row is at most
// |q_m| |x_m| (Cauchy-Schwarz), and the second factor is stored per row and level. As frequent words weigh
// little, soon few rows can still be among the k best; these are finished one by one from their own entries of the
// levels left (`tails_`), and the long lists of the frequent words are never read. In the spirit of L2AP: Anastasiu &
// Karypis (2014), ICDE 784-795.
//
// Accumulators and stored weights are float32, rows scaled to |x| <= 1 and the query to |q| = 1. A sum of t products is
// then off by at most (t + 3) 2^-24 |x|, and a bound made of it by little more, which `margin` covers on both sides;
// rows that pass are measured by the metric itself, the most promising first.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "core/neighbors/sparse.hpp"

namespace tallywise {

template <class T, class I>
class InvertedIndex final : public SparseIndex {
    static constexpr std::size_t levels = 8;        // rows holding a term: up to n/128, n/64, ..., n
    static constexpr std::size_t block = 1u << 16;  // rows whose accumulators share the second-level cache

  public:
    InvertedIndex(Sparse<T, I> const& X, bool cosine)
        : SparseIndex(make_rows(X, cosine ? Cosine::name : Euclidean::name, 2), X.lines, X.width),
          X_(X),
          cosine_(cosine),
          inverse_(X.lines, 1.0),
          squares_(X.lines, 0.0),
          level_(X.width, 0) {
        double top = 0;
        for (std::size_t row = 0; row < X.lines; ++row) {
            double square = 0;
            X.each(row, [&](std::size_t, T x) { square += static_cast<double>(x) * static_cast<double>(x); });
            if (cosine) {
                inverse_[row] = inverse_norm(X.data + static_cast<std::size_t>(X.indptr[row]), X.length(row));
                square = inverse_[row] > 0 ? 1 : 0;
            }
            squares_[row] = square;
            top = std::max(top, square);
        }
        usable_ = top < 1e300 && top > 1e-280;
        if (!usable_) return;
        scale_ = std::ldexp(1.0, -std::ilogb(std::sqrt(top)) - 1);
        rank_terms();
        store_postings();
        store_tails();
    }

  protected:
    void solve(Design const& Q, std::size_t begin, std::size_t end, SearchSpec const& spec,
               Nearest* nearest) const override {
        Work work;
        work.sums.resize(std::min(block, count_));
        work.bounds.resize(std::min(block, count_));
        work.dense.assign(ranks_, 0.0f);
        for (std::size_t i = begin; i < end; ++i) {
            SparseLine query = sparse_line(Q, i);
            rows_->prepare(query);
            solve_one(query, i, spec, nearest[i - begin], work);
        }
    }

  private:
    struct Term {
        std::size_t index;
        float weight;
        std::uint8_t level;
    };
    struct Tail {  // an entry of a row, its term by rank among those above level 0
        std::uint32_t rank;
        float weight;
    };
    struct Leader {
        float sum;
        std::uint32_t row;
    };
    struct Candidate {
        double score;  // at most the reduced distance
        std::size_t row;
        bool operator<(Candidate const& other) const { return score > other.score; }  // lowest first in a heap
    };
    struct Work {
        std::vector<float> sums;   // an accumulator a row of the block
        std::vector<float> dense;  // the query by rank of term; zero between queries
        std::vector<float> bounds;
        std::vector<Leader> leaders;  // a heap of the k largest sums
        std::vector<Term> terms;
        std::vector<std::uint32_t> passing;
        std::vector<Candidate> candidates;
    };
    // The query as the accumulators see it: scaled to length 1.
    struct Scaled {
        double square = 0;                         // |q|^2 of the query as given
        double norm = 0;                           // its root; 0 where scaling would overflow
        double margin = 0;                         // of an accumulator
        float eta = 0;                             // h(x) / (|q| scale) = eta * half_[x]
        std::array<float, levels> norms{};         // of the terms of each level, rounded up
        std::array<float, levels + 1> left{};      // squared length of the levels from here on
        std::array<std::size_t, levels + 1> at{};  // terms of level l: [at[l], at[l + 1])
    };

    void rank_terms() {
        std::vector<std::size_t> holders(width_, 0);
        for (std::size_t k = 0; k < X_.nonzeros(); ++k) ++holders[static_cast<std::size_t>(X_.indices[k])];
        for (std::size_t j = 0; j < width_; ++j) {
            std::size_t const share = holders[j] == 0 ? count_ : count_ / holders[j];  // one in `share` rows holds it
            std::size_t const octave = std::min<std::size_t>(std::bit_width(share), levels) - (share > 0);
            level_[j] = static_cast<std::uint8_t>(levels - 1 - std::min(octave, levels - 1));
        }
    }

    void store_postings() {
        std::size_t const blocks = Team::count(count_, block);
        starts_.assign(blocks * (width_ + 1), 0);
        rows16_.resize(X_.nonzeros());
        weights_.resize(X_.nonzeros());
        std::uint64_t base = 0;
        for (std::size_t b = 0; b < blocks; ++b) {
            std::uint64_t* starts = starts_.data() + b * (width_ + 1);
            auto const first = static_cast<std::size_t>(X_.indptr[b * block]);
            auto const last = static_cast<std::size_t>(X_.indptr[std::min(count_, (b + 1) * block)]);
            for (std::size_t k = first; k < last; ++k) ++starts[static_cast<std::size_t>(X_.indices[k]) + 1];
            starts[0] = base;
            for (std::size_t j = 0; j < width_; ++j) starts[j + 1] += starts[j];
            base = starts[width_];
            std::vector<std::uint64_t> next(starts, starts + width_);
            for (std::size_t row = b * block; row < std::min(count_, (b + 1) * block); ++row) {
                X_.each(row, [&](std::size_t j, T x) {
                    std::uint64_t const k = next[j]++;
                    rows16_[k] = static_cast<std::uint16_t>(row - b * block);
                    weights_[k] = static_cast<float>(static_cast<double>(x) * inverse_[row] * scale_);
                });
            }
        }
    }

    void store_tails() {
        norms_.assign(levels * count_, 0.0f);
        half_.assign(cosine_ ? 0 : count_, 0.0f);
        rank_.assign(width_, 0);
        for (std::size_t j = 0; j < width_; ++j) {
            if (level_[j] > 0) rank_[j] = static_cast<std::uint32_t>(ranks_++);
        }
        tail_begin_.assign(count_ * levels + 1, 0);
        for (std::size_t row = 0; row < count_; ++row) {
            std::array<std::vector<Tail>, levels> parts;
            std::array<double, levels> squares{};
            X_.each(row, [&](std::size_t j, T x) {
                double const value = static_cast<double>(x) * inverse_[row] * scale_;
                squares[level_[j]] += value * value;
                if (level_[j] > 0) parts[level_[j]].push_back({rank_[j], static_cast<float>(value)});
            });
            for (std::size_t l = 0; l < levels; ++l) {
                norms_[l * count_ + row] = up(std::sqrt(squares[l]));
                tail_begin_[row * levels + l] = tails_.size();
                tails_.insert(tails_.end(), parts[l].begin(), parts[l].end());
                for (std::size_t above = 0; above <= l; ++above) lengths_[above] += parts[l].size();
            }
            tail_begin_[row * levels + levels] = tails_.size();
            if (!cosine_) half_[row] = static_cast<float>(squares_[row] * scale_ * scale_ / 2);
        }
    }

    static float up(double x) { return static_cast<float>(x * (1 + 0x1p-22)) + std::numeric_limits<float>::min(); }

    void solve_one(SparseLine const& query, std::size_t i, SearchSpec const& spec, Nearest& nearest, Work& work) const {
        Scaled const q = scaled(query, work);
        bool const bounded = usable_ && q.norm > 0 && (cosine_ || (q.eta > 1e-8f && q.eta < 1e15f));
        for (std::size_t first = 0; first < count_; first += block) {
            std::size_t const n = std::min(block, count_ - first);
            work.candidates.clear();
            if (bounded) {
                scatter(q, work, true);
                accumulate(q, first, n, i, spec, nearest, work);
                scatter(q, work, false);
            } else {
                for (std::size_t row = first; row < first + n; ++row) {
                    if (allowed(spec, i, row)) work.candidates.push_back({0.0, row});
                }
            }
            finish(query, nearest, work);
        }
    }

    Scaled scaled(SparseLine const& query, Work& work) const {
        Scaled q;
        for (double const x : query.values) q.square += x * x;
        q.norm = std::sqrt(q.square);
        if (!(q.norm > 1e-140 && q.norm < 1e150)) {
            q.norm = 0;
            return q;
        }
        q.margin = 1.1 * (static_cast<double>(query.values.size()) + 32) * 0x1p-24;
        q.eta = cosine_ ? 0.0f : static_cast<float>(1 / (q.norm * scale_));
        work.terms.clear();
        std::array<double, levels> squares{};
        for (std::size_t k = 0; k < query.indices.size(); ++k) {
            double const weight = query.values[k] / q.norm;
            std::uint8_t const level = level_[query.indices[k]];
            work.terms.push_back({query.indices[k], static_cast<float>(weight), level});
            squares[level] += weight * weight;
        }
        std::stable_sort(work.terms.begin(), work.terms.end(),
                         [](Term const& a, Term const& b) { return a.level < b.level; });
        for (std::size_t l = levels; l-- > 0;) {
            q.norms[l] = up(std::sqrt(squares[l]));
            q.left[l] = q.left[l + 1] + static_cast<float>(squares[l]);
        }
        for (Term const& term : work.terms) ++q.at[term.level + 1];
        for (std::size_t l = 0; l < levels; ++l) q.at[l + 1] += q.at[l];
        return q;
    }

    // The query's terms above level 0 into work.dense, or out of it.
    void scatter(Scaled const& q, Work& work, bool in) const {
        for (std::size_t t = q.at[1]; t < q.at[levels]; ++t) {
            work.dense[rank_[work.terms[t].index]] = in ? work.terms[t].weight : 0.0f;
        }
    }

    // Leaves in work.candidates the rows of the block that may be neighbours.
    void accumulate(Scaled const& q, std::size_t first, std::size_t n, std::size_t i, SearchSpec const& spec,
                    Nearest const& nearest, Work& work) const {
        std::uint64_t const* starts = starts_.data() + first / block * (width_ + 1);
        auto const postings = [&](std::size_t begin, std::size_t end) {
            std::size_t total = 0;
            for (std::size_t t = begin; t < end; ++t) {
                total += starts[work.terms[t].index + 1] - starts[work.terms[t].index];
            }
            return total;
        };
        float* sums = work.sums.data();
        std::fill(sums, sums + n, 0.0f);
        std::size_t left = postings(0, work.terms.size());
        constexpr float none = -std::numeric_limits<float>::infinity();
        float known = none, leading = none;
        for (std::size_t l = 0; l < levels; ++l) {
            for (std::size_t t = q.at[l]; t < q.at[l + 1]; ++t) {
                Term const term = work.terms[t];
                for (std::uint64_t k = starts[term.index]; k < starts[term.index + 1]; ++k) {
                    sums[rows16_[k]] += term.weight * weights_[k];
                }
            }
            left -= postings(q.at[l], q.at[l + 1]);
            bool const last = l + 1 == levels || left == 0;
            // A look costs about n / 2 products, and seldom pays while a fifth of the query is still to come.
            if (!last && (q.at[l + 1] == q.at[l] || left < n / 2 || q.left[l + 1] > 0.2f)) continue;
            if (spec.k > 0) known = std::max(known, kth_best(q, l + 1, leading, first, n, i, spec, work));
            // A candidate costs its own terms left, far apart in memory: a dozen postings each.
            std::size_t const price = 12 * lengths_[l + 1] / count_ + 60;
            float const least = lowest(q, known, nearest);
            if (!last && sampled(q, l + 1, least, first, n, work) * price > 2 * left) continue;
            bound(q, l + 1, first, 0, n, work);
            std::size_t passing = 0;
            for (std::size_t row = 0; row < n; ++row) passing += work.bounds[row] >= least;
            if (!last && passing * price > left) continue;
            add_candidates(q, l + 1, least, first, n, i, spec, work);
            return;
        }
    }

    // About how many rows reach `least`, from 16 stretches of them.
    std::size_t sampled(Scaled const& q, std::size_t level, float least, std::size_t first, std::size_t n,
                        Work& work) const {
        std::size_t passing = 0, seen = 0;
        for (std::size_t part = 0; part < 16; ++part) {
            std::size_t const from = part * n / 16, to = std::min(n, from + 64);
            bound(q, level, first, from, to, work);
            for (std::size_t row = from; row < to; ++row) passing += work.bounds[row] >= least;
            seen += to - from;
        }
        return passing * n / seen;
    }

    // Finishes the rows whose bound reaches `least` with what their terms from `level` on bring.
    void add_candidates(Scaled const& q, std::size_t level, float least, std::size_t first, std::size_t n,
                        std::size_t i, SearchSpec const& spec, Work& work) const {
        std::vector<std::uint32_t>& passing = work.passing;
        passing.resize(n + 1);
        std::size_t m = 0;
        for (std::size_t row = 0; row < n; ++row) {  // always written, kept or not: no branch to mispredict
            passing[m] = static_cast<std::uint32_t>(row);
            m += work.bounds[row] >= least;
        }
        for (std::size_t at = 0; at < m; ++at) {
            std::size_t const row = first + passing[at];
            if (at + 2 < m) prefetch_tail(first + passing[at + 2], level);
            if (allowed(spec, i, row)) add_candidate(q, row, with_tail(row, level, work.sums[passing[at]], work), work);
        }
    }

    void prefetch_tail(std::size_t row, std::size_t level) const {
        std::size_t const begin = tail_begin_[row * levels + level], end = tail_begin_[row * levels + levels];
        for (std::size_t k = begin; k < end; k += 64 / sizeof(Tail)) __builtin_prefetch(tails_.data() + k);
    }

    // Fills work.bounds[from, to) with upper bounds on the scores once the levels below `level` are in.
    void bound(Scaled const& q, std::size_t level, std::size_t first, std::size_t from, std::size_t to,
               Work& work) const {
        float const* sums = work.sums.data();
        float* bounds = work.bounds.data();
        if (cosine_) {
            std::copy(sums + from, sums + to, bounds + from);
        } else {
            float const* half = half_.data() + first;
            float const eta = q.eta * (1 - 0x1p-20f);
            for (std::size_t row = from; row < to; ++row) bounds[row] = sums[row] - eta * half[row];
        }
        for (std::size_t l = level; l < levels; ++l) {
            if (q.at[l + 1] == q.at[l]) continue;
            float const* norms = norms_.data() + l * count_ + first;
            float const norm = q.norms[l];
            for (std::size_t row = from; row < to; ++row) bounds[row] += norm * norms[row];
        }
    }

    // The least bound that a neighbour can have, where k rows of the block are known to reach `known`.
    float lowest(Scaled const& q, float known, Nearest const& nearest) const {
        auto floor = static_cast<double>(known);
        if (std::isfinite(nearest.limit())) {
            floor = std::max(
                floor, cosine_ ? (1 - nearest.limit()) * scale_ : (q.square - nearest.limit()) / 2 * scale_ / q.norm);
        }
        return static_cast<float>(floor - 2 * q.margin);
    }

    // A score that k rows reach: the least of the k rows that lead so far, each finished from its own terms.
    // `leading` is the k-th largest sum of the last time: where no product is negative, sums only grow.
    float kth_best(Scaled const& q, std::size_t level, float& leading, std::size_t first, std::size_t n, std::size_t i,
                   SearchSpec const& spec, Work& work) const {
        auto const worse = [](Leader const& a, Leader const& b) { return a.sum > b.sum; };
        std::vector<Leader>& leaders = work.leaders;
        leaders.clear();
        float const* sums = work.sums.data();
        float least = leading;
        constexpr std::size_t step = 32;
        for (std::size_t from = 0; from < n; from += step) {
            std::size_t const to = std::min(n, from + step);
            unsigned any = to - from < step;
            if (any == 0) {
#pragma omp simd reduction(| : any)
                for (std::size_t l = 0; l < step; ++l) any |= sums[from + l] > least ? 1u : 0u;
            }
            if (any == 0) continue;
            for (std::size_t row = from; row < to; ++row) {
                if (!(sums[row] > least) || !allowed(spec, i, first + row)) continue;
                if (leaders.size() == spec.k) {
                    std::pop_heap(leaders.begin(), leaders.end(), worse);
                    leaders.pop_back();
                }
                leaders.push_back({sums[row], static_cast<std::uint32_t>(row)});
                std::push_heap(leaders.begin(), leaders.end(), worse);
                if (leaders.size() == spec.k) least = leaders.front().sum;
            }
        }
        if (leaders.size() < spec.k) return -std::numeric_limits<float>::infinity();
        leading = least;
        float lowest = std::numeric_limits<float>::infinity();
        for (Leader const& leader : leaders) {
            float const h = cosine_ ? 0.0f : q.eta * (1 + 0x1p-20f) * half_[first + leader.row];
            lowest = std::min(lowest, with_tail(first + leader.row, level, leader.sum, work) - h);
        }
        return lowest;
    }

    // The sum of a row and what its terms from `level` on bring.
    float with_tail(std::size_t row, std::size_t level, float sum, Work const& work) const {
        std::size_t const begin = tail_begin_[row * levels + level], end = tail_begin_[row * levels + levels];
        std::array<float, 4> sums{};  // side by side: one sum would wait for each addition
        std::size_t k = begin;
        for (; k + 4 <= end; k += 4) {
            for (std::size_t s = 0; s < 4; ++s) sums[s] += tails_[k + s].weight * work.dense[tails_[k + s].rank];
        }
        for (; k < end; ++k) sums[0] += tails_[k].weight * work.dense[tails_[k].rank];
        return sum + ((sums[0] + sums[1]) + (sums[2] + sums[3]));
    }

    void add_candidate(Scaled const& q, std::size_t row, float sum, Work& work) const {
        double const product = (static_cast<double>(sum) + q.margin) * q.norm / scale_,
                     squares = q.square + squares_[row];
        work.candidates.push_back({cosine_ ? 1 - product : squares * (1 - 1e-12) - 2 * product, row});
    }

    void finish(SparseLine const& query, Nearest& nearest, Work& work) const {
        auto const begin = work.candidates.begin();
        std::make_heap(begin, work.candidates.end());
        for (auto end = work.candidates.end(); end != begin; --end) {
            if (begin->score > nearest.limit()) return;
            std::size_t const row = begin->row;
            std::pop_heap(begin, end);
            nearest.offer(*rows_, rows_->reduced(query, row), row);
        }
    }

    Sparse<T, I> X_;
    bool cosine_, usable_ = true;
    double scale_ = 1;
    std::vector<double> inverse_, squares_;
    std::vector<std::uint8_t> level_;
    std::vector<std::uint64_t> starts_;  // by block and term
    std::vector<std::uint16_t> rows16_;  // rows of a posting list, counted from the block's first
    std::vector<float> weights_;
    std::vector<float> norms_;  // by level and row: norm of the row's terms of this level, rounded up
    std::vector<float> half_;   // |x|^2 / 2, scaled; empty for cosine
    std::size_t ranks_ = 0;
    std::vector<std::uint32_t> rank_;
    std::vector<Tail> tails_;                        // by row and level, without level 0
    std::vector<std::uint64_t> tail_begin_;          // by row and level
    std::array<std::size_t, levels + 1> lengths_{};  // entries of this level and above, in all rows
};

}  // namespace tallywise
