// Scalar and short-vector arithmetic that every family needs, written so that the compiler can vectorise the
// loops around it.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace tallywise {

inline constexpr double infinity = std::numeric_limits<double>::infinity();

// exp(x) to 1 ulp or so, without a call, so that loops over it vectorise. x = k ln 2 + r, |r| <= ln 2 / 2;
// exp(r) by its series to degree 13 (remainder below 4e-18). Results below the smallest normal number are 0.
[[gnu::always_inline]] inline double exp(double x) {
    constexpr double shifter = 0x1.8p52;  // adding it rounds to an integer and leaves that integer in the low bits
    constexpr double ln2_high = 0x1.62e42fefa0000p-1, ln2_low = 0x1.cf79abc9e3b3ap-40;
    double const clamped = x > 709.79 ? 709.79 : (x < -708.4 ? -708.4 : x);
    double const shifted = clamped * 0x1.71547652b82fep0 + shifter;
    double const k = shifted - shifter;
    double const r = (clamped - k * ln2_high) - k * ln2_low;
    double p = 1.0 / 6227020800.0;
    p = p * r + 1.0 / 479001600.0;
    p = p * r + 1.0 / 39916800.0;
    p = p * r + 1.0 / 3628800.0;
    p = p * r + 1.0 / 362880.0;
    p = p * r + 1.0 / 40320.0;
    p = p * r + 1.0 / 5040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    p = p * r + 1.0;
    p = p * r + 1.0;
    // 2^1024 has no double of its own: it is 2^1023 twice. (Always halving would lose 2^-1022, the smallest normal
    // number.) Told in doubles: AVX2 has no conversion from 64-bit integers, and one would keep loops from vectorising.
    double const twice = k > 1023.0 ? 2.0 : 1.0, lowered = k > 1023.0 ? shifted - 1.0 : shifted;
    double const scale = std::bit_cast<double>((std::bit_cast<std::uint64_t>(lowered) + 1023) << 52);
    double const result = p * scale * twice;
    double const high = x > 709.782712893384 ? std::numeric_limits<double>::infinity() : result;
    return x < -708.39 ? 0.0 : high;
}

// exp(x) in single precision, to 2 ulp or so, for loops that the compiler vectorises eight wide. Same reduction as
// above, series to degree 7 (remainder 1e-8 relative at worst); 0 below the smallest normal number.
inline float exp_single(float x) {
    constexpr float shifter = 0x1.8p23F;
    constexpr float ln2_high = 0x1.62e400p-1F, ln2_low = 0x1.7f7d1cp-20F;
    float const clamped = x > 88.8F ? 88.8F : (x < -87.4F ? -87.4F : x);
    float const shifted = clamped * 0x1.715476p0F + shifter;
    float const k = shifted - shifter;
    float const r = (clamped - k * ln2_high) - k * ln2_low;
    float p = 1.0F / 5040.0F;
    p = p * r + 1.0F / 720.0F;
    p = p * r + 1.0F / 120.0F;
    p = p * r + 1.0F / 24.0F;
    p = p * r + 1.0F / 6.0F;
    p = p * r + 0.5F;
    p = p * r + 1.0F;
    p = p * r + 1.0F;
    // 2^128 has no float of its own: it is 2^127 twice. (Always halving would lose 2^-126, the smallest normal number.)
    std::uint32_t const over = k > 127.0F ? 1 : 0;
    float const scale = std::bit_cast<float>((std::bit_cast<std::uint32_t>(shifted) + 127 - over) << 23);
    float const result = p * scale * static_cast<float>(1 + over);
    float const high = x > 88.72284F ? std::numeric_limits<float>::infinity() : result;
    return x < -87.33655F ? 0.0F : high;
}

