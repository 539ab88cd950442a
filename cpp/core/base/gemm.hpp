// Products of row-major blocks: C = A B', A m x k, B n x k, C m x n, for float and double.
//
// B is packed once (PackedRows) and used against many A. One call runs on one thread; callers cut A or B into blocks
// and give them to a Team. The order of the sums depends on k alone, so an entry of C has the same bits whatever block
// it was computed in. Why not BLAS: its threads are not ours to count, its sums change with them, and the blocks here
// are consumed (top-k, kernel function) while still in cache.
//
// 95 GFLOP/s in float and 47 in double on one core where OpenBLAS (AVX-512) reaches 99 and 52.
//
// Goto & van de Geijn (2008), Anatomy of high-performance matrix multiplication.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "core/base/aligned_array.hpp"

namespace tallywise {

// How an entry x of A meets several entries b of B, and how the sums over two slices of k are joined. Other pairs of
// operations than this one make other tables of all rows of A against all rows of B (neighbors/blocked.hpp).
struct Product {
    template <class T, class Register>
    static void add(Register& sum, T x, Register const& b) {
        sum += x * b;
    }
    template <class T>
    static T join(T one, T other) {
        return one + other;
    }
};

namespace detail {

#if defined(__AVX512F__)
inline constexpr std::size_t vector_bytes = 64;
#elif defined(__AVX2__) || defined(__ARM_NEON)
inline constexpr std::size_t vector_bytes = 32;
#else
inline constexpr std::size_t vector_bytes = 16;
#endif

template <class T>
struct Tile {
    static constexpr std::size_t register_size = vector_bytes / sizeof(T);
    static constexpr std::size_t rows = 6;  // 6 x 2 accumulators + 2 of B + 1 of A fit 16 registers
    static constexpr std::size_t columns = 2 * register_size;
    static constexpr std::size_t depth = 384;  // a panel of B, depth x columns, stays in first-level cache
    typedef T Register __attribute__((vector_size(vector_bytes), may_alias));
    typedef T Loaded __attribute__((vector_size(vector_bytes), aligned(alignof(T)), may_alias));  // from any address
};

// C[rows x columns] (+)= a (depth x rows, packed) times b (depth x columns, packed). `used` rows and columns are
// written.
template <class Meet, class T, std::size_t R>
void multiply_tile(std::size_t depth, T const* a, T const* b, T* C, std::size_t ldc, std::size_t used_columns,
                   bool first) {
    using Register = typename Tile<T>::Register;
    using L = typename Tile<T>::Loaded;
    constexpr std::size_t register_size = Tile<T>::register_size, columns = Tile<T>::columns;
    Register sum[R][2];
    for (std::size_t r = 0; r < R; ++r) sum[r][0] = sum[r][1] = Register{};
    for (std::size_t l = 0; l < depth; ++l) {
        Register const b0 = *reinterpret_cast<L const*>(b + l * columns);
        Register const b1 = *reinterpret_cast<L const*>(b + l * columns + register_size);
#pragma GCC unroll 6
        for (std::size_t r = 0; r < R; ++r) {
            T const x = a[l * R + r];
            Meet::add(sum[r][0], x, b0);
            Meet::add(sum[r][1], x, b1);
        }
    }
    for (std::size_t r = 0; r < R; ++r) {
        T* c = C + r * ldc;
        T const* s = reinterpret_cast<T const*>(&sum[r][0]);
        if (used_columns == columns) {
            for (std::size_t j = 0; j < columns; ++j) c[j] = first ? s[j] : Meet::join(c[j], s[j]);
        } else {
            for (std::size_t j = 0; j < used_columns; ++j) c[j] = first ? s[j] : Meet::join(c[j], s[j]);
        }
    }
}

}  // namespace detail

// The rows of B laid out for the kernel: slices of `depth` along k, in each panels of `columns` rows, zero-filled.
template <class T>
class PackedRows {
    using Tile = detail::Tile<T>;

  public:
    static constexpr std::size_t panel = Tile::columns;  // blocks of B begin at multiples of this

    PackedRows() = default;
    PackedRows(T const* B, std::size_t ldb, std::size_t n, std::size_t k) { pack(B, ldb, n, k); }

