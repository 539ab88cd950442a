// Sums that can be undone. A double keeps 53 bits of a sum; a pair of doubles keeps 106, which is exact for integers,
// for single precision, and for any data whose sums fit in that many bits. Built without contraction of a * b + c
// (see CMakeLists.txt), which would change the roundings that these formulas measure.
#pragma once

#include <cmath>

namespace tallywise {

constexpr double largest_count = 0x1p53;  // beyond it, a double skips integers

// high + low, |low| at most half a unit in the last place of high.
struct Pair {
    double high = 0, low = 0;
};

// a + b exactly (Knuth, The Art of Computer Programming 2, 4.2.2 theorem B).
inline Pair two_sum(double a, double b) {
    double const s = a + b, t = s - a;
    return {s, (a - (s - t)) + (b - t)};
}

// a * b exactly, but for underflow. Without a fused product: Dekker's splitting (Numer. Math. 18, 1971).
inline Pair two_product(double a, double b) {
    double const p = a * b;
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
    return {p, std::fma(a, b, -p)};
#else
    constexpr double split = 0x1p27 + 1;
    double const ca = split * a, cb = split * b;
    double const ah = ca - (ca - a), bh = cb - (cb - b), al = a - ah, bl = b - bh;
    return {p, ((ah * bh - p) + ah * bl + al * bh) + al * bl};
#endif
}

inline Pair operator+(Pair a, Pair b) {
    Pair const s = two_sum(a.high, b.high);
    return two_sum(s.high, s.low + (a.low + b.low));
}
inline Pair operator-(Pair a) { return {-a.high, -a.low}; }
inline Pair operator-(Pair a, Pair b) { return a + -b; }
inline Pair operator*(Pair a, Pair b) {
    Pair const p = two_product(a.high, b.high);
    return two_sum(p.high, p.low + (a.high * b.low + a.low * b.high));
}

}  // namespace tallywise
