// Losses of a class label: functions l(y, z) of a class y and a vector z with one score a lane.
//
// The scalar losses of losses.hpp take one score; these take K, kept side by side ("lanes"). An entry has
//   lanes               scores a sample: K, or 1 where one score says both classes
//   slots()             numbers p a sample that its other functions are written in
//   shift_free          whether one number added to every score changes nothing
//   value(y, z, p)      l(y, z), and p, which may lie where z does
//   residual(y, p, a)   a = dl/dz
//   curve(p, u, r)      r = (d2l/dz2) u; r may be u
//   curvature(p, k, m)  d2l/dz_k dz_m
//   ahead(y, u, p)      p that scores moved by u would have, to first order; false where that is no probability
//   conjugate(y, p)     l*(y, a) at the residual a that p gives
//   shrink(y, t, p)     the p whose residual is t times as long, t in [0, 1]
//   mix(y, e, r, p)     (1 - e) p + e r for probabilities r of all classes, the one without a lane last
// Probabilities near 1 are never subtracted from 1: what is small is kept, and what is large follows from it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <variant>

#include "core/base/numeric.hpp"
#include "core/linear/losses.hpp"

namespace tallywise::linear::logistic {

// (1 - t) log(1 - t), exact for small t.
inline double complement_xlogx(double t) {
    return t < 0.5 ? (1.0 - t) * std::log1p(-t) : xlogx(std::max(1.0 - t, 0.0));
}

// l = log sum_k exp z_k - z_y;   p_k = exp z_k / sum_m exp z_m
struct Softmax {
    static constexpr bool shift_free = true;
    std::size_t lanes;

    std::size_t slots() const { return lanes; }
    double value(std::size_t y, double const* z, double* p) const {
        double const own = z[y];
        double top = z[0];
        for (std::size_t k = 1; k < lanes; ++k) top = std::max(top, z[k]);
        for (std::size_t k = 0; k < lanes; ++k) p[k] = exp(z[k] - top);
        return normalise(lanes, y, own, top, p);
    }
    void residual(std::size_t y, double const* p, double* a) const {
        std::copy(p, p + lanes, a);
        a[y] = -others(lanes, y, p);
    }
    template <class T>
    void curve(T const* p, T const* u, T* r) const {
        T mean = 0;
        for (std::size_t k = 0; k < lanes; ++k) mean += p[k] * u[k];
        for (std::size_t k = 0; k < lanes; ++k) r[k] = p[k] * (u[k] - mean);
    }
    double curvature(double const* p, std::size_t k, std::size_t m) const {
        return k == m ? p[k] * (1.0 - p[k]) : -p[k] * p[m];
    }
    bool ahead(std::size_t, double const* u, double* p) const {
        double mean = 0;
        bool inside = true;
        for (std::size_t k = 0; k < lanes; ++k) mean += p[k] * u[k];
        for (std::size_t k = 0; k < lanes; ++k) {
            p[k] += p[k] * (u[k] - mean);
            inside = inside && p[k] >= 0;
        }
        return inside;
    }
    double conjugate(std::size_t y, double const* p) const { return entropy(lanes, y, p); }
    void shrink(std::size_t y, double t, double* p) const {
        for (std::size_t k = 0; k < lanes; ++k) p[k] *= t;
        p[y] += 1.0 - t;
    }
    void mix(std::size_t, double e, double const* r, double* p) const { blend(lanes, e, r, p); }

