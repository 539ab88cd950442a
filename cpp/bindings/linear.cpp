#include "bindings/views.hpp"

namespace tallywise::bindings {

void bind_logistic(nb::module_& m);
void bind_least_squares(nb::module_& m);

void bind_linear(nb::module_& m) {
    bind_logistic(m);
    bind_least_squares(m);
}

}  // namespace tallywise::bindings
