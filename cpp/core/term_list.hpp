// Terms as plain data.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace tallywise {

// Terms one behind the other in UTF-8, and where each begins (and the last one ends).
struct TermList {
    std::vector<std::uint8_t> bytes;
    std::vector<std::int64_t> offsets{0};

    std::size_t size() const { return offsets.size() - 1; }

    void validate() const {
        bool const whole = !offsets.empty() && offsets.front() == 0 &&
                           offsets.back() == static_cast<std::int64_t>(bytes.size()) &&
                           std::is_sorted(offsets.begin(), offsets.end());
        if (!whole) throw std::invalid_argument("The offsets of terms must rise from 0 to the number of their bytes.");
    }

    std::string_view operator()(std::size_t j) const {
        return {reinterpret_cast<char const*>(bytes.data()) + offsets[j],
                static_cast<std::size_t>(offsets[j + 1] - offsets[j])};
    }
};

}  // namespace tallywise
