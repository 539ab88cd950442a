// Linear support vector machines of labels.
#include <nanobind/stl/string.h>

#include <string>
#include <utility>

#include "bindings/margins.hpp"

namespace tallywise::bindings {
namespace {

nb::tuple fit_classes(BoundDesign const& X, Vector<std::int64_t> const& codes, Vector<double> const& s,
                      Matrix<double> const& scale, MarginOptions const& options) {
    MarginTargets const targets{scale.shape(0), s.data(), nullptr, codes.data(), scale.data()};
    return fit<OfLabels>(X, targets, scale.shape(1) == 2 && s.shape(0) == codes.shape(0) ? s.shape(0) : 0, options);
}

nb::tuple crammer_singer(BoundDesign const& X, Vector<std::int64_t> const& codes, Vector<double> const& s,
                         std::size_t classes, MarginOptions const& options) {
    if (codes.shape(0) != lines(X.view) || s.shape(0) != lines(X.view)) {
        throw std::invalid_argument("X, y and the weights must have one length.");
    }
    MarginSolution found;
    {
        nb::gil_scoped_release released;
        found = fit_crammer_singer(X.view, codes.data(), s.data(), classes, options);
    }
    return answer(std::move(found));
}

nb::tuple find_distinct_rows(BoundDesign const& X, Vector<std::int64_t> const& codes, Vector<double> const& s,
                             std::uint64_t seed) {
    if (codes.shape(0) != lines(X.view) || s.shape(0) != lines(X.view)) {
        throw std::invalid_argument("X, y and the weights must have one length.");
    }
    DistinctRows found;
    {
        nb::gil_scoped_release released;
        found = distinct_rows(X.view, codes.data(), s.data(), seed);
    }
    return nb::make_tuple(to_numpy(std::move(found.order)), to_numpy(std::move(found.s)));
}

nb::tuple hard_margin(BoundDesign const& X, Vector<double> const& y, MarginOptions const& options) {
    if (y.shape(0) != lines(X.view)) throw std::invalid_argument("X and y must have one length.");
    HardMargin found;
    {
        nb::gil_scoped_release released;
        found = fit_hard_margin(X.view, y.data(), options);
    }
    return nb::make_tuple(found.separable, to_numpy(std::move(found.w)), found.b,
                          to_numpy(std::move(found.combination)), found.primal, found.dual, found.iterations);
}

}  // namespace

void bind_margins(nb::module_& m) {
    nb::class_<MarginOptions>(m, "MarginOptions", "How a linear support vector machine is fitted.")
        .def(
            "__init__",
            [](MarginOptions* self, std::string loss, double epsilon, double intercept_scale, bool free_intercept,
               double tol, int max_iter, std::uint64_t seed, int threads) {
                new (self) MarginOptions{std::move(loss), epsilon, intercept_scale, free_intercept, tol,
                                         max_iter,        seed,    threads};
            },
            nb::arg("loss"), nb::arg("epsilon"), nb::arg("intercept_scale"), nb::arg("free_intercept"), nb::arg("tol"),
            nb::arg("max_iter"), nb::arg("seed"), nb::arg("threads"));
    m.def("margin_classes", &fit_classes, nb::arg("X"), nb::arg("codes"), nb::arg("s"), nb::arg("scale"),
          nb::arg("options"), "One class against the rest for each row of scale: (W, b, primal, dual, iterations).");
    m.def("margin_crammer_singer", &crammer_singer, nb::arg("X"), nb::arg("codes"), nb::arg("s"), nb::arg("classes"),
          nb::arg("options"), "All classes in one problem.");
    m.def(
        "distinct_rows", &find_distinct_rows, nb::arg("X"), nb::arg("codes"), nb::arg("s"), nb::arg("seed"),
        "(order, s): one of each set of equal rows, in an order that is not theirs, and weights that add up repeats.");
    m.def("hard_margin", &hard_margin, nb::arg("X"), nb::arg("y"), nb::arg("options"),
          "(separable, w, b, combination, primal, dual, iterations) of signs y.");
}

}  // namespace tallywise::bindings
