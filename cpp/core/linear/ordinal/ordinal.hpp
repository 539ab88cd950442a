// Losses of ordered levels 0 < 1 < ... < K - 1, cut out of a line by thresholds t_0 < ... < t_{K-2}:
//
//   P(y = k | z) = F(t_k - z) - F(t_{k-1} - z),   t_{-1} = -inf,  t_{K-1} = +inf,   loss = -log P(y | z).
//
// They are functions of the two ends u = t_y - z and v = t_{y-1} - z, jointly convex for the three links below, and
// never see X. McCullagh (1980), Regression models for ordinal data.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <string_view>
#include <variant>

#include "core/base/numeric.hpp"
#include "core/base/registry.hpp"
#include "core/linear/losses.hpp"

namespace tallywise::linear::ordinal {

// -log(F(u) - F(v)) and its derivatives. An infinite end has derivatives 0.
struct Interval {
    double value = 0, du = 0, dv = 0, duu = 0, duv = 0, dvv = 0;
};

// F(t) = 1 / (1 + exp(-t)). Then F(u) - F(v) = (1 - exp(v - u)) F(u) F(-v): no difference of nearly equal numbers.
struct Logit {
    static constexpr std::string_view name = "logit";

    static double cdf(double t) { return sigmoid(t); }
    static double quantile(double p) { return std::log(p) - std::log1p(-p); }
    static Interval at(double u, double v) {
        double const width = u - v, e = 1.0 / std::expm1(width);  // 0 when an end is infinite
        double const above = sigmoid(-u), below = sigmoid(v), bend = e * (1.0 + e);
        Interval r;
        r.value = (u < infinity ? softplus(-u) : 0.0) + (v > -infinity ? softplus(v) : 0.0) -
                  (width < infinity ? std::log(-std::expm1(-width)) : 0.0);
        r.du = -e - above;
        r.dv = e + below;
        r.duu = bend + above * (1.0 - above);
        r.dvv = bend + below * (1.0 - below);
        r.duv = -bend;
        return r;
    }
};

// F(t) = Phi(t), the normal distribution.
struct Probit {
    static constexpr std::string_view name = "probit";

    static double cdf(double t) { return 0.5 * std::erfc(-t * (std::numbers::sqrt2 / 2)); }
    // Acklam's rational approximation (1e-9) would do for a start; Newton on the exact function is shorter.
    static double quantile(double p) {
        double t = 0;
        for (int step = 0; step < 60; ++step) {
            double const off = std::clamp((cdf(t) - p) / std::exp(log_density(t)), -1.0, 1.0);
            t -= off;
            if (std::abs(off) < 1e-12) break;
        }
        return t;
    }
    static Interval at(double u, double v) {
        // In the left half, where Phi keeps its relative precision.
        if (u + v > 0) {
            Interval const m = at(-v, -u);
            return {m.value, -m.dv, -m.du, m.dvv, m.duv, m.duu};
        }
        double const top = log_cdf(u), log_p = v > -infinity ? top + std::log1p(-std::exp(log_cdf(v) - top)) : top;
        double const fu = u < infinity ? std::exp(log_density(u) - log_p) : 0.0;
        double const fv = v > -infinity ? std::exp(log_density(v) - log_p) : 0.0;
        Interval r;
        r.value = -log_p;
        r.du = -fu;
        r.dv = fv;
        r.duu = fu > 0 ? fu * (u + fu) : 0.0;
        r.dvv = fv > 0 ? fv * (fv - v) : 0.0;
        r.duv = -fu * fv;
        return r;
    }

  private:
    static double log_density(double t) { return -0.5 * t * t - 0.91893853320467274178; }
    // log Phi(t); below -30, where erfc comes near underflow, by the asymptotic series of the tail.
    static double log_cdf(double t) {
        if (t > -30) return std::log(cdf(t));
        double const q = 1.0 / (t * t);
        return log_density(t) - std::log(-t) + std::log1p(-q * (1.0 - 3.0 * q * (1.0 - 5.0 * q)));
    }
};

// F(t) = 1 - exp(-exp(t)), so that F(u) - F(v) = exp(-b) (1 - exp(b - a)) with a = exp(u), b = exp(v): grouped
// proportional hazards.
struct Cloglog {
    static constexpr std::string_view name = "cloglog";

