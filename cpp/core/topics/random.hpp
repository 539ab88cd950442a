// Random numbers that depend on (seed, sweep, place) alone, so that no thread count can change them.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace tallywise::topics {

// xoshiro256++ (Blackman and Vigna, 2021), its state filled by splitmix64 from the three numbers that name the stream.
class Stream {
  public:
    Stream(std::uint64_t seed, std::uint64_t sweep, std::uint64_t place) {
        std::uint64_t x = mix(seed + golden);
        x = mix(x ^ (sweep + golden));
        x = mix(x ^ (place + golden));
        for (auto& word : state_) word = mix(x += golden);
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
    static constexpr std::uint64_t golden = 0x9e3779b97f4a7c15;

    static std::uint64_t mix(std::uint64_t x) {
        x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
        x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
        return x ^ (x >> 31);
    }

    std::uint64_t state_[4];
};

}  // namespace tallywise::topics
