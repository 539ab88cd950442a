// What conjugate gradients is preconditioned with in the space of features.
//
// The Hessian in the weights of lane k alone is l2 I + X' diag(h_k) X, an intercept included as a column of ones. Dense
// X of moderate width: that block itself, from a sample of the rows, factored. Otherwise: its diagonal. Either way the
// answer is centred over the lanes where adding one vector to the weights of every class changes no probability, and
// without centring the directions that the blocks mix in cost hundreds of iterations (mnist: 50 products with the
// Hessian instead of 173).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "core/base/cholesky.hpp"
#include "core/base/gemm.hpp"
#include "core/base/parallel.hpp"
#include "core/data/lane_design.hpp"
#include "core/linear/offsets.hpp"

namespace tallywise::linear {

template <class Rows, class Loss>
class BlockPreconditioner {
  public:
    BlockPreconditioner(Team& team, LaneDesign<Rows> const& X, Loss const& loss, double l2)
        : team_(team),
          X_(X),
          F_(loss),
          l2_(l2),
          K_(loss.lanes()),
          L_(loss.stride()),
          q_(X.p + (Loss::intercepts && !loss.offsets().empty())) {}

    // Looks at the probabilities anew. `rounds` is how many iterations the last direction took: blocks are built from
    // the start where they are cheap, and built again whenever that was more than they cost.
    void refresh(int rounds) {
        if constexpr (!Rows::is_sparse) {
            auto const q = static_cast<double>(q_), m = static_cast<double>(sampled());
            // In products with the Hessian; those of whole blocks run five times as fast.
            double const cost = 0.2 * q * (2 * m + q) / (4 * static_cast<double>(X_.n));
            bool const first = factors_.empty() && diagonal_.empty() && cost < 10;
            if (X_.p <= 4096 && affordable() && (first || rounds > std::max(4.0, cost))) {
                factor();
                return;
            }
        }
        if (factors_.empty()) take_diagonal();
    }

    // out = preconditioner^-1 r; q x L, the intercept's row last.
    void apply(std::vector<float> const& r, std::vector<float>& out) {
        if (factors_.empty()) {
            team_.each_range(q_, 1024, [&](std::size_t begin, std::size_t end, std::size_t) {
                for (std::size_t k = begin * L_; k < end * L_; ++k) out[k] = r[k] / diagonal_[k];
            });
        } else {
            team_.each(K_, [&](std::size_t k) {
                std::vector<float> x(q_);
                for (std::size_t j = 0; j < q_; ++j) x[j] = r[j * L_ + k];
                cholesky_solve(factors_[k].data(), q_, x.data());
                for (std::size_t j = 0; j < q_; ++j) out[j * L_ + k] = x[j];
            });
        }
        if (!F_.shift_free()) return;
        team_.each_range(q_, 1024, [&](std::size_t begin, std::size_t end, std::size_t) {
            for (std::size_t j = begin; j < end; ++j) {
                float* row = out.data() + j * L_;
                float mean = 0;
                for (std::size_t k = 0; k < K_; ++k) mean += row[k];
                mean /= static_cast<float>(K_);
                for (std::size_t k = 0; k < K_; ++k) row[k] -= mean;
            }
        });
    }

  private:
    // K factors of q x q: no more than four times X, or 256 MB. (77 classes on 4,096 columns would take 5 GB.)
    bool affordable() const {
        double const factors = 4.0 * static_cast<double>(K_) * static_cast<double>(q_) * static_cast<double>(q_);
        return factors <= std::max(0x1p28, 32.0 * static_cast<double>(X_.n) * static_cast<double>(X_.p));
    }

    float curvature(std::size_t i, std::size_t k) const { return static_cast<float>(F_.curvature(i, k, k)); }

    // Three rows a column of X are enough to see its spectrum above l2.
    std::size_t stride() const { return std::max<std::size_t>(1, X_.n / std::max<std::size_t>(3 * q_, 2000)); }
    std::size_t sampled() const { return (X_.n + stride() - 1) / stride(); }

    void factor() {
        std::size_t const step = stride(), m = sampled();
        auto const rows = X_.rows();
        factors_.assign(K_, {});
        team_.each(K_, [&](std::size_t k) {
            std::vector<float> Y(q_ * m);
            for (std::size_t r = 0; r < m; ++r) {
                std::size_t const i = r * step;
                float const h = std::sqrt(curvature(i, k) * static_cast<float>(step));
                auto const* x = rows.data + i * rows.stride;
                for (std::size_t j = 0; j < X_.p; ++j) Y[j * m + r] = h * static_cast<float>(x[j]);
                if (q_ > X_.p) Y[X_.p * m + r] = h;
            }
            auto& A = factors_[k];
            A.resize(q_ * q_);
            PackedRows<float> const packed(Y.data(), m, q_, m);
            multiply(Y.data(), m, q_, packed, 0, q_, A.data(), q_);
            for (std::size_t j = 0; j < q_; ++j) {
                A[j * q_ + j] = A[j * q_ + j] * 1.0001f + static_cast<float>(j < X_.p ? l2_ : 0.0);
            }
            cholesky(A.data(), q_, 1e-6f);
        });
    }

    void take_diagonal() {
        std::vector<float> H(X_.n * L_, 0.0f);
        team_.each_range(X_.n, 256, [&](std::size_t begin, std::size_t end, std::size_t) {
            for (std::size_t i = begin; i < end; ++i) {
                for (std::size_t k = 0; k < K_; ++k) H[i * L_ + k] = curvature(i, k);
            }
        });
        diagonal_.assign(q_ * L_, static_cast<float>(l2_));
        if constexpr (Rows::is_sparse) {
            auto const columns = X_.columns();
            team_.each_range(X_.p, 512, [&](std::size_t begin, std::size_t end, std::size_t) {
                for (std::size_t j = begin; j < end; ++j) {
                    float* row = diagonal_.data() + j * L_;
                    columns.each(j, [&](std::size_t i, auto x) {
                        auto const xx = static_cast<float>(x) * static_cast<float>(x);
                        for (std::size_t k = 0; k < L_; ++k) row[k] += xx * H[i * L_ + k];
                    });
                }
            });
        } else {
            auto const rows = X_.rows();
            std::size_t const step = stride();
            auto const scale = static_cast<float>(step);
            team_.each_range(X_.p, 64, [&](std::size_t begin, std::size_t end, std::size_t) {
                for (std::size_t i = 0; i < X_.n; i += step) {
                    auto const* x = rows.data + i * rows.stride;
                    for (std::size_t j = begin; j < end; ++j) {
                        float const xx = scale * static_cast<float>(x[j]) * static_cast<float>(x[j]);
                        for (std::size_t k = 0; k < L_; ++k) diagonal_[j * L_ + k] += xx * H[i * L_ + k];
                    }
                }
            });
        }
        if (q_ > X_.p) {
            float* row = diagonal_.data() + X_.p * L_;
            std::fill(row, row + L_, 0.0f);
            for (std::size_t i = 0; i < X_.n; ++i) {
                for (std::size_t k = 0; k < K_; ++k) row[k] += H[i * L_ + k];
            }
        }
        for (float& d : diagonal_) d = d > 0 ? d : 1.0f;  // padding, or nothing to see
    }

    Team& team_;
    LaneDesign<Rows> const& X_;
    Loss const& F_;
    double l2_;
    std::size_t K_, L_, q_;
    std::vector<std::vector<float>> factors_;
    std::vector<float> diagonal_;
};

}  // namespace tallywise::linear
