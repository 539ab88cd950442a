// The loss as a function of scores alone, with the intercept at its best:
//
//   F(Z) = min_b sum_i s_i l(y_i, z_i + b)
//
// The intercept is not penalised, so it can be solved for at every Z: a Newton iteration in as many unknowns as there
// are lanes. Its optimality, sum_i s_i dl/dz_i = 0, is the constraint that an unpenalised intercept puts on the dual,
// so residuals taken here are dual feasible.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/cholesky.hpp"
#include "core/base/parallel.hpp"
#include "core/data/lanes.hpp"
#include "core/linear/logistic/softmax.hpp"

namespace tallywise {

// What a fit to class labels is given beside X. y holds positions of classes, s a weight a sample.
struct Labels {
    std::int64_t const* y;
    double const* s;
    std::size_t n;
};

class ProfiledLoss {
  public:
    ProfiledLoss(Team& team, ClassLoss const& loss, Labels const& labels, bool fit_intercept, double const* b0)
        : team_(team),
          loss_(loss),
          labels_(labels),
          fit_intercept_(fit_intercept),
          K_(std::visit([](auto const& l) -> std::size_t { return l.lanes; }, loss)),
          L_(padded(K_)) {
        grain_ = std::max<std::size_t>(64, (labels.n + 31) / 32);
        b_.assign(L_, 0.0);
        if (fit_intercept && b0 != nullptr) std::copy(b0, b0 + K_, b_.begin());
        p_.assign(labels.n * L_, 0.0);
        p32_.assign(labels.n * L_, 0.0f);
        for (std::size_t i = 0; i < labels.n; ++i) weight_ += labels.s[i];
    }

    std::size_t lanes() const { return L_; }
    std::size_t classes() const { return K_; }
    double value() const { return value_; }
    std::vector<double> const& b() const { return b_; }
    double const* p() const { return p_.data(); }

    // F(Z) and everything the functions below are asked for, at Z.
    double evaluate(double const* Z) {
        std::vector<double> best = b_, step(K_);
        double best_value = infinity, last = infinity, scale = 1;
        if (fit_intercept_) follow_mean(Z);
        for (int round = 0; round < 200; ++round) {
            sweep(Z);
            if (!fit_intercept_) break;
            if (value_ > best_value + 1e-12 * std::abs(best_value)) {  // Newton went too far
                scale *= 0.5;
                for (std::size_t k = 0; k < K_; ++k) b_[k] = best[k] - scale * step[k];
                continue;
            }
            violation_ = 0;
            for (double c : imbalance_) violation_ += std::abs(c);
            if (violation_ <= 1e-12 * weight_ || (violation_ > 0.5 * last && violation_ <= 1e-9 * weight_)) break;
            last = violation_;
            best = b_;
            best_value = value_;
            scale = 1;
            step = imbalance_;
            cholesky_solve(factor_.data(), K_, step.data());
            // Where the loss is all but straight, Newton's step knows no bound.
            double longest = 0;
            for (double d : step) longest = std::max(longest, std::abs(d));
            for (double& d : step) d *= std::min(1.0, 8.0 / longest);
            for (std::size_t k = 0; k < K_; ++k) b_[k] -= step[k];
        }
        std::copy(p_.begin(), p_.end(), p32_.begin());
        return value_;
    }

    // sum_i s_i l*(t a_i): minus it is the loss's part of the dual at residuals shrunk by t. The slack covers what is
    // left of the imbalance.
    double conjugate(double t = 1) {
        double const total = team_.sum<double>(labels_.n, grain_, [&](std::size_t begin, std::size_t end) {
            std::vector<double> p(L_);
            double part = 0;
            visit([&](auto const& loss) {
                for (std::size_t i = begin; i < end; ++i) {
                    std::copy(p_.data() + i * L_, p_.data() + (i + 1) * L_, p.begin());
                    if (t < 1) loss.mix(class_of(i), t, p.data());
                    part += labels_.s[i] * loss.conjugate(p.data());
                }
            });
            return part;
        });
        double reach = 1;
        for (double b : b_) reach = std::max(reach, std::abs(b));
        return total + (fit_intercept_ ? 2 * reach * violation_ : 0.0);
    }

