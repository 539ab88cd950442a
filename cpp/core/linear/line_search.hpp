// How far a step goes along its direction, and how much to believe of the model that gave it.
#pragma once

#include <algorithm>

namespace tallywise::linear {

// How far to go along a direction of descent: the first t of 1, 1/2, 1/4, ... at which objective(t) is below `before`
// by a share of what the slope at t = 0 promises (Armijo). `rounding` is what the sums behind the objective may be off
// by: a promise below it cannot be checked, and the model that made it is believed. 0 when there is no such t.
template <class Objective>
double backtrack(double before, double slope, double rounding, Objective&& objective) {
    if (!(slope < 0)) return 0;
    for (double t = 1; t > 1e-10; t *= 0.5) {
        if (objective(t) <= before + 1e-4 * t * slope + rounding) return t;
    }
    return 0;
}

// Where probabilities are close to 0 and 1 a quadratic model is all but straight, and its minimum lies far beyond where
// it holds. A share of the curvature that samples have at their most is then added to it, as much as steps ask for
// (Levenberg 1944, Marquardt 1963).
struct Damping {
    double value = 0;

    void learn(double step) {
        if (step < 0.25) value = std::max(10 * value, 1e-4);
        if (step == 1) value = value > 1e-8 ? 0.1 * value : 0.0;
    }
    bool exhausted() const { return value > 1e3; }
};

}  // namespace tallywise::linear
