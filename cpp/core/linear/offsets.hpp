// Numbers that no penalty sees (intercepts, thresholds), at their best for given scores:
//
//   F(Z) = min_c J(Z, c),   Z with one row of scores a sample
//
// They can be solved for at every Z, by Newton's method in a few unknowns. Their optimality, dJ/dc = 0, is the
// constraint that they put on the dual: residuals dJ/dZ taken there are dual feasible.
//
// A loss of scores, as the solvers of this folder take it, is built on this and has
//   lanes(), stride()        scores a sample, and how far apart those of two samples lie
//   intercepts               whether the offsets are one intercept a lane (or none)
//   evaluate(Z, guess)       F(Z), and everything below at Z; the search for c begins at the guess, where there is one
//   residual(A)              A = dF/dZ, balanced: exactly feasible in the dual as far as the offsets go
//   conjugate(t)             J* at t A, for t in (0, 1]; minus it is the loss's part of the dual there
//   conjugate_ahead(U, m, A, left)   J* at the residuals A that a step U in scores and m in offsets would leave, to
//                            first order, and what is `left` of dJ/dc there; +inf where that is outside the domain
//   curvature(i, k, l)       d2J / dz_ik dz_il
//   curve_rows(begin, end, U, R)     R = (d2J/dZ2) U for these rows, c held still
//   curve(U, R)              R = F''(Z) U, in which c follows Z
//   follow(U)                how c moves when scores move by U, to first order
//   each_cross(i, f)         f(o, d2J / dz_i dc_o), for losses whose offsets are not intercepts
//   shift_free()             whether one number added to all scores of a sample changes nothing
//   weight(i), least_weight()        of a sample, and the least of those that have any
//   rounding()               what rounding makes of sums the size of the loss at no scores at all
//   Model                    the quadratic model of J that coordinate descent walks on: see lane_descent.hpp
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "core/base/cholesky.hpp"
#include "core/linear/losses.hpp"

namespace tallywise::linear {

class Offsets {
  public:
    static constexpr double exact_balance = 1e-12;
    // On the way to a relative gap of tol: the objective is off by about the square of it.
    static double rough_balance(double tol) { return std::clamp(1e-2 * tol, exact_balance, 1e-6); }

    double value() const { return value_; }
    // What may be left of dJ/dc, relative to the size of the residuals. Residuals are dual feasible and the value that of
    // the offsets whatever is left, so that steps on the way to the optimum may leave more and take fewer sweeps.
    void balance_to(double share) { balanced_ = share; }
    std::vector<double> const& offsets() const { return c_; }
    // d2J/dc2, lower triangle, and v = (d2J/dc2)^-1 v. A loss of many offsets leaves the matrix empty and has a
    // solve_offsets of its own.
    std::vector<double> const& offset_hessian() const { return hessian_; }
    void solve_offsets(double* v) const { cholesky_solve(factor_.data(), c_.size(), v); }

  protected:
    // sweep() sets value_, gradient_ and hessian_ at c_, which stays where allowed() holds. `weight` is the sum of the
    // sample weights: with the loss it bounds the size of the residuals that are added up.
    template <class Sweep, class Allowed, class Solve>
    void settle(double weight, Sweep&& sweep, Allowed&& allowed, Solve&& solve) {
        std::size_t const T = c_.size();
        std::vector<double> best = c_, step(T);
        double best_value = infinity, last = infinity, scale = 1;
        for (int round = 0; round < 200; ++round) {
            sweep();
            if (T == 0) return;
            if (value_ <= best_value + 1e-13 * std::abs(best_value)) {
                factor_ = hessian_;
                if (!factor_.empty()) cholesky(factor_.data(), T, 1e-13);
                double imbalance = 0;
                for (double g : gradient_) imbalance += std::abs(g);
                double const size = std::min(weight, value_);
                if (imbalance <= balanced_ * size || (imbalance > 0.5 * last && imbalance <= 1e-9 * size)) return;
                last = imbalance;
                best = c_;
                best_value = value_;
                scale = 1;
                step = gradient_;
                solve(step.data());
                // Where the loss is all but straight, Newton's step knows no bound.
                double longest = 0;
                for (double d : step) longest = std::max(longest, std::abs(d));
                for (double& d : step) d *= std::min(1.0, 8.0 / longest);
            } else {  // Newton went too far
                scale *= 0.5;
            }
            for (;; scale *= 0.5) {
                for (std::size_t k = 0; k < T; ++k) c_[k] = best[k] - scale * step[k];
                if (allowed() || scale == 0) break;
            }
            if (scale < 1e-15) break;
        }
        c_ = best;
        sweep();
    }

    std::vector<double> c_, gradient_, hessian_, factor_;
    double value_ = 0, balanced_ = exact_balance;
};

}  // namespace tallywise::linear
