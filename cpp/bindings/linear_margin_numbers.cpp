// Linear support vector machines of numbers: a file of their own, as each loss takes some ten seconds to compile.
#include "bindings/margins.hpp"

namespace tallywise::bindings {

using namespace linear::svm;
using namespace linear;

namespace {

nb::tuple fit_target(BoundDesign const& X, Vector<double> const& y, Vector<double> const& s,
                     MarginOptions const& options) {
    require_weights(s, y.size());
    MarginTargets const targets{1, s.data(), y.data()};
    return fit<OfNumbers>(X, targets, s.shape(0) == y.shape(0) ? s.shape(0) : 0, options);
}

}  // namespace

void bind_margin_numbers(nb::module_& m) {
    m.def("margin_target", &fit_target, nb::arg("X"), nb::arg("y"), nb::arg("s"), nb::arg("options"),
          "(W, b, primal, dual, iterations) for one vector of numbers.");
}

}  // namespace tallywise::bindings
