#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <optional>
#include <tuple>

#include "bindings/views.hpp"
#include "core/linear/logistic/class_fit.hpp"

namespace tallywise::bindings {
namespace {

using Weights = nb::ndarray<nb::numpy, double, nb::ndim<2>>;

// Weights (features x lanes), intercepts (lanes), primal, dual, iterations, covariance (empty but without a penalty).
using Answer = std::tuple<Weights, nb::ndarray<nb::numpy, double, nb::ndim<1>>, double, double, int, Weights>;

Answer fit(BoundDesign const& X, Vector<std::int64_t> const& y, Vector<double> const& s, ClassProblem const& problem,
           bool columns, std::optional<Matrix<double>> const& w0, std::optional<Vector<double>> const& b0) {
    Labels const labels{y.data(), s.data(), y.shape(0)};
    ClassStart const start{w0 ? w0->data() : nullptr, b0 ? b0->data() : nullptr};
    ClassSolution found;
    {
        nb::gil_scoped_release released;
        found = class_fit(X.view, labels, problem, start, columns);
    }
    std::size_t const lanes = problem.lanes(),
                      m = found.covariance.empty() ? 0
                                                   : (found.w.size() / lanes + problem.options.fit_intercept) * lanes;
    std::size_t const p = found.w.size() / lanes;
    return {to_numpy(std::move(found.w), p, lanes),
            to_numpy(std::move(found.b)),
            found.primal,
            found.dual,
            found.iterations,
            to_numpy(std::move(found.covariance), m, m)};
}

}  // namespace

void bind_logistic(nb::module_& m) {
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
          nb::arg("w0") = nb::none(), nb::arg("b0") = nb::none(),
          "Minimise sum s l(y, XW + b) + l1 |W|_1 + l2/2 |W|^2: (W, b, primal, dual, iterations, covariance).");
}

}  // namespace tallywise::bindings
