// The problem behind support vector machines: a quadratic over a box and a plane, its parts, and where to start.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/kernels/points.hpp"

namespace tallywise::kernels {

// minimise 1/2 sum_st b_s b_t K[point_s, point_t] + sum_t linear_t b_t
// subject to lower <= b <= upper, sum_t b_t = 0.
//
// SVC has one variable a sample, y_i alpha_i: linear -y_i, bounds [0, C_i] or [-C_i, 0]. SVR has two, for residuals
// above and below: linear epsilon - y_i on [0, C_i] and -epsilon - y_i on [-C_i, 0], both at the sample's point.
struct BoxProblem {
    Ids point;
    std::vector<double> linear, lower, upper;

    std::size_t size() const { return point.size(); }

    void push(std::uint32_t at, double l, double low, double high) {
        point.push_back(at);
        linear.push_back(l);
        lower.push_back(low);
        upper.push_back(high);
    }
};

// With g the gradient, b is optimal when g_s >= g_t for every s that may rise and t that may fall, s over t.
struct Extremes {
    double least_rising = std::numeric_limits<double>::infinity();
    double most_falling = -std::numeric_limits<double>::infinity();
    double violation() const { return std::max(0.0, most_falling - least_rising); }
};

// How far b is from its optimum, and the intercept there: minus the mean gradient of the variables that may do both, or
// the middle between those that may rise and those that may fall.
struct Optimality {
    double violation = 0, intercept = 0;
};

template <class Gradient>
Optimality optimality(BoxProblem const& problem, std::vector<double> const& beta, Gradient&& gradient) {
    Extremes seen;
    double sum = 0;
    std::size_t free = 0;
    for (std::size_t t = 0; t < problem.size(); ++t) {
        double const g = gradient(t);
        bool const rises = beta[t]<problem.upper[t], falls = beta[t]> problem.lower[t];
        if (rises) seen.least_rising = std::min(seen.least_rising, g);
        if (falls) seen.most_falling = std::max(seen.most_falling, g);
        if (!rises || !falls) continue;
        sum += g;
        ++free;
    }
    bool const up = std::isfinite(seen.least_rising), down = std::isfinite(seen.most_falling);
    if (!up || !down) return {0, up ? -seen.least_rising : down ? -seen.most_falling : 0};
    double const middle = 0.5 * (seen.least_rising + seen.most_falling);
    return {seen.violation(), free > 0 ? -sum / static_cast<double>(free) : -middle};
}

// Some of the variables, and the points that they stand at.
struct Part {
    Ids variables, points;
    BoxProblem problem;
    std::vector<double> beta, f;
};

template <class Wanted>
Part part_of(Points const& points, BoxProblem const& problem, std::vector<double> const& beta, Wanted&& wanted) {
    Part part;
    Ids place(points.size(), 0);
    for (std::size_t t = 0; t < problem.size(); ++t) {
        if (!wanted(t)) continue;
        part.variables.push_back(static_cast<std::uint32_t>(t));
        place[problem.point[t]] = 1;
    }
    for (std::size_t i = 0; i < place.size(); ++i) {
        if (place[i] == 0) continue;
        place[i] = static_cast<std::uint32_t>(part.points.size());
        part.points.push_back(static_cast<std::uint32_t>(i));
    }
    for (auto t : part.variables) {
        part.problem.push(place[problem.point[t]], problem.linear[t], problem.lower[t], problem.upper[t]);
        part.beta.push_back(beta[t]);
    }
    return part;
}

// Takes what is left of the sum from variables that have room, in this order.
inline void balance(BoxProblem const& problem, std::vector<double>& beta, double sum, Ids const& order) {
    for (auto t : order) {
        if (sum == 0) return;
        double const to = std::clamp(beta[t] - sum, problem.lower[t], problem.upper[t]);
        sum += to - beta[t];
        beta[t] = to;
    }
}

}  // namespace tallywise::kernels
