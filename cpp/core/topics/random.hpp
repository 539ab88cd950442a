// Random numbers that depend on (seed, sweep, place) alone, so that no thread count can change them.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "core/base/random.hpp"

namespace tallywise::topics {

// xoshiro256++ (Blackman and Vigna, 2021), its state filled by splitmix64 from the three numbers that name the stream.
class Stream {
  public:
    Stream(std::uint64_t seed, std::uint64_t sweep, std::uint64_t place) {
        std::uint64_t x = mix_bits(seed + golden_ratio);
        x = mix_bits(x ^ (sweep + golden_ratio));
        x = mix_bits(x ^ (place + golden_ratio));
        for (auto& word : state_) word = mix_bits(x += golden_ratio);
    }

    std::uint64_t next() {
        std::uint64_t const result = std::rotl(state_[0] + state_[3], 23) + state_[0];
        std::uint64_t const t = state_[1] << 17;
        state_[2] ^= state_[0];
        state_[3] ^= state_[1];
        state_[1] ^= state_[2];
        state_[0] ^= state_[3];
        state_[2] ^= t;
        state_[3] = std::rotl(state_[3], 45);
        return result;
    }

    // In [0, 1).
    double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

    // In [0, n), n > 0. The bias is below n / 2^64.
    std::size_t below(std::size_t n) {
        __extension__ using Wide = unsigned __int128;
        return static_cast<std::size_t>((static_cast<Wide>(next()) * n) >> 64);
    }

  private:
    std::uint64_t state_[4];
};

}  // namespace tallywise::topics
