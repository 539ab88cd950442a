// Ridge regression by conjugate gradients.
//
//   minimise  P(w, b) = 1/2 sum s_i (x_i'w + b - y_i)^2 + l2/2 |w|^2,   l2 > 0
//
// given X by rows and by columns. The intercept is profiled out: products with X are followed by taking off the
// weighted mean, so sparse X is never centred.
//
// In the space of features, where there are no more of them than samples: preconditioned by the diagonal of the Hessian.
// With b at its best, the residual r gives a feasible dual point s r, and the duality gap is |gradient|^2 / (2 l2) by
// Fenchel and Young, so conjugate gradients know their gap at every step for nothing.
//
// In the space of samples, with A = sqrt(s) (X about its mean), w = A'a and (AA' + l2 I) a = sqrt(s) (y about its mean).
// There the gap is half the square of this system's residual, and vectors are as short as X is long (500 x 50,000: 5 ms
// instead of 30). It ends as SciPy's method does, at a residual of tol times that of a = 0, if the gap is within tol.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <stdexcept>
#include <type_traits>
#include <variant>
#include <vector>

#include "core/base/parallel.hpp"
#include "core/base/relative_gap.hpp"
#include "core/data/design.hpp"
#include "core/linear/conjugate_gradients.hpp"
#include "core/linear/solution.hpp"

namespace tallywise::linear::least_squares {

template <class Matrix>
class RidgeSolver {
  public:
    // s may be null (all ones).
    RidgeSolver(Matrix const& rows, Matrix const& columns, double const* s, SolveOptions const& options)
        : rows_(rows), columns_(columns), options_(options), team_(options.threads), s_(rows.lines, 1.0) {
        if (s != nullptr) s_.assign(s, s + rows.lines);
        total_ = std::accumulate(s_.begin(), s_.end(), 0.0);
        diagonal_.resize(columns_.lines);
        each_column([&](std::size_t j) {
            double square = 0, sum = 0;
            columns_.each(j, [&](std::size_t i, auto value) {
                double const x = static_cast<double>(value);
                square += s_[i] * x * x;
                sum += s_[i] * x;
            });
            diagonal_[j] = options_.fit_intercept ? std::max(square - sum / total_ * sum, 0.0) : square;
        });
    }

    Solution solve(double const* y, double l2) { return by_samples() ? solve_samples(y, l2) : solve_features(y, l2); }

  private:
    // Samples where there are fewer of them and either vectors as long as X is wide cost more than products with it, or no
    // column is so much longer than rows are that the preconditioner by features saves iterations. (Words by Zipf's law,
    // 5,000 x 20,000 with 40 a row: 18 ms by features, 36 by samples; 500 x 50,000 with 200: 46 and 7.)
    bool by_samples() const {
        if (rows_.lines >= columns_.lines) return false;
        double const total = std::accumulate(diagonal_.begin(), diagonal_.end(), 0.0);
        double const longest = *std::max_element(diagonal_.begin(), diagonal_.end());
        return rows_.nonzeros() < 4 * columns_.lines || longest <= 8 * total / static_cast<double>(rows_.lines);
    }

