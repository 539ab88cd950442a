// Sparse linear models by coordinate descent.
//
//   minimise  P(w, b) = sum s_i l(y_i, z_i) + sum_j p(w_j),   z = X w + b,   b unpenalised
//   maximise  D(a)    = -sum s_i l*(y_i, a_i) - sum_j p*(-x_j'(s a)),   sum s_i a_i = 0 with an intercept
//
// given the columns of X, a smooth loss l and a penalty p with l1 and l2. Comes back with w, b and both values,
// so that primal - dual bounds the distance to the optimum. A penalty that is not convex leaves D = min P without it,
// and is solved until no gradient misses the subdifferential by more than tol l1.
//
// Outer loop: a pass over all columns gives a feasible dual point and the gap; features that the gap proves to be
// zero at the optimum are dropped (gap-safe screening: Ndiaye, Fercoq, Gramfort, Salmon, JMLR 18, 2017); the
// features nearest to their constraint form the working set (Johnson, Guestrin, "Blitz", ICML 2015; Massias,
// Gramfort, Salmon, "Celer", ICML 2018). Inner loop: proximal Newton on the working set, each quadratic model by
// coordinate descent, helped by conjugate gradients on the coordinates in use once no sign turns. The intercept is
// profiled out of every model, so sparse columns are never centred.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "core/base/interrupt.hpp"
#include "core/base/parallel.hpp"
#include "core/base/relative_gap.hpp"
#include "core/data/design.hpp"
#include "core/linear/balance.hpp"
#include "core/linear/line_search.hpp"
#include "core/linear/losses.hpp"
#include "core/linear/penalties.hpp"
#include "core/linear/quadratic_model.hpp"
#include "core/linear/solution.hpp"

namespace tallywise::linear {

template <class Columns, class Loss, class Penalty>
class CoordinateDescent {
  public:
    // s may be null (all ones). Rows of weight zero take no part, but their scores are kept up to date.
    CoordinateDescent(Columns const& X, double const* y, double const* s, Loss const& loss, SolveOptions const& options)
        : X_(X),
          y_(y),
          loss_(loss),
          options_(options),
          team_(options.threads),
          n_(X.width),
          p_(X.lines),
          s_(n_, 1.0),
          w_(p_, 0.0),
          z_(n_, 0.0),
          g_(n_),
          u_(p_, 0.0),
          norm_(p_) {
        if (s != nullptr) s_.assign(s, s + n_);
        measure_columns();
    }

    std::vector<double> const& weights() const { return w_; }
    std::vector<double> const& scores() const { return z_; }
    double intercept() const { return b_; }

    void start(double const* w0, double b0) {
        if (w0 != nullptr) w_.assign(w0, w0 + p_);
        b_ = b0;
    }

    // Minimises from where the last call (or `start`) ended.
    Solution solve(Penalty const& penalty) {
        penalty_ = penalty;
        iterations_ = 0;
        careful_ = patience_ = 1;
        double best_dual = -infinity, last_primal = infinity, last_dual = -infinity, last_far = infinity;
        candidates_.clear();
        for (std::size_t j = 0; j < p_; ++j) {
            if (norm_[j] > 0) {
                candidates_.push_back(j);
            } else {
                w_[j] = u_[j] = 0;  // empty, or the intercept does the same for nothing
            }
        }
        std::size_t last_size = 0;
        for (;;) {
            check_interrupt();
            refresh_scores();
            settle_intercept();
            dual_point();
            full_gradient();
            double const primal = objective();
            double const scale = feasible_scale();
            double dual = dual_value(scale);
            if (Penalty::convex && penalty_.l2 > 0) dual = std::max(dual, dual_value(1.0));
            best_dual = std::max(best_dual, dual);
            double const far = distance();
            // What is left, in the units of the objective or of its gradient, and how much of it may be left.
            double const left = Penalty::convex ? primal - best_dual : far;
            double const goal = options_.tol * (Penalty::convex ? std::abs(primal) : penalty_.l1);
            bool const solved = Penalty::convex ? relative_gap(primal, best_dual) <= options_.tol : left <= goal;
            auto const here = [&] { return Solution{w_, b_, primal, best_dual, iterations_, far}; };
            // Just beyond the penalty that leaves all weights at zero the gap is small, and still zero is not the
            // answer.
            bool const begun = iterations_ > 0 || far <= options_.tol * penalty_.l1 ||
                               std::any_of(w_.begin(), w_.end(), [](double w) { return w != 0; });
            if ((solved && begun) || primal - best_dual <= rounding * ceiling() || iterations_ >= options_.max_iter) {
                return here();
            }
            if (Penalty::convex && !narrow() && screen(scale, primal - dual_value(scale))) continue;
            // Nothing improved although the working set held every candidate: only rounding is left.
            bool const stalled = primal >= last_primal && (Penalty::convex ? best_dual <= last_dual : far >= last_far);
            if (stalled && last_size >= candidates_.size()) return here();
            last_size = choose(Penalty::convex ? scale : 1.0, last_size, stalled);
            last_primal = primal;
            last_dual = best_dual;
            last_far = far;
            solve_working_set(std::max(inner * left, 0.5 * goal), primal);
        }
    }

