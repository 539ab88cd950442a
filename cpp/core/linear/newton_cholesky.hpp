// Newton's method with the whole Hessian, for few weights: K p of them and the offsets, under any elastic net or none.
//
// Minimises  P(W) = F(XW) + l1 |W|_1 + l2/2 |W|^2,   l1, l2 >= 0, in double throughout,
//
// for a loss F of scores with its offsets at their best (offsets.hpp). With l1 > 0 the quadratic model is minimised on
// the Hessian itself (orthants.hpp), whose cost does not depend on the number of samples.
//
// Directions that the data do not see (a constant column beside the intercept, one vector added to the weights of all
// classes) get no step. The dual point is the residual that Newton's next step D would leave, to first order:
// a' = a + H X D. Then X'a' = -l2 (W + D), which is 0 without a penalty: dual feasible where the residual itself is
// not. Newton moves towards infinity when a hyperplane separates the classes and there is no penalty; that is for the
// caller to tell.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/base/cholesky.hpp"
#include "core/base/interrupt.hpp"
#include "core/linear/class_gram.hpp"
#include "core/linear/lane_solution.hpp"
#include "core/linear/offsets.hpp"
#include "core/linear/orthants.hpp"
#include "core/linear/penalties.hpp"
#include "core/linear/vectors.hpp"
#include "core/linear/weighted_gram.hpp"

namespace tallywise::linear {

template <class Rows, class Loss>
class NewtonCholesky {
  public:
    NewtonCholesky(Team& team, Rows const& X, Loss& loss, ElasticNet const& penalty)
        : team_(team),
          X_(X),
          F_(loss),
          penalty_(penalty),
          K_(loss.lanes()),
          L_(loss.stride()),
          weights_(X.width * K_),
          m_(weights_ + loss.offsets().size()),
          q_(X.width + (Loss::intercepts && m_ > weights_)) {}

    LaneSolution solve(SolveOptions const& options, double const* w0) {
        W_.assign(weights_, 0.0);
        if (w0 != nullptr) {
            for (std::size_t j = 0; j < X_.width; ++j) std::copy(w0 + j * L_, w0 + j * L_ + K_, W_.data() + j * K_);
        }
        LaneSolution found;
        found.dual = -infinity;
        scores(W_, Z_);
        F_.evaluate(Z_.data());
        double best_primal = infinity, best_dual = -infinity;
        int idle = 0;
        for (found.iterations = 0;; ++found.iterations) {
            check_interrupt();
            A_.assign(Z_.size(), 0.0);
            F_.residual(A_.data());
            V_ = gather(A_);
            bool const sound = certify(found);
            // The whole Hessian is not needed to see that this is the end, where nothing else asks for it.
            if (sound && found.within(options.tol)) break;
            // So small a loss has every sample on its side of a hyperplane: without a penalty it falls for ever.
            if (!penalised() && F_.value() < 1e-4 * F_.least_weight()) break;
            direction();
            certify_ahead(found);
            if ((sound && found.within(options.tol)) || found.iterations >= options.max_iter) break;
            idle = found.primal < best_primal || found.dual > best_dual ? 0 : idle + 1;
            best_primal = std::min(best_primal, found.primal);
            best_dual = std::max(best_dual, found.dual);
            if (idle == 3) break;  // only rounding is left
            bool const moved = advance();
            if (!moved && (penalty_.l1 == 0 || damping_.exhausted())) break;
            if (!moved) idle = 0;
        }
        found.w.assign(X_.width * L_, 0.0);
        for (std::size_t j = 0; j < X_.width; ++j) {
            std::copy(W_.data() + j * K_, W_.data() + (j + 1) * K_, found.w.data() + j * L_);
        }
        found.offsets = F_.offsets();
        return found;
    }

    // The inverse of the Hessian where the last solve ended, over (feature, lane) with the offsets last: the covariance
    // of unpenalised weights. NaN where the data do not tell.
    std::vector<double> covariance() {
        assemble();
        std::vector<double> factor = hessian_, inverse(m_ * m_, 0.0);
        std::vector<double> const scale = equilibrate(factor, m_);
        bool const lost = cholesky(factor.data(), m_, 1e-13) > 0;
        team_.each(m_, [&](std::size_t a) {
            double* row = inverse.data() + a * m_;
            row[a] = scale[a];
            cholesky_solve(factor.data(), m_, row);
            for (std::size_t c = 0; c < m_; ++c) {
                row[c] = lost ? std::numeric_limits<double>::quiet_NaN() : row[c] * scale[c];
            }
        });
        return inverse;
    }

