// The minimum of a quadratic under an L1 penalty, for few unknowns with their matrix at hand, exactly: see
// active_set.hpp.
//
//   minimise  1/2 w'(G + l2 I) w + c'w + l1 |w|_1   over w, or over w >= 0 where the penalty is infinite below
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "core/base/active_set.hpp"
#include "core/linear/losses.hpp"

namespace tallywise::linear {

// The problem over x >= 0: w = x_k - x_(m + k), or x_k alone where weights are not negative. `slope` is the gradient of
// what is smooth; a coordinate without curvature stays where it is.
template <class Penalty>
struct Orthants {
    std::vector<double> const& G;
    Penalty const& penalty;
    std::vector<double>& slope;
    std::size_t m;
    std::vector<double> parts;

    // The gradient at w without the part of l2, which is added here.
    Orthants(std::vector<double> const& gram, Penalty const& p, std::vector<double>& gradient,
             std::vector<double> const& w)
        : G(gram), penalty(p), slope(gradient), m(w.size()), parts(std::isfinite(p.value(-1.0)) ? 2 * m : m, 0.0) {
        for (std::size_t k = 0; k < m; ++k) {
            slope[k] += penalty.l2 * w[k];
            if (w[k] != 0) parts[w[k] > 0 ? k : m + k] = std::abs(w[k]);
        }
    }

    // Until no coordinate has more than eps of gradient to follow.
    void minimise(double eps) { ActiveSet(*this, 0.0).solve(eps, 20 * static_cast<std::ptrdiff_t>(m) + 100); }

    double weight(std::size_t k) const { return parts.size() > m ? parts[k] - parts[m + k] : parts[k]; }
    double sign(std::size_t k) const { return k < m ? 1.0 : -1.0; }
    double curvature(std::size_t k) const { return G[k * m + k] + penalty.l2; }

    std::size_t size() const { return parts.size(); }
    double x(std::size_t k) const { return parts[k]; }
    double gradient(std::size_t k) const { return sign(k) * slope[k % m] + penalty.l1; }
    double lower(std::size_t) const { return 0.0; }
    double upper(std::size_t k) const { return curvature(k % m) > 0 ? infinity : parts[k]; }
    double entry(std::size_t i, std::size_t j) const {
        double const h = i % m == j % m ? curvature(i % m) : G[(i % m) * m + j % m];
        return sign(i) == sign(j) ? h : -h;
    }
    void move(std::size_t k, double step) {
        parts[k] += step;
        axpy(sign(k) * step, G.data() + (k % m) * m, slope.data(), m);
        slope[k % m] += penalty.l2 * sign(k) * step;
    }
    void place(std::size_t k, double value) { parts[k] = value; }
};

}  // namespace tallywise::linear