    // A[i] = s_i dl/dz_i
    template <class T>
    void residual(T* A) {
        team_.each_range(labels_.n, grain_, [&](std::size_t begin, std::size_t end, std::size_t) {
            std::vector<double> a(L_, 0.0);
            visit([&](auto const& loss) {
                for (std::size_t i = begin; i < end; ++i) {
                    loss.residual(class_of(i), p_.data() + i * L_, a.data());
                    for (std::size_t k = 0; k < L_; ++k) A[i * L_ + k] = static_cast<T>(labels_.s[i] * a[k]);
                }
            });
        });
    }

    // R[i] = s_i (d2l/dz2) U[i] for rows [begin, end), b held still. R may be U.
    void curve_rows(std::size_t begin, std::size_t end, float const* U, float* R) const {
        visit([&](auto const& loss) {
            for (std::size_t i = begin; i < end; ++i) {
                float* r = R + i * L_;
                loss.curve(p32_.data() + i * L_, U + i * L_, r);
                auto const s = static_cast<float>(labels_.s[i]);
                for (std::size_t k = 0; k < L_; ++k) r[k] *= s;
            }
        });
    }

    // R = F''(Z) U: the curvature of the profile, in which b follows Z.
    void curve(float const* U, float* R) {
        team_.each_range(labels_.n, grain_,
                         [&](std::size_t begin, std::size_t end, std::size_t) { curve_rows(begin, end, U, R); });
        if (!fit_intercept_) return;
        std::vector<double> shift(K_, 0.0);
        std::vector<double> parts(Team::count(labels_.n, grain_) * K_, 0.0);
        team_.each_range(labels_.n, grain_, [&](std::size_t begin, std::size_t end, std::size_t chunk) {
            double* part = parts.data() + chunk * K_;
            for (std::size_t i = begin; i < end; ++i) {
                for (std::size_t k = 0; k < K_; ++k) part[k] += static_cast<double>(R[i * L_ + k]);
            }
        });
        for (std::size_t c = 0; c < parts.size(); ++c) shift[c % K_] += parts[c];
        cholesky_solve(factor_.data(), K_, shift.data());
        std::vector<float> delta(L_, 0.0f);
        std::copy(shift.begin(), shift.end(), delta.begin());
        team_.each_range(labels_.n, grain_, [&](std::size_t begin, std::size_t end, std::size_t) {
            std::vector<float> r(L_);
            visit([&](auto const& loss) {
                for (std::size_t i = begin; i < end; ++i) {
                    loss.curve(p32_.data() + i * L_, delta.data(), r.data());
                    auto const s = static_cast<float>(labels_.s[i]);
                    for (std::size_t k = 0; k < K_; ++k) R[i * L_ + k] -= s * r[k];
                }
            });
        });
    }

    std::size_t class_of(std::size_t i) const { return static_cast<std::size_t>(labels_.y[i]); }
    double weight_of(std::size_t i) const { return labels_.s[i]; }
    // What rounding makes of sums the size of the loss at no scores at all.
    double rounding() const { return 4e-16 * weight_ * std::log(static_cast<double>(K_ + 1)); }
    bool shift_free() const {
        return std::visit([](auto const& loss) { return loss.shift_free; }, loss_);
    }
    // f(loss), the loss by its type: for whole loops over samples.
    template <class F>
    void visit(F&& f) const {
        std::visit(std::forward<F>(f), loss_);
    }

  private:
    // Keeps b + mean of Z where it was: columns far from 0 move all scores together, and b the other way.
    void follow_mean(double const* Z) {
        std::vector<double> parts(Team::count(labels_.n, grain_) * K_, 0.0), mean(K_, 0.0);
        team_.each_range(labels_.n, grain_, [&](std::size_t begin, std::size_t end, std::size_t chunk) {
            double* part = parts.data() + chunk * K_;
            for (std::size_t i = begin; i < end; ++i) {
                for (std::size_t k = 0; k < K_; ++k) part[k] += labels_.s[i] * Z[i * L_ + k];
            }
        });
        for (std::size_t c = 0; c < parts.size(); ++c) mean[c % K_] += parts[c] / weight_;
        for (std::size_t k = 0; k < K_; ++k) b_[k] -= mean_.empty() ? 0.0 : mean[k] - mean_[k];
        mean_ = mean;
    }

