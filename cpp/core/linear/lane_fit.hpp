// Which method suits a loss of scores (offsets.hpp), its penalty and its data.
#pragma once

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

// Whether a hundred products with X (of rows with about equally many entries), enough for a loose tolerance, cost less
// than one Hessian and its factors.
inline bool cheap_products(std::size_t n, std::size_t p, std::size_t entries, std::size_t lanes,
                           ElasticNet const& penalty, double tol) {
    auto const weights = static_cast<double>((p + 1) * lanes), touched = static_cast<double>(entries * lanes);
    double const hessian = touched * touched / (2.0 * static_cast<double>(n)) + weights * weights * weights / 3.0;
    return penalty.l1 == 0 && penalty.l2 > 0 && tol >= 1e-3 && 400.0 * touched < hessian;
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
