// Fits of linear support vector machines: which problems a set of labels is, and who solves them on which thread.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/design.hpp"
#include "core/interrupt.hpp"
#include "core/losses.hpp"
#include "core/parallel.hpp"
#include "core/solvers/crammer_singer.hpp"
#include "core/solvers/dual_descent.hpp"
#include "core/solvers/interior_classes.hpp"
#include "core/solvers/interior_point.hpp"
#include "core/solvers/nearest_point.hpp"

namespace tallywise {

struct MarginOptions {
    std::string loss = "squared_hinge";
    double epsilon = 0;
    double intercept_scale = 1;   // the entry that every row has for its intercept; 0 for none
    bool free_intercept = false;  // whether the intercept escapes the penalty
    double tol = 1e-4;
    int max_iter = 1000;
    std::uint64_t seed = 0;
    int threads = 1;
};

// One problem a row of `w`.
struct MarginSolution {
    std::vector<double> w, b, primal, dual;
    std::vector<std::int64_t> iterations;

    MarginSolution() = default;
    MarginSolution(std::size_t problems, std::size_t p)
        : w(problems * p), b(problems), primal(problems), dual(problems), iterations(problems) {}
};

// Several problems on the same rows. Problem k has y = +1 where codes == positive and -1 elsewhere, and weights
// s * scale[2 k + (y > 0)]; without codes there is one problem, with the numbers `y`.
struct MarginTargets {
    std::size_t count = 1;
    double const* s = nullptr;
    double const* y = nullptr;
    std::int64_t const* codes = nullptr;
    double const* scale = nullptr;

