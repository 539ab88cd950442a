// The loss of ordered levels as a function of scores alone, with the thresholds at their best:
//
//   F(z) = min_t sum_i s_i loss(t_{y_i} - z_i, t_{y_i - 1} - z_i)
//
// Thresholds are not penalised, so they can be solved for at every z: Newton's method in K - 1 unknowns with a
// tridiagonal Hessian. Their optimality is the constraint they put on the dual, so residuals taken here are feasible.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "core/base/cholesky.hpp"
#include "core/base/parallel.hpp"
#include "core/linear/ordinal/ordinal.hpp"

namespace tallywise {

// What a fit to ordered levels is given beside X: levels 0 .. K-1 (each of them seen) and a positive weight a sample.
struct Levels {
    std::int64_t const* y;
    double const* s;
    std::size_t n;
    std::size_t K;
};

template <class Link>
class OrderedLoss {
  public:
    OrderedLoss(Team& team, Levels const& levels)
        : team_(team),
          levels_(levels),
          T_(levels.K - 1),
          grain_(std::max<std::size_t>(64, (levels.n + 31) / 32)),
          thresholds_(T_),
          rows_(levels.n) {
        std::vector<double> share(levels.K, 0.0);
        for (std::size_t i = 0; i < levels.n; ++i) {
            share[level(i)] += levels.s[i];
            weight_ += levels.s[i];
        }
        double below = 0;
        for (std::size_t k = 0; k < T_; ++k) {
            below += share[k];
            thresholds_[k] = Link::quantile(below / weight_);
        }
    }

    std::size_t thresholds_count() const { return T_; }
    std::vector<double> const& thresholds() const { return thresholds_; }
    double value() const { return value_; }
    // What is left of the thresholds' own slope.
    double imbalance() const { return imbalance_; }
    double slope(std::size_t i) const { return -levels_.s[i] * (rows_[i].du + rows_[i].dv); }
    double curvature(std::size_t i) const { return levels_.s[i] * (rows_[i].duu + 2 * rows_[i].duv + rows_[i].dvv); }

    // F(z) and everything the functions below are asked for, at z. The search begins at `guess` if that rises.
    double evaluate(double const* z, std::vector<double> const& guess = {}) {
        // Columns far from 0 move all scores together, and the thresholds with them.
        double const mean = mean_of(z);
        for (double& t : thresholds_) t += mean - mean_;
        mean_ = mean;
        if (guess.size() == T_ &&
            std::adjacent_find(guess.begin(), guess.end(), std::greater_equal<>()) == guess.end()) {
            thresholds_ = guess;
        }
        std::vector<double> best = thresholds_, step(T_);
        double best_value = infinity, last = infinity, scale = 1;
        for (int round = 0; round < 200; ++round) {
            sweep(z);
            if (!(value_ <= best_value + 1e-13 * std::abs(best_value))) {  // Newton went too far
                scale *= 0.5;
                if (scale < 1e-12) break;
                shift(best, step, scale);
                continue;
            }
            imbalance_ = 0;
            for (double g : gradient_) imbalance_ += std::abs(g);
            if (imbalance_ <= 1e-13 * weight_ || (imbalance_ > 0.5 * last && imbalance_ <= 1e-9 * weight_)) break;
            last = imbalance_;
            best = thresholds_;
            best_value = value_;
            scale = 1;
            step = gradient_;
            cholesky_solve(factor_.data(), T_, step.data());
            double longest = 0;
            for (double d : step) longest = std::max(longest, std::abs(d));
            for (double& d : step) d *= std::min(1.0, 4.0 / longest);
            shift(best, step, scale);
        }
        return value_;
    }

    // How the slope of row i moves with the upper and with the lower threshold of its level.
    double upper_cross(std::size_t i) const { return -levels_.s[i] * (rows_[i].duu + rows_[i].duv); }
    double lower_cross(std::size_t i) const { return -levels_.s[i] * (rows_[i].duv + rows_[i].dvv); }
    bool has_upper(std::size_t i) const { return level(i) < T_; }
    bool has_lower(std::size_t i) const { return level(i) > 0; }
    std::size_t level(std::size_t i) const { return static_cast<std::size_t>(levels_.y[i]); }

    // C'd: the change of the thresholds' slopes when scores move by d.
    template <class V>
    std::vector<double> cross(V const& d) {
        std::vector<double> parts(chunks() * T_, 0.0), total(T_, 0.0);
        each_chunk([&](std::size_t begin, std::size_t end, std::size_t chunk) {
            double* part = parts.data() + chunk * T_;
            for (std::size_t i = begin; i < end; ++i) {
                double const x = static_cast<double>(d[i]);
                if (has_upper(i)) part[level(i)] += upper_cross(i) * x;
                if (has_lower(i)) part[level(i) - 1] += lower_cross(i) * x;
            }
        });
        for (std::size_t c = 0; c < parts.size(); ++c) total[c % T_] += parts[c];
        return total;
    }

    // T^-1 m, with T the thresholds' Hessian.
    void solve_thresholds(double* m) const { cholesky_solve(factor_.data(), T_, m); }
    std::vector<double> const& threshold_hessian() const { return hessian_; }

