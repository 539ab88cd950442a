// The columns that a working-set solver is busy with, and their products in the metric of a quadratic model.
//
// With r = sqrt(h) for the weights h of the model, x~ = r x. Steps on the model need x~ alone: one array to read.
//   assign(X, features)  these columns of X
//   weigh(k, r)          keep x~ of the k-th of them; gives its moments sum h x and sum h x^2
//   length(k)            its entries
//   dot(k, v), axpy(k, d, v)   x~_k'v and v += d x~_k
//   place(k, i), axpy(k, d, v, from, to)   the same between two places, where those of row i and later begin
//   gram(team, r, centre)   all products of the x~ - r centre_k, row-major, and
//   gram_rounds()        the rounds over the columns that take as long as making it; for largest_gram columns at most
// weigh may be called for different k at the same time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "core/base/line_products.hpp"
#include "core/base/numeric.hpp"
#include "core/base/parallel.hpp"
#include "core/data/design.hpp"

namespace tallywise::linear {

struct Moments {
    double first = 0, second = 0;
};

// Dense columns are used where they lie: reading r beside them is cheaper than a copy of X.
template <class Columns>
class WorkingSet {
  public:
    static constexpr std::size_t largest_gram = 1024;

    void assign(Columns const& X, std::vector<std::size_t> const& features) {
        X_ = &X;
        features_ = &features;
    }

    // Products of blocks run sixteen times as fast as those of single columns: half of them, twice as fast.
    std::size_t gram_rounds() const { return features_->size() / 16; }

    std::vector<double> gram(Team& team, std::vector<double> const& r, std::vector<double> const& centre) const {
        std::size_t const m = features_->size(), n = X_->width;
        return gram_of_lines(team, m, n, [&](std::size_t first, std::size_t count, LineBlock& block) {
            for (std::size_t k = 0; k < m; ++k) {
                auto const* x = column(k) + first;
                double* to = block.line(k);
                for (std::size_t i = 0; i < count; ++i) {
                    to[i] = r[first + i] * (static_cast<double>(x[i]) - centre[k]);
                }
            }
        });
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

    std::size_t length(std::size_t) const { return X_->width; }

    double dot(std::size_t k, double const* v) const {
        auto const* x = column(k);
        double total = 0;
#pragma omp simd reduction(+ : total)
        for (std::size_t i = 0; i < X_->width; ++i) total += static_cast<double>(x[i]) * (r_[i] * v[i]);
        return total;
    }

    void axpy(std::size_t k, double d, double* v) const { axpy(k, d, v, 0, X_->width); }

    std::size_t place(std::size_t, std::size_t row) const { return row; }

    void axpy(std::size_t k, double d, double* v, std::size_t from, std::size_t to) const {
        auto const* x = column(k);
#pragma omp simd
        for (std::size_t i = from; i < to; ++i) v[i] += d * (r_[i] * static_cast<double>(x[i]));
    }

  private:
    auto const* column(std::size_t k) const { return X_->data + (*features_)[k] * X_->stride; }

    Columns const* X_ = nullptr;
    std::vector<std::size_t> const* features_ = nullptr;
    double const* r_ = nullptr;
};

template <class T>
class WorkingSet<Sparse<T>> {
  public:
    static constexpr std::size_t largest_gram = 2048;

    void assign(Sparse<T> const& X, std::vector<std::size_t> const& features) {
        X_ = &X;
        features_ = &features;
        start_.assign(1, 0);
        for (std::size_t j : features) start_.push_back(start_.back() + X.length(j));
        scaled_.resize(start_.back());
    }

    std::size_t gram_rounds() const { return features_->size() / 2; }

    std::vector<double> gram(Team& team, std::vector<double> const& r, std::vector<double> const& centre) const {
        std::size_t const m = features_->size();
        std::vector<double> G(m * m), mean(m);
        double total = 0;
        for (double x : r) total += x * x;
        for (std::size_t k = 0; k < m; ++k) mean[k] = dot(k, r.data());
        team.each_range(m, 16, [&](std::size_t begin, std::size_t end, std::size_t) {
            std::vector<double> line(X_->width, 0.0);
            for (std::size_t k = begin; k < end; ++k) {
                axpy(k, 1.0, line.data());
                for (std::size_t l = 0; l <= k; ++l) {
                    G[k * m + l] =
                        dot(l, line.data()) - centre[k] * mean[l] - centre[l] * mean[k] + centre[k] * centre[l] * total;
                }
                X_->each((*features_)[k], [&](std::size_t i, double) { line[i] = 0; });
            }
        });
        for (std::size_t k = 0; k < m; ++k) {
            for (std::size_t l = 0; l < k; ++l) G[l * m + k] = G[k * m + l];
        }
        return G;
    }

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

    std::size_t length(std::size_t k) const { return start_[k + 1] - start_[k]; }

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

}  // namespace tallywise::linear
