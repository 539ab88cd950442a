// Linear models with squared hinges by Newton's method: the way for long data.
//
//   minimise  P(w) = 1/2 sum_j R_j w_j^2 + sum_i s_i l(y_i, x_i'w)
//
// given a loss that is piecewise quadratic (or linear). The intercept is one more column, with R = 0 where it is free.
// P is a quadratic as long as no row crosses its kink, so that Newton's step ends the search once it keeps every row on
// its side: after 5 to 15 steps, each with an exact line search. Rows beyond their kink cost nothing in the Hessian
// (w8a: 4 in 100 are left).
//
// Newton's system (R + X'hX) d = -gradient is solved by Cholesky where a matrix as large as X is wide pays, else by
// conjugate gradients preconditioned by its diagonal, to a share of the residual that falls with the gap.
//
// The residuals are the dual point.
//
// Mangasarian, A finite Newton method for classification (Optim. Methods Softw. 17, 2002); Keerthi, DeCoste, A modified
// finite Newton method for fast solution of large scale linear SVMs (JMLR 6, 2005).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "core/base/interrupt.hpp"
#include "core/linear/conjugate_gradients.hpp"
#include "core/linear/losses.hpp"
#include "core/linear/narrow_rows.hpp"
#include "core/linear/vectors.hpp"

namespace tallywise::linear::svm {

template <class Rows, class Loss>
class FiniteNewton {
  public:
    // `whole`: by the whole Hessian.
    explicit FiniteNewton(NarrowProblem<Rows, Loss> const& problem, bool whole = true)
        : problem_(problem),
          whole_(whole),
          rows_(problem_.rows),
          loss_(problem.loss),
          y_(problem.y),
          s_(problem.s),
          q_(rows_.q()),
          R_(problem.ridge()),
          w_(q_, 0.0),
          z_(rows_.n(), 0.0),
          u_(rows_.n(), 0.0) {}

    // Until the relative gap is at most tol, or rounding allows no step.
    Solution solve(double tol, int max_iter) {
        int iterations = 0;
        for (;; ++iterations) {
            check_interrupt();
            certify();
            double const gap = relative_gap(primal_, dual_);
            if (gap <= tol || iterations >= max_iter || !step(gap, tol)) break;
        }
        return problem_.solution(w_, primal_, dual_, iterations);
    }

  private:
    double pull(std::size_t i, double z) const { return -s_[i] * loss_.gradient(y_[i], z); }

    void certify() {
        g_ = rows_.gather([&](std::size_t i) { return pull(i, z_[i]); });
        primal_ = problem_.value(w_, z_);
        dual_ = std::max(dual_, problem_.dual([&](std::size_t i) { return pull(i, z_[i]); }, g_));
    }

    // To the lowest point along Newton's direction; false when there is nothing left to gain.
    bool step(double gap, double tol) {
        std::vector<double> h(rows_.n()), d(q_);
        rows_.each([&](std::size_t i) { h[i] = s_[i] * loss_.curvature(y_[i], z_[i]); });
        // Where every row runs straight nothing holds a free intercept.
        if (problem_.free && std::all_of(h.begin(), h.end(), [](double x) { return x == 0; })) {
            rows_.each([&](std::size_t i) { h[i] = s_[i] * bend(loss_, y_[i], z_[i]); });
        }
        for (std::size_t j = 0; j < q_; ++j) d[j] = g_[j] - R_[j] * w_[j];
        whole_ ? problem_.factor(R_, h).solve(d) : conjugate(h, d, forcing(gap, tol));
        double fall = 0;
        for (std::size_t j = 0; j < q_; ++j) fall += d[j] * (g_[j] - R_[j] * w_[j]);
        if (!(fall > 1e-17 * std::abs(primal_))) return false;
        rows_.each([&](std::size_t i) { u_[i] = rows_.score(i, d); });
        double const t = lowest(d, fall);
        for (std::size_t j = 0; j < q_; ++j) w_[j] += t * d[j];
        rows_.each([&](std::size_t i) { z_[i] += t * u_[i]; });
        return true;
    }

    // d = (R + X'hX)^-1 d, up to a share of d's square in the preconditioner's norm.
    void conjugate(std::vector<double> const& h, std::vector<double>& d, double share) const {
        std::vector<double> const diagonal = rows_.squares(h);
        std::vector<double> r = d, m(q_), image;
        auto const precondition = [&] {
            double rho = 0;
            for (std::size_t j = 0; j < q_; ++j) {
                double const scale = R_[j] + diagonal[j];
                m[j] = scale > 0 ? r[j] / scale : 0.0;
                rho += r[j] * m[j];
            }
            return rho;
        };
        double const rho = precondition();
        std::vector<double> along = m;
        std::fill(d.begin(), d.end(), 0.0);
        auto const curvature = [&] {
            image = rows_.gather([&](std::size_t i) { return h[i] == 0 ? 0.0 : h[i] * rows_.score(i, along); });
            double total = 0;
            for (std::size_t j = 0; j < q_; ++j) {
                image[j] += R_[j] * along[j];
                total += along[j] * image[j];
            }
            return total;
        };
        auto const move = [&](double alpha) {
            for (std::size_t j = 0; j < q_; ++j) {
                d[j] += alpha * along[j];
                r[j] -= alpha * image[j];
            }
            double const left = precondition();
            return left > share * rho ? left : 0.0;
        };
        auto const update = [&](double beta) {
            for (std::size_t j = 0; j < q_; ++j) along[j] = m[j] + beta * along[j];
        };
        conjugate_gradients(rho, 200, curvature, move, update);
    }

    // Where the slope of P(w + t d), -fall at 0, comes to nothing: Newton in t between bounds. Its first guess is 1.
    double lowest(std::vector<double> const& d, double fall) const {
        double along = 0, bend = 0;
        for (std::size_t j = 0; j < q_; ++j) {
            along += R_[j] * d[j] * w_[j];
            bend += R_[j] * d[j] * d[j];
        }
        double t = 1, low = 0, high = infinity;
        for (int round = 0; round < 50; ++round) {
            double const slope =
                along + t * bend - rows_.sum([&](std::size_t i) { return pull(i, z_[i] + t * u_[i]) * u_[i]; });
            if (std::abs(slope) <= 1e-3 * fall) break;
            (slope > 0 ? high : low) = t;
            double const curve = bend + rows_.sum([&](std::size_t i) {
                return s_[i] * loss_.curvature(y_[i], z_[i] + t * u_[i]) * u_[i] * u_[i];
            });
            double const next = t - slope / curve;
            t = next > low && next < high ? next : high < infinity ? 0.5 * (low + high) : 2 * t;
        }
        return t;
    }

    NarrowProblem<Rows, Loss> problem_;
    bool whole_;
    NarrowRows<Rows> rows_;
    Loss loss_;
    double const *y_, *s_;
    std::size_t q_;
    std::vector<double> R_, w_, z_, u_, g_;
    double primal_ = 0, dual_ = -infinity;
};

}  // namespace tallywise::linear::svm
