// What collapsed inference keeps for an entry: its shares of topics, their update, and their move to another list.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace tallywise::topics {

constexpr std::size_t list_width = 64;  // topics in the list of a document

// gamma in 1/65535ths: half the memory traffic of float, and the counts are sums of what is stored, so they stay true.
using Share = std::uint16_t;
constexpr float whole = 65535.0F;

struct Terms {
    Share const* gamma;
    float const *nd, *nw, *alpha, *inverse;
};

// The new shares of an entry up to their sum, which is returned. n is a multiple of 16.
inline float weigh(std::size_t n, Terms const& t, float unit, float beta, float* __restrict fresh) {
    Share const* __restrict const gamma = t.gamma;
    float const* __restrict const nd = t.nd, * __restrict const nw = t.nw;
    float const* __restrict const alpha = t.alpha, * __restrict const inverse = t.inverse;
    float mass = 0;
#pragma omp simd reduction(+ : mass)
    for (std::size_t k = 0; k < n; ++k) {
        float const own = unit * static_cast<float>(gamma[k]);
        float const d = nd[k] - own, w = nw[k] - own;
        float const p = ((d > 0 ? d : 0) + alpha[k]) * ((w > 0 ? w : 0) + beta) * inverse[k];
        fresh[k] = p;
        mass += p;
    }
    return mass;
}

inline void replace(std::size_t n, float const* __restrict fresh, float scale, float unit, Share* __restrict gamma,
                    float* __restrict nd, float* __restrict nw) {
#pragma omp simd
    for (std::size_t k = 0; k < n; ++k) {
        auto const now = static_cast<std::int32_t>(fresh[k] * scale + 0.5F);
        float const change = unit * static_cast<float>(now - static_cast<std::int32_t>(gamma[k]));
        gamma[k] = static_cast<Share>(now);
        nd[k] += change;
        nw[k] += change;
    }
}

// From the old list of a document to the new one.
struct Moves {
    std::uint8_t source[list_width];   // old place of each topic of the new list; `list_width`: it was not there
    std::uint8_t left[list_width];     // old places of topics that are gone
    std::uint32_t topics[list_width];  // these topics
    std::size_t n, gone;               // topics of the new list, and those that are gone
};

// Both lists rise.
inline Moves find_moves(std::uint32_t const* list, std::size_t n, std::uint32_t const* old, std::size_t old_n) {
    Moves moves{};
    moves.n = n;
    std::size_t j = 0;
    for (std::size_t i = 0; i < old_n; ++i) {
        for (; j < n && list[j] < old[i]; ++j) moves.source[j] = list_width;
        if (j < n && list[j] == old[i]) {
            moves.source[j++] = static_cast<std::uint8_t>(i);
        } else {
            moves.left[moves.gone] = static_cast<std::uint8_t>(i);
            moves.topics[moves.gone++] = old[i];
        }
    }
    std::fill(moves.source + j, moves.source + n, static_cast<std::uint8_t>(list_width));
    return moves;
}

// Shares of an entry from the old list to the new one; those of topics that are gone are taken from the counts.
inline void move_shares(Moves const& moves, float unit, Share* gamma, float* nw, float* totals) {
    Share old[list_width + 1];
    std::copy(gamma, gamma + list_width, old);
    old[list_width] = 0;
    for (std::size_t j = 0; j < moves.n; ++j) gamma[j] = old[moves.source[j]];
    std::fill(gamma + moves.n, gamma + list_width, Share{0});
    for (std::size_t i = 0; i < moves.gone; ++i) {
        float const own = unit * static_cast<float>(old[moves.left[i]]);
        nw[moves.topics[i]] -= own;
        totals[moves.topics[i]] -= own;
    }
}

}  // namespace tallywise::topics
