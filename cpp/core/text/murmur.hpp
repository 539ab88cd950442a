// MurmurHash3, 32 bits (Appleby, 2011): the hash by which scikit-learn sends terms to columns.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tallywise::text {

inline std::int32_t murmur3(char const* bytes, std::size_t n, std::uint32_t seed = 0) {
    auto const scramble = [](std::uint32_t k) { return std::rotl(k * 0xCC9E2D51u, 15) * 0x1B873593u; };
    std::uint32_t h = seed;
    std::size_t const whole = n & ~std::size_t{3};
    for (std::size_t k = 0; k < whole; k += 4) {
        std::uint32_t word;
        std::memcpy(&word, bytes + k, 4);
        h = std::rotl(h ^ scramble(word), 13) * 5 + 0xE6546B64u;
    }
    std::uint32_t rest = 0;
    for (std::size_t k = n; k > whole; --k) rest = (rest << 8) | static_cast<unsigned char>(bytes[k - 1]);
    if (n > whole) h ^= scramble(rest);
    h ^= static_cast<std::uint32_t>(n);
    h = (h ^ (h >> 16)) * 0x85EBCA6Bu;
    h = (h ^ (h >> 13)) * 0xC2B2AE35u;
    return static_cast<std::int32_t>(h ^ (h >> 16));
}

// Where a term goes among `columns`, and with which sign.
struct HashedTerm {
    std::uint32_t column;
    bool negative;

    HashedTerm(char const* bytes, std::size_t n, std::uint32_t columns) {
        std::int32_t const h = murmur3(bytes, n);
        negative = h < 0;
        column = (negative ? 0u - static_cast<std::uint32_t>(h) : static_cast<std::uint32_t>(h)) % columns;
    }
};

}  // namespace tallywise::text
