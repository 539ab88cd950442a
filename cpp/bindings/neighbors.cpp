#include "bindings/views.hpp"

namespace tallywise::bindings {

void bind_neighbors(nb::module_&) {}

}  // namespace tallywise::bindings
