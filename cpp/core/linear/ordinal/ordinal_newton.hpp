// Ordered levels on a linear score, by Newton's method with the thresholds profiled out.
//
//   minimise  P(w) = F(Xw) + l1 |w|_1 + l2/2 |w|^2,    F(z) = min over thresholds of the loss (ordered_loss.hpp)
//
// Newton's system has the Hessian X'F''X + l2 I. Without l1 it is factored where features are few and solved by
// conjugate gradients (float products, diagonal preconditioner) where they are many; with l1 each quadratic model is
// minimised by coordinate descent over the features in use and those that violate optimality.
//
// The gap: with l2, residuals at their best thresholds are dual feasible, and what is left is the penalty's own
// Fenchel gap, sum_j p(w_j) + p*(-g_j) + w_j g_j. With l1 alone residuals are scaled until |X'r| <= l1. With neither,
// the residuals that Newton's next step would leave to first order have X'r = 0.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "core/base/cholesky.hpp"
#include "core/base/interrupt.hpp"
#include "core/data/lane_design.hpp"
#include "core/linear/ordinal/ordered_loss.hpp"
#include "core/linear/penalties.hpp"
#include "core/linear/solution.hpp"
#include "core/linear/vectors.hpp"
#include "core/linear/weighted_gram.hpp"

namespace tallywise {

struct OrdinalSolution {
    std::vector<double> w, thresholds, covariance;  // covariance over (w, thresholds), row by row, or empty
    double primal = 0, dual = 0;
    int iterations = 0;
};

template <class Rows, class Link>
class OrdinalNewton {
  public:
    OrdinalNewton(Team& team, Rows const& X, Levels const& levels, ElasticNet const& penalty)
        : team_(team), rows_(X), X_(X), F_(team, levels), penalty_(penalty), n_(X.lines), p_(X.width), w_(p_, 0.0) {
        auto const p = static_cast<double>(p_);
        factored_ = penalty.l1 == 0 && p_ <= 1200 && p * p * static_cast<double>(n_) <= 4e9;
        if (penalty.l1 == 0 && penalty.l2 == 0) factored_ = true;
        if (factored_ && p_ > 5000) {
            throw std::invalid_argument("Without a penalty at most 5000 weights can be fitted. Got " +
                                        std::to_string(p_) + ". Set l2 or l1 above 0.");
        }
    }

    OrdinalSolution solve(SolveOptions const& options) {
        OrdinalSolution found;
        z_.assign(n_, 0.0);
        g_.assign(p_, 0.0);
        F_.evaluate(z_.data());
        double best_dual = -infinity;
        // A factored system is solved to rounding at no cost to speak of.
        double const tol = factored_ ? std::min(options.tol, 1e-11) : options.tol;
        for (found.iterations = 0;; ++found.iterations) {
            check_interrupt();
            gradient();
            primal_ = F_.value() + penalty_value(w_);
            if (factored_) newton_factored();
            best_dual = std::max(best_dual, dual_bound());
            double const gap = (primal_ - best_dual) / std::max(std::abs(primal_), 1e-300);
            if (gap <= tol || found.iterations >= options.max_iter) break;
            if (!factored_) penalty_.l1 > 0 ? newton_sparse(gap, tol) : newton_conjugate(gap, tol);
            if (!advance()) break;
        }
        found.primal = primal_;
        found.dual = best_dual;
        found.w = w_;
        found.thresholds = F_.thresholds();
        return found;
    }

    // The inverse of the Hessian of P (the loss's own where there is no penalty) over weights and thresholds. NaN where
    // the data do not tell.
    std::vector<double> covariance() {
        std::size_t const T = F_.thresholds_count(), m = p_ + T;
        std::vector<double> H(m * m, 0.0), inverse(m * m, 0.0), gram = loss_gram();
        std::vector<double> const cross = cross_products();
        for (std::size_t i = 0; i < p_; ++i) {
            for (std::size_t j = 0; j <= i; ++j) H[i * m + j] = gram[i * p_ + j];
            H[i * m + i] += penalty_.l2;
        }
        for (std::size_t k = 0; k < T; ++k) {
            for (std::size_t j = 0; j < p_; ++j) H[(p_ + k) * m + j] = cross[j * T + k];
            for (std::size_t l = 0; l <= k; ++l) H[(p_ + k) * m + p_ + l] = F_.threshold_hessian()[k * T + l];
        }
        std::vector<double> const scale = equilibrate(H, m);
        bool const lost = cholesky(H.data(), m, 1e-13) > 0;
        team_.each(m, [&](std::size_t a) {
            double* row = inverse.data() + a * m;
            row[a] = scale[a];
            cholesky_solve(H.data(), m, row);
            for (std::size_t b = 0; b < m; ++b) {
                row[b] = lost ? std::numeric_limits<double>::quiet_NaN() : row[b] * scale[b];
            }
        });
        return inverse;
    }

