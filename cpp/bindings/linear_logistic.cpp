#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <optional>
#include <tuple>
#include <type_traits>

#include "bindings/views.hpp"
#include "core/solvers/logistic.hpp"

namespace tallywise::bindings {
namespace {

// Weights (features x lanes), intercepts (lanes), primal, dual, iterations.
using Answer = std::tuple<nb::ndarray<nb::numpy, double, nb::ndim<2>>, nb::ndarray<nb::numpy, double, nb::ndim<1>>,
                          double, double, int>;

// A start in the lanes' layout, or none.
struct Start {
    std::vector<double> w, b;
    Start(std::optional<Matrix<double>> const& w0, std::optional<Vector<double>> const& b0, std::size_t K) {
        std::size_t const L = padded(K);
        if (w0) {
            w.assign(w0->shape(0) * L, 0.0);
            for (std::size_t j = 0; j < w0->shape(0); ++j) {
                std::copy(w0->data() + j * K, w0->data() + (j + 1) * K, w.data() + j * L);
            }
        }
        if (b0) b.assign(b0->data(), b0->data() + K);
    }
    static double const* pointer(std::vector<double> const& v) { return v.empty() ? nullptr : v.data(); }
};

Answer answer(ClassSolution&& found, std::size_t p, std::size_t K) {
    std::size_t const L = padded(K);
    std::vector<double> w(p * K), b(found.b.begin(), found.b.begin() + static_cast<std::ptrdiff_t>(K));
    for (std::size_t j = 0; j < p; ++j) {
        std::copy(found.w.data() + j * L, found.w.data() + j * L + K, w.data() + j * K);
    }
    return {to_numpy(std::move(w), p, K), to_numpy(std::move(b)), found.primal, found.dual, found.iterations};
}

// Calls f with X by rows as floating point; estimators pass nothing else.
template <class F>
ClassSolution with_rows(Design const& X, F&& f) {
    return visit(X, [&](auto const& rows) -> ClassSolution {
        using Value = typename std::remove_cvref_t<decltype(rows)>::Value;
        if constexpr (std::is_floating_point_v<Value>) return f(rows);
        throw std::invalid_argument("Logistic regression takes float64 or float32 values.");
    });
}

Labels labels_of(Vector<std::int64_t> const& y, Vector<double> const& s, Design const& X) {
    if (y.shape(0) != lines(X) || s.shape(0) != lines(X)) {
        throw std::invalid_argument("X, y and the weights must have one length.");
    }
    return {y.data(), s.data(), y.shape(0)};
}

Answer ridge(BoundDesign const& X, Vector<std::int64_t> const& y, Vector<double> const& s, std::size_t classes,
             double l2, SolveOptions const& options, std::optional<Matrix<double>> const& w0,
             std::optional<Vector<double>> const& b0) {
    std::size_t const K = classes == 2 ? 1 : classes;
    Start const start(w0, b0, K);
    Labels const labels = labels_of(y, s, X.view);
    ClassSolution found;
    {
        nb::gil_scoped_release released;
        found = with_rows(X.view, [&](auto const& rows) {
            auto const solve = [&](auto const& loss) {
                return ridge_logistic(rows, loss, labels, l2, options, Start::pointer(start.w),
                                      Start::pointer(start.b));
            };
            return K == 1 ? solve(BinaryLogistic{}) : solve(Softmax{K});
        });
    }
    return answer(std::move(found), width(X.view), K);
}

}  // namespace

void bind_logistic(nb::module_& m) {
    nb::class_<SolveOptions>(m, "SolveOptions", "When a convex solver stops, and on how many threads it runs.")
        .def(
            "__init__",
            [](SolveOptions* self, double tol, int max_iter, bool fit_intercept, int threads) {
                new (self) SolveOptions{tol, max_iter, fit_intercept, threads};
            },
            nb::arg("tol"), nb::arg("max_iter"), nb::arg("fit_intercept"), nb::arg("threads"));
    m.def("ridge_logistic", &ridge, nb::arg("X"), nb::arg("y"), nb::arg("s"), nb::arg("classes"), nb::arg("l2"),
          nb::arg("options"), nb::arg("w0") = nb::none(), nb::arg("b0") = nb::none(),
          "Minimise sum s l(y, XW + b) + l2/2 |W|^2: (W, b, primal, dual, iterations).");
}

}  // namespace tallywise::bindings
