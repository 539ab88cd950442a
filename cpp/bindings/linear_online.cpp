// Models that learn row by row, or step by step: the perceptron and least mean squares.
#include <nanobind/stl/pair.h>

#include <utility>

#include "bindings/views.hpp"
#include "core/linear/online/least_mean_squares.hpp"
#include "core/linear/online/perceptron.hpp"

namespace tallywise::bindings {
namespace {

// States come as rows of (w, b, t, mistakes, epochs, clean) and go back the same way.
nb::ndarray<nb::numpy, double, nb::ndim<2>> perceptron(BoundDesign const& X, Vector<std::int64_t> const& codes,
                                                       Vector<double> const& s, Matrix<double> const& scale,
                                                       Vector<std::uint8_t> const& held,
                                                       PerceptronOptions const& options, Matrix<double> const& start,
                                                       std::pair<std::uint64_t, int> seed_threads) {
    std::size_t const n = lines(X.view), p = width(X.view), K = start.shape(0);
    if (codes.shape(0) != n || s.shape(0) != n || held.shape(0) != n || start.shape(1) != p + 5 ||
        scale.shape(0) != K || scale.shape(1) != 2) {
        throw std::invalid_argument("X, y, the weights and the start must agree in length.");
    }
    std::vector<double> rows(start.data(), start.data() + start.size());
    {
        nb::gil_scoped_release released;
        auto states = perceptron_states(rows.data(), K, p);
        Team team(seed_threads.second);
        visit_real(X.view, [&](auto const& x) {
            fit_perceptrons(team, x, codes.data(), s.data(), scale.data(), held.data(), options, seed_threads.first,
                            states);
            return 0;
        });
        write_states(states, rows.data(), p);
    }
    return to_numpy(std::move(rows), K, p + 5);
}

nb::tuple least_mean_squares(BoundDesign const& X, Vector<double> const& y, Vector<double> const& s,
                             Vector<double> const& start, DescentOptions const& options) {
    if (y.shape(0) != lines(X.view) || s.shape(0) != lines(X.view) || start.shape(0) != width(X.view)) {
        throw std::invalid_argument("X, y, the weights and the start must agree in length.");
    }
    Descent found;
    {
        nb::gil_scoped_release released;
        found = descend_squares(X.view, y.data(), s.data(), start.data(), options);
    }
    std::size_t const points = found.losses.size(), p = start.shape(0);
    return nb::make_tuple(to_numpy(std::move(found.path), points, p), to_numpy(std::move(found.losses)), found.step,
                          found.iterations, found.diverged, found.settled);
}

}  // namespace

void bind_online(nb::module_& m) {
    nb::class_<PerceptronOptions>(m, "PerceptronOptions", "How a perceptron learns.")
        .def(
            "__init__",
            [](PerceptronOptions* self, double l1, double l2, double eta, double tol, double intercept_decay,
               int max_iter, int patience, bool shuffle, bool averaged, bool early_stopping) {
                new (self) PerceptronOptions{l1,       l2,       eta,     tol,      intercept_decay,
                                             max_iter, patience, shuffle, averaged, early_stopping};
            },
            nb::arg("l1"), nb::arg("l2"), nb::arg("eta"), nb::arg("tol"), nb::arg("intercept_decay"),
            nb::arg("max_iter"), nb::arg("patience"), nb::arg("shuffle"), nb::arg("averaged"),
            nb::arg("early_stopping"));
    m.def("perceptron", &perceptron, nb::arg("X"), nb::arg("codes"), nb::arg("s"), nb::arg("scale"), nb::arg("held"),
          nb::arg("options"), nb::arg("start"), nb::arg("seed_threads"),
          "Perceptrons of one class against the rest: rows of (w, b, t, mistakes, epochs, clean).");
    nb::class_<DescentOptions>(m, "DescentOptions", "How the least mean squares rule walks.")
        .def(
            "__init__",
            [](DescentOptions* self, bool stochastic, double step, double tol, int max_iter, int record,
               std::uint64_t seed,
               int threads) { new (self) DescentOptions{stochastic, step, tol, max_iter, record, seed, threads}; },
            nb::arg("stochastic"), nb::arg("step"), nb::arg("tol"), nb::arg("max_iter"), nb::arg("record"),
            nb::arg("seed"), nb::arg("threads"));
    m.def("least_mean_squares", &least_mean_squares, nb::arg("X"), nb::arg("y"), nb::arg("s"), nb::arg("start"),
          nb::arg("options"), "Gradient descent on squares: (path, losses, step, iterations, diverged, settled).");
}

}  // namespace tallywise::bindings
