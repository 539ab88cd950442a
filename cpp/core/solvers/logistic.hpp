// Logistic regression with an L2 penalty or none: which Newton method suits the data.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "core/solvers/newton_cholesky.hpp"
#include "core/solvers/newton_features.hpp"
#include "core/solvers/newton_samples.hpp"

namespace tallywise {

template <class Loss, class Rows>
ClassSolution ridge_logistic(Rows const& X, Loss const& loss, Labels const& labels, double l2,
                             SolveOptions const& options, double const* w0, double const* b0) {
    Team team(options.threads);
    ProfiledLoss<Loss> F(team, loss, labels, options.fit_intercept, b0);
    auto const weights = static_cast<double>((X.width + 1) * loss.lanes);
    // Up to here the whole Hessian costs less than the handful of iterations that it saves.
    bool const few = weights <= 1200 && static_cast<double>(X.lines) * weights * weights <= 2e9;
    if (few || l2 == 0) {
        if (weights > 5000) {
            throw std::invalid_argument("Without a penalty at most 5000 weights can be fitted. Got " +
                                        std::to_string(static_cast<long long>(weights)) + ". Set C to a finite value.");
        }
        return NewtonCholesky<Rows, Loss>(team, X, F, l2, options.fit_intercept).solve(options, w0);
    }
    LaneDesign<Rows> const design(X);
    if (X.lines < X.width) return NewtonSamples<Rows, Loss>(team, design, F, l2).solve(options, w0);
    return NewtonFeatures<Rows, Loss>(team, design, F, l2, options.fit_intercept).solve(options, w0);
}

}  // namespace tallywise
