// Truncated Newton in the space of features, for no fewer samples than features.
//
// Minimises  P(W, b) = sum_i s_i l(y_i, W'x_i + b) + l2/2 |W|^2,   l2 > 0.
//
// Newton's system (l2 I + X'HX) D = -(l2 W + X'A) is solved by conjugate gradients, preconditioned lane by lane
// (block_preconditioner.hpp). Products with the Hessian are in float, what decides when to stop is in double: see
// newton_samples.hpp, also for the gap.
//
// Lin, Weng & Keerthi (2008), Trust region Newton method for logistic regression, for the outline.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/base/interrupt.hpp"
#include "core/data/lane_design.hpp"
#include "core/linear/block_preconditioner.hpp"
#include "core/linear/conjugate_gradients.hpp"
#include "core/linear/lane_solution.hpp"
#include "core/linear/offsets.hpp"
#include "core/linear/vectors.hpp"

namespace tallywise::linear {

template <class Rows, class Loss>
class NewtonFeatures {
  public:
    NewtonFeatures(Team& team, LaneDesign<Rows> const& X, Loss& loss, double l2)
        : team_(team),
          X_(X),
          F_(loss),
          l2_(l2),
          L_(loss.stride()),
          q_(X.p + (Loss::intercepts && !loss.offsets().empty())),
          blocks_(team, X, loss, l2) {}

    LaneSolution solve(SolveOptions const& options, double const* w0) {
        Z_.assign(X_.n * L_, 0.0);
        g_.assign(X_.p * L_, 0.0);
        R_.assign(X_.n * L_, 0.0f);
        W_.assign(X_.p * L_, 0.0);
        if (w0 != nullptr) {
            W_.assign(w0, w0 + X_.p * L_);
            X_.exact.scores(team_, W_.data(), L_, Z_.data());
        }
        LaneSolution found;
        found.floor = F_.rounding();
        F_.balance_to(rough_ = F_.rough_balance(options.tol));
        F_.evaluate(Z_.data());
        double gap = infinity;
        for (found.iterations = 0;; ++found.iterations) {
            check_interrupt();
            bool const last = found.iterations == options.max_iter;
            if (gap < 1e-2 || last) {
                certify(found);
                if (found.within(options.tol) || last) break;
            } else {
                gradient();
            }
            gap = relative_gap(primal_, primal_ - inner_product(team_, g_, g_) / (2 * l2_));
            if (gap <= options.tol) {
                certify(found);
                if (found.within(options.tol)) break;
            }
            blocks_.refresh(rounds_);
            direction(gap, options.tol);
            if (!advance()) {
                certify(found);
                break;
            }
        }
        found.w = W_;
        found.offsets = F_.offsets();
        return found;
    }

  private:
    // Everything from W, in double.
    void certify(LaneSolution& found) {
        X_.exact.scores(team_, W_.data(), L_, Z_.data());
        F_.balance_to(F_.exact_balance);
        double const loss = F_.evaluate(Z_.data());
        F_.balance_to(rough_);
        std::vector<double> A(Z_.size());
        F_.residual(A.data());
        X_.exact.gather(team_, A.data(), L_, g_.data());
        found.primal = primal_ = loss + 0.5 * l2_ * inner_product(team_, W_, W_);
        found.dual = -F_.conjugate() - inner_product(team_, g_, g_) / (2 * l2_);
        each_entry(team_, g_.size(), [&](std::size_t k) { g_[k] += l2_ * W_[k]; });
    }

    void gradient() {
        std::vector<float> V(g_.size());
        F_.residual(R_.data());
        X_.fast.gather(team_, R_.data(), L_, V.data());
        primal_ = F_.value() + 0.5 * l2_ * inner_product(team_, W_, W_);
        each_entry(team_, g_.size(), [&](std::size_t k) { g_[k] = l2_ * W_[k] + static_cast<double>(V[k]); });
    }

