// Cholesky factors of symmetric matrices, row-major, lower triangle.
#pragma once

#include <cmath>
#include <cstddef>

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
template <class T>
std::size_t cholesky(T* A, std::size_t n, T floor) {
    std::size_t lost = 0;
    for (std::size_t i = 0; i < n; ++i) {
        T* row = A + i * n;
        for (std::size_t j = 0; j < i; ++j) {
            T const* other = A + j * n;
            row[j] = other[j] == T(0) ? T(0) : (row[j] - detail::inner(row, other, j)) / other[j];
        }
        T const pivot = row[i] - detail::inner(row, row, i);
        bool const seen = pivot > floor * row[i] && std::isfinite(pivot);
        row[i] = seen ? std::sqrt(pivot) : T(0);
        lost += !seen;
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