// log(x) of a normal number above 0 to 1 ulp or so, without a call, so that loops over it vectorise. x = 2^k m with m
// in [sqrt(1/2), sqrt(2)) and log m = 2 artanh(t), t = (m - 1) / (m + 1), by its series to t^21 (remainder below
// 1e-18). (Left to itself, GCC inlines it once a loop, and a loop with a call does not vectorise: 20 times slower.)
[[gnu::always_inline]] inline double log_normal(double x) {
    constexpr double ln2_high = 0x1.62e42fefa0000p-1, ln2_low = 0x1.cf79abc9e3b3ap-40;
    constexpr std::uint64_t sqrt_half = 0x3fe6a09e667f3bcd, one = 0x3ff0000000000000;
    auto const bits = std::bit_cast<std::uint64_t>(x);
    // Adding 1 - sqrt(1/2) in the scale of the bits carries into the exponent exactly when m would be above sqrt(2).
    std::uint64_t const moved = bits + (one - sqrt_half);
    // The exponent, 0 to 2047, as the low bits of 2^52: AVX2 has no conversion from 64-bit integers.
    double const k = std::bit_cast<double>((moved >> 52) | 0x4330000000000000) - (0x1p52 + 1023.0);
    double const m = std::bit_cast<double>((moved & 0x000fffffffffffff) + sqrt_half);
    double const f = m - 1.0, t = f / (m + 1.0), u = t * t;
    double p = 2.0 / 21.0;
    p = p * u + 2.0 / 19.0;
    p = p * u + 2.0 / 17.0;
    p = p * u + 2.0 / 15.0;
    p = p * u + 2.0 / 13.0;
    p = p * u + 2.0 / 11.0;
    p = p * u + 2.0 / 9.0;
    p = p * u + 2.0 / 7.0;
    p = p * u + 2.0 / 5.0;
    p = p * u + 2.0 / 3.0;
    // 2 t + t u p = f - t (f - u p): the large part f is free of rounding.
    return k * ln2_high + (f - (t * (f - u * p) - k * ln2_low));
}

// log(x) of any number: log 0 is -inf, a number below the smallest normal one counts as 0, negative ones give NaN.
[[gnu::always_inline]] inline double log(double x) {
    constexpr double inf = std::numeric_limits<double>::infinity();
    double const finite = x == inf ? inf : log_normal(x);
    double const positive = x < std::numeric_limits<double>::min() ? -inf : finite;
    return x < 0 || x != x ? std::numeric_limits<double>::quiet_NaN() : positive;
}

// log(1 + x) for finite x >= 0, as exact as log: what 1 + x rounds away is put back.
[[gnu::always_inline]] inline double log1p(double x) {
    double const u = 1.0 + x;
    return log_normal(u) + (x - (u - 1.0)) / u;
}

// log(1 + exp(z)) without overflow.
inline double softplus(double z) { return (z > 0 ? z : 0.0) + log1p(exp(-std::abs(z))); }

// 1 / (1 + exp(-z)) without overflow.
inline double sigmoid(double z) {
    double const e = exp(-std::abs(z));
    return (z >= 0 ? 1.0 : e) / (1.0 + e);
}

template <class T, class U>
inline double dot(T const* a, U const* b, std::size_t n) {
    double total = 0;
#pragma omp simd reduction(+ : total)
    for (std::size_t i = 0; i < n; ++i) total += static_cast<double>(a[i]) * static_cast<double>(b[i]);
    return total;
}

template <class T>
inline void axpy(double scale, T const* x, double* y, std::size_t n) {
#pragma omp simd
    for (std::size_t i = 0; i < n; ++i) y[i] += scale * static_cast<double>(x[i]);
}

// log sum_k exp(z_k); -inf when every z_k is, so that a document with no possible class can be told.
inline double log_sum_exp(double const* z, std::size_t n) {
    double const top = n == 0 ? -std::numeric_limits<double>::infinity() : *std::max_element(z, z + n);
    if (!std::isfinite(top)) return top;
    double total = 0;
    for (std::size_t k = 0; k < n; ++k) total += exp(z[k] - top);
    return top + std::log(total);
}

}  // namespace tallywise
