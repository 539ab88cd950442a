// Linear machines on columns scaled by log-count ratios, one class against the rest.
//
//   r_j = log(p_j / |p|) - log(q_j / |q|),   p_j = 1 + rows of the class that have column j, q_j likewise of the rest
//   u_j = r_j (share w_j + (1 - share) mean |w|),   w the machine on x_ij r_j
//
// given rows of ones, in which a column with entries sqrt(m) stands for m equal ones (merged_columns.hpp): |p| and the
// mean run over all of them. Comes back with u, for the rows as they are.
//
// Wang, Manning, Baselines and bigrams: simple, good sentiment and topic classification (ACL 2012).
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/interrupt.hpp"
#include "core/base/parallel.hpp"
#include "core/data/row_lanes.hpp"
#include "core/linear/distinct_rows.hpp"
#include "core/linear/svm/dual_descent.hpp"
#include "core/linear/svm/held_out.hpp"
#include "core/linear/svm/margins.hpp"

namespace tallywise::linear::svm {

class RatioMargins {
    using Rows = Sparse<double>;

  public:
    RatioMargins(Rows const& X, MarginTargets const& targets, double share, MarginOptions const& options)
        : X_(X),
          targets_(targets),
          share_(share),
          options_(options),
          rows_(DistinctRows::of(X, targets.codes, targets.s, options.seed)),
          have_(count([](std::size_t) { return true; })),
          root_(X.width, 1.0) {
        for (std::size_t e = 0; e < X.nonzeros(); ++e) root_[static_cast<std::size_t>(X.indices[e])] = X.data[e];
        for (std::size_t j = 0; j < X.width; ++j) seen_ += have_[j] > 0 ? root_[j] * root_[j] : 0;
    }

    // keep(k, u, solver) for every problem k.
    template <class Keep>
    void solve(Team& team, Keep&& keep) const {
        team.each(targets_.count, [&](std::size_t k) { solve_one(team, k, keep); });
    }

  private:
    static constexpr std::size_t patience = std::size_t{1} << 26;  // entries read between two looks at the keyboard

    // Rows learned from that have a column and that `wanted` wants, by column.
    template <class Wanted>
    std::vector<double> count(Wanted&& wanted) const {
        std::vector<double> rows(X_.width, 0.0);
        for (std::size_t i = 0; i < X_.lines; ++i) {
            if (targets_.s[i] <= 0 || !wanted(i)) continue;
            X_.each(i, [&](std::size_t j, double) { rows[j] += 1; });
        }
        return rows;
    }

    std::vector<double> ratios(std::size_t k) const {
        std::vector<double> r = count([&](std::size_t i) { return targets_.has(i, k); });
        double inside = 0, outside = 0;
        for (std::size_t j = 0; j < X_.width; ++j) {
            inside += root_[j] * root_[j] * (1 + r[j]);
            outside += root_[j] * root_[j] * (1 + have_[j] - r[j]);
        }
        double const shift = std::log(outside) - std::log(inside);
        for (std::size_t j = 0; j < X_.width; ++j) r[j] = std::log((1 + r[j]) / (1 + have_[j] - r[j])) + shift;
        return r;
    }

    template <class Keep>
    void solve_one(Team& team, std::size_t k, Keep&& keep) const {
        std::vector<double> u = ratios(k), scaled(X_.nonzeros()), y(X_.lines), s(X_.lines);
        for (std::size_t e = 0; e < scaled.size(); ++e) {
            scaled[e] = X_.data[e] * u[static_cast<std::size_t>(X_.indices[e])];
        }
        Rows const X{scaled.data(), X_.indices, X_.indptr, X_.lines, X_.width};
        MarginTargets distinct = targets_;
        distinct.s = rows_.s.data();
        distinct.fill(k, X.lines, y.data(), s.data());
        auto const q = squared_lengths(X, options_.intercept_scale);
        DualOptions const dual{options_.tol, options_.max_iter, options_.intercept_scale,
                               false,        options_.seed,     options_.quick};
        DualDescent<Rows, SquaredHinge, 1> solver(team, X, rows_.order, {}, y.data(), s.data(), q.data(), 1, dual);
        if (targets_.start != nullptr) {
            solver.begin_at([&](std::size_t i, std::size_t) {
                return static_cast<double>(targets_.start[i * targets_.count + k]);
            });
        }
        while (!solver.done()) {
            check_interrupt();
            solver.advance(patience);
        }
        double total = 0;
        for (std::size_t j = 0; j < X.width; ++j) total += root_[j] * std::abs(solver.weight(0, j));
        double const mean = seen_ > 0 ? total / seen_ : 0.0;
        for (std::size_t j = 0; j < X.width; ++j) {
            u[j] *= share_ * solver.weight(0, j) + (1 - share_) * root_[j] * mean;
        }
        keep(k, u, solver);
    }

    Rows const& X_;
    MarginTargets targets_;
    double share_;
    MarginOptions options_;
    DistinctRows rows_;
    std::vector<double> have_;  // rows that have a column
    std::vector<double> root_;  // sqrt(m) of a column
    double seen_ = 0;           // columns that some row has
};

// Scores of rows by such machines of the rows outside their fold, as in held_out.hpp.
inline HeldOut held_out_ratio_scores(Sparse<double> const& X, MarginTargets const& targets, double share,
                                     RowFolds const& folds, MarginOptions const& options) {
    std::size_t const K = targets.count, size = X.lines * K;
    HeldOut found(folds.count, size);
    auto const judge = [&](std::size_t fold, Team& team) {
        auto const s = folds.weights_outside(fold, targets.s, X.lines);
        MarginTargets outside = targets;
        outside.s = s.data();
        if (targets.start != nullptr) outside.start = targets.start + fold * size;
        RatioMargins(X, outside, share, options)
            .solve(team, [&](std::size_t k, std::vector<double> const& u, auto const& solver) {
                for (std::size_t i = 0; i < X.lines; ++i) {
                    if (folds.of[i] == static_cast<std::int32_t>(fold)) {
                        found.scores[i * K + k] = X.dot(i, u.data()) + solver.intercept();
                    } else {
                        found.variables[fold * size + i * K + k] = static_cast<float>(solver.variable(0, i));
                    }
                }
            });
    };
    Team team(options.threads);
    if (folds.count == 1) {
        judge(0, team);
    } else {  // threads take folds
        team.each(folds.count, [&](std::size_t fold) {
            Team alone(1);
            judge(fold, alone);
        });
    }
    return found;
}

}  // namespace tallywise::linear::svm
