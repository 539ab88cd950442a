// Fits of linear support vector machines: which problems a set of labels is, and who solves them on which thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/design.hpp"
#include "core/interrupt.hpp"
#include "core/losses.hpp"
#include "core/parallel.hpp"
#include "core/solvers/dual_descent.hpp"

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

template <class Loss, class Rows>
MarginSolution descend(Rows const& X, MarginTargets const& targets, MarginOptions const& options) {
    struct Problem {
        std::vector<double> y, s;
        DualDescent<Rows, Loss> solver;
    };
    std::size_t const n = X.lines, p = X.width;
    Team team(options.threads);
    MarginSolution found(targets.count, p);
    std::vector<double> const q = squared_lengths(X, options.intercept_scale);
    DualOptions const dual{options.tol, options.max_iter, options.intercept_scale, options.seed};
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
                    targets.fill(first + k, y, s);
                    double const *at_y = y.data(), *at_s = s.data();
                    problems[k].reset(
                        new Problem{std::move(y),
                                    std::move(s),
                                    {X, make_margin_loss<Loss>(options.epsilon), at_y, at_s, q.data(), dual}});
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
        return MarginLosses::visit("loss", options.loss,
                                   [&]<class Loss>() { return descend<Loss>(rows, targets, options); });
    });
}

}  // namespace tallywise
