// Products of a design with K vectors at once, in either direction.
//
//   scores   Z = X W      Z[i, k] = sum_j x_ij W[j, k]
//   gather   V = X' R     V[j, k] = sum_i x_ij R[i, k]
//
// W and V are feature-major, Z and R sample-major: the K numbers that belong to one entry of X lie side by side and
// fill vector registers. K is padded to `padded(K)` lanes. Sums are taken in T; the order of every sum is that of the
// data, whatever the number of threads.
#pragma once

#include <cstddef>
#include <cstring>
#include <type_traits>
#include <vector>

#include "core/base/parallel.hpp"
#include "core/data/design.hpp"

namespace tallywise {

// Lanes a row of W takes up: whole registers of float, except for a single vector.
inline std::size_t padded(std::size_t K) { return K == 1 ? 1 : (K + 7) / 8 * 8; }

namespace detail {

// 32 bytes: one AVX register, two of SSE. Unaligned, and free to alias T.
template <class T>
using Pack [[gnu::vector_size(32), gnu::aligned(4), gnu::may_alias]] = T;

// Calls f with the number of octets (1 to 4) as a constant, over L lanes in panels of at most 32.
template <class F>
void each_panel(std::size_t L, F&& f) {
    for (std::size_t first = 0; first < L; first += 32) {
        switch (std::min<std::size_t>(L - first, 32) / 8) {
            case 1:
                f(std::integral_constant<int, 1>{}, first);
                break;
            case 2:
                f(std::integral_constant<int, 2>{}, first);
                break;
            case 3:
                f(std::integral_constant<int, 3>{}, first);
                break;
            default:
                f(std::integral_constant<int, 4>{}, first);
                break;
        }
    }
}

template <class T, int octets>
inline constexpr int packs = octets * 8 / static_cast<int>(32 / sizeof(T));

// out[0 .. lanes) = sum over the line's entries of x * from[index, 0 .. lanes)
template <int octets, class T, class V>
inline void combine(Sparse<V> const& X, std::size_t line, T const* from, std::size_t L, T* out) {
    using P = Pack<T>;
    constexpr int n = packs<T, octets>;
    constexpr std::size_t width = 32 / sizeof(T);
    P total[n] = {};
    auto const [indices, values, end] = X.entries(line);
    for (std::size_t k = 0; k < end; ++k) {
        // The next rows are scattered over more memory than the second-level cache holds.
        if (k + 8 < end) {
            auto const* next = reinterpret_cast<char const*>(from + static_cast<std::size_t>(indices[k + 8]) * L);
            __builtin_prefetch(next);
            if constexpr (octets * 8 * sizeof(T) > 64) __builtin_prefetch(next + 64);
        }
        T const x = static_cast<T>(values[k]);
        T const* row = from + static_cast<std::size_t>(indices[k]) * L;
        for (int m = 0; m < n; ++m) total[m] += x * *reinterpret_cast<P const*>(row + m * width);
    }
    for (int m = 0; m < n; ++m) *reinterpret_cast<P*>(out + m * width) = total[m];
}

template <class T, class V>
inline void combine_lanes(Sparse<V> const& X, std::size_t line, T const* from, std::size_t L, T* out) {
    if (L == 1) {
        *out = X.dot(line, from);
        return;
    }
    each_panel(L, [&](auto octets, std::size_t first) {
        combine<decltype(octets)::value>(X, line, from + first, L, out + first);
    });
}

// Z[rows x lanes] = X[rows x width] W for four rows of a dense X, then V += X' R likewise. Four rows share each load
// of W and each load and store of V.
template <int octets, class T, class V>
inline void dense_scores(Dense<V> const& X, std::size_t first, std::size_t rows, T const* W, std::size_t L, T* Z) {
    using P = Pack<T>;
    constexpr int n = packs<T, octets>;
    constexpr std::size_t width = 32 / sizeof(T);
    P total[4][n] = {};
    V const* x[4];
    for (std::size_t r = 0; r < 4; ++r) x[r] = X.data + (first + std::min(r, rows - 1)) * X.stride;
    for (std::size_t j = 0; j < X.width; ++j) {
        T const* w = W + j * L;
        P row[n];
        for (int m = 0; m < n; ++m) row[m] = *reinterpret_cast<P const*>(w + m * width);
        for (int r = 0; r < 4; ++r) {
            T const value = static_cast<T>(x[r][j]);
            for (int m = 0; m < n; ++m) total[r][m] += value * row[m];
        }
    }
    for (std::size_t r = 0; r < rows; ++r) {
        for (int m = 0; m < n; ++m) *reinterpret_cast<P*>(Z + r * L + m * width) = total[r][m];
    }
}

template <int octets, class T, class V>
inline void dense_gather(Dense<V> const& X, std::size_t first, std::size_t rows, T const* R, std::size_t L, T* out) {
    using P = Pack<T>;
    constexpr int n = packs<T, octets>;
    constexpr std::size_t width = 32 / sizeof(T);
    P row[4][n] = {};
    V const* x[4];
    for (std::size_t r = 0; r < 4; ++r) x[r] = X.data + (first + std::min(r, rows - 1)) * X.stride;
    for (std::size_t r = 0; r < rows; ++r) {
        for (int m = 0; m < n; ++m) row[r][m] = *reinterpret_cast<P const*>(R + r * L + m * width);
    }
    for (std::size_t j = 0; j < X.width; ++j) {
        T* v = out + j * L;
        P sum[n];
        for (int m = 0; m < n; ++m) sum[m] = *reinterpret_cast<P const*>(v + m * width);
        for (int r = 0; r < 4; ++r) {
            T const value = static_cast<T>(x[r][j]);
            for (int m = 0; m < n; ++m) sum[m] += value * row[r][m];
        }
        for (int m = 0; m < n; ++m) *reinterpret_cast<P*>(v + m * width) = sum[m];
    }
}

}  // namespace detail

// The two products for sums in T, over views that the caller keeps alive.
template <class T, class Rows>
class Lanes;

template <class T, class V>
class Lanes<T, Sparse<V>> {
  public:
    Lanes(Sparse<V> const& X, Sparse<V> const& columns) : X_(X), columns_(columns) {}

