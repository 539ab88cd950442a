// Regression on ordered levels.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>

#include "bindings/views.hpp"
#include "core/linear/ordinal/ordered_loss.hpp"

namespace tallywise::bindings {

using namespace linear;
using namespace linear::ordinal;

namespace {

LaneSolution fit(BoundDesign const& X, Vector<std::int64_t> const& y, Vector<double> const& s,
                 OrdinalProblem const& problem, bool columns, bool covariance) {
    std::size_t const n = columns ? width(X.view) : lines(X.view);
    require(y.size() == n, "X and y must have one length.");
    require_weights(s, n);
    require_range(y, 0, problem.levels, "y must hold positions of levels.");
    nb::gil_scoped_release released;
    return fit_ordinal(X.view, {y.data(), s.data(), n, problem.levels}, problem, columns, covariance);
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
            [](OrdinalProblem* self, std::string const& link, std::size_t levels, double l1, double l2, double tol,
               int max_iter, int threads) {
                new (self) OrdinalProblem{ordinal_link(link), levels, {l1, l2}, {tol, max_iter, true, threads}};
            },
            nb::arg("link"), nb::arg("levels"), nb::arg("l1"), nb::arg("l2"), nb::arg("tol"), nb::arg("max_iter"),
            nb::arg("threads"))
        .def("by_columns", &OrdinalProblem::by_columns, nb::arg("n"), nb::arg("p"),
             "Whether the solver wants the columns of X (n x p) or its rows.");
    m.def("fit_ordinal", &fit, nb::arg("X"), nb::arg("y"), nb::arg("s"), nb::arg("problem"), nb::arg("columns"),
          nb::arg("covariance"), "Weights and thresholds of ordered levels.");
}

}  // namespace tallywise::bindings
