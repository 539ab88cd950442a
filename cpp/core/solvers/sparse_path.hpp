// Coordinate descent along a path of penalties and across folds, for any loss and penalty by name.
#pragma once

#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/solvers/coordinate_descent.hpp"

namespace tallywise {

struct SparseProblem {
    std::string loss, penalty;
    SolveOptions options;
    double const* y = nullptr;
    double const* s = nullptr;          // null: all ones
    double const* strengths = nullptr;  // l1, l2 of each point, one after the other
    std::size_t count = 0;
    double const* w0 = nullptr;  // null: zeros
    double b0 = 0;
    std::function<void()> progress = {};  // called after each point, where it is set
};

namespace detail {

// f.operator()<Columns, Loss, Penalty>(columns), whatever the design, the loss and the penalty are. Compiled for the
// pairs that somebody can ask for only: all of them would take twice as long.
template <class F>
auto visit_problem(Design const& X, SparseProblem const& problem, F&& f) {
    return visit_real(X, [&](auto const& columns) {
        return SmoothLosses::visit("loss", problem.loss, [&]<class Loss>() {
            return PenaltiesOf<Loss>::visit("penalty", problem.penalty, [&]<class Penalty>() {
                return f.template operator()<std::remove_cvref_t<decltype(columns)>, Loss, Penalty>(columns);
            });
        });
    });
}

}  // namespace detail

inline std::vector<Solution> sparse_path(Design const& X, SparseProblem const& problem) {
    return detail::visit_problem(X, problem, [&]<class Columns, class Loss, class Penalty>(Columns const& columns) {
        CoordinateDescent<Columns, Loss, Penalty> solver(columns, problem.y, problem.s, Loss{}, problem.options);
        solver.start(problem.w0, problem.b0);
        std::vector<Solution> path;
        for (std::size_t k = 0; k < problem.count; ++k) {
            path.push_back(solver.solve(Penalty{problem.strengths[2 * k], problem.strengths[2 * k + 1]}));
            if (problem.progress) problem.progress();
        }
        return path;
    });
}

// Losses sum_i t_i l(y_i, z_i) of held-out samples, a row a fold and a column a point of that fold's path. `train` and
// `test` have a row of sample weights a fold, `strengths` a path: X is shared, samples held out have weight zero and
// still get their score. Folds run side by side.
inline std::vector<double> sparse_cross_validation(Design const& X, SparseProblem const& problem, std::size_t folds,
                                                   double const* train, double const* test) {
    return detail::visit_problem(X, problem, [&]<class Columns, class Loss, class Penalty>(Columns const& columns) {
        std::vector<double> losses(folds * problem.count);
        std::size_t const n = columns.width;
        Team team(problem.options.threads);
        SolveOptions options = problem.options;
        options.threads = 1;
        team.each(folds, [&](std::size_t fold) {
            CoordinateDescent<Columns, Loss, Penalty> solver(columns, problem.y, train + fold * n, Loss{}, options);
            solver.start(nullptr, 0.0);
            for (std::size_t k = 0; k < problem.count; ++k) {
                double const* strength = problem.strengths + 2 * (fold * problem.count + k);
                solver.solve(Penalty{strength[0], strength[1]});
                double total = 0;
                for (std::size_t i = 0; i < n; ++i) {
                    double const t = test[fold * n + i];
                    if (t > 0) total += t * Loss{}.value(problem.y[i], solver.scores()[i]);
                }
                losses[fold * problem.count + k] = total;
                if (problem.progress) problem.progress();
            }
        });
        return losses;
    });
}

}  // namespace tallywise
