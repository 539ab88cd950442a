// Bounds on the inner products of a query with all rows, from 64 numbers of 7 bits a row.
//
// Coordinates are put into parcels. A signature holds the norm of a row or query in each parcel, rounded up to a whole
// number of its unit; by Cauchy-Schwarz in each parcel, the product of two signatures bounds the inner product of what
// they stand for. Numbers are at most 127 and a signature's own norm at most 248, so that products of pairs are below
// 2^15 and sums below 2^16: one instruction multiplies 32 numbers and adds up pairs.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace tallywise::neighbors {

// Not below x, for 0 <= x < 1e30.
inline float rounded_up(double x) { return static_cast<float>(x * (1 + 0x1p-22)) + std::numeric_limits<float>::min(); }

struct Signature {
    static constexpr std::size_t parcels = 64;

    std::array<std::uint8_t, parcels> steps{};  // a parcel's norm is at most steps * unit
    float unit = 0;

    // From squared norms.
    void set(std::array<double, parcels> const& squares) {
        double largest = 0, total = 0;
        for (double const square : squares) {
            largest = std::max(largest, square);
            total += square;
        }
        unit = rounded_up(std::max(std::sqrt(largest) / 127, std::sqrt(total) / 240));  // rounding up adds at most 8
        for (std::size_t g = 0; g < parcels; ++g) {
            steps[g] = static_cast<std::uint8_t>(std::ceil(std::sqrt(squares[g]) / static_cast<double>(unit)));
        }
    }
};

// The signatures of rows, 32 side by side.
class Signatures {
  public:
    static constexpr std::size_t panel = 32;

    void resize(std::size_t n) {
        std::size_t const panels = (n + panel - 1) / panel;
        steps_.assign(panels * panel * Signature::parcels, 0);
        units_.assign(panels * panel, 0.0f);
    }

    void set(std::size_t row, Signature const& signature) {
        units_[row] = signature.unit;
        std::uint8_t* to = steps_.data() + row / panel * panel * Signature::parcels + row % panel * 2;
        for (std::size_t g = 0; g < Signature::parcels; ++g) to[g / 2 * 2 * panel + g % 2] = signature.steps[g];
    }

    // bounds[i] on the product of the query and row first + i, for i < n; first is a multiple of `panel`, and
    // `bounds` has room for n rounded up to one.
    void multiply(Signature const& query, std::size_t first, std::size_t n, float* bounds) const {
        alignas(32) std::array<std::uint16_t, panel> sums;
        for (std::size_t row = first; row < first + n; row += panel) {
            multiply_panel(query, steps_.data() + row * Signature::parcels, sums);
            for (std::size_t i = 0; i < panel; ++i) {
                bounds[row - first + i] = static_cast<float>(sums[i]) * (query.unit * units_[row + i]);
            }
        }
    }

  private:
    static constexpr std::size_t pairs = Signature::parcels / 2;

#if defined(__AVX2__)
    static void multiply_panel(Signature const& query, std::uint8_t const* steps,
                               std::array<std::uint16_t, panel>& sums) {
        __m256i sum[2] = {_mm256_setzero_si256(), _mm256_setzero_si256()};
        for (std::size_t t = 0; t < pairs; ++t, steps += 2 * panel) {
            short pair;
            std::memcpy(&pair, query.steps.data() + 2 * t, sizeof pair);
            __m256i const q = _mm256_set1_epi16(pair);
            auto const* rows = reinterpret_cast<__m256i const*>(steps);
            sum[0] = _mm256_add_epi16(sum[0], _mm256_maddubs_epi16(_mm256_loadu_si256(rows), q));
            sum[1] = _mm256_add_epi16(sum[1], _mm256_maddubs_epi16(_mm256_loadu_si256(rows + 1), q));
        }
        _mm256_store_si256(reinterpret_cast<__m256i*>(sums.data()), sum[0]);
        _mm256_store_si256(reinterpret_cast<__m256i*>(sums.data()) + 1, sum[1]);
    }
#else
    static void multiply_panel(Signature const& query, std::uint8_t const* steps,
                               std::array<std::uint16_t, panel>& sums) {
        sums.fill(0);
        for (std::size_t t = 0; t < pairs; ++t, steps += 2 * panel) {
            int const q0 = query.steps[2 * t], q1 = query.steps[2 * t + 1];
            for (std::size_t i = 0; i < panel; ++i) {
                sums[i] = static_cast<std::uint16_t>(sums[i] + steps[2 * i] * q0 + steps[2 * i + 1] * q1);
            }
        }
    }
#endif

    std::vector<std::uint8_t> steps_;  // panel after panel, in each pair of parcels after pair
    std::vector<float> units_;
};

}  // namespace tallywise::neighbors
