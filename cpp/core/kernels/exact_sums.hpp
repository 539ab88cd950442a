// The sums f = K b behind a machine's gradients and certificate, in double where that can matter.
//
// A variable at zero whose gradient is well beyond the intercept adds nothing to the violation, to either objective, or
// to the next round, whatever its gradient is exactly. So where a kernel's values lie in [0, 1] and have a known error
// d in single precision, points without coefficients get sums in single precision, off by at most d times the sum of
// |b|. Those that are not clear by that much get double precision after all: what is reported is exact as before, for
// about half of the time where few points are support vectors. Nor are those sums made anew where a round of the
// decomposition, whose rows have that error as well, has kept them.
#pragma once

#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

#include "core/kernels/box_problem.hpp"
#include "core/kernels/gram.hpp"

namespace tallywise::kernels {

class ExactSums {
  public:
    // `f` is kept by the caller; it begins as that of b = 0.
    ExactSums(Kernel const& kernel, Points const& points, BoxProblem const& problem, bool single,
              std::vector<double>& f, Team& team)
        : kernel_(kernel), points_(points), problem_(problem), f_(f), team_(team), b_(points.size(), 0.0) {
        f_.assign(points.size(), 0.0);
        // A product of w terms, rounded operands and three norms: each off by 2^-24 of at most 4 |x|^2. What the
        // function itself does is below 1e-6.
        double const width = static_cast<double>(points.width());
        value_error_ = kernel.steepness() * (width + 8) * 4 * points.largest_norm() * 0x1p-24 + 1e-6;
        rough_ = single && kernel.within_one() && value_error_ < 1e-2;
    }

    // f for these coefficients, then optimality there. Every gradient that bears on either is exact. `rough` is f by
    // point with values in single precision for what has changed; NaN where it is not known, or none at all.
    Optimality move_to(std::vector<double> const& beta, std::vector<double> const& rough) {
        std::vector<double> b(points_.size(), 0.0);
        std::vector<char> used(points_.size(), 0);
        for (std::size_t t = 0; t < beta.size(); ++t) {
            b[problem_.point[t]] += beta[t];
            used[problem_.point[t]] |= beta[t] != 0;
        }
        Ids which, known, fresh, others;
        std::vector<double> change;
        double size = 0;
        for (std::size_t i = 0; i < b.size(); ++i) {
            if (b[i] == b_[i]) continue;
            which.push_back(static_cast<std::uint32_t>(i));
            change.push_back(b[i] - b_[i]);
            size += std::abs(change.back());
            used[i] = 1;
        }
        if (which.empty() && exact_.empty()) return optimum(beta);
        if (exact_.empty()) exact_ = rough_ ? used : std::vector<char>(points_.size(), 1);
        for (std::size_t i = 0; i < b.size(); ++i) {
            (exact_[i] ? known : used[i] ? fresh : others).push_back(static_cast<std::uint32_t>(i));
        }
        b_ = std::move(b);
        if (others.empty() && fresh.empty()) {
            add_own_kernel_sums<double>(kernel_, points_, which, change, team_, f_.data());
        } else {
            if (fresh.empty()) {
                add_among(known, which, change);
            } else {
                add<double>(which, change, known);
                sum_anew(fresh);
            }
            error_ += value_error_ * size;
            Ids unknown;
            for (auto i : others) {
                if (rough.empty() || std::isnan(rough[i])) {
                    unknown.push_back(i);
                } else {
                    f_[i] = rough[i];
                }
            }
            if (worth_it(beta, unknown)) {
                add<float>(which, change, unknown);
            } else {
                sum_anew(unknown);
            }
        }
        for (;;) {
            Optimality const at = optimum(beta);
            std::vector<char> const open = unclear(beta, at);
            Ids again;
            for (std::size_t i = 0; i < open.size(); ++i) {
                if (open[i]) again.push_back(static_cast<std::uint32_t>(i));
            }
            if (again.empty()) return at;
            sum_anew(again);
        }
    }

  private:
    double gradient(std::size_t t) const { return f_[problem_.point[t]] + problem_.linear[t]; }

    Optimality optimum(std::vector<double> const& beta) const {
        return optimality(problem_, beta, [&](std::size_t t) { return gradient(t); });
    }

