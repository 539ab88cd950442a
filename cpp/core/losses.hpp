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
inline double xlogx(double t) { return t > 0 ? t * std::log(t) : 0.0; }

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

using Losses = Registry<SquaredError, Logistic>;

}  // namespace tallywise
