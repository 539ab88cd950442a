// Quadratic programmes over a box by an active-set method, for matrices that are held in memory.
//
//   minimise  1/2 x'Hx + c'x   over lower <= x <= upper, and with sum x as it stands where the problem is balanced
//
// given a feasible x and the gradient g = Hx + c. The factor of H on the free variables gains and loses them one at a
// time: Newton's step to their common minimum, or to the first bound on the way, where that variable leaves; at the
// minimum the variable whose gradient promises most comes in. The objective falls with every step, so that no set comes
// twice: exact after a finite number of steps, whatever the conditioning, where coordinate descent takes thousands of
// rounds. A variable whose column depends on those of the free ones moves along the dependence, to the first bound.
//
// A problem has
//   size(), x(k), gradient(k), lower(k), upper(k), entry(i, j) = H_ij
//   move(k, step)    x_k += step, with all gradients
//   place(k, value)  x_k = value where rounding has left it beside a bound
//
// Nocedal, Wright, Numerical Optimization (2006), section 16.5; Lee, Battle, Raina, Ng, Efficient sparse coding
// algorithms (NIPS 2006) for the case of the lasso.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "core/base/numeric.hpp"

namespace tallywise {

// The Cholesky factor of a Gram matrix that gains and loses members one at a time.
class GramFactor {
  public:
    static constexpr double hidden =
        1e-13;  // of a member's square: what rounding may leave of one that depends on others

    std::size_t size() const { return rows_.size(); }