  private:
    double penalty_value(std::vector<double> const& w) const {
        double total = 0;
        for (double x : w) total += penalty_.value(x);
        return total;
    }

    // g = X'F'(z), the loss's part of the gradient.
    void gradient() {
        slopes_.resize(n_);
        for (std::size_t i = 0; i < n_; ++i) slopes_[i] = F_.slope(i);
        X_.exact.gather(team_, slopes_.data(), 1, g_.data());
    }

    double dual_bound() {
        double const slack = F_.imbalance() * threshold_reach();
        if (penalty_.l2 > 0) {
            double gap = 0;
            for (std::size_t j = 0; j < p_; ++j) {
                gap += penalty_.value(w_[j]) + penalty_.conjugate(-g_[j]) + w_[j] * g_[j];
            }
            return primal_ - gap - slack;
        }
        std::vector<double> residual(n_), left(p_);
        if (penalty_.l1 > 0) {
            double top = 0;
            for (double g : g_) top = std::max(top, std::abs(g));
            std::vector<double> const none(n_, 0.0), still(F_.thresholds_count(), 0.0);
            double const scale = top > penalty_.l1 ? penalty_.l1 / top : 1.0;
            return F_.shifted_dual(z_.data(), none, still, scale, residual) - slack;
        }
        double dual = F_.shifted_dual(z_.data(), U_, move_, 1.0, residual);
        if (!std::isfinite(dual)) return -infinity;
        X_.exact.gather(team_, residual.data(), 1, left.data());
        for (std::size_t j = 0; j < p_; ++j) dual -= 2 * std::abs(left[j]) * (std::abs(w_[j]) + std::abs(D_[j]));
        return dual - slack;
    }

    double threshold_reach() const {
        double reach = 1;
        for (double t : F_.thresholds()) reach = std::max(reach, std::abs(t));
        return 2 * reach;
    }

    // --- directions: D in weights, U = X D in scores ---

    // X' diag(F curvature) X, lower triangle, thresholds held still.
    std::vector<double> loss_gram() {
        std::vector<double> h(n_);
        for (std::size_t i = 0; i < n_; ++i) h[i] = F_.curvature(i);
        return weighted_gram(team_, rows_, h.data(), 0.0);
    }

    // X'C, a row a feature: how slopes of weights move with thresholds.
    std::vector<double> cross_products() {
        std::size_t const T = F_.thresholds_count();
        std::vector<double> result(p_ * T, 0.0), column(p_), c(n_);
        for (std::size_t k = 0; k < T; ++k) {
            for (std::size_t i = 0; i < n_; ++i) {
                std::size_t const level = F_.level(i);
                c[i] = level == k ? F_.upper_cross(i) : level == k + 1 ? F_.lower_cross(i) : 0.0;
            }
            X_.exact.gather(team_, c.data(), 1, column.data());
            for (std::size_t j = 0; j < p_; ++j) result[j * T + k] = column[j];
        }
        return result;
    }

    void newton_factored() {
        std::size_t const T = F_.thresholds_count();
        std::vector<double> H = loss_gram();
        std::vector<double> const cross = cross_products();
        team_.each_range(p_, 16, [&](std::size_t begin, std::size_t end, std::size_t) {
            std::vector<double> q(T);
            for (std::size_t i = begin; i < end; ++i) {
                std::copy(cross.data() + i * T, cross.data() + (i + 1) * T, q.begin());
                F_.solve_thresholds(q.data());
                for (std::size_t j = 0; j <= i; ++j) H[i * p_ + j] -= dot(q.data(), cross.data() + j * T, T);
                H[i * p_ + i] += penalty_.l2;
            }
        });
        std::vector<double> const scale = equilibrate(H, p_);
        cholesky(H.data(), p_, 1e-13);
        D_.resize(p_);
        for (std::size_t j = 0; j < p_; ++j) D_[j] = -scale[j] * (g_[j] + penalty_.l2 * w_[j]);
        cholesky_solve(H.data(), p_, D_.data());
        for (std::size_t j = 0; j < p_; ++j) D_[j] *= scale[j];
        finish_direction();
    }

