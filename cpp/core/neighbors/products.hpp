// Euclidean and cosine searches of many columns: matrix products on rotated, shortened rows, then the sieve.
//
// Let y = x - centre, and let Q have r orthonormal columns (axes along which the data vary most). Then
//     phi(x) = (Q'y, |y - QQ'y|)    satisfies    |phi(u) - phi(v)| <= |u - v|,
// so distances of the (r + 1)-vectors bound the true ones from below, by the triangle inequality in the complement.
// Without axes phi(x) = y. For cosine, rows are first scaled to length 1.
//
// Margins. Everything is scaled by a power of two to |y| <= 1 or so. Stored is psi(x), phi(x) in float32, with
// |psi(x) - phi(x)| <= e(x) = eps |y|, where eps adds up
//   2^-22    rounding to float32,
//   eta      |V'V - I|, how far the axes V as given are from an orthonormal Q (polar decomposition of V),
//   g        float64 rounding of the product V'y: (d (sqrt r + 1) + r + 16) 2^-52,
//   sqrt(4 g + 3 eta)   the residual comes from |y|^2 - |V'y|^2, off by (4 g + 3 eta) |y|^2, and
//            |sqrt a - sqrt b| <= sqrt|a - b|.
// A neighbour v of q with |q - v| <= tau thus has |psi(q) - psi(v)| <= tau + e(q) + e(v), and with
// (a + b)^2 <= (1 + eps) a^2 + (1 + 1/eps) b^2
//     |psi(v)|^2 / 2 - <psi(q), psi(v)>  <=  (1 + eps)(tau + e(q))^2 / 2 - |psi(q)|^2 / 2 + (eps + eps^2) |v|^2 / 2.
// The left side is computed as one float32 product of m + 1 terms, (psi(v), h(v)) with (-psi(q), 1), with an error of
// at most gamma (|h(v)| + |psi(q)||psi(v)|), gamma = (m + 8) 2^-24, about. So with
//     h(v) = |psi(v)|^2 / 2 - (eps + 1.1 gamma) |v|^2
//     cut(q) = ((1 + 2 eps)(tau + e(q))^2 - |psi(q)|^2) / 2 + 0.6 gamma |q|^2 + 1e-30
// every neighbour has a score up to the cut; the factor 2 covers the rounding of tau itself, 1e-30 underflow. Unit rows
// (cosine) are themselves rounded, by less than 2^-50 in length, which e(q) takes on for both sides.
//
// Rows of few columns, or with axes, are stored in cells (cell_search.hpp). None is a neighbour that is further from
// psi(q), by the psi(v), than tau + e(q) + e(v).
#pragma once

#include <cmath>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/gemm.hpp"
#include "core/neighbors/blocked.hpp"
#include "core/neighbors/cell_search.hpp"

namespace tallywise::neighbors {

class ProductIndex final : public DenseIndex {
  public:
    // `axes`: r x d, rows orthonormal; r = 0 for none. `cosine`: what `rows` measures; otherwise it is Euclidean.
    ProductIndex(std::unique_ptr<Rows> rows, bool cosine, std::vector<double> centre, std::vector<double> axes,
                 int threads)
        : DenseIndex(std::move(rows)),
          cosine_(cosine),
          r_(axes.size() / std::max<std::size_t>(rows_->width(), 1)),
          m_(r_ > 0 ? r_ + 2 : rows_->width() + 1),
          centre_(std::move(centre)) {
        std::size_t const d = rows_->width(), n = rows_->count();
        if (centre_.size() != d || axes.size() != r_ * d) {
            throw std::invalid_argument("The centre and the axes of a rotation have the width of the data.");
        }
        if (r_ > 0) axes_.pack(axes.data(), d, r_, d);
        set_margins(axes);
        Team team(threads);
        norms_.resize(n);
        constexpr std::size_t grain = 256;
        team.each_range(n, grain, [&](std::size_t begin, std::size_t end, std::size_t) {
            std::vector<double> y(d);
            for (std::size_t i = begin; i < end; ++i) {
                rows_->copy(i, y.data());
                norms_[i] = std::sqrt(centred(y.data()));
            }
        });
        double const top = n > 0 ? *std::max_element(norms_.begin(), norms_.end()) : 0;
        usable_ = top < 1e150 && d < (std::size_t{1} << 20);
        if (!usable_) return;
        if (top > 1e-140) scale_ = std::ldexp(1.0, -std::ilogb(top));
        if (r_ == 0 && m_ > widest_plain) return;
        std::vector<float> psi(n * m_);
        team.each_range(n, grain, [&](std::size_t begin, std::size_t end, std::size_t) {
            std::vector<double> Y((end - begin) * d);
            for (std::size_t i = begin; i < end; ++i) {
                rows_->copy(i, &Y[(i - begin) * d]);
                centred(&Y[(i - begin) * d]);
            }
            shorten(Y.data(), end - begin, norms_.data() + begin, psi.data() + begin * m_);
            for (std::size_t i = begin; i < end; ++i) set_half(psi.data() + i * m_, norms_[i]);
        });
        cells_ = CellSearch(psi, n, m_, team);
    }

