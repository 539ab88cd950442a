// Scores of rows by machines that have not seen them: cross-validation of one class against the rest.
//
//   z_ik = x_i'w_k + b_k,  (w_k, b_k) the machine of class k on the rows outside the fold of row i
//
// A machine lives until it has scored its fold: X is not cut up, and no matrix of weights is made.
//
// Rows whose blocks of columns have length 1 are scored as new texts would be: what no row outside the fold has is not
// known, and what is known is divided by its own length. Scores would be too small otherwise, those of new texts taken
// for surer than they are.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/base/parallel.hpp"
#include "core/linear/svm/margins.hpp"

namespace tallywise::linear::svm {

// The fold of each row, below `count`; -1 for rows that are in no fold, which are learned from always.
struct RowFolds {
    std::int32_t const* of;
    std::size_t count;

    std::vector<double> weights_outside(std::size_t fold, double const* s, std::size_t n) const {
        std::vector<double> outside(s, s + n);
        for (std::size_t i = 0; i < n; ++i) {
            if (of[i] == static_cast<std::int32_t>(fold)) outside[i] = 0;
        }
        return outside;
    }
};

// Where the blocks of columns begin that have length 1 in every row, in rising order; none where lengths are free.
struct UnitBlocks {
    std::int64_t const* begin = nullptr;
    std::size_t count = 0;

    std::size_t of(std::size_t column) const {
        std::size_t block = 0;
        while (block + 1 < count && static_cast<std::int64_t>(column) >= begin[block + 1]) ++block;
        return block;
    }
};

// The rows of a fold as new ones, in their places; s has no weight for them. Other rows are empty.
inline OwnedSparse<double> as_new(Sparse<double> const& X, RowFolds const& folds, std::size_t fold, double const* s,
                                  UnitBlocks const& blocks) {
    std::vector<char> known(X.width, 0);
    for (std::size_t i = 0; i < X.lines; ++i) {
        if (s[i] > 0) X.each(i, [&](std::size_t j, double) { known[j] = 1; });
    }
    OwnedSparse<double> rows;
    rows.width = X.width;
    std::vector<double> square(blocks.count);
    for (std::size_t i = 0; i < X.lines; ++i) {
        if (folds.of[i] == static_cast<std::int32_t>(fold)) {
            std::fill(square.begin(), square.end(), 0.0);
            X.each(i, [&](std::size_t j, double x) { square[blocks.of(j)] += known[j] ? x * x : 0.0; });
            X.each(i, [&](std::size_t j, double x) {
                if (known[j] && x != 0) rows.add(j, x / std::sqrt(square[blocks.of(j)]));
            });
        }
        rows.end_line();
    }
    return rows;
}

// Scores: a row a row of X, one a problem; NaN for rows in no fold. Dual variables likewise, of each fold: where a fit
// with other weights may begin.
struct HeldOut {
    std::vector<double> scores;
    std::vector<float> variables;

    HeldOut(std::size_t folds, std::size_t size)
        : scores(size, std::numeric_limits<double>::quiet_NaN()), variables(folds * size, 0.0F) {}
};

// `targets.start`, if any, has dual variables for each fold. Squared hinge; several machines go side by side in single
// precision where the options are quick.
inline HeldOut held_out_scores(Sparse<double> const& X, MarginTargets const& targets, RowFolds const& folds,
                               UnitBlocks const& blocks, MarginOptions const& options) {
    using Rows = Sparse<double>;
    std::size_t const K = targets.count, size = X.lines * K;
    HeldOut found(folds.count, size);
    auto const judge = [&](std::size_t fold, MarginOptions const& how) {
        auto const s = folds.weights_outside(fold, targets.s, X.lines);
        MarginTargets outside = targets;
        outside.s = s.data();
        if (targets.start != nullptr) outside.start = targets.start + fold * size;
        auto const made = blocks.count > 0 ? as_new(X, folds, fold, s.data(), blocks) : OwnedSparse<double>();
        Rows const rows = blocks.count > 0 ? made.view() : X;
        auto const keep = [&](auto const& solver, std::size_t first) {
            for (std::size_t i = 0; i < X.lines; ++i) {
                if (folds.of[i] == static_cast<std::int32_t>(fold)) {
                    solver.write_scores(rows, i, found.scores.data() + i * K + first);
                    continue;
                }
                float* const variables = found.variables.data() + fold * size + i * K + first;
                for (std::size_t l = 0; l < solver.lanes(); ++l) {
                    variables[l] = static_cast<float>(solver.variable(l, i));
                }
            }
        };
        if (targets.count == 1 || !how.quick) {
            Descents<1, SquaredHinge, Rows>(X, outside, how).solve(keep);
        } else {
            Descents<8, SquaredHinge, Rows, float>(X, outside, how).solve(keep);
        }
    };
    if (folds.count == 1) {
        judge(0, options);
    } else {  // threads take folds
        MarginOptions alone = options;
        alone.threads = 1;
        Team team(options.threads);
        team.each(folds.count, [&](std::size_t fold) { judge(fold, alone); });
    }
    return found;
}

}  // namespace tallywise::linear::svm
