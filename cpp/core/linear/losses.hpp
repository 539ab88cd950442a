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
// and, for the solvers that it opens,
//   ascend(y, s, q, z, b)  argmin_t  q/2 (t - b)^2 + z t + s l*(y, -t / s),  for a row of squared length q:
//                          coordinate descent in the dual, and with it LinearSVC (binary) or LinearSVR
//   piece(y, s, b)         the parabola that s l*(y, -t / s) is around t = b, and how far: steps of all dual
//                          variables at once
//   hinges, hinge(y, k)    a loss with kinks as a sum of hinges max(0, level - sign z): the interior point
//   bend(y, z)             a loss with straight parts: the curvature of a parabola above l that touches it at z,
//                          positive wherever l falls. Newton's method has no other curvature for such rows
// The domain of l* is an interval around or from 0, so that a dual point may be scaled down.
//
// A loss with a parameter holds it as its only member, and says if it must be `positive`; users call it epsilon. Adding
// a loss: a struct here and its name in the list at the end.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string_view>
#include <type_traits>

#include "core/base/numeric.hpp"
#include "core/base/registry.hpp"

namespace tallywise::linear {

// t log t, continuous at 0.
inline double xlogx(double t) { return t < std::numeric_limits<double>::min() ? 0.0 : t * log_normal(t); }

// max(0, level - sign z)
struct HingeAt {
    double sign, level;
};

// A convex function of t that is a parabola in [low, high], by its derivatives at a point of it: a single point where
// low = high.
struct Piece {
    double low, high, slope, curvature;

    bool inside(double t) const { return low < t && t < high; }
    double nearest(double t) const { return std::min(std::max(t, low), high); }
};

// The dual variables of a label y lie in y [0, most].
inline Piece label_piece(double y, double most, double slope, double curvature) {
    return y > 0 ? Piece{0.0, most, slope, curvature} : Piece{-most, 0.0, slope, curvature};
}

// The same for numbers: epsilon |b| beside a parabola, for b in [-most, most].
inline Piece tube_piece(double b, double epsilon, double most, double slope, double curvature) {
    if (b == 0) return {0.0, 0.0, 0.0, 0.0};
    return label_piece(b, most, slope + std::copysign(epsilon, b), curvature);
}

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
    static Piece piece(double y, double s, double) { return label_piece(y, s, -y, 0.0); }
    static constexpr std::size_t hinges = 1;
    static HingeAt hinge(double y, std::size_t) { return {y, 1.0}; }
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
    static Piece piece(double y, double s, double b) { return label_piece(y, infinity, 0.5 * b / s - y, 0.5 / s); }
};

// l = max(0, 1 - y z)^2 for y z >= -1, -4 y z below: a squared hinge that forgives outliers
struct ModifiedHuber {
    static constexpr std::string_view name = "modified_huber";
    static constexpr double smoothness = 2.0;
    static constexpr bool binary = true;

    static double value(double y, double z) {
        double const m = y * z;
        return m < -1.0 ? -4.0 * m : SquaredHinge::value(y, z);
    }
    static double gradient(double y, double z) { return -y * std::clamp(2.0 * (1.0 - y * z), 0.0, 4.0); }
    static double curvature(double, double z) { return std::abs(z) < 1.0 ? 2.0 : 0.0; }
    static double conjugate(double y, double a) { return -y * a > 4.0 ? infinity : SquaredHinge::conjugate(y, a); }
    static double clip(double y, double a) { return -y * std::clamp(-y * a, 0.0, 4.0); }
    static double ascend(double y, double s, double q, double z, double b) {
        return y * std::min(std::max(y * (q * b + y - z) / (q + 0.5 / s), 0.0), 4.0 * s);
    }
    static Piece piece(double y, double s, double b) { return label_piece(y, 4.0 * s, 0.5 * b / s - y, 0.5 / s); }
    static double bend(double y, double z) {
        double const m = y * z;
        return m < -1.0 ? 4.0 / (1.0 - m) : m < 1.0 ? 2.0 : 0.0;
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
    Piece piece(double y, double s, double b) const { return tube_piece(b, epsilon, s, -y, 0.0); }
    static constexpr std::size_t hinges = 2;
    HingeAt hinge(double y, std::size_t k) const {
        return k == 0 ? HingeAt{1.0, y - epsilon} : HingeAt{-1.0, -(y + epsilon)};
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
    Piece piece(double y, double s, double b) const {
        return tube_piece(b, epsilon, infinity, 0.5 * b / s - y, 0.5 / s);
    }
};

// l = (z - y)^2 / 2 for |z - y| <= epsilon, epsilon |z - y| - epsilon^2 / 2 beyond
struct Huber {
    static constexpr std::string_view name = "huber";
    static constexpr double smoothness = 1.0;
    static constexpr bool binary = false;
    static constexpr bool positive = true;  // at epsilon = 0 it is 0 everywhere
    double epsilon = 1;

    double value(double y, double z) const {
        double const r = std::abs(z - y);
        return r <= epsilon ? 0.5 * r * r : epsilon * (r - 0.5 * epsilon);
    }
    double gradient(double y, double z) const { return clip(y, z - y); }
    double curvature(double y, double z) const { return std::abs(z - y) < epsilon ? 1.0 : 0.0; }
    double conjugate(double y, double a) const { return std::abs(a) > epsilon ? infinity : a * (y + 0.5 * a); }
    double clip(double, double a) const { return std::clamp(a, -epsilon, epsilon); }
    double ascend(double y, double s, double q, double z, double b) const {
        return std::min(std::max((q * b + y - z) / (q + 1.0 / s), -epsilon * s), epsilon * s);
    }
    Piece piece(double y, double s, double b) const { return {-epsilon * s, epsilon * s, b / s - y, 1.0 / s}; }
    double bend(double y, double z) const { return std::min(1.0, epsilon / std::abs(z - y)); }
};

using Losses = Registry<SquaredError, Logistic, Hinge, SquaredHinge, ModifiedHuber, EpsilonInsensitive,
                        SquaredEpsilonInsensitive, Huber>;

template <class Loss>
Loss make_loss(double parameter) {
    if constexpr (requires { Loss{parameter}; }) return Loss{parameter};
    return Loss{};
}

// s l*(y, g / s), whose domain rounding may have left by a hair.
template <class Loss>
double weighted_conjugate(Loss const& loss, double s, double y, double g) {
    return s > 0 ? s * loss.conjugate(y, loss.clip(y, g / s)) : 0.0;
}

template <class Loss>
double bend(Loss const& loss, double y, double z) {
    if constexpr (requires { loss.bend(y, z); }) return loss.bend(y, z);
    return loss.curvature(y, z);
}

// What coordinate descent in the dual takes, and what it takes in the primal: curvature, and nothing to set.
template <class Loss>
using Ascends = std::bool_constant<requires(Loss const loss) { loss.ascend(1.0, 1.0, 1.0, 0.0, 0.0); }>;
template <class Loss>
using Plain = std::bool_constant<(Loss::smoothness < infinity) && std::is_empty_v<Loss>>;

template <class Loss>
using OfLabels = std::bool_constant<Loss::binary>;
template <class Loss>
using OfNumbers = std::bool_constant<!Loss::binary>;

using MarginLosses = Losses::where<Ascends>;
using SmoothLosses = Losses::where<Plain>;

}  // namespace tallywise::linear
