#include "bindings/views.hpp"

namespace tallywise::bindings {

void bind_kernel(nb::module_&) {}

}  // namespace tallywise::bindings