  private:
    static constexpr double rounding = 4 * std::numeric_limits<double>::epsilon();
    static constexpr bool quadratic = std::is_same_v<Loss, SquaredError>;
    static constexpr int max_rounds = 100;  // over the coordinates of a model
    static constexpr double inner = 0.5;    // how much of the gap a working set may leave
    static constexpr std::size_t first_size = 1000;

    // --- the whole problem ---

    // Few columns under squares: one matrix of their products serves every penalty, so that all of them are the working
    // set.
    bool narrow() const { return quadratic && p_ <= 512; }

    // About 32,768 entries a piece.
    std::size_t grain(std::size_t columns) const {
        std::size_t const pieces = std::max<std::size_t>(1, X_.nonzeros() >> 15);
        return std::max<std::size_t>(1, columns / pieces);
    }

    // norm_j = |x_j| in the weights s, about its mean when there is an intercept.
    void measure_columns() {
        double const total = std::accumulate(s_.begin(), s_.end(), 0.0);
        team_.each_range(p_, grain(p_), [&](std::size_t begin, std::size_t end, std::size_t) {
            for (std::size_t j = begin; j < end; ++j) {
                double square = 0, sum = 0;
                X_.each(j, [&](std::size_t i, auto value) {
                    double const x = static_cast<double>(value);
                    square += s_[i] * x * x;
                    sum += s_[i] * x;
                });
                // The mean first: the square of the sum may overflow where the squares do not.
                double const about = options_.fit_intercept && total > 0 ? square - sum / total * sum : square;
                norm_[j] = about > 1e-14 * square ? std::sqrt(about) : square < infinity ? 0.0 : infinity;
            }
        });
        // A column whose square is no number would pass for an empty one.
        if (std::any_of(norm_.begin(), norm_.end(), [](double norm) { return norm == infinity; })) {
            throw std::invalid_argument("The numbers in X are too large for this fit: scale its columns.");
        }
    }

    // z from w and b themselves: what steps add up to drifts.
    void refresh_scores() {
        std::fill(z_.begin(), z_.end(), b_);
        for (std::size_t j = 0; j < p_; ++j) {
            if (w_[j] != 0) X_.axpy(j, w_[j], z_.data());
        }
    }

    double objective() const {
        double total = 0;
        for (std::size_t i = 0; i < n_; ++i) total += s_[i] * loss_.value(y_[i], z_[i]);
        for (double w : w_) {
            if (w != 0) total += penalty_.value(w);
        }
        return total;
    }

    // P at w = 0, b = 0: the size of the numbers that were added up.
    double ceiling() const {
        double total = 0;
        for (std::size_t i = 0; i < n_; ++i) total += s_[i] * loss_.value(y_[i], 0.0);
        return total;
    }

