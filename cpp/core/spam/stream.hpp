// The protocol of the TREC spam track (Cormack, Lynam, 2005): each message is scored, then learned, in order.
#pragma once

#include <algorithm>
#include <array>
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
    std::array<std::vector<std::size_t>, 2> learned;  // messages of each class
    std::array<std::size_t, 2> again{};               // how many of them were learned again in this round
    Rehearsal rehearsal;
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
            bool const label = spam[start + k];
            learner.learn(features[k], label, before.z);
            learned[label].push_back(start + k);
            auto const& others = learned[!label];
            if (!Learner::rehearses || !rehearsal.due(label) || others.empty()) continue;
            std::size_t& next = again[!label];
            if (next == others.size()) next = 0;
            learner.rehearse(analyzed(clean(messages[others[next++]])), !label);
        }
        check_interrupt();
    }
    return scores;
}

}  // namespace tallywise::spam