  private:
    bool penalised() const { return penalty_.l1 + penalty_.l2 > 0; }

    void scores(std::vector<double> const& W, std::vector<double>& Z) {
        Z.assign(X_.lines * L_, 0.0);
        team_.each_range(X_.lines, 256, [&](std::size_t begin, std::size_t end, std::size_t) {
            for (std::size_t i = begin; i < end; ++i) {
                if (K_ == 1) {
                    Z[i * L_] = X_.dot(i, W.data());
                    continue;
                }
                X_.each(i, [&](std::size_t j, auto x) {
                    for (std::size_t k = 0; k < K_; ++k) Z[i * L_ + k] += static_cast<double>(x) * W[j * K_ + k];
                });
            }
        });
    }

    // Sums over the rows, in pieces that are added in order: add(i, part) adds row i.
    template <class Add>
    std::vector<double> sum_rows(std::size_t size, Add&& add) {
        std::size_t const grain = std::max<std::size_t>(256, (X_.lines + 15) / 16);
        std::vector<double> parts(Team::count(X_.lines, grain) * size, 0.0), total(size, 0.0);
        team_.each_range(X_.lines, grain, [&](std::size_t begin, std::size_t end, std::size_t chunk) {
            for (std::size_t i = begin; i < end; ++i) add(i, parts.data() + chunk * size);
        });
        for (std::size_t c = 0; c < parts.size(); ++c) total[c % size] += parts[c];
        return total;
    }

    // X'A over p x K.
    std::vector<double> gather(std::vector<double> const& A) {
        return sum_rows(weights_, [&](std::size_t i, double* part) {
            if (K_ == 1) return X_.axpy(i, A[i * L_], part);
            X_.each(i, [&](std::size_t j, auto x) {
                for (std::size_t k = 0; k < K_; ++k) part[j * K_ + k] += static_cast<double>(x) * A[i * L_ + k];
            });
        });
    }

    // d2P/d(W, c)2, lower triangle, the offsets last.
    void assemble() {
        if (K_ == 1) {
            assemble_one();
        } else {
            hessian_ = class_gram(
                team_, X_, q_ > X_.width ? 1.0 : 0.0, K_, [](std::size_t) { return true; },
                [&](std::size_t i, std::size_t k, std::size_t l) { return F_.curvature(i, k, l); });
        }
        for (std::size_t a = 0; a < weights_; ++a) hessian_[a * m_ + a] += penalty_.l2;
    }

    void assemble_one() {
        std::vector<double> h(X_.lines);
        for (std::size_t i = 0; i < X_.lines; ++i) h[i] = F_.curvature(i, 0, 0);
        std::vector<double> gram = weighted_gram(team_, X_, h.data(), q_ > X_.width ? 1.0 : 0.0);
        if constexpr (Loss::intercepts) {
            hessian_ = std::move(gram);
        } else {
            std::size_t const p = X_.width, T = m_ - weights_;
            std::vector<double> const cross = sum_rows(T * p, [&](std::size_t i, double* part) {
                F_.each_cross(i, [&](std::size_t o, double c) { X_.axpy(i, c, part + o * p); });
            });
            hessian_.assign(m_ * m_, 0.0);
            for (std::size_t j = 0; j < p; ++j) std::copy_n(gram.data() + j * p, j + 1, hessian_.data() + j * m_);
            for (std::size_t o = 0; o < T; ++o) {
                std::copy_n(cross.data() + o * p, p, hessian_.data() + (p + o) * m_);
                std::copy_n(F_.offset_hessian().data() + o * T, o + 1, hessian_.data() + (p + o) * m_ + p);
            }
        }
    }