    template <class Loss>
    static constexpr bool single_lane = std::is_same_v<std::remove_cvref_t<Loss>, BinaryLogistic>;

    // What a sweep does for rows [begin, end), in a loop that vectorises.
    template <class Loss>
    void sweep_one_lane(Loss const& loss, double const* Z, std::size_t begin, std::size_t end, double* part) {
        double const b = b_[0], *s = labels_.s;
        double value = 0, slope = 0, bend = 0, *P = p_.data();
        std::int64_t const* y = labels_.y;
#pragma omp simd reduction(+ : value, slope, bend)
        for (std::size_t i = begin; i < end; ++i) {
            double const z = Z[i] + b;
            double p, a;
            value += s[i] * loss.value(static_cast<std::size_t>(y[i]), &z, &p);
            loss.residual(static_cast<std::size_t>(y[i]), &p, &a);
            P[i] = p;
            slope += s[i] * a;
            bend += s[i] * p * (1.0 - p);
        }
        part[0] = value;
        if (fit_intercept_) part[1] = slope, part[2] = bend;
    }

    // Probabilities, value, gradient and (factored) curvature in b, at (Z, b).
    void sweep(double const* Z) {
        std::size_t const chunks = Team::count(labels_.n, grain_), width = fit_intercept_ ? 1 + K_ + K_ * K_ : 1;
        std::vector<double> parts(chunks * width, 0.0);
        team_.each_range(labels_.n, grain_, [&](std::size_t begin, std::size_t end, std::size_t chunk) {
            double* part = parts.data() + chunk * width;
            std::vector<double> z(K_), a(K_);
            double* H = part + 1 + K_;
            visit([&](auto const& loss) {
                if constexpr (single_lane<decltype(loss)>) return sweep_one_lane(loss, Z, begin, end, part);
                for (std::size_t i = begin; i < end; ++i) {
                    double* p = p_.data() + i * L_;
                    double const s = labels_.s[i];
                    for (std::size_t k = 0; k < K_; ++k) z[k] = Z[i * L_ + k] + b_[k];
                    part[0] += s * loss.value(class_of(i), z.data(), p);
                    if (!fit_intercept_) continue;
                    loss.residual(class_of(i), p, a.data());
                    for (std::size_t k = 0; k < K_; ++k) {
                        part[1 + k] += s * a[k];
                        double const sp = s * p[k];
                        H[k * K_ + k] += sp;
                        for (std::size_t m = 0; m <= k; ++m) H[k * K_ + m] -= sp * p[m];
                    }
                }
            });
        });
        std::vector<double> total(width, 0.0);
        for (std::size_t c = 0; c < chunks; ++c) {
            for (std::size_t k = 0; k < width; ++k) total[k] += parts[c * width + k];
        }
        value_ = total[0];
        if (!fit_intercept_) return;
        imbalance_.assign(total.begin() + 1, total.begin() + 1 + static_cast<std::ptrdiff_t>(K_));
        factor_.assign(total.begin() + 1 + static_cast<std::ptrdiff_t>(K_), total.end());
        // Adding one number to every lane changes nothing: give that direction the mean curvature, so that it is solved
        // to 0.
        if (shift_free()) {
            double trace = 0;
            for (std::size_t k = 0; k < K_; ++k) trace += factor_[k * K_ + k];
            for (double& h : factor_) h += trace / static_cast<double>(K_ * K_);
        }
        cholesky(factor_.data(), K_, 1e-13);
    }

    Team& team_;
    ClassLoss loss_;
    Labels labels_;
    bool fit_intercept_;
    std::size_t K_, L_;
    std::size_t grain_;  // rows a chunk: few chunks, because each has a K x K sum of its own
    double weight_ = 0, value_ = 0, violation_ = 0;
    std::vector<double> b_, p_, imbalance_, factor_, mean_;
    std::vector<float> p32_;
};

}  // namespace tallywise
