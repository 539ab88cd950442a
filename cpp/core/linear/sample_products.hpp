// The products of a Newton solver in the space of samples: G R = XX'R in float, for conjugate gradients, and X'M and
// X W in double, for what is reported. R and M have L numbers a sample side by side, W a feature (lanes.hpp).
//
// Nobody sees the columns between the two halves of G, so a sparse X has them in an order of its own: the most frequent
// first, where those of most entries share cache lines and short columns of one length follow each other (words and
// pairs, 6.6 million entries: 12.2 ms a product instead of 17). A column of one row is part of the diagonal of G.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/large_array.hpp"
#include "core/base/parallel.hpp"
#include "core/data/design.hpp"
#include "core/data/lane_design.hpp"
#include "core/data/lanes.hpp"
#include "core/linear/vectors.hpp"

namespace tallywise::linear {

namespace detail {

// Leaves new numbers unset: they are all written, and 100 MB of them cost as much to set as to fill.
template <class T>
struct UnsetAllocator : LargeAllocator<T> {
    UnsetAllocator() = default;
    template <class U>
    UnsetAllocator(UnsetAllocator<U> const&) {}
    template <class U>
    struct rebind {
        using other = UnsetAllocator<U>;
    };
    template <class U>
    void construct(U*) {}
};

template <class T>
using UnsetArray = std::vector<T, UnsetAllocator<T>>;

}  // namespace detail

template <class Rows>
class SampleProducts;

template <class V>
class SampleProducts<Sparse<V>> {
  public:
    // For R and M with L numbers a sample.
    SampleProducts(Team& team, Sparse<V> const& X, std::size_t L)
        : n(X.lines), p(X.width), L_(L), X_(X), grain_(grain_of(X)), alone_(X.lines, 0.0f) {
        std::size_t const pieces = Team::count(n, grain_);
        std::vector<std::uint32_t> used(pieces * p, 0);  // entries of each column in each piece of the rows
        team.each_range(n, grain_, [&](std::size_t begin, std::size_t end, std::size_t piece) {
            std::uint32_t* const mine = used.data() + piece * p;
            for (std::size_t i = begin; i < end; ++i) X_.each(i, [&](std::size_t j, V) { ++mine[j]; });
        });
        std::vector<Index> const place = order(used);
        count_rows(team, place);
        std::vector<std::int64_t> next(pieces * p);  // where each piece goes on in each column
        column_starts_.assign(p + 1, 0);
        for (std::size_t k = 0; k < p; ++k) {
            std::int64_t at = column_starts_[k];
            for (std::size_t piece = 0; piece < pieces; ++piece) {
                next[piece * p + k] = at;
                at += used[piece * p + static_cast<std::size_t>(column_[k])];
            }
            column_starts_[k + 1] = at;
        }
        fill(team, place, next);
    }

    SampleProducts(SampleProducts const&) = delete;

    // G R.
    void gram(Team& team, float const* R, float* GR) {
        between_.resize(shared_ * L_);
        Sparse<float> const rows{row_values_.data(), row_columns_.data(), row_starts_.data(), n, shared_};
        Sparse<float> const columns{column_values_.data(), column_rows_.data(), column_starts_.data(), shared_, n};
        Lanes<float, Sparse<float>> const products(rows, columns);
        products.gather(team, R, L_, between_.data());
        products.scores(team, between_.data(), L_, GR);
        if (shared_ == p) return;
        team.each_range(n, 512, [&](std::size_t begin, std::size_t end, std::size_t) {
            for (std::size_t i = begin; i < end; ++i) {
                for (std::size_t k = i * L_; k < (i + 1) * L_; ++k) GR[k] += alone_[i] * R[k];
            }
        });
    }

    // W = X'M. For several numbers a sample by columns; a single one does not pay for their copy in double, and adds up
    // by rows, in pieces with sums of their own, added in order.
    void weights(Team& team, double const* M, double* W) const {
        if (L_ > 1) {
            Sparse<V> const columns{exact_values_.data(), column_rows_.data(), column_starts_.data(), p, n};
            team.each_range(p, 512, [&](std::size_t begin, std::size_t end, std::size_t) {
                for (std::size_t k = begin; k < end; ++k) {
                    tallywise::detail::combine_lanes(columns, k, M, L_, W + static_cast<std::size_t>(column_[k]) * L_);
                }
            });
            return;
        }
        std::size_t const pieces = Team::count(n, grain_);
        std::vector<double> others((pieces - 1) * p, 0.0);
        std::fill(W, W + p, 0.0);
        team.each_range(n, grain_, [&](std::size_t begin, std::size_t end, std::size_t piece) {
            double* const sum = piece == 0 ? W : others.data() + (piece - 1) * p;
            for (std::size_t i = begin; i < end; ++i) X_.axpy(i, M[i], sum);
        });
        each_entry(team, p, [&](std::size_t j) {
            for (std::size_t piece = 0; piece + 1 < pieces; ++piece) W[j] += others[piece * p + j];
        });
    }

    // Z = X W.
    void scores(Team& team, double const* W, double* Z) const {
        Lanes<double, Sparse<V>>(X_, Sparse<V>{}).scores(team, W, L_, Z);
    }

