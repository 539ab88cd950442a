// Coordinate descent along a path of penalties, for any loss and penalty by name.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <type_traits>
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
};

inline std::vector<Solution> sparse_path(Design const& X, SparseProblem const& problem) {
    return visit_real(X, [&](auto const& columns) {
        return SmoothLosses::visit("loss", problem.loss, [&]<class Loss>() {
            return Penalties::visit("penalty", problem.penalty, [&]<class Penalty>() {
                using Columns = std::remove_cvref_t<decltype(columns)>;
                CoordinateDescent<Columns, Loss, Penalty> solver(columns, problem.y, problem.s, Loss{},
                                                                 problem.options);
                solver.start(problem.w0, problem.b0);
                std::vector<Solution> path;
                for (std::size_t k = 0; k < problem.count; ++k) {
                    path.push_back(solver.solve(Penalty{problem.strengths[2 * k], problem.strengths[2 * k + 1]}));
                }
                return path;
            });
        });
    });
}

}  // namespace tallywise
