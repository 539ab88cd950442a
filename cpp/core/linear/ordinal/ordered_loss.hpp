// The loss of ordered levels as a function of scores alone, with the thresholds at their best: see offsets.hpp.
//
//   J(z, t) = sum_i s_i loss(t_{y_i} - z_i, t_{y_i - 1} - z_i)
//
// The thresholds' Hessian is tridiagonal, and a row meets two of them at most.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <variant>
#include <vector>

#include "core/base/parallel.hpp"
#include "core/data/design.hpp"
#include "core/linear/lane_fit.hpp"
#include "core/linear/ordinal/ordinal.hpp"

namespace tallywise::linear::ordinal {

// What a fit to ordered levels is given beside X: levels 0 .. K-1 (each of them seen) and a positive weight a sample.
struct Levels {
    std::int64_t const* y;
    double const* s;
    std::size_t n;
    std::size_t K;
};

class OrderedLoss : public Offsets {
  public:
    static constexpr bool intercepts = false;

    OrderedLoss(Team& team, OrdinalLink const& link, Levels const& levels)
        : team_(team),
          link_(link),
          levels_(levels),
          T_(levels.K - 1),
          grain_(std::max<std::size_t>(64, (levels.n + 31) / 32)),
          rows_(levels.n),
          z_(levels.n) {
        std::vector<double> share(levels.K, 0.0);
        for (std::size_t i = 0; i < levels.n; ++i) {
            share[level(i)] += levels.s[i];
            weight_ += levels.s[i];
        }
        double below = 0;
        for (std::size_t k = 0; k < T_; ++k) {
            below += share[k];
            c_.push_back(std::visit([&](auto link) { return link.quantile(below / weight_); }, link));
        }
    }

    static std::size_t lanes() { return 1; }
    static std::size_t stride() { return 1; }
    static bool shift_free() { return false; }
    double weight(std::size_t i) const { return levels_.s[i]; }
    double least_weight() const { return *std::min_element(levels_.s, levels_.s + levels_.n); }
    double rounding() const { return 4e-16 * weight_ * std::log(static_cast<double>(T_ + 1)); }

    double evaluate(double const* z, double const* guess = nullptr) {
        // Columns far from 0 move all scores together, and the thresholds with them.
        double const mean = mean_of(z);
        for (double& t : c_) t += mean - mean_;
        mean_ = mean;
        if (guess != nullptr && rising(guess)) std::copy(guess, guess + T_, c_.begin());
        std::copy(z, z + levels_.n, z_.begin());
        settle(weight_, [&] { sweep(); }, [&] { return rising(c_.data()); }, [&](double* v) { solve_offsets(v); });
        balance();
        return value_;
    }

    double conjugate(double t = 1) {
        return sum_rows([&](auto link, std::size_t i) {
            auto const [u, v] = ends(i);
            Interval const& r = rows_[i];
            // At the derivatives themselves, Fenchel and Young's inequality is an equality.
            if (t == 1 && balanced_) return (has_upper(i) ? r.du * u : 0.0) + (has_lower(i) ? r.dv * v : 0.0) - r.value;
            return interval_conjugate<decltype(link)>(t * r.du, t * r.dv, u, v);
        });
    }

    double conjugate_ahead(double const* d, double const* m, double* A, std::vector<double>& left) {
        std::vector<double> a(levels_.n), b(levels_.n);
        double const total = sum_rows([&](auto link, std::size_t i) {
            Interval const& r = rows_[i];
            auto const [u, v] = ends(i);
            double const mu = (has_upper(i) ? m[level(i)] : 0.0) - d[i],
                         mv = (has_lower(i) ? m[level(i) - 1] : 0.0) - d[i];
            a[i] = r.du + r.duu * mu + r.duv * mv;
            b[i] = r.dv + r.duv * mu + r.dvv * mv;
            return interval_conjugate<decltype(link)>(a[i], b[i], u, v);
        });
        left.assign(T_, 0.0);
        for (std::size_t i = 0; i < levels_.n; ++i) {
            A[i] = -levels_.s[i] * (a[i] + b[i]);
            if (has_upper(i)) left[level(i)] += levels_.s[i] * a[i];
            if (has_lower(i)) left[level(i) - 1] += levels_.s[i] * b[i];
        }
        return std::isfinite(total) ? total : infinity;
    }