  protected:
    // Without cells each block of queries packs all rows anew; the larger the block the less that weighs. With them, a
    // larger block has more queries to each cell.
    std::size_t block() const override {
        return std::clamp<std::size_t>((std::size_t{1} << 22) / std::max<std::size_t>(1, cells_.count()), 96, 384);
    }

    void solve(PreparedQueries const& queries, std::size_t begin, std::size_t end, SearchSpec const& spec,
               Nearest* nearest) const override {
        std::size_t const m = end - begin, d = rows_->width(), n = rows_->count();
        std::vector<double> Y(queries[0], queries[m]), norms(m), squares(m);
        std::vector<float> A(m * m_);
        for (std::size_t i = 0; i < m; ++i) norms[i] = std::sqrt(centred(&Y[i * d]));
        shorten(Y.data(), m, norms.data(), A.data());
        std::vector<double>().swap(Y);
        for (std::size_t i = 0; i < m; ++i) {
            float* psi = A.data() + i * m_;
            for (std::size_t j = 0; j + 1 < m_; ++j) {
                squares[i] += static_cast<double>(psi[j]) * static_cast<double>(psi[j]);
                psi[j] = -psi[j];
            }
            psi[m_ - 1] = 1;
        }
        // The largest |psi(q) - psi(v)|, but for e(v), of a neighbour v; infinite where nothing is known.
        auto const reach = [&](std::size_t i, double limit) {
            double const norm = norms[i] * scale_;
            if (!usable_ || !(norm < 0x1p30)) return std::numeric_limits<double>::infinity();
            double const tau = scale_ * (std::sqrt(cosine_ ? 2 * limit : limit) + (cosine_ ? 0x1p-49 : 0));
            return tau + epsilon_ * norm;
        };
        auto const cut = [&](std::size_t i, double limit) {
            constexpr float infinity = std::numeric_limits<float>::infinity();
            double const norm = norms[i] * scale_, far = reach(i, limit);
            double const highest =
                ((1 + 2 * epsilon_) * far * far - squares[i]) / 2 + 0.6 * gamma_ * norm * norm + 1e-30;
            if (!(highest < 1e30)) return infinity;
            return std::nextafter(static_cast<float>(highest), infinity);
        };
        Sieve<float, decltype(cut)> sieve(*rows_, queries, begin, end, spec, nearest, cut);
        if (cells_.count() > 0) {
            sieve.rename(cells_.order().data());
            // Rows are within 2 of the origin.
            cells_.search(A, spec.k, sieve, [&](std::size_t i) { return reach(i, nearest[i].limit()) + 2 * epsilon_; });
            return;
        }
        std::vector<float> table(m * tile_rows);
        PackedRows<float> packed;
        for (std::size_t first = 0; first < n; first += tile_rows) {
            std::size_t const last = std::min(n, first + tile_rows);
            if (usable_) {
                pack_plain(first, last, packed);
                multiply(A.data(), m_, m, packed, 0, last - first, table.data(), tile_rows);
            } else {
                std::fill(table.begin(), table.end(), 0.0f);
            }
            for (std::size_t i = 0; i < m; ++i) sieve.sift(i, table.data() + i * tile_rows, last - first, first);
        }
        sieve.finish();
    }

