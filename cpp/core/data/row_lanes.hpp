// Rows of X for methods that take one after the other: against L vectors at once, so that the row is read once for all
// and their entries share a cache line, and their lengths.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "core/base/prefetch.hpp"
#include "core/data/design.hpp"
#include "core/data/lanes.hpp"

namespace tallywise {

// z_l = x_i'w_l and w_l += step_l x_i for L vectors whose entries lie side by side: one register of them, or one.
template <class Rows, std::size_t L, class Weight = double>
struct RowLanes {
    static_assert(L == 1 || L * sizeof(Weight) == sizeof(detail::Pack<Weight>));
    using Pack = detail::Pack<Weight>;

    static void dot(Rows const& X, std::size_t i, Weight const* w, double* z) {
        if constexpr (L == 1) {
            z[0] = X.dot(i, w);
        } else {
            Pack sum{};
            each(X, i, w, [&](std::size_t j, Weight x) { sum += x * *reinterpret_cast<Pack const*>(w + j * L); });
            for (std::size_t l = 0; l < L; ++l) z[l] = static_cast<double>(sum[l]);
        }
    }

    static void axpy(Rows const& X, std::size_t i, double const* step, Weight* w) {
        if constexpr (L == 1) {
            X.axpy(i, step[0], w);
        } else {
            Pack by;
            for (std::size_t l = 0; l < L; ++l) by[l] = static_cast<Weight>(step[l]);
            X.each(i,
                   [&](std::size_t j, auto x) { *reinterpret_cast<Pack*>(w + j * L) += static_cast<Weight>(x) * by; });
        }
    }

  private:
    template <class F>
    static void each(Rows const& X, std::size_t i, Weight const* w, F&& f) {
        if constexpr (Rows::is_sparse) {
            X.each(
                i, [&](std::size_t j) { prefetch_line(w + j * L); },
                [&](std::size_t j, auto x) { f(j, static_cast<Weight>(x)); });
        } else {
            X.each(i, [&](std::size_t j, auto x) { f(j, static_cast<Weight>(x)); });
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