    // The best b for this w: a safeguarded Newton iteration on the monotone slope.
    void settle_intercept() {
        if (!options_.fit_intercept) return;
        double low = -infinity, high = infinity, shift = 0;
        for (int step = 0; step < 60; ++step) {
            double slope = 0, curvature = 0, size = 0;
            for (std::size_t i = 0; i < n_; ++i) {
                double const g = s_[i] * loss_.gradient(y_[i], z_[i] + shift);
                slope += g;
                size += std::abs(g);
                curvature += s_[i] * loss_.curvature(y_[i], z_[i] + shift);
            }
            if (std::abs(slope) <= 1e-13 * size) break;
            (slope > 0 ? high : low) = shift;
            double next = curvature > 0 ? shift - slope / curvature : shift - std::copysign(1.0, slope);
            if constexpr (!quadratic) next = std::clamp(next, shift - 4.0, shift + 4.0);
            if (!(next > low && next < high)) next = 0.5 * (low + high);
            if (next == shift || !std::isfinite(next)) break;
            shift = next;
        }
        b_ += shift;
        for (double& z : z_) z += shift;
    }

    // g = s a with a in the domain of l*, balanced where there is an intercept.
    void dual_point() {
        Balance balance;
        for (std::size_t i = 0; i < n_; ++i) {
            g_[i] = s_[i] * loss_.clip(y_[i], loss_.gradient(y_[i], z_[i]));
            balance.add(g_[i]);
        }
        if (!options_.fit_intercept) return;
        for (double& g : g_) g = balance(g);
    }

    void full_gradient() {
        std::size_t const count = candidates_.size();
        team_.each_range(count, grain(count), [&](std::size_t begin, std::size_t end, std::size_t) {
            for (std::size_t k = begin; k < end; ++k) u_[candidates_[k]] = X_.dot(candidates_[k], g_.data());
        });
    }

    // From a stationary point: the most by which a gradient misses the subdifferential.
    double distance() const {
        double most = 0;
        for (std::size_t j : candidates_) most = std::max(most, penalty_.distance(w_[j], u_[j]));
        return most;
    }

    // The largest t <= 1 for which t g meets |x_j' t g| <= l1 for every j; 0 is all that is left where p* is infinite.
    double feasible_scale() const {
        if (!Penalty::convex) return 0.0;
        double top = 0;
        for (std::size_t j : candidates_) top = std::max(top, penalty_.pull(u_[j]));
        return top > penalty_.l1 ? penalty_.l1 / top : 1.0;
    }

    double dual_value(double scale) const {
        double total = 0;
        for (std::size_t i = 0; i < n_; ++i) {
            total -= weighted_conjugate(loss_, s_[i], y_[i], scale * g_[i]);
        }
        if (penalty_.l2 > 0 && scale == 1.0) {
            for (std::size_t j : candidates_) total -= penalty_.conjugate(-u_[j]);
        }
        return total;
    }

    // Drops features that are zero at every optimum: l* is 1/smoothness strongly convex, so the best dual point lies
    // within sqrt(2 smoothness gap) of this one. True when a dropped feature had been in use, so that z has changed.
    bool screen(double scale, double gap) {
        double const radius = std::sqrt(2.0 * Loss::smoothness * std::max(gap, 0.0));
        bool changed = false;
        std::erase_if(candidates_, [&](std::size_t j) {
            if (scale * penalty_.pull(u_[j]) + radius * norm_[j] >= penalty_.l1) return false;
            changed |= w_[j] != 0;
            w_[j] = u_[j] = 0;
            return true;
        });
        return changed;
    }

    // The working set: what is in use, then what breaks its constraint, then what is nearest to it; twice the support
    // at least. While the dual point is poor, nearness says little: violators first is 1.5x faster on 20newsgroups.
    std::size_t choose(double scale, std::size_t last_size, bool stalled) {
        std::size_t used = 0, violators = 0;
        order_.clear();
        for (std::size_t j : candidates_) {
            bool const in_use = w_[j] != 0;
            used += in_use;
            double const pull = penalty_.pull(u_[j]);
            bool const violates = !in_use && pull > penalty_.l1;
            violators += violates;
            double const slack = std::max(penalty_.l1 - scale * pull, 0.0) / norm_[j];
            order_.push_back({in_use ? -infinity : violates ? penalty_.l1 - pull : slack, j});
        }
        std::size_t const grown = last_size == 0 ? first_size : 4 * last_size;
        std::size_t size = std::max({std::size_t{100}, 2 * used, used + std::min(violators, grown)});
        if (stalled) size = 2 * last_size;
        if (penalty_.l1 <= 0 || narrow()) size = order_.size();
        if (size < order_.size()) {
            std::nth_element(order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>(size), order_.end());
            order_.resize(size);
        }
        members_.clear();
        for (auto const& entry : order_) members_.push_back(entry.feature);
        std::sort(members_.begin(), members_.end());
        return members_.size();
    }

