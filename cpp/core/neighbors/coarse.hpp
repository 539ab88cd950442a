// Rows in codes of 8 bits, and which of them may lie within a reach of a query: four times as many products at a time
// as in float32.
//
// A point x becomes whole numbers, code(x)_j = (x_j - middle_j) / unit rounded and cut off at +-limit_j, with an error
// e(x) = |x - middle - unit code(x)| that is known for each point. By the triangle inequality
//     |q - v| <= far   implies   |code(q) - code(v)| <= R = (far + e(q) + e(v)) / unit,
// and the left side is computed without rounding: with halves h(v) = floor(|code(v)|^2 / 2), rounded up for q,
//     h(q) + h(v) - <code(q), code(v)>   is within 1/2 of   |code(q) - code(v)|^2 / 2,
// a whole number >= 0. All sums are taken modulo 2^16, so a row far away may come out near, and is measured in vain;
// none that is near comes out far. For e(v) stands a bound that nearly all rows keep; the others always pass.
//
// Products of pairs are added in 16 bits by one instruction, which must not saturate: codes of rows are stored plus
// limit_j, as bytes without sign, and a wide coordinate is paired with a narrow one such that
// 2 (limit_a^2 + limit_b^2) < 2^15.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace tallywise::neighbors {

// Queries as codes.
struct CoarseQueries {
    std::vector<std::int8_t> codes;    // of each query `stride` bytes: -code(q) by pairs, each pair twice
    std::vector<std::uint16_t> start;  // h(q), with what the shift of the rows' codes adds
    std::vector<double> error;         // e(q)
    std::size_t stride = 0;
};

class CoarseRows {
  public:
    static constexpr std::size_t panel = 32;      // rows side by side
    static constexpr std::uint16_t all = 0xFFFF;  // a cut that lets all rows pass

    CoarseRows() = default;

    // Of n rows, `width` entries of each.
    CoarseRows(float const* rows, std::size_t n, std::size_t stride, std::size_t width)
        : n_(n), width_(width), pairs_((width + 1) / 2) {
        choose_units(rows, stride);
        std::size_t const panels = (n + panel - 1) / panel;
        codes_.assign(panels * pairs_ * 2 * panel, 0);
        halves_.assign(panels * panel, 0);
        loose_.assign(panels, 0);
        std::vector<float> errors(n);
        std::vector<int> code(width);
        for (std::size_t i = 0; i < n; ++i) {
            errors[i] = static_cast<float>(encode(rows + i * stride, code.data()) * (1 + 0x1p-20));
            halves_[i] = static_cast<std::uint16_t>(square(code) / 2);
            std::uint8_t* to = codes_.data() + i / panel * pairs_ * 2 * panel + i % panel * 2;
            for (std::size_t j = 0; j < width; ++j) {
                to[place_[j] / 2 * 2 * panel + place_[j] % 2] = static_cast<std::uint8_t>(code[j] + limits_[j]);
            }
        }
        if (n == 0) return;
        std::vector<float> ranked = errors;
        auto const kept = ranked.begin() + static_cast<std::ptrdiff_t>((n - 1) - (n - 1) / 512);
        std::nth_element(ranked.begin(), kept, ranked.end());
        error_ = static_cast<double>(*kept);
        for (std::size_t i = 0; i < n; ++i) {
            if (errors[i] > *kept) loose_[i / panel] |= 1u << i % panel;
        }
    }

    // Of m queries, whose entries are given with the other sign.
    CoarseQueries encode_queries(float const* negatives, std::size_t m, std::size_t stride) const {
        CoarseQueries queries;
        queries.stride = pairs_ * 4;
        queries.codes.assign(m * queries.stride, 0);
        std::vector<int> code(width_);
        std::vector<float> q(width_);
        for (std::size_t i = 0; i < m; ++i) {
            for (std::size_t j = 0; j < width_; ++j) q[j] = -negatives[i * stride + j];
            queries.error.push_back(encode(q.data(), code.data()));
            int start = (square(code) + 1) / 2;
            for (std::size_t j = 0; j < width_; ++j) {
                start += code[j] * limits_[j];
                std::int8_t* to = queries.codes.data() + i * queries.stride + place_[j] / 2 * 4 + place_[j] % 2;
                to[0] = to[2] = static_cast<std::int8_t>(-code[j]);
            }
            queries.start.push_back(static_cast<std::uint16_t>(start));
        }
        return queries;
    }

