// The columns that a working-set solver is busy with, and their products in the metric of a quadratic model.
//
// With r = sqrt(h) for the weights h of the model, x~ = r x. Steps on the model need x~ alone: one array to read.
//   assign(X, features)  these columns of X
//   weigh(k, r)          keep x~ of the k-th of them; gives its moments sum h x and sum h x^2
//   dot(k, v), axpy(k, d, v)   x~_k'v and v += d x~_k
//   place(k, i), axpy(k, d, v, from, to)   the same between two places, where those of row i and later begin
//   worth_folding(rounds), fold(team)      after that many rounds over them: columns of fewer numbers, same products
//   rows()               numbers of a column, which is the length of v
// weigh may be called for different k at the same time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "core/base/cholesky.hpp"
#include "core/base/gemm.hpp"
#include "core/base/numeric.hpp"
#include "core/base/parallel.hpp"
#include "core/data/design.hpp"

namespace tallywise {

struct Moments {
    double first = 0, second = 0;
};

// Dense columns are used where they lie: reading r beside them is cheaper than a copy of X.
template <class Columns>
class WorkingSet {
  public:
    void assign(Columns const& X, std::vector<std::size_t> const& features) {
        X_ = &X;
        features_ = &features;
        unfold();
    }

    std::size_t rows() const { return factor_.empty() ? X_->width : features_->size(); }
    void unfold() { factor_.clear(); }

    // A fold costs about an eighth of as many rounds as there are columns (spambase: 8 ms of rounds become 2).
    bool worth_folding(std::size_t rounds) const {
        std::size_t const m = features_->size();
        return factor_.empty() && m <= 512 && 4 * m <= X_->width && 8 * rounds >= m;
    }

    // From here on column k is that of R with R'R = X~'X~.
    void fold(Team& team) {
        std::size_t const m = features_->size(), n = X_->width, grain = std::max(block, (n + 7) / 8);
        std::vector<double> parts(Team::count(n, grain) * m * m, 0.0);
        team.each_range(n, grain, [&](std::size_t begin, std::size_t end, std::size_t piece) {
            std::vector<double> scaled(m * block), products(m * m);
            PackedRows<double> packed;
            for (std::size_t first = begin; first < end; first += block) {
                std::size_t const count = std::min(block, end - first);
                for (std::size_t k = 0; k < m; ++k) {
                    auto const* x = column(k) + first;
                    double* to = scaled.data() + k * count;
                    for (std::size_t i = 0; i < count; ++i) to[i] = r_[first + i] * static_cast<double>(x[i]);
                }
                packed.pack(scaled.data(), count, m, count);
                multiply(scaled.data(), count, m, packed, 0, m, products.data(), m);
                for (std::size_t a = 0; a < m * m; ++a) parts[piece * m * m + a] += products[a];
            }
        });
        for (std::size_t a = m * m; a < parts.size(); ++a) parts[a % (m * m)] += parts[a];
        parts.resize(m * m);
        cholesky(parts.data(), m, 1e-15);
        factor_ = std::move(parts);
    }

    Moments weigh(std::size_t k, double const* r) {
        if (k == 0) r_ = r;
        auto const* x = column(k);
        double first = 0, second = 0;
#pragma omp simd reduction(+ : first, second)
        for (std::size_t i = 0; i < X_->width; ++i) {
            double const scaled = r[i] * static_cast<double>(x[i]);
            first += r[i] * scaled;
            second += scaled * scaled;
        }
        return {first, second};
    }

    double dot(std::size_t k, double const* v) const {
        if (!factor_.empty()) return tallywise::dot(factor_.data() + k * features_->size(), v, k + 1);
        auto const* x = column(k);
        double total = 0;
#pragma omp simd reduction(+ : total)
        for (std::size_t i = 0; i < X_->width; ++i) total += static_cast<double>(x[i]) * (r_[i] * v[i]);
        return total;
    }

    void axpy(std::size_t k, double d, double* v) const { axpy(k, d, v, 0, rows()); }

    std::size_t place(std::size_t, std::size_t row) const { return row; }

    void axpy(std::size_t k, double d, double* v, std::size_t from, std::size_t to) const {
        if (!factor_.empty()) {
            double const* x = factor_.data() + k * features_->size();
            for (std::size_t i = from; i < std::min(to, k + 1); ++i) v[i] += d * x[i];
            return;
        }
        auto const* x = column(k);
#pragma omp simd
        for (std::size_t i = from; i < to; ++i) v[i] += d * (r_[i] * static_cast<double>(x[i]));
    }

  private:
    static constexpr std::size_t block = 512;  // rows to a product

    auto const* column(std::size_t k) const { return X_->data + (*features_)[k] * X_->stride; }

    Columns const* X_ = nullptr;
    std::vector<std::size_t> const* features_ = nullptr;
    double const* r_ = nullptr;
    std::vector<double> factor_;  // row k of R', where folded
};

template <class T>
class WorkingSet<Sparse<T>> {
  public:
    void assign(Sparse<T> const& X, std::vector<std::size_t> const& features) {
        X_ = &X;
        features_ = &features;
        start_.assign(1, 0);
        for (std::size_t j : features) start_.push_back(start_.back() + X.length(j));
        scaled_.resize(start_.back());
    }

    std::size_t rows() const { return X_->width; }
    void unfold() {}
    bool worth_folding(std::size_t) const { return false; }  // few of its rows meet
    void fold(Team&) {}

    Moments weigh(std::size_t k, double const* r) {
        Moments moments;
        double* out = scaled_.data() + start_[k];
        X_->each((*features_)[k], [&](std::size_t i, T x) {
            *out = r[i] * static_cast<double>(x);
            moments.first += r[i] * *out;
            moments.second += *out * *out;
            ++out;
        });
        return moments;
    }

    double dot(std::size_t k, double const* v) const {
        double const* x = scaled_.data() + start_[k];
        Index const* row = rows(k);
        std::size_t const length = start_[k + 1] - start_[k];
        double even = 0, odd = 0;  // two chains: the additions are what waits
        std::size_t e = 0;
        for (; e + 1 < length; e += 2) {
            even += x[e] * v[row[e]];
            odd += x[e + 1] * v[row[e + 1]];
        }
        if (e < length) even += x[e] * v[row[e]];
        return even + odd;
    }

    void axpy(std::size_t k, double d, double* v) const { axpy(k, d, v, 0, start_[k + 1] - start_[k]); }

    std::size_t place(std::size_t k, std::size_t row) const {
        Index const *first = rows(k), *last = first + (start_[k + 1] - start_[k]);
        return static_cast<std::size_t>(std::lower_bound(first, last, static_cast<Index>(row)) - first);
    }

    void axpy(std::size_t k, double d, double* v, std::size_t from, std::size_t to) const {
        double const* x = scaled_.data() + start_[k];
        Index const* row = rows(k);
        for (std::size_t e = from; e < to; ++e) v[row[e]] += d * x[e];
    }

  private:
    Index const* rows(std::size_t k) const { return X_->entries((*features_)[k]).indices; }

    Sparse<T> const* X_ = nullptr;
    std::vector<std::size_t> const* features_ = nullptr;
    std::vector<std::size_t> start_;
    std::vector<double> scaled_;
};

}  // namespace tallywise