    static double cdf(double t) { return -std::expm1(-std::exp(t)); }
    static double quantile(double p) { return std::log(-std::log1p(-p)); }
    static Interval at(double u, double v) {
        // Beyond 50 the upper end is at infinity for double; beyond 300 the lower end's square would overflow.
        bool const top = u > 50;
        double const a = top ? 0.0 : std::exp(u), b = std::exp(std::min(v, 300.0));
        double const width = top ? infinity : b > 0 ? b * std::expm1(u - v) : a;
        double const q = 1.0 / std::expm1(width), bend = q * (1.0 + q);
        Interval r;
        r.value = b - (top ? 0.0 : std::log(-std::expm1(-width)));
        r.du = -q * a;
        r.dv = b * (1.0 + q);
        r.duu = a * (bend * a - q);
        r.dvv = b * (1.0 + q + bend * b);
        r.duv = -bend * a * b;
        return r;
    }
};

using OrdinalLinks = Registry<Logit, Probit, Cloglog>;
using OrdinalLink = std::variant<Logit, Probit, Cloglog>;

inline OrdinalLink ordinal_link(std::string_view name) {
    return OrdinalLinks::visit("link", name, []<class Link>() { return OrdinalLink{Link{}}; });
}

namespace detail {

// sup a u + b v - loss(u, v) over the ends that are finite, by Newton's method from (u, v). +inf when it does not
// arrive.
template <class Link>
double interval_conjugate_from(double a, double b, double u, double v) {
    bool const upper = std::isfinite(u), lower = std::isfinite(v);
    for (int step = 0; step < 100; ++step) {
        Interval const r = Link::at(u, v);
        double const gu = upper ? r.du - a : 0.0, gv = lower ? r.dv - b : 0.0;
        double const huu = upper ? r.duu : 1.0, hvv = lower ? r.dvv : 1.0, huv = upper && lower ? r.duv : 0.0;
        double const det = huu * hvv - huv * huv;
        if (!(det > 0)) return infinity;
        double su = (hvv * gu - huv * gv) / det, sv = (huu * gv - huv * gu) / det;
        double const decrement = gu * su + gv * sv;
        if (decrement <= 1e-24 * (1.0 + std::abs(r.value))) {
            return (upper ? a * u : 0.0) + (lower ? b * v : 0.0) - r.value + 0.5 * decrement;
        }
        // A convex function with such a barrier lets Newton in after a step damped by 1 / (1 + lambda).
        double const damp = decrement > 0.04 ? 1.0 / (1.0 + std::sqrt(decrement)) : 1.0;
        double shrink = damp;
        while (upper && lower && shrink > 1e-12 && !(u - shrink * su > v - shrink * sv)) shrink *= 0.5;
        if (!(shrink > 1e-12) || !std::isfinite(decrement)) return infinity;
        if (upper) u -= shrink * su;
        if (lower) v -= shrink * sv;
    }
    return infinity;
}

}  // namespace detail

// sup_{u, v} a u + b v - loss(u, v), given a point (u, v) whose derivatives are near (a, b). +inf when (a, b) is not in
// the domain, or too close to its edge to tell.
template <class Link>
double interval_conjugate(double a, double b, double u, double v) {
    // An end whose derivatives have underflown is at infinity for all that can be told.
    Interval const start = Link::at(u, v);
    bool const upper = std::isfinite(u) && (a != 0 || start.duu != 0);
    bool const lower = std::isfinite(v) && (b != 0 || start.dvv != 0);
    if (!upper && !lower) return 0;
    if (!upper) u = infinity;
    if (!lower) v = -infinity;
    double const found = detail::interval_conjugate_from<Link>(a, b, u, v);
    if (found < infinity) return found;
    // Far out the loss is all but straight, and Newton's method has no hold on it: once more from the middle.
    double const half = upper && lower ? std::min(0.5 * (u - v), 1.0) : 0.0;
    return detail::interval_conjugate_from<Link>(a, b, upper ? half : infinity, lower ? -half : -infinity);
}

}  // namespace tallywise::linear::ordinal
