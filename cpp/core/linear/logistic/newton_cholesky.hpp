// Newton's method with the whole Hessian, for few weights: K (p + 1) of them, under any elastic net or none.
//
// Minimises  P(W, b) = sum_i s_i l(y_i, W'x_i + b) + l1 |W|_1 + l2/2 |W|^2,   l1, l2 >= 0, in double throughout.
//
// With l1 > 0 the quadratic model is minimised by coordinate descent on the Hessian itself, whose cost does not depend
// on the number of samples (wine, six classes: 0.1 s where steps on the columns took 11).
//
// Directions that the data do not see (a constant column beside the intercept, one vector added to the weights of all
// classes) get no step. The dual point is the residual that Newton's next step d would leave, to first order:
// a' = a - H X d. Then X'a' = -l2 (W - d), which is 0 without a penalty: dual feasible where the residual itself is
// not. Newton moves towards infinity when a hyperplane separates the classes and there is no penalty; that is for the
// caller to tell.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "core/base/cholesky.hpp"
#include "core/base/gemm.hpp"
#include "core/base/interrupt.hpp"
#include "core/data/lane_design.hpp"
#include "core/linear/logistic/profiled_loss.hpp"
#include "core/linear/penalties.hpp"
#include "core/linear/solution.hpp"
#include "core/linear/vectors.hpp"
#include "core/linear/weighted_gram.hpp"

namespace tallywise {

template <class Rows>
class NewtonCholesky {
  public:
    NewtonCholesky(Team& team, Rows const& X, ProfiledLoss& loss, ElasticNet const& penalty, bool fit_intercept)
        : team_(team),
          X_(X),
          F_(loss),
          l1_(penalty.l1),
          l2_(penalty.l2),
          K_(loss.classes()),
          L_(loss.lanes()),
          q_(X.width + fit_intercept) {}

    ClassSolution solve(SolveOptions const& options, double const* w0) {
        W_.assign(q_ * K_, 0.0);
        if (w0 != nullptr) {
            for (std::size_t j = 0; j < X_.width; ++j) std::copy(w0 + j * L_, w0 + j * L_ + K_, W_.data() + j * K_);
        }
        ClassSolution found;
        found.floor = l1_ + l2_ > 0 ? F_.rounding() : 0.0;
        scores(W_, Z_);
        F_.evaluate(Z_.data());
        for (found.iterations = 0;; ++found.iterations) {
            check_interrupt();
            gather_residual();
            certify(found);
            // The whole Hessian is not needed to see that this is the end, where nothing else asks for it.
            if (found.iterations > 0 && found.within(options.tol)) break;
            direction();
            certify_ahead(found);
            if (found.within(options.tol) || found.iterations == options.max_iter || !advance()) break;
        }
        found.w.assign(X_.width * L_, 0.0);
        for (std::size_t j = 0; j < X_.width; ++j) {
            std::copy(W_.data() + j * K_, W_.data() + (j + 1) * K_, found.w.data() + j * L_);
        }
        found.b = F_.b();
        return found;
    }

    // The inverse of the Hessian where the last solve ended, over (feature, lane) with the intercept last: the
    // covariance of unpenalised weights. NaN where the data do not tell.
    std::vector<double> covariance() {
        std::size_t const m = q_ * K_;
        std::vector<double> factor = hessian_, inverse(m * m, 0.0);
        bool const lost = cholesky(factor.data(), m, 1e-12) > 0;
        team_.each(m, [&](std::size_t a) {
            double* row = inverse.data() + a * m;
            row[a] = 1;
            cholesky_solve(factor.data(), m, row);
            if (lost) std::fill(row, row + m, std::numeric_limits<double>::quiet_NaN());
        });
        return inverse;
    }

  private:
    // f(j, x_j) over the entries of row i and, with an intercept, f(p, 1).
    template <class G>
    void entries(std::size_t i, G&& f) const {
        X_.each(i, [&](std::size_t j, auto x) { f(j, static_cast<double>(x)); });
        if (q_ > X_.width) f(X_.width, 1.0);
    }

    void scores(std::vector<double> const& W, std::vector<double>& Z) {
        Z.assign(X_.lines * L_, 0.0);
        team_.each_range(X_.lines, 256, [&](std::size_t begin, std::size_t end, std::size_t) {
            for (std::size_t i = begin; i < end; ++i) {
                if (K_ == 1) {
                    Z[i] = X_.dot(i, W.data()) + (q_ > X_.width ? W[X_.width] : 0.0);
                    continue;
                }
                entries(i, [&](std::size_t j, double x) {
                    for (std::size_t k = 0; k < K_; ++k) Z[i * L_ + k] += x * W[j * K_ + k];
                });
            }
        });
    }