    // --- the working set ---

    // Proximal Newton until at most `goal` is left of the problem restricted to the working set.
    void solve_working_set(double goal, double primal) {
        // The curvature of squares never changes: a working set that comes again keeps its products.
        bool const known = quadratic && !members_.empty() && members_ == weighed_;
        if (!known) {
            model_.assign(X_, members_, options_.fit_intercept);
            weighed_.clear();
        }
        root_.resize(n_);
        v_.resize(n_);
        int idle = 0;
        double care = 1, share = 0.05, last_left = infinity;
        promise_ = -infinity;
        for (bool weighed = known; iterations_ < options_.max_iter; weighed = true) {
            check_interrupt();
            for (std::size_t i = 0; i < n_; ++i) g_[i] = s_[i] * loss_.gradient(y_[i], z_[i]);
            if (!quadratic || !weighed) {
                for (std::size_t i = 0; i < n_; ++i) root_[i] = std::sqrt(s_[i] * model_curvature(i));
                model_.weigh(team_, root_);
                weighed_ = members_;
            }
            model_.start(team_, w_, g_);
            double const left = Penalty::convex ? primal - working_dual() : working_distance();
            if (left <= goal) return;
            // Where columns are nearly equal the gradient is small long before the weights have arrived.
            if (left > 0.5 * last_left) care *= 0.1;
            last_left = left;
            double const before = primal;
            double const last_promise = promise_;
            primal = newton_step(primal, care * goal, share);
            // Models that are solved well promise far less from one step to the next.
            if (promise_ < 0.3 * last_promise) share *= 0.3;
            idle = primal < before ? 0 : idle + 1;
            if (idle == 3) return;
        }
    }

    // That of the loss where it is likely to hold for the step to come; otherwise that of a parabola above the loss.
    double model_curvature(std::size_t i) const {
        double const own = loss_.curvature(y_[i], z_[i]);
        return careful_ > 0 || own == 0 ? parabola(y_[i], z_[i]) : own;
    }

    // Far on the wrong side the logistic loss is all but straight, and bends on the way back: there, Jaakkola, Jordan,
    // Bayesian parameter estimation via variational methods (Statistics and Computing 10, 2000).
    double parabola(double y, double z) const {
        double const margin = y * z;
        if (std::is_same_v<Loss, Logistic> && margin < -2) return 0.5 * std::tanh(-0.5 * margin) / -margin;
        return bend(loss_, y, z);
    }

    // After a step of at most `change` in a score, of which the share t was taken. The curvature of log(1 + exp(z))
    // changes by a factor e at most where z changes by 1. Where it has been believed in vain, it is left for longer.
    void learn_from_step(double change, double t) {
        if (careful_ > 0) {
            if (change <= 1) --careful_;
        } else if (t < 1) {
            careful_ = patience_ *= 2;
        }
    }

    // A lower bound for the problem restricted to the working set (as good as its intercept is settled).
    double working_dual() const {
        double best = -infinity, top = 0;
        for (double slope : model_.slopes()) top = std::max(top, penalty_.pull(slope));
        double const scale = top > penalty_.l1 ? penalty_.l1 / top : 1.0;
        for (double t : {scale, 1.0}) {
            if (t > scale && penalty_.l2 <= 0) continue;
            double total = 0;
            for (std::size_t i = 0; i < n_; ++i) {
                total -= weighted_conjugate(loss_, s_[i], y_[i], t * g_[i]);
            }
            if (penalty_.l2 > 0) {
                for (double u : model_.slopes()) total -= penalty_.conjugate(-t * u);
            }
            best = std::max(best, total);
        }
        return best;
    }

