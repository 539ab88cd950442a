// The native module: one bind_* function a family, each in its own file.
#include <nanobind/nanobind.h>

#include <chrono>

#include "bindings/views.hpp"
#include "core/base/interrupt.hpp"

namespace tallywise::bindings {

void bind_spam(nb::module_& m);
void bind_reading(nb::module_& m);

// Solvers ask as often as they like. Python's lock may take 5 ms to get while another thread is busy, so it is taken
// twenty times a second, and never by the threads of a Team: only Python's own can be told of a signal.
static bool python_wants_to_stop() {
    if (PyGILState_GetThisThreadState() == nullptr) return false;
    thread_local std::chrono::steady_clock::time_point next{};
    if (std::chrono::steady_clock::now() < next) return false;
    bool stop = false;
    {
        nb::gil_scoped_acquire held;
        stop = PyErr_CheckSignals() != 0;
    }
    next = std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
    return stop;
}

}  // namespace tallywise::bindings

NB_MODULE(TALLYWISE_MODULE, m) {
    using namespace tallywise;
    m.attr("level") = TALLYWISE_LEVEL;
#ifdef __clang__
    m.attr("compiler") = "clang " __clang_version__;
#else
    m.attr("compiler") = "gcc " __VERSION__;
#endif
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
    bindings::bind_naive_bayes(m);
    bindings::bind_linear(m);
    bindings::bind_kernel(m);
    bindings::bind_neighbors(m);
    bindings::bind_topics(m);
    bindings::bind_scorer(m);
    bindings::bind_reading(m);
    bindings::bind_spam(m);
}
