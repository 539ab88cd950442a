// Searches of many columns under Minkowski norms other than the Euclidean: whole blocks of sums, then the sieve.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <vector>

#include "core/base/gemm.hpp"
#include "core/neighbors/sieve.hpp"

namespace tallywise::neighbors {

// Tables of sums of |u_j - v_j|^p for whole blocks of rows, by the kernel of gemm.hpp with another pair of operations.
// Sum of |u_j - v_j|^P; P = 0 stands for the largest |u_j - v_j|.
template <int P>
struct PowerSum {
    static constexpr int power = P;

    template <class T, class Register>
    static void add(Register& sum, T x, Register const& b) {
        using Bits = decltype(b < b);
        Register const difference = x - b, sign = -Register{};
        auto const size = (Register)((Bits)difference & ~(Bits)sign);
        if constexpr (P == 0) sum = size > sum ? size : sum;
        if constexpr (P == 1) sum += size;
        if constexpr (P == 2) sum += size * size;
        if constexpr (P == 3) sum += size * size * size;
        if constexpr (P == 4) sum += (size * size) * (size * size);
    }
    template <class T>
    static T join(T one, T other) {
        return P == 0 ? std::max(one, other) : one + other;
    }
};

// f(PowerSum<P>) for the cheap norm that bounds the norm p from below: norms fall as p rises, so the next whole p, or
// the largest difference.
template <class F>
decltype(auto) visit_power_sum(double p, F&& f) {
    if (p <= 1) return f(PowerSum<1>{});
    if (p <= 2) return f(PowerSum<2>{});
    if (p <= 3) return f(PowerSum<3>{});
    if (p <= 4) return f(PowerSum<4>{});
    return f(PowerSum<0>{});
}

inline constexpr std::size_t tile_rows = 512;  // training rows in a table: with 96 queries, 192 KB of float

template <class T>
class MinkowskiIndex final : public DenseIndex {
  public:
    MinkowskiIndex(Dense<T> const& X, double p) : DenseIndex(make_rows(X, Minkowski::name, p)), X_(X) {}

  protected:
    std::size_t block() const override { return 96; }

    void solve(PreparedQueries const& queries, std::size_t begin, std::size_t end, SearchSpec const& spec,
               Nearest* nearest) const override {
        visit_power_sum(rows_->p(), [&](auto sums) {
            using Sums = decltype(sums);
            if (std::is_same_v<T, float> && single(queries, end - begin)) {
                sift<Sums, float>(queries, begin, end, spec, nearest);
            } else {
                sift<Sums, double>(queries, begin, end, spec, nearest);
            }
        });
    }

  private:
    bool single(PreparedQueries const& queries, std::size_t n) const {
        return std::all_of(queries[0], queries[n],
                           [](double x) { return static_cast<double>(static_cast<float>(x)) == x; });
    }

    // Entries of both sides are exact in Score, so a computed difference is right to u = eps / 2 relatively, a power of
    // it to about p u more, and a sum of d positive terms to d u: the score is the true sum within (d + 8) p eps of
    // itself, in whatever order. A score that overflows belongs to a sum beyond any finite cut.
    template <class Sums, class Score>
    void sift(PreparedQueries const& queries, std::size_t begin, std::size_t end, SearchSpec const& spec,
              Nearest* nearest) const {
        std::size_t const d = X_.width, m = end - begin;
        double const p = rows_->p(), eps = std::numeric_limits<Score>::epsilon();
        double const margin = 1 + (static_cast<double>(d) + 8) * std::max(1, Sums::power) * eps + 1e-9;
        double const least = static_cast<double>(d) * std::numeric_limits<Score>::min();
        auto const cut = [&](std::size_t, double limit) -> Score {
            double const reduced = Sums::power == p || (Sums::power == 0 && std::isinf(p))
                                       ? limit
                                       : raise<Sums::power>(rows_->finish(limit));
            double const highest = reduced * margin + least;
            if (!(highest < static_cast<double>(std::numeric_limits<Score>::max()))) {
                return std::numeric_limits<Score>::infinity();
            }
            return std::nextafter(static_cast<Score>(highest), std::numeric_limits<Score>::infinity());
        };
        Sieve<Score, decltype(cut)> sieve(*rows_, queries, begin, end, spec, nearest, cut);
        std::vector<Score> A(m * d), scratch, table(m * tile_rows);
        std::copy(queries[0], queries[m], A.begin());
        PackedRows<Score> packed;
        for (std::size_t first = 0; first < X_.lines; first += tile_rows) {
            std::size_t const n = std::min(tile_rows, X_.lines - first);
            if constexpr (std::is_same_v<Score, T>) {
                packed.pack(X_.data + first * X_.stride, X_.stride, n, d);
            } else {
                scratch.resize(n * d);
                for (std::size_t i = 0; i < n; ++i) {
                    T const* x = X_.data + (first + i) * X_.stride;
                    std::copy(x, x + d, scratch.begin() + static_cast<std::ptrdiff_t>(i * d));
                }
                packed.pack(scratch.data(), d, n, d);
            }
            multiply<Sums>(A.data(), d, m, packed, 0, n, table.data(), tile_rows);
            for (std::size_t i = 0; i < m; ++i) sieve.sift(i, table.data() + i * tile_rows, n, first);
        }
        sieve.finish();
    }

    template <int Power>
    static double raise(double distance) {
        return Power == 0 ? distance : std::pow(distance, Power);
    }

    Dense<T> X_;
};

}  // namespace tallywise::neighbors
