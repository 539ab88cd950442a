// The best split of a node by one column, from the sums of its bins.
//
// The gain of rows L and R is G_L^2 / (H_L + l2) + G_R^2 / (H_R + l2) - G^2 / (H + l2), with G and H the sums of the
// first and second derivatives: twice what one Newton step of the leaves lowers the loss by.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numbers>

namespace tallywise::trees {

struct Sums {
    double g = 0, h = 0, n = 0;
    Sums& operator+=(Sums const& other) {
        g += other.g, h += other.h, n += other.n;
        return *this;
    }
    Sums operator+(Sums const& other) const { return {g + other.g, h + other.h, n + other.n}; }
    Sums operator-(Sums const& other) const { return {g - other.g, h - other.h, n - other.n}; }
};

struct SplitRule {
    double l2 = 1.0;
    double least_rows = 5;
    double score(Sums const& s) const { return s.g * s.g / (s.h + l2); }
};

struct Split {
    double gain = 0;
    std::int32_t feature = -1, cut = 0;
    bool missing_left = false;
    std::array<std::uint64_t, 4> levels{};  // that go left
    Sums left;
};

// An ordered column, its last bin without a place in the order: it goes to either side, or away from all others.
inline void split_ordered(Sums const* bins, std::size_t size, Sums const& all, SplitRule const& rule, Split& best) {
    Sums const missing = bins[size - 1];
    double const whole = rule.score(all);
    auto const offer = [&](Sums const& left, std::size_t cut, bool missing_left) {
        Sums const right = all - left;
        if (left.n < rule.least_rows || right.n < rule.least_rows) return;
        double const gain = rule.score(left) + rule.score(right) - whole;
        // Rows without a value that the node has not seen go where more rows go.
        bool const seen = missing.n > 0;
        if (gain > best.gain)
            best = {gain, 0, static_cast<std::int32_t>(cut), seen ? missing_left : left.n >= right.n, {}, left};
    };
    Sums left;
    for (std::size_t cut = 0; cut + 1 < size; ++cut) {
        if (bins[cut].n == 0) continue;  // the same rows as one cut before
        left += bins[cut];
        offer(left, cut, false);
        if (missing.n > 0) offer(left + missing, cut, true);
    }
}

// Categories: levels sorted by their mean step, then cut in two. The best cut of m levels that say nothing gains about
// (2 / pi) m times `noise`, the mean of g^2 over the mean of h: so much is asked of it beyond what a cut of two levels,
// which is no choice, would gain.
inline void split_levels(Sums const* bins, std::size_t size, Sums const& all, double noise, SplitRule const& rule,
                         Split& best) {
    std::array<std::uint8_t, 256> order;
    std::size_t m = 0;
    for (std::size_t k = 0; k < size; ++k) {
        if (bins[k].n > 0) order[m++] = static_cast<std::uint8_t>(k);
    }
    auto const step = [&](std::uint8_t k) { return bins[k].g / (bins[k].h + rule.l2); };
    std::stable_sort(order.begin(), order.begin() + m, [&](auto a, auto b) { return step(a) < step(b); });
    double const whole = rule.score(all);
    double const chance = m > 2 ? 2.0 / std::numbers::pi * static_cast<double>(m - 2) * noise : 0.0;
    Sums left;
    std::array<std::uint64_t, 4> levels{};
    for (std::size_t i = 0; i + 1 < m; ++i) {
        left += bins[order[i]];
        levels[order[i] / 64] |= std::uint64_t{1} << (order[i] % 64);
        Sums const right = all - left;
        if (left.n < rule.least_rows || right.n < rule.least_rows) continue;
        double const gain = rule.score(left) + rule.score(right) - whole - chance;
        if (gain > best.gain) best = {gain, 0, 0, false, levels, left};
    }
}

}  // namespace tallywise::trees
