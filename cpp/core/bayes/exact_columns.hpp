// Columns of whole numbers, whose sums need no care.
//
// Sums of x and x^2 over up to 2^13 rows of whole numbers up to 2^20 in size stay below 2^53: plain additions of
// doubles are exact. What a pair of doubles keeps of them is the same to the bit, for a tenth of the arithmetic.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "core/base/parallel.hpp"
#include "core/bayes/statistics.hpp"
#include "core/data/readers.hpp"

namespace tallywise {

// Columns [begin, end), all of one kind.
struct ColumnRun {
    std::size_t begin, end;
    bool exact;
};

namespace detail {

constexpr std::size_t exact_rows = std::size_t{1} << 13;
constexpr double exact_size = 0x1p20;

// For each column, whether it has whole numbers up to exact_size only.
inline std::vector<char> whole_columns(ReadDense const& X, Team& team) {
    std::size_t const d = X.width;
    constexpr std::size_t grain = 1 << 14, look = 1 << 9;
    std::vector<std::vector<char>> found(Team::count(X.lines, grain));
    team.each_range(X.lines, grain, [&](std::size_t begin, std::size_t end, std::size_t chunk) {
        std::vector<double> rest(d, 0.0), top(d, 0.0), buffer(d);
        for (std::size_t i = begin; i < end; ++i) {
            double const* const x = X.line(i, buffer.data());
#pragma omp simd
            for (std::size_t j = 0; j < d; ++j) {
                double const size = std::abs(x[j]);
                rest[j] += std::abs(x[j] - std::trunc(x[j]));
                top[j] = size > top[j] ? size : top[j];
            }
            if ((i - begin) % look != look - 1) continue;
            std::size_t left = 0;
            for (std::size_t j = 0; j < d; ++j) left += rest[j] == 0 && top[j] <= exact_size;
            if (4 * left >= d) continue;
            found[chunk].assign(d, 0);  // too few to be worth the search
            return;
        }
        for (std::size_t j = 0; j < d; ++j) found[chunk].push_back(rest[j] == 0 && top[j] <= exact_size);
    });
    std::vector<char> whole(d, 1);
    for (auto const& part : found) {
        for (std::size_t j = 0; j < d; ++j) whole[j] &= part[j];
    }
    return whole;
}

// Stretches of whole columns worth a pass of their own, and the rest.
inline std::vector<ColumnRun> column_runs(std::vector<char> const& whole) {
    constexpr std::size_t worth = 8;
    std::vector<ColumnRun> runs;
    for (std::size_t begin = 0, end; begin < whole.size(); begin = end) {
        for (end = begin + 1; end < whole.size() && whole[end] == whole[begin]; ++end) {
        }
        bool const exact = whole[begin] && end - begin >= worth;
        if (!runs.empty() && runs.back().exact == exact) {
            runs.back().end = end;
        } else {
            runs.push_back({begin, end, exact});
        }
    }
    return runs;
}

// Adds sign times the rows of class c, in whole columns [begin, end), to its sums.
template <class Groups>
void add_exact_rows(ReadDense const& X, Groups const& groups, std::size_t c, double sign, Statistics const& S,
                    std::size_t begin, std::size_t end) {
    std::size_t const n = end - begin, rows = groups.start[c + 1] - groups.start[c];
    std::size_t const* const order = groups.order.data() + groups.start[c];
    std::vector<double> sums(n), squares(n), buffer(n);
    for (std::size_t first = 0; first < rows; first += exact_rows) {
        std::size_t const last = std::min(rows, first + exact_rows);
        std::fill(sums.begin(), sums.end(), 0.0);
        std::fill(squares.begin(), squares.end(), 0.0);
        double *const s1 = sums.data(), *const s2 = squares.data();
        for (std::size_t r = first; r < last; ++r) {
            X.fetch(order[std::min(r + 8, rows - 1)], begin, end);
            double const* const x = X.part(order[r], begin, end, buffer.data());
#pragma omp simd
            for (std::size_t k = 0; k < n; ++k) {
                s1[k] += x[k];
                s2[k] += x[k] * x[k];
            }
        }
        for (std::size_t k = 0; k < n; ++k) {
            for (std::size_t t = 0; t < 2; ++t) {
                std::size_t const at = S.at(t, c, begin + k);
                Pair const sum = S.pair(t, c, begin + k) + Pair{sign * (t == 0 ? s1[k] : s2[k]), 0};
                S.value[at] = sum.high;
                S.carry[at] = sum.low;
            }
        }
    }
}

}  // namespace detail
}  // namespace tallywise
