#include <nanobind/stl/optional.h>

#include <optional>

#include "bindings/views.hpp"
#include "core/linear/logistic/logistic.hpp"

namespace tallywise::bindings {

using namespace linear;
using namespace linear::logistic;

namespace {

LaneSolution fit(BoundDesign const& X, Vector<std::int64_t> const& y, Vector<double> const& s,
                 ClassProblem const& problem, bool columns, bool covariance, std::optional<Matrix<double>> const& w0,
                 std::optional<Vector<double>> const& b0) {
    std::size_t const n = columns ? width(X.view) : lines(X.view), p = columns ? lines(X.view) : width(X.view);
    require(y.size() == n, "X and y must have one length.");
    require_weights(s, n);
    require_range(y, 0, problem.classes, "y must hold positions of classes.");
    require(!w0 || (w0->shape(0) == p && w0->shape(1) == problem.lanes()), "w0 must have a row per feature of X.");
    require(!b0 || b0->size() == problem.lanes(), "b0 must have one intercept per lane.");
    Labels const labels{y.data(), s.data(), n};
    ClassStart const start{w0 ? w0->data() : nullptr, b0 ? b0->data() : nullptr};
    nb::gil_scoped_release released;
    return class_fit(X.view, labels, problem, start, columns, covariance);
}

// A copy of a matrix with this many columns.
auto matrix(std::vector<double> const& values, std::size_t columns) {
    return to_numpy(std::vector<double>(values), columns > 0 ? values.size() / columns : 0, columns);
}

}  // namespace

void bind_logistic(nb::module_& m) {
    nb::class_<LaneSolution>(m, "LaneSolution", "Weights and offsets (intercepts, thresholds) of a fit, with its gap.")
        .def(
            "weights", [](LaneSolution const& found, std::size_t lanes) { return matrix(found.w, lanes); },
            nb::arg("lanes"), "Features x lanes.")
        .def_prop_ro(
            "offsets", [](LaneSolution const& found) { return to_numpy(std::vector<double>(found.offsets)); },
            nb::rv_policy::automatic)
        .def(
            "covariance", [](LaneSolution const& found, std::size_t size) { return matrix(found.covariance, size); },
            nb::arg("size"), "Of the weights by feature and lane, offsets last, from a fit without a penalty.")
        .def_ro("primal", &LaneSolution::primal)
        .def_ro("dual", &LaneSolution::dual)
        .def_ro("iterations", &LaneSolution::iterations);
    nb::class_<ClassProblem>(m, "ClassProblem", "What a fit to class labels is asked, apart from the data.")
        .def(
            "__init__",
            [](ClassProblem* self, std::size_t classes, bool baseline, double l1, double l2, double tol, int max_iter,
               bool fit_intercept, int threads) {
                new (self) ClassProblem{classes, baseline, {l1, l2}, {tol, max_iter, fit_intercept, threads}};
            },
            nb::arg("classes"), nb::arg("baseline"), nb::arg("l1"), nb::arg("l2"), nb::arg("tol"), nb::arg("max_iter"),
            nb::arg("fit_intercept"), nb::arg("threads"))
        .def("by_columns", &ClassProblem::by_columns, nb::arg("n"), nb::arg("p"),
             "Whether the solver wants the columns of X (n x p) or its rows.");
    m.def("class_fit", &fit, nb::arg("X"), nb::arg("y"), nb::arg("s"), nb::arg("problem"), nb::arg("columns"),
          nb::arg("covariance"), nb::arg("w0") = nb::none(), nb::arg("b0") = nb::none(),
          "Minimise sum s l(y, XW + b) + l1 |W|_1 + l2/2 |W|^2.");
}

}  // namespace tallywise::bindings
