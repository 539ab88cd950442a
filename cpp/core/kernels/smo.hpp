// Support vector machines by decomposition.
//
// Minimises 1/2 b'Kb + linear'b over a box and the plane sum b = 0 (BoxProblem: SVC and SVR differ in bounds and linear
// term only). Gives b, the intercept, and a duality gap in double precision.
//
//   1. A round of working sets over the variables that are not safely at a bound, with kernel rows in single precision
//      where the data allow it.
//   2. Exact gradients in double where they matter (exact_sums.hpp). Then 1 again, if need be: refinement makes up for
//      the rounding and for what shrinking left out.
//
// A start from a quarter of the points, whose machine tells on which side of their bounds the others fall (alpha
// seeding), was rejected: what it places wrongly takes more steps to correct than it saves (land cover, 54 columns: 2.4
// times the time in all; 8 columns, three quarters of the points support vectors: the same). So was one from a kernel
// matrix of rank 256 (Nystroem): 83 % of the variables at the right bound on 8 columns, and yet twice the violation of
// no start, since points that no landmark is near do not see each other.
//
// Fan, Chen & Lin (2005), Working set selection using second order information; Joachims (1999), Making large-scale SVM
// learning practical.
#pragma once

#include <memory>
#include <utility>

#include "core/base/relative_gap.hpp"
#include "core/kernels/decomposition.hpp"
#include "core/kernels/exact_sums.hpp"

namespace tallywise::kernels {

struct MachineOptions {
    double tol = 1e-3;  // bounds both the violation of the optimality conditions and the relative gap
    std::size_t cache_bytes = 200'000'000;
    std::size_t block_bytes = 200'000'000;  // at most cache_bytes, and the same for any number of threads
    bool shrinking = true;
    std::int64_t max_steps = -1;  // negative: no limit
    std::function<void(std::int64_t, double, std::size_t)> progress;
};

enum class Ended { converged, out_of_steps, stalled };

struct MachineResult {
    std::vector<double> beta, f;     // f = K b, by point
    std::vector<double> held_out;    // scores by machines without the variable, if asked for (machines.hpp)
    std::vector<std::int64_t> fold;  // the part that each variable was held out with
    double intercept = 0, primal = 0, dual = 0, violation = 0;
    std::int64_t steps = 0;
    Ended ended = Ended::converged;
};

class Machine {
  public:
    Machine(Kernel const& kernel, Points const& points, BoxProblem const& problem, MachineOptions options, Team& team)
        : kernel_(kernel), points_(points), problem_(problem), options_(std::move(options)), team_(team) {
        single_ = single_will_do(kernel, points);
    }

    static constexpr std::size_t small = 200;  // points: solved in double, and to the end

    // The relative error of a Gaussian's value is steepness x error of a squared distance. Refinement removes what
    // single precision does to the answer, as long as the matrix it works with is near the true one.
    static bool single_will_do(Kernel const& kernel, Points const& points) {
        double const worst = kernel.steepness() * points.largest_norm() * 4 * 6e-8;
        return points.size() > small && worst < 1e-4 && points.largest_norm() < 1e30 &&
               std::abs(kernel.self(points.largest_norm())) < 1e30;
    }

    MachineResult solve(std::vector<double> start = {}) {
        std::size_t const n = problem_.size();
        MachineResult result;
        result.beta.assign(n, 0.0);
        ExactSums sums(kernel_, points_, problem_, single_, result.f, team_);
        bool const started = !start.empty();
        if (started) result.beta = std::move(start);
        double eps = options_.tol, best = std::numeric_limits<double>::infinity();
        int stalled = 0;
        // Small problems are solved to the end: answers then depend neither on the order of the rows nor on whether a
        // repeated row comes as a weight.
        bool polished = points_.size() > small;
        for (int cycle = 0;; ++cycle) {
            assess(result, sums.move_to(result.beta, rough_));
            double const gap = relative_gap(result.primal, result.dual);
            if (result.violation <= options_.tol) {
                bool const done = gap <= options_.tol;
                if (done && (polished || result.violation == 0 || out_of_steps(result))) break;
                if (done) {
                    polished = true;
                    improve(result, any, 1e-7 * options_.tol, any, 2000 + 100 * static_cast<std::int64_t>(n));
                    continue;
                }
                eps *= 0.25;
            }
            if (out_of_steps(result)) {
                result.ended = Ended::out_of_steps;
                break;
            }
            // Non-convex kernels have no small gap to reach, and rounding sets a floor to everything.
            double const measure = std::max(result.violation, 1e-3 * gap);
            stalled = measure < 0.7 * best ? 0 : stalled + 1;
            best = std::min(best, measure);
            if (stalled > 2 && single_) {  // rows in double see what is left
                single_ = false;
                stalled = 0;
            }
            if (stalled > 4) {
                result.ended = Ended::stalled;
                break;
            }
            bool const everything = (cycle == 0 && !started) || !options_.shrinking || stalled > 1;
            improve(result, everything ? any : 0.0, 0.5 * eps, 0.8 * options_.tol,
                    std::numeric_limits<std::int64_t>::max());
        }
        return result;
    }