    // D_: Newton's step over (W, c), and U_ = X D, its scores without the offsets.
    void direction() {
        gradient_ = V_;
        gradient_.resize(m_, 0.0);
        for (std::size_t a = 0; a < weights_; ++a) gradient_[a] += penalty_.l2 * W_[a];
        assemble();
        if (penalty_.l1 > 0) {
            descend();
        } else {
            std::vector<double> const scale = equilibrate(hessian_, m_);
            cholesky(hessian_.data(), m_, 1e-13);
            D_.resize(m_);
            for (std::size_t a = 0; a < m_; ++a) D_[a] = -scale[a] * gradient_[a];
            cholesky_solve(hessian_.data(), m_, D_.data());
            for (std::size_t a = 0; a < m_; ++a) D_[a] *= scale[a];
        }
        scores(D_, U_);
    }

    // D_ minimises the model under the L1 penalty, the offsets taken out of it: they follow the weights.
    void descend() {
        std::size_t const T = m_ - weights_;
        std::vector<double> H(weights_ * weights_), solved(weights_ * T);
        for (std::size_t a = 0; a < weights_; ++a) {
            double* to = solved.data() + a * T;
            for (std::size_t o = 0; o < T; ++o) to[o] = hessian_[(weights_ + o) * m_ + a];
            if (T > 0) F_.solve_offsets(to);
        }
        team_.each_range(weights_, 16, [&](std::size_t begin, std::size_t end, std::size_t) {
            for (std::size_t a = begin; a < end; ++a) {
                std::copy_n(hessian_.data() + a * m_, a + 1, H.data() + a * weights_);
                for (std::size_t o = 0; o < T; ++o) {
                    axpy(-solved[a * T + o], hessian_.data() + (weights_ + o) * m_, H.data() + a * weights_, a + 1);
                }
            }
        });
        for (std::size_t a = 0; a < weights_; ++a) {
            // A column that the offsets stand for has nothing left but rounding.
            bool const seen = H[a * weights_ + a] > 1e-13 * hessian_[a * m_ + a];
            for (std::size_t c = 0; c < a; ++c) H[c * weights_ + a] = H[a * weights_ + c];
            if (!seen) H[a * weights_ + a] = 0;
        }
        if (damping_.value > 0) {
            std::vector<double> const squares = sum_rows(X_.width, [&](std::size_t i, double* part) {
                X_.each(i, [&](std::size_t j, auto x) {
                    part[j] += F_.weight(i) * static_cast<double>(x) * static_cast<double>(x);
                });
            });
            for (std::size_t a = 0; a < weights_; ++a) H[a * weights_ + a] += damping_.value * squares[a / K_];
        }
        gradient_.resize(weights_);
        minimise(H);
        for (std::size_t a = 0; a < weights_; ++a) {
            for (std::size_t o = 0; o < T; ++o) D_[weights_ + o] -= solved[a * T + o] * D_[a];
        }
    }

    // D_ minimises the model with the matrix H over the weights. How much may be left of the optimality conditions
    // falls with what was there, so that Newton's method keeps its speed.
    void minimise(std::vector<double> const& H) {
        ElasticNet const rest{penalty_.l1, 0};  // H and the gradient have the part of l2
        double worst = 0;
        for (std::size_t a = 0; a < weights_; ++a) {
            if (H[a * weights_ + a] > 0) worst = std::max(worst, rest.distance(W_[a], gradient_[a]));
        }
        std::vector<double> slope = gradient_;
        Orthants<ElasticNet> problem(H, rest, slope, W_);
        problem.minimise(std::max(1e-4 * worst * std::min(1.0, worst / rest.l1), 1e-13 * rest.l1));
        D_.assign(m_, 0.0);
        for (std::size_t a = 0; a < weights_; ++a) D_[a] = problem.weight(a) - W_[a];
    }

    double penalty_value(std::vector<double> const& W) const {
        double total = 0;
        for (std::size_t a = 0; a < weights_; ++a) total += penalty_.value(W[a]);
        return total;
    }

    // The primal, and the dual at the residual itself, which is feasible when there is a penalty. False where the
    // answer is not to be taken yet: no weight in use although one wants to be.
    bool certify(LaneSolution& found) {
        found.primal = F_.value() + penalty_value(W_);
        if (!penalised()) found.dual = -infinity;
        if (penalty_.l1 > 0) return shrink(found);
        if (penalty_.l2 > 0) consider(found, V_, F_.conjugate(), {});
        return true;
    }

