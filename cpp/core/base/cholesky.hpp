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

}  // namespace detail

// A = L L' in place. A pivot below `floor` times its diagonal entry is a direction that A does not see: its row
// becomes one that solve() answers with 0. Returns how many there were.
//
// In panels of columns: once those of a panel are known, one product of matrices takes them off all that follow. 2,050
// unknowns take a fifth of the time that they take in one panel.
template <class T>
std::size_t cholesky(T* A, std::size_t n, T floor) {
    std::size_t const panel = n <= 256 ? n : 128;
    std::vector<T> diagonal(n), product;
    for (std::size_t i = 0; i < n; ++i) diagonal[i] = A[i * n + i];
    std::size_t lost = 0;
    for (std::size_t first = 0; first < n; first += panel) {
        std::size_t const last = std::min(first + panel, n);
        for (std::size_t i = first; i < n; ++i) {
            T* row = A + i * n + first;
            for (std::size_t j = first; j < std::min(i, last); ++j) {
                T const* other = A + j * n + first;
                std::size_t const k = j - first;
                row[k] = other[k] == T(0) ? T(0) : (row[k] - detail::inner(row, other, k)) / other[k];
            }
            if (i >= last) continue;
            T const pivot = row[i - first] - detail::inner(row, row, i - first);
            bool const seen = pivot > floor * diagonal[i] && std::isfinite(pivot);
            row[i - first] = seen ? std::sqrt(pivot) : T(0);
            lost += !seen;
        }
        if (last == n) break;
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