    Solution solve_features(double const* y, double l2) {
        std::size_t const n = rows_.lines, p = columns_.lines;
        Solution result;
        std::vector<double>& w = result.w;
        w.assign(p, 0.0);
        std::vector<double> r(n), q(n), gradient(p), direction(p), image(p);
        for (std::size_t i = 0; i < n; ++i) r[i] = -y[i];
        settle(r);
        auto pull_back = [&](std::vector<double> const& v, std::vector<double>& out) {
            for (std::size_t i = 0; i < n; ++i) q[i] = s_[i] * v[i];
            each_column([&](std::size_t j) { out[j] = columns_.dot(j, q.data()); });
        };
        pull_back(r, gradient);
        std::vector<double> inverse(p), z(n);
        for (std::size_t j = 0; j < p; ++j) inverse[j] = 1.0 / (diagonal_[j] + l2);
        double rho = 0, primal = 0;
        for (std::size_t i = 0; i < n; ++i) primal += 0.5 * s_[i] * r[i] * r[i];
        auto const measure = [&] {
            double square = 0;
            rho = 0;
            for (std::size_t j = 0; j < p; ++j) {
                square += gradient[j] * gradient[j];
                rho += gradient[j] * gradient[j] * inverse[j];
            }
            // Further than asked for, which costs two or three steps: SciPy's method also ends well within its tol.
            return relative_gap(primal, primal - 0.5 * square / l2) <= 1e-2 * options_.tol ? 0.0 : rho;
        };
        auto const turn = [&](double beta) {
            for (std::size_t j = 0; j < p; ++j) direction[j] = beta * direction[j] - gradient[j] * inverse[j];
        };
        auto const bend = [&] {
            each_row([&](std::size_t i) { z[i] = rows_.dot(i, direction.data()); });
            settle(z);
            pull_back(z, image);
            double curvature = 0;
            for (std::size_t j = 0; j < p; ++j) {
                image[j] += l2 * direction[j];
                curvature += direction[j] * image[j];
            }
            return curvature;
        };
        auto const step = [&](double alpha) {
            for (std::size_t j = 0; j < p; ++j) {
                w[j] += alpha * direction[j];
                gradient[j] += alpha * image[j];
            }
            for (std::size_t i = 0; i < n; ++i) r[i] += alpha * z[i];
            primal -= 0.5 * alpha * rho;
            return measure();
        };
        turn(0.0);
        result.iterations = conjugate_gradients(measure(), options_.max_iter, bend, step, turn);
        certify(y, l2, result, r, gradient, pull_back);
        return result;
    }

    Solution solve_samples(double const* y, double l2) {
        std::size_t const n = rows_.lines, p = columns_.lines;
        Solution result;
        std::vector<double>& w = result.w;
        w.assign(p, 0.0);
        std::vector<double> target(y, y + n), root(n), a(n, 0.0), d, image(n), u(p), q(n);
        settle(target);
        for (std::size_t i = 0; i < n; ++i) {
            root[i] = std::sqrt(s_[i]);
            target[i] *= root[i];
        }
        // u = A'v
        auto const gather = [&](std::vector<double> const& v, std::vector<double>& to) {
            double sum = 0;
            for (std::size_t i = 0; i < n; ++i) sum += q[i] = root[i] * v[i];
            if (options_.fit_intercept) {
                for (std::size_t i = 0; i < n; ++i) q[i] -= s_[i] * (sum / total_);
            }
            each_column([&](std::size_t j) { to[j] = columns_.dot(j, q.data()); });
        };
        // A u
        auto const scores = [&](std::vector<double> const& from, std::vector<double>& to) {
            each_row([&](std::size_t i) { to[i] = rows_.dot(i, from.data()); });
            double const mean = settle(to);
            for (std::size_t i = 0; i < n; ++i) to[i] *= root[i];
            return mean;
        };
        auto const square = [&](std::vector<double> const& v) {
            double total = 0;
            for (double x : v) total += x * x;
            return total;
        };
        std::vector<double> residual = target;
        double rho = square(residual), dual = 0;
        double const enough = options_.tol * options_.tol * rho;
        d = residual;
        auto const curvature = [&] {
            gather(d, u);
            scores(u, image);
            double along = 0;
            for (std::size_t i = 0; i < n; ++i) {
                image[i] += l2 * d[i];
                along += d[i] * image[i];
            }
            return along;
        };
        auto const step = [&](double alpha) {
            for (std::size_t i = 0; i < n; ++i) {
                a[i] += alpha * d[i];
                residual[i] -= alpha * image[i];
            }
            dual += 0.5 * l2 * alpha * rho;
            rho = square(residual);
            return rho <= enough && relative_gap(dual + 0.5 * rho, dual) <= options_.tol ? 0.0 : rho;
        };
        auto const update = [&](double beta) {
            for (std::size_t i = 0; i < n; ++i) d[i] = residual[i] + beta * d[i];
        };
        result.iterations = conjugate_gradients(rho, options_.max_iter, curvature, step, update);
        // The recurrences drift: everything once more from a itself.
        gather(a, w);
        double const mean = scores(w, image);
        double y_mean = 0;
        if (options_.fit_intercept) {
            for (std::size_t i = 0; i < n; ++i) y_mean += s_[i] * y[i] / total_;
            result.b = y_mean - mean;
        }
        double gap = 0;
        result.primal = 0.5 * l2 * square(w);
        for (std::size_t i = 0; i < n; ++i) {
            double const r = image[i] - target[i];
            result.primal += 0.5 * r * r;
            gap += 0.5 * (r + l2 * a[i]) * (r + l2 * a[i]);
        }
        result.dual = result.primal - gap;
        return result;
    }