    // X'A over q x K, in pieces of rows that are added in order.
    std::vector<double> gather(std::vector<double> const& A) {
        std::size_t const size = q_ * K_, grain = std::max<std::size_t>(256, (X_.lines + 15) / 16);
        std::vector<double> parts(Team::count(X_.lines, grain) * size, 0.0), total(size, 0.0);
        team_.each_range(X_.lines, grain, [&](std::size_t begin, std::size_t end, std::size_t chunk) {
            double* part = parts.data() + chunk * size;
            for (std::size_t i = begin; i < end; ++i) {
                if (K_ == 1) {
                    X_.axpy(i, A[i], part);
                    if (q_ > X_.width) part[X_.width] += A[i];
                    continue;
                }
                entries(i, [&](std::size_t j, double x) {
                    for (std::size_t k = 0; k < K_; ++k) part[j * K_ + k] += x * A[i * L_ + k];
                });
            }
        });
        for (std::size_t c = 0; c < parts.size(); ++c) total[c % size] += parts[c];
        return total;
    }

    // H = l2 I + sum_i s_i (x_i x_i') (x) (diag p_i - p_i p_i'), lower triangle.
    void assemble() {
        if (Rows::is_sparse && X_.nonzeros() * 4 < X_.lines * X_.width) {
            assemble_sparse();
        } else {
            assemble_dense();
        }
        std::size_t const m = q_ * K_;
        for (std::size_t a = 0; a < X_.width * K_; ++a) hessian_[a * m + a] += l2_;
    }

    // Entry by entry, in pieces of rows with sums of their own, added in order.
    void assemble_sparse() {
        if (K_ == 1) {
            std::vector<double> h(X_.lines);
            for (std::size_t i = 0; i < X_.lines; ++i) h[i] = F_.weight_of(i) * F_.p()[i * L_] * (1 - F_.p()[i * L_]);
            hessian_ = weighted_gram(team_, X_, h.data(), q_ > X_.width ? 1.0 : 0.0);
            return;
        }
        std::size_t const m = q_ * K_, pieces = std::clamp<std::size_t>((std::size_t{1} << 22) / (m * m), 1, 16);
        std::size_t const grain = (X_.lines + pieces - 1) / pieces;
        std::vector<double> parts(pieces * m * m, 0.0);
        team_.each_range(X_.lines, grain, [&](std::size_t begin, std::size_t end, std::size_t piece) {
            double* H = parts.data() + piece * m * m;
            std::vector<std::pair<std::size_t, double>> row;
            for (std::size_t i = begin; i < end; ++i) {
                row.clear();
                entries(i, [&](std::size_t j, double x) { row.emplace_back(j, x); });
                std::sort(row.begin(), row.end());  // rows come in any order, the triangle does not
                double const* p = F_.p() + i * L_;
                for (std::size_t k = 0; k < K_; ++k) {
                    for (std::size_t l = 0; l < K_; ++l) {
                        double const h = F_.weight_of(i) * p[k] * (k == l ? 1 - p[k] : -p[l]);
                        for (std::size_t a = 0; a < row.size(); ++a) {
                            double const hx = h * row[a].second;
                            double* line = H + (row[a].first * K_ + k) * m + l;
                            for (std::size_t c = 0; c <= a; ++c) line[row[c].first * K_] += hx * row[c].second;
                        }
                    }
                }
            }
        });
        hessian_.assign(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(m * m));
        for (std::size_t piece = 1; piece < pieces; ++piece) {
            for (std::size_t a = 0; a < m * m; ++a) hessian_[a] += parts[piece * m * m + a];
        }
    }

