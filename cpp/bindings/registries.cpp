// The registries as Python sees them: their names, and each entry's functions for the contract tests.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings/views.hpp"
#include "core/losses.hpp"
#include "core/penalties.hpp"

namespace tallywise::bindings {
namespace {

template <class L>
L make_loss(double parameter) {
    if constexpr (requires { L{parameter}; }) return L{parameter};
    return L{};
}

nb::dict loss_at(std::string const& name, double parameter, double y, double z) {
    return Losses::visit("loss", name, [&]<class L>() {
        L const loss = make_loss<L>(parameter);
        double const a = loss.gradient(y, z);
        nb::dict at;
        at["value"] = loss.value(y, z);
        at["gradient"] = a;
        at["curvature"] = loss.curvature(y, z);
        at["conjugate"] = loss.conjugate(y, a);
        at["clipped"] = loss.clip(y, a);
        return at;
    });
}

nb::dict loss_traits(std::string const& name) {
    return Losses::visit("loss", name, []<class L>() {
        nb::dict traits;
        traits["smoothness"] = L::smoothness;
        traits["binary"] = L::binary;
        return traits;
    });
}

double loss_conjugate(std::string const& name, double parameter, double y, double a) {
    return Losses::visit("loss", name, [&]<class L>() { return make_loss<L>(parameter).conjugate(y, a); });
}

nb::dict penalty_at(std::string const& name, double l1, double l2, double w, double u) {
    return Penalties::visit("penalty", name, [&]<class P>() {
        P const penalty{l1, l2};
        nb::dict at;
        at["value"] = penalty.value(w);
        at["prox"] = penalty.prox(w, u);
        at["conjugate"] = penalty.conjugate(u);
        at["distance"] = penalty.distance(w, u);
        return at;
    });
}

}  // namespace

void bind_registries(nb::module_& m) {
    m.def("losses", &Losses::names);
    m.def("loss_at", &loss_at, nb::arg("name"), nb::arg("parameter"), nb::arg("y"), nb::arg("z"),
          "The functions of a loss at (y, z); the conjugate at its gradient.");
    m.def("loss_conjugate", &loss_conjugate, nb::arg("name"), nb::arg("parameter"), nb::arg("y"), nb::arg("a"));
    m.def("loss_traits", &loss_traits, nb::arg("name"));
    m.def("penalties", &Penalties::names);
    m.def("penalty_at", &penalty_at, nb::arg("name"), nb::arg("l1"), nb::arg("l2"), nb::arg("w"), nb::arg("u"),
          "The functions of a penalty: value(w), prox(w, step=u), conjugate(u), distance(w, g=u).");
}

}  // namespace tallywise::bindings
