// Models that learn row by row, or step by step: the perceptron and least mean squares.
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "bindings/views.hpp"
#include "core/linear/online/least_mean_squares.hpp"
#include "core/linear/online/perceptrons.hpp"

namespace tallywise::bindings {

using namespace linear;
using namespace linear::online;

namespace {

std::vector<PerceptronState> perceptron(BoundDesign const& X, Vector<std::int64_t> const& codes,
                                        Vector<double> const& s, Matrix<double> const& scale,
                                        Vector<std::uint8_t> const& held, PerceptronOptions const& options,
                                        std::vector<PerceptronState> states) {
    std::size_t const n = lines(X.view), p = width(X.view);
    bool const agree = std::all_of(states.begin(), states.end(), [&](auto const& at) { return at.w.size() == p; });
    if (codes.shape(0) != n || s.shape(0) != n || held.shape(0) != n || !agree || scale.shape(0) != states.size() ||
        scale.shape(1) != 2) {
        throw std::invalid_argument("X, y, the weights and the start must agree in length.");
    }
    require_weights(s, n);
    nb::gil_scoped_release released;
    fit_perceptrons(X.view, {codes.data(), s.data(), held.data(), scale.data()}, options, states);
    return states;
}

nb::tuple least_mean_squares(BoundDesign const& X, Vector<double> const& y, Vector<double> const& s,
                             Vector<double> const& start, DescentOptions const& options) {
    if (y.shape(0) != lines(X.view) || s.shape(0) != lines(X.view) || start.shape(0) != width(X.view)) {
        throw std::invalid_argument("X, y, the weights and the start must agree in length.");
    }
    require_weights(s, lines(X.view));
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
               int max_iter, int patience, bool shuffle, bool averaged, bool early_stopping, std::uint64_t seed,
               int threads) {
                new (self) PerceptronOptions{l1,       l2,       eta,     tol,      intercept_decay,
                                             max_iter, patience, shuffle, averaged, early_stopping,
                                             seed,     threads};
            },
            nb::arg("l1"), nb::arg("l2"), nb::arg("eta"), nb::arg("tol"), nb::arg("intercept_decay"),
            nb::arg("max_iter"), nb::arg("patience"), nb::arg("shuffle"), nb::arg("averaged"),
            nb::arg("early_stopping"), nb::arg("seed"), nb::arg("threads"));
    nb::class_<PerceptronState>(m, "PerceptronState", "What one perceptron has learned, and from how much.")
        .def(
            "__init__",
            [](PerceptronState* self, Vector<double> const& w, double b, double t, std::int64_t mistakes) {
                new (self) PerceptronState{{w.data(), w.data() + w.size()}, b, t, mistakes};
            },
            nb::arg("w"), nb::arg("b"), nb::arg("t"), nb::arg("mistakes"))
        .def_prop_ro(
            "w", [](PerceptronState const& self) { return to_numpy(std::vector(self.w)); }, nb::rv_policy::automatic)
        .def_ro("b", &PerceptronState::b)
        .def_ro("t", &PerceptronState::t, "Steps so far, and one.")
        .def_ro("mistakes", &PerceptronState::mistakes)
        .def_ro("epochs", &PerceptronState::epochs, "Passes of the last fit.")
        .def_ro("clean", &PerceptronState::clean, "Whether the last pass had no mistake.");
    m.def("perceptron", &perceptron, nb::arg("X"), nb::arg("codes"), nb::arg("s"), nb::arg("scale"), nb::arg("held"),
          nb::arg("options"), nb::arg("start"),
          "Perceptrons of one class against the rest, one per state to start from.");
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
