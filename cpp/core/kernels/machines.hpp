// Several support vector machines on the lines of one design.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <utility>
#include <vector>

#include "core/kernels/smo.hpp"

namespace tallywise::kernels {

struct MachineTask {
    BoxProblem problem;  // `point` holds lines of the design
    std::vector<double> start;
};

namespace detail {

// A fold for each point, from the points' contents: neither the order of the lines nor whether a repeated line comes as
// a weight matters, and repeats stay together. Both sides are spread evenly.
inline std::vector<std::uint32_t> folds_of(BoxProblem const& problem, std::vector<std::uint64_t> const& hashes,
                                           std::size_t folds) {
    std::vector<double> side(hashes.size(), 0.0);
    for (std::size_t t = 0; t < problem.size(); ++t) side[problem.point[t]] += problem.lower[t] + problem.upper[t];
    Ids order = Points::everything(hashes.size());
    std::sort(order.begin(), order.end(), [&](auto a, auto b) {
        if ((side[a] > 0) != (side[b] > 0)) return side[a] > 0;
        return hashes[a] != hashes[b] ? hashes[a] < hashes[b] : a < b;
    });
    std::vector<std::uint32_t> fold(hashes.size());
    for (std::size_t k = 0; k < order.size(); ++k) fold[order[k]] = static_cast<std::uint32_t>(k % folds);
    return fold;
}

}  // namespace detail

// Score of each variable's point by a machine that never saw it. For each fold the fitted machine is taken as it is but
// for the fold's coefficients, which go to zero and stay there; what they leave of the sum goes to the variables
// nearest the margin. From there a few steps, on kernel rows that the folds share, lead to that fold's optimum (DeCoste
// & Wagstaff 2000); the held-out points' scores are among the gradients.
template <class T>
std::vector<double> held_out_scores(Kernel const& kernel, Points const& points, BoxProblem const& problem,
                                    MachineResult const& fitted, std::vector<std::uint32_t> const& fold,
                                    MachineOptions const& options, Team& team) {
    std::size_t const n = problem.size(), folds = 1 + *std::max_element(fold.begin(), fold.end());
    bool const small = points.size() <= Machine::small;
    RoundOptions how;
    how.eps = small ? 1e-7 * options.tol : std::max(options.tol, 2e-3);  // of scores, in which the margin is 1
    how.max_steps = options.max_steps >= 0 ? options.max_steps
                    : small                ? 2000 + 100 * static_cast<std::int64_t>(n)
                                           : how.max_steps;
    how.cache_bytes = options.cache_bytes;
    how.block_bytes = options.block_bytes;
    how.shrinking = false;
    how.keep_rows = true;
    std::vector<double> scores(n), distance(n);
    double size = 0;
    for (std::size_t t = 0; t < n; ++t) {
        distance[t] = std::abs(fitted.f[problem.point[t]] + problem.linear[t] + fitted.intercept);
        size += std::abs(fitted.beta[t]);
    }
    Ids order = Points::everything(n);
    std::sort(order.begin(), order.end(),
              [&](auto a, auto b) { return distance[a] != distance[b] ? distance[a] < distance[b] : a < b; });
    Round<T> round(kernel, points, problem, fitted.beta, fitted.f, how, team);
    for (std::size_t k = 0; k < folds; ++k) {
        BoxProblem without = problem;
        std::vector<double> start = fitted.beta;
        for (std::size_t t = 0; t < n; ++t) {
            if (fold[problem.point[t]] == k) without.lower[t] = without.upper[t] = start[t] = 0;
        }
        balance(without, start, std::accumulate(start.begin(), start.end(), 0.0), order);
        // Where one side lacks the room, the machine starts from nothing.
        if (std::abs(std::accumulate(start.begin(), start.end(), 0.0)) > 1e-9 * size) start.assign(n, 0.0);
        round.move_to(std::move(without), std::move(start), fitted.beta, fitted.f);
        round.solve();
        double const intercept = round.intercept();
        for (std::size_t t = 0; t < n; ++t) {
            if (fold[problem.point[t]] == k) scores[t] = round.f(problem.point[t]) + intercept;
        }
    }
    return scores;
}

// Machines on the lines of one design, one after the other (threads inside) or, when there are many, at the same time.
// With `folds` at least 2, each also gives the scores of points held out.
inline std::vector<MachineResult> solve_machines(Kernel const& kernel, Design const& X, std::vector<MachineTask>& tasks,
                                                 MachineOptions options, Team& team, std::size_t folds = 0) {
    struct Tidy {
        ~Tidy() { RowMemory::forget(); }
    } const tidy;
    std::vector<MachineResult> results(tasks.size());
    // Distinct points of the design, then of each machine.
    Distinct const distinct =
        kernel.precomputed() ? Distinct::all(lines(X)) : distinct_lines(X, Points::everything(lines(X)));
    Points const all(X, distinct.lines, kernel.precomputed());
    auto one = [&](Kernel const& k, Points const& everything, std::size_t m, MachineOptions const& given,
                   Team& workers) {
        BoxProblem& problem = tasks[m].problem;
        constexpr auto none = std::numeric_limits<std::uint32_t>::max();
        Ids place(everything.size(), none), used;
        std::vector<std::uint64_t> hashes;
        for (auto& at : problem.point) {
            if (at >= distinct.point_of.size()) {
                throw std::invalid_argument("A variable stands at a row that X does not have.");
            }
            at = distinct.point_of[at];
            if (place[at] == none) {
                place[at] = static_cast<std::uint32_t>(used.size());
                used.push_back(at);
                hashes.push_back(distinct.hashes[at]);
            }
            at = place[at];
        }
        Points const points = everything.subset(used);
        MachineResult& result = results[m];
        result = Machine(k, points, problem, given, workers).solve(std::move(tasks[m].start));
        if (folds > 1) {
            auto const fold = detail::folds_of(problem, hashes, folds);
            bool const single = Machine::single_will_do(k, points);
            result.held_out = single ? held_out_scores<float>(k, points, problem, result, fold, given, workers)
                                     : held_out_scores<double>(k, points, problem, result, fold, given, workers);
            for (auto at : problem.point) result.fold.push_back(fold[at]);
        }
        std::vector<double> f(problem.size());
        for (std::size_t t = 0; t < f.size(); ++t) f[t] = result.f[problem.point[t]];
        result.f = std::move(f);
    };
    if (tasks.size() == 1) {
        options.block_bytes = options.cache_bytes;
        one(kernel, all, 0, options, team);
        return results;
    }
    // One matrix for all, in double, where the cache holds it: with K classes a row serves K - 1 machines. Their own
    // rows, copies in single precision, get what it leaves, or a tenth on top. Values that are cheap to make are made
    // anew: to fetch one from a large matrix takes longer (26 classes on 16 columns: 3 times as long in all).
    std::size_t const n = all.size();
    std::vector<double> shared;
    Kernel stored;
    stored.push("precomputed", 0, 0, 0);
    Points matrix;
    if (!kernel.precomputed() && all.costly() && n * n * sizeof(double) <= options.cache_bytes) {
        shared.resize(n * n);
        std::size_t const tenth = std::min<std::size_t>(options.cache_bytes / 10, 100'000'000);
        options.cache_bytes = std::max(options.cache_bytes - n * n * sizeof(double), tenth);
        kernel_matrix(kernel, all, all, team, shared.data());
        matrix = Points(Dense<double>{shared.data(), n, n, n}, Points::everything(n), true);
    }
    // What a block may take is the cache of one of 16 machines, however many run at a time: steps must not depend on
    // it.
    MachineOptions share = options;
    share.progress = nullptr;
    share.block_bytes = options.cache_bytes / std::min<std::size_t>(16, tasks.size());
    share.cache_bytes = options.cache_bytes / std::min(static_cast<std::size_t>(team.threads()), tasks.size());
    team.each(tasks.size(), [&](std::size_t m) {
        Team alone(1);
        if (shared.empty()) {
            one(kernel, all, m, share, alone);
        } else {
            one(stored, matrix, m, share, alone);
        }
    });
    return results;
}

}  // namespace tallywise::kernels
