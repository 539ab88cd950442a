// Least mean squares: gradient descent on J(w) = 1/2 sum_i s_i (y_i - x_i'w)^2, with the way it took.
//
//   batch        w += step X's(y - Xw)             converges for step < 2 / lambda, lambda the largest eigenvalue of
//   X'sX stochastic   w += step s_i (y_i - x_i'w) x_i   for rows in random order; a step below 2 / (s_i |x_i|^2) never
//                                                  overshoots the row it is taken for
//
// A step of 0 asks for the safe one: 1 / lambda, or 1 / max s_i |x_i|^2. Widrow, Hoff (1960).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "core/base/interrupt.hpp"
#include "core/base/parallel.hpp"
#include "core/data/design.hpp"
#include "core/data/row_ids.hpp"
#include "core/data/row_lanes.hpp"
#include "core/linear/distinct_rows.hpp"

namespace tallywise::linear::online {

struct DescentOptions {
    bool stochastic = false;
    double step = 0, tol = 1e-6;
    int max_iter = 1000, record = 1;  // record: iterations between two points of the path
    std::uint64_t seed = 0;
    int threads = 1;
};

struct Descent {
    std::vector<double> path, losses;  // points of the path, the first and the last included, and J there
    double step = 0;
    int iterations = 0;
    bool diverged = false, settled = false;  // settled: the loss no longer falls
};

template <class Rows>
class LeastMeanSquares {
  public:
    LeastMeanSquares(Rows const& X, double const* y, double const* s, DescentOptions const& options)
        : X_(X),
          y_(y),
          s_(s),
          options_(options),
          team_(options.threads),
          random_{options.seed},
          every_(options.record) {}

    Descent walk(double const* start) {
        Descent found;
        std::vector<double> w(start, start + X_.width), gradient(X_.width);
        found.step = options_.step > 0 ? options_.step : safe_step();
        require_row_ids(X_.lines);
        std::vector<std::uint32_t> order(X_.lines);
        std::iota(order.begin(), order.end(), 0u);
        double loss = slope(w, gradient);
        double const first = loss;
        record(found, w, loss);
        for (found.iterations = 0; found.iterations < options_.max_iter;) {
            check_interrupt();
            double const before = loss;
            if (options_.stochastic) {
                pass(w, order, found.step);
            } else {
                axpy(found.step, gradient.data(), w.data(), w.size());
            }
            loss = slope(w, gradient);
            ++found.iterations;
            found.diverged = !(loss <= 1e6 * first + 1e-300);
            // Of a perfect fit the loss falls until it is all rounding: 1e-12 of the first loss counts as nothing left.
            found.settled = std::abs(before - loss) <= options_.tol * std::max(loss, 1e-12 * first);
            bool const last = found.diverged || found.settled || found.iterations == options_.max_iter;
            if (last || found.iterations % every_ == 0) record(found, w, loss);
            if (last) break;
        }
        return found;
    }

  private:
    // J(w), and minus its gradient.
    double slope(std::vector<double> const& w, std::vector<double>& gradient) {
        std::size_t const p = X_.width, grain = std::max<std::size_t>(256, (X_.lines + 15) / 16);
        std::vector<double> parts(Team::count(X_.lines, grain) * (p + 1), 0.0);
        team_.each_range(X_.lines, grain, [&](std::size_t begin, std::size_t end, std::size_t chunk) {
            double* part = parts.data() + chunk * (p + 1);
            for (std::size_t i = begin; i < end; ++i) {
                double const r = y_[i] - X_.dot(i, w.data());
                part[p] += 0.5 * s_[i] * r * r;
                X_.axpy(i, s_[i] * r, part);
            }
        });
        std::fill(gradient.begin(), gradient.end(), 0.0);
        double loss = 0;
        for (std::size_t c = 0; c < parts.size(); ++c) (c % (p + 1) < p ? gradient[c % (p + 1)] : loss) += parts[c];
        return loss;
    }

    void pass(std::vector<double>& w, std::vector<std::uint32_t>& order, double step) {
        random_.shuffle(order);
        for (std::uint32_t const i : order) X_.axpy(i, step * s_[i] * (y_[i] - X_.dot(i, w.data())), w.data());
    }

    double safe_step() {
        if (options_.stochastic) {
            double top = 0;
            std::vector<double> const q = squared_lengths(X_, 0.0);
            for (std::size_t i = 0; i < X_.lines; ++i) top = std::max(top, s_[i] * q[i]);
            return top > 0 ? 1.0 / top : 1.0;
        }
        // Power iteration; its estimate is from below, hence the last hundredth.
        std::vector<double> v(X_.width), next(X_.width);
        for (double& x : v) x = 1.0 + static_cast<double>(random_.below(1000)) * 1e-3;
        double lambda = 0;
        for (int round = 0; round < 500; ++round) {
            double const length = std::sqrt(dot(v.data(), v.data(), v.size()));
            if (!(length > 0)) return 1.0;
            for (double& x : v) x /= length;
            std::fill(next.begin(), next.end(), 0.0);
            for (std::size_t i = 0; i < X_.lines; ++i) X_.axpy(i, s_[i] * X_.dot(i, v.data()), next.data());
            double const last = lambda;
            lambda = dot(v.data(), next.data(), v.size());
            v = next;
            if (std::abs(lambda - last) <= 1e-4 * lambda) break;
        }
        return lambda > 0 ? 0.99 / lambda : 1.0;
    }

    // A path of 128 MB gives up every second point, and goes on at half the rate.
    void record(Descent& found, std::vector<double> const& w, double loss) {
        std::size_t const p = w.size();
        if (found.path.size() + p > (std::size_t{1} << 24) && found.losses.size() > 2) {
            std::size_t kept = 0;
            for (std::size_t k = 0; k < found.losses.size(); k += 2, ++kept) {
                std::copy_n(found.path.begin() + static_cast<std::ptrdiff_t>(k * p), p,
                            found.path.begin() + static_cast<std::ptrdiff_t>(kept * p));
                found.losses[kept] = found.losses[k];
            }
            found.path.resize(kept * p);
            found.losses.resize(kept);
            every_ *= 2;
        }
        found.path.insert(found.path.end(), w.begin(), w.end());
        found.losses.push_back(loss);
    }

    Rows const& X_;
    double const *y_, *s_;
    DescentOptions options_;
    Team team_;
    SplitMix random_;
    int every_;  // iterations between two points of the path
};

inline Descent descend_squares(Design const& X, double const* y, double const* s, double const* start,
                               DescentOptions const& options) {
    return visit_real(X, [&](auto const& rows) {
        return LeastMeanSquares<std::remove_cvref_t<decltype(rows)>>(rows, y, s, options).walk(start);
    });
}

}  // namespace tallywise::linear::online
