// Random numbers: one mixer of 64 bits for shuffles, streams and keys of content.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace tallywise {

inline constexpr std::uint64_t golden_ratio = 0x9e3779b97f4a7c15;  // 2^64 over the golden ratio

// The finaliser of SplitMix64: a bijection in which each bit depends on all bits.
inline std::uint64_t mix_bits(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

// Small, fast and good enough to shuffle with (Steele, Lea, Flood, OOPSLA 2014).
struct SplitMix {
    std::uint64_t state;

    std::uint64_t next() { return mix_bits(state += golden_ratio); }
    // Uniform in [0, n) but for a bias below n / 2^32.
    std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(((next() >> 32) * n) >> 32); }

    void shuffle(std::vector<std::uint32_t>& items) {
        for (std::size_t k = items.size(); k > 1; --k) {
            std::swap(items[k - 1], items[below(static_cast<std::uint32_t>(k))]);
        }
    }
};

}  // namespace tallywise
