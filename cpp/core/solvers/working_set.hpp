// The columns that a working-set solver is busy with, laid out for coordinate steps.
//
//   assign(X, features)  make room for these columns of X
//   load(k)              bring in the k-th of them
//   weigh(k, h)          keep the weights h for it; gives its moments sum h x and sum h x^2
//   dot(k, g)            x_k'g
//   weighted_dot(k, v)   sum h x_k v
//   axpy(k, d, v)        v += d x_k
// load and weigh may be called for different k at the same time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/design.hpp"

namespace tallywise {

struct Moments {
    double first = 0, second = 0;
};

// Dense columns are used where they lie.
template <class Columns>
class WorkingSet {
  public:
    void assign(Columns const& X, std::vector<std::size_t> const& features) {
        X_ = &X;
        features_ = &features;
    }

    void load(std::size_t) {}

    Moments weigh(std::size_t k, double const* h) {
        if (k == 0) h_ = h;
        auto const* x = column(k);
        double first = 0, second = 0;
#pragma omp simd reduction(+ : first, second)
        for (std::size_t i = 0; i < X_->width; ++i) {
            double const value = static_cast<double>(x[i]);
            first += h[i] * value;
            second += h[i] * value * value;
        }
        return {first, second};
    }

    double dot(std::size_t k, double const* g) const { return X_->dot((*features_)[k], g); }

    double weighted_dot(std::size_t k, double const* v) const {
        auto const* x = column(k);
        double total = 0;
#pragma omp simd reduction(+ : total)
        for (std::size_t i = 0; i < X_->width; ++i) total += static_cast<double>(x[i]) * (h_[i] * v[i]);
        return total;
    }

    void axpy(std::size_t k, double d, double* v) const { X_->axpy((*features_)[k], d, v); }

  private:
    auto const* column(std::size_t k) const { return X_->data + (*features_)[k] * X_->stride; }

    Columns const* X_ = nullptr;
    std::vector<std::size_t> const* features_ = nullptr;
    double const* h_ = nullptr;
};

// Sparse columns are copied side by side, with h x beside x: one random access an entry instead of two.
template <class T, class I>
class WorkingSet<Sparse<T, I>> {
  public:
    void assign(Sparse<T, I> const& X, std::vector<std::size_t> const& features) {
        X_ = &X;
        features_ = &features;
        start_.assign(1, 0);
        for (std::size_t j : features) start_.push_back(start_.back() + X.length(j));
        row_.resize(start_.back());
        x_.resize(start_.back());
        hx_.resize(start_.back());
    }

    void load(std::size_t k) {
        std::size_t at = start_[k];
        X_->each((*features_)[k], [&](std::size_t i, T x) {
            row_[at] = static_cast<std::uint32_t>(i);
            x_[at++] = static_cast<double>(x);
        });
    }

    Moments weigh(std::size_t k, double const* h) {
        Moments moments;
        for (std::size_t e = start_[k]; e < start_[k + 1]; ++e) {
            hx_[e] = h[row_[e]] * x_[e];
            moments.first += hx_[e];
            moments.second += hx_[e] * x_[e];
        }
        return moments;
    }

    double dot(std::size_t k, double const* g) const { return product(k, x_, g); }
    double weighted_dot(std::size_t k, double const* v) const { return product(k, hx_, v); }

    void axpy(std::size_t k, double d, double* v) const {
        for (std::size_t e = start_[k]; e < start_[k + 1]; ++e) v[row_[e]] += d * x_[e];
    }

  private:
    double product(std::size_t k, std::vector<double> const& values, double const* v) const {
        double even = 0, odd = 0;  // two chains: the additions are what waits
        std::size_t e = start_[k];
        for (; e + 1 < start_[k + 1]; e += 2) {
            even += values[e] * v[row_[e]];
            odd += values[e + 1] * v[row_[e + 1]];
        }
        if (e < start_[k + 1]) even += values[e] * v[row_[e]];
        return even + odd;
    }

    Sparse<T, I> const* X_ = nullptr;
    std::vector<std::size_t> const* features_ = nullptr;
    std::vector<std::size_t> start_;
    std::vector<std::uint32_t> row_;
    std::vector<double> x_, hx_;
};

}  // namespace tallywise