    template <class V>
    void residual(V* A) {
        each_row([&](std::size_t i) { A[i] = static_cast<V>(-levels_.s[i] * (rows_[i].du + rows_[i].dv)); });
    }

    double curvature(std::size_t i, std::size_t = 0, std::size_t = 0) const {
        return levels_.s[i] * (rows_[i].duu + 2 * rows_[i].duv + rows_[i].dvv);
    }

    template <class F>
    void each_cross(std::size_t i, F&& f) const {
        Interval const& r = rows_[i];
        if (has_upper(i)) f(level(i), -levels_.s[i] * (r.duu + r.duv));
        if (has_lower(i)) f(level(i) - 1, -levels_.s[i] * (r.duv + r.dvv));
    }

    void curve_rows(std::size_t begin, std::size_t end, float const* U, float* R) const {
        for (std::size_t i = begin; i < end; ++i) R[i] = static_cast<float>(curvature(i)) * U[i];
    }

    void curve(float const* U, float* R) {
        std::vector<double> const m = follow(U);
        each_row([&](std::size_t i) {
            double bend = curvature(i) * static_cast<double>(U[i]);
            each_cross(i, [&](std::size_t o, double c) { bend += c * m[o]; });
            R[i] = static_cast<float>(bend);
        });
    }

    template <class V>
    std::vector<double> follow(V const* U) {
        std::vector<double> parts(chunks() * T_, 0.0), total(T_, 0.0);
        each_chunk([&](std::size_t begin, std::size_t end, std::size_t chunk) {
            double* part = parts.data() + chunk * T_;
            for (std::size_t i = begin; i < end; ++i) {
                each_cross(i, [&](std::size_t o, double c) { part[o] -= c * static_cast<double>(U[i]); });
            }
        });
        for (std::size_t c = 0; c < parts.size(); ++c) total[c % T_] += parts[c];
        solve_offsets(total.data());
        return total;
    }

    // Of coordinate descent: see lane_descent.hpp.
    class Model {
      public:
        explicit Model(OrderedLoss& F) : F_(F) {}

        void expand() {
            u_.assign(F_.levels_.n, 0.0);
            shift_.assign(F_.T_, 0.0);
            h_.resize(F_.levels_.n);
            for (std::size_t i = 0; i < h_.size(); ++i) h_[i] = F_.curvature(i);
        }
        double weight(std::size_t i) const { return F_.weight(i); }
        double curvature(std::size_t i, std::size_t) const { return h_[i]; }
        double slope(std::size_t i, std::size_t) const {
            double total = h_[i] * u_[i];
            F_.each_cross(i, [&](std::size_t o, double c) { total += c * shift_[o]; });
            return total;
        }
        void move(std::size_t i, std::size_t, double change) { u_[i] += change; }
        void settle() { shift_ = F_.follow(u_.data()); }
        double score(std::size_t i, std::size_t) const { return u_[i]; }

      private:
        OrderedLoss& F_;
        std::vector<double> u_, shift_, h_;
    };

  private:
    struct Ends {
        double u, v;
    };
    Ends ends(std::size_t i) const {
        std::size_t const k = level(i);
        return {k < T_ ? c_[k] - z_[i] : infinity, k > 0 ? c_[k - 1] - z_[i] : -infinity};
    }
    std::size_t level(std::size_t i) const { return static_cast<std::size_t>(levels_.y[i]); }
    bool has_upper(std::size_t i) const { return level(i) < T_; }
    bool has_lower(std::size_t i) const { return level(i) > 0; }
    bool rising(double const* t) const { return std::adjacent_find(t, t + T_, std::greater_equal<>()) == t + T_; }

    template <class F>
    auto visit(F&& f) const {
        return std::visit(std::forward<F>(f), link_);
    }
    std::size_t chunks() const { return Team::count(levels_.n, grain_); }
    template <class F>
    void each_chunk(F&& f) {
        team_.each_range(levels_.n, grain_, f);
    }
    template <class F>
    void each_row(F&& f) {
        each_chunk([&](std::size_t begin, std::size_t end, std::size_t) {
            for (std::size_t i = begin; i < end; ++i) f(i);
        });
    }
    // sum_i s_i f(link, i)
    template <class F>
    double sum_rows(F&& f) {
        return team_.sum<double>(levels_.n, grain_, [&](std::size_t begin, std::size_t end) {
            return visit([&](auto link) {
                double total = 0;
                for (std::size_t i = begin; i < end; ++i) total += levels_.s[i] * f(link, i);
                return total;
            });
        });
    }
    double mean_of(double const* z) {
        return sum_rows([&](auto, std::size_t i) { return z[i]; }) / weight_;
    }

