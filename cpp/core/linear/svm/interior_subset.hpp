// Hinges of labels by the interior point (interior_point.hpp), on the rows that have a say.
//
// A row beyond its margin has no loss and the dual variable 0: the problem without it has the same solution, and the
// same bounds. Which rows these are is told by the squared hinge, whose solution costs a few of Newton's steps: w8a has
// 4 support vectors in 100 rows, and 99 of 100 of them are among the 21 inside the margin under the squared hinge.
// Solved on these; rows outside that turn out to have a loss after all join them.
//
// As in LIBSVM's shrinking, but with the loss of all rows in the certificate.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/linear/losses.hpp"
#include "core/linear/narrow_rows.hpp"
#include "core/linear/svm/finite_newton.hpp"
#include "core/linear/svm/interior_point.hpp"
#include "core/linear/svm/narrow_subset.hpp"

namespace tallywise::linear::svm {

template <class Rows>
class InteriorSubset {
  public:
    explicit InteriorSubset(NarrowProblem<Rows, Hinge> const& problem)
        : problem_(problem), rows_(problem_.rows), z_(rows_.n()) {}

    // Until the relative gap is at most tol, or rounding allows no step.
    Solution solve(double tol, int max_iter) {
        if (rows_.n() < 2000) return InteriorPoint<Rows, Hinge>(problem_).solve(tol, max_iter);
        Solution at = FiniteNewton<Rows, SquaredHinge>(problem_.under(SquaredHinge{})).solve(0.1, 50);
        look(at);
        double reach = 0;  // how far beyond their margins rows may still be taken
        std::vector<std::uint8_t> inside(rows_.n(), 0);
        int spent = at.iterations;
        for (int round = 0; round < 5; ++round) {
            std::vector<std::uint32_t> which;
            for (std::size_t i = 0; i < rows_.n(); ++i) {
                if (inside[i] != 0 || (problem_.s[i] > 0 && margin(i) < 1 + reach)) {
                    inside[i] = 1;
                    which.push_back(static_cast<std::uint32_t>(i));
                }
            }
            if (which.empty() || 10 * which.size() > 7 * rows_.n()) break;
            NarrowSubset<Rows> const subset(problem_, which);
            InteriorPoint<Rows, Hinge> solver(subset.problem(rows_, problem_.loss, problem_.free));
            at = solver.solve(std::max(tol, 1e-3), max_iter);
            spent += at.iterations;
            look(at);
            double outside = loss_outside(inside);
            if (outside <= 0.1 * tol * at.primal && relative_gap(at.primal, at.dual) > 0.5 * tol) {
                at = solver.solve(0.5 * tol, max_iter);
                spent += at.iterations;
                look(at);
                outside = loss_outside(inside);
            }
            if (outside <= 0.5 * tol * at.primal) {
                at.primal += outside;
                at.iterations = spent;
                return at;
            }
            reach = reach_of(inside);
        }
        at = InteriorPoint<Rows, Hinge>(problem_).solve(tol, max_iter);
        at.iterations += spent;
        return at;
    }

  private:
    void look(Solution const& at) {
        rows_.each([&](std::size_t i) { z_[i] = rows_.X.dot(i, at.w.data()) + at.b; });
    }
    double margin(std::size_t i) const { return problem_.y[i] * z_[i]; }
    double loss_outside(std::vector<std::uint8_t> const& inside) const {
        return rows_.sum([&](std::size_t i) {
            return inside[i] != 0 ? 0.0 : problem_.s[i] * problem_.loss.value(problem_.y[i], z_[i]);
        });
    }

    // Rows outside that have a loss, and three times as many of the next ones.
    double reach_of(std::vector<std::uint8_t> const& inside) const {
        std::vector<double> outside;
        std::size_t losses = 0;
        for (std::size_t i = 0; i < rows_.n(); ++i) {
            if (inside[i] != 0 || !(problem_.s[i] > 0)) continue;
            outside.push_back(margin(i));
            losses += margin(i) < 1 ? 1 : 0;
        }
        if (4 * losses >= outside.size()) return infinity;
        auto const last = outside.begin() + static_cast<std::ptrdiff_t>(4 * losses);
        std::nth_element(outside.begin(), last, outside.end());
        return *last - 1;
    }

    NarrowProblem<Rows, Hinge> problem_;
    NarrowRows<Rows> rows_;
    std::vector<double> z_;
};

}  // namespace tallywise::linear::svm