    // As one product of matrices for each pair of classes.
    void assemble_dense() {
        std::size_t const m = q_ * K_;
        constexpr std::size_t block = 2048;
        hessian_.assign(m * m, 0.0);
        for (std::size_t first = 0; first < X_.lines; first += block) {
            check_interrupt();
            std::size_t const rows = std::min(block, X_.lines - first);
            std::vector<double> Y(q_ * rows, 0.0);
            for (std::size_t r = 0; r < rows; ++r) {
                entries(first + r, [&](std::size_t j, double x) { Y[j * rows + r] += x; });
            }
            PackedRows<double> const packed(Y.data(), rows, q_, rows);
            team_.each(K_ * (K_ + 1) / 2, [&](std::size_t pair) {
                std::size_t k = 0;
                while ((k + 1) * (k + 2) / 2 <= pair) ++k;
                std::size_t const l = pair - k * (k + 1) / 2;
                std::vector<double> scaled(q_ * rows), h(rows), C(q_ * q_);
                for (std::size_t r = 0; r < rows; ++r) {
                    double const* p = F_.p() + (first + r) * L_;
                    h[r] = F_.weight_of(first + r) * p[k] * (k == l ? 1 - p[k] : -p[l]);
                }
                for (std::size_t j = 0; j < q_; ++j) {
                    for (std::size_t r = 0; r < rows; ++r) scaled[j * rows + r] = Y[j * rows + r] * h[r];
                }
                multiply(scaled.data(), rows, q_, packed, 0, q_, C.data(), q_);
                for (std::size_t i = 0; i < q_; ++i) {
                    for (std::size_t j = 0; j < q_; ++j) hessian_[(i * K_ + k) * m + j * K_ + l] += C[i * q_ + j];
                }
            });
        }
        // Pairs (k, l) with k >= l filled whole blocks: what belongs to (l, k) is their transpose.
        for (std::size_t i = 0; i < q_; ++i) {
            for (std::size_t j = 0; j < i; ++j) {
                for (std::size_t k = 0; k < K_; ++k) {
                    for (std::size_t l = k + 1; l < K_; ++l) {
                        hessian_[(i * K_ + k) * m + j * K_ + l] = hessian_[(j * K_ + l) * m + i * K_ + k];
                    }
                }
            }
        }
    }

    // A_ = s dl/dz and V_ = X'A at the current point.
    void gather_residual() {
        A_.assign(Z_.size(), 0.0);
        F_.residual(A_.data());
        V_ = gather(A_);
    }

    // step_ = H^-1 gradient at the current point.
    void direction() {
        gradient_ = V_;
        std::fill(gradient_.begin() + static_cast<std::ptrdiff_t>(X_.width * K_), gradient_.end(), 0.0);
        for (std::size_t a = 0; a < X_.width * K_; ++a) gradient_[a] += l2_ * W_[a];
        assemble();
        if (l1_ > 0) {
            descend();
        } else {
            std::vector<double> factor = hessian_;
            cholesky(factor.data(), q_ * K_, 1e-13);
            step_ = gradient_;
            cholesky_solve(factor.data(), q_ * K_, step_.data());
        }
        scores(step_, U_);
    }

    // step_ = -d for the d that minimises g'd + d'Hd/2 + l1 |W + d|_1, the intercept without a penalty.
    void descend() {
        std::size_t const m = q_ * K_;
        for (std::size_t a = 0; a < m; ++a) {
            for (std::size_t c = a + 1; c < m; ++c) hessian_[a * m + c] = hessian_[c * m + a];
        }
        step_.assign(m, 0.0);
        std::vector<double> slope = gradient_;  // g + H d
        double first = 0;
        for (int epoch = 0; epoch < 2000; ++epoch) {
            bool const everything = epoch % 10 == 0;
            double violation = 0;
            for (std::size_t a = 0; a < m; ++a) {
                double const c = hessian_[a * m + a], now = W_[a] - step_[a];
                bool const penalised = a < X_.width * K_;
                if (c <= 0 || (!everything && penalised && now == 0 && W_[a] == 0)) continue;
                double const next = penalised ? ElasticNet{l1_, 0}.prox(now - slope[a] / c, 1 / c) : now - slope[a] / c;
                double const change = next - now;
                if (change == 0) continue;
                step_[a] = next == 0 ? W_[a] : step_[a] - change;
                violation = std::max(violation, c * std::abs(change));
                double const* row = hessian_.data() + a * m;
#pragma omp simd
                for (std::size_t k = 0; k < m; ++k) slope[k] += change * row[k];
            }
            first = std::max(first, violation);
            // The gap is linear in what is left, so that little must be.
            if (everything && violation <= std::max(1e-4 * first * std::min(1.0, first / l1_), 1e-13 * l1_)) break;
        }
    }

    double penalty(std::vector<double> const& W) const {
        double total = 0;
        for (std::size_t a = 0; a < X_.width * K_; ++a) total += l1_ * std::abs(W[a]) + 0.5 * l2_ * W[a] * W[a];
        return total;
    }

    // The dual at the residual itself, which is feasible when there is a penalty.
    void certify(ClassSolution& found) {
        found.primal = F_.value() + penalty(W_);
        if (l1_ + l2_ == 0 || found.iterations == 0) found.dual = -infinity;
        if (l1_ > 0) {
            shrink(found);
        } else if (l2_ > 0 && found.iterations > 0) {
            consider(found, V_, F_.conjugate());
        }
    }

