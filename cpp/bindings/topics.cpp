#include "bindings/views.hpp"

namespace tallywise::bindings {

void bind_topics(nb::module_&) {}

}  // namespace tallywise::bindings