    // Hd = (l2 I + X'HX) d, and Ud = X d. Intercepts are the last row of d, other offsets follow the scores.
    void hessian(std::vector<float> const& d, std::vector<float>& Hd, std::vector<float>& Ud) {
        float const* shift = q_ > X_.p ? d.data() + X_.p * L_ : nullptr;
        [[maybe_unused]] auto const curve = [&](std::size_t begin, std::size_t end) {
            if (shift != nullptr) {
                for (std::size_t i = begin; i < end; ++i) {
                    for (std::size_t k = 0; k < L_; ++k) R_[i * L_ + k] += shift[k];
                }
            }
            std::copy(R_.data() + begin * L_, R_.data() + end * L_, Ud.data() + begin * L_);
            F_.curve_rows(begin, end, Ud.data(), R_.data());
        };
        if constexpr (!Loss::intercepts) {
            X_.fast.scores(team_, d.data(), L_, Ud.data());
            F_.curve(Ud.data(), R_.data());
            X_.fast.gather(team_, R_.data(), L_, Hd.data());
        } else if constexpr (Rows::is_sparse) {
            X_.fast.scores(team_, d.data(), L_, R_.data());
            team_.each_range(X_.n, 256, [&](std::size_t begin, std::size_t end, std::size_t) { curve(begin, end); });
            X_.fast.gather(team_, R_.data(), L_, Hd.data());
        } else {
            X_.fast.round_trip(team_, d.data(), L_, R_.data(), Hd.data(), curve);
        }
        auto const l2 = static_cast<float>(l2_);
        each_entry(team_, X_.p * L_, [&](std::size_t k) { Hd[k] += l2 * d[k]; });
        if (shift != nullptr) {
            std::vector<double> total(L_, 0.0);
            for (std::size_t i = 0; i < X_.n; ++i) {
                for (std::size_t k = 0; k < L_; ++k) total[k] += static_cast<double>(R_[i * L_ + k]);
            }
            std::copy(total.begin(), total.end(), Hd.data() + X_.p * L_);
        }
    }

    void direction(double gap, double tol) {
        std::size_t const size = q_ * L_;
        std::vector<float> r(size, 0.0f), m(size, 0.0f), d(size), Hd(size), Ud(Z_.size());
        each_entry(team_, g_.size(), [&](std::size_t k) { r[k] = static_cast<float>(-g_[k]); });
        D_.assign(size, 0.0f);
        U_.assign(Z_.size(), 0.0f);
        blocks_.apply(r, m);
        d = m;
        double const rm = inner_product(team_, r, m);
        double const stop = rm * forcing(gap, tol);
        auto const bend = [&] {
            hessian(d, Hd, Ud);
            return inner_product(team_, d, Hd);
        };
        auto const step = [&](double length) {
            auto const alpha = static_cast<float>(length);
            each_entry(team_, size, [&](std::size_t k) {
                D_[k] += alpha * d[k];
                r[k] -= alpha * Hd[k];
            });
            each_entry(team_, Ud.size(), [&](std::size_t k) { U_[k] += alpha * Ud[k]; });
            blocks_.apply(r, m);
            double const left = inner_product(team_, r, m);
            return left > stop ? left : 0.0;
        };
        auto const turn = [&](double share) {
            auto const beta = static_cast<float>(share);
            each_entry(team_, size, [&](std::size_t k) { d[k] = m[k] + beta * d[k]; });
        };
        rounds_ = conjugate_gradients(rm, 200, bend, step, turn);
    }

    bool advance() {
        auto const D = [&](std::size_t k) { return static_cast<double>(D_[k]); };
        double slope = 0, W_D = 0, D_D = 0;
        for (std::size_t k = 0; k < W_.size(); ++k) {
            slope += g_[k] * D(k);
            W_D += W_[k] * D(k);
            D_D += D(k) * D(k);
        }
        double const penalty = 0.5 * l2_ * inner_product(team_, W_, W_);
        // U has the intercept's step in it; the profile absorbs it.
        double const t = step_length(team_, F_, Z_, U_, primal_, slope, [&](double loss, double step) {
            return loss + penalty + l2_ * step * (W_D + 0.5 * step * D_D);
        });
        if (t == 0) return false;
        each_entry(team_, W_.size(), [&](std::size_t k) { W_[k] += t * static_cast<double>(D_[k]); });
        return true;
    }

    Team& team_;
    LaneDesign<Rows> const& X_;
    Loss& F_;
    double l2_;
    std::size_t L_, q_;
    BlockPreconditioner<Rows, Loss> blocks_;
    std::vector<double> Z_, W_, g_;
    std::vector<float> D_, U_, R_;
    double primal_ = 0, rough_ = 0;
    int rounds_ = 0;  // of the last conjugate gradients
};

}  // namespace tallywise::linear