    // By how much the distance of query i and a row may exceed what their codes say.
    double error(CoarseQueries const& queries, std::size_t i) const { return queries.error[i] + error_; }

    // What `find` takes for rows within `far` of query i; the largest number lets all rows pass.
    std::uint16_t cut(CoarseQueries const& queries, std::size_t i, double far) const {
        double const reach = (far + error(queries, i)) / unit_ * (1 + 0x1p-20);
        double const half = reach * reach / 2 + 0.5;
        constexpr double most = all;
        return half < most ? static_cast<std::uint16_t>(half) : static_cast<std::uint16_t>(most);
    }

    // Rows of panels [first, first + panels) that may lie within the reach of queries chosen[0 .. m), as bits:
    // found[a * panels + p] for query chosen[a] and panel first + p.
    void find(CoarseQueries const& queries, std::uint16_t const* cuts, std::uint32_t const* chosen, std::size_t m,
              std::size_t first, std::size_t panels, std::uint32_t* found) const {
        for (std::size_t p = 0; p < panels; ++p) {
            for (std::size_t a = 0; a < m; a += together) {
                find_some<together>(queries, cuts, chosen + a, m - a, first + p, found + a * panels + p, panels);
            }
        }
    }

  private:
    static constexpr std::size_t together =
        6;  // queries: 4 x 2 sums, 2 of codes and what they meet in fit 16 registers

    static int square(std::vector<int> const& code) {
        return std::inner_product(code.begin(), code.end(), code.begin(), 0);
    }

    // Middles, limits, pairs and the unit, from the ends of each coordinate in some of the rows, and a little beyond.
    void choose_units(float const* rows, std::size_t stride) {
        std::vector<double> reach(width_, 0.0);
        middles_.assign(width_, 0.0);
        std::size_t const step = std::max<std::size_t>(1, n_ / 1024);
        std::vector<float> low(width_, std::numeric_limits<float>::max()),
            high(width_, std::numeric_limits<float>::lowest());
        for (std::size_t i = 0; i < n_; i += step) {
            for (std::size_t j = 0; j < width_; ++j) {
                low[j] = std::min(low[j], rows[i * stride + j]);
                high[j] = std::max(high[j], rows[i * stride + j]);
            }
        }
        for (std::size_t j = 0; j < width_ && n_ > 0; ++j) {
            middles_[j] = (static_cast<double>(low[j]) + static_cast<double>(high[j])) / 2;
            reach[j] = (static_cast<double>(high[j]) - static_cast<double>(low[j])) / 2 * 1.125;
        }
        std::vector<std::size_t> wide(width_);
        std::iota(wide.begin(), wide.end(), std::size_t{0});
        std::stable_sort(wide.begin(), wide.end(), [&](std::size_t a, std::size_t b) { return reach[a] > reach[b]; });
        place_.resize(width_);
        unit_ = 1e-30;
        for (std::size_t t = 0; t < pairs_; ++t) {
            std::size_t const other = 2 * pairs_ - 1 - t;
            place_[wide[t]] = 2 * t;
            if (other < width_) place_[wide[other]] = 2 * t + 1;
            double const a = reach[wide[t]], b = other < width_ ? reach[wide[other]] : 0.0;
            unit_ = std::max({unit_, std::sqrt(a * a + b * b) / 127.9, a / 127});
        }
        limits_.resize(width_);
        for (std::size_t j = 0; j < width_; ++j) limits_[j] = static_cast<int>(reach[j] / unit_);
    }

    // The code of a point; returns its error.
    double encode(float const* x, int* code) const {
        double const scale = 1 / unit_;
        double total = 0;
#pragma omp simd reduction(+ : total)
        for (std::size_t j = 0; j < width_; ++j) {
            double const at = (static_cast<double>(x[j]) - middles_[j]) * scale, limit = limits_[j];
            double const within = std::max(-limit, std::min(limit, at));  // limit where it is no number
            code[j] = static_cast<int>(std::nearbyint(within));
            double const error = at - code[j];
            total += error * error;
        }
        return std::sqrt(total) * unit_;
    }

