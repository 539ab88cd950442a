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

#include "core/base/interrupt.hpp"
#include "core/base/parallel.hpp"
#include "core/data/design.hpp"
#include "core/linear/losses.hpp"

namespace tallywise {

// The Cholesky factor of a Gram matrix that gains and loses members one at a time.
class GramFactor {
  public:
    std::size_t size() const { return rows_.size(); }

    // Adds a member with these products with the others and itself; false when it depends on them.
    bool append(std::vector<double> products, double own) {
        double left = own;
        for (std::size_t i = 0; i < size(); ++i) {
            products[i] = (products[i] - dot(rows_[i].data(), products.data(), i)) / rows_[i][i];
            left -= products[i] * products[i];
        }
        if (!(left > 1e-13 * own)) return false;
        products.push_back(std::sqrt(left));
        rows_.push_back(std::move(products));
        return true;
    }

    // Rotations take the hole in the triangle to its end.
    void remove(std::size_t at) {
        rows_.erase(rows_.begin() + static_cast<std::ptrdiff_t>(at));
        for (std::size_t c = at; c < size(); ++c) {
            double const a = rows_[c][c], b = rows_[c][c + 1], length = std::hypot(a, b);
            double const cosine = a / length, sine = b / length;
            for (std::size_t r = c; r < size(); ++r) {
                double const x = rows_[r][c], y = rows_[r][c + 1];
                rows_[r][c] = cosine * x + sine * y;
                rows_[r][c + 1] = cosine * y - sine * x;
            }
            rows_[c].resize(c + 1);
        }
    }

    // x = Gram^-1 x
    void solve(std::vector<double>& x) const {
        for (std::size_t i = 0; i < size(); ++i) x[i] = (x[i] - dot(rows_[i].data(), x.data(), i)) / rows_[i][i];
        for (std::size_t i = size(); i-- > 0;) {
            x[i] /= rows_[i][i];
            axpy(-x[i], rows_[i].data(), x.data(), i);
        }
    }

  private:
    std::vector<std::vector<double>> rows_;
};

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
        double reach = 0;
        for (std::size_t i = 0; i < X_.lines; ++i) reach = std::max(reach, product({i, i}, {i, i}, true));
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
            if (square <= 1e-18 * reach || least >= (1 - tol) * square || known(next) || !enter(next)) break;
            weights_.push_back(0.0);
            descend();
            combine();
        }
        found.separable = square > 1e-18 * reach && least > 0;
        if (found.iterations >= max_iter && square > 1e-18 * reach && least <= 0) {
            throw std::invalid_argument("Whether a hyperplane separates the classes is open after " +
                                        std::to_string(max_iter) + " iterations. Increase max_iter.");
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

    // `single` takes the plain points instead.
    double product(Vertex a, Vertex b, bool single = false) const {
        if (single) {
            double total = entry_ * entry_;
            X_.each(a.plus, [&](std::size_t, auto x) { total += static_cast<double>(x) * static_cast<double>(x); });
            return total;
        }
        std::vector<double> dense(X_.width + 1, 0.0);
        add(a, 1.0, dense.data());
        return against(dense, b);
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
        double length = infinity;
        for (std::size_t i = 0; i < X_.lines; ++i) {
            double const square = product({i, i}, {i, i}, true);
            if (square < length) {
                length = square;
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

    // Adds 1 to every product, which makes affine independence plain independence.
    bool enter(Vertex a) {
        std::vector<double> dense(X_.width + 1, 0.0), products(corral_.size());
        add(a, 1.0, dense.data());
        for (std::size_t k = 0; k < corral_.size(); ++k) products[k] = 1.0 + against(dense, corral_[k]);
        if (!factor_.append(std::move(products), 1.0 + against(dense, a))) return false;
        corral_.push_back(a);
        return true;
    }

    // To the nearest point of the affine hull; members whose weights would turn negative on the way are left behind.
    void descend() {
        for (;;) {
            std::vector<double> u(corral_.size(), 1.0);
            factor_.solve(u);
            double total = 0, t = 1;
            for (double x : u) total += x;
            for (double& x : u) x /= total;
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

    void combine() {
        std::fill(v_.begin(), v_.end(), 0.0);
        for (std::size_t k = 0; k < corral_.size(); ++k) add(corral_[k], weights_[k], v_.data());
    }

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
    std::vector<double> v_, scores_, weights_;
    std::vector<Vertex> corral_;
    GramFactor factor_;
};

}  // namespace tallywise
