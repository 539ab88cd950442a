// Which builds of the native module can this processor run? Built for the baseline, so that it loads everywhere.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "core/base/processor.hpp"

NB_MODULE(_cpu, m) {
    m.def(
        "levels", [] { return tallywise::Processor::here().levels(); },
        "The builds this processor can run, best first.");
}