    // Of the first R queries, or all m where they are fewer.
    template <std::size_t R>
    void find_some(CoarseQueries const& queries, std::uint16_t const* cuts, std::uint32_t const* chosen, std::size_t m,
                   std::size_t number, std::uint32_t* found, std::size_t stride) const {
        if constexpr (R > 0) {
            if (m < R) return find_some<R - 1>(queries, cuts, chosen, m, number, found, stride);
            find_panel<R>(queries, cuts, chosen, number, found, stride);
        }
    }

#if defined(__AVX2__)
    template <std::size_t R>
    void find_panel(CoarseQueries const& queries, std::uint16_t const* cuts, std::uint32_t const* chosen,
                    std::size_t number, std::uint32_t* found, std::size_t stride) const {
        auto const load = [](void const* from) { return _mm256_loadu_si256(static_cast<__m256i const*>(from)); };
        auto const all = [](std::uint16_t x) { return _mm256_set1_epi16(static_cast<short>(x)); };
        std::uint8_t const* codes = codes_.data() + number * pairs_ * 2 * panel;
        __m256i const h0 = load(&halves_[number * panel]), h1 = load(&halves_[number * panel + 16]);
        std::int8_t const* q[R];
        __m256i sum[R][2];
#pragma GCC unroll 6
        for (std::size_t r = 0; r < R; ++r) {
            q[r] = queries.codes.data() + chosen[r] * queries.stride;
            sum[r][0] = _mm256_add_epi16(h0, all(queries.start[chosen[r]]));
            sum[r][1] = _mm256_add_epi16(h1, all(queries.start[chosen[r]]));
        }
        for (std::size_t t = 0; t < pairs_; ++t, codes += 2 * panel) {
            __m256i const v0 = load(codes), v1 = load(codes + panel);
#pragma GCC unroll 6
            for (std::size_t r = 0; r < R; ++r) {
                int pair;
                std::memcpy(&pair, q[r] + 4 * t, sizeof pair);
                __m256i const u = _mm256_set1_epi32(pair);
                sum[r][0] = _mm256_add_epi16(sum[r][0], _mm256_maddubs_epi16(v0, u));
                sum[r][1] = _mm256_add_epi16(sum[r][1], _mm256_maddubs_epi16(v1, u));
            }
        }
#pragma GCC unroll 6
        for (std::size_t r = 0; r < R; ++r) {
            __m256i const most = all(cuts[chosen[r]]);
            __m256i const near0 = _mm256_cmpeq_epi16(_mm256_min_epu16(sum[r][0], most), sum[r][0]);
            __m256i const near1 = _mm256_cmpeq_epi16(_mm256_min_epu16(sum[r][1], most), sum[r][1]);
            __m256i const near = _mm256_permute4x64_epi64(_mm256_packs_epi16(near0, near1), 0xD8);
            found[r * stride] = static_cast<std::uint32_t>(_mm256_movemask_epi8(near)) | loose_[number];
        }
    }
#else
    template <std::size_t R>
    void find_panel(CoarseQueries const& queries, std::uint16_t const* cuts, std::uint32_t const* chosen,
                    std::size_t number, std::uint32_t* found, std::size_t stride) const {
        for (std::size_t r = 0; r < R; ++r) {
            std::int8_t const* q = queries.codes.data() + chosen[r] * queries.stride;
            std::uint8_t const* codes = codes_.data() + number * pairs_ * 2 * panel;
            std::array<std::uint16_t, panel> sums;
            for (std::size_t i = 0; i < panel; ++i) {
                sums[i] = static_cast<std::uint16_t>(halves_[number * panel + i] + queries.start[chosen[r]]);
            }
            for (std::size_t t = 0; t < pairs_; ++t, codes += 2 * panel, q += 4) {
                for (std::size_t i = 0; i < panel; ++i) {
                    sums[i] = static_cast<std::uint16_t>(sums[i] + codes[2 * i] * q[0] + codes[2 * i + 1] * q[1]);
                }
            }
            std::uint32_t near = loose_[number];
            for (std::size_t i = 0; i < panel; ++i) near |= (sums[i] <= cuts[chosen[r]] ? 1u : 0u) << i;
            found[r * stride] = near;
        }
    }
#endif

    std::size_t n_ = 0, width_ = 0, pairs_ = 0;
    double unit_ = 1, error_ = 0;  // the error bounds that of all rows but the loose
    std::vector<double> middles_;  // of each coordinate
    std::vector<int> limits_;
    std::vector<std::size_t> place_;     // of each coordinate in its row of pairs
    std::vector<std::uint8_t> codes_;    // panel after panel, in each pair after pair
    std::vector<std::uint16_t> halves_;  // h of each row
    std::vector<std::uint32_t> loose_;   // of each panel, the rows that always pass
};

}  // namespace tallywise::neighbors
