// Support vector machines by decomposition.
//
// Minimises 1/2 b'Kb + linear'b over a box and the plane sum b = 0 (BoxProblem: SVC and SVR differ in bounds and linear
// term only). Gives b, the intercept, and a duality gap in double precision.
//
//   1. A seed: the problem on a quarter of the points (recursively), its bounds enlarged to match, says on which side
//   of
//      its tube each of the other points falls. Most variables of a noisy problem end at a bound and are put there at
//      once, instead of passing through a working set.
//   2. Exact gradients in double for the variables that changed.
//   3. A round of working sets over the variables that are not safely at a bound, with kernel rows in single precision
//      where the data allow it. Then 2 again: refinement makes up for the rounding and for what shrinking left out.
//
// Fan, Chen & Lin (2005), Working set selection using second order information; Joachims (1999), Making large-scale SVM
// learning practical; DeCoste & Wagstaff (2000), Alpha seeding for support vector machines.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "core/solvers/decomposition.hpp"

namespace tallywise {

struct MachineOptions {
    double tol = 1e-3;  // bounds both the violation of the optimality conditions and the relative gap
    std::size_t cache_bytes = 200'000'000;
    bool shrinking = true;
    long max_steps = -1;  // negative: no limit
    std::function<void(long, double, std::size_t)> progress;
};

enum class Ended { converged, out_of_steps, stalled };

struct MachineResult {
    std::vector<double> beta, f;  // f = K b, by point
    double intercept = 0, primal = 0, dual = 0, violation = 0;
    long steps = 0;
    Ended ended = Ended::converged;
};

class Machine {
  public:
    Machine(Kernel const& kernel, Points const& points, BoxProblem const& problem, MachineOptions options, Team& team)
        : kernel_(kernel), points_(points), problem_(problem), options_(std::move(options)), team_(team) {
        // The relative error of a Gaussian's value is steepness x error of a squared distance. Refinement removes what
        // single precision does to the answer, as long as the matrix it works with is near the true one.
        double const worst = kernel.steepness() * points.largest_norm() * 4 * 6e-8;
        single_ = points.size() > small && worst < 1e-4 && points.largest_norm() < 1e30 &&
                  std::abs(kernel.self(points.largest_norm())) < 1e30;
    }

    MachineResult solve(std::vector<double> start = {}) {
        std::size_t const n = problem_.size();
        MachineResult result;
        result.beta.assign(n, 0.0);
        result.f.assign(points_.size(), 0.0);
        std::vector<double> exact(n, 0.0);  // the b that f belongs to
        bool seeded = !start.empty();
        if (seeded) {
            result.beta = std::move(start);
        } else if (auto from_sample = seed(points_, problem_, result.steps)) {
            result.beta = settle(points_, problem_, std::move(*from_sample), 0.5 * options_.tol, result.steps);
            seeded = true;
        }
        double eps = options_.tol, best = std::numeric_limits<double>::infinity();
        int stalled = 0;
        // Small problems are solved to the end: answers then depend neither on the order of the rows nor on whether a
        // repeated row comes as a weight.
        bool polished = points_.size() > small;
        for (int cycle = 0;; ++cycle) {
            refresh(result, exact);
            assess(result);
            double const scale = std::max(std::abs(result.primal), std::abs(result.dual));
            double const gap = result.primal - result.dual;
            if (result.violation <= options_.tol) {
                bool const done = gap <= options_.tol * scale || scale == 0;
                if (done && (polished || result.violation == 0 || out_of_steps(result))) break;
                if (done) {
                    polished = true;
                    improve(result, std::numeric_limits<double>::infinity(), 1e-7 * options_.tol,
                            2000 + 100 * static_cast<long>(n));
                    continue;
                }
                eps *= 0.25;
            }
            if (out_of_steps(result)) {
                result.ended = Ended::out_of_steps;
                break;
            }
            // Non-convex kernels have no small gap to reach, and rounding sets a floor to everything.
            double const measure = std::max(result.violation, 1e-3 * gap / std::max(scale, 1e-300));
            stalled = measure < 0.7 * best ? 0 : stalled + 1;
            best = std::min(best, measure);
            if (stalled > 4) {
                result.ended = Ended::stalled;
                break;
            }
            bool const everything = (cycle == 0 && !seeded) || !options_.shrinking || stalled > 1;
            improve(result, everything ? std::numeric_limits<double>::infinity() : 0.0, 0.5 * eps,
                    std::numeric_limits<long>::max());
        }
        return result;
    }