    // Over `slots` classes that p lists in full.
    static double others(std::size_t slots, std::size_t y, double const* p) {
        double total = 0;
        for (std::size_t k = 0; k < slots; ++k) total += k == y ? 0.0 : p[k];
        return total;
    }
    // From p = exp(z - top): probabilities, and the loss.
    static double normalise(std::size_t slots, std::size_t y, double zy, double top, double* p) {
        double const rest = others(slots, y, p), total = rest + p[y], scale = 1.0 / total;
        for (std::size_t k = 0; k < slots; ++k) p[k] *= scale;
        return zy == top ? log1p(rest) : std::log(total) + (top - zy);
    }
    static double entropy(std::size_t slots, std::size_t y, double const* p) {
        double total = 0, rest = 0;
        for (std::size_t k = 0; k < slots; ++k) {
            if (k == y) continue;
            total += xlogx(p[k]);
            rest += p[k];
        }
        return total + complement_xlogx(rest);
    }
    static void blend(std::size_t slots, double e, double const* r, double* p) {
        for (std::size_t k = 0; k < slots; ++k) p[k] += e * (r[k] - p[k]);
    }
};

// l = log(1 + exp z) - y z, y in {0, 1}: softmax over (0, z). p = 1 / (1 + exp(y z)), y as -1 or 1: the probability of
// the other class.
struct BinaryLogistic {
    static constexpr bool shift_free = false;
    static constexpr std::size_t lanes = 1;

    static std::size_t slots() { return 1; }
    double value(std::size_t y, double const* z, double* p) const {
        double const against = (y == 1 ? -1.0 : 1.0) * *z, e = exp(-std::abs(against));
        *p = (against >= 0 ? 1.0 : e) / (1.0 + e);
        return log1p(e) + (against > 0 ? against : 0.0);
    }
    void residual(std::size_t y, double const* p, double* a) const { *a = y == 1 ? -*p : *p; }
    template <class T>
    void curve(T const* p, T const* u, T* r) const {
        *r = *p * (T(1) - *p) * *u;
    }
    double curvature(double const* p, std::size_t, std::size_t) const { return *p * (1.0 - *p); }
    bool ahead(std::size_t y, double const* u, double* p) const {
        *p += (y == 1 ? -1.0 : 1.0) * *p * (1.0 - *p) * *u;
        return *p >= 0 && *p <= 1;
    }
    double conjugate(std::size_t, double const* p) const { return xlogx(*p) + complement_xlogx(*p); }
    void shrink(std::size_t, double t, double* p) const { *p *= t; }
    void mix(std::size_t y, double e, double const* r, double* p) const { *p += e * (r[y] - *p); }
};

// l = log(1 + sum_k exp z_k) - z_y: softmax over (z, 0), the class `lanes` being the one whose score is held at 0.
struct BaselineSoftmax {
    static constexpr bool shift_free = false;
    std::size_t lanes;

    std::size_t slots() const { return lanes + 1; }
    double value(std::size_t y, double const* z, double* p) const {
        double const own = y < lanes ? z[y] : 0.0;
        double top = 0;
        for (std::size_t k = 0; k < lanes; ++k) top = std::max(top, z[k]);
        for (std::size_t k = 0; k < lanes; ++k) p[k] = exp(z[k] - top);
        p[lanes] = exp(-top);
        return Softmax::normalise(slots(), y, own, top, p);
    }
    void residual(std::size_t y, double const* p, double* a) const {
        std::copy(p, p + lanes, a);
        if (y < lanes) a[y] = -Softmax::others(slots(), y, p);
    }
    template <class T>
    void curve(T const* p, T const* u, T* r) const {
        Softmax{lanes}.curve(p, u, r);
    }
    double curvature(double const* p, std::size_t k, std::size_t m) const { return Softmax{lanes}.curvature(p, k, m); }
    bool ahead(std::size_t, double const* u, double* p) const {
        double mean = 0;
        bool inside = true;
        for (std::size_t k = 0; k < lanes; ++k) mean += p[k] * u[k];
        for (std::size_t k = 0; k < slots(); ++k) {
            p[k] += p[k] * ((k < lanes ? u[k] : 0.0) - mean);
            inside = inside && p[k] >= 0;
        }
        return inside;
    }
    double conjugate(std::size_t y, double const* p) const { return Softmax::entropy(slots(), y, p); }
    void shrink(std::size_t y, double t, double* p) const {
        for (std::size_t k = 0; k < slots(); ++k) p[k] *= t;
        p[y] += 1.0 - t;
    }
    void mix(std::size_t, double e, double const* r, double* p) const { Softmax::blend(slots(), e, r, p); }
};

using ClassLoss = std::variant<Softmax, BaselineSoftmax, BinaryLogistic>;

}  // namespace tallywise::linear::logistic
