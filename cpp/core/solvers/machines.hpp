// Several support vector machines on the lines of one design.
#pragma once

#include <stdexcept>
#include <utility>
#include <vector>

#include "core/solvers/smo.hpp"

namespace tallywise {

// Several machines on the lines of one design, one after the other (threads inside) or, when there are many, at the
// same time.
struct MachineTask {
    BoxProblem problem;  // `point` holds lines of the design
    std::vector<double> start;
};

inline std::vector<MachineResult> solve_machines(Kernel const& kernel, Design const& X, std::vector<MachineTask>& tasks,
                                                 MachineOptions const& options, Team& team) {
    std::vector<MachineResult> results(tasks.size());
    // Distinct points of the design, then of each machine.
    Distinct const distinct = kernel.precomputed()
                                  ? Distinct{Points::everything(lines(X)), Points::everything(lines(X))}
                                  : distinct_lines(X, Points::everything(lines(X)));
    Points const all(X, distinct.lines, kernel.precomputed());
    auto one = [&](Kernel const& k, Points const& everything, std::size_t m, MachineOptions const& given,
                   Team& workers) {
        BoxProblem& problem = tasks[m].problem;
        constexpr auto none = std::numeric_limits<std::uint32_t>::max();
        Ids place(everything.size(), none), used;
        for (auto& at : problem.point) {
            if (at >= distinct.point_of.size()) {
                throw std::invalid_argument("A variable stands at a row that X does not have.");
            }
            at = distinct.point_of[at];
            if (place[at] == none) {
                place[at] = static_cast<std::uint32_t>(used.size());
                used.push_back(at);
            }
            at = place[at];
        }
        Points const points = everything.subset(used);
        results[m] = Machine(k, points, problem, given, workers).solve(std::move(tasks[m].start));
        std::vector<double> f(problem.size());
        for (std::size_t t = 0; t < f.size(); ++t) f[t] = results[m].f[problem.point[t]];
        results[m].f = std::move(f);
    };
    if (tasks.size() == 1) {
        one(kernel, all, 0, options, team);
        return results;
    }
    // One matrix for all, in double, where it fits: with K classes a row serves K - 1 machines.
    std::size_t const n = all.size();
    std::vector<double> shared;
    Kernel stored;
    stored.push("precomputed", 0, 0, 0);
    Points matrix;
    if (!kernel.precomputed() && n * n * sizeof(double) <= options.cache_bytes) {
        shared.resize(n * n);
        kernel_matrix(kernel, all, all, team, shared.data());
        matrix = Points(Dense<double>{shared.data(), n, n, n}, Points::everything(n), true);
    }
    MachineOptions share = options;
    share.progress = nullptr;
    share.cache_bytes =
        options.cache_bytes / static_cast<std::size_t>(std::min<std::size_t>(team.threads(), tasks.size()));
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

}  // namespace tallywise
