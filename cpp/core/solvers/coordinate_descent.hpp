// Sparse linear models by coordinate descent.
//
//   minimise  P(w, b) = sum s_i l(y_i, z_i) + sum_j p(w_j),   z = X w + b,   b unpenalised
//   maximise  D(a)    = -sum s_i l*(y_i, a_i) - sum_j p*(-x_j'(s a)),   sum s_i a_i = 0 with an intercept
//
// given the columns of X, a smooth loss l and a penalty p with l1 and l2. Comes back with w, b and both values,
// so that primal - dual bounds the distance to the optimum.
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
#include <thread>
#include <type_traits>
#include <vector>

#include "core/design.hpp"
#include "core/interrupt.hpp"
#include "core/losses.hpp"
#include "core/parallel.hpp"
#include "core/penalties.hpp"
#include "core/solvers/solution.hpp"
#include "core/solvers/working_set.hpp"

namespace tallywise {

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

    // Only this thread may look for interrupts; by default the one that made the solver.
    void watch(std::thread::id caller) { caller_ = caller; }

    void start(double const* w0, double b0) {
        if (w0 != nullptr) w_.assign(w0, w0 + p_);
        b_ = b0;
    }

    // Minimises from where the last call (or `start`) ended.
    Solution solve(Penalty const& penalty) {
        penalty_ = penalty;
        iterations_ = 0;
        double best_dual = -infinity, last_primal = infinity, last_dual = -infinity;
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
            if (std::this_thread::get_id() == caller_) check_interrupt();
            refresh_scores();
            settle_intercept();
            dual_point();
            full_gradient();
            double const primal = objective();
            double const scale = feasible_scale();
            double dual = dual_value(scale);
            if (penalty_.l2 > 0) dual = std::max(dual, dual_value(1.0));
            best_dual = std::max(best_dual, dual);
            double const gap = primal - best_dual;
            if (gap <= options_.tol * std::max(std::abs(primal), std::abs(best_dual)) || gap <= rounding * ceiling() ||
                iterations_ >= options_.max_iter) {
                return {w_, b_, primal, best_dual, iterations_};
            }
            if (screen(scale, primal - dual_value(scale))) continue;
            // Nothing improved although the working set held every candidate: only rounding is left.
            bool const stalled = primal >= last_primal && best_dual <= last_dual;
            if (stalled && last_size >= candidates_.size()) return {w_, b_, primal, best_dual, iterations_};
            last_size = choose(scale, last_size, stalled);
            last_primal = primal;
            last_dual = best_dual;
            double const goal = options_.tol * std::max(std::abs(primal), std::abs(best_dual));
            solve_working_set(std::max(inner * gap, 0.5 * goal), primal);
        }
    }

  private:
    static constexpr double rounding = 4 * std::numeric_limits<double>::epsilon();
    static constexpr bool quadratic = std::is_same_v<Loss, SquaredError>;
    static constexpr int max_epochs = 100;  // between looks at the working set's gap
    static constexpr double forcing = 0.2;  // how much of its violation a model leaves
    static constexpr double inner = 0.5;    // how much of the gap a working set may leave
    static constexpr std::size_t first_size = 1000;
    static constexpr int max_products = 30;

    // --- the whole problem ---

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
                double const about = options_.fit_intercept && total > 0 ? square - sum * sum / total : square;
                norm_[j] = about > 1e-14 * square ? std::sqrt(about) : 0.0;
            }
        });
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

    // g = s a with a in the domain of l*; with an intercept the heavier sign is scaled so that sum g = 0.
    void dual_point() {
        double positive = 0, negative = 0;
        for (std::size_t i = 0; i < n_; ++i) {
            g_[i] = s_[i] * loss_.clip(y_[i], loss_.gradient(y_[i], z_[i]));
            (g_[i] > 0 ? positive : negative) += g_[i];
        }
        if (!options_.fit_intercept || positive == -negative) return;
        double const up = positive > -negative ? -negative / positive : 1.0;
        double const down = -negative > positive ? positive / -negative : 1.0;
        for (double& g : g_) g *= g > 0 ? up : down;
    }

    void full_gradient() {
        std::size_t const count = candidates_.size();
        team_.each_range(count, grain(count), [&](std::size_t begin, std::size_t end, std::size_t) {
            for (std::size_t k = begin; k < end; ++k) u_[candidates_[k]] = X_.dot(candidates_[k], g_.data());
        });
    }

    // The largest t <= 1 for which t g meets |x_j' t g| <= l1 for every j.
    double feasible_scale() const {
        double top = 0;
        for (std::size_t j : candidates_) top = std::max(top, penalty_.pull(u_[j]));
        return top > penalty_.l1 ? penalty_.l1 / top : 1.0;
    }

    double dual_value(double scale) const {
        double total = 0;
        for (std::size_t i = 0; i < n_; ++i) {
            if (s_[i] > 0) total -= s_[i] * loss_.conjugate(y_[i], scale * (g_[i] / s_[i]));
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

    // The working set: what is in use, then what is nearest to its constraint; twice the support at least.
    std::size_t choose(double scale, std::size_t last_size, bool stalled) {
        std::size_t used = 0, violators = 0;
        order_.clear();
        for (std::size_t j : candidates_) {
            bool const in_use = w_[j] != 0;
            used += in_use;
            violators += penalty_.pull(u_[j]) > penalty_.l1;
            double const slack = std::max(penalty_.l1 - scale * penalty_.pull(u_[j]), 0.0) / norm_[j];
            order_.push_back({in_use ? -1.0 : slack, j});
        }
        std::size_t const grown = last_size == 0 ? first_size : 4 * last_size;
        std::size_t size = std::max({std::size_t{100}, 2 * used, std::min(violators, grown)});
        if (stalled) size = 2 * last_size;
        if (penalty_.l1 <= 0) size = order_.size();
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

    // Proximal Newton until the gap of the problem restricted to the working set is at most `goal`.
    void solve_working_set(double goal, double primal) {
        std::size_t const size = members_.size();
        block_.assign(X_, members_);
        each_member([&](std::size_t k) { block_.load(k); });
        slope_.resize(size);
        curvature_.resize(size);
        mean_.resize(size);
        h_.resize(n_);
        v_.resize(n_);
        int idle = 0;
        for (bool weighed = false; iterations_ < options_.max_iter; weighed = true) {
            if (std::this_thread::get_id() == caller_) check_interrupt();
            for (std::size_t i = 0; i < n_; ++i) g_[i] = s_[i] * loss_.gradient(y_[i], z_[i]);
            total_slope_ = std::accumulate(g_.begin(), g_.end(), 0.0);
            if (!quadratic || !weighed) {
                for (std::size_t i = 0; i < n_; ++i) h_[i] = s_[i] * loss_.curvature(y_[i], z_[i]);
                total_curvature_ = std::accumulate(h_.begin(), h_.end(), 0.0);
                each_member([&](std::size_t k) { weigh(k); });
            }
            each_member([&](std::size_t k) { slope_[k] = block_.dot(k, g_.data()); });
            double top = 0;
            for (double slope : slope_) top = std::max(top, penalty_.pull(slope));
            double const scale = top > penalty_.l1 ? penalty_.l1 / top : 1.0;
            if (primal - working_dual(scale) <= goal) return;
            double const before = primal;
            primal = newton_step(primal, goal);
            idle = primal < before ? 0 : idle + 1;
            if (idle == 3) return;
        }
    }

    void weigh(std::size_t k) {
        auto const [first, second] = block_.weigh(k, h_.data());
        mean_[k] = first;
        curvature_[k] = profiled() ? second - first * first / total_curvature_ : second;
        if (curvature_[k] <= 1e-14 * second) curvature_[k] = 0;
    }

    template <class F>
    void each_member(F&& f) {
        std::size_t const size = members_.size();
        team_.each_range(size, std::max<std::size_t>(1, size / 16),
                         [&](std::size_t begin, std::size_t end, std::size_t) {
                             for (std::size_t k = begin; k < end; ++k) f(k);
                         });
    }

    bool profiled() const { return options_.fit_intercept && total_curvature_ > 0; }

    // A lower bound for the problem restricted to the working set (as good as its intercept is settled).
    double working_dual(double scale) const {
        double best = -infinity;
        for (double t : {scale, 1.0}) {
            if (t > scale && penalty_.l2 <= 0) continue;
            double total = 0;
            for (std::size_t i = 0; i < n_; ++i) {
                if (s_[i] > 0) total -= s_[i] * loss_.conjugate(y_[i], t * (g_[i] / s_[i]));
            }
            if (penalty_.l2 > 0) {
                for (double u : slope_) total -= penalty_.conjugate(-t * u);
            }
            best = std::max(best, total);
        }
        return best;
    }

    // One model and a line search along its minimiser. Gives the objective reached.
    double newton_step(double primal, double goal) {
        std::size_t const size = members_.size();
        d_.assign(size, 0.0);
        std::fill(v_.begin(), v_.end(), 0.0);
        weighted_sum_ = 0;
        double size_of_w = 0;
        for (std::size_t j : members_) size_of_w += std::abs(w_[j]);
        // A gradient that is off by e moves the gap by about e |w|_1.
        double const enough = 0.1 * goal / std::max(size_of_w, 1e-300);
        double first = 0;
        int calm = 0, wait = 2;
        for (int epoch = 0; epoch < max_epochs; ++epoch) {
            double const violation = sweep(epoch == 0);
            if constexpr (quadratic) {
                if (++iterations_ >= options_.max_iter) break;
            }
            if (epoch == 0) first = violation;
            double const target = std::max(forcing * first, enough);
            if (violation <= target) break;
            calm = turned_ ? 0 : calm + 1;
            if (calm < wait) continue;
            calm = 0;
            if (!support_step(target)) wait *= 2;
        }
        if constexpr (!quadratic) ++iterations_;
        return move_along(primal);
    }

    // One round of exact coordinate steps on the model. Gives the largest gradient that a step removed.
    double sweep(bool everything) {
        double violation = 0;
        turned_ = false;
        for (std::size_t k = 0; k < members_.size(); ++k) {
            double const now = w_[members_[k]] + d_[k];
            if (!everything && now == 0 && d_[k] == 0) continue;
            violation = std::max(violation, coordinate_step(k, now));
        }
        return violation;
    }

    double coordinate_step(std::size_t k, double now) {
        double const c = curvature_[k];
        double next = 0;
        if (c > 0) {
            double slope = slope_[k] + block_.weighted_dot(k, v_.data());
            if (profiled()) slope -= (total_slope_ + weighted_sum_) / total_curvature_ * mean_[k];
            next = penalty_.prox(now - slope / c, 1.0 / c);
        }
        double const step = next - now;
        if (step == 0) return 0;
        turned_ |= (next > 0) != (now > 0) || (next < 0) != (now < 0);
        d_[k] = next == 0 ? -w_[members_[k]] : d_[k] + step;
        weighted_sum_ += step * mean_[k];
        block_.axpy(k, step, v_.data());
        return c * std::abs(step);
    }

    // Conjugate gradients on the model over the coordinates in use, where the penalty is smooth while no sign turns;
    // up to the first sign that would. Where signs have settled this takes about the square root of the rounds.
    bool support_step(double enough) {
        support_.clear();
        for (std::size_t k = 0; k < members_.size(); ++k) {
            if (w_[members_[k]] + d_[k] != 0 && curvature_[k] > 0) support_.push_back(k);
        }
        std::size_t const size = support_.size();
        residual_.resize(size);
        direction_.assign(size, 0.0);
        total_step_.assign(size, 0.0);
        image_.resize(n_);
        moved_.assign(n_, 0.0);
        double moved_sum = 0, rho = 0;
        double const shift = profiled() ? (total_slope_ + weighted_sum_) / total_curvature_ : 0.0;
        for (std::size_t a = 0; a < size; ++a) {
            std::size_t const k = support_[a];
            double const now = w_[members_[k]] + d_[k];
            residual_[a] = -(slope_[k] + block_.weighted_dot(k, v_.data()) - shift * mean_[k] +
                             std::copysign(penalty_.l1, now) + penalty_.l2 * now);
        }
        for (int step = 0; step < max_products; ++step) {
            double top = 0, next = 0;
            for (std::size_t a = 0; a < size; ++a) {
                top = std::max(top, std::abs(residual_[a]));
                next += residual_[a] * residual_[a] / (curvature_[support_[a]] + penalty_.l2);
            }
            if (top <= 0.5 * enough || !(next > 0)) break;
            double const turn = rho > 0 ? next / rho : 0.0;
            rho = next;
            std::fill(image_.begin(), image_.end(), 0.0);
            double image_sum = 0;
            for (std::size_t a = 0; a < size; ++a) {
                std::size_t const k = support_[a];
                direction_[a] = turn * direction_[a] + residual_[a] / (curvature_[k] + penalty_.l2);
                block_.axpy(k, direction_[a], image_.data());
                image_sum += direction_[a] * mean_[k];
            }
            double const image_shift = profiled() ? image_sum / total_curvature_ : 0.0;
            product_.resize(size);
            double bend = 0;
            for (std::size_t a = 0; a < size; ++a) {
                std::size_t const k = support_[a];
                product_[a] =
                    block_.weighted_dot(k, image_.data()) - image_shift * mean_[k] + penalty_.l2 * direction_[a];
                bend += direction_[a] * product_[a];
            }
            if (!(bend > 0)) break;
            double const length = rho / bend;
            for (std::size_t a = 0; a < size; ++a) {
                total_step_[a] += length * direction_[a];
                residual_[a] -= length * product_[a];
            }
            for (std::size_t i = 0; i < n_; ++i) moved_[i] += length * image_[i];
            moved_sum += length * image_sum;
            if constexpr (quadratic) ++iterations_;
        }
        double share = 1;
        for (std::size_t a = 0; a < size; ++a) {
            double const now = w_[members_[support_[a]]] + d_[support_[a]];
            if ((now + total_step_[a]) * now < 0) share = std::min(share, -now / total_step_[a]);
        }
        for (std::size_t a = 0; a < size; ++a) {
            std::size_t const k = support_[a];
            double const now = w_[members_[k]] + d_[k];
            bool const stops = share < 1 && -now / total_step_[a] == share;
            d_[k] = stops ? -w_[members_[k]] : d_[k] + share * total_step_[a];
        }
        for (std::size_t i = 0; i < n_; ++i) v_[i] += share * moved_[i];
        weighted_sum_ += share * moved_sum;
        return share == 1;
    }

    // w + t d with the first t of 1, 1/2, 1/4, ... that brings enough of what the slope promises.
    double move_along(double primal) {
        double const shift = profiled() ? -(total_slope_ + weighted_sum_) / total_curvature_ : 0.0;
        double promise = total_slope_ * shift, penalty_before = 0, penalty_after = 0;
        for (std::size_t k = 0; k < members_.size(); ++k) {
            double const w = w_[members_[k]];
            promise += slope_[k] * d_[k] + penalty_.value(w + d_[k]) - penalty_.value(w);
            penalty_before += penalty_.value(w);
        }
        double rest = primal - penalty_before;  // loss, before
        for (double t = 1; t > 1e-10; t *= 0.5) {
            double loss = 0;
            for (std::size_t i = 0; i < n_; ++i) loss += s_[i] * loss_.value(y_[i], z_[i] + t * (v_[i] + shift));
            penalty_after = 0;
            for (std::size_t k = 0; k < members_.size(); ++k) {
                penalty_after += penalty_.value(w_[members_[k]] + t * d_[k]);
            }
            double const change = (loss - rest) + (penalty_after - penalty_before);
            // Below rounding the model knows better than a difference of sums.
            if (change > 0.01 * t * promise && -promise > 1e-13 * std::abs(primal)) continue;
            for (std::size_t i = 0; i < n_; ++i) z_[i] += t * (v_[i] + shift);
            for (std::size_t k = 0; k < members_.size(); ++k) w_[members_[k]] += t * d_[k];
            b_ += t * shift;
            return primal + change;
        }
        return primal;
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
    std::thread::id caller_ = std::this_thread::get_id();
    int iterations_ = 0;
    std::vector<std::size_t> candidates_, members_;
    std::vector<Entry> order_;
    WorkingSet<Columns> block_;
    std::vector<double> h_, v_, d_, slope_, curvature_, mean_;
    std::vector<std::size_t> support_;
    std::vector<double> residual_, direction_, product_, total_step_, image_, moved_;
    bool turned_ = false;
    double total_slope_ = 0, total_curvature_ = 0, weighted_sum_ = 0;
};

template <class Columns, class Loss, class Penalty>
Solution coordinate_descent(Columns const& X, double const* y, double const* s, Loss const& loss,
                            Penalty const& penalty, SolveOptions const& options, double const* w0, double b0) {
    CoordinateDescent<Columns, Loss, Penalty> solver(X, y, s, loss, options);
    solver.start(w0, b0);
    return solver.solve(penalty);
}

}  // namespace tallywise
