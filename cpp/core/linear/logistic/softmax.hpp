// Losses of a class label: functions l(y, z) of a class y and a vector z with one score a lane.
//
// The scalar losses of losses.hpp take one score; these take K, kept side by side ("lanes"). An entry has
//   lanes               scores a sample: K, or 1 where one score says both classes
//   value(y, z, p)      l(y, z), and the probabilities p that its other functions are written in
//   residual(y, p, a)   a = dl/dz
//   curve(p, u, r)      r = (d2l/dz2) u
//   conjugate(p)        l*(y, a) at the residual a that p gives; depends on p alone
//   shift_free          whether one number added to every score changes nothing
//   mix(y, t, p)        the p whose residual is t times as long, t in [0, 1]: shrinks a dual point, keeps it feasible
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <variant>

#include "core/base/numeric.hpp"
#include "core/linear/losses.hpp"

namespace tallywise {

// l = log sum_k exp z_k - z_y;   p_k = exp z_k / sum_m exp z_m
struct Softmax {
    static constexpr bool shift_free = true;
    std::size_t lanes;

    double value(std::size_t y, double const* z, double* p) const {
        double top = z[0];
        for (std::size_t k = 1; k < lanes; ++k) top = std::max(top, z[k]);
        double total = 0;
        for (std::size_t k = 0; k < lanes; ++k) p[k] = exp(z[k] - top);
        for (std::size_t k = 0; k < lanes; ++k) total += p[k];
        double const scale = 1.0 / total, zy = z[y];
        for (std::size_t k = 0; k < lanes; ++k) p[k] *= scale;
        return std::log(total) + (top - zy);
    }
    void residual(std::size_t y, double const* p, double* a) const {
        std::copy(p, p + lanes, a);
        // 1 - p_y is the sum of the others: exact where p_y rounds to 1.
        double others = 0;
        for (std::size_t k = 0; k < lanes; ++k) others += k == y ? 0.0 : p[k];
        a[y] = -others;
    }
    template <class T>
    void curve(T const* p, T const* u, T* r) const {
        T mean = 0;
        for (std::size_t k = 0; k < lanes; ++k) mean += p[k] * u[k];
        for (std::size_t k = 0; k < lanes; ++k) r[k] = p[k] * (u[k] - mean);
    }
    double conjugate(double const* p) const {
        double total = 0;
        for (std::size_t k = 0; k < lanes; ++k) total += xlogx(p[k]);
        return total;
    }
    void mix(std::size_t y, double t, double* p) const {
        for (std::size_t k = 0; k < lanes; ++k) p[k] *= t;
        p[y] += 1.0 - t;
    }
};

// l = log(1 + exp z) - y z, y in {0, 1}: softmax over (0, z);   p = 1 / (1 + exp -z)
struct BinaryLogistic {
    static constexpr bool shift_free = false;
    static constexpr std::size_t lanes = 1;

    double value(std::size_t y, double const* z, double* p) const {
        double const e = exp(-std::abs(*z));
        *p = (*z >= 0 ? 1.0 : e) / (1.0 + e);
        double const against = (y == 1 ? -1.0 : 1.0) * *z;
        return log1p(e) + (against > 0 ? against : 0.0);
    }
    void residual(std::size_t y, double const* p, double* a) const { *a = y == 1 ? *p - 1.0 : *p; }
    template <class T>
    void curve(T const* p, T const* u, T* r) const {
        *r = *p * (T(1) - *p) * *u;
    }
    double conjugate(double const* p) const { return xlogx(*p) + xlogx(1.0 - *p); }
    void mix(std::size_t y, double t, double* p) const { *p = *p * t + (y == 1 ? 1.0 - t : 0.0); }
};

// l = log(1 + sum_k exp z_k) - z_y: softmax over (0, z), the class `lanes` being the one whose score is held at 0.
struct BaselineSoftmax {
    static constexpr bool shift_free = false;
    std::size_t lanes;

    double value(std::size_t y, double const* z, double* p) const {
        double top = 0;
        for (std::size_t k = 0; k < lanes; ++k) top = std::max(top, z[k]);
        double total = exp(-top);
        for (std::size_t k = 0; k < lanes; ++k) p[k] = exp(z[k] - top);
        for (std::size_t k = 0; k < lanes; ++k) total += p[k];
        double const scale = 1.0 / total, zy = y < lanes ? z[y] : 0.0;
        for (std::size_t k = 0; k < lanes; ++k) p[k] *= scale;
        return std::log(total) + (top - zy);
    }
    void residual(std::size_t y, double const* p, double* a) const {
        std::copy(p, p + lanes, a);
        if (y < lanes) a[y] -= 1.0;
    }
    template <class T>
    void curve(T const* p, T const* u, T* r) const {
        Softmax{lanes}.curve(p, u, r);
    }
    double conjugate(double const* p) const {
        double total = 0, rest = 1;
        for (std::size_t k = 0; k < lanes; ++k) {
            total += xlogx(p[k]);
            rest -= p[k];
        }
        return total + xlogx(std::max(rest, 0.0));
    }
    void mix(std::size_t y, double t, double* p) const {
        for (std::size_t k = 0; k < lanes; ++k) p[k] *= t;
        if (y < lanes) p[y] += 1.0 - t;
    }
};

using ClassLoss = std::variant<Softmax, BaselineSoftmax, BinaryLogistic>;

}  // namespace tallywise
