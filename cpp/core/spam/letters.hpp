// ASCII letters without their case: names of fields, of content types and of codes.
#pragma once

#include <cstddef>
#include <string_view>

namespace tallywise::spam {

inline unsigned char lowered(unsigned char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; }

// Whether a text begins with `low`, which is in lower case.
inline bool begins(std::string_view text, std::string_view low) {
    if (text.size() < low.size()) return false;
    for (std::size_t k = 0; k < low.size(); ++k) {
        if (lowered(static_cast<unsigned char>(text[k])) != static_cast<unsigned char>(low[k])) return false;
    }
    return true;
}

}  // namespace tallywise::spam