    void newton_conjugate(double gap, double tol) {
        std::vector<float> r(p_), m(p_), d(p_), Hd(p_), Ud(n_), R(n_);
        std::vector<double> const diagonal = hessian_diagonal();
        D_.assign(p_, 0.0);
        each_entry(team_, p_, [&](std::size_t j) {
            r[j] = static_cast<float>(-(g_[j] + penalty_.l2 * w_[j]));
            d[j] = m[j] = static_cast<float>(static_cast<double>(r[j]) / diagonal[j]);
        });
        double rm = inner_product(team_, r, m);
        double const stop = rm * forcing(gap, tol);
        for (int round = 0; round < 200 && rm > 0; ++round) {
            check_interrupt();
            X_.fast.scores(team_, d.data(), 1, Ud.data());
            F_.curve(Ud, R);
            X_.fast.gather(team_, R.data(), 1, Hd.data());
            auto const l2 = static_cast<float>(penalty_.l2);
            each_entry(team_, p_, [&](std::size_t j) { Hd[j] += l2 * d[j]; });
            double const dHd = inner_product(team_, d, Hd);
            if (!(dHd > 0)) break;
            double const alpha = rm / dHd;
            each_entry(team_, p_, [&](std::size_t j) {
                D_[j] += alpha * static_cast<double>(d[j]);
                r[j] -= static_cast<float>(alpha) * Hd[j];
                m[j] = static_cast<float>(static_cast<double>(r[j]) / diagonal[j]);
            });
            double const last = rm;
            rm = inner_product(team_, r, m);
            if (!(rm > stop)) break;
            auto const beta = static_cast<float>(rm / last);
            each_entry(team_, p_, [&](std::size_t j) { d[j] = m[j] + beta * d[j]; });
        }
        finish_direction();
    }

    // The diagonal of X' diag(curvature) X + l2 I, an upper bound of the Hessian's own.
    std::vector<double> hessian_diagonal() {
        std::vector<double> parts, h(n_), diagonal(p_, penalty_.l2);
        for (std::size_t i = 0; i < n_; ++i) h[i] = F_.curvature(i);
        for (std::size_t i = 0; i < n_; ++i) {
            rows_.each(i, [&](std::size_t j, auto x) {
                diagonal[j] += h[i] * static_cast<double>(x) * static_cast<double>(x);
            });
        }
        for (double& x : diagonal) x = std::max(x, 1e-300);
        return diagonal;
    }

    // Coordinate descent on the quadratic model, over what is in use or wants to be.
    void newton_sparse(double gap, double tol) {
        std::size_t const T = F_.thresholds_count();
        std::vector<std::size_t> members;
        for (std::size_t j = 0; j < p_; ++j) {
            if (w_[j] != 0 || penalty_.distance(0.0, g_[j]) > 0) members.push_back(j);
        }
        std::vector<double> h(n_), t(n_, 0.0), moved(T, 0.0);
        for (std::size_t i = 0; i < n_; ++i) h[i] = F_.curvature(i);
        std::vector<double> cross(members.size() * T), solved(members.size() * T), c(members.size());
        team_.each_range(members.size(), 64, [&](std::size_t begin, std::size_t end, std::size_t) {
            for (std::size_t k = begin; k < end; ++k) measure(members[k], h, &cross[k * T], &solved[k * T], c[k]);
        });
        D_.assign(p_, 0.0);
        double first = 0;
        for (int round = 0; round < 300; ++round) {
            check_interrupt();
            double decrease = 0;
            for (std::size_t k = 0; k < members.size(); ++k) {
                std::size_t const j = members[k];
                if (c[k] <= 0) continue;
                double const now = w_[j] + D_[j];
                if (round > 0 && round % 5 != 0 && now == 0) continue;
                double slope = g_[j] - dot(&solved[k * T], moved.data(), T);
                each_in_column(j, [&](std::size_t i, double x) { slope += h[i] * x * t[i]; });
                double const next = penalty_.prox(now - slope / c[k], 1.0 / c[k]), step = next - now;
                if (step == 0) continue;
                D_[j] = next - w_[j];
                each_in_column(j, [&](std::size_t i, double x) { t[i] += step * x; });
                for (std::size_t q = 0; q < T; ++q) moved[q] += step * cross[k * T + q];
                decrease += 0.5 * c[k] * step * step;
            }
            if (round == 0) first = decrease;
            // Scaled residuals make a gap of first order in what is left, the decrease is of second order.
            double const left = penalty_.l2 > 0 ? 1e-3 * std::min(1.0, 10 * gap) : 1e-2 * std::min(1.0, gap * gap);
            double const floor = 0.02 * tol * (penalty_.l2 > 0 ? 1.0 : tol) * std::abs(primal_);
            if (decrease <= std::max(left * first, floor)) break;
        }
        finish_direction();
    }