  private:
    static constexpr double any = std::numeric_limits<double>::infinity();

    bool out_of_steps(MachineResult const& result) const {
        return options_.max_steps >= 0 && result.steps >= options_.max_steps;
    }

    std::int64_t steps_left(std::int64_t used) const {
        return options_.max_steps < 0 ? std::numeric_limits<std::int64_t>::max() : options_.max_steps - used;
    }

    double gradient(MachineResult const& result, std::size_t t) const {
        return result.f[problem_.point[t]] + problem_.linear[t];
    }

    // Intercept, violation and both objectives. For any b, weak duality gives
    //   optimum >= -1/2 b'f + sum_t min over [lower, upper] of (g_t + intercept) b_t,
    // whose negative is the objective of the machine with these weights and this intercept.
    void assess(MachineResult& result, Optimality const& at) const {
        result.violation = at.violation;
        result.intercept = at.intercept;
        double quadratic = 0, linear = 0, loss = 0;
        for (std::size_t t = 0; t < problem_.size(); ++t) {
            double const beta = result.beta[t], z = gradient(result, t) + result.intercept;
            quadratic += beta * result.f[problem_.point[t]];
            linear += beta * problem_.linear[t];
            loss += z < 0 ? -z * problem_.upper[t] : -z * problem_.lower[t];
        }
        result.primal = 0.5 * quadratic + loss;
        result.dual = -0.5 * quadratic - linear;
    }

    // A round over the variables within `reach` of moving.
    void improve(MachineResult& result, double reach, double eps, double gap, std::int64_t most) {
        // A variable at a bound stays out when its gradient is further from the intercept than any change this round is
        // likely to bring.
        double const margin = std::max(reach, 0.1 * result.violation + 4 * eps);
        Part part = part_of(points_, problem_, result.beta, [&](std::size_t t) {
            double const z = gradient(result, t) + result.intercept;
            bool const rises = result.beta[t]<problem_.upper[t], falls = result.beta[t]> problem_.lower[t];
            return (rises || z >= -margin) && (falls || z <= margin) && (rises || falls);
        });
        for (auto i : part.points) part.f.push_back(result.f[i]);
        RoundOptions options = round_options(eps, std::min(most, steps_left(result.steps)));
        options.gap = gap;
        options.elsewhere = -result.dual;
        for (auto t : part.variables) {
            options.elsewhere -= 0.5 * result.beta[t] * (gradient(result, t) + problem_.linear[t]);
        }
        Points inside = points_.subset(part.points);
        result.steps += run(std::move(inside), std::move(part), std::move(options), result.beta);
    }

    RoundOptions round_options(double eps, std::int64_t steps) const {
        RoundOptions options;
        options.eps = eps;
        options.max_steps = steps;
        options.cache_bytes = options_.cache_bytes;
        options.block_bytes = options_.block_bytes;
        options.shrinking = options_.shrinking;
        options.progress = options_.progress;
        return options;
    }

    // Solves a part, writes its variables to beta and gives the number of steps.
    std::int64_t run(Points points, Part part, RoundOptions options, std::vector<double>& beta) {
        auto go = [&]<class T>(T) {
            auto const done = Round<T>(kernel_, std::move(points), std::move(part.problem), std::move(part.beta),
                                       std::move(part.f), std::move(options), team_)
                                  .solve();
            rough_.assign(points_.size(), std::numeric_limits<double>::quiet_NaN());
            for (std::size_t k = 0; k < done.beta.size(); ++k) {
                beta[part.variables[k]] = done.beta[k];
                if (!std::isnan(done.f[k])) rough_[problem_.point[part.variables[k]]] = done.f[k];
            }
            return done.steps;
        };
        return single_ ? go(float{}) : go(double{});
    }

    Kernel const& kernel_;
    Points const& points_;
    BoxProblem const& problem_;
    MachineOptions options_;
    Team& team_;
    bool single_ = true;
    std::vector<double> rough_;  // f after the last round, by point; NaN where the round does not know it
};

}  // namespace tallywise::kernels