    double working_distance() const {
        double most = 0;
        for (std::size_t k = 0; k < members_.size(); ++k) {
            most = std::max(most, penalty_.distance(w_[members_[k]], model_.slopes()[k]));
        }
        return most;
    }

    // One model and a line search along its minimiser. Gives the objective reached.
    double newton_step(double primal, double goal, double share) {
        double size_of_w = 0;
        for (std::size_t j : members_) size_of_w += std::abs(w_[j]);
        // A gradient that is off by e moves the gap by about e |w|_1.
        double const enough = 0.1 * goal / (Penalty::convex ? std::max(size_of_w, 1e-300) : 1.0);
        int const most = quadratic ? options_.max_iter - iterations_ : max_rounds;
        int const rounds = model_.minimise(team_, penalty_, enough, share, most);
        iterations_ += quadratic ? rounds : 1;
        return move_along(primal);
    }

    // w + t d with t by `backtrack`; gives the objective there.
    double move_along(double primal) {
        std::vector<double> const& d = model_.step();
        double const shift = model_.shift();
        double promise = model_.total_slope() * shift, penalty_before = 0;
        std::fill(v_.begin(), v_.end(), shift);
        for (std::size_t k = 0; k < members_.size(); ++k) {
            double const w = w_[members_[k]];
            penalty_before += penalty_.value(w);
            if (d[k] == 0) continue;
            promise += model_.slopes()[k] * d[k] + penalty_.value(w + d[k]) - penalty_.value(w);
            X_.axpy(members_[k], d[k], v_.data());
        }
        promise_ = promise;
        double const loss_before = primal - penalty_before, rounding = 1e-13 * std::abs(primal);
        double change = 0;
        // A promise that is all rounding may come out with either sign.
        double const t = backtrack(0.0, std::min(promise, -rounding), rounding, [&](double step) {
            double loss = 0, penalty_after = 0;
            for (std::size_t i = 0; i < n_; ++i) loss += s_[i] * loss_.value(y_[i], z_[i] + step * v_[i]);
            for (std::size_t k = 0; k < members_.size(); ++k) {
                penalty_after += penalty_.value(w_[members_[k]] + step * d[k]);
            }
            return change = (loss - loss_before) + (penalty_after - penalty_before);
        });
        double most = 0;
        for (double v : v_) most = std::max(most, std::abs(v));
        learn_from_step(most, t);
        if (t == 0) return primal;
        for (std::size_t i = 0; i < n_; ++i) z_[i] += t * v_[i];
        for (std::size_t k = 0; k < members_.size(); ++k) w_[members_[k]] += t * d[k];
        b_ += t * shift;
        return primal + change;
    }

    struct Entry {
        double slack;
        std::size_t feature;
        bool operator<(Entry const& other) const {
            return slack != other.slack ? slack < other.slack : feature < other.feature;
        }
    };

    Columns const& X_;
    double const* y_;
    Loss loss_;
    Penalty penalty_{};
    SolveOptions options_;
    Team team_;
    std::size_t n_, p_;
    std::vector<double> s_, w_, z_, g_, u_, norm_;
    double b_ = 0;
    int iterations_ = 0;
    int careful_ = 1, patience_ = 1;  // steps to go with curvatures of parabolas above the loss
    std::vector<std::size_t> candidates_, members_, weighed_;
    std::vector<Entry> order_;
    QuadraticModel<Columns, Penalty> model_;
    std::vector<double> root_, v_;
    double promise_ = 0;  // of the last step: the slope of the objective along it
};

template <class Columns, class Loss, class Penalty>
Solution coordinate_descent(Columns const& X, double const* y, double const* s, Loss const& loss,
                            Penalty const& penalty, SolveOptions const& options, double const* w0, double b0) {
    CoordinateDescent<Columns, Loss, Penalty> solver(X, y, s, loss, options);
    solver.start(w0, b0);
    return solver.solve(penalty);
}

}  // namespace tallywise::linear
