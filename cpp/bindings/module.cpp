// The native module: one bind_* function a family, each in its own file.
#include <nanobind/nanobind.h>

#include "bindings/views.hpp"
#include "core/base/interrupt.hpp"

namespace tallywise::bindings {

void bind_spam(nb::module_& m);

static bool python_wants_to_stop() {
    nb::gil_scoped_acquire held;
    return PyErr_CheckSignals() != 0;
}

}  // namespace tallywise::bindings

NB_MODULE(TALLYWISE_MODULE, m) {
    using namespace tallywise;
    m.attr("level") = TALLYWISE_LEVEL;
    nb::set_leak_warnings(false);  // tables that Python keeps for the length of the process are no leak
    interrupt_poll = &bindings::python_wants_to_stop;
    // The poll leaves KeyboardInterrupt (or what a handler raised) set; Interrupted only unwinds the C++
    // frames.
    nb::register_exception_translator([](std::exception_ptr const& error, void*) {
        try {
            std::rethrow_exception(error);
        } catch (Interrupted const&) {
            if (!PyErr_Occurred()) PyErr_SetNone(PyExc_KeyboardInterrupt);
        }
    });
    bindings::bind_design(m);
    bindings::bind_registries(m);
    bindings::bind_text(m);
    bindings::bind_bayes(m);
    bindings::bind_linear(m);
    bindings::bind_kernel(m);
    bindings::bind_neighbors(m);
    bindings::bind_topics(m);
    bindings::bind_scorer(m);
    bindings::bind_spam(m);
}
