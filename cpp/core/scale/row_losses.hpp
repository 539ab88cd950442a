// Losses as sums over rows see them: l(y, z, b) of a target y, scores z (one a lane) and offsets b that are not
// penalised (intercepts, or thresholds). The losses themselves are those of the families' registries.
//
// An entry has
//   lanes, offsets
//   at(y, z, b, p)          l, and the state p (`states` numbers) that the others are written in
//   slope(y, p, s, a, g)    a = s dl/dz, g += s dl/db
//   bend(y, p, s, u, e, r, q)   r = s (l_zz u + l_zb e), q += s (l_bz u + l_bb e)
//   conjugate(y, p)         sup over z and b of <slopes, .> - l, at the slopes that p gives
//   diagonal(y, p, d)       d = the second derivatives by each lane's score
// All of them are jointly convex in z and b.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "core/linear/logistic/softmax.hpp"
#include "core/linear/losses.hpp"
#include "core/linear/ordinal/ordinal.hpp"

namespace tallywise::scale {

// A scalar loss in each lane. With labels, lane k takes y = k for +1 and the rest for -1 (one lane: class 1 is +1);
// with numbers there is one lane.
template <class Loss>
struct ScalarRows {
    Loss loss;
    std::size_t lanes;

    std::size_t offsets() const { return lanes; }
    std::size_t states() const { return lanes; }
    double at(double y, double const* z, double const* b, double* p) const {
        double total = 0;
        for (std::size_t k = 0; k < lanes; ++k) {
            p[k] = z[k] + b[k];
            total += loss.value(target(y, k), p[k]);
        }
        return total;
    }
    void slope(double y, double const* p, double s, double* a, double* g) const {
        for (std::size_t k = 0; k < lanes; ++k) {
            a[k] = s * loss.gradient(target(y, k), p[k]);
            g[k] += a[k];
        }
    }
    void bend(double y, double const* p, double s, double const* u, double const* e, double* r, double* q) const {
        for (std::size_t k = 0; k < lanes; ++k) {
            r[k] = s * linear::bend(loss, target(y, k), p[k]) * (u[k] + e[k]);
            q[k] += r[k];
        }
    }
    double conjugate(double y, double const* p) const {
        double total = 0;
        for (std::size_t k = 0; k < lanes; ++k) {
            double const t = target(y, k);
            total += weighted_conjugate(loss, 1.0, t, loss.gradient(t, p[k]));
        }
        return total;
    }
    void diagonal(double y, double const* p, double* d) const {
        for (std::size_t k = 0; k < lanes; ++k) d[k] = linear::bend(loss, target(y, k), p[k]);
    }

  private:
    double target(double y, std::size_t k) const {
        if constexpr (!Loss::binary) return y;
        return y == static_cast<double>(lanes == 1 ? 1 : k) ? 1.0 : -1.0;
    }
};

// Softmax over the lanes, or the logistic loss of one.
template <class Loss>
struct ClassRows {
    Loss loss;

    std::size_t offsets() const { return loss.lanes; }
    std::size_t states() const { return loss.lanes; }
    double at(double y, double const* z, double const* b, double* p) const {
        for (std::size_t k = 0; k < loss.lanes; ++k) p[k] = z[k] + b[k];
        return loss.value(static_cast<std::size_t>(y), p, p);
    }
    void slope(double y, double const* p, double s, double* a, double* g) const {
        loss.residual(static_cast<std::size_t>(y), p, a);
        for (std::size_t k = 0; k < loss.lanes; ++k) g[k] += a[k] *= s;
    }
    void bend(double, double const* p, double s, double const* u, double const* e, double* r, double* q) const {
        for (std::size_t k = 0; k < loss.lanes; ++k) r[k] = s * (u[k] + e[k]);
        loss.curve(p, r, r);
        for (std::size_t k = 0; k < loss.lanes; ++k) q[k] += r[k];
    }
    double conjugate(double y, double const* p) const { return loss.conjugate(static_cast<std::size_t>(y), p); }
    void diagonal(double, double const* p, double* d) const {
        for (std::size_t k = 0; k < loss.lanes; ++k) d[k] = p[k] * (1.0 - p[k]);
    }
};

// Ordered levels: one score, K - 1 thresholds that must rise.
template <class Link>
struct LevelRows {
    std::size_t thresholds;

    std::size_t offsets() const { return thresholds; }
    std::size_t states() const { return 2; }
    double at(double y, double const* z, double const* t, double* p) const {
        auto const k = static_cast<std::size_t>(y);
        p[0] = k < thresholds ? t[k] - *z : infinity;
        p[1] = k > 0 ? t[k - 1] - *z : -infinity;
        return p[0] > p[1] ? Link::at(p[0], p[1]).value : infinity;
    }
    void slope(double y, double const* p, double s, double* a, double* g) const {
        auto const k = static_cast<std::size_t>(y);
        linear::ordinal::Interval const r = Link::at(p[0], p[1]);
        *a = -s * (r.du + r.dv);
        if (k < thresholds) g[k] += s * r.du;
        if (k > 0) g[k - 1] += s * r.dv;
    }
    void bend(double y, double const* p, double s, double const* u, double const* e, double* out, double* q) const {
        auto const k = static_cast<std::size_t>(y);
        linear::ordinal::Interval const r = Link::at(p[0], p[1]);
        double const mu = (k < thresholds ? e[k] : 0.0) - *u, mv = (k > 0 ? e[k - 1] : 0.0) - *u;
        double const a = r.duu * mu + r.duv * mv, b = r.duv * mu + r.dvv * mv;
        *out = -s * (a + b);
        if (k < thresholds) q[k] += s * a;
        if (k > 0) q[k - 1] += s * b;
    }
    double conjugate(double, double const* p) const {
        linear::ordinal::Interval const r = Link::at(p[0], p[1]);
        return linear::ordinal::interval_conjugate<Link>(r.du, r.dv, p[0], p[1]);
    }
    void diagonal(double, double const* p, double* d) const {
        linear::ordinal::Interval const r = Link::at(p[0], p[1]);
        *d = r.duu + 2 * r.duv + r.dvv;
    }
};

}  // namespace tallywise::scale
