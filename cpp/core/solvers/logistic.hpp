// Logistic regression under elastic net: which method suits the penalty and the data.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "core/solvers/class_descent.hpp"
#include "core/solvers/newton_cholesky.hpp"
#include "core/solvers/newton_features.hpp"
#include "core/solvers/newton_samples.hpp"

namespace tallywise {

template <class Rows>
ClassSolution ridge_logistic(Rows const& X, ClassLoss const& loss, Labels const& labels, double l2,
                             SolveOptions const& options, double const* w0, double const* b0) {
    Team team(options.threads);
    ProfiledLoss F(team, loss, labels, options.fit_intercept, b0);
    auto const weights = static_cast<double>((X.width + 1) * F.classes());
    // Up to here the whole Hessian costs less than the handful of iterations that it saves.
    bool const few = weights <= 1200 && static_cast<double>(X.lines) * weights * weights <= 2e9;
    if (few || l2 == 0) {
        if (weights > 5000) {
            throw std::invalid_argument("Without a penalty at most 5000 weights can be fitted. Got " +
                                        std::to_string(static_cast<long long>(weights)) + ". Set C to a finite value.");
        }
        NewtonCholesky<Rows> newton(team, X, F, l2, options.fit_intercept);
        ClassSolution found = newton.solve(options, w0);
        if (l2 == 0) found.covariance = newton.covariance();
        return found;
    }
    LaneDesign<Rows> const design(X);
    if (X.lines < X.width) return NewtonSamples<Rows>(team, design, F, l2).solve(options, w0);
    return NewtonFeatures<Rows>(team, design, F, l2, options.fit_intercept).solve(options, w0);
}

template <class Columns>
ClassSolution sparse_logistic(Columns const& X, ClassLoss const& loss, Labels const& labels, ElasticNet const& penalty,
                              SolveOptions const& options, double const* w0, double const* b0) {
    Team team(options.threads);
    ProfiledLoss F(team, loss, labels, options.fit_intercept, b0);
    return ClassDescent<Columns>(team, X, F, penalty, options.fit_intercept).solve(options, w0);
}

}  // namespace tallywise
