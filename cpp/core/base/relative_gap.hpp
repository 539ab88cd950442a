// What `tol` is compared with, as Certificate.relative_gap in Python.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

namespace tallywise {

// The duality gap over the size of the objective; infinite where there is no bound: a value that is infinite or NaN.
inline double relative_gap(double primal, double dual) {
    if (!std::isfinite(primal) || !std::isfinite(dual)) return std::numeric_limits<double>::infinity();
    double const scale = std::max(std::abs(primal), std::abs(dual));
    return scale > 0 ? std::max(primal - dual, 0.0) / scale : 0.0;
}

}  // namespace tallywise
