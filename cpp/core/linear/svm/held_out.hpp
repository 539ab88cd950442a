// Scores of rows by machines that have not seen them: cross-validation of one class against the rest.
//
//   z_ik = x_i'w_k + b_k,  (w_k, b_k) the machine of class k on the rows outside the fold of row i
//
// A machine lives until it has scored its fold: X is not cut up, and no matrix of weights is made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/base/parallel.hpp"
#include "core/linear/svm/margins.hpp"

namespace tallywise {

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

// A row of scores a row of X, one a problem; NaN for rows in no fold. Squared hinge; several machines go side by side
// in single precision where the options are quick.
inline std::vector<double> held_out_scores(Sparse<double> const& X, MarginTargets const& targets, RowFolds const& folds,
                                           MarginOptions const& options) {
    using Rows = Sparse<double>;
    std::vector<double> z(X.lines * targets.count, std::numeric_limits<double>::quiet_NaN());
    auto const judge = [&](std::size_t fold, MarginOptions const& how) {
        auto const s = folds.weights_outside(fold, targets.s, X.lines);
        MarginTargets outside = targets;
        outside.s = s.data();
        auto const keep = [&](auto const& solver, std::size_t first) {
            for (std::size_t i = 0; i < X.lines; ++i) {
                if (folds.of[i] != static_cast<std::int32_t>(fold)) continue;
                solver.write_scores(i, z.data() + i * targets.count + first);
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
    return z;
}

}  // namespace tallywise
