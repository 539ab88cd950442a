// What every convex solver of this folder is asked and what it answers.
//
//   minimise  P(w, b) = sum s_i l(y_i, x_i'w + b) + l1 |w|_1 + l2/2 |w|^2,     b unpenalised.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

namespace tallywise {

struct SolveOptions {
    double tol = 1e-4;  // relative duality gap to reach: (primal - dual) / max(|primal|, tiny)
    int max_iter = 100;
    bool fit_intercept = true;
    int threads = 1;
};

// primal and dual are float64 sums over the data as it came: primal - dual bounds the distance to the optimum.
struct Solution {
    std::vector<double> w;
    double b = 0;
    double primal = 0, dual = 0;
    int iterations = 0;
    double distance = 0;  // from a stationary point, in the gradient; where a penalty is not convex, that is the proof
};

// The same for a label among K classes. Both w (feature-major, one row a feature) and b are padded to whole registers:
// see padded() in lanes.hpp.
struct ClassSolution {
    std::vector<double> w, b;
    double primal = 0, dual = 0;
    int iterations = 0;
    double floor = 0;                // a gap that is rounding of the numbers added up, whatever the objective
    std::vector<double> covariance;  // of (feature, lane), intercept last; only where it was asked for

    bool within(double tol) const { return relative_gap() <= tol || primal - dual <= floor; }
    double relative_gap() const {
        double const scale = std::max(std::abs(primal), std::abs(dual));
        return scale > 0 ? std::max(primal - dual, 0.0) / scale : 0.0;
    }
};

}  // namespace tallywise
