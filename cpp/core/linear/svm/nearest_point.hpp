// The hard margin: the point of a convex hull that is nearest to the origin, by Wolfe's algorithm.
//
// Without a free intercept the hull is that of the signed points y_i (x_i, entry); a separator through the origin with
// margin g exists exactly when the hull stays g away from it. With a free intercept it is the hull of all differences
// of a positive and a negative point, and the separator stands half way between the two hulls, each g = |v| / 2 away.
//
// If the nearest point v is the origin, the weights that combine it prove that no separator exists. Otherwise v,
// scaled, is the separator, and points with weight are its support vectors. The algorithm is finite: it moves between
// nearest points of affine hulls of affinely independent points, each nearer than the last.
//
// Wolfe, Finding the nearest point in a polytope (Math. Programming 11, 1976).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/base/active_set.hpp"
#include "core/base/interrupt.hpp"
#include "core/base/parallel.hpp"
#include "core/base/relative_gap.hpp"
#include "core/data/design.hpp"
#include "core/linear/losses.hpp"

namespace tallywise::linear::svm {

struct HardMargin {
    bool separable = false;
    std::vector<double> w, combination;  // combination: convex weights of the signed points, nearest to the origin
    double b = 0, primal = 0, dual = 0;
    int iterations = 0;
};

template <class Rows>
class NearestPoint {
  public:
    NearestPoint(Team& team, Rows const& X, double const* y, double entry, bool free_intercept)
        : team_(team),
          X_(X),
          y_(y),
          entry_(free_intercept ? 0.0 : entry),
          free_(free_intercept),
          v_(X.width + 1, 0.0),
          scores_(X.lines) {}

    // Up to a relative distance of tol between both bounds of the squared distance.
    HardMargin solve(double tol, int max_iter) {
        HardMargin found;
        measure();
        enter(first());
        weights_.assign(1, 1.0);
        combine();
        double square = 0, least = 0;
        for (found.iterations = 0; found.iterations < max_iter; ++found.iterations) {
            check_interrupt();
            square = dot(v_.data(), v_.data(), v_.size());
            score();
            Vertex const next = lowest();
            least = value(next);
            if (square <= 1e-18 * reach_ || relative_gap(square, least) <= tol || known(next) || !enter(next)) break;
            weights_.push_back(0.0);
            descend();
            combine();
        }
        found.separable = square > 1e-18 * reach_ && least > 0;
        if (!found.separable && square > 1e-18 * reach_) {
            throw std::invalid_argument("Whether a hyperplane separates the classes is open after " +
                                        std::to_string(found.iterations) + " iterations. " +
                                        (found.iterations >= max_iter
                                             ? "Increase max_iter."
                                             : "Rounding allows no further step: scale the columns of X to one size."));
        }
        found.combination.assign(X_.lines, 0.0);
        for (std::size_t k = 0; k < corral_.size(); ++k) {
            found.combination[corral_[k].plus] += free_ ? 0.5 * weights_[k] : weights_[k];
            if (free_) found.combination[corral_[k].minus] += 0.5 * weights_[k];
        }
        if (found.separable) separate(found, square, least);
        return found;
    }

  private:
    // y_i (x_i, entry), or x_plus - x_minus.
    struct Vertex {
        std::size_t plus, minus;
        bool operator==(Vertex const& other) const { return plus == other.plus && minus == other.minus; }
    };

    void add(Vertex a, double scale, double* v) const {
        double const sign = free_ ? 1.0 : y_[a.plus];
        X_.axpy(a.plus, sign * scale, v);
        v[X_.width] += sign * scale * entry_;
        if (free_) X_.axpy(a.minus, -scale, v);
    }

    // The largest squared length of a point, or with a free intercept of its difference from the first: what is small
    // is told by it.
    void measure() {
        std::vector<double> origin(X_.width, 0.0);
        if (free_) X_.axpy(0, 1.0, origin.data());
        double const own = dot(origin.data(), origin.data(), origin.size());
        for (std::size_t i = 0; i < X_.lines; ++i) {
            reach_ = std::max(reach_, length(i) - 2 * X_.dot(i, origin.data()) + own);
        }
        if (!(reach_ > 0)) reach_ = 1;
    }

    double length(std::size_t i) const {
        double total = entry_ * entry_;
        X_.each(i, [&](std::size_t, double x) { total += x * x; });
        return total;
    }

    double against(std::vector<double> const& dense, Vertex b) const {
        double total = X_.dot(b.plus, dense.data()) + entry_ * dense[X_.width];
        if (free_) return total - X_.dot(b.minus, dense.data());
        return y_[b.plus] * total;
    }

    // The shortest point, or the first of each sign.
    Vertex first() const {
        if (free_) {
            std::size_t plus = 0, minus = 0;
            while (y_[plus] < 0) ++plus;
            while (y_[minus] > 0) ++minus;
            return {plus, minus};
        }
        std::size_t best = 0;
        double shortest = infinity;
        for (std::size_t i = 0; i < X_.lines; ++i) {
            double const square = length(i);
            if (square < shortest) {
                shortest = square;
                best = i;
            }
        }
        return {best, best};
    }

