#include <nanobind/stl/vector.h>
// Regression on ordered levels.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>

#include "bindings/views.hpp"
#include "core/linear/ordinal/ordinal_newton.hpp"

namespace tallywise::bindings {
namespace {

nb::tuple fit(BoundDesign const& X, Vector<std::int64_t> const& y, Vector<double> const& s,
              OrdinalProblem const& problem, bool covariance) {
    if (y.shape(0) != lines(X.view) || s.shape(0) != lines(X.view)) {
        throw std::invalid_argument("X, y and the weights must have one length.");
    }
    OrdinalSolution found;
    {
        nb::gil_scoped_release released;
        found = fit_ordinal(X.view, {y.data(), s.data(), y.shape(0), problem.levels}, problem, covariance);
    }
    std::size_t const m = covariance ? found.w.size() + found.thresholds.size() : 0;
    return nb::make_tuple(to_numpy(std::move(found.w)), to_numpy(std::move(found.thresholds)), found.primal, found.dual,
                          found.iterations, to_numpy(std::move(found.covariance), m, m));
}

double cdf(std::string const& link, double t) {
    return OrdinalLinks::visit("link", link, [&]<class Link>() { return Link::cdf(t); });
}

nb::dict at(std::string const& link, double u, double v) {
    Interval const r = OrdinalLinks::visit("link", link, [&]<class Link>() { return Link::at(u, v); });
    nb::dict found;
    found["value"] = r.value;
    found["gradient"] = nb::make_tuple(r.du, r.dv);
    found["hessian"] = nb::make_tuple(r.duu, r.duv, r.dvv);
    found["conjugate"] =
        OrdinalLinks::visit("link", link, [&]<class Link>() { return interval_conjugate<Link>(r.du, r.dv, u, v); });
    return found;
}

}  // namespace

void bind_ordinal(nb::module_& m) {
    m.def("ordinal_links", &OrdinalLinks::names);
    m.def("ordinal_cdf", &cdf, nb::arg("link"), nb::arg("t"));
    m.def("ordinal_at", &at, nb::arg("link"), nb::arg("u"), nb::arg("v"),
          "-log(F(u) - F(v)), its derivatives, and its conjugate at the gradient.");
    nb::class_<OrdinalProblem>(m, "OrdinalProblem", "What a fit to ordered levels is asked, apart from the data.")
        .def(
            "__init__",
            [](OrdinalProblem* self, std::string link, std::size_t levels, double l1, double l2, double tol,
               int max_iter, int threads) {
                new (self) OrdinalProblem{std::move(link), levels, {l1, l2}, {tol, max_iter, true, threads}};
            },
            nb::arg("link"), nb::arg("levels"), nb::arg("l1"), nb::arg("l2"), nb::arg("tol"), nb::arg("max_iter"),
            nb::arg("threads"));
    m.def("fit_ordinal", &fit, nb::arg("X"), nb::arg("y"), nb::arg("s"), nb::arg("problem"), nb::arg("covariance"),
          "Thresholds and weights of ordered levels: (w, thresholds, primal, dual, iterations, covariance).");
}

}  // namespace tallywise::bindings
