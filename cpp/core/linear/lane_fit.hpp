// Which method suits a loss of scores (offsets.hpp), its penalty and its data.
#pragma once

#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <string>

#include "core/linear/lane_descent.hpp"
#include "core/linear/newton_cholesky.hpp"
#include "core/linear/newton_features.hpp"
#include "core/linear/newton_samples.hpp"

namespace tallywise::linear {

// Whether the whole Hessian of a fit to X, n x p, costs less than the iterations that it saves. Under an L1 penalty
// those are rounds over the columns, which correlated columns make many.
inline bool few_weights(std::size_t n, std::size_t p, std::size_t lanes, ElasticNet const& penalty) {
    auto const weights = static_cast<double>((p + 1) * lanes);
    return weights <= 1200 && static_cast<double>(n) * weights * weights <= (penalty.l1 > 0 ? 2e10 : 2e9);
}

// Predicted multiply-adds of one of Newton's steps on X, n x p of so many entries, by the whole Hessian and its factor.
inline double hessian_work(std::size_t n, std::size_t p, std::size_t entries, std::size_t lanes) {
    auto const weights = static_cast<double>((p + 1) * lanes), touched = static_cast<double>(entries * lanes);
    return touched * touched / (2.0 * static_cast<double>(n)) + weights * weights * weights / 3.0;
}

// The same by conjugate gradients. Each iteration is two products with X, which run at half the rate of tiles. Their
// number grows with the digits asked for; dense X has blocks as preconditioner, sparse X a diagonal.
inline double products_work(std::size_t n, std::size_t p, std::size_t entries, std::size_t lanes, double tol) {
    bool const dense = entries == n * p;
    double const rounds = (dense ? 1.5 : 6.0) * std::log10(1.0 / tol);
    return rounds * 4.0 * static_cast<double>(entries * lanes);
}

// Whether conjugate gradients are the cheaper way to a fit that the Hessian could do. Small fits, 0.1 ms a step, rather
// have all digits than a few microseconds; and in float products do not reach far below a gap of 1e-6.
inline bool cheap_products(std::size_t n, std::size_t p, std::size_t entries, std::size_t lanes,
                           ElasticNet const& penalty, double tol) {
    double const hessian = hessian_work(n, p, entries, lanes);
    return penalty.l1 == 0 && penalty.l2 > 0 && tol >= 1e-6 && hessian > 1e6 &&
           products_work(n, p, entries, lanes, tol) < hessian;
}

// By Newton's method, from the rows of X. An L1 penalty only for few weights, a covariance only without a penalty.
template <class Rows, class Loss>
LaneSolution fit_rows(Team& team, Rows const& X, Loss& F, ElasticNet const& penalty, SolveOptions options,
                      double const* w0, bool covariance) {
    bool const none = penalty.l1 == 0 && penalty.l2 == 0;
    if (none || (few_weights(X.lines, X.width, F.lanes(), penalty) &&
                 !cheap_products(X.lines, X.width, X.nonzeros(), F.lanes(), penalty, options.tol))) {
        std::size_t const weights = (X.width + 1) * F.lanes();
        if (weights > 5000) {
            throw std::invalid_argument("Without a penalty at most 5000 weights can be fitted. Got " +
                                        std::to_string(weights) + ". Set a penalty.");
        }
        NewtonCholesky<Rows, Loss> newton(team, X, F, penalty);
        // Each step doubles the digits, so four more than asked for cost one step. Standard errors want them all.
        options.tol = none ? 0.0 : options.tol * (penalty.l1 > 0 ? 1e-2 : 1e-4);
        LaneSolution found = newton.solve(options, w0);
        if (none && covariance) found.covariance = newton.covariance();
        return found;
    }
    if (X.lines < X.width) {
        SampleProducts<Rows> products(team, X, F.stride());
        return NewtonSamples<Rows, Loss>(team, products, F, penalty.l2).solve(options, w0);
    }
    LaneDesign<Rows> const design(X);
    return NewtonFeatures<Rows, Loss>(team, design, F, penalty.l2).solve(options, w0);
}

// By coordinate descent, from the columns of X.
template <class Columns, class Loss>
LaneSolution fit_columns(Team& team, Columns const& X, Loss& F, ElasticNet const& penalty, SolveOptions const& options,
                         double const* w0) {
    return LaneDescent<Columns, Loss>(team, X, F, penalty).solve(options, w0);
}

}  // namespace tallywise::linear
