// Fits of linear support vector machines: which problems a set of labels is, and who solves them on which thread.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/base/interrupt.hpp"
#include "core/base/parallel.hpp"
#include "core/data/design.hpp"
#include "core/linear/losses.hpp"
#include "core/linear/svm/crammer_singer.hpp"
#include "core/linear/svm/dual_bundle.hpp"
#include "core/linear/svm/dual_descent.hpp"
#include "core/linear/svm/finite_newton.hpp"
#include "core/linear/svm/interior_classes.hpp"
#include "core/linear/svm/interior_point.hpp"
#include "core/linear/svm/interior_subset.hpp"
#include "core/linear/svm/nearest_point.hpp"

namespace tallywise::linear::svm {

struct MarginOptions {
    std::string loss = "squared_hinge";
    double epsilon = 0;
    double intercept_scale = 1;   // the entry that every row has for its intercept; 0 for none
    bool free_intercept = false;  // whether the intercept escapes the penalty
    double tol = 1e-4;
    int max_iter = 1000;
    std::uint64_t seed = 0;
    int threads = 1;
    bool quick = false;  // as in DualOptions
};

// One problem a row of `w`.
struct MarginSolution {
    std::vector<double> w, b, primal, dual;
    std::vector<std::int64_t> iterations;

    MarginSolution() = default;
    MarginSolution(std::size_t problems, std::size_t p)
        : w(problems * p), b(problems), primal(problems), dual(problems), iterations(problems) {}
};

// Several problems on the same rows. Problem k has y = +1 where the row has class k and -1 elsewhere, and weights
// s * scale[2 k + (y > 0)]; without codes there is one problem, with the numbers `y`. A code is a class, or with `sets`
// a set of classes: a row of `sets`, not 0 where the class is in it.
struct MarginTargets {
    std::size_t count = 1;
    double const* s = nullptr;
    double const* y = nullptr;
    std::int64_t const* codes = nullptr;
    double const* scale = nullptr;
    std::uint8_t const* sets = nullptr;
    float const* start = nullptr;  // dual variables to begin at, `count` a row; only the squared hinge looks at them

    bool has(std::size_t i, std::size_t k) const {
        if (sets != nullptr) return sets[static_cast<std::size_t>(codes[i]) * count + k] != 0;
        return codes[i] == static_cast<std::int64_t>(count == 1 ? 1 : k);  // of two classes, the second
    }

