// The protocol of the TREC spam track (Cormack, Lynam, 2005): each message is scored, then learned, in order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "core/base/interrupt.hpp"
#include "core/base/parallel.hpp"
#include "core/spam/features.hpp"
#include "core/spam/learner.hpp"

namespace tallywise::spam {

// Scores before learning. Messages are read by all threads, a block at a time, and learned by one.
template <class Learner>
std::vector<double> replay(Learner& learner, std::vector<std::string_view> const& messages,
                           std::vector<bool> const& spam, int threads) {
    constexpr std::size_t block = 256, grain = 8;
    if (messages.size() != spam.size()) throw std::invalid_argument("A label a message is needed");
    Team team(threads);
    std::vector<Features> features(block);
    std::vector<double> scores;
    scores.reserve(messages.size());
    for (std::size_t start = 0; start < messages.size(); start += block) {
        std::size_t const n = std::min(block, messages.size() - start);
        team.each_range(n, grain, [&](std::size_t begin, std::size_t end, std::size_t) {
            for (std::size_t k = begin; k < end; ++k) features[k] = analyzed(clean(messages[start + k]));
        });
        for (std::size_t k = 0; k < n; ++k) {
            Scores const before = learner.score(features[k]);
            scores.push_back(before.total);
            learner.learn(features[k], spam[start + k], before.z);
        }
        check_interrupt();
    }
    return scores;
}

}  // namespace tallywise::spam
