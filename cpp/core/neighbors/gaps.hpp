// Tables of sums of |u_j - v_j|^p for whole blocks of rows, by the kernel of gemm.hpp with another pair of operations.
#pragma once

#include <algorithm>
#include <cstddef>

#include "core/gemm.hpp"

namespace tallywise {

// Sum of |u_j - v_j|^P; P = 0 stands for the largest |u_j - v_j|.
template <int P>
struct Gap {
    static constexpr int power = P;

    template <class T, class Lanes>
    static void add(Lanes& sum, T x, Lanes const& b) {
        using Bits = decltype(b < b);
        Lanes const difference = x - b, sign = -Lanes{};
        auto const gap = (Lanes)((Bits)difference & ~(Bits)sign);
        if constexpr (P == 0) sum = gap > sum ? gap : sum;
        if constexpr (P == 1) sum += gap;
        if constexpr (P == 2) sum += gap * gap;
        if constexpr (P == 3) sum += gap * gap * gap;
        if constexpr (P == 4) sum += (gap * gap) * (gap * gap);
    }
    template <class T>
    static T join(T one, T other) {
        return P == 0 ? std::max(one, other) : one + other;
    }
};

// f(Gap<P>) for the cheap norm that bounds the norm p from below: norms fall as p rises, so the next whole p, or the
// largest gap.
template <class F>
decltype(auto) visit_gap(double p, F&& f) {
    if (p <= 1) return f(Gap<1>{});
    if (p <= 2) return f(Gap<2>{});
    if (p <= 3) return f(Gap<3>{});
    if (p <= 4) return f(Gap<4>{});
    return f(Gap<0>{});
}

}  // namespace tallywise
