// Least squares under a convex penalty from the products of all columns, for dense data with few of them.
//
//   minimise  P(w, b) = 1/2 sum s_i (y_i - x_i'w - b)^2 + sum_j p(w_j),   b unpenalised
//
// given the statistics of product_statistics.hpp. With r = Xw + b - y, b at its best and g = X'(s r) about the means, a
// dual point t s r with t |g_j| within the penalty's reach gives
//
//   D(t) = -t sum s r y - t^2/2 sum s r^2 - sum_j p*(-t g_j)
//
// Rounds of coordinate descent on the matrix find the support, an active-set method the exact minimum (orthants.hpp).
// Both values follow from the matrix, too; what its rounding may hide is taken off the bound. Where that is too much
// for the gap asked for, as where columns nearly repeat, a pass over X gives residuals and gradient, from which the
// problem is solved again (iterative refinement) until the gap is reached or nothing improves.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "core/base/interrupt.hpp"
#include "core/base/relative_gap.hpp"
#include "core/linear/orthants.hpp"
#include "core/linear/product_statistics.hpp"
#include "core/linear/solution.hpp"

namespace tallywise::linear {

template <class Penalty>
class ProductDescent {
    static_assert(Penalty::convex);

  public:
    ProductDescent(DenseTable const& X, double const* y, double const* s, SolveOptions const& options)
        : X_(X),
          y_(y),
          s_(s),
          options_(options),
          team_(options.threads),
          data_(ProductStatistics::of(team_, X, y, s, options.fit_intercept)),
          w_(data_.p, 0.0),
          norm_(data_.p) {
        for (std::size_t j = 0; j < data_.p; ++j) norm_[j] = std::sqrt(data_.G[j * data_.p + j]);
    }

    void start(double const* w0) {
        if (w0 != nullptr) w_.assign(w0, w0 + data_.p);
    }

    // Minimises from where the last call (or `start`) ended.
    Solution solve(Penalty const& penalty) {
        penalty_ = penalty;
        for (std::size_t j = 0; j < data_.p; ++j) {
            if (norm_[j] == 0) w_[j] = 0;  // the intercept does the same for nothing
        }
        Solution best;
        int iterations = 0;
        Residuals at = of_products();
        if (std::any_of(w_.begin(), w_.end(), [](double w) { return w != 0; })) {
            if (!trusted(at) && gap(at.without_errors()) <= options_.tol) at = of_data();
            auto const [primal, dual] = values(at);
            if (gap(at) <= options_.tol) return {w_, intercept(), primal, dual, 0, distance(at)};
        }
        for (;;) {
            check_interrupt();
            ++iterations;
            minimise(at.gradient);
            at = of_products();
            if (!trusted(at)) at = of_data();
            auto const [primal, dual] = values(at);
            bool const better = iterations == 1 || primal < best.primal || dual > best.dual;
            double const bound = iterations == 1 ? dual : std::max(dual, best.dual);
            if (iterations == 1 || primal < best.primal) {
                best = {w_, intercept(), primal, bound, iterations, distance(at)};
            }
            best.dual = bound;
            best.iterations = iterations;
            bool const solved = relative_gap(best.primal, best.dual) <= options_.tol;
            if (solved || !better || iterations >= options_.max_iter) break;
        }
        w_ = best.w;
        return best;
    }

    // sum t_i (y_i - x_i'w - b)^2 / 2 by the statistics of the weights t, which know their means.
    double loss(ProductStatistics const& held) const {
        double total = held.yy;
        double shift = held.y_mean - intercept();
        for (std::size_t j = 0; j < data_.p; ++j) {
            if (w_[j] == 0) continue;
            shift -= held.mean[j] * w_[j];
            total += w_[j] * (dot(held.G.data() + j * data_.p, w_.data(), data_.p) - 2 * held.c[j]);
        }
        return 0.5 * std::max(total + held.total * shift * shift, 0.0);
    }

  private:
    static constexpr int rounds = 20;  // over the coordinates, before the active-set method finishes

    // What the two values are made of, and how far each part may be from its value in exact arithmetic.
    struct Residuals {
        double square = 0, product = 0;                                  // sum s r^2, sum s r y about the means
        std::vector<double> gradient;                                    // X'(s r)
        double square_error = 0, product_error = 0, gradient_error = 0;  // the last one: over the norm of the column

        Residuals without_errors() const { return {square, product, gradient}; }
    };

    double intercept() const {
        double b = data_.y_mean;
        for (std::size_t j = 0; j < data_.p; ++j) b -= data_.mean[j] * w_[j];
        return b;
    }

    Residuals of_products() const {
        std::size_t const p = data_.p;
        Residuals at;
        at.gradient.resize(p);
        for (std::size_t j = 0; j < p; ++j) at.gradient[j] = -data_.c[j];
        double size = std::sqrt(data_.yy), along = 0;
        for (std::size_t j = 0; j < p; ++j) {
            if (w_[j] == 0) continue;
            axpy(w_[j], data_.G.data() + j * p, at.gradient.data(), p);
            size += std::abs(w_[j]) * norm_[j];
            along += w_[j] * data_.c[j];
        }
        at.product = along - data_.yy;
        for (std::size_t j = 0; j < p; ++j) at.square += w_[j] * (at.gradient[j] - data_.c[j]);
        at.square = std::max(at.square + data_.yy, 0.0);
        // Products are off by `rounding` of their norms, and so are the p sums here.
        double const share = data_.rounding + 2 * static_cast<double>(p) * std::numeric_limits<double>::epsilon();
        at.square_error = share * size * size;
        at.product_error = share * size * std::sqrt(data_.yy);
        at.gradient_error = share * size;
        return at;
    }

