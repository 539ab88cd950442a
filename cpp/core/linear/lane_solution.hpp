// What solvers of several scores per sample answer.
#pragma once

#include <vector>

#include "core/base/relative_gap.hpp"
#include "core/linear/solution.hpp"

namespace tallywise::linear {

// A Solution for K scores a sample. w is feature-major, one row a feature, padded to whole registers: see padded() in
// lanes.hpp. The offsets are numbers without a penalty: intercepts or thresholds.
struct LaneSolution {
    std::vector<double> w, offsets;
    double primal = 0, dual = 0;
    int iterations = 0;
    double floor = 0;                // a gap that is rounding of the numbers added up, whatever the objective
    std::vector<double> covariance;  // of (feature, lane), offsets last; only where it was asked for

    bool within(double tol) const { return relative_gap() <= tol || primal - dual <= floor; }
    double relative_gap() const { return tallywise::relative_gap(primal, dual); }
};

}  // namespace tallywise::linear
