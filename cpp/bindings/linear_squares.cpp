// Least squares, and the sparse solver that logistic regression shares.
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <functional>
#include <optional>
#include <string>

#include "bindings/views.hpp"
#include "core/linear/least_squares/ridge.hpp"
#include "core/linear/sparse_path.hpp"

namespace tallywise::bindings {

using namespace linear;
using namespace linear::least_squares;

namespace {

using OptionalVector = std::optional<Vector<double>>;

void require_lengths(bool agree) { require(agree, "X, y, the weights and the penalties must agree in length."); }

double const* pointer(OptionalVector const& v) { return v ? v->data() : nullptr; }

nb::list solutions(std::vector<Solution>&& path) {
    nb::list result;
    for (auto& at : path) {
        result.append(nb::make_tuple(to_numpy(std::move(at.w)), at.b, at.primal, at.dual, at.iterations, at.distance));
    }
    return result;
}

nb::list path_of(BoundDesign const& X, SparseProblem problem, Vector<double> y, OptionalVector s,
                 Matrix<double> strengths, OptionalVector w0, double b0, std::function<void()> callback, bool by_rows) {
    std::size_t const n = by_rows ? lines(X.view) : width(X.view), p = by_rows ? width(X.view) : lines(X.view);
    require_lengths(y.shape(0) == n && (!s || s->shape(0) == n) && strengths.shape(1) == 2 &&
                    (!w0 || w0->shape(0) == p));
    if (s) require_weights(*s, n);
    problem.y = y.data(), problem.s = pointer(s), problem.w0 = pointer(w0), problem.b0 = b0;
    problem.strengths = strengths.data(), problem.count = strengths.shape(0);
    problem.progress = std::move(callback), problem.by_rows = by_rows;
    return solutions(without_gil([&] { return sparse_path(X.view, problem); }));
}

auto cross_validation_of(BoundDesign const& X, SparseProblem problem, Vector<double> y, Matrix<double> train,
                         Matrix<double> test, Matrix<double> strengths, std::function<void()> callback, bool by_rows) {
    std::size_t const folds = train.shape(0), n = by_rows ? lines(X.view) : width(X.view);
    require_lengths(y.shape(0) == n && train.shape(1) == n && test.shape(1) == n && test.shape(0) == folds &&
                    strengths.shape(0) == folds && strengths.shape(1) % 2 == 0);
    problem.y = y.data(), problem.strengths = strengths.data(), problem.count = strengths.shape(1) / 2;
    problem.progress = std::move(callback), problem.by_rows = by_rows;
    auto run = [&] { return sparse_cross_validation(X.view, problem, folds, train.data(), test.data()); };
    return to_numpy(without_gil(run), folds, problem.count);
}

nb::list ridge_of(BoundDesign const& rows, BoundDesign const& columns, Matrix<double> y, OptionalVector s,
                  Vector<double> l2, SparseProblem const& problem) {
    require_lengths(lines(rows.view) == width(columns.view) && width(rows.view) == lines(columns.view) &&
                    y.shape(1) == lines(rows.view) && l2.shape(0) == y.shape(0) && (!s || s->shape(0) == y.shape(1)));
    if (s) require_weights(*s, y.shape(1));
    auto run = [&] {
        return ridge(rows.view, columns.view, y.data(), pointer(s), l2.data(), y.shape(0), problem.options);
    };
    return solutions(without_gil(run));
}

}  // namespace

void bind_least_squares(nb::module_& m) {
    nb::class_<SparseProblem>(m, "SparseProblem", "What a solver is asked, apart from the data.")
        .def(
            "__init__",
            [](SparseProblem* self, std::string loss, std::string penalty, double tol, int max_iter, bool fit_intercept,
               int threads) {
                new (self) SparseProblem{std::move(loss), std::move(penalty), {tol, max_iter, fit_intercept, threads}};
            },
            nb::arg("loss"), nb::arg("penalty"), nb::arg("tol"), nb::arg("max_iter"), nb::arg("fit_intercept"),
            nb::arg("threads"));
    m.def("products_pay", &ProductStatistics::pay, nb::arg("rows"), nb::arg("columns"),
          "Whether a dense X of this shape is fitted by the products of its columns, and may come by rows.");
    m.def("sparse_path", &path_of, nb::arg("columns"), nb::arg("problem"), nb::arg("y"), nb::arg("s").none(),
          nb::arg("strengths"), nb::arg("w0").none() = nb::none(), nb::arg("b0") = 0.0,
          nb::arg("callback").none() = nb::none(), nb::arg("by_rows") = false,
          "(w, b, primal, dual, iterations, distance) for each row (l1, l2) of strengths, each started from the last.");
    m.def("sparse_cross_validation", &cross_validation_of, nb::arg("columns"), nb::arg("problem"), nb::arg("y"),
          nb::arg("train"), nb::arg("test"), nb::arg("strengths"), nb::arg("callback").none() = nb::none(),
          nb::arg("by_rows") = false,
          "Losses of held-out samples: one row per fold, one column per point of its path (l1, l2, l1, l2, ...).");
    m.def("ridge", &ridge_of, nb::arg("rows"), nb::arg("columns"), nb::arg("y"), nb::arg("s").none(), nb::arg("l2"),
          nb::arg("problem"), "(w, b, primal, dual, iterations, distance) for each row of y, by conjugate gradients.");
}

}  // namespace tallywise::bindings