    // The same from the data, for one pass over X: r about its mean is exact but for the rounding of its entries.
    Residuals of_data() {
        std::size_t const n = X_.rows(), p = data_.p, grain = block_grain(n, p), pieces = Team::count(n, grain);
        struct Sums {
            double square = 0, product = 0, sum = 0;
        };
        std::vector<Sums> sums(pieces);
        std::vector<double> parts(pieces * p, 0.0);
        team_.each_range(n, grain, [&](std::size_t begin, std::size_t end, std::size_t piece) {
            LineBlock block(p);
            double r[LineBlock::width];
            for (std::size_t first = begin; first < end; first += LineBlock::width) {
                std::size_t const count = std::min(LineBlock::width, end - first);
                X_.copy(first, count, data_.mean, block);
                for (std::size_t i = 0; i < count; ++i) r[i] = data_.y_mean - y_[first + i];
                for (std::size_t j = 0; j < p; ++j) {
                    if (w_[j] != 0) axpy(w_[j], block.line(j), r, count);
                }
                for (std::size_t i = 0; i < count; ++i) {
                    double const weighted = s_ == nullptr ? r[i] : s_[first + i] * r[i];
                    sums[piece].square += weighted * r[i];
                    sums[piece].product += weighted * (y_[first + i] - data_.y_mean);
                    sums[piece].sum += weighted;
                    r[i] = weighted;
                }
                for (std::size_t j = 0; j < p; ++j) parts[piece * p + j] += dot(block.line(j), r, count);
            }
        });
        Residuals at;
        Sums all;
        at.gradient.assign(p, 0.0);
        for (std::size_t piece = 0; piece < pieces; ++piece) {
            all.square += sums[piece].square;
            all.product += sums[piece].product;
            all.sum += sums[piece].sum;
            for (std::size_t j = 0; j < p; ++j) at.gradient[j] += parts[piece * p + j];
        }
        at.square = all.square;
        at.product = all.product;
        // About its mean, where the columns add up to 0 but for rounding.
        if (options_.fit_intercept && data_.total > 0) at.square -= all.sum * all.sum / data_.total;
        for (std::size_t j = 0; j < p; ++j) {
            if (norm_[j] == 0) at.gradient[j] = 0;
        }
        return at;
    }

    // Whether rounding is no matter for the gap asked for, and that is reached.
    bool trusted(Residuals const& at) const {
        return 2 * at.square_error <= std::min(1e-3 * options_.tol, 1e-9) * at.square && gap(at) <= options_.tol;
    }

    double gap(Residuals const& at) const {
        auto const [primal, dual] = values(at);
        return relative_gap(primal, dual);
    }

    // (P, D), D from below.
    std::pair<double, double> values(Residuals const& at) const {
        double primal = 0.5 * at.square, top = 0;
        for (double w : w_) {
            if (w != 0) primal += penalty_.value(w);
        }
        std::vector<double> pull(data_.p);
        for (std::size_t j = 0; j < data_.p; ++j) {
            pull[j] = norm_[j] > 0 ? penalty_.pull(at.gradient[j]) + at.gradient_error * norm_[j] : 0.0;
            top = std::max(top, pull[j]);
        }
        // The error of P, too, comes off D: their difference bounds the distance to the optimum.
        auto const quadratic = [&](double t) {
            return -t * (at.product + at.product_error) - 0.5 * t * t * (at.square + at.square_error) -
                   0.5 * at.square_error;
        };
        double dual = quadratic(top > penalty_.l1 ? penalty_.l1 / top : 1.0);
        if (penalty_.l2 > 0 && top > penalty_.l1) {
            double beyond = 0;
            for (double u : pull) beyond += std::max(u - penalty_.l1, 0.0) * std::max(u - penalty_.l1, 0.0);
            dual = std::max(dual, quadratic(1.0) - 0.5 * beyond / penalty_.l2);
        }
        return {primal, dual};
    }

    double distance(Residuals const& at) const {
        double most = 0;
        for (std::size_t j = 0; j < data_.p; ++j) {
            if (norm_[j] > 0) most = std::max(most, penalty_.distance(w_[j], at.gradient[j]));
        }
        return most;
    }

    // w at the minimum of the model with this gradient at w.
    void minimise(std::vector<double>& gradient) {
        std::size_t const p = data_.p;
        for (int round = 0, calm = 0; round < rounds && calm < 2; ++round) {
            bool turned = false;
            for (std::size_t j = 0; j < p; ++j) {
                double const h = data_.G[j * p + j];
                if (h == 0) continue;
                double const next = penalty_.prox(w_[j] - gradient[j] / h, 1.0 / h), step = next - w_[j];
                if (step == 0) continue;
                turned |= (next > 0) != (w_[j] > 0) || (next < 0) != (w_[j] < 0);
                w_[j] = next;
                axpy(step, data_.G.data() + j * p, gradient.data(), p);
            }
            calm = turned ? 0 : calm + 1;
        }
        double top = penalty_.l1, terms = 0;
        for (std::size_t j = 0; j < p; ++j) {
            top = std::max(top, std::abs(gradient[j]));
            terms = std::max(terms, data_.G[j * p + j] * std::abs(w_[j]));
        }
        // Gradients are differences of such terms: where all of them vanish, what is left is rounding.
        Orthants<Penalty> problem(data_.G, penalty_, gradient, w_);
        problem.minimise(std::max(1e-10 * top, 1e-13 * terms));
        for (std::size_t j = 0; j < p; ++j) w_[j] = problem.weight(j);
    }

    DenseTable X_;
    double const *y_, *s_;
    SolveOptions options_;
    Penalty penalty_{};
    Team team_;
    ProductStatistics data_;
    std::vector<double> w_, norm_;
};

}  // namespace tallywise::linear
