// A fit to class labels by names and numbers: picks the loss and the solver, and lays out starts and answers.
#pragma once

#include <cstdint>
#include <limits>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "core/data/design.hpp"
#include "core/linear/logistic/logistic.hpp"

namespace tallywise {

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
    bool by_columns(std::size_t n, std::size_t p) const { return penalty.l1 > 0 && !few_weights(n, p, lanes()); }
};

// Features x lanes and lanes, or null.
struct ClassStart {
    double const* w = nullptr;
    double const* b = nullptr;
};

// X by columns when `columns`, as the problem wants it, else by rows. The answer is not padded.
inline ClassSolution class_fit(Design const& X, Labels const& labels, ClassProblem const& problem,
                               ClassStart const& start, bool columns) {
    std::size_t const K = problem.lanes(), L = padded(K), p = columns ? lines(X) : width(X);
    if (labels.n != (columns ? width(X) : lines(X))) throw std::invalid_argument("X and y must have one length.");
    std::vector<double> w0;
    if (start.w != nullptr) {
        w0.assign(p * L, 0.0);
        for (std::size_t j = 0; j < p; ++j) std::copy(start.w + j * K, start.w + (j + 1) * K, w0.data() + j * L);
    }
    double const* from = w0.empty() ? nullptr : w0.data();
    ClassLoss const loss = problem.loss();
    ClassSolution found = visit_real(X, [&](auto const& x) {
        return columns ? sparse_logistic(x, loss, labels, problem.penalty, problem.options, from, start.b)
                       : newton_logistic(x, loss, labels, problem.penalty, problem.options, from, start.b);
    });
    for (std::size_t j = 0; j < p; ++j)
        std::copy(found.w.data() + j * L, found.w.data() + j * L + K, found.w.data() + j * K);
    found.w.resize(p * K);
    found.b.resize(K);
    if (!problem.baseline && K > 1) {  // one number added to all intercepts changes nothing
        double mean = 0;
        for (double b : found.b) mean += b / static_cast<double>(K);
        for (double& b : found.b) b -= mean;
    }
    return found;
}

}  // namespace tallywise