    // Whether less than half of these points would have to be summed again: tried on a few.
    bool worth_it(std::vector<double> const& beta, Ids const& others) {
        constexpr std::size_t few = 64;
        if (others.size() < 2 * few) return false;
        Ids sample;
        for (std::size_t k = 0; k < few; ++k) sample.push_back(others[k * others.size() / few]);
        // The intercept of the points that are exact already.
        BoxProblem part;
        std::vector<double> values, own;
        for (std::size_t t = 0; t < problem_.size(); ++t) {
            if (!exact_[problem_.point[t]]) continue;
            part.push(problem_.point[t], problem_.linear[t], problem_.lower[t], problem_.upper[t]);
            own.push_back(beta[t]);
            values.push_back(gradient(t));
        }
        Optimality const at = optimality(part, own, [&](std::size_t t) { return values[t]; });
        std::vector<double> const before = f_;
        sum_anew(sample);
        for (auto i : sample) exact_[i] = 0;
        std::vector<char> const open = unclear(beta, at);
        f_ = before;
        return 2 * std::count_if(sample.begin(), sample.end(), [&](auto i) { return open[i]; }) < std::ssize(sample);
    }

    // Points whose sums in single precision leave open whether they bear on the optimum.
    std::vector<char> unclear(std::vector<double> const& beta, Optimality const& at) const {
        double const clear = error_ + at.violation;
        std::vector<char> open(points_.size(), 0);
        Extremes seen;
        auto rises = [&](std::size_t t) { return beta[t] < problem_.upper[t]; };
        auto falls = [&](std::size_t t) { return beta[t] > problem_.lower[t]; };
        for (std::size_t t = 0; t < problem_.size(); ++t) {
            if (!exact_[problem_.point[t]]) continue;
            if (rises(t)) seen.least_rising = std::min(seen.least_rising, gradient(t));
            if (falls(t)) seen.most_falling = std::max(seen.most_falling, gradient(t));
        }
        for (std::size_t t = 0; t < problem_.size(); ++t) {
            std::size_t const i = problem_.point[t];
            if (exact_[i]) continue;
            double const g = gradient(t), z = g + at.intercept;
            open[i] |= (rises(t) && (!(z > clear) || g < seen.least_rising)) ||
                       (falls(t) && (!(z < -clear) || g > seen.most_falling));
        }
        return open;
    }

    template <class T>
    void add(Ids const& which, std::vector<double> const& coefficients, Ids const& to) {
        std::vector<double> sums(to.size(), 0.0);
        add_kernel_sums<T>(kernel_, points_, which, coefficients, points_.subset(to), team_, sums.data());
        for (std::size_t k = 0; k < to.size(); ++k) f_[to[k]] += sums[k];
    }

    // f += K change at points that include those that changed.
    void add_among(Ids const& to, Ids const& which, std::vector<double> const& change) {
        Ids inside;
        for (std::size_t k = 0, w = 0; w < which.size(); ++k) {
            if (to[k] != which[w]) continue;
            inside.push_back(static_cast<std::uint32_t>(k));
            ++w;
        }
        std::vector<double> sums(to.size(), 0.0);
        add_own_kernel_sums<double>(kernel_, points_.subset(to), inside, change, team_, sums.data());
        for (std::size_t k = 0; k < to.size(); ++k) f_[to[k]] += sums[k];
    }

    void sum_anew(Ids const& points) {
        Ids which;
        std::vector<double> coefficients;
        for (std::size_t i = 0; i < b_.size(); ++i) {
            if (b_[i] == 0) continue;
            which.push_back(static_cast<std::uint32_t>(i));
            coefficients.push_back(b_[i]);
        }
        for (auto i : points) {
            f_[i] = 0;
            exact_[i] = 1;
        }
        add<double>(which, coefficients, points);
    }

    Kernel const& kernel_;
    Points const& points_;
    BoxProblem const& problem_;
    std::vector<double>& f_;
    Team& team_;
    std::vector<double> b_;    // by point: what f belongs to
    std::vector<char> exact_;  // by point; empty before the first call
    double value_error_ = 0, error_ = 0;
    bool rough_ = false;
};

}  // namespace tallywise::kernels
