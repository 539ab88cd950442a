// Weights in 8 bits: each row as whole numbers times a power of two of its own.
//
//     w_jc ~ q_jc 2^e_j,   |q_jc| <= 127,   2^e_j the least that reaches the largest |w_jc| of the row
//
// so that |w_jc - q_jc 2^e_j| <= 2^e_j / 2. `centred` moves a row first, so that its largest and its smallest weight
// are equally far from 0: what all classes share in a row changes no verdict.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

namespace tallywise::serve {

struct RoundedRows {
    std::vector<std::int8_t> values, exponents;
};

inline RoundedRows round_rows(double const* W, std::size_t rows, std::size_t columns, bool centred) {
    constexpr int least = -100, most = 100;  // exponents: beyond, a weight is 0 or no weight
    RoundedRows out{std::vector<std::int8_t>(rows * columns), std::vector<std::int8_t>(rows, least)};
    for (std::size_t j = 0; j < rows && columns > 0; ++j) {
        double const* const w = W + j * columns;
        auto const [low, high] = std::minmax_element(w, w + columns);
        double const middle = centred ? *low / 2 + *high / 2 : 0.0;
        double const largest = std::max(*high - middle, middle - *low);
        // What is no number is neither the least nor the largest.
        bool const finite = std::all_of(w, w + columns, [](double value) { return std::isfinite(value); });
        if (!finite || !std::isfinite(largest)) throw std::invalid_argument("A weight is not finite");
        if (largest == 0) continue;
        int e = 0;
        if (std::frexp(largest / 127, &e) == 0.5) --e;
        if (e > most) throw std::invalid_argument("A weight is too large");
        e = std::max(e, least);
        double const inverse = std::ldexp(1.0, -e);
        for (std::size_t c = 0; c < columns; ++c) {
            out.values[j * columns + c] =
                static_cast<std::int8_t>(std::clamp(std::nearbyint((w[c] - middle) * inverse), -127.0, 127.0));
        }
        out.exponents[j] = static_cast<std::int8_t>(e);
    }
    return out;
}

}  // namespace tallywise::serve
