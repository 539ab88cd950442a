// What every convex solver of this folder is asked and what it answers.
//
//   minimise  P(w, b) = sum s_i l(y_i, x_i'w + b) + l1 |w|_1 + l2/2 |w|^2,     b unpenalised.
#pragma once

#include <vector>

namespace tallywise::linear {

struct SolveOptions {
    double tol = 1e-4;  // relative_gap to reach
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

}  // namespace tallywise::linear