    // r = F''(z) d, in which the thresholds follow z; gives how the thresholds move.
    template <class V>
    std::vector<double> curve(V const& d, V& r) {
        std::vector<double> q = cross(d);
        solve_thresholds(q.data());
        each_chunk([&](std::size_t begin, std::size_t end, std::size_t) {
            for (std::size_t i = begin; i < end; ++i) {
                double bend = curvature(i) * static_cast<double>(d[i]);
                if (has_upper(i)) bend -= upper_cross(i) * q[level(i)];
                if (has_lower(i)) bend -= lower_cross(i) * q[level(i) - 1];
                r[i] = static_cast<typename V::value_type>(bend);
            }
        });
        for (double& move : q) move = -move;
        return q;
    }

    // -sum_i s_i loss*(...) at the residuals that a step (d in scores, m in thresholds) would leave, to first order,
    // times `scale`; slopes gets them as residuals of scores. -inf when they are outside the domain.
    template <class V>
    double shifted_dual(double const* z, V const& d, std::vector<double> const& m, double scale,
                        std::vector<double>& slopes) {
        return team_.sum<double>(levels_.n, grain_, [&](std::size_t begin, std::size_t end) {
            double total = 0;
            for (std::size_t i = begin; i < end; ++i) {
                Interval const& r = rows_[i];
                auto const [u, v] = ends(i, z[i]);
                double const x = static_cast<double>(d[i]);
                double const mu = (has_upper(i) ? m[level(i)] : 0.0) - x,
                             mv = (has_lower(i) ? m[level(i) - 1] : 0.0) - x;
                double const a = scale * (r.du + r.duu * mu + r.duv * mv), b = scale * (r.dv + r.duv * mu + r.dvv * mv);
                slopes[i] = -levels_.s[i] * (a + b);
                total -= levels_.s[i] * interval_conjugate<Link>(a, b, u, v);
            }
            return total;
        });
    }

    std::size_t chunks() const { return Team::count(levels_.n, grain_); }
    template <class G>
    void each_chunk(G&& f) {
        team_.each_range(levels_.n, grain_, f);
    }

  private:
    struct Ends {
        double u, v;
    };
    Ends ends(std::size_t i, double z) const {
        std::size_t const k = level(i);
        return {k < T_ ? thresholds_[k] - z : infinity, k > 0 ? thresholds_[k - 1] - z : -infinity};
    }

    double mean_of(double const* z) {
        return team_.sum<double>(levels_.n, grain_, [&](std::size_t begin, std::size_t end) {
            double total = 0;
            for (std::size_t i = begin; i < end; ++i) total += levels_.s[i] * z[i];
            return total;
        }) / weight_;
    }

    // thresholds = from - scale step, shortened until they rise.
    void shift(std::vector<double> const& from, std::vector<double> const& step, double& scale) {
        for (;; scale *= 0.5) {
            for (std::size_t k = 0; k < T_; ++k) thresholds_[k] = from[k] - scale * step[k];
            if (std::is_sorted(thresholds_.begin(), thresholds_.end(), std::less_equal<double>())) return;
            if (scale < 1e-15) {
                thresholds_ = from;
                return;
            }
        }
    }

    // Values and derivatives of all rows, and the thresholds' slope and Hessian, at (z, thresholds).
    void sweep(double const* z) {
        std::size_t const width = 1 + 3 * T_;
        std::vector<double> parts(chunks() * width, 0.0), total(width, 0.0);
        each_chunk([&](std::size_t begin, std::size_t end, std::size_t chunk) {
            double* part = parts.data() + chunk * width;
            double *g = part + 1, *diagonal = g + T_, *off = diagonal + T_;
            for (std::size_t i = begin; i < end; ++i) {
                auto const [u, v] = ends(i, z[i]);
                Interval const r = rows_[i] = Link::at(u, v);
                double const s = levels_.s[i];
                std::size_t const k = level(i);
                part[0] += s * r.value;
                if (k < T_) {
                    g[k] += s * r.du;
                    diagonal[k] += s * r.duu;
                }
                if (k > 0) {
                    g[k - 1] += s * r.dv;
                    diagonal[k - 1] += s * r.dvv;
                    if (k < T_) off[k] += s * r.duv;
                }
            }
        });
        for (std::size_t c = 0; c < parts.size(); ++c) total[c % width] += parts[c];
        value_ = total[0];
        gradient_.assign(total.begin() + 1, total.begin() + 1 + static_cast<std::ptrdiff_t>(T_));
        hessian_.assign(T_ * T_, 0.0);
        for (std::size_t k = 0; k < T_; ++k) {
            hessian_[k * T_ + k] = total[1 + T_ + k];
            if (k > 0) hessian_[k * T_ + k - 1] = hessian_[(k - 1) * T_ + k] = total[1 + 2 * T_ + k];
        }
        factor_ = hessian_;
        cholesky(factor_.data(), T_, 1e-14);
    }

    Team& team_;
    Levels levels_;
    std::size_t T_, grain_;
    std::vector<double> thresholds_;
    std::vector<Interval> rows_;
    std::vector<double> gradient_, hessian_, factor_;
    double weight_ = 0, value_ = 0, imbalance_ = 0, mean_ = 0;
};

}  // namespace tallywise
