// Long vectors under a Team: sums in double over fixed pieces, so that they do not depend on the threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "core/parallel.hpp"

namespace tallywise {

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

}  // namespace tallywise