    // Adds a member with these products with the others and itself; false when it depends on them.
    bool append(std::vector<double> products, double own) {
        double left = own;
        for (std::size_t i = 0; i < size(); ++i) {
            products[i] = (products[i] - dot(rows_[i].data(), products.data(), i)) / rows_[i][i];
            left -= products[i] * products[i];
        }
        if (!(left > hidden * own)) return false;
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

template <class Problem>
class ActiveSet {
  public:
    // A constant on every entry of H makes Newton's steps see the plane of a balanced problem; 0 for none. It should be
    // of the size of the entries.
    ActiveSet(Problem& problem, double plane) : problem_(problem), plane_(plane) {}

    // Until no gradient that a variable could follow is above eps, or for `most` steps. Gives the number of steps.
    std::int64_t solve(double eps, std::int64_t most) {
        inside_.assign(problem_.size(), 0);
        stuck_.assign(problem_.size(), 0);
        steps_ = 0;
        most_ = most;
        eps_ = eps;
        for (std::size_t k = 0; k < problem_.size() && steps_ < most_; ++k) {
            if (rises(k) && falls(k)) enter(k);
        }
        while (steps_ < most_) {
            if (to_minimum()) continue;
            std::size_t const k = best(eps);
            if (k == problem_.size()) break;
            if (enter(k)) {
                std::fill(stuck_.begin(), stuck_.end(), 0);
            } else {
                stuck_[k] = 1;
            }
        }
        return steps_;
    }

  private:
    bool rises(std::size_t k) const { return problem_.x(k) < problem_.upper(k); }
    bool falls(std::size_t k) const { return problem_.x(k) > problem_.lower(k); }

    // Minus the common gradient of the free variables of a balanced problem.
    double multiplier() const {
        if (plane_ == 0 || free_.empty()) return 0.0;
        double total = 0;
        for (std::size_t k : free_) total += problem_.gradient(k);
        return -total / static_cast<double>(free_.size());
    }

    // The variable that promises most; size() where none has more than eps to follow. In a balanced problem without
    // free variables the first of a pair comes in, and finds its partner next time.
    std::size_t best(double eps) const {
        bool const pair = plane_ != 0 && free_.empty();
        double const multiplier = this->multiplier();
        double most = 0, least_rising = infinity, most_falling = -infinity;
        std::size_t found = problem_.size();
        for (std::size_t k = 0; k < problem_.size(); ++k) {
            if (inside_[k] || stuck_[k]) continue;
            double const g = problem_.gradient(k) + multiplier;
            if (pair) {
                if (falls(k)) most_falling = std::max(most_falling, g);
                if (!rises(k) || !(g < least_rising)) continue;
                least_rising = g;
                found = k;
            } else if (std::abs(g) > eps && (g < 0 ? rises(k) : falls(k))) {
                double const gain = g * g / (problem_.entry(k, k) + plane_);
                if (!(gain > most)) continue;
                most = gain;
                found = k;
            }
        }
        return pair && !(most_falling - least_rising > eps) ? problem_.size() : found;
    }

    // Frees variable k. Where its column depends on those of the free ones, there is a direction in which H does not
    // bend more than rounding hides: along it as far as that bend would allow, or to the first bound, until the columns
    // that are left are independent. False when k has not become free.
    bool enter(std::size_t k) {
        while (steps_ < most_) {
            ++steps_;
            std::vector<double> products(free_.size());
            for (std::size_t a = 0; a < free_.size(); ++a) products[a] = problem_.entry(free_[a], k) + plane_;
            double const own = problem_.entry(k, k) + plane_;
            std::vector<double> direction = products;
            if (factor_.append(std::move(products), own)) {
                free_.push_back(k);
                inside_[k] = 1;
                return true;
            }
            factor_.solve(direction);
            for (double& d : direction) d = -d;
            balance(direction, 1.0);
            double slope = problem_.gradient(k), length = 1;
            for (std::size_t a = 0; a < free_.size(); ++a) {
                slope += direction[a] * problem_.gradient(free_[a]);
                length += std::abs(direction[a]);
            }
            if (!(std::abs(slope) > eps_ * length)) return false;  // flat: every point along it is as good
            double const sign = slope > 0 ? -1.0 : 1.0;
            for (double& d : direction) d *= sign;
            double const room = sign > 0 ? problem_.upper(k) - problem_.x(k) : problem_.x(k) - problem_.lower(k);
            double const longest = std::min(room, std::abs(slope) / (GramFactor::hidden * own));
            if (!(longest > 0) || !std::isfinite(longest)) return false;
            auto const [t, at] = to_bound(direction, longest);
            problem_.move(k, sign * t);
            if (t == room) problem_.place(k, sign > 0 ? problem_.upper(k) : problem_.lower(k));
            if (!follow(direction, t, at)) return false;
        }
        return false;
    }

    // Newton's step; true when a bound cut it short.
    bool to_minimum() {
        if (free_.empty()) return false;
        std::vector<double> direction(free_.size());
        for (std::size_t a = 0; a < free_.size(); ++a) direction[a] = -problem_.gradient(free_[a]);
        factor_.solve(direction);
        balance(direction, 0.0);
        ++steps_;
        auto const [t, at] = to_bound(direction, 1.0);
        return follow(direction, t, at);
    }

    // Takes off the multiple of H^-1 1 with which a balanced problem's direction, and what moves beside it, add up to
    // 0.
    void balance(std::vector<double>& direction, double beside) const {
        if (plane_ == 0) return;
        std::vector<double> ones(free_.size(), 1.0);
        factor_.solve(ones);
        double sum = 0;
        for (double u : ones) sum += u;
        for (int round = 0; round < 2; ++round) {  // the first leaves as many digits as H has magnitudes
            double total = beside;
            for (double d : direction) total += d;
            for (std::size_t a = 0; a < ones.size(); ++a) direction[a] -= total / sum * ones[a];
        }
    }

    struct Reach {
        double t;
        std::size_t at;  // the free variable that meets its bound; their number for none
    };

    Reach to_bound(std::vector<double> const& direction, double longest) const {
        Reach reach{longest, free_.size()};
        for (std::size_t a = 0; a < free_.size(); ++a) {
            std::size_t const k = free_[a];
            if (direction[a] == 0) continue;
            double const bound = direction[a] > 0 ? problem_.upper(k) : problem_.lower(k);
            double const t = std::max((bound - problem_.x(k)) / direction[a], 0.0);
            if (t < reach.t) reach = {t, a};
        }
        return reach;
    }

    // Moves the free variables; the one that meets its bound leaves. True when there is one.
    bool follow(std::vector<double> const& direction, double t, std::size_t at) {
        for (std::size_t a = 0; a < free_.size(); ++a) {
            if (t * direction[a] != 0) problem_.move(free_[a], t * direction[a]);
        }
        if (at == free_.size()) return false;
        std::size_t const k = free_[at];
        problem_.place(k, direction[at] > 0 ? problem_.upper(k) : problem_.lower(k));
        factor_.remove(at);
        free_.erase(free_.begin() + static_cast<std::ptrdiff_t>(at));
        inside_[k] = 0;
        return true;
    }

    Problem& problem_;
    double plane_;
    GramFactor factor_;
    std::vector<std::size_t> free_;
    std::vector<char> inside_, stuck_;  // stuck_: depends on the free variables, and could not move with them
    double eps_ = 0;
    std::int64_t steps_ = 0, most_ = 0;
};

}  // namespace tallywise