    // Targets and weights of problem k, at every `stride`th place from the one given.
    template <class T>
    void fill(std::size_t k, std::size_t n, T* targets, T* weights, std::size_t stride = 1) const {
        for (std::size_t i = 0; i < n; ++i, targets += stride, weights += stride) {
            bool const inside = codes != nullptr && has(i, k);
            *targets = static_cast<T>(codes == nullptr ? y[i] : inside ? 1.0 : -1.0);
            *weights = static_cast<T>(codes == nullptr ? s[i] : s[i] * scale[2 * k + (inside ? 1 : 0)]);
        }
    }
};

// The entry that stands for a free intercept while the method of multipliers works on it: of the size of the rows, so
// that neither part of a step waits for the other.
template <class Rows>
double multiplier_scale(Rows const& X) {
    double total = 0;
    for (double q : squared_lengths(X, 0.0)) total += q;
    return total > 1e-300 ? std::sqrt(total / static_cast<double>(X.lines)) : 1.0;
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

// Whether Newton's method by products with X, some 200 of them, is likely to cost less than passes of dual descent:
// these become many where rows outnumber columns, and Hessians see their rows.
template <class Rows>
bool is_long(Rows const& X) {
    return X.lines >= X.width;
}

template <class Rows, class Loss>
Solution solve_narrow(NarrowProblem<Rows, Loss> const& problem, double tol, int max_iter) {
    if constexpr (Loss::smoothness < infinity) {
        return FiniteNewton<Rows, Loss>(problem, is_narrow(problem.rows.X)).solve(tol, max_iter);
    } else if constexpr (std::is_same_v<Loss, Hinge>) {
        return InteriorSubset<Rows>(problem).solve(tol, max_iter);
    } else {
        return InteriorPoint<Rows, Loss>(problem).solve(tol, max_iter);
    }
}

// Each problem by a method for long X, which uses all threads.
template <class Loss, class Rows>
MarginSolution narrow_as_given(Rows const& X, MarginTargets const& targets, MarginOptions const& options) {
    Team team(options.threads);
    MarginSolution found(targets.count, X.width);
    std::vector<double> y(X.lines), s(X.lines);
    for (std::size_t k = 0; k < targets.count; ++k) {
        targets.fill(k, X.lines, y.data(), s.data());
        NarrowProblem<Rows, Loss> const problem{{team, X, options.intercept_scale},
                                                make_loss<Loss>(options.epsilon),
                                                y.data(),
                                                s.data(),
                                                options.free_intercept && options.intercept_scale != 0};
        // The last digits come at a factor of a thousand an iteration.
        Solution const at = solve_narrow(problem, std::min(options.tol, 1e-7), std::min(options.max_iter, 200));
        std::copy(at.w.begin(), at.w.end(), found.w.begin() + static_cast<std::ptrdiff_t>(k * X.width));
        found.b[k] = at.b;
        found.primal[k] = at.primal;
        found.dual[k] = at.dual;
        found.iterations[k] = at.iterations;
    }
    return found;
}

// The same for losses with kinks, with equal rows of sparse data as one of their weights together: rows of yes-or-no
// features often repeat (w8a: 34,780 of 49,749 are left). With smooth losses the search for repeats costs what it
// saves. Hashed without options.seed, on which no answer of these methods depends.
template <class Loss, class Rows>
MarginSolution narrow(Rows const& X, MarginTargets const& targets, MarginOptions const& options) {
    if constexpr (Rows::is_sparse && Loss::smoothness == infinity) {
        DistinctRows const rows = targets.codes == nullptr ? DistinctRows::of(X, targets.y, targets.s, 0)
                                                           : DistinctRows::of(X, targets.codes, targets.s, 0);
        if (10 * rows.order.size() < 9 * X.lines) {
            RowCopies const copies(X, rows.order);
            std::vector<double> s, y;
            std::vector<std::int64_t> codes;
            for (std::uint32_t const i : rows.order) {
                s.push_back(rows.s[i]);
                if (targets.y != nullptr) y.push_back(targets.y[i]);
                if (targets.codes != nullptr) codes.push_back(targets.codes[i]);
            }
            MarginTargets merged = targets;
            merged.s = s.data();
            merged.y = targets.y != nullptr ? y.data() : nullptr;
            merged.codes = targets.codes != nullptr ? codes.data() : nullptr;
            return narrow_as_given<Loss>(copies.view(), merged, options);
        }
    }
    return narrow_as_given<Loss>(X, targets, options);
}

// Up to L problems for coordinate descent, with the numbers that it looks at.
template <class Rows, class Loss, std::size_t L, class Weight = double>
struct MarginLanes {
    std::vector<Weight> y, s;
    DualDescent<Rows, Loss, L, Weight> solver;

    MarginLanes(Team& team, Rows const& X, DistinctRows const& rows, MarginTargets const& targets, std::size_t first,
                double const* q, Loss const& loss, DualOptions const& options)
        : y(X.lines * L, Weight(1)),
          s(X.lines * L, Weight(0)),
          solver(team, X, rows.order, loss, y.data(), s.data(), q, std::min(L, targets.count - first), options) {
        for (std::size_t k = first; k < std::min(first + L, targets.count); ++k) {
            targets.fill(k, X.lines, y.data() + (k - first), s.data() + (k - first), L);
        }
    }

    void begin_at(MarginTargets const& targets, std::size_t first) {
        if constexpr (std::is_same_v<Loss, SquaredHinge>) {
            if (targets.start == nullptr) return;
            solver.begin_at([&](std::size_t i, std::size_t l) {
                return static_cast<double>(targets.start[i * targets.count + first + l]);
            });
        }
    }
};

// Problems by coordinate descent, side by side: L in one while they want the same rows, then each on its own.
template <std::size_t L, class Loss, class Rows, class Weight = double>
class Descents {
  public:
    Descents(Rows const& X, MarginTargets const& targets, MarginOptions const& options)
        : X_(X),
          targets_(targets),
          loss_(make_loss<Loss>(options.epsilon)),
          scale_(options.free_intercept ? multiplier_scale(X) : options.intercept_scale),
          dual_{options.tol, options.max_iter, scale_, options.free_intercept, options.seed, options.quick},
          team_(options.threads),
          q_(squared_lengths(X, scale_)),
          rows_(targets.codes == nullptr ? DistinctRows::of(X, targets.y, targets.s, options.seed)
                                         : DistinctRows::of(X, targets.codes, targets.s, options.seed)) {
        targets_.s = rows_.s.data();
    }

    MarginSolution solve() {
        MarginSolution found(targets_.count, X_.width);
        solve([&](auto const& solver, std::size_t first) {
            for (std::size_t l = 0; l < solver.lanes(); ++l) keep(solver, l, first + l, found);
        });
        return found;
    }

    // keep(solver, k) with every solver that is done or gives its problems to others; its first lane is problem k. What
    // is given on comes again, done.
    template <class Keep>
    void solve(Keep&& keep) {
        std::size_t const wave = L * at_once<L, Weight>();
        for (std::size_t first = 0; first < targets_.count; first += wave) {
            std::vector<std::size_t> members;
            for (std::size_t k = first; k < std::min(first + wave, targets_.count); k += L) members.push_back(k);
            auto const groups = make<L, Weight>(members);
            team_.each(groups.size(), [&](std::size_t g) { groups[g]->begin_at(targets_, members[g]); });
            run(solvers_of(groups));
            members.clear();
            team_.each(groups.size(), [&](std::size_t g) { keep(groups[g]->solver, first + g * L); });
            for (std::size_t g = 0; g < groups.size(); ++g) {
                for (std::size_t l = 0; l < groups[g]->solver.lanes(); ++l) {
                    if (!groups[g]->solver.done(l)) members.push_back(first + g * L + l);
                }
            }
            while (!members.empty()) {
                std::size_t const begin = members.size() - std::min(members.size(), at_once<1, double>());
                finish(groups, first, {members.begin() + static_cast<std::ptrdiff_t>(begin), members.end()}, keep);
                members.resize(begin);
            }
        }
    }

  private:
    static constexpr std::size_t slice = std::size_t{1} << 23;  // entries that a thread reads for a problem at a time
    static constexpr std::size_t turns = 8;                     // slices of a thread between two looks at the keyboard

    // Solvers of M lanes in memory at once: 32 MB of them, so that the next ones find memory that is in use already (a
    // tenth of the time of 77 classes went into new pages), up to 256 MB for two bundles a thread, and always enough
    // for every thread.
    template <std::size_t M, class W>
    std::size_t at_once() const {
        std::size_t const size = M * (4 * X_.lines + X_.width + 1) * sizeof(W);
        auto const threads = static_cast<std::size_t>(std::min(team_.threads(), 1000));
        std::size_t const few = (std::size_t{1} << 25) / size, many = (std::size_t{1} << 28) / size;
        std::size_t const bundles = 2 * threads * DualBundle<Rows, Loss>::most / M;
        return std::clamp<std::size_t>(std::max(few, std::min(many, bundles)), threads, 1024);
    }

    // Problems that no longer go side by side, each on its own; the first lane of the first group is problem `first`.
    template <class Groups, class Keep>
    void finish(Groups const& groups, std::size_t first, std::vector<std::size_t> const& members, Keep&& keep) {
        auto const singles = make<1, double>(members);
        for (std::size_t m = 0; m < members.size(); ++m) {
            std::size_t const place = members[m] - first;
            singles[m]->solver.adopt(groups[place / L]->solver, place % L);
        }
        using Bundle = DualBundle<Rows, Loss>;
        std::vector<std::unique_ptr<Bundle>> bundles;
        std::size_t const count = (members.size() + Bundle::most - 1) / Bundle::most;
        for (std::size_t g = 0; g < count; ++g) {
            bundles.push_back(std::make_unique<Bundle>(X_, rows_.order));
            for (std::size_t m = g; m < members.size(); m += count) bundles.back()->add(singles[m]->solver);
        }
        run(bundles);
        team_.each(members.size(), [&](std::size_t m) { keep(singles[m]->solver, members[m]); });
    }

    template <std::size_t M, class W>
    auto make(std::vector<std::size_t> const& firsts) {
        using Problem = MarginLanes<Rows, Loss, M, W>;
        std::vector<std::unique_ptr<Problem>> problems(firsts.size());
        team_.each(firsts.size(), [&](std::size_t g) {
            problems[g] = std::make_unique<Problem>(team_, X_, rows_, targets_, firsts[g], q_.data(), loss_, dual_);
        });
        return problems;
    }

    template <class Groups>
    static auto solvers_of(Groups const& groups) {
        std::vector<decltype(&groups.front()->solver)> solvers;
        for (auto const& group : groups) solvers.push_back(&group->solver);
        return solvers;
    }

    // A free thread takes the problem that has waited longest, and brings it back after a slice: however many problems
    // there are and however long each takes, no thread waits for more than a slice of another's. The order in which
    // they advance changes no digit.
    template <class Problems>
    void run(Problems const& problems) {
        std::deque<std::size_t> waiting;
        for (std::size_t g = 0; g < problems.size(); ++g) waiting.push_back(g);
        std::mutex mutex;
        auto const take = [&](std::size_t& g) {
            std::lock_guard lock(mutex);
            if (waiting.empty()) return false;
            g = waiting.front();
            waiting.pop_front();
            return true;
        };
        while (!waiting.empty()) {
            check_interrupt();
            team_.each(std::min(static_cast<std::size_t>(team_.threads()), waiting.size()), [&](std::size_t) {
                std::size_t g = 0;
                for (std::size_t turn = 0; turn < turns && take(g); ++turn) {
                    auto& solver = *problems[g];
                    solver.advance(slice);
                    if (solver.done() || solver.thin()) continue;
                    std::lock_guard lock(mutex);
                    waiting.push_back(g);
                }
            });
        }
    }

    template <class Solver>
    void keep(Solver const& solver, std::size_t lane, std::size_t k, MarginSolution& found) const {
        for (std::size_t j = 0; j < X_.width; ++j) found.w[k * X_.width + j] = solver.weight(lane, j);
        found.b[k] = solver.intercept(lane);
        found.primal[k] = solver.primal(lane);
        found.dual[k] = solver.dual(lane);
        found.iterations[k] = solver.iterations(lane);
    }

    Rows const& X_;
    MarginTargets targets_;
    Loss loss_;
    double scale_;
    DualOptions dual_;
    Team team_;
    std::vector<double> q_;
    DistinctRows rows_;
};

// Under a loss of some kind, OfLabels or OfNumbers: each is compiled where it is asked for.
template <template <class> class Kind>
MarginSolution fit_margins(Design const& X, MarginTargets const& targets, MarginOptions const& options) {
    return visit_real(X, [&]<class Rows>(Rows const& rows) {
        return MarginLosses::where<Kind>::visit("loss", options.loss, [&]<class Loss>() {
            if (is_narrow(rows) || (Loss::smoothness < infinity && is_long(rows) && targets.start == nullptr &&
                                    !options.quick && targets.sets == nullptr)) {
                return narrow<Loss>(rows, targets, options);
            }
            // Lanes leave fewer problems to give to threads: from eight classes on there are enough.
            if constexpr (std::is_same_v<Loss, SquaredHinge> && Rows::is_sparse) {
                if (options.quick && targets.count >= 16) {
                    return Descents<8, Loss, Rows, float>(rows, targets, options).solve();
                }
            }
            if constexpr (Loss::binary) {
                if (targets.count >= 8) return Descents<4, Loss, Rows>(rows, targets, options).solve();
            }
            return Descents<1, Loss, Rows>(rows, targets, options).solve();
        });
    });
}

// All classes in one problem; codes and s a number a row.
inline MarginSolution fit_crammer_singer(Design const& X, std::int64_t const* codes, double const* s, std::size_t K,
                                         MarginOptions const& options) {
    return visit_real(X, [&]<class Rows>(Rows const& rows) {
        std::size_t const p = rows.width;
        MarginSolution found(K, p);
        auto const keep = [&](auto const& solver) {
            for (std::size_t k = 0; k < K; ++k) {
                double const* w = solver.weights().data() + k;
                for (std::size_t j = 0; j < p; ++j) found.w[k * p + j] = w[j * K];
                found.b[k] = options.intercept_scale != 0 ? options.intercept_scale * w[p * K] : 0.0;
            }
            found.primal[0] = solver.primal();
            found.dual[0] = solver.dual();
            found.iterations[0] = solver.iterations();
        };
        if (is_narrow(rows, K)) {
            Team team(options.threads);
            InteriorClasses<Rows> solver(team, rows, codes, s, K, options.intercept_scale);
            solver.solve(std::min(options.tol, 1e-7), std::min(options.max_iter, 200));
            keep(solver);
        } else {
            CrammerSinger<Rows> solver(rows, codes, s, K,
                                       {options.tol, options.max_iter, options.intercept_scale, false, options.seed});
            solver.solve();
            keep(solver);
        }
        return found;
    });
}

// Rows of labelled data without their order and repeats.
inline DistinctRows distinct_rows(Design const& X, std::int64_t const* codes, double const* s, std::uint64_t seed) {
    return visit_real(X, [&](auto const& rows) { return DistinctRows::of(rows, codes, s, seed); });
}

inline HardMargin fit_hard_margin(Design const& X, double const* y, MarginOptions const& options) {
    return visit_real(X, [&](auto const& rows) {
        Team team(options.threads);
        NearestPoint<std::remove_cvref_t<decltype(rows)>> solver(team, rows, y, options.intercept_scale,
                                                                 options.free_intercept);
        return solver.solve(std::min(options.tol, 1e-9), options.max_iter);
    });
}

}  // namespace tallywise::linear::svm
