// Sparse models of K scores a sample: proximal Newton on a working set, each quadratic model by coordinate descent.
//
//   minimise  P(W) = F(XW) + l1 |W|_1 + l2/2 |W|^2,   l1 > 0
//   maximise  D(t) = -F*(t A) - |(|X'(t A)| - l1)_+|^2 / (2 l2),   A the residuals of F, t in (0, 1]
//
// given the columns of X and a loss F of scores with its offsets at their best (offsets.hpp). Its Model has
//   expand()          the quadratic model at the current point, nothing moved yet
//   curvature(i, k)   of the loss in score k of sample i
//   weight(i)         of sample i
//   slope(i, k)       by how much the moves so far have changed the residual
//   move(i, k, u)     moves that score by u
//   settle()          offsets after the moves
//   score(i, k)       how far the score has moved, without the offsets
//
// Yuan, Ho & Lin (2012), An improved GLMNET for L1-regularized logistic regression, for the outline.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "core/base/interrupt.hpp"
#include "core/linear/lane_solution.hpp"
#include "core/linear/offsets.hpp"
#include "core/linear/penalties.hpp"
#include "core/linear/vectors.hpp"

namespace tallywise::linear {

template <class Columns, class Loss>
class LaneDescent {
  public:
    LaneDescent(Team& team, Columns const& X, Loss& loss, ElasticNet const& penalty)
        : team_(team),
          X_(X),
          F_(loss),
          penalty_(penalty),
          n_(X.width),
          p_(X.lines),
          K_(loss.lanes()),
          L_(loss.stride()),
          model_(loss) {}

    LaneSolution solve(SolveOptions const& options, double const* w0) {
        W_.assign(p_ * L_, 0.0);
        Z_.assign(n_ * L_, 0.0);
        V_.assign(p_ * L_, 0.0);
        A_.assign(n_ * L_, 0.0);
        if (w0 != nullptr) W_.assign(w0, w0 + p_ * L_);
        LaneSolution found;
        found.floor = F_.rounding();
        double best_dual = -infinity, best_gap = infinity, last_primal = infinity, forcing = 0.1;
        int stalled = 0;
        for (found.iterations = 0;; ++found.iterations) {
            check_interrupt();
            scores();
            F_.evaluate(Z_.data());
            F_.residual(A_.data());
            gather();
            double const scale = feasible_scale();
            found.primal = F_.value() + penalty_of_weights();
            best_dual = std::max(best_dual, dual(scale));
            if (penalty_.l2 > 0 && scale < 1) best_dual = std::max(best_dual, dual(1.0));
            found.dual = best_dual;
            // No weight in use although one wants to be is not to be taken for an answer yet.
            bool const sound = scale == 1 || std::any_of(W_.begin(), W_.end(), [](double w) { return w != 0; });
            if ((sound && found.within(options.tol)) || found.iterations >= options.max_iter) break;
            bool const fell = last_primal - found.primal > 0.1 * options.tol * std::abs(found.primal);
            stalled = fell || found.relative_gap() < 0.9 * best_gap ? 0 : stalled + 1;
            last_primal = found.primal;
            best_gap = std::min(best_gap, found.relative_gap());
            if (stalled > 0) forcing = std::max(forcing * 0.1, 1e-6);
            if (stalled > 12) break;  // only rounding is left
            choose(scale);
            // Some Newton steps on the working set for each look at all columns.
            double const before = found.primal;
            double now = before;
            for (int step = 0; step < 5; ++step) {
                double const last = now;
                now = newton_step(now, forcing);
                if (last - now <= 0.1 * (before - now)) break;
                F_.residual(A_.data());
                for (Pair& pair : pairs_) pair.slope = column_slope(pair);
            }
        }
        found.w = W_;
        found.offsets = F_.offsets();
        return found;
    }

  private:
    struct Pair {
        std::size_t j, k;
        double slope, curvature, damping, d;
    };

    // Z from W itself: what steps add up to drifts.
    void scores() {
        std::fill(Z_.begin(), Z_.end(), 0.0);
        for (std::size_t j = 0; j < p_; ++j) {
            double const* w = W_.data() + j * L_;
            if (std::all_of(w, w + K_, [](double x) { return x == 0; })) continue;
            X_.each(j, [&](std::size_t i, auto x) {
                for (std::size_t k = 0; k < K_; ++k) Z_[i * L_ + k] += static_cast<double>(x) * w[k];
            });
        }
    }

    // V = X'A
    void gather() {
        team_.each_range(p_, std::max<std::size_t>(16, p_ / 256), [&](std::size_t begin, std::size_t end, std::size_t) {
            for (std::size_t j = begin; j < end; ++j) {
                double* v = V_.data() + j * L_;
                std::fill(v, v + L_, 0.0);
                X_.each(j, [&](std::size_t i, auto x) {
                    double const* a = A_.data() + i * L_;
                    for (std::size_t k = 0; k < L_; ++k) v[k] += static_cast<double>(x) * a[k];
                });
            }
        });
    }

    double column_slope(Pair const& pair) const {
        double total = 0;
        X_.each(pair.j, [&](std::size_t i, auto x) { total += static_cast<double>(x) * A_[i * L_ + pair.k]; });
        return total;
    }

