// Long vectors under a Team: sums in double over fixed pieces, so that they do not depend on the threads.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "core/base/parallel.hpp"
#include "core/linear/line_search.hpp"

namespace tallywise::linear {

inline constexpr std::size_t vector_grain = 1 << 15;

template <class A, class B>
double inner_product(Team& team, A const& a, B const& b) {
    return team.sum<double>(a.size(), vector_grain, [&](std::size_t begin, std::size_t end) {
        double total = 0;
#pragma omp simd reduction(+ : total)
        for (std::size_t k = begin; k < end; ++k) total += static_cast<double>(a[k]) * static_cast<double>(b[k]);
        return total;
    });
}

// f(k) for every position, in pieces.
template <class F>
void each_entry(Team& team, std::size_t n, F&& f) {
    team.each_range(n, vector_grain, [&](std::size_t begin, std::size_t end, std::size_t) {
#pragma omp simd
        for (std::size_t k = begin; k < end; ++k) f(k);
    });
}

// How much of the squared residual of Newton's system may be left: a quarter far from the optimum, less as Newton's own
// convergence becomes quadratic, and never less than what `tol` asks for. The relative gap is proportional to it.
inline double forcing(double gap, double tol) { return std::clamp(gap, std::min(0.25 * tol / gap, 0.25), 0.25); }

// Moves scores Z along U as far as `backtrack` says, the offsets of the loss following, for an objective P told the
// loss and the step; 0, with Z as it was, when there is no such step any more. F is left evaluated there.
template <class Loss, class U, class Primal>
double step_length(Team& team, Loss& F, std::vector<double>& Z, std::vector<U> const& along, double before,
                   double slope, Primal&& P) {
    std::vector<double> const from = Z, offsets = F.offsets(), move = F.follow(along.data());
    std::vector<double> guess(offsets.size());
    auto const evaluate = [&](double t) {
        each_entry(team, Z.size(), [&](std::size_t k) { Z[k] = from[k] + t * static_cast<double>(along[k]); });
        for (std::size_t o = 0; o < guess.size(); ++o) guess[o] = offsets[o] + t * move[o];
        return F.evaluate(Z.data(), guess.data());
    };
    double const found =
        backtrack(before, slope, 1e-13 * std::abs(before), [&](double t) { return P(evaluate(t), t); });
    if (found == 0) evaluate(0);
    return found;
}

}  // namespace tallywise::linear