  private:
    static constexpr std::size_t widest_plain = 64;  // columns up to which rows without axes are kept in float32, too

    void set_margins(std::vector<double> const& axes) {
        std::size_t const d = rows_->width();
        double off = 0;  // |V'V - I|^2, Frobenius
        for (std::size_t i = 0; i < r_; ++i) {
            for (std::size_t j = 0; j < r_; ++j) {
                double const e = dot(&axes[i * d], &axes[j * d], d) - (i == j ? 1.0 : 0.0);
                off += e * e;
            }
        }
        double const eta = std::sqrt(off) + static_cast<double>(d) * 0x1p-52;
        if (!(eta < 1e-6)) throw std::invalid_argument("The axes of a rotation must be orthonormal.");
        double const width = static_cast<double>(d), kept = static_cast<double>(r_);
        double const g = (width * (std::sqrt(kept) + 1) + kept + 16) * 0x1p-52;
        epsilon_ = 0x1p-22 + (r_ > 0 ? eta + g + std::sqrt(4 * g + 3 * eta) : 0);
        gamma_ = 1.1 * (static_cast<double>(m_) + 8) * 0x1p-24;
    }

    // Subtracts the centre and returns the squared norm.
    double centred(double* y) const {
        for (std::size_t j = 0; j < centre_.size(); ++j) y[j] -= centre_[j];
        return dot(y, y, centre_.size());
    }

    // psi of centred rows, its last column left to the caller.
    void shorten(double const* Y, std::size_t n, double const* norms, float* psi) const {
        std::size_t const d = rows_->width();
        if (r_ == 0) {
            for (std::size_t i = 0; i < n; ++i) {
                for (std::size_t j = 0; j < d; ++j) psi[i * m_ + j] = static_cast<float>(Y[i * d + j] * scale_);
            }
            return;
        }
        std::vector<double> prefix(n * r_);
        multiply(Y, d, n, axes_, 0, r_, prefix.data(), r_);
        for (std::size_t i = 0; i < n; ++i) {
            double const* a = prefix.data() + i * r_;
            double const rest = std::max(0.0, norms[i] * norms[i] - dot(a, a, r_));
            for (std::size_t j = 0; j < r_; ++j) psi[i * m_ + j] = static_cast<float>(a[j] * scale_);
            psi[i * m_ + r_] = static_cast<float>(std::sqrt(rest) * scale_);
        }
    }

    // h of a training row, into the last column of its psi.
    void set_half(float* psi, double norm) const {
        double half = 0;
        for (std::size_t j = 0; j + 1 < m_; ++j) half += static_cast<double>(psi[j]) * static_cast<double>(psi[j]) / 2;
        double const scaled = norm * scale_;
        psi[m_ - 1] = static_cast<float>(half - (epsilon_ + 1.1 * gamma_) * scaled * scaled);
    }

    void pack_plain(std::size_t first, std::size_t last, PackedRows<float>& packed) const {
        std::vector<float> psi((last - first) * m_);
        std::vector<double> y(rows_->width());
        for (std::size_t row = first; row < last; ++row) {
            rows_->copy(row, y.data());
            centred(y.data());
            float* to = psi.data() + (row - first) * m_;
            shorten(y.data(), 1, &norms_[row], to);
            set_half(to, norms_[row]);
        }
        packed.pack(psi.data(), m_, last - first, m_);
    }

    bool cosine_;
    std::size_t r_, m_;  // axes; columns of psi with h
    std::vector<double> centre_, norms_;
    PackedRows<double> axes_;
    CellSearch cells_;  // psi of the training rows
    double scale_ = 1, epsilon_ = 0, gamma_ = 0;
    bool usable_ = true;
};

}  // namespace tallywise::neighbors
