// A free intercept, which no penalty sees, asks that the dual variables add up to 0. Scaling the heavier sign down
// makes any of them do so and keeps them in the domain of l*, which is an interval around or from 0.
#pragma once

#include <cmath>

namespace tallywise::linear {

struct Balance {
    double positive = 0, negative = 0;  // sums of absolute values

    void add(double v) { (v > 0 ? positive : negative) += std::abs(v); }

    // v as it is once the signs balance.
    double operator()(double v) const {
        double const own = v > 0 ? positive : negative, other = v > 0 ? negative : positive;
        return own > other ? v * (other / own) : v;
    }
};

}  // namespace tallywise::linear
