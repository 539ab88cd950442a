// Counts of categories that are whole numbers: the numbers are places among the cells of their features. Read as
// doubles, as other entries are, they took three times as long to check and to add.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/parallel.hpp"
#include "core/base/prefetch.hpp"
#include "core/data/design.hpp"
#include "core/naive_bayes/categorical.hpp"
#include "core/naive_bayes/groups.hpp"
#include "core/naive_bayes/statistics.hpp"

namespace tallywise::naive_bayes {

using Categories = Dense<std::int64_t>;

// Whether every number is that of a category.
inline bool all_known(Categorical const& event, Categories const& X, Team& team) {
    std::vector<std::uint64_t> sizes;
    for (std::size_t j = 0; j < X.width; ++j) {
        sizes.push_back(static_cast<std::uint64_t>(event.offsets[j + 1] - event.offsets[j]));
    }
    std::atomic<bool> known = true;
    team.each_range(X.lines, 65'536 / std::max<std::size_t>(X.width, 1) + 1,
                    [&](std::size_t begin, std::size_t end, std::size_t) {
                        bool good = true;
                        for (std::size_t i = begin; i < end; ++i) {
                            std::int64_t const* const x = X.data + i * X.stride;
                            for (std::size_t j = 0; j < X.width; ++j)
                                good &= static_cast<std::uint64_t>(x[j]) < sizes[j];
                        }
                        if (!good) known = false;
                    });
    return known;
}

// S += sign times the rows of each class, all of weight 1 and of known categories.
inline void add_categories(Categorical const& event, Categories const& X, Groups const& groups, double sign,
                           Statistics const& S, Team& team) {
    team.each(S.classes, [&](std::size_t c) {
        std::vector<std::int64_t> counts(S.cells, 0);
        std::size_t const last = groups.start[c + 1];
        for (std::size_t r = groups.start[c]; r < last; ++r) {
            prefetch_line(X.data + groups.order[std::min(r + 16, last - 1)] * X.stride);
            std::int64_t const* const x = X.data + groups.order[r] * X.stride;
            for (std::size_t j = 0; j < X.width; ++j) ++counts[static_cast<std::size_t>(event.offsets[j] + x[j])];
        }
        double* const sums = S.value + S.at(0, c, 0);
        for (std::size_t k = 0; k < S.cells; ++k) sums[k] += sign * static_cast<double>(counts[k]);
    });
}

}  // namespace tallywise::naive_bayes