    // The dual at the residual that the step would leave, to first order: much nearer to the optimum.
    void certify_ahead(LaneSolution& found) {
        if (penalty_.l1 > 0) return;
        std::vector<double> A(A_.size(), 0.0), left;
        double const conjugate = F_.conjugate_ahead(U_.data(), D_.data() + weights_, A.data(), left);
        if (conjugate < infinity) consider(found, gather(A), conjugate, left);
    }

    // The dual at the residual A under an L1 penalty, and at A shrunk until |X'A| <= l1.
    bool shrink(LaneSolution& found) {
        double top = 0;
        for (double v : V_) top = std::max(top, std::abs(v));
        double const t = top > penalty_.l1 ? penalty_.l1 / top : 1.0;
        for (double scale : {t, 1.0}) {
            if (scale > t && penalty_.l2 == 0) continue;
            double total = -F_.conjugate(scale);
            for (double v : V_) total -= scale > t ? penalty_.conjugate(scale * v) : 0.0;
            found.dual = std::max(found.dual, total);
        }
        if (t < 1 && penalty_.l2 == 0) forgive_rounding(found);
        return t == 1 || std::any_of(W_.begin(), W_.end(), [](double w) { return w != 0; });
    }

    // The dual at the residual A itself, where |X'A| is above l1 by no more than rounding of the sums that it is: that
    // costs at most its product with the weights, as without a penalty.
    void forgive_rounding(LaneSolution& found) {
        std::vector<double> const sizes = sum_rows(weights_, [&](std::size_t i, double* part) {
            X_.each(i, [&](std::size_t j, auto x) {
                double const size = std::abs(static_cast<double>(x));
                for (std::size_t k = 0; k < K_; ++k) part[j * K_ + k] += size * std::abs(A_[i * L_ + k]);
            });
        });
        double cost = 0;
        for (std::size_t a = 0; a < weights_; ++a) {
            double const excess = std::abs(V_[a]) - penalty_.l1;
            if (excess > 1e-11 * sizes[a]) return;
            if (excess > 0) cost += 2 * excess * (std::abs(W_[a]) + (D_.empty() ? 0.0 : std::abs(D_[a])));
        }
        found.dual = std::max(found.dual, -F_.conjugate() - cost);
    }

    // The dual at residuals with X'A = V and `left` over of the offsets' constraint. Without a penalty V and `left` are
    // rounding, which costs at most its product with the weights.
    void consider(LaneSolution& found, std::vector<double> const& V, double conjugate,
                  std::vector<double> const& left) {
        double cost = 0;
        for (std::size_t a = 0; a < weights_; ++a) {
            cost += penalty_.l2 > 0 ? V[a] * V[a] / (2 * penalty_.l2)
                                    : 2 * std::abs(V[a]) * (std::abs(W_[a]) + std::abs(D_[a]));
        }
        for (std::size_t o = 0; o < left.size(); ++o) {
            cost += 2 * std::abs(left[o]) * (std::abs(F_.offsets()[o]) + std::abs(D_[weights_ + o]));
        }
        found.dual = std::max(found.dual, -conjugate - cost);
    }

    bool advance() {
        // The gradient has l2 W in it, so that only the L1 part of the penalty is added.
        double slope = 0;
        for (std::size_t a = 0; a < weights_; ++a) {
            slope += gradient_[a] * D_[a] + penalty_.l1 * (std::abs(W_[a] + D_[a]) - std::abs(W_[a]));
        }
        double const before = F_.value() + penalty_value(W_);
        // Nothing that double could see, of the objective or of the weights in units of their standard errors.
        if (!(-slope > 1e-22 * before)) {
            damping_.value = infinity;
            return false;
        }
        std::vector<double> const from = W_;
        double const t = step_length(team_, F_, Z_, U_, before, slope, [&](double loss, double step) {
            for (std::size_t a = 0; a < weights_; ++a) W_[a] = from[a] + step * D_[a];
            return loss + penalty_value(W_);
        });
        damping_.learn(t);
        if (t == 0) W_ = from;
        return t > 0;
    }

    Team& team_;
    Rows X_;
    Loss& F_;
    ElasticNet penalty_;
    std::size_t K_, L_, weights_, m_, q_;
    Damping damping_;  // under L1; without it Newton's steps are shortened as they are
    std::vector<double> W_, Z_, U_, A_, V_, gradient_, D_, hessian_;
};

}  // namespace tallywise::linear
