// Penalties: sums over coordinates of a scalar function p(w). The intercept is never penalised.
//
// An entry has a name and
//   value(w)         p(w)
//   prox(v, step)    argmin_w (w - v)^2 / 2 + step p(w)
//   conjugate(u)     sup_w u w - p(w), +inf outside its domain
//   pull(g)          how hard a gradient g draws w away from 0, where it stays while pull(g) <= l1
//   distance(w, g)   how far -g is from the subdifferential of p at w: 0 at an optimum with gradient g
// Adding a penalty: a struct here and its name in the list at the end.
#pragma once

#include <algorithm>
#include <cmath>
#include <string_view>

#include "core/losses.hpp"
#include "core/registry.hpp"

namespace tallywise {

// p = l1 |w| + l2 / 2 w^2
struct ElasticNet {
    static constexpr std::string_view name = "elastic_net";
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

using Penalties = Registry<ElasticNet, NonNegative>;

}  // namespace tallywise
