#include <nanobind/stl/function.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "bindings/views.hpp"
#include "core/kernels/machines.hpp"

namespace tallywise::bindings {

using namespace kernels;

namespace {

using Step = std::tuple<std::string, double, double, double>;

Kernel make_kernel(std::vector<Step> const& steps) {
    Kernel kernel;
    for (auto const& [name, a, b, c] : steps) kernel.push(name, a, b, c);
    if (!kernel.complete()) throw std::invalid_argument("A kernel expression leaves one value, not several or none.");
    return kernel;
}

auto self_products(Kernel const& kernel, Vector<double> const& squares) {
    std::vector<double> out(squares.shape(0));
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = kernel.self(squares(i));
    return to_numpy(std::move(out));
}

void require_same_width(Kernel const& kernel, BoundDesign const& left, BoundDesign const& right) {
    if (!kernel.precomputed() && width(left.view) != width(right.view)) {
        throw std::invalid_argument("Points have " + std::to_string(width(left.view)) + " and " +
                                    std::to_string(width(right.view)) + " features.");
    }
}

template <class T>
auto matrix(Kernel const& kernel, BoundDesign const& left, BoundDesign const& right, int threads) {
    require_same_width(kernel, left, right);
    std::vector<T> out(lines(left.view) * lines(right.view));
    {
        nb::gil_scoped_release released;
        Team team(threads);
        kernel_matrix(kernel, Points(right.view), Points(left.view), team, out.data());
    }
    return to_numpy(std::move(out), lines(left.view), lines(right.view));
}

// Points that the coefficients belong to on the left; precomputed values come as right x left.
auto sums(Kernel const& kernel, BoundDesign const& left, BoundDesign const& right, Matrix<double> const& coefficients,
          Vector<std::int64_t> const& starts, int threads) {
    require_same_width(kernel, left, right);
    require_groups({starts.data(), starts.shape(0)}, lines(left.view), coefficients.shape(1));
    std::size_t const groups = starts.shape(0) - 1, rows = coefficients.shape(0), n = lines(right.view);
    std::vector<double> out(n * groups * rows, 0.0);
    {
        nb::gil_scoped_release released;
        Team team(threads);
        kernel_sums(kernel, Points(left.view), {starts.data(), groups + 1}, coefficients.data(), rows,
                    Points(right.view), team, out.data());
    }
    return to_numpy(std::move(out), n, groups * rows);
}

struct Machines {
    std::vector<MachineTask> tasks;
    MachineOptions options;
    std::size_t folds = 0;
    std::vector<MachineResult> results;

    void add(Vector<std::int64_t> const& line, Vector<double> const& linear, Vector<double> const& lower,
             Vector<double> const& upper, Vector<double> const& start) {
        MachineTask task;
        if (linear.shape(0) != line.shape(0) || lower.shape(0) != line.shape(0) || upper.shape(0) != line.shape(0) ||
            (start.shape(0) != 0 && start.shape(0) != line.shape(0))) {
            throw std::invalid_argument("The arrays of a box problem have one length.");
        }
        require_range(line, 0, std::numeric_limits<std::uint32_t>::max(), "A variable stands at a row of X.");
        for (std::size_t t = 0; t < line.shape(0); ++t) {
            require(lower(t) <= upper(t) && std::isfinite(linear(t)),
                    "A variable has lower <= upper and a finite term.");
            task.problem.push(static_cast<std::uint32_t>(line(t)), linear(t), lower(t), upper(t));
        }
        task.start.assign(start.data(), start.data() + start.shape(0));
        tasks.push_back(std::move(task));
    }

    void solve(Kernel const& kernel, BoundDesign const& X, int threads) {
        nb::gil_scoped_release released;
        Team team(threads);
        results = solve_machines(kernel, X.view, tasks, options, team, folds);
    }
};

auto figures(Machines const& machines, std::size_t m) {
    auto const& r = machines.results.at(m);
    return std::tuple(r.intercept, r.primal, r.dual, r.violation, r.steps, static_cast<int>(r.ended));
}

}  // namespace

void bind_kernel(nb::module_& m) {
    m.def("kernel_names", &Kernels::names, "Entries of the registry of kernels.");
    nb::class_<Kernel>(m, "Kernel", "A kernel of the form k(<u,v>, |u|^2, |v|^2), as a postfix expression.")
        .def_static("of", &make_kernel, nb::arg("steps"),
                    "Steps are (name, a, b, c); see cpp/core/kernels/kernels.hpp.")
        .def("self", &self_products, nb::arg("squares"), "k(x, x) from each |x|^2.");
    m.def("kernel_matrix", &matrix<double>, nb::arg("kernel"), nb::arg("left"), nb::arg("right"), nb::arg("threads"),
          "Kernel values, left x right, in float64.");
    m.def("kernel_matrix_single", &matrix<float>, nb::arg("kernel"), nb::arg("left"), nb::arg("right"),
          nb::arg("threads"), "Kernel values, left x right, in float32.");
    m.def("kernel_sums", &sums, nb::arg("kernel"), nb::arg("left"), nb::arg("right"), nb::arg("coefficients"),
          nb::arg("starts"), nb::arg("threads"),
          "right x (groups, rows): sums over each group of left points of coefficient times kernel.");
    nb::class_<Machines>(m, "Machines", "Support vector machines to be solved on one design.")
        .def(nb::init<>())
        .def_prop_rw(
            "tol", [](Machines const& s) { return s.options.tol; },
            [](Machines& s, double tol) { s.options.tol = tol; })
        .def_prop_rw(
            "cache_bytes", [](Machines const& s) { return s.options.cache_bytes; },
            [](Machines& s, std::size_t bytes) { s.options.cache_bytes = bytes; })
        .def_prop_rw(
            "shrinking", [](Machines const& s) { return s.options.shrinking; },
            [](Machines& s, bool shrinking) { s.options.shrinking = shrinking; })
        .def_prop_rw(
            "max_steps", [](Machines const& s) { return s.options.max_steps; },
            [](Machines& s, std::int64_t steps) { s.options.max_steps = steps; })
        .def_rw("folds", &Machines::folds, "Parts to hold out in turn; fewer than two for none.")
        .def("report_to",
             [](Machines& s, std::function<void(std::int64_t, double, std::size_t)> f) {
                 s.options.progress = std::move(f);
             })
        .def("add", &Machines::add, nb::arg("line"), nb::arg("linear"), nb::arg("lower"), nb::arg("upper"),
             nb::arg("start"), "One box problem: its variables' lines of the design, linear terms and bounds.")
        .def("solve", &Machines::solve, nb::arg("kernel"), nb::arg("X"), nb::arg("threads"))
        .def("beta", [](Machines const& s, std::size_t k) { return to_numpy(std::vector(s.results.at(k).beta)); })
        .def("f", [](Machines const& s, std::size_t k) { return to_numpy(std::vector(s.results.at(k).f)); })
        .def("held_out",
             [](Machines const& s, std::size_t k) { return to_numpy(std::vector(s.results.at(k).held_out)); })
        .def("fold", [](Machines const& s, std::size_t k) { return to_numpy(std::vector(s.results.at(k).fold)); })
        .def("figures", &figures, nb::arg("machine"), "(intercept, primal, dual, violation, steps, ended)");
}

}  // namespace tallywise::bindings
