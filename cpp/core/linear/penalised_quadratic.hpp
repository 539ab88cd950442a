// The minimum of a quadratic under an L1 penalty, for few unknowns with their Hessian at hand.
//
//   minimise  q(d) = g'd + d'Hd/2 + l1 |w + d|_1,   H positive semidefinite, m x m, in full
//
// Coordinate descent finds the signs; where they hold, the weights in use solve a linear system, which is solved: steps
// by coordinates alone take thousands of rounds where columns are correlated. A step that would turn signs leaves those
// weights at zero if that lowers q, and else goes as far as the first of them (Osborne, Presnell & Turlach 2000).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "core/base/cholesky.hpp"
#include "core/linear/penalties.hpp"
#include "core/linear/weighted_gram.hpp"

namespace tallywise {

class PenalisedQuadratic {
  public:
    PenalisedQuadratic(std::vector<double> const& H, std::vector<double> const& g, std::vector<double> const& w,
                       double l1)
        : H_(H), g_(g), w_(w), l1_(l1), m_(w.size()), v_(w), slope_(g) {}

    // The step d. How much may be left of the optimality conditions falls with what the first round removes, so that
    // Newton's method around it keeps its speed.
    std::vector<double> minimise() {
        double first = 0;
        for (int round = 0; round < 500; ++round) {
            double const violation = sweep(true);
            first = std::max(first, violation);
            if (violation <= std::max(1e-4 * first * std::min(1.0, first / l1_), 1e-13 * l1_)) break;
            sweep(false);
            support_step();
        }
        std::vector<double> d(m_);
        for (std::size_t a = 0; a < m_; ++a) d[a] = v_[a] - w_[a];
        return d;
    }

  private:
    // One exact step for each coordinate, or for each in use. Gives the largest gradient that a step removed.
    double sweep(bool everything) {
        double violation = 0;
        for (std::size_t a = 0; a < m_; ++a) {
            double const c = H_[a * m_ + a], now = v_[a];
            if (c <= 0 || (!everything && now == 0)) continue;
            double const next = ElasticNet{l1_, 0}.prox(now - slope_[a] / c, 1 / c);
            if (next == now) continue;
            violation = std::max(violation, c * std::abs(next - now));
            move(a, next);
        }
        return violation;
    }

    void move(std::size_t a, double next) {
        axpy(next - v_[a], H_.data() + a * m_, slope_.data(), m_);
        v_[a] = next;
    }

    // Solves for the weights in use, their signs kept.
    void support_step() {
        std::vector<std::size_t> used;
        for (std::size_t a = 0; a < m_; ++a) {
            if (v_[a] != 0) used.push_back(a);
        }
        std::size_t const s = used.size();
        if (s == 0) return;
        std::vector<double> factor(s * s), step(s);
        for (std::size_t i = 0; i < s; ++i) {
            for (std::size_t j = 0; j <= i; ++j) factor[i * s + j] = H_[used[i] * m_ + used[j]];
        }
        std::vector<double> const scale = equilibrate(factor, s);
        // Along what H does not see, q falls straight until a weight reaches zero: a long step, cut there.
        for (std::size_t i = 0; i < s; ++i) factor[i * s + i] += 1e-11;
        cholesky(factor.data(), s, 1e-15);
        for (std::size_t i = 0; i < s; ++i) {
            step[i] = -scale[i] * (slope_[used[i]] + std::copysign(l1_, v_[used[i]]));
        }
        cholesky_solve(factor.data(), s, step.data());
        double share = 1;  // of the step, up to the first weight that turns its sign
        std::vector<double> const from = v_, slope = slope_;
        double const before = value();
        for (std::size_t i = 0; i < s; ++i) {
            step[i] *= scale[i];
            double const now = v_[used[i]], next = now + step[i];
            if (next * now < 0) share = std::min(share, -now / step[i]);
            v_[used[i]] = next * now < 0 ? 0.0 : next;
        }
        refresh();
        if (share == 1 || value() < before) return;
        for (std::size_t i = 0; i < s; ++i) {
            double const now = from[used[i]];
            v_[used[i]] = -now == share * step[i] ? 0.0 : now + share * step[i];
            if (v_[used[i]] * now < 0) v_[used[i]] = 0;
        }
        refresh();
    }

    // slope = g + H d from scratch: what steps add up to drifts.
    void refresh() {
        slope_ = g_;
        for (std::size_t a = 0; a < m_; ++a) {
            if (v_[a] != w_[a]) axpy(v_[a] - w_[a], H_.data() + a * m_, slope_.data(), m_);
        }
    }

    double value() const {
        double total = 0;
        for (std::size_t a = 0; a < m_; ++a) {
            total += 0.5 * (v_[a] - w_[a]) * (g_[a] + slope_[a]) + l1_ * std::abs(v_[a]);
        }
        return total;
    }

    std::vector<double> const &H_, &g_, &w_;
    double l1_;
    std::size_t m_;
    std::vector<double> v_, slope_;
};

}  // namespace tallywise
