// Penalties: sums over coordinates of a scalar function p(w). The intercept is never penalised.
//
// An entry has a name, two numbers l1 and l2 (l1 the slope at which p leaves 0) and
//   value(w)         p(w)
//   prox(v, step)    argmin_w (w - v)^2 / 2 + step p(w)
//   conjugate(u)     sup_w u w - p(w), +inf outside its domain
//   pull(g)          how hard a gradient g draws w away from 0, where it stays while pull(g) <= l1
//   distance(w, g)   how far -g is from the subdifferential of p at w: 0 at an optimum with gradient g
//   convex           whether p is l1 |w| + l2/2 w^2 wherever it is finite. Then p* is 0 while the pull is at most l1,
//                    the duality gap closes and is what a solver stops by, and features may be screened by it; other
//                    penalties are solved to a stationary point, by `distance`
//   labels           whether fits of labels are offered under it, too, or fits of numbers only
// Adding a penalty: a struct here and its name in the list at the end.
#pragma once

#include <algorithm>
#include <cmath>
#include <string_view>
#include <type_traits>

#include "core/base/registry.hpp"
#include "core/linear/losses.hpp"

namespace tallywise::linear {

// p = l1 |w| + l2 / 2 w^2
struct ElasticNet {
    static constexpr std::string_view name = "elastic_net";
    static constexpr bool convex = true, labels = true;
    double l1 = 0, l2 = 0;

    double value(double w) const { return l1 * std::abs(w) + 0.5 * l2 * w * w; }
    double prox(double v, double step) const {
        double const shrunk = std::max(std::abs(v) - step * l1, 0.0);
        return std::copysign(shrunk, v) / (1.0 + step * l2);
    }
    double conjugate(double u) const {
        double const excess = std::max(std::abs(u) - l1, 0.0);
        return excess == 0 ? 0.0 : (l2 > 0 ? 0.5 * excess * excess / l2 : infinity);
    }
    static double pull(double g) { return std::abs(g); }
    double distance(double w, double g) const {
        g += l2 * w;
        return w != 0 ? std::abs(g + std::copysign(l1, w)) : std::max(std::abs(g) - l1, 0.0);
    }
};

// p = l1 w + l2 / 2 w^2 for w >= 0, +inf below
struct NonNegative {
    static constexpr std::string_view name = "non_negative";
    static constexpr bool convex = true, labels = false;
    double l1 = 0, l2 = 0;

    double value(double w) const { return w < 0 ? infinity : w * (l1 + 0.5 * l2 * w); }
    double prox(double v, double step) const { return std::max(v - step * l1, 0.0) / (1.0 + step * l2); }
    double conjugate(double u) const {
        double const excess = std::max(u - l1, 0.0);
        return excess == 0 ? 0.0 : (l2 > 0 ? 0.5 * excess * excess / l2 : infinity);
    }
    static double pull(double g) { return std::max(-g, 0.0); }
    double distance(double w, double g) const {
        g += l2 * w + l1;
        return w > 0 ? std::abs(g) : std::max(-g, 0.0);
    }
};

// p = l1 |w| - l2 / 2 w^2 up to |w| = l1 / l2, and flat from there on: large weights are not shrunk
struct MinimaxConcave {
    static constexpr std::string_view name = "minimax_concave";
    static constexpr bool convex = false, labels = false;
    double l1 = 0, l2 = 0;

    bool flat(double w) const { return l2 * std::abs(w) >= l1; }
    double value(double w) const {
        return flat(w) ? (l1 > 0 ? 0.5 * l1 * l1 / l2 : 0.0) : std::abs(w) * (l1 - 0.5 * l2 * std::abs(w));
    }
    double prox(double v, double step) const {
        if (step * l2 >= 1.0) return l2 * v * v > step * l1 * l1 ? v : 0.0;  // nothing between 0 and v is lower
        if (flat(v)) return v;
        return std::copysign(std::max(std::abs(v) - step * l1, 0.0), v) / (1.0 - step * l2);
    }
    double conjugate(double u) const { return u == 0 || (l2 == 0 && std::abs(u) <= l1) ? 0.0 : infinity; }
    static double pull(double g) { return std::abs(g); }
    double distance(double w, double g) const {
        if (w == 0) return std::max(std::abs(g) - l1, 0.0);
        return flat(w) ? std::abs(g) : std::abs(g + std::copysign(l1, w) - l2 * w);
    }
};

using Penalties = Registry<ElasticNet, NonNegative, MinimaxConcave>;

template <class Penalty>
using TakesLabels = std::bool_constant<Penalty::labels>;

// What a loss is offered under.
template <class Loss>
using PenaltiesOf = std::conditional_t<Loss::binary, Penalties::where<TakesLabels>, Penalties>;

}  // namespace tallywise::linear