    // x_j'C, T^-1 of it, and the curvature of coordinate j.
    void measure(std::size_t j, std::vector<double> const& h, double* cross, double* solved, double& c) {
        std::size_t const T = F_.thresholds_count();
        double square = 0;
        each_in_column(j, [&](std::size_t i, double x) {
            square += h[i] * x * x;
            std::size_t const level = F_.level(i);
            if (F_.has_upper(i)) cross[level] += F_.upper_cross(i) * x;
            if (F_.has_lower(i)) cross[level - 1] += F_.lower_cross(i) * x;
        });
        std::copy(cross, cross + T, solved);
        F_.solve_thresholds(solved);
        c = square - dot(cross, solved, T);
        if (c <= 1e-12 * square) c = 0;
    }

    template <class G>
    void each_in_column(std::size_t j, G&& f) const {
        if constexpr (Rows::is_sparse) {
            X_.columns().each(j, [&](std::size_t i, auto x) { f(i, static_cast<double>(x)); });
        } else {
            for (std::size_t i = 0; i < n_; ++i) f(i, static_cast<double>(rows_.data[i * rows_.stride + j]));
        }
    }

    void finish_direction() {
        U_.resize(n_);
        X_.exact.scores(team_, D_.data(), 1, U_.data());
        move_ = F_.cross(U_);
        F_.solve_thresholds(move_.data());
        for (double& m : move_) m = -m;
    }

    // The first of w + D, w + D/2, ... that lowers P enough; false when rounding hides every one.
    bool advance() {
        double promise = 0;
        for (std::size_t j = 0; j < p_; ++j) {
            promise += g_[j] * D_[j] + penalty_.value(w_[j] + D_[j]) - penalty_.value(w_[j]);
        }
        if (!(promise < 0)) return false;
        std::vector<double> const from = z_, before = w_, cuts = F_.thresholds();
        std::vector<double> guess(cuts.size());
        for (double t = 1; t > 1e-9; t *= 0.5) {
            for (std::size_t i = 0; i < n_; ++i) z_[i] = from[i] + t * U_[i];
            for (std::size_t j = 0; j < p_; ++j) w_[j] = before[j] + t * D_[j];
            for (std::size_t k = 0; k < cuts.size(); ++k) guess[k] = cuts[k] + t * move_[k];
            double const after = F_.evaluate(z_.data(), guess) + penalty_value(w_);
            if (after <= primal_ + 1e-4 * t * promise) return true;
        }
        z_ = from;
        w_ = before;
        F_.evaluate(z_.data(), cuts);
        return false;
    }

    Team& team_;
    Rows rows_;
    LaneDesign<Rows> X_;
    OrderedLoss<Link> F_;
    ElasticNet penalty_;
    std::size_t n_, p_;
    bool factored_ = false;
    std::vector<double> w_, z_, g_, slopes_, D_, U_, move_;
    double primal_ = 0;
};

// What a fit is asked, apart from the data.
struct OrdinalProblem {
    std::string link;
    std::size_t levels = 2;
    ElasticNet penalty;
    SolveOptions options;
};

inline OrdinalSolution fit_ordinal(Design const& X, Levels const& levels, OrdinalProblem const& problem,
                                   bool covariance) {
    return visit_real(X, [&](auto const& rows) {
        return OrdinalLinks::visit("link", problem.link, [&]<class Link>() {
            Team team(problem.options.threads);
            OrdinalNewton<std::remove_cvref_t<decltype(rows)>, Link> solver(team, rows, levels, problem.penalty);
            OrdinalSolution found = solver.solve(problem.options);
            if (covariance) found.covariance = solver.covariance();
            return found;
        });
    });
}

}  // namespace tallywise
