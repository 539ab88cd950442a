// X' diag(h) X for few features, with an optional column of constants at the end. Lower triangle, row-major.
//
// Pieces of rows have sums of their own, added in order: the same bytes for any number of threads.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "core/base/line_products.hpp"
#include "core/base/parallel.hpp"
#include "core/data/design.hpp"

namespace tallywise::linear {

namespace detail {

// sum over rows [begin, end) of h_i x_i x_i', entry by entry.
template <class V>
void add_gram(Sparse<V> const& X, std::size_t begin, std::size_t end, double const* h, double constant, std::size_t q,
              double* H) {
    for (std::size_t i = begin; i < end; ++i) {
        if (h[i] == 0) continue;
        auto const [indices, values, last] = X.entries(i);
        bool const rising = std::is_sorted(indices, indices + last);
        for (std::size_t a = 0; a < last; ++a) {
            double const scaled = h[i] * static_cast<double>(values[a]);
            auto const r = static_cast<std::size_t>(indices[a]);
            double* row = H + r * q;
            // A row in any other order meets each of its pairs on the right side of the diagonal once.
            for (std::size_t b = 0; b < (rising ? a + 1 : last); ++b) {
                auto const c = static_cast<std::size_t>(indices[b]);
                if (rising || c <= r) row[c] += scaled * static_cast<double>(values[b]);
            }
        }
        if (constant == 0) continue;
        double* row = H + (q - 1) * q;
        double const scaled = h[i] * constant;
        for (std::size_t b = 0; b < last; ++b) {
            row[static_cast<std::size_t>(indices[b])] += scaled * static_cast<double>(values[b]);
        }
        row[q - 1] += scaled * constant;
    }
}

}  // namespace detail

// Dense rows that have a weight, as lines of columns scaled by its root.
template <class V>
std::vector<double> weighted_gram(Team& team, Dense<V> const& X, double const* h, double constant) {
    std::vector<std::size_t> members;
    for (std::size_t i = 0; i < X.lines; ++i) {
        if (h[i] != 0) members.push_back(i);
    }
    return gram_of_lines(team, X.width + (constant != 0 ? 1 : 0), members.size(),
                         [&](std::size_t first, std::size_t count, LineBlock& block) {
                             for (std::size_t i = 0; i < count; ++i) {
                                 V const* x = X.data + members[first + i] * X.stride;
                                 double const root = std::sqrt(h[members[first + i]]);
                                 for (std::size_t j = 0; j < X.width; ++j) {
                                     block.line(j)[i] = root * static_cast<double>(x[j]);
                                 }
                                 if (constant != 0) block.line(X.width)[i] = root * constant;
                             }
                         });
}

template <class V>
std::vector<double> weighted_gram(Team& team, Sparse<V> const& X, double const* h, double constant) {
    std::size_t const q = X.width + (constant != 0 ? 1 : 0), size = q * q;
    // At most eight pieces, and fewer where the sums would take more memory than 64 MB or more time than the products.
    std::size_t products = 0;
    for (std::size_t i = 0; i < X.lines; ++i) products += h[i] != 0 ? X.length(i) * X.length(i) : 0;
    std::size_t const memory = (std::size_t{1} << 23) / std::max<std::size_t>(size, 1);
    std::size_t const most = std::clamp<std::size_t>(std::min(memory, products / (4 * size + 1)), 1, 8);
    std::size_t const grain = std::max<std::size_t>(256, (X.lines + most - 1) / most);
    std::size_t const pieces = std::max<std::size_t>(Team::count(X.lines, grain), 1);
    std::vector<double> parts(pieces * size, 0.0);
    team.each_range(X.lines, grain, [&](std::size_t begin, std::size_t end, std::size_t piece) {
        detail::add_gram(X, begin, end, h, constant, q, parts.data() + piece * size);
    });
    for (std::size_t piece = 1; piece < pieces; ++piece) {
        for (std::size_t k = 0; k < size; ++k) parts[k] += parts[piece * size + k];
    }
    parts.resize(size);
    return parts;
}

// Divides H (lower triangle) by the roots of its diagonal on both sides, so that a factor does not see the units of the
// columns. Gives the factors: H^-1 = scale (scaled H)^-1 scale.
inline std::vector<double> equilibrate(std::vector<double>& H, std::size_t m) {
    std::vector<double> scale(m);
    for (std::size_t i = 0; i < m; ++i) scale[i] = H[i * m + i] > 0 ? 1.0 / std::sqrt(H[i * m + i]) : 0.0;
    for (std::size_t i = 0; i < m; ++i) {
        for (std::size_t j = 0; j <= i; ++j) H[i * m + j] *= scale[i] * scale[j];
    }
    return scale;
}

}  // namespace tallywise::linear
