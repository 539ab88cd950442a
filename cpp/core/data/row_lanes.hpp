// Rows of X for methods that take one after the other: against L vectors at once, so that the row is read once for all
// and their entries share a cache line, and their lengths.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "core/data/design.hpp"
#include "core/data/lanes.hpp"

namespace tallywise {

// z_l = x_i'w_l and w_l += step_l x_i for L vectors whose entries lie side by side.
template <class Rows, std::size_t L>
struct RowLanes {
    static_assert(L == 1 || L == 4);

    static void dot(Rows const& X, std::size_t i, double const* w, double* z) {
        if constexpr (L == 1) {
            z[0] = X.dot(i, w);
        } else {
            detail::Pack<double> sum{};
            each(X, i, w, [&](std::size_t j, double x) {
                sum += x * *reinterpret_cast<detail::Pack<double> const*>(w + j * L);
            });
            *reinterpret_cast<detail::Pack<double>*>(z) = sum;
        }
    }

    static void axpy(Rows const& X, std::size_t i, double const* step, double* w) {
        if constexpr (L == 1) {
            X.axpy(i, step[0], w);
        } else {
            auto const by = *reinterpret_cast<detail::Pack<double> const*>(step);
            X.each(i, [&](std::size_t j, auto x) {
                *reinterpret_cast<detail::Pack<double>*>(w + j * L) += static_cast<double>(x) * by;
            });
        }
    }

  private:
    template <class F>
    static void each(Rows const& X, std::size_t i, double const* w, F&& f) {
        if constexpr (Rows::is_sparse) {
            X.each(
                i, [&](std::size_t j) { __builtin_prefetch(w + j * L); },
                [&](std::size_t j, auto x) { f(j, static_cast<double>(x)); });
        } else {
            X.each(i, [&](std::size_t j, auto x) { f(j, static_cast<double>(x)); });
        }
    }
};

// |x_i|^2, the intercept's entry included. An empty row still has a dual variable, which goes to its bound.
template <class Rows>
std::vector<double> squared_lengths(Rows const& X, double intercept_scale) {
    std::vector<double> q(X.lines);
    for (std::size_t i = 0; i < X.lines; ++i) {
        double square = intercept_scale * intercept_scale;
        X.each(i, [&](std::size_t, auto x) { square += static_cast<double>(x) * static_cast<double>(x); });
        q[i] = std::max(square, 1e-300);
    }
    return q;
}

}  // namespace tallywise