    // Values and derivatives of all rows, and the thresholds' gradient and Hessian.
    void sweep() {
        std::size_t const width = 1 + 4 * T_;
        std::vector<double> parts(chunks() * width, 0.0), total(width, 0.0);
        each_chunk([&](std::size_t begin, std::size_t end, std::size_t chunk) {
            double* part = parts.data() + chunk * width;
            double *g = part + 1, *diagonal = g + T_, *off = diagonal + T_, *above = off + T_;
            visit([&](auto link) {
                for (std::size_t i = begin; i < end; ++i) {
                    auto const [u, v] = ends(i);
                    Interval const r = rows_[i] = link.at(u, v);
                    double const s = levels_.s[i];
                    std::size_t const k = level(i);
                    part[0] += s * r.value;
                    if (k < T_) {
                        g[k] += s * r.du;
                        diagonal[k] += s * r.duu;
                    }
                    if (k > 0) {
                        g[k - 1] += s * r.dv;
                        above[k - 1] += s * r.dv;
                        diagonal[k - 1] += s * r.dvv;
                        if (k < T_) off[k] += s * r.duv;
                    }
                }
            });
        });
        for (std::size_t c = 0; c < parts.size(); ++c) total[c % width] += parts[c];
        auto const from = [&](std::size_t block) {
            return total.begin() + 1 + static_cast<std::ptrdiff_t>(block * T_);
        };
        value_ = total[0];
        gradient_.assign(from(0), from(1));
        above_.assign(from(3), from(4));
        hessian_.assign(T_ * T_, 0.0);
        for (std::size_t k = 0; k < T_; ++k) {
            hessian_[k * T_ + k] = total[1 + T_ + k];
            if (k > 0) hessian_[k * T_ + k - 1] = hessian_[(k - 1) * T_ + k] = total[1 + 2 * T_ + k];
        }
    }

    // A threshold's constraint on the dual: what the level below it pulls, the level above it pulls back. The heavier
    // side is scaled down, whatever was left when the search for the thresholds ended.
    void balance() {
        std::vector<double> down(T_, 1.0), up(T_, 1.0);  // of the levels below and above each threshold
        double most = 0;
        for (std::size_t k = 0; k < T_; ++k) {
            double const above = above_[k], below = above_[k] - gradient_[k];
            if (!(above > 0 && below > 0)) continue;
            (above > below ? up : down)[k] = std::min(above, below) / std::max(above, below);
            most = std::max(most, std::abs(gradient_[k]) / std::max(above, below));
        }
        balanced_ = most < 1e-8;
        each_row([&](std::size_t i) {
            if (has_upper(i)) rows_[i].du *= down[level(i)];
            if (has_lower(i)) rows_[i].dv *= up[level(i) - 1];
        });
    }

    Team& team_;
    OrdinalLink link_;
    Levels levels_;
    std::size_t T_, grain_;
    std::vector<Interval> rows_;
    std::vector<double> z_, above_;
    double weight_ = 0, mean_ = 0;
    bool balanced_ = true;
};

// What a fit is asked, apart from the data.
struct OrdinalProblem {
    OrdinalLink link;
    std::size_t levels = 2;
    ElasticNet penalty;
    SolveOptions options;

    // Whether the solver wants the columns of X, n x p, or its rows.
    bool by_columns(std::size_t n, std::size_t p) const { return penalty.l1 > 0 && !few_weights(n, p, 1, penalty); }
};

// X by columns when `columns`, as the problem wants it, else by rows.
inline LaneSolution fit_ordinal(Design const& X, Levels const& levels, OrdinalProblem const& problem, bool columns,
                                bool covariance) {
    Team team(problem.options.threads);
    OrderedLoss F(team, problem.link, levels);
    return visit_real(X, [&](auto const& x) {
        return columns ? fit_columns(team, x, F, problem.penalty, problem.options, nullptr)
                       : fit_rows(team, x, F, problem.penalty, problem.options, nullptr, covariance);
    });
}

}  // namespace tallywise::linear::ordinal
