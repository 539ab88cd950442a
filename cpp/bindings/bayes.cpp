#include "bindings/views.hpp"

namespace tallywise::bindings {

void bind_bayes(nb::module_&) {}

}  // namespace tallywise::bindings
