// Paths of penalties and folds for any loss and penalty by name: by coordinate descent, or by the products of all
// columns where they are few.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/linear/coordinate_descent.hpp"
#include "core/linear/product_descent.hpp"

namespace tallywise::linear {

struct SparseProblem {
    std::string loss, penalty;
    SolveOptions options;
    double const* y = nullptr;
    double const* s = nullptr;          // null: all ones
    double const* strengths = nullptr;  // l1, l2 of each point, one after the other
    std::size_t count = 0;
    double const* w0 = nullptr;  // null: zeros
    double b0 = 0;
    bool by_rows = false;                 // the lines of X are rows: only where products pay
    std::function<void()> progress = {};  // called after each point, where it is set
};

// A solver that has forgotten its design, loss and penalty: what is built on it is compiled once, not for every kind.
struct PathSolver {
    virtual ~PathSolver() = default;
    virtual Solution solve(double const* strength) = 0;  // (l1, l2), from where the last one ended
    virtual void hold_out(double const* t) = 0;          // weights, from now on, of
    virtual double held_loss() const = 0;                // sum_i t_i l(y_i, z_i) at the last solution
};

namespace detail {

template <class Columns, class Loss, class Penalty>
struct PathSolverOf final : PathSolver {
    PathSolverOf(Columns const& X, SparseProblem const& problem, double const* s, SolveOptions const& options)
        : y(problem.y), solver(X, y, s, Loss{}, options) {
        solver.start(problem.w0, problem.b0);
    }

    Solution solve(double const* strength) override { return solver.solve(Penalty{strength[0], strength[1]}); }
    void hold_out(double const* t) override { held = t; }
    double held_loss() const override {
        double total = 0;
        for (std::size_t i = 0; i < solver.scores().size(); ++i) {
            if (held[i] > 0) total += held[i] * Loss{}.value(y[i], solver.scores()[i]);
        }
        return total;
    }

    double const* y;
    double const* held = nullptr;
    CoordinateDescent<Columns, Loss, Penalty> solver;
};

template <class Penalty>
struct ProductSolverOf final : PathSolver {
    ProductSolverOf(DenseTable const& table, SparseProblem const& problem, double const* s, SolveOptions const& options)
        : X(table), y(problem.y), free(options.fit_intercept), solver(X, y, s, options) {
        solver.start(problem.w0);
    }

    Solution solve(double const* strength) override { return solver.solve(Penalty{strength[0], strength[1]}); }
    void hold_out(double const* t) override {
        Team alone(1);
        held = ProductStatistics::of(alone, X, y, t, free);
    }
    double held_loss() const override { return solver.loss(held); }

    DenseTable X;
    double const* y;
    bool free;
    ProductDescent<Penalty> solver;
    ProductStatistics held;
};

template <class Columns, class Loss, class Penalty>
std::unique_ptr<PathSolver> path_solver_of(Columns const& X, SparseProblem const& problem, double const* s,
                                           SolveOptions const& options) {
    if constexpr (!Columns::is_sparse && std::is_same_v<Loss, SquaredError> && Penalty::convex) {
        DenseTable const table{X, problem.by_rows};
        if (ProductStatistics::pay(table.rows(), table.columns())) {
            return std::make_unique<ProductSolverOf<Penalty>>(table, problem, s, options);
        }
    }
    if (problem.by_rows) throw std::invalid_argument("Coordinate descent takes X by columns.");
    return std::make_unique<PathSolverOf<Columns, Loss, Penalty>>(X, problem, s, options);
}

}  // namespace detail

// For the pairs of a loss and a penalty that somebody can ask for. X must outlive the solver.
inline std::unique_ptr<PathSolver> path_solver(RealDesign const& X, SparseProblem const& problem, double const* s,
                                               SolveOptions const& options) {
    return visit(X, [&]<class Columns>(Columns const& columns) {
        return SmoothLosses::visit("loss", problem.loss, [&]<class Loss>() {
            return PenaltiesOf<Loss>::visit("penalty", problem.penalty, [&]<class Penalty>() {
                return detail::path_solver_of<Columns, Loss, Penalty>(columns, problem, s, options);
            });
        });
    });
}

inline std::vector<Solution> sparse_path(Design const& X, SparseProblem const& problem) {
    Real const real = as_real(X);
    auto const solver = path_solver(real.view, problem, problem.s, problem.options);
    std::vector<Solution> path;
    for (std::size_t k = 0; k < problem.count; ++k) {
        path.push_back(solver->solve(problem.strengths + 2 * k));
        if (problem.progress) problem.progress();
    }
    return path;
}

// Losses sum_i t_i l(y_i, z_i) of held-out samples, a row a fold and a column a point of that fold's path. `train` and
// `test` have a row of sample weights a fold, `strengths` a path: X is shared, samples held out have weight zero and
// still get their score. Folds run side by side.
inline std::vector<double> sparse_cross_validation(Design const& X, SparseProblem const& problem, std::size_t folds,
                                                   double const* train, double const* test) {
    Real const real = as_real(X);
    std::size_t const n = problem.by_rows ? lines(X) : width(X);
    std::vector<double> losses(folds * problem.count);
    Team team(problem.options.threads);
    SolveOptions options = problem.options;
    options.threads = 1;
    std::vector<std::unique_ptr<PathSolver>> solvers(folds);
    // Point by point, so that the calling thread looks at the keyboard between them whoever solves.
    for (std::size_t point = 0; point < problem.count; ++point) {
        check_interrupt();
        team.each(folds, [&](std::size_t fold) {
            if (point == 0) {
                solvers[fold] = path_solver(real.view, problem, train + fold * n, options);
                solvers[fold]->hold_out(test + fold * n);
            }
            std::size_t const at = fold * problem.count + point;
            solvers[fold]->solve(problem.strengths + 2 * at);
            losses[at] = solvers[fold]->held_loss();
            if (problem.progress) problem.progress();
        });
    }
    return losses;
}

}  // namespace tallywise::linear
