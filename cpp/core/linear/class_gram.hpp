// The Hessian of K scores per sample in weights of few features, sum_i (x_i x_i') (x) H_i: at row (i, k) and column
// (j, l), i * K + k and j * K + l, the sum of h(row, k, l) x_i x_j. Lower triangle, row-major.
//
// Given the rows of X, the constant that each has as a last entry (0 for none), which rows take part, and h, symmetric
// in k and l. Pieces have sums of their own, added in order: the same bytes for any number of threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "core/base/gemm.hpp"
#include "core/base/interrupt.hpp"
#include "core/base/parallel.hpp"
#include "core/data/design.hpp"

namespace tallywise::linear {

template <class Rows, class TakesPart, class Curvature>
class ClassGram {
  public:
    ClassGram(Team& team, Rows const& X, double constant, std::size_t K, TakesPart const& takes_part,
              Curvature const& h)
        : team_(team),
          X_(X),
          constant_(constant),
          K_(K),
          q_(X.width + (constant != 0 ? 1 : 0)),
          m_(q_ * K),
          takes_part_(takes_part),
          h_(h) {}

    std::vector<double> sum() {
        return Rows::is_sparse && X_.nonzeros() * 4 < X_.lines * X_.width ? sum_entries() : sum_products();
    }

  private:
    // f(j, x_j) over the entries of row i, the constant last.
    template <class F>
    void entries(std::size_t i, F&& f) const {
        X_.each(i, [&](std::size_t j, auto x) { f(j, static_cast<double>(x)); });
        if (constant_ != 0) f(X_.width, constant_);
    }

    // Entry by entry.
    std::vector<double> sum_entries() {
        std::size_t const m = m_, pieces = std::clamp<std::size_t>((std::size_t{1} << 22) / (m * m), 1, 16);
        std::size_t const grain = (X_.lines + pieces - 1) / pieces;
        std::vector<double> parts(pieces * m * m, 0.0);
        team_.each_range(X_.lines, grain, [&](std::size_t begin, std::size_t end, std::size_t piece) {
            double* H = parts.data() + piece * m * m;
            std::vector<std::pair<std::size_t, double>> row;
            for (std::size_t i = begin; i < end; ++i) {
                if (!takes_part_(i)) continue;
                row.clear();
                entries(i, [&](std::size_t j, double x) { row.emplace_back(j, x); });
                std::sort(row.begin(), row.end());  // rows come in any order, the triangle does not
                for (std::size_t k = 0; k < K_; ++k) {
                    for (std::size_t l = 0; l < K_; ++l) {
                        double const h = h_(i, k, l);
                        for (std::size_t a = 0; a < row.size(); ++a) {
                            double const hx = h * row[a].second;
                            double* line = H + (row[a].first * K_ + k) * m + l;
                            for (std::size_t c = 0; c <= a; ++c) line[row[c].first * K_] += hx * row[c].second;
                        }
                    }
                }
            }
        });
        for (std::size_t a = m * m; a < parts.size(); ++a) parts[a % (m * m)] += parts[a];
        parts.resize(m * m);
        return parts;
    }

    // As one product of matrices for each pair of classes, a block of rows at a time.
    std::vector<double> sum_products() {
        constexpr std::size_t block = 2048;
        std::vector<double> H(m_ * m_, 0.0);
        std::vector<std::size_t> members;
        for (std::size_t i = 0; i < X_.lines; ++i) {
            if (takes_part_(i)) members.push_back(i);
            if (members.empty() || (members.size() < block && i + 1 < X_.lines)) continue;
            check_interrupt();
            add_products(members, H);
            members.clear();
        }
        // Pairs (k, l) with k >= l filled whole blocks: what belongs to (l, k) is their transpose.
        for (std::size_t i = 0; i < q_; ++i) {
            for (std::size_t j = 0; j < i; ++j) {
                for (std::size_t k = 0; k < K_; ++k) {
                    for (std::size_t l = k + 1; l < K_; ++l) {
                        H[(i * K_ + k) * m_ + j * K_ + l] = H[(j * K_ + l) * m_ + i * K_ + k];
                    }
                }
            }
        }
        return H;
    }

    void add_products(std::vector<std::size_t> const& members, std::vector<double>& H) {
        std::size_t const rows = members.size();
        std::vector<double> Y(q_ * rows, 0.0);
        for (std::size_t r = 0; r < rows; ++r) {
            entries(members[r], [&](std::size_t j, double x) { Y[j * rows + r] += x; });
        }
        PackedRows<double> const packed(Y.data(), rows, q_, rows);
        team_.each(K_ * (K_ + 1) / 2, [&](std::size_t pair) {
            std::size_t k = 0;
            while ((k + 1) * (k + 2) / 2 <= pair) ++k;
            std::size_t const l = pair - k * (k + 1) / 2;
            std::vector<double> scaled(q_ * rows), h(rows), C(q_ * q_);
            for (std::size_t r = 0; r < rows; ++r) h[r] = h_(members[r], k, l);
            for (std::size_t j = 0; j < q_; ++j) {
                for (std::size_t r = 0; r < rows; ++r) scaled[j * rows + r] = Y[j * rows + r] * h[r];
            }
            multiply(scaled.data(), rows, q_, packed, 0, q_, C.data(), q_);
            for (std::size_t i = 0; i < q_; ++i) {
                for (std::size_t j = 0; j < q_; ++j) H[(i * K_ + k) * m_ + j * K_ + l] += C[i * q_ + j];
            }
        });
    }

    Team& team_;
    Rows const& X_;
    double constant_;
    std::size_t K_, q_, m_;
    TakesPart const& takes_part_;
    Curvature const& h_;
};

template <class Rows, class TakesPart, class Curvature>
std::vector<double> class_gram(Team& team, Rows const& X, double constant, std::size_t K, TakesPart const& takes_part,
                               Curvature const& h) {
    return ClassGram<Rows, TakesPart, Curvature>(team, X, constant, K, takes_part, h).sum();
}

}  // namespace tallywise::linear