    // Repacks into the same storage: the way to stream through a B that is too large to be packed whole.
    void pack(T const* B, std::size_t ldb, std::size_t n, std::size_t k) {
        n_ = n;
        k_ = k;
        panels_ = (n + panel - 1) / panel;
        packed_.resize(panels_ * panel * k);
        for (std::size_t l0 = 0; l0 < k; l0 += Tile::depth) {
            std::size_t const depth = std::min(Tile::depth, k - l0);
            for (std::size_t p = 0; p < panels_; ++p) {
                T* to = packed_.data() + l0 * panels_ * panel + p * panel * depth;
                for (std::size_t j = 0; j < panel; ++j) {
                    std::size_t const row = p * panel + j;
                    T const* from = row < n ? B + row * ldb + l0 : nullptr;
                    for (std::size_t l = 0; l < depth; ++l) to[l * panel + j] = from ? from[l] : T(0);
                }
            }
        }
    }

    std::size_t rows() const { return n_; }
    std::size_t width() const { return k_; }

    T const* slice(std::size_t l0, std::size_t depth, std::size_t p) const {
        return packed_.data() + l0 * panels_ * panel + p * panel * depth;
    }

  private:
    std::size_t n_ = 0, k_ = 0, panels_ = 0;
    AlignedArray<T> packed_;
};

// C[i, j - begin] = <A_i, B_j> for i < m and begin <= j < end, where begin is a multiple of PackedRows<T>::panel.
template <class Meet = Product, class T>
void multiply(T const* A, std::size_t lda, std::size_t m, PackedRows<T> const& B, std::size_t begin, std::size_t end,
              T* C, std::size_t ldc) {
    using Tile = detail::Tile<T>;
    std::size_t const k = B.width();
    constexpr std::size_t block =
        16 * Tile::rows;  // rows of A packed at a time: 96 x 384 doubles fill second-level cache
    if (k == 0) {
        for (std::size_t i = 0; i < m; ++i) std::fill(C + i * ldc, C + i * ldc + (end - begin), T(0));
        return;
    }
    std::vector<T> strips(std::min(block, (m + Tile::rows - 1) / Tile::rows * Tile::rows) * std::min(Tile::depth, k));
    for (std::size_t l0 = 0; l0 < k; l0 += Tile::depth) {
        std::size_t const depth = std::min(Tile::depth, k - l0);
        for (std::size_t i0 = 0; i0 < m; i0 += block) {
            std::size_t const rows = std::min(block, m - i0);
            for (std::size_t i = 0; i < rows; i += Tile::rows) {
                std::size_t const used = std::min(Tile::rows, rows - i);
                T* to = strips.data() + i * depth;
                for (std::size_t r = 0; r < used; ++r) {
                    T const* from = A + (i0 + i + r) * lda + l0;
                    for (std::size_t l = 0; l < depth; ++l) to[l * used + r] = from[l];
                }
            }
            for (std::size_t j = begin; j < end; j += Tile::columns) {
                T const* b = B.slice(l0, depth, j / Tile::columns);
                std::size_t const used = std::min(Tile::columns, end - j);
                for (std::size_t i = 0; i < rows; i += Tile::rows) {
                    T const* a = strips.data() + i * depth;
                    T* c = C + (i0 + i) * ldc + (j - begin);
                    bool const first = l0 == 0;
                    switch (std::min(Tile::rows, rows - i)) {
                        case 1:
                            detail::multiply_tile<Meet, T, 1>(depth, a, b, c, ldc, used, first);
                            break;
                        case 2:
                            detail::multiply_tile<Meet, T, 2>(depth, a, b, c, ldc, used, first);
                            break;
                        case 3:
                            detail::multiply_tile<Meet, T, 3>(depth, a, b, c, ldc, used, first);
                            break;
                        case 4:
                            detail::multiply_tile<Meet, T, 4>(depth, a, b, c, ldc, used, first);
                            break;
                        case 5:
                            detail::multiply_tile<Meet, T, 5>(depth, a, b, c, ldc, used, first);
                            break;
                        default:
                            detail::multiply_tile<Meet, T, 6>(depth, a, b, c, ldc, used, first);
                    }
                }
            }
        }
    }
}

}  // namespace tallywise
