// The registries as Python sees them: their names, and each entry's functions for the contract tests.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings/views.hpp"
#include "core/linear/losses.hpp"
#include "core/linear/penalties.hpp"

namespace tallywise::bindings {

using namespace linear;

namespace {

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
        at["bend"] = bend(loss, y, z);
        return at;
    });
}

nb::dict loss_traits(std::string const& name) {
    return Losses::visit("loss", name, []<class L>() {
        nb::dict traits;
        traits["smoothness"] = L::smoothness;
        traits["binary"] = L::binary;
        traits["ascends"] = Ascends<L>::value;
        traits["plain"] = Plain<L>::value;
        traits["positive"] = requires { L::positive; };
        return traits;
    });
}

double loss_conjugate(std::string const& name, double parameter, double y, double a) {
    return Losses::visit("loss", name, [&]<class L>() { return make_loss<L>(parameter).conjugate(y, a); });
}

double loss_ascend(std::string const& name, double parameter, double y, double s, double q, double z, double b) {
    return MarginLosses::visit("loss", name, [&]<class L>() { return make_loss<L>(parameter).ascend(y, s, q, z, b); });
}

nb::dict penalty_at(std::string const& name, double l1, double l2, double w, double u) {
    return Penalties::visit("penalty", name, [&]<class P>() {
        P const penalty{l1, l2};
        nb::dict at;
        at["value"] = penalty.value(w);
        at["prox"] = penalty.prox(w, u);
        at["conjugate"] = penalty.conjugate(u);
        at["distance"] = penalty.distance(w, u);
        at["pull"] = penalty.pull(w);
        return at;
    });
}

nb::dict penalty_traits(std::string const& name) {
    return Penalties::visit("penalty", name, []<class P>() {
        nb::dict traits;
        traits["convex"] = P::convex;
        traits["labels"] = P::labels;
        return traits;
    });
}

}  // namespace

void bind_registries(nb::module_& m) {
    m.def("losses", &Losses::names);
    m.def("loss_at", &loss_at, nb::arg("name"), nb::arg("parameter"), nb::arg("y"), nb::arg("z"),
          "The functions of a loss at (y, z); the conjugate at its gradient.");
    m.def("loss_conjugate", &loss_conjugate, nb::arg("name"), nb::arg("parameter"), nb::arg("y"), nb::arg("a"));
    m.def("loss_ascend", &loss_ascend, nb::arg("name"), nb::arg("parameter"), nb::arg("y"), nb::arg("s"), nb::arg("q"),
          nb::arg("z"), nb::arg("b"), "argmin_t q/2 (t - b)^2 + z t + s l*(y, -t / s), for losses that ascend.");
    m.def("loss_traits", &loss_traits, nb::arg("name"),
          "smoothness, binary; whether it ascends, is plain (for sparse paths), and has a parameter that is positive.");
    m.def("penalties", &Penalties::names);
    m.def("penalty_at", &penalty_at, nb::arg("name"), nb::arg("l1"), nb::arg("l2"), nb::arg("w"), nb::arg("u"),
          "The functions of a penalty: value(w), prox(w, step=u), conjugate(u), distance(w, g=u), pull(g=w).");
    m.def("penalty_traits", &penalty_traits, nb::arg("name"), "Whether it is convex, and offered for labels.");
}

}  // namespace tallywise::bindings
