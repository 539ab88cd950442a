#include "bindings/views.hpp"

namespace tallywise::bindings {

void bind_text(nb::module_&) {}

}  // namespace tallywise::bindings
