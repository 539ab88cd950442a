#include "bindings/views.hpp"

namespace tallywise::bindings {

void bind_least_squares(nb::module_&) {}

}  // namespace tallywise::bindings
