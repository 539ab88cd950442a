// Logistic regression under elastic net: which method suits the penalty and the data.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "core/linear/logistic/class_descent.hpp"
#include "core/linear/logistic/newton_cholesky.hpp"
#include "core/linear/logistic/newton_features.hpp"
#include "core/linear/logistic/newton_samples.hpp"

namespace tallywise {

// Up to here the whole Hessian costs less than the iterations that it saves.
inline bool few_weights(std::size_t n, std::size_t p, std::size_t lanes) {
    auto const weights = static_cast<double>((p + 1) * lanes);
    return weights <= 1200 && static_cast<double>(n) * weights * weights <= 2e9;
}

// By Newton's method, from the rows of X. An L1 penalty only for few weights.
template <class Rows>
ClassSolution newton_logistic(Rows const& X, ClassLoss const& loss, Labels const& labels, ElasticNet const& penalty,
                              SolveOptions options, double const* w0, double const* b0) {
    Team team(options.threads);
    ProfiledLoss F(team, loss, labels, options.fit_intercept, b0);
    bool const none = penalty.l1 == 0 && penalty.l2 == 0;
    if (none || few_weights(X.lines, X.width, F.classes())) {
        std::size_t const weights = (X.width + 1) * F.classes();
        if (weights > 5000) {
            throw std::invalid_argument("Without a penalty at most 5000 weights can be fitted. Got " +
                                        std::to_string(weights) + ". Set C to a finite value.");
        }
        NewtonCholesky<Rows> newton(team, X, F, penalty, options.fit_intercept);
        // Each step doubles the digits, so four more than asked for cost one step. Standard errors want them all.
        options.tol = none ? 0.0 : options.tol * 1e-4;
        ClassSolution found = newton.solve(options, w0);
        if (none) found.covariance = newton.covariance();
        return found;
    }
    LaneDesign<Rows> const design(X);
    if (X.lines < X.width) return NewtonSamples<Rows>(team, design, F, penalty.l2).solve(options, w0);
    return NewtonFeatures<Rows>(team, design, F, penalty.l2, options.fit_intercept).solve(options, w0);
}

// By coordinate descent, from the columns of X.
template <class Columns>
ClassSolution sparse_logistic(Columns const& X, ClassLoss const& loss, Labels const& labels, ElasticNet const& penalty,
                              SolveOptions const& options, double const* w0, double const* b0) {
    Team team(options.threads);
    ProfiledLoss F(team, loss, labels, options.fit_intercept, b0);
    return ClassDescent<Columns>(team, X, F, penalty, options.fit_intercept).solve(options, w0);
}

}  // namespace tallywise
