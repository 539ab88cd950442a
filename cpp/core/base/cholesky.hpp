// Cholesky factors of symmetric matrices, row-major, lower triangle.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "core/base/gemm.hpp"

namespace tallywise {

namespace detail {

template <class T>
inline T inner(T const* a, T const* b, std::size_t n) {
    T total = 0;
#pragma omp simd reduction(+ : total)
    for (std::size_t i = 0; i < n; ++i) total += a[i] * b[i];
    return total;
}

// The panel's own rows, columns [first, last), and the inverses of their pivots; gives how many were lost.
template <class T>
std::size_t factor_corner(T* A, std::size_t n, std::size_t first, std::size_t last, T floor, T const* diagonal,
                          T* inverse) {
    std::size_t lost = 0;
    for (std::size_t i = first; i < last; ++i) {
        T* row = A + i * n + first;
        std::size_t const own = i - first;
        for (std::size_t j = 0; j < own; ++j) {
            row[j] = inverse[j] == T(0) ? T(0) : (row[j] - inner(row, A + (first + j) * n + first, j)) * inverse[j];
        }
        T const pivot = row[own] - inner(row, row, own);
        bool const seen = pivot > floor * diagonal[i] && std::isfinite(pivot);
        row[own] = seen ? std::sqrt(pivot) : T(0);
        inverse[own] = seen ? T(1) / row[own] : T(0);
        lost += !seen;
    }
    return lost;
}

// The same columns of the rows below, eight rows side by side: one by one, every entry waits for the one before.
template <std::size_t panel, class T>
void solve_below(T* A, std::size_t n, std::size_t first, std::size_t last, T const* inverse) {
    constexpr std::size_t lanes = 8;
    std::size_t const width = last - first;
    T x[panel][lanes];
    for (std::size_t i = last; i < n; i += lanes) {
        std::size_t const rows = std::min(lanes, n - i);
        for (std::size_t l = 0; l < lanes; ++l) {
            T const* row = A + (i + std::min(l, rows - 1)) * n + first;
            for (std::size_t j = 0; j < width; ++j) x[j][l] = row[j];
        }
        for (std::size_t j = 0; j < width; ++j) {
            for (std::size_t l = 0; l < lanes; ++l) x[j][l] = inverse[j] == T(0) ? T(0) : x[j][l] * inverse[j];
            for (std::size_t k = j + 1; k < width; ++k) {
                T const by = A[(first + k) * n + first + j];
                for (std::size_t l = 0; l < lanes; ++l) x[k][l] -= by * x[j][l];
            }
        }
        for (std::size_t l = 0; l < rows; ++l) {
            for (std::size_t j = 0; j < width; ++j) A[(i + l) * n + first + j] = x[j][l];
        }
    }
}

}  // namespace detail

// A = L L' in place. A pivot below `floor` times its diagonal entry is a direction that A does not see: its row
// becomes one that solve() answers with 0. Returns how many there were.
//
// In panels of columns: once those of a panel are known, one product of matrices takes them off all that follow. Panels
// of 128 columns, a row at a time, took 1.25 to 1.9 times as long (64 to 1,200 unknowns).
template <class T>
std::size_t cholesky(T* A, std::size_t n, T floor) {
    constexpr std::size_t panel = 24;
    std::vector<T> diagonal(n), product;
    for (std::size_t i = 0; i < n; ++i) diagonal[i] = A[i * n + i];
    T inverse[panel];
    std::size_t lost = 0;
    for (std::size_t first = 0; first < n; first += panel) {
        std::size_t const last = std::min(first + panel, n);
        lost += detail::factor_corner(A, n, first, last, floor, diagonal.data(), inverse);
        if (last == n) break;
        detail::solve_below<panel>(A, n, first, last, inverse);
        PackedRows<T> const packed(A + last * n + first, n, n - last, last - first);
        constexpr std::size_t rows = 96;
        product.resize(rows * (n - last));
        for (std::size_t i = last; i < n; i += rows) {
            std::size_t const end = std::min(i + rows, n), width = end - last;
            multiply(A + i * n + first, n, end - i, packed, 0, width, product.data(), width);
            for (std::size_t r = i; r < end; ++r) {
                T const* from = product.data() + (r - i) * width;
                for (std::size_t c = last; c <= r; ++c) A[r * n + c] -= from[c - last];
            }
        }
    }
    return lost;
}

// x = A^-1 x from the factor, 0 along the directions that were lost.
template <class T>
void cholesky_solve(T const* L, std::size_t n, T* x) {
    for (std::size_t i = 0; i < n; ++i) {
        T const pivot = L[i * n + i];
        x[i] = pivot == T(0) ? T(0) : (x[i] - detail::inner(L + i * n, x, i)) / pivot;
    }
    for (std::size_t i = n; i-- > 0;) {
        T const* row = L + i * n;
        x[i] = row[i] == T(0) ? T(0) : x[i] / row[i];
        T const scale = x[i];
#pragma omp simd
        for (std::size_t j = 0; j < i; ++j) x[j] -= scale * row[j];
    }
}

}  // namespace tallywise
