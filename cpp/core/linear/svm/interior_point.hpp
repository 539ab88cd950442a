// Linear models with losses made of hinges, by a primal-dual interior-point method: the way for long, narrow data.
//
//   minimise  1/2 sum_j R_j w_j^2 + sum_k U_k xi_k,   sigma_k x_k'w >= c_k - xi_k,  xi_k >= 0
//
// given a loss that is a sum of `hinges`: one for a label, two for a number (above and below). The intercept is one
// more column, with R = 0 where it is free. The dual variables a_k lie in [0, U_k].
//
// Newton's system reduces to (R + X' Theta X) dw = ..., as large as X is wide; Mehrotra's predictor and corrector share
// its factor. 10 to 25 iterations whatever the scale of the columns, where coordinate descent may need thousands.
//
// Mehrotra, On the implementation of a primal-dual interior point method (SIAM J. Optim. 2, 1992); Ferris, Munson,
// Interior-point methods for massive support vector machines (SIAM J. Optim. 13, 2002).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "core/base/interrupt.hpp"
#include "core/data/row_lanes.hpp"
#include "core/linear/losses.hpp"
#include "core/linear/narrow_rows.hpp"

namespace tallywise::linear::svm {

template <class Rows, class Loss>
class InteriorPoint {
  public:
    explicit InteriorPoint(NarrowProblem<Rows, Loss> const& problem)
        : problem_(problem),
          rows_(problem_.rows),
          loss_(problem.loss),
          y_(problem.y),
          s_(problem.s),
          n_(rows_.n()),
          q_(rows_.q()),
          m_(n_ * per_row),
          R_(problem.ridge()),
          w_(q_, 0.0),
          z_(n_, 0.0),
          a_(m_),
          r_(m_),
          xi_(m_),
          theta_(m_),
          h_(m_),
          row_theta_(n_),
          predictor_(q_, n_, m_),
          aim_(q_, n_, m_) {
        for (double q : squared_lengths(rows_.X, rows_.entry)) longest_ = std::max(longest_, q);
        start();
    }

    // Until the relative gap is at most tol, or rounding allows no step.
    Solution solve(double tol, int max_iter) {
        int iterations = 0;
        for (;; ++iterations) {
            check_interrupt();
            g_ = rows_.gather([&](std::size_t i) { return pull(i, a_); });
            certify();
            if (relative_gap(primal_, dual_) <= tol || iterations >= max_iter || !step()) break;
        }
        return problem_.solution(w_, primal_, dual_, iterations);
    }

  private:
    static constexpr std::size_t per_row = Loss::hinges;

    // Hinge k belongs to row k / per_row.
    HingeAt hinge(std::size_t k) const { return loss_.hinge(y_[k / per_row], k % per_row); }
    double sigma(std::size_t k) const { return hinge(k).sign; }
    double target(std::size_t k) const { return hinge(k).level; }
    double bound(std::size_t k) const { return s_[k / per_row]; }
    bool live(std::size_t k) const { return bound(k) > 0; }

    // sum over the hinges of row i of sigma times v.
    double pull(std::size_t i, std::vector<double> const& v) const {
        double total = 0;
        for (std::size_t k = i * per_row; k < (i + 1) * per_row; ++k) total += sigma(k) * v[k];
        return total;
    }

    // Two labels start with dual variables that balance: otherwise the start of a rare class is all infeasibility.
    void start() {
        double size = 0, side[2] = {0, 0};
        for (std::size_t i = 0; i < n_; ++i) {
            size += s_[i] * std::abs(y_[i]);
            side[y_[i] > 0 ? 1 : 0] += s_[i];
        }
        double const room = size > 0 ? size / (side[0] + side[1]) : 1.0, less = std::min(side[0], side[1]);
        for (std::size_t k = 0; k < m_; ++k) {
            if (!live(k)) continue;
            double const slack = std::max(target(k), 0.0) + room;
            r_[k] = slack - target(k);
            xi_[k] = slack;
            double const share = Loss::binary && less > 0 ? less / side[sigma(k) > 0 ? 1 : 0] : 1.0;
            a_[k] = 0.5 * share * bound(k);
        }
    }

    // f(k) for every live hinge.
    template <class F>
    void each_hinge(F&& f) {
        rows_.each([&](std::size_t i) {
            for (std::size_t k = i * per_row; k < (i + 1) * per_row; ++k) {
                if (live(k)) f(k);
            }
        });
    }

    template <class F>
    double sum_hinges(F&& f) {
        return rows_.sum([&](std::size_t i) {
            double total = 0;
            for (std::size_t k = i * per_row; k < (i + 1) * per_row; ++k) total += live(k) ? f(k) : 0.0;
            return total;
        });
    }

    void certify() {
        primal_ = problem_.value(w_, z_);
        dual_ = std::max(dual_, problem_.dual([&](std::size_t i) { return pull(i, a_); }, g_));
    }