    // Takes off the weighted mean, where there is an intercept to do so.
    double settle(std::vector<double>& v) const {
        if (!options_.fit_intercept) return 0;
        double mean = 0;
        for (std::size_t i = 0; i < v.size(); ++i) mean += s_[i] * v[i];
        mean /= total_;
        for (double& value : v) value -= mean;
        return mean;
    }

    // The recurrences drift: intercept, objective and gap once more from w itself.
    template <class F>
    void certify(double const* y, double l2, Solution& result, std::vector<double>& r, std::vector<double>& gradient,
                 F&& pull_back) {
        each_row([&](std::size_t i) { r[i] = rows_.dot(i, result.w.data()) - y[i]; });
        result.b = -settle(r);
        pull_back(r, gradient);
        result.primal = 0;
        double square = 0;
        for (std::size_t i = 0; i < r.size(); ++i) result.primal += 0.5 * s_[i] * r[i] * r[i];
        for (std::size_t j = 0; j < gradient.size(); ++j) {
            result.primal += 0.5 * l2 * result.w[j] * result.w[j];
            square += (gradient[j] + l2 * result.w[j]) * (gradient[j] + l2 * result.w[j]);
        }
        result.dual = result.primal - 0.5 * square / l2;
    }

    // About 32,768 entries a piece.
    std::size_t grain(std::size_t lines) const {
        return std::max<std::size_t>(1, (lines << 15) / (rows_.nonzeros() + 1));
    }

    template <class F>
    void each_column(F&& f) {
        std::size_t const p = columns_.lines;
        team_.each_range(p, grain(p), [&](std::size_t begin, std::size_t end, std::size_t) {
            for (std::size_t j = begin; j < end; ++j) f(j);
        });
    }

    template <class F>
    void each_row(F&& f) {
        std::size_t const n = rows_.lines;
        team_.each_range(n, grain(n), [&](std::size_t begin, std::size_t end, std::size_t) {
            for (std::size_t i = begin; i < end; ++i) f(i);
        });
    }

    Matrix const& rows_;
    Matrix const& columns_;
    SolveOptions options_;
    Team team_;
    std::vector<double> s_, diagonal_;
    double total_ = 0;
};

// One fit for each of `targets` rows of y, with the strength l2 of the same place. Where that is 0 there is no gap to
// speak of, and zeros come back: least squares without a penalty is not solved here.
inline std::vector<Solution> ridge(Design const& rows, Design const& columns, double const* y, double const* s,
                                   double const* l2, std::size_t targets, SolveOptions const& options) {
    Real const other = as_real(columns);
    return visit_real(rows, [&](auto const& by_rows) {
        using Matrix = std::remove_cvref_t<decltype(by_rows)>;
        Matrix const* by_columns = std::get_if<Matrix>(&other.view);
        if (by_columns == nullptr) throw std::invalid_argument("X by rows and by columns must have one type.");
        RidgeSolver<Matrix> solver(by_rows, *by_columns, s, options);
        std::vector<Solution> fits(targets);
        for (std::size_t k = 0; k < targets; ++k) {
            fits[k].w.assign(by_rows.width, 0.0);
            if (l2[k] > 0) fits[k] = solver.solve(y + k * by_rows.lines, l2[k]);
        }
        return fits;
    });
}

}  // namespace tallywise::linear::least_squares
