// Truncated Newton in the space of samples, for fewer samples than features.
//
// Minimises  P(W, b) = sum_i s_i l(y_i, W'x_i + b) + l2/2 |W|^2,   l2 > 0.
//
// Every gradient is l2 W + X'A with A the residuals, so from W = 0 every iterate is W = X'M with one row of M a sample.
// Newton's system (l2 I + X'HX) D = -(l2 W + X'A) becomes, with D = X'E and G = XX',
//
//   (l2 I + H G) E = -(l2 M + A),
//
// self-adjoint in the inner product <E, F> = tr E'GF, and conjugate gradients in it costs one product with G an
// iteration and vectors of length n K instead of p K (20newsgroups: 0.9 MB that stay in cache instead of 10 MB that do
// not). A start W0 adds one coordinate: W = X'M + c W0.
//
// The products are in float; M, the scores and the residuals are double, and the residual of Newton's system is taken
// anew in each Newton iteration, so float limits how far one iteration gets, not how far they get together.
//
// With the intercept profiled out, the duality gap at W is |gradient|^2 / (2 l2): conjugate gradients starts from it.
//
// At W = 0 several classes are all unlikely, the loss curves less than it does further on, and steps under a weak
// penalty go far beyond where their model holds: they were cut to an eighth. The first steps of a fit of several
// classes are therefore taken under a stronger penalty, which becomes a quarter of itself with each of them (77
// classes, C = 100: 51 products instead of 200, and a tenth of the time; C = 1: the same 21).
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/base/interrupt.hpp"
#include "core/linear/conjugate_gradients.hpp"
#include "core/linear/lane_solution.hpp"
#include "core/linear/offsets.hpp"
#include "core/linear/sample_products.hpp"
#include "core/linear/vectors.hpp"

namespace tallywise::linear {

template <class Rows, class Loss>
class NewtonSamples {
  public:
    NewtonSamples(Team& team, SampleProducts<Rows>& X, Loss& loss, double l2)
        : team_(team), X_(X), F_(loss), goal_(l2), l2_(l2), L_(loss.stride()) {}

    LaneSolution solve(SolveOptions const& options, double const* w0) {
        std::size_t const size = X_.n * L_;
        M_.assign(size, 0.0);
        Z_.assign(size, 0.0);
        W_.assign(X_.p * L_, 0.0);
        if (w0 != nullptr) {
            start_from(w0);
        } else if (F_.lanes() > 1) {
            l2_ = std::max(goal_, first_penalty());
        }
        LaneSolution found;
        found.floor = F_.rounding();
        F_.balance_to(rough_ = F_.rough_balance(options.tol));
        double gap = infinity;
        F_.evaluate(Z_.data());
        for (found.iterations = 0;; ++found.iterations) {
            check_interrupt();
            // Close to the end, and at the end, everything is taken anew in double from W.
            if (gap < 1e-2 || found.iterations == options.max_iter) {
                certify(found);
                gap = found.relative_gap();
                if (found.within(options.tol) || found.iterations == options.max_iter) break;
            }
            bool const ahead = l2_ > goal_;  // of the penalty that was asked for
            gap = direction(options.tol);
            if (!ahead && gap <= options.tol && gap > 0) {  // as far as float sees
                certify(found);
                if (found.within(options.tol)) break;
            }
            if (!advance() && !ahead) {
                certify(found);
                break;
            }
            if (ahead) {
                gap = infinity;
                l2_ = std::max(goal_, 0.25 * l2_);
            }
        }
        found.w = W_;
        found.offsets = F_.offsets();
        return found;
    }

  private:
    void start_from(double const* w0) {
        W0_.assign(w0, w0 + X_.p * L_);
        Z0_.assign(X_.n * L_, 0.0);
        X_.scores(team_, W0_.data(), Z0_.data());
        W0_W0_ = inner_product(team_, W0_, W0_);
        c_ = 1;
        Z_ = Z0_;
    }

    // <W0, X'E + e W0>
    template <class E>
    double against_start(E const& e, double coefficient) {
        return Z0_.empty() ? 0.0 : inner_product(team_, e, Z0_) + coefficient * W0_W0_;
    }

    // At which a sample of average length and of the largest curvature, 1/2, weighs as much as the penalty.
    double first_penalty() const {
        double total = 0, samples = 0;
        for (std::size_t i = 0; i < X_.n; ++i) {
            if (!(F_.weight(i) > 0)) continue;
            total += F_.weight(i) * X_.squared_length(i);
            ++samples;
        }
        return samples > 0 ? 0.5 * total / samples : 0.0;
    }

