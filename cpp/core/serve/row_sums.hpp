// Sums of rows of weights, which are real or whole numbers of 16 or 8 bits.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>
#endif

namespace tallywise::serve {

#if defined(__AVX2__) && defined(__FMA__)
namespace row_sums {

// Compilers turn bytes into doubles one at a time; two instructions do it for four.
inline __m256d four(std::int8_t const* w) {
    int bytes;
    std::memcpy(&bytes, w, sizeof bytes);
    return _mm256_cvtepi32_pd(_mm_cvtepi8_epi32(_mm_cvtsi32_si128(bytes)));
}
inline __m256d four(std::int16_t const* w) {
    return _mm256_cvtepi32_pd(_mm_cvtepi16_epi32(_mm_loadl_epi64(reinterpret_cast<__m128i const*>(w))));
}
inline __m256d four(double const* w) { return _mm256_loadu_pd(w); }

// Columns from `first` on, whose sums stay in registers.
template <class T, int fours>
void add(double const* x, std::byte const* const* rows, std::size_t n, std::size_t first, double* z) {
    __m256d sums[fours] = {};
    for (std::size_t k = 0; k < n; ++k) {
        __m256d const value = _mm256_set1_pd(x[k]);
        auto const* const w = reinterpret_cast<T const*>(rows[k]) + first;
        for (int q = 0; q < fours; ++q) sums[q] = _mm256_fmadd_pd(value, four(w + 4 * q), sums[q]);
    }
    for (int q = 0; q < fours; ++q) _mm256_storeu_pd(z + first + 4 * q, sums[q]);
}

}  // namespace row_sums
#endif

// z = sum over k of x_k times row k, in this order: n rows of K columns.
template <class T>
void add_rows(double const* x, std::byte const* const* rows, std::size_t n, std::size_t K, double* z) {
    if (K == 1) {  // a sum that stays in its register does not wait for memory, row by row
        double sum = 0;
        for (std::size_t k = 0; k < n; ++k) sum += x[k] * static_cast<double>(*reinterpret_cast<T const*>(rows[k]));
        z[0] = sum;
        return;
    }
#if defined(__AVX2__) && defined(__FMA__)
    if (K >= 4) {
        std::size_t c = 0;
        for (; c + 16 <= K; c += 16) row_sums::add<T, 4>(x, rows, n, c, z);
        if (c + 8 <= K) {
            row_sums::add<T, 2>(x, rows, n, c, z);
            c += 8;
        }
        for (; c + 4 <= K; c += 4) row_sums::add<T, 1>(x, rows, n, c, z);
        if (c < K) row_sums::add<T, 1>(x, rows, n, K - 4, z);  // some columns again, with the same sums
        return;
    }
#endif
    std::fill_n(z, K, 0.0);
    for (std::size_t k = 0; k < n; ++k) {
        auto const* const w = reinterpret_cast<T const*>(rows[k]);
        for (std::size_t c = 0; c < K; ++c) z[c] += x[k] * static_cast<double>(w[c]);
    }
}

}  // namespace tallywise::serve
