#include "bindings/views.hpp"

namespace tallywise::bindings {

void bind_linear(nb::module_&) {}

}  // namespace tallywise::bindings
