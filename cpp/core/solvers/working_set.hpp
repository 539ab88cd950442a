// The columns that a working-set solver is busy with, and their products in the metric of a quadratic model.
//
// With r = sqrt(h) for the weights h of the model, x~ = r x. Steps on the model need x~ alone: one array to read.
//   assign(X, features)  these columns of X
//   weigh(k, r)          keep x~ of the k-th of them; gives its moments sum h x and sum h x^2
//   dot(k, v), axpy(k, d, v)   x~_k'v and v += d x~_k
//   place(k, i), axpy(k, d, v, from, to)   the same between two places, where those of row i and later begin
// weigh may be called for different k at the same time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "core/design.hpp"

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

template <class T, class I>
class WorkingSet<Sparse<T, I>> {
  public:
    void assign(Sparse<T, I> const& X, std::vector<std::size_t> const& features) {
        X_ = &X;
        features_ = &features;
        start_.assign(1, 0);
        for (std::size_t j : features) start_.push_back(start_.back() + X.length(j));
        scaled_.resize(start_.back());
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

    double dot(std::size_t k, double const* v) const {
        double const* x = scaled_.data() + start_[k];
        I const* row = rows(k);
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
        I const *first = rows(k), *last = first + (start_[k + 1] - start_[k]);
        return static_cast<std::size_t>(std::lower_bound(first, last, static_cast<I>(row)) - first);
    }

    void axpy(std::size_t k, double d, double* v, std::size_t from, std::size_t to) const {
        double const* x = scaled_.data() + start_[k];
        I const* row = rows(k);
        for (std::size_t e = from; e < to; ++e) v[row[e]] += d * x[e];
    }

  private:
    I const* rows(std::size_t k) const { return X_->indices + X_->indptr[(*features_)[k]]; }

    Sparse<T, I> const* X_ = nullptr;
    std::vector<std::size_t> const* features_ = nullptr;
    std::vector<std::size_t> start_;
    std::vector<double> scaled_;
};

}  // namespace tallywise