    void score() {
        team_.each_range(X_.lines, 256, [&](std::size_t begin, std::size_t end, std::size_t) {
            for (std::size_t i = begin; i < end; ++i) scores_[i] = X_.dot(i, v_.data()) + entry_ * v_[X_.width];
        });
    }

    Vertex lowest() const {
        double low[2] = {infinity, infinity};
        std::size_t at[2] = {0, 0};
        for (std::size_t i = 0; i < X_.lines; ++i) {
            std::size_t const side = free_ && y_[i] < 0 ? 1 : 0;
            double const margin = y_[i] * scores_[i];
            if (margin < low[side]) {
                low[side] = margin;
                at[side] = i;
            }
        }
        return {at[0], free_ ? at[1] : at[0]};
    }

    double value(Vertex a) const { return free_ ? scores_[a.plus] - scores_[a.minus] : y_[a.plus] * scores_[a.plus]; }

    bool known(Vertex a) const { return std::find(corral_.begin(), corral_.end(), a) != corral_.end(); }

    // A constant on every product makes affine independence plain independence: one of the size of the products.
    bool enter(Vertex a) {
        std::vector<double> dense(X_.width + 1, 0.0), products(corral_.size());
        add(a, 1.0, dense.data());
        for (std::size_t k = 0; k < corral_.size(); ++k) products[k] = reach_ + against(dense, corral_[k]);
        if (!factor_.append(std::move(products), reach_ + against(dense, a))) return false;
        corral_.push_back(a);
        return true;
    }

    // To the nearest point of the affine hull; members whose weights would turn negative on the way are left behind.
    void descend() {
        for (;;) {
            std::vector<double> const u = nearest();
            double t = 1;
            for (std::size_t k = 0; k < u.size(); ++k) {
                if (u[k] <= 1e-14) t = std::min(t, weights_[k] / (weights_[k] - u[k]));
            }
            bool const inside = std::all_of(u.begin(), u.end(), [](double x) { return x > 1e-14; });
            if (inside) {
                weights_ = u;
                return;
            }
            for (std::size_t k = 0; k < u.size(); ++k) weights_[k] += t * (u[k] - weights_[k]);
            for (std::size_t k = u.size(); k-- > 0;) {
                if (weights_[k] > 1e-14 || corral_.size() == 1) continue;
                factor_.remove(k);
                corral_.erase(corral_.begin() + static_cast<std::ptrdiff_t>(k));
                weights_.erase(weights_.begin() + static_cast<std::ptrdiff_t>(k));
            }
            double sum = 0;
            for (double x : weights_) sum += x;
            for (double& x : weights_) x /= sum;
        }
    }

    // Weights of the affine hull's point nearest to the origin, where all members have one product with it: solved
    // twice, as the first answer has lost as many digits as the hull is flat.
    std::vector<double> nearest() const {
        std::vector<double> u(corral_.size(), 0.0);
        for (int round = 0; round < 2; ++round) {
            std::vector<double> rest(corral_.size(), reach_);
            if (round > 0) {
                std::vector<double> const v = point(u);
                double total = 0;
                for (double x : u) total += x;
                for (std::size_t k = 0; k < rest.size(); ++k) rest[k] -= total * reach_ + against(v, corral_[k]);
            }
            factor_.solve(rest);
            for (std::size_t k = 0; k < u.size(); ++k) u[k] += rest[k];
        }
        double total = 0;
        for (double x : u) total += x;
        for (double& x : u) x /= total;
        return u;
    }

    std::vector<double> point(std::vector<double> const& weights) const {
        std::vector<double> v(X_.width + 1, 0.0);
        for (std::size_t k = 0; k < corral_.size(); ++k) add(corral_[k], weights[k], v.data());
        return v;
    }

    void combine() { v_ = point(weights_); }

    // v scaled to functional margins of at least 1, and both sides of the gap of min 1/2 |w|^2.
    void separate(HardMargin& found, double square, double least) const {
        double const scale = free_ ? 2.0 / least : 1.0 / least;
        found.w.assign(v_.begin(), v_.end() - 1);
        for (double& w : found.w) w *= scale;
        found.primal = 0.5 * scale * scale * square;
        found.dual = free_ ? 2.0 / square : 0.5 / square;
        found.b = scale * entry_ * v_[X_.width];
        if (free_) found.b = 1.0 - scale * scores_[lowest().plus];
    }

    Team& team_;
    Rows X_;
    double const* y_;
    double entry_;
    bool free_;
    double reach_ = 0;
    std::vector<double> v_, scores_, weights_;
    std::vector<Vertex> corral_;
    GramFactor factor_;
};

}  // namespace tallywise::linear::svm