    // The dual at the residual that the step would leave, to first order: much nearer to the optimum.
    void certify_ahead(ClassSolution& found) {
        if (l1_ > 0) return;
        std::vector<double> A = A_;
        std::size_t const grain = std::max<std::size_t>(256, (X_.lines + 15) / 16);
        double const conjugate = team_.sum<double>(X_.lines, grain, [&](std::size_t begin, std::size_t end) {
            std::vector<double> p(L_), r(L_);
            double part = 0;
            F_.visit([&](auto const& loss) {
                for (std::size_t i = begin; i < end; ++i) {
                    double const s = F_.weight_of(i);
                    std::copy(F_.p() + i * L_, F_.p() + (i + 1) * L_, p.begin());
                    loss.curve(p.data(), U_.data() + i * L_, r.data());
                    double total = 0;
                    bool inside = true;
                    for (std::size_t k = 0; k < K_; ++k) {
                        p[k] -= r[k];
                        total += p[k];
                        inside = inside && p[k] >= 0;
                        A[i * L_ + k] -= s * r[k];
                    }
                    part += inside && total <= 1 + 1e-12 ? s * loss.conjugate(p.data()) : infinity;
                }
            });
            return part;
        });
        if (conjugate < infinity) consider(found, gather(A), conjugate);
    }

    // The dual at the residual A under an L1 penalty, and at A shrunk until |X'A| <= l1.
    void shrink(ClassSolution& found) {
        double top = 0;
        for (std::size_t a = 0; a < X_.width * K_; ++a) top = std::max(top, std::abs(V_[a]));
        double const t = std::min(1.0, l1_ / top);
        for (double scale : {t, 1.0}) {
            if (scale > t && l2_ == 0) continue;
            double total = -F_.conjugate(scale);
            for (std::size_t a = 0; l2_ > 0 && a < X_.width * K_; ++a) {
                total -= ElasticNet{l1_, l2_}.conjugate(scale * V_[a]);
            }
            found.dual = std::max(found.dual, total);
        }
    }

    // The dual at residuals A, V = X'A: what A leaves of the constraints costs at most its product with the weights.
    void consider(ClassSolution& found, std::vector<double> const& V, double conjugate) {
        double norm = 0, slack = 0;
        for (std::size_t a = 0; a < V.size(); ++a) {
            bool const penalised = l2_ > 0 && a < X_.width * K_;
            if (penalised) {
                norm += V[a] * V[a] / (2 * l2_);
            } else {
                double const w = a < X_.width * K_ ? W_[a] : F_.b()[a - X_.width * K_];
                slack += 2 * std::abs(V[a]) * (std::abs(w) + std::abs(step_[a]));
            }
        }
        found.dual = std::max(found.dual, -conjugate - norm - slack);
    }

    bool advance() {
        double slope = 0;
        std::vector<double> trial(W_.size());
        for (std::size_t a = 0; a < step_.size(); ++a) {
            slope -= gradient_[a] * step_[a];
            trial[a] = W_[a] - step_[a];
        }
        double const before = F_.value() + penalty(W_);
        // The model's gradient has l2 W in it, so that only the L1 part of the penalty is added.
        for (std::size_t a = 0; a < X_.width * K_; ++a) slope += l1_ * (std::abs(trial[a]) - std::abs(W_[a]));
        if (!(slope < 0)) return false;
        std::vector<double> const from = Z_;
        // The intercept's part of the step is in U, but not in the scores: F finds its own.
        std::vector<double> W(W_.size(), 0.0), free(L_, 0.0);
        std::copy(step_.begin() + static_cast<std::ptrdiff_t>(X_.width * K_), step_.end(), free.begin());
        for (double t = 1; t > 1e-9; t *= 0.5) {
            for (std::size_t a = 0; a < X_.width * K_; ++a) W[a] = W_[a] - t * step_[a];
            for (std::size_t k = 0; k < Z_.size(); ++k) Z_[k] = from[k] - t * (U_[k] - free[k % L_]);
            double const after = F_.evaluate(Z_.data()) + penalty(W);
            // Below the rounding of the objective Newton is to be trusted.
            if (after <= before + 1e-4 * t * slope ||
                (t == 1 && -slope < 1e-13 * before && after <= before * (1 + 1e-14))) {
                W_ = W;
                return true;
            }
        }
        Z_ = from;
        F_.evaluate(Z_.data());
        return false;
    }

    Team& team_;
    Rows X_;
    ProfiledLoss& F_;
    double l1_, l2_;
    std::size_t K_, L_, q_;
    std::vector<double> W_, Z_, U_, A_, V_, gradient_, step_, hessian_;
};

}  // namespace tallywise