    // One predictor-corrector step; false when it would be too short to matter.
    bool step() {
        each_hinge([&](std::size_t k) {
            double const held = r_[k] / a_[k];
            theta_[k] = 1.0 / (held + xi_[k] / (bound(k) - a_[k]));
        });
        // Rows far from their kinks fade out: all of them below the cut together are 1e-10 of the penalty's own part.
        double const cut = 1e-10 / (static_cast<double>(n_) * longest_);
        rows_.each([&](std::size_t i) {
            double total = 0;
            for (std::size_t k = i * per_row; k < (i + 1) * per_row; ++k) total += theta_[k];
            row_theta_[i] = total > cut ? total : 0.0;
        });
        NarrowFactor const factor = problem_.factor(R_, row_theta_);

        // Products are aimed at in proportion to the weights: then a weight of two is the same as two rows.
        double const count = sum_hinges([&](std::size_t k) { return 2 * bound(k); });
        double const mu = complementarity(0.0, nullptr) / count;
        solve_for(predictor_, factor, 0.0, nullptr);
        double const ahead = complementarity(longest(predictor_), &predictor_) / count;
        // Mehrotra's rule centres more than these problems want (w8a, hinge: 81 iterations, against 26 with 0.01 and 45
        // with 0.1); it is there for when steps have become short.
        double const rule = std::pow(std::min(ahead / mu, 1.0), 3);
        double const centre = mu * (last_step_ < 0.05 ? rule : std::min(rule, 0.01));
        Direction& aim = aim_;
        solve_for(aim, factor, centre, &predictor_);
        double const t = std::min(1.0, 0.995 * longest(aim));
        if (!(t > 1e-10)) return false;
        last_step_ = t;
        for (std::size_t j = 0; j < q_; ++j) w_[j] += t * aim.w[j];
        rows_.each([&](std::size_t i) { z_[i] += t * aim.z[i]; });
        each_hinge([&](std::size_t k) {
            a_[k] += t * aim.a[k];
            r_[k] += t * aim.r[k];
            xi_[k] += t * aim.xi[k];
        });
        return true;
    }

    struct Direction {
        std::vector<double> w, z, a, r, xi;

        Direction(std::size_t q, std::size_t n, std::size_t m) : w(q), z(n), a(m), r(m), xi(m) {}
    };

    // Residuals of the two products a r and (U - a) xi, aimed at `centre`, with the predictor's second order.
    double product_r(std::size_t k, double centre, Direction const* second) const {
        return a_[k] * r_[k] - centre * bound(k) + (second != nullptr ? second->a[k] * second->r[k] : 0.0);
    }
    double product_xi(std::size_t k, double centre, Direction const* second) const {
        return (bound(k) - a_[k]) * xi_[k] - centre * bound(k) -
               (second != nullptr ? second->a[k] * second->xi[k] : 0.0);
    }

    void solve_for(Direction& d, NarrowFactor const& factor, double centre, Direction const* second) {
        std::vector<double>& h = h_;
        each_hinge([&](std::size_t k) {
            double const z = sigma(k) * z_[k / per_row] - target(k) - r_[k];
            h[k] =
                z + product_r(k, centre, second) / a_[k] + xi_[k] - product_xi(k, centre, second) / (bound(k) - a_[k]);
        });
        std::vector<double> const v = rows_.gather([&](std::size_t i) {
            double total = 0;
            for (std::size_t k = i * per_row; k < (i + 1) * per_row; ++k) total += sigma(k) * theta_[k] * h[k];
            return total;
        });
        for (std::size_t j = 0; j < q_; ++j) d.w[j] = g_[j] - R_[j] * w_[j] - v[j];
        factor.solve(d.w);
        rows_.each([&](std::size_t i) { d.z[i] = rows_.score(i, d.w); });
        each_hinge([&](std::size_t k) {
            d.a[k] = -theta_[k] * (sigma(k) * d.z[k / per_row] + h[k]);
            d.r[k] = -(product_r(k, centre, second) + r_[k] * d.a[k]) / a_[k];
            d.xi[k] = (-product_xi(k, centre, second) + xi_[k] * d.a[k]) / (bound(k) - a_[k]);
        });
    }

    // The longest step, at most 1 / 0.995, that keeps everything nonnegative.
    double longest(Direction const& d) {
        std::vector<double> parts(rows_.pieces(), 1.0 / 0.995);
        rows_.team.each_range(n_, rows_.grain(), [&](std::size_t begin, std::size_t end, std::size_t chunk) {
            double t = parts[chunk];
            for (std::size_t k = begin * per_row; k < end * per_row; ++k) {
                if (!live(k)) continue;
                if (d.a[k] < 0) t = std::min(t, -a_[k] / d.a[k]);
                if (d.r[k] < 0) t = std::min(t, -r_[k] / d.r[k]);
                if (d.a[k] > 0) t = std::min(t, (bound(k) - a_[k]) / d.a[k]);
                if (d.xi[k] < 0) t = std::min(t, -xi_[k] / d.xi[k]);
            }
            parts[chunk] = t;
        });
        return *std::min_element(parts.begin(), parts.end());
    }

    double complementarity(double t, Direction const* d) {
        return sum_hinges([&](std::size_t k) {
            double const a = a_[k] + (d != nullptr ? t * d->a[k] : 0.0), r = r_[k] + (d != nullptr ? t * d->r[k] : 0.0);
            return a * r + (bound(k) - a) * (xi_[k] + (d != nullptr ? t * d->xi[k] : 0.0));
        });
    }

    NarrowProblem<Rows, Loss> problem_;
    NarrowRows<Rows> rows_;
    Loss loss_;
    double const *y_, *s_;
    std::size_t n_, q_, m_;
    std::vector<double> R_, w_, z_, a_, r_, xi_, g_, theta_, h_, row_theta_;
    Direction predictor_, aim_;
    double primal_ = 0, dual_ = -infinity, last_step_ = 1, longest_ = 1e-300;  // longest_: the largest |x_i|^2
};

}  // namespace tallywise::linear::svm
