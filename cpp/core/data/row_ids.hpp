// Where rows are known by numbers of 32 bits, for half the memory: no more of them than such numbers tell apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>

namespace tallywise {

inline void require_row_ids(std::size_t rows) {
    constexpr auto most = std::numeric_limits<std::uint32_t>::max() - std::size_t{1};  // the last one stands for none
    if (rows <= most) return;
    throw std::invalid_argument("X may have at most " + std::to_string(most) + " rows here. Got " +
                                std::to_string(rows) + ". Fit a sample of them.");
}

}  // namespace tallywise