    double squared_length(std::size_t i) const {
        double total = 0;
        X_.each(i, [&](std::size_t, double x) { total += x * x; });
        return total;
    }

    std::size_t n, p;

  private:
    // Rows a piece: four pieces at most, each of which counts all columns.
    static std::size_t grain_of(Sparse<V> const& X) {
        std::size_t const pieces = std::clamp<std::size_t>(X.nonzeros() >> 18, 1, 4);
        return std::max<std::size_t>(1, Team::count(X.lines, pieces));
    }

    // Places of the columns by falling number of entries, and which column is at each.
    std::vector<Index> order(std::vector<std::uint32_t> const& used) {
        std::vector<std::uint32_t> uses(used.begin(), used.begin() + static_cast<std::ptrdiff_t>(p));
        for (std::size_t first = p; first < used.size(); first += p) {
            for (std::size_t j = 0; j < p; ++j) uses[j] += used[first + j];
        }
        std::uint32_t most = 0;
        for (std::uint32_t const u : uses) most = std::max(most, u);
        std::vector<std::size_t> next(most + std::size_t{2}, 0);  // place of the first column with `most - k` entries
        for (std::uint32_t const u : uses) {
            ++next[most - u + std::size_t{1}];
            shared_ += u > 1 ? 1 : 0;
        }
        for (std::size_t k = 0; k <= most; ++k) next[k + 1] += next[k];
        std::vector<Index> place(p);
        column_.resize(p);
        for (std::size_t j = 0; j < p; ++j) {
            std::size_t const k = next[most - uses[j]]++;
            place[j] = static_cast<Index>(k);
            column_[k] = static_cast<Index>(j);
        }
        return place;
    }

    // Where rows begin without the columns of one row.
    void count_rows(Team& team, std::vector<Index> const& place) {
        row_starts_.assign(X_.indptr, X_.indptr + n + 1);
        if (shared_ == p) return;
        auto const shared = static_cast<Index>(shared_);
        team.each_range(n, grain_, [&](std::size_t begin, std::size_t end, std::size_t) {
            for (std::size_t i = begin; i < end; ++i) {
                std::int64_t kept = 0;
                X_.each(i, [&](std::size_t j, V) { kept += place[j] < shared ? 1 : 0; });
                row_starts_[i + 1] = kept;
            }
        });
        for (std::size_t i = 0; i < n; ++i) row_starts_[i + 1] += row_starts_[i];
    }

    void fill(Team& team, std::vector<Index> const& place, std::vector<std::int64_t>& next) {
        row_values_.resize(static_cast<std::size_t>(row_starts_[n]));
        row_columns_.resize(row_values_.size());
        column_values_.resize(X_.nonzeros());
        column_rows_.resize(X_.nonzeros());
        if (L_ > 1) exact_values_.resize(X_.nonzeros());
        team.each_range(n, grain_, [&](std::size_t begin, std::size_t end, std::size_t piece) {
            std::int64_t* const mine = next.data() + piece * p;
            for (std::size_t i = begin; i < end; ++i) {
                auto k = static_cast<std::size_t>(row_starts_[i]);
                X_.each(i, [&](std::size_t j, V value) {
                    auto const x = static_cast<float>(value);
                    auto const at = static_cast<std::size_t>(place[j]);
                    if (at < shared_) {
                        row_columns_[k] = place[j];
                        row_values_[k++] = x;
                    } else {
                        alone_[i] += x * x;
                    }
                    auto const in_column = static_cast<std::size_t>(mine[at]++);
                    column_rows_[in_column] = static_cast<Index>(i);
                    column_values_[in_column] = x;
                    if (L_ > 1) exact_values_[in_column] = value;
                });
            }
        });
    }

    std::size_t L_;
    Sparse<V> X_;
    std::size_t grain_, shared_ = 0;  // columns of two rows and more
    std::vector<Index> column_;       // at each place
    std::vector<std::int64_t> row_starts_, column_starts_;
    detail::UnsetArray<float> row_values_, column_values_;
    detail::UnsetArray<Index> row_columns_, column_rows_;
    detail::UnsetArray<V> exact_values_;
    std::vector<float> alone_;  // of each row the squared length in columns that no other row has
    LargeArray<float> between_;
};

template <class V>
class SampleProducts<Dense<V>> {
  public:
    SampleProducts(Team&, Dense<V> const& X, std::size_t L) : n(X.lines), p(X.width), L_(L), X_(X) {}

    void gram(Team& team, float const* R, float* GR) {
        between_.resize(p * L_);
        X_.fast.gather(team, R, L_, between_.data());
        X_.fast.scores(team, between_.data(), L_, GR);
    }
    void weights(Team& team, double const* M, double* W) const { X_.exact.gather(team, M, L_, W); }
    void scores(Team& team, double const* W, double* Z) const { X_.exact.scores(team, W, L_, Z); }
    double squared_length(std::size_t i) const {
        double total = 0;
        X_.rows().each(i, [&](std::size_t, double x) { total += x * x; });
        return total;
    }

    std::size_t n, p;

  private:
    std::size_t L_;
    LaneDesign<Dense<V>> X_;
    std::vector<float> between_;
};

}  // namespace tallywise::linear