    double feasible_scale() const {
        double top = 0;
        for (double v : V_) top = std::max(top, std::abs(v));
        return top > penalty_.l1 ? penalty_.l1 / top : 1.0;
    }

    double dual(double t) {
        double total = -F_.conjugate(t);
        if (penalty_.l2 > 0) {
            for (double v : V_) total -= penalty_.conjugate(t * v);
        }
        return total;
    }

    double penalty_of_weights() const {
        double total = 0;
        for (double w : W_) {
            if (w != 0) total += penalty_.value(w);
        }
        return total;
    }

    // What is in use, then what is nearest to leaving zero: twice the support at least.
    void choose(double scale) {
        pairs_.clear();
        std::vector<Pair> rest;
        for (std::size_t j = 0; j < p_; ++j) {
            for (std::size_t k = 0; k < K_; ++k) {
                std::size_t const at = j * L_ + k;
                if (W_[at] != 0) {
                    pairs_.push_back({j, k, V_[at], 0, 0, 0});
                } else if (std::abs(V_[at]) * (1 + scale) > penalty_.l1) {
                    rest.push_back({j, k, V_[at], 0, 0, 0});
                }
            }
        }
        std::size_t const more = std::min(rest.size(), std::max<std::size_t>(200, pairs_.size()));
        auto const nearer = [](Pair const& a, Pair const& b) {
            double const x = std::abs(a.slope), y = std::abs(b.slope);
            return x != y ? x > y : (a.j != b.j ? a.j < b.j : a.k < b.k);
        };
        std::nth_element(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(more), rest.end(), nearer);
        pairs_.insert(pairs_.end(), rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(more));
        std::sort(pairs_.begin(), pairs_.end(),
                  [](Pair const& a, Pair const& b) { return a.k != b.k ? a.k < b.k : a.j < b.j; });
    }

    // Gives the objective reached.
    double newton_step(double primal, double forcing) {
        model_.expand();
        for (Pair& pair : pairs_) {
            pair.curvature = pair.damping = pair.d = 0;
            X_.each(pair.j, [&](std::size_t i, auto x) {
                double const square = static_cast<double>(x) * static_cast<double>(x);
                pair.curvature += model_.curvature(i, pair.k) * square;
                pair.damping += damping_.value * model_.weight(i) * square;
            });
        }
        double first = 0;
        for (int epoch = 0; epoch < 100; ++epoch) {
            double violation = 0;
            model_.settle();
            for (Pair& pair : pairs_) {
                if (epoch % 8 != 0 && pair.d == 0 && weight(pair) == 0) continue;
                violation = std::max(violation, coordinate_step(pair));
            }
            if (epoch == 0) first = violation;
            if (violation <= forcing * first) break;
        }
        return move_along(primal);
    }

    double weight(Pair const& pair) const { return W_[pair.j * L_ + pair.k]; }

    double coordinate_step(Pair& pair) {
        double const c = pair.curvature + pair.damping;
        if (!(c > 0)) return 0;
        double slope = pair.slope + pair.damping * pair.d;
        X_.each(pair.j, [&](std::size_t i, auto x) { slope += static_cast<double>(x) * model_.slope(i, pair.k); });
        double const now = weight(pair) + pair.d, next = penalty_.prox(now - slope / c, 1.0 / c), step = next - now;
        if (step == 0) return 0;
        pair.d = next == 0 ? -weight(pair) : pair.d + step;
        X_.each(pair.j, [&](std::size_t i, auto x) { model_.move(i, pair.k, step * static_cast<double>(x)); });
        return c * std::abs(step);
    }

    double move_along(double primal) {
        double before = 0, slope = 0;
        for (Pair const& pair : pairs_) {
            double const w = weight(pair);
            before += penalty_.value(w);
            slope += pair.slope * pair.d + penalty_.value(w + pair.d) - penalty_.value(w);
        }
        double const rest = penalty_of_weights() - before;
        u_.assign(n_ * L_, 0.0);
        team_.each_range(n_, 1024, [&](std::size_t begin, std::size_t end, std::size_t) {
            for (std::size_t i = begin; i < end; ++i) {
                for (std::size_t k = 0; k < K_; ++k) u_[i * L_ + k] = model_.score(i, k);
            }
        });
        double after = primal;
        double const t = step_length(team_, F_, Z_, u_, primal, slope, [&](double loss, double step) {
            double penalties = rest;
            for (Pair const& pair : pairs_) penalties += penalty_.value(weight(pair) + step * pair.d);
            return after = loss + penalties;
        });
        damping_.learn(t);
        for (Pair const& pair : pairs_) W_[pair.j * L_ + pair.k] += t * pair.d;
        return t > 0 ? after : primal;
    }

    Team& team_;
    Columns X_;
    Loss& F_;
    ElasticNet penalty_;
    std::size_t n_, p_, K_, L_;
    typename Loss::Model model_;
    Damping damping_;
    std::vector<double> W_, Z_, V_, A_, u_;
    std::vector<Pair> pairs_;
};

}  // namespace tallywise::linear
