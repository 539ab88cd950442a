// The rows with the largest of many scores.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

namespace tallywise::neighbors {

struct Leader {
    float score;
    std::uint32_t row;
    bool operator<(Leader const& other) const { return score > other.score; }  // least first in a heap
};

// Adds to a heap of the `most` largest scores.
inline void keep(std::size_t most, Leader const leader, std::vector<Leader>& leaders) {
    if (leaders.size() == most) {
        if (!(leader.score > leaders.front().score)) return;
        std::pop_heap(leaders.begin(), leaders.end());
        leaders.pop_back();
    }
    leaders.push_back(leader);
    std::push_heap(leaders.begin(), leaders.end());
}

// Finds rows that lead; holds what it uses again.
class Lead {
  public:
    // Into `leaders` up to `most` of the n rows with the largest scores, only such that allowed(row); at least
    // `fewest` where there are so many.
    template <class Allowed>
    void find(float const* scores, std::size_t n, std::size_t most, std::size_t fewest, Allowed&& allowed,
              std::vector<Leader>& leaders) {
        std::size_t const steps = n / step;
        tops_.resize(steps);
        for (std::size_t s = 0; s < steps; ++s) {
            float top = none;
#pragma omp simd reduction(max : top)
            for (std::size_t l = 0; l < step; ++l) top = std::max(top, scores[s * step + l]);
            tops_[s] = top;
        }
        float least = none;
        if (steps > 2 * most) {  // `most` steps have a row that reaches it
            order_ = tops_;
            auto const nth = order_.begin() + static_cast<std::ptrdiff_t>(most - 1);
            std::nth_element(order_.begin(), nth, order_.end(), std::greater<>());
            least = *nth;
        }
        auto const offer = [&](std::size_t begin, std::size_t end) {
            for (std::size_t row = begin; row < end; ++row) {
                if (!(scores[row] >= least) || !allowed(row)) continue;
                keep(most, {scores[row], static_cast<std::uint32_t>(row)}, leaders);
                if (leaders.size() == most) least = leaders.front().score;
            }
        };
        leaders.clear();
        for (std::size_t s = 0; s < steps; ++s) {
            if (tops_[s] >= least) offer(s * step, (s + 1) * step);
        }
        offer(steps * step, n);
        if (leaders.size() >= fewest) return;
        least = none;  // too many of those that lead were not allowed
        leaders.clear();
        offer(0, n);
    }

  private:
    static constexpr std::size_t step = 32;
    static constexpr float none = -std::numeric_limits<float>::infinity();

    std::vector<float> tops_, order_;  // largest scores of steps
};

}  // namespace tallywise::neighbors