    void certify(LaneSolution& found) {
        l2_ = goal_;
        X_.weights(team_, M_.data(), W_.data());
        if (!Z0_.empty()) each_entry(team_, W_.size(), [&](std::size_t k) { W_[k] += c_ * W0_[k]; });
        X_.scores(team_, W_.data(), Z_.data());
        F_.balance_to(F_.exact_balance);
        double const loss = F_.evaluate(Z_.data());
        F_.balance_to(rough_);
        std::vector<double> A(Z_.size()), V(W_.size());
        F_.residual(A.data());
        X_.weights(team_, A.data(), V.data());
        found.primal = loss + 0.5 * l2_ * inner_product(team_, W_, W_);
        found.dual = -F_.conjugate() - inner_product(team_, V, V) / (2 * l2_);
    }

    // Gr = X (X'r + rc W0), and <r, r> in the space of W.
    double apply(std::vector<float> const& r, double rc, std::vector<float>& Gr) {
        X_.gram(team_, r.data(), Gr.data());
        if (!Z0_.empty()) {
            auto const c = static_cast<float>(rc);
            each_entry(team_, Gr.size(), [&](std::size_t k) { Gr[k] += c * static_cast<float>(Z0_[k]); });
        }
        return inner_product(team_, r, Gr) + rc * against_start(r, rc);
    }

    // Conjugate gradients for Newton's direction (E, e). Returns the relative gap before the step.
    double direction(double tol) {
        std::size_t const size = Z_.size();
        for (auto* v : {&r_, &Gr_, &Bd_}) v->resize(size);
        auto &r = r_, &d = d_, &Gr = Gr_, &Gd = Gd_, &Bd = Bd_;
        auto& A = A_;
        A.resize(size);
        F_.residual(A.data());
        each_entry(team_, size, [&](std::size_t k) { r[k] = static_cast<float>(-(l2_ * M_[k] + A[k])); });
        double rc = -l2_ * c_;
        double const rr = apply(r, rc, Gr);
        norm_ = inner_product(team_, M_, Z_) + c_ * against_start(M_, c_);
        primal_ = F_.value() + 0.5 * l2_ * norm_;
        double const gap = relative_gap(primal_, primal_ - rr / (2 * l2_));
        r0_ = r;
        rc0_ = rc;
        E_.assign(size, 0.0f);
        U_.assign(size, 0.0f);
        e_ = 0;
        d = r;
        Gd = Gr;
        double dc = rc;
        double const stop = rr * forcing(gap, tol);
        auto const bend = [&] {
            F_.curve(Gd.data(), Bd.data());
            auto const l2 = static_cast<float>(l2_);
            each_entry(team_, size, [&](std::size_t k) { Bd[k] += l2 * d[k]; });
            return inner_product(team_, Bd, Gd) + l2_ * dc * against_start(d, dc);
        };
        // The product with G that tells how much is left is also all that one more step needs: the last one goes
        // without a product of its own, and is taken where it is expected to do as well as the one before (words and
        // pairs: 21 products a fit instead of 25).
        double before = rr;
        bool last = false;
        auto const step = [&](double alpha) {
            auto const a = static_cast<float>(alpha);
            each_entry(team_, size, [&](std::size_t k) {
                E_[k] += a * d[k];
                U_[k] += a * Gd[k];
                r[k] -= a * Bd[k];
            });
            e_ += alpha * dc;
            rc -= alpha * l2_ * dc;
            if (last) return 0.0;
            double const left = apply(r, rc, Gr);
            last = left * std::min(1.0, left / before) <= stop;
            before = left;
            return left;
        };
        auto const turn = [&](double share) {
            auto const beta = static_cast<float>(share);
            each_entry(team_, size, [&](std::size_t k) {
                d[k] = r[k] + beta * d[k];
                Gd[k] = Gr[k] + beta * Gd[k];
            });
            dc = rc + share * dc;
        };
        conjugate_gradients(rr, 200, bend, step, turn);
        return gap;
    }

    // A step along the direction that lowers P enough; false when float cannot find one any more.
    bool advance() {
        double const W0_D = against_start(E_, e_);
        double const W_D = inner_product(team_, M_, U_) + c_ * W0_D;
        double const D_D = inner_product(team_, E_, U_) + e_ * W0_D;
        double const slope = -(inner_product(team_, r0_, U_) + rc0_ * W0_D);
        double const t = step_length(team_, F_, Z_, U_, primal_, slope, [&](double loss, double step) {
            return loss + 0.5 * l2_ * (norm_ + step * (2 * W_D + step * D_D));
        });
        if (t == 0) return false;
        each_entry(team_, M_.size(), [&](std::size_t k) { M_[k] += t * static_cast<double>(E_[k]); });
        c_ += t * e_;
        return true;
    }

    Team& team_;
    SampleProducts<Rows>& X_;
    Loss& F_;
    double goal_, l2_;  // the penalty asked for, and that of the present step
    std::size_t L_;
    std::vector<double> M_, Z_, W_, W0_, Z0_, A_;
    double c_ = 0, W0_W0_ = 0, norm_ = 0, primal_ = 0, rc0_ = 0, e_ = 0, rough_ = 0;
    std::vector<float> E_, U_, r0_;
    std::vector<float> r_, d_, Gr_, Gd_, Bd_;  // of conjugate gradients
};

}  // namespace tallywise::linear
