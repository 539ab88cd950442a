// Logistic regression of two or more classes under elastic net.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <vector>

#include "core/data/design.hpp"
#include "core/linear/lane_fit.hpp"
#include "core/linear/logistic/profiled_loss.hpp"

namespace tallywise::linear::logistic {

struct ClassProblem {
    std::size_t classes = 2;
    bool baseline = false;  // whether the last class is held at score 0
    ElasticNet penalty;
    SolveOptions options;

    std::size_t lanes() const { return classes == 2 ? 1 : classes - baseline; }
    ClassLoss loss() const {
        if (classes == 2) return BinaryLogistic{};
        if (baseline) return BaselineSoftmax{lanes()};
        return Softmax{lanes()};
    }
    // Whether the solver wants the columns of X, n x p, or its rows.
    bool by_columns(std::size_t n, std::size_t p) const {
        return penalty.l1 > 0 && !few_weights(n, p, lanes(), penalty);
    }
};

// Features x lanes and lanes, or null.
struct ClassStart {
    double const* w = nullptr;
    double const* b = nullptr;
};

// X by columns when `columns`, as the problem wants it, else by rows. The answer is not padded.
inline LaneSolution class_fit(Design const& X, Labels const& labels, ClassProblem const& problem,
                              ClassStart const& start, bool columns, bool covariance) {
    if (labels.n != (columns ? width(X) : lines(X))) throw std::invalid_argument("X and y must have one length.");
    Team team(problem.options.threads);
    ProfiledLoss F(team, problem.loss(), labels, problem.options.fit_intercept, start.b);
    std::size_t const K = F.lanes(), L = F.stride(), p = columns ? lines(X) : width(X);
    std::vector<double> w0;
    if (start.w != nullptr) {
        w0.assign(p * L, 0.0);
        for (std::size_t j = 0; j < p; ++j) std::copy(start.w + j * K, start.w + (j + 1) * K, w0.data() + j * L);
    }
    double const* from = w0.empty() ? nullptr : w0.data();
    LaneSolution found = visit_real(X, [&](auto const& x) {
        return columns ? fit_columns(team, x, F, problem.penalty, problem.options, from)
                       : fit_rows(team, x, F, problem.penalty, problem.options, from, covariance);
    });
    for (std::size_t j = 0; j < p; ++j) {
        std::copy(found.w.data() + j * L, found.w.data() + j * L + K, found.w.data() + j * K);
    }
    found.w.resize(p * K);
    found.offsets.resize(K, 0.0);
    if (!problem.baseline && K > 1) {  // one number added to all intercepts changes nothing
        double mean = 0;
        for (double b : found.offsets) mean += b / static_cast<double>(K);
        for (double& b : found.offsets) b -= mean;
    }
    return found;
}

}  // namespace tallywise::linear::logistic