    void scores(Team& team, T const* W, std::size_t L, T* Z) const { run(team, X_, 64, W, L, Z); }
    void gather(Team& team, T const* R, std::size_t L, T* V_) const { run(team, columns_, 512, R, L, V_); }

  private:
    static void run(Team& team, Sparse<V> const& X, std::size_t grain, T const* from, std::size_t L, T* out) {
        team.each_range(X.lines, grain, [&](std::size_t begin, std::size_t end, std::size_t) {
            for (std::size_t line = begin; line < end; ++line) {
                detail::combine_lanes(X, line, from, L, out + line * L);
            }
        });
    }

    Sparse<V> X_, columns_;
};

template <class T, class V>
class Lanes<T, Dense<V>> {
  public:
    explicit Lanes(Dense<V> const& X) : X_(X) {}

    void scores(Team& team, T const* W, std::size_t L, T* Z) const {
        team.each_range(X_.lines, 64, [&](std::size_t begin, std::size_t end, std::size_t) {
            for (std::size_t i = begin; i < end; i += 4) score_rows(i, std::min<std::size_t>(4, end - i), W, L, Z);
        });
    }

    // Pieces of rows have sums of their own, added in order.
    void gather(Team& team, T const* R, std::size_t L, T* V_) const {
        sum_pieces(team, L, V_, [&](std::size_t begin, std::size_t end, T* out) {
            for (std::size_t i = begin; i < end; i += 4) gather_rows(i, std::min<std::size_t>(4, end - i), R, L, out);
        });
    }

    // V = X' f(X W): X is read from memory once for both products. f(begin, end) turns rows of Z into what is gathered.
    template <class F>
    void round_trip(Team& team, T const* W, std::size_t L, T* Z, T* V_, F&& f) const {
        constexpr std::size_t block = 32;  // rows that stay in the second-level cache between the two products
        sum_pieces(team, L, V_, [&](std::size_t begin, std::size_t end, T* out) {
            for (std::size_t i = begin; i < end; i += block) {
                std::size_t const stop = std::min(end, i + block);
                for (std::size_t r = i; r < stop; r += 4) score_rows(r, std::min<std::size_t>(4, stop - r), W, L, Z);
                f(i, stop);
                for (std::size_t r = i; r < stop; r += 4) gather_rows(r, std::min<std::size_t>(4, stop - r), Z, L, out);
            }
        });
    }

  private:
    void score_rows(std::size_t i, std::size_t rows, T const* W, std::size_t L, T* Z) const {
        if (L == 1) {
            for (std::size_t r = i; r < i + rows; ++r) {
                V const* x = X_.data + r * X_.stride;
                T total = 0;
#pragma omp simd reduction(+ : total)
                for (std::size_t j = 0; j < X_.width; ++j) total += static_cast<T>(x[j]) * W[j];
                Z[r] = total;
            }
            return;
        }
        detail::each_panel(L, [&](auto octets, std::size_t lane) {
            detail::dense_scores<decltype(octets)::value>(X_, i, rows, W + lane, L, Z + i * L + lane);
        });
    }

    void gather_rows(std::size_t i, std::size_t rows, T const* R, std::size_t L, T* out) const {
        if (L == 1) {
            for (std::size_t r = i; r < i + rows; ++r) {
                V const* x = X_.data + r * X_.stride;
                T const scale = R[r];
#pragma omp simd
                for (std::size_t j = 0; j < X_.width; ++j) out[j] += scale * static_cast<T>(x[j]);
            }
            return;
        }
        detail::each_panel(L, [&](auto octets, std::size_t lane) {
            detail::dense_gather<decltype(octets)::value>(X_, i, rows, R + i * L + lane, L, out + lane);
        });
    }

    template <class F>
    void sum_pieces(Team& team, std::size_t L, T* V_, F&& f) const {
        std::size_t const size = X_.width * L;
        std::size_t const pieces = std::clamp<std::size_t>(X_.lines / 64, 1, 16);
        std::size_t const grain = (X_.lines + pieces - 1) / pieces;
        parts_.assign(pieces * size, T(0));
        team.each_range(X_.lines, grain, [&](std::size_t begin, std::size_t end, std::size_t piece) {
            f(begin, end, parts_.data() + piece * size);
        });
        team.each_range(size, 4096, [&](std::size_t begin, std::size_t end, std::size_t) {
            std::copy(parts_.data() + begin, parts_.data() + end, V_ + begin);
            for (std::size_t piece = 1; piece < pieces; ++piece) {
                for (std::size_t k = begin; k < end; ++k) V_[k] += parts_[piece * size + k];
            }
        });
    }

    Dense<V> X_;
    mutable std::vector<T> parts_;
};

}  // namespace tallywise