    void fill(std::size_t k, std::vector<double>& targets, std::vector<double>& weights) const {
        if (codes == nullptr) {
            std::copy(y, y + targets.size(), targets.begin());
            std::copy(s, s + weights.size(), weights.begin());
            return;
        }
        auto const positive = static_cast<std::int64_t>(count == 1 ? 1 : k);  // of two classes, the second
        for (std::size_t i = 0; i < targets.size(); ++i) {
            bool const inside = codes[i] == positive;
            targets[i] = inside ? 1.0 : -1.0;
            weights[i] = s[i] * scale[2 * k + (inside ? 1 : 0)];
        }
    }
};

template <class Loss>
Loss make_margin_loss(double epsilon) {
    if constexpr (requires { Loss{epsilon}; }) return Loss{epsilon};
    return Loss{};
}

// The entry that stands for a free intercept while the method of multipliers works on it: of the size of the rows, so
// that neither part of a step waits for the other.
template <class Rows>
double multiplier_scale(Rows const& X) {
    double total = 0;
    for (double q : squared_lengths(X, 0.0)) total += q;
    return std::sqrt(std::max(total / static_cast<double>(std::max<std::size_t>(X.lines, 1)), 1e-12));
}

// Whether a matrix as large as X is wide (times the classes of one problem) costs less, for some 20 iterations, than
// hundreds of passes over the data.
template <class Rows>
bool is_narrow(Rows const& X, std::size_t classes = 1) {
    auto const K = static_cast<double>(classes), p = K * static_cast<double>(X.width + 1);
    auto const entries = static_cast<double>(X.nonzeros());
    double products = 0;
    for (std::size_t i = 0; i < X.lines; ++i) {
        auto const length = static_cast<double>(X.length(i) + 1);
        products += 0.5 * length * length;
    }
    return p <= 2000 && K * K * products + p * p * p / 3 <= 300 * K * entries + 2e7;
}

// Each problem by the interior-point method, which uses all threads.
template <class Loss, class Rows>
MarginSolution interior(Rows const& X, MarginTargets const& targets, MarginOptions const& options) {
    Team team(options.threads);
    MarginSolution found(targets.count, X.width);
    std::vector<double> y(X.lines), s(X.lines);
    for (std::size_t k = 0; k < targets.count; ++k) {
        targets.fill(k, y, s);
        InteriorPoint<Rows, Loss> solver(team, X, make_margin_loss<Loss>(options.epsilon), y.data(), s.data(),
                                         options.intercept_scale, options.free_intercept);
        // The last digits come at a factor of a thousand an iteration.
        solver.solve(std::min(options.tol, 1e-7), std::min(options.max_iter, 200));
        std::copy_n(solver.weights().begin(), X.width, found.w.begin() + static_cast<std::ptrdiff_t>(k * X.width));
        found.b[k] = solver.intercept();
        found.primal[k] = solver.primal();
        found.dual[k] = solver.dual();
        found.iterations[k] = solver.iterations();
    }
    return found;
}

// Problems by coordinate descent, side by side.
template <class Loss, class Rows>
MarginSolution descend(Rows const& X, MarginTargets const& targets, MarginOptions const& options) {
    struct Problem {
        std::vector<double> y, s;
        DualDescent<Rows, Loss> solver;
    };
    std::size_t const n = X.lines, p = X.width;
    Team team(options.threads);
    MarginSolution found(targets.count, p);
    double const scale = options.free_intercept ? multiplier_scale(X) : options.intercept_scale;
    std::vector<double> const q = squared_lengths(X, scale);
    FoldedRows const rows = targets.codes == nullptr ? FoldedRows::of(X, targets.y, targets.s, options.seed)
                                                     : FoldedRows::of(X, targets.codes, targets.s, options.seed);
    MarginTargets folded = targets;
    folded.s = rows.s.data();
    DualOptions const dual{options.tol, options.max_iter, scale, options.free_intercept, options.seed};
    // Problems in memory at once: 256 MB of them, but always enough for a few threads.
    std::size_t const wave = std::clamp<std::size_t>((std::size_t{1} << 25) / (4 * n + p + 1), 8, 1024);
    constexpr std::size_t patience = std::size_t{1} << 26;  // entries read between two looks at the keyboard
    for (std::size_t first = 0; first < targets.count; first += wave) {
        std::size_t const count = std::min(wave, targets.count - first);
        std::vector<std::unique_ptr<Problem>> problems(count);
        for (bool all_done = false; !all_done;) {
            check_interrupt();
            team.each(count, [&](std::size_t k) {
                if (!problems[k]) {
                    std::vector<double> y(n), s(n);
                    folded.fill(first + k, y, s);
                    double const *at_y = y.data(), *at_s = s.data();
                    problems[k].reset(new Problem{
                        std::move(y),
                        std::move(s),
                        {X, rows.order, make_margin_loss<Loss>(options.epsilon), at_y, at_s, q.data(), dual}});
                }
                problems[k]->solver.advance(patience);
            });
            all_done = std::all_of(problems.begin(), problems.end(), [](auto const& it) { return it->solver.done(); });
        }
        for (std::size_t k = 0; k < count; ++k) {
            auto const& solver = problems[k]->solver;
            std::copy(solver.weights().begin(), solver.weights().end() - 1,
                      found.w.begin() + static_cast<std::ptrdiff_t>((first + k) * p));
            found.b[first + k] = solver.intercept();
            found.primal[first + k] = solver.primal();
            found.dual[first + k] = solver.dual();
            found.iterations[first + k] = solver.iterations();
        }
    }
    return found;
}

inline MarginSolution fit_margins(Design const& X, MarginTargets const& targets, MarginOptions const& options) {
    return visit_real(X, [&](auto const& rows) {
        return MarginLosses::visit("loss", options.loss, [&]<class Loss>() {
            return is_narrow(rows) ? interior<Loss>(rows, targets, options) : descend<Loss>(rows, targets, options);
        });
    });
}

// All classes in one problem; codes and s a number a row.
inline MarginSolution fit_crammer_singer(Design const& X, std::int64_t const* codes, double const* s, std::size_t K,
                                         MarginOptions const& options) {
    return visit_real(X, [&]<class Rows>(Rows const& rows) {
        std::size_t const p = rows.width;
        MarginSolution found(K, p);
        // Weight of feature j in class k at [k * outer + j * inner].
        auto const keep = [&](auto const& solver, std::size_t outer, std::size_t inner) {
            for (std::size_t k = 0; k < K; ++k) {
                double const* w = solver.weights().data() + k * outer;
                for (std::size_t j = 0; j < p; ++j) found.w[k * p + j] = w[j * inner];
                found.b[k] = options.intercept_scale != 0 ? options.intercept_scale * w[p * inner] : 0.0;
            }
            found.primal[0] = solver.primal();
            found.dual[0] = solver.dual();
            found.iterations[0] = solver.iterations();
        };
        if (is_narrow(rows, K)) {
            Team team(options.threads);
            InteriorClasses<Rows> solver(team, rows, codes, s, K, options.intercept_scale);
            solver.solve(std::min(options.tol, 1e-9), std::min(options.max_iter, 200));
            keep(solver, p + (options.intercept_scale != 0 ? 1 : 0), 1);
        } else {
            CrammerSinger<Rows> solver(rows, codes, s, K,
                                       {options.tol, options.max_iter, options.intercept_scale, false, options.seed});
            solver.solve();
            keep(solver, 1, K);
        }
        return found;
    });
}

// Rows of labelled data without their order and repeats.
inline FoldedRows fold_rows(Design const& X, std::int64_t const* codes, double const* s, std::uint64_t seed) {
    return visit_real(X, [&](auto const& rows) { return FoldedRows::of(rows, codes, s, seed); });
}

inline HardMargin fit_hard_margin(Design const& X, double const* y, MarginOptions const& options) {
    return visit_real(X, [&](auto const& rows) {
        Team team(options.threads);
        NearestPoint<std::remove_cvref_t<decltype(rows)>> solver(team, rows, y, options.intercept_scale,
                                                                 options.free_intercept);
        return solver.solve(std::min(options.tol, 1e-9), options.max_iter);
    });
}

}  // namespace tallywise
