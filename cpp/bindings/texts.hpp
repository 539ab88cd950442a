// Documents from Python: strings where they lie.
#pragma once

#include <cstdint>
#include <vector>

#include "bindings/views.hpp"
#include "core/characters.hpp"

namespace tallywise::bindings {

// Documents that stay alive as long as this does.
struct Texts {
    std::vector<Text> views;
    std::vector<nb::object> owners;
    std::int64_t first_other = -1;  // the first item that is no str
    bool ascii = true;
};

// `lower` says that the texts will be lowered.
Texts from_list(nb::list const& items, bool lower);

}  // namespace tallywise::bindings
