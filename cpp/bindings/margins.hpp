// What the linear machines of labels and of numbers share: a fit without the interpreter's lock, and its answer.
#pragma once

#include <utility>

#include "bindings/views.hpp"
#include "core/linear/svm/margins.hpp"

namespace tallywise::bindings {

inline nb::tuple answer(linear::svm::MarginSolution&& found) {
    std::size_t const problems = found.b.size(), p = found.w.size() / problems;
    return nb::make_tuple(to_numpy(std::move(found.w), problems, p), to_numpy(std::move(found.b)),
                          to_numpy(std::move(found.primal)), to_numpy(std::move(found.dual)),
                          to_numpy(std::move(found.iterations)));
}

template <template <class> class Kind>
nb::tuple fit(BoundDesign const& X, linear::svm::MarginTargets const& targets, std::size_t rows,
              linear::svm::MarginOptions const& options) {
    if (rows != lines(X.view)) throw std::invalid_argument("X, y and the weights must have one length.");
    linear::svm::MarginSolution found;
    {
        nb::gil_scoped_release released;
        found = linear::svm::fit_margins<Kind>(X.view, targets, options);
    }
    return answer(std::move(found));
}

}  // namespace tallywise::bindings
