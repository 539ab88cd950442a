// Losses: scalar functions l(y, z) of a target y and a linear score z. No loss ever sees X.
//
// An entry has a name and
//   value(y, z)      l(y, z), convex in z
//   gradient(y, z)   dl/dz (a subgradient where l has a kink)
//   curvature(y, z)  d2l/dz2 (0 at kinks)
//   conjugate(y, a)  sup_z a z - l(y, z), +inf outside its domain; what makes a duality gap
//   clip(y, a)       the nearest a with a finite conjugate
//   smoothness       the largest curvature, inf for losses with kinks
//   binary           whether y is -1 or +1
// and, where coordinate descent in the dual is the way to solve for it,
//   ascend(y, s, q, z, b)  argmin_t  q/2 (t - b)^2 + z t + s l*(y, -t / s),  for a row of squared length q
// A loss with a parameter holds it as its only member. Adding a loss: a struct here and its name in the list at the
// end.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "core/numeric.hpp"
#include "core/registry.hpp"

namespace tallywise {

inline constexpr double infinity = std::numeric_limits<double>::infinity();

// t log t, continuous at 0.
inline double xlogx(double t) { return t < std::numeric_limits<double>::min() ? 0.0 : t * log_normal(t); }

// l = (z - y)^2 / 2
struct SquaredError {
    static constexpr std::string_view name = "squared_error";
    static constexpr double smoothness = 1.0;
    static constexpr bool binary = false;

    static double value(double y, double z) { return 0.5 * (z - y) * (z - y); }
    static double gradient(double y, double z) { return z - y; }
    static double curvature(double, double) { return 1.0; }
    static double conjugate(double y, double a) { return a * (y + 0.5 * a); }
    static double clip(double, double a) { return a; }
};

// l = log(1 + exp(-y z))
struct Logistic {
    static constexpr std::string_view name = "logistic";
    static constexpr double smoothness = 0.25;
    static constexpr bool binary = true;

    static double value(double y, double z) { return softplus(-y * z); }
    static double gradient(double y, double z) { return -y * sigmoid(-y * z); }
    static double curvature(double, double z) {
        double const p = sigmoid(z);
        return p * (1.0 - p);
    }
    static double conjugate(double y, double a) {
        double const t = -y * a;
        return t < 0 || t > 1 ? infinity : xlogx(t) + xlogx(1.0 - t);
    }
    static double clip(double y, double a) { return -y * std::clamp(-y * a, 0.0, 1.0); }
};

// l = max(0, 1 - y z)
struct Hinge {
    static constexpr std::string_view name = "hinge";
    static constexpr double smoothness = infinity;
    static constexpr bool binary = true;

    static double value(double y, double z) { return std::max(0.0, 1.0 - y * z); }
    static double gradient(double y, double z) { return y * z < 1.0 ? -y : 0.0; }
    static double curvature(double, double) { return 0.0; }
    static double conjugate(double y, double a) {
        double const t = -y * a;
        return t < 0 || t > 1 ? infinity : -t;
    }
    static double clip(double y, double a) { return -y * std::clamp(-y * a, 0.0, 1.0); }
    static double ascend(double y, double s, double q, double z, double b) {
        return y * std::min(std::max(y * (b + (y - z) / q), 0.0), s);
    }
};

// l = max(0, 1 - y z)^2
struct SquaredHinge {
    static constexpr std::string_view name = "squared_hinge";
    static constexpr double smoothness = 2.0;
    static constexpr bool binary = true;

    static double value(double y, double z) {
        double const m = std::max(0.0, 1.0 - y * z);
        return m * m;
    }
    static double gradient(double y, double z) { return -2.0 * y * std::max(0.0, 1.0 - y * z); }
    static double curvature(double y, double z) { return y * z < 1.0 ? 2.0 : 0.0; }
    static double conjugate(double y, double a) {
        double const t = -y * a;
        return t < 0 ? infinity : t * (0.25 * t - 1.0);
    }
    static double clip(double y, double a) { return -y * std::max(-y * a, 0.0); }
    static double ascend(double y, double s, double q, double z, double b) {
        return y * std::max(y * (q * b + y - z) / (q + 0.5 / s), 0.0);
    }
};

// The part of r beyond e, towards 0: sign(r) max(|r| - e, 0).
inline double beyond(double r, double e) { return r - std::min(std::max(r, -e), e); }

// l = max(0, |z - y| - epsilon)
struct EpsilonInsensitive {
    static constexpr std::string_view name = "epsilon_insensitive";
    static constexpr double smoothness = infinity;
    static constexpr bool binary = false;
    double epsilon = 0;

    double value(double y, double z) const { return std::abs(beyond(z - y, epsilon)); }
    double gradient(double y, double z) const {
        double const r = beyond(z - y, epsilon);
        return r == 0 ? 0.0 : std::copysign(1.0, r);
    }
    double curvature(double, double) const { return 0.0; }
    double conjugate(double y, double a) const { return std::abs(a) > 1 ? infinity : a * y + epsilon * std::abs(a); }
    double clip(double, double a) const { return std::clamp(a, -1.0, 1.0); }
    double ascend(double y, double s, double q, double z, double b) const {
        return std::min(std::max(beyond(q * b + y - z, epsilon) / q, -s), s);
    }
};

// l = max(0, |z - y| - epsilon)^2
struct SquaredEpsilonInsensitive {
    static constexpr std::string_view name = "squared_epsilon_insensitive";
    static constexpr double smoothness = 2.0;
    static constexpr bool binary = false;
    double epsilon = 0;

    double value(double y, double z) const {
        double const r = beyond(z - y, epsilon);
        return r * r;
    }
    double gradient(double y, double z) const { return 2.0 * beyond(z - y, epsilon); }
    double curvature(double y, double z) const { return beyond(z - y, epsilon) == 0 ? 0.0 : 2.0; }
    double conjugate(double y, double a) const { return a * y + epsilon * std::abs(a) + 0.25 * a * a; }
    double clip(double, double a) const { return a; }
    double ascend(double y, double s, double q, double z, double b) const {
        return beyond(q * b + y - z, epsilon) / (q + 0.5 / s);
    }
};

using Losses = Registry<SquaredError, Logistic, Hinge, SquaredHinge, EpsilonInsensitive, SquaredEpsilonInsensitive>;

// For solvers that build on curvature, and for those that ascend in the dual.
using SmoothLosses = Registry<SquaredError, Logistic, SquaredHinge>;
using MarginLosses = Registry<Hinge, SquaredHinge, EpsilonInsensitive, SquaredEpsilonInsensitive>;

}  // namespace tallywise
