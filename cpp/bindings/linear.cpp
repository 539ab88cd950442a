#include "bindings/views.hpp"

namespace tallywise::bindings {

void bind_logistic(nb::module_& m);
void bind_least_squares(nb::module_& m);
void bind_margins(nb::module_& m);
void bind_margin_numbers(nb::module_& m);
void bind_online(nb::module_& m);
void bind_ordinal(nb::module_& m);

void bind_linear(nb::module_& m) {
    bind_logistic(m);
    bind_least_squares(m);
    bind_margins(m);
    bind_margin_numbers(m);
    bind_online(m);
    bind_ordinal(m);
}

}  // namespace tallywise::bindings