  private:
    static constexpr std::size_t small = 200;  // points

    bool out_of_steps(MachineResult const& result) const {
        return options_.max_steps >= 0 && result.steps >= options_.max_steps;
    }

    long steps_left(long used) const {
        return options_.max_steps < 0 ? std::numeric_limits<long>::max() : options_.max_steps - used;
    }

    double gradient(MachineResult const& result, std::size_t t) const {
        return result.f[problem_.point[t]] + problem_.linear[t];
    }

    // f += K (b - exact), in double.
    void refresh(MachineResult& result, std::vector<double>& exact) {
        std::vector<double> change(points_.size(), 0.0);
        for (std::size_t t = 0; t < exact.size(); ++t) change[problem_.point[t]] += result.beta[t] - exact[t];
        exact = result.beta;
        Ids which;
        std::vector<double> coefficients;
        for (std::size_t i = 0; i < change.size(); ++i) {
            if (change[i] == 0) continue;
            which.push_back(static_cast<std::uint32_t>(i));
            coefficients.push_back(change[i]);
        }
        add_kernel_sums<double>(kernel_, points_, which, coefficients, points_, team_, result.f.data());
    }

    // Intercept, violation and both objectives. For any b, weak duality gives
    //   optimum >= -1/2 b'f + sum_t min over [lower, upper] of (g_t + intercept) b_t,
    // whose negative is the objective of the machine with these weights and this intercept.
    void assess(MachineResult& result) const {
        Extremes seen;
        double sum = 0;
        std::size_t free = 0;
        for (std::size_t t = 0; t < problem_.size(); ++t) {
            double const g = gradient(result, t);
            bool const rises = result.beta[t]<problem_.upper[t], falls = result.beta[t]> problem_.lower[t];
            if (rises) seen.least_rising = std::min(seen.least_rising, g);
            if (falls) seen.most_falling = std::max(seen.most_falling, g);
            if (rises && falls) {
                sum += g;
                ++free;
            }
        }
        result.violation = seen.violation();
        if (!std::isfinite(seen.least_rising) || !std::isfinite(seen.most_falling)) {
            result.intercept = std::isfinite(seen.least_rising)   ? -seen.least_rising
                               : std::isfinite(seen.most_falling) ? -seen.most_falling
                                                                  : 0;
            result.violation = 0;
        } else {
            result.intercept =
                free > 0 ? -sum / static_cast<double>(free) : -0.5 * (seen.least_rising + seen.most_falling);
        }
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
    void improve(MachineResult& result, double reach, double eps, long most) {
        // A variable at a bound stays out when its gradient is further from the intercept than any change this round is
        // likely to bring.
        double const margin = std::max(reach, 0.1 * result.violation + 4 * eps);
        Part part = part_of(points_, problem_, result.beta, [&](std::size_t t) {
            double const z = gradient(result, t) + result.intercept;
            bool const rises = result.beta[t]<problem_.upper[t], falls = result.beta[t]> problem_.lower[t];
            return (rises || z >= -margin) && (falls || z <= margin) && (rises || falls);
        });
        for (auto i : part.points) part.f.push_back(result.f[i]);
        auto [moved, steps] = run(points_.subset(part.points), std::move(part.problem), std::move(part.beta),
                                  std::move(part.f), eps, std::min(most, steps_left(result.steps)));
        result.steps += steps;
        for (std::size_t k = 0; k < moved.size(); ++k) result.beta[part.variables[k]] = moved[k];
    }

    // Some of the variables, and the points that they stand at.
    struct Part {
        Ids variables, points;
        BoxProblem problem;
        std::vector<double> beta, f;
    };

    template <class Wanted>
    static Part part_of(Points const& points, BoxProblem const& problem, std::vector<double> const& beta,
                        Wanted&& wanted) {
        Part part;
        Ids place(points.size(), 0);
        for (std::size_t t = 0; t < problem.size(); ++t) {
            if (!wanted(t)) continue;
            part.variables.push_back(static_cast<std::uint32_t>(t));
            place[problem.point[t]] = 1;
        }
        for (std::size_t i = 0; i < place.size(); ++i) {
            if (place[i] == 0) continue;
            place[i] = static_cast<std::uint32_t>(part.points.size());
            part.points.push_back(static_cast<std::uint32_t>(i));
        }
        for (auto t : part.variables) {
            part.problem.push(place[problem.point[t]], problem.linear[t], problem.lower[t], problem.upper[t]);
            part.beta.push_back(beta[t]);
        }
        return part;
    }

    std::pair<std::vector<double>, long> run(Points points, BoxProblem problem, std::vector<double> beta,
                                             std::vector<double> f, double eps, long steps) {
        auto go = [&]<class T>(T) {
            typename Round<T>::Options options{eps, options_.cache_bytes, options_.shrinking, steps, options_.progress};
            auto done = Round<T>(kernel_, std::move(points), std::move(problem), std::move(beta), std::move(f),
                                 std::move(options), team_)
                            .solve();
            return std::pair{std::move(done.beta), done.steps};
        };
        return single_ ? go(float{}) : go(double{});
    }

    struct Seed {
        std::vector<double> beta;
        std::vector<double> side;  // expected gradient + intercept: far from 0, the variable stays at its bound
        double reach = 0;          // variables with |side| up to this are still to be settled
    };

    // See 1. above. Nothing for small problems, nor for hard margins.
    std::optional<Seed> seed(Points const& points, BoxProblem const& problem, long& steps) {
        constexpr std::size_t smallest = 4000, ratio = 4;
        if (points.size() < smallest) return std::nullopt;
        double range = 0;
        for (std::size_t t = 0; t < problem.size(); ++t) range += problem.upper[t] - problem.lower[t];
        if (!std::isfinite(range) || options_.max_steps >= 0) return std::nullopt;

        // Every fourth point in order of target: a stratified sample.
        std::vector<double> target(points.size(), 0.0);
        for (std::size_t t = 0; t < problem.size(); ++t) target[problem.point[t]] += problem.linear[t];
        Ids order = Points::everything(points.size()), sample;
        std::sort(order.begin(), order.end(),
                  [&](auto a, auto b) { return target[a] != target[b] ? target[a] < target[b] : a < b; });
        for (std::size_t k = ratio / 2; k < order.size(); k += ratio) sample.push_back(order[k]);
        std::sort(sample.begin(), sample.end());
        constexpr auto none = std::numeric_limits<std::uint32_t>::max();
        Ids place(points.size(), none);
        for (std::size_t k = 0; k < sample.size(); ++k) place[sample[k]] = static_cast<std::uint32_t>(k);
        BoxProblem part;
        double part_range = 0;
        for (std::size_t t = 0; t < problem.size(); ++t) {
            if (place[problem.point[t]] == none) continue;
            part.push(place[problem.point[t]], problem.linear[t], problem.lower[t], problem.upper[t]);
            part_range += problem.upper[t] - problem.lower[t];
        }
        if (!(part_range > 0)) return std::nullopt;
        double const scale = range / part_range;
        for (std::size_t t = 0; t < part.size(); ++t) {
            part.lower[t] *= scale;
            part.upper[t] *= scale;
        }
        Points const chosen = points.subset(sample);
        auto const [low, high] = std::minmax_element(part.linear.begin(), part.linear.end());
        double const eps = std::max(options_.tol, 0.02 * (*high - *low));
        Seed start{std::vector<double>(part.size(), 0.0), std::vector<double>(part.size(), 0.0), 0.0};
        if (auto smaller = seed(chosen, part, steps)) start = std::move(*smaller);
        std::vector<double> const solved = settle(chosen, part, std::move(start), eps, steps);
        std::size_t free = 0;
        for (std::size_t t = 0; t < part.size(); ++t) {
            free += solved[t] > part.lower[t] && solved[t] < part.upper[t];
        }
        std::vector<double> everywhere(points.size(), 0.0);
        sums(chosen, part, solved, points, everywhere);
        return place_by_side(problem, everywhere, static_cast<double>(free) / static_cast<double>(part.size()));
    }

    // A round over the variables that a seed leaves open; the others keep their bound.
    std::vector<double> settle(Points const& points, BoxProblem const& problem, Seed seed, double eps, long& steps) {
        Part part =
            part_of(points, problem, seed.beta, [&](std::size_t t) { return std::abs(seed.side[t]) <= seed.reach; });
        Points const inside = points.subset(part.points);
        part.f.assign(inside.size(), 0.0);
        sums(points, problem, seed.beta, inside, part.f);
        auto [moved, used] =
            run(inside, std::move(part.problem), std::move(part.beta), std::move(part.f), eps, steps_left(steps));
        steps += used;
        for (std::size_t k = 0; k < moved.size(); ++k) seed.beta[part.variables[k]] = moved[k];
        return std::move(seed.beta);
    }

    // b_t runs from its lower to its upper bound as the gradient crosses the intercept, over a width that holds the
    // given fraction of the variables; the intercept is where sum b = 0.
    Seed place_by_side(BoxProblem const& problem, std::vector<double> const& f, double fraction) const {
        std::size_t const n = problem.size();
        Seed result;
        std::vector<double> g(n), beta(n);
        for (std::size_t t = 0; t < n; ++t) g[t] = f[problem.point[t]] + problem.linear[t];
        auto const [low, high] = std::minmax_element(g.begin(), g.end());
        double from = -*high - 1, to = -*low + 1, width = 0.05 * (*high - *low) + 1e-300;
        auto sum_at = [&](double intercept) {
            double sum = 0;
            for (std::size_t t = 0; t < n; ++t) {
                double const side = std::clamp(0.5 - (g[t] + intercept) / (2 * width), 0.0, 1.0);
                beta[t] = problem.lower[t] + (problem.upper[t] - problem.lower[t]) * side;
                sum += beta[t];
            }
            return sum;
        };
        for (int pass = 0; pass < 2; ++pass) {
            double a = from - width, b = to + width;  // the sum falls as the intercept rises
            for (int k = 0; k < 60; ++k) {
                double const middle = 0.5 * (a + b);
                (sum_at(middle) > 0 ? a : b) = middle;
            }
            double const intercept = 0.5 * (a + b);
            result.side.resize(n);
            for (std::size_t t = 0; t < n; ++t) result.side[t] = g[t] + intercept;
            if (pass == 1) {
                balance(problem, beta, sum_at(intercept));
                break;
            }
            std::vector<double> distance(n);
            for (std::size_t t = 0; t < n; ++t) distance[t] = std::abs(result.side[t]);
            auto at = [&](double part) {
                auto const k = static_cast<std::size_t>(std::min(0.999, part) * static_cast<double>(n));
                std::nth_element(distance.begin(), distance.begin() + static_cast<long>(k), distance.end());
                return distance[k];
            };
            result.reach = at(4 * fraction + 0.1);
            width = std::max(at(fraction), 1e-6 * width);
        }
        result.beta = std::move(beta);
        return result;
    }

    // Takes what is left of the sum from variables that have room.
    static void balance(BoxProblem const& problem, std::vector<double>& beta, double sum) {
        for (std::size_t t = 0; t < beta.size() && sum != 0; ++t) {
            double const to = std::clamp(beta[t] - sum, problem.lower[t], problem.upper[t]);
            sum += to - beta[t];
            beta[t] = to;
        }
    }

    void sums(Points const& left, BoxProblem const& problem, std::vector<double> const& beta, Points const& right,
              std::vector<double>& f) {
        std::vector<double> total(left.size(), 0.0);
        for (std::size_t t = 0; t < beta.size(); ++t) total[problem.point[t]] += beta[t];
        Ids which;
        std::vector<double> coefficients;
        for (std::size_t i = 0; i < total.size(); ++i) {
            if (total[i] == 0) continue;
            which.push_back(static_cast<std::uint32_t>(i));
            coefficients.push_back(total[i]);
        }
        if (single_) {
            add_kernel_sums<float>(kernel_, left, which, coefficients, right, team_, f.data());
        } else {
            add_kernel_sums<double>(kernel_, left, which, coefficients, right, team_, f.data());
        }
    }

    Kernel const& kernel_;
    Points const& points_;
    BoxProblem const& problem_;
    MachineOptions options_;
    Team& team_;
    bool single_ = true;
};

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
