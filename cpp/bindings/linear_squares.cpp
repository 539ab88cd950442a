// Sparse linear models (least squares and logistic under L1 and elastic net).
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>

#include "bindings/views.hpp"
#include "core/solvers/sparse_path.hpp"

namespace tallywise::bindings {
namespace {

nb::tuple sparse_path_of(BoundDesign const& X, SparseProblem problem, Vector<double> y, std::optional<Vector<double>> s,
                         Matrix<double> strengths, std::optional<Vector<double>> w0, double b0) {
    if (y.shape(0) != width(X.view) || (s && s->shape(0) != y.shape(0)) || (w0 && w0->shape(0) != lines(X.view)) ||
        strengths.shape(1) != 2) {
        throw std::invalid_argument("X, y, the sample weights and the starting weights must agree in length.");
    }
    problem.y = y.data();
    problem.s = s ? s->data() : nullptr;
    problem.strengths = strengths.data();
    problem.count = strengths.shape(0);
    problem.w0 = w0 ? w0->data() : nullptr;
    problem.b0 = b0;
    std::vector<Solution> path;
    {
        nb::gil_scoped_release unlocked;
        path = sparse_path(X.view, problem);
    }
    nb::list result;
    for (auto& point : path) {
        result.append(
            nb::make_tuple(to_numpy(std::move(point.w)), point.b, point.primal, point.dual, point.iterations));
    }
    return nb::tuple(result);
}

}  // namespace

void bind_least_squares(nb::module_& m) {
    nb::class_<SparseProblem>(m, "SparseProblem", "What coordinate descent is asked, apart from the data.")
        .def(
            "__init__",
            [](SparseProblem* self, std::string loss, std::string penalty, double tol, int max_iter, bool fit_intercept,
               int threads) {
                new (self) SparseProblem{std::move(loss), std::move(penalty), {tol, max_iter, fit_intercept, threads}};
            },
            nb::arg("loss"), nb::arg("penalty"), nb::arg("tol"), nb::arg("max_iter"), nb::arg("fit_intercept"),
            nb::arg("threads"));
    m.def("sparse_path", &sparse_path_of, nb::arg("columns"), nb::arg("problem"), nb::arg("y"), nb::arg("s").none(),
          nb::arg("strengths"), nb::arg("w0").none() = nb::none(), nb::arg("b0") = 0.0,
          "Solutions (w, b, primal, dual, iterations) for each row (l1, l2) of strengths, each started from the last.");
}

}  // namespace tallywise::bindings
