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

// z_l = x_i'w_l and w_l += step_l x_i for L vectors whose entries lie side by side: whole registers of them, or one.
template <class Rows, std::size_t L, class Weight = double>
struct RowLanes {
    using Pack = detail::Pack<Weight>;
    static constexpr std::size_t pack = sizeof(Pack) / sizeof(Weight);
    static_assert(L == 1 || (L % pack == 0 && L <= 3 * pack));  // four sums each stay in registers

    static void dot(Rows const& X, std::size_t i, Weight const* w, double* z) {
        if constexpr (L == 1) {
            z[0] = X.dot(i, w);
        } else {
            // Several running sums: one waits for its own last addition at every entry (four lanes of words, 1.1 ns an
            // entry with one, 0.6 with four). To ask for weights early costs more than it saves.
            Pack sums[chains][packs] = {};
            std::size_t const size = X.length(i);
            auto const add = [&](std::size_t chain, std::size_t k) {
                auto const [j, x] = entry(X, i, k);
                Weight const* from = w + j * L;
                for (std::size_t m = 0; m < packs; ++m) {
                    sums[chain][m] += x * *reinterpret_cast<Pack const*>(from + m * pack);
                }
            };
            std::size_t k = 0;
            for (; k + chains <= size; k += chains) {
                for (std::size_t chain = 0; chain < chains; ++chain) add(chain, k + chain);
            }
            for (; k < size; ++k) add(0, k);
            for (std::size_t m = 0; m < packs; ++m) {
                Pack const total = (sums[0][m] + sums[1][m]) + (sums[2][m] + sums[3][m]);
                for (std::size_t l = 0; l < pack; ++l) z[m * pack + l] = static_cast<double>(total[l]);
            }
        }
    }

    static void axpy(Rows const& X, std::size_t i, double const* step, Weight* w) {
        if constexpr (L == 1) {
            X.axpy(i, step[0], w);
        } else {
            Pack by[packs];
            for (std::size_t l = 0; l < L; ++l) by[l / pack][l % pack] = static_cast<Weight>(step[l]);
            X.each(i, [&](std::size_t j, auto x) {
                for (std::size_t m = 0; m < packs; ++m) {
                    *reinterpret_cast<Pack*>(w + j * L + m * pack) += static_cast<Weight>(x) * by[m];
                }
            });
        }
    }

  private:
    static constexpr std::size_t packs = (L + pack - 1) / pack;
    static constexpr std::size_t chains = 4;  // whatever L: a lane's sums are the same in any company

    struct Entry {
        std::size_t index;
        Weight value;
    };
    // The kth stored entry of a row.
    static Entry entry(Rows const& X, std::size_t i, std::size_t k) {
        if constexpr (Rows::is_sparse) {
            std::size_t const at = X.start(i) + k;
            return {static_cast<std::size_t>(X.indices[at]), static_cast<Weight>(X.data[at])};
        } else {
            return {k, static_cast<Weight>(X.data[i * X.stride + k])};
        }
    }
};

// f(i) for rows in an order that memory does not follow, with the next row asked for while one is at work: coordinate
// descent on words waited a fifth of its time for the first entries of rows. The rest of a long row comes by itself.
template <class Rows, class Order, class F>
void each_row(Rows const& X, Order const& order, F&& f) {
    for (std::size_t k = 0; k < order.size(); ++k) {
        if constexpr (Rows::is_sparse) {
            if (k + 1 < order.size()) {
                auto const [indices, values, size] = X.entries(order[k + 1]);
                std::size_t const first = std::min<std::size_t>(size, 128);
                for (std::size_t e = 0; e < first; e += 64 / sizeof(*indices)) prefetch_line(indices + e);
                for (std::size_t e = 0; e < first; e += 64 / sizeof(*values)) prefetch_line(values + e);
            }
        }
        f(static_cast<std::size_t>(order[k]));
    }
}

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
