// Why a message has its score: slot i adds w_i n^-1/2 * 5 tanh(z/5)/z * t/(t+10), which sum to the score. Names of
// slots are found by reading the message again; of names that share a slot the first stands for it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/spam/features.hpp"
#include "core/spam/learner.hpp"

namespace tallywise::spam {

struct Reason {
    std::size_t view;
    std::string field, text;
    double adds;
};

// The `most` largest: words of header and body first, then bytes, of which each says little to a reader. The message is
// read twice, as names of all slots take ten times as long as reading; only those that are asked for get one.
template <class Learner>
std::vector<Reason> explain(Learner const& learner, CleanMessage const& message,
                            std::size_t most = std::numeric_limits<std::size_t>::max()) {
    struct Slot {
        std::size_t view;
        std::uint32_t at;
        double adds;
    };
    Analyzer analyzer;
    auto const& features = analyzer(message);
    Scores const scores = learner.score(features);
    std::vector<Slot> slots;
    for (std::size_t v = 0; v < views; ++v) {
        for (auto const at : features[v]) slots.push_back({v, at, learner.weight(at) * scores.factor[v]});
    }
    auto const before = [](Slot const& one, Slot const& other) {
        if ((one.view == 0) != (other.view == 0)) return other.view == 0;
        if (std::abs(one.adds) != std::abs(other.adds)) return std::abs(one.adds) > std::abs(other.adds);
        return std::pair(one.view, one.at) < std::pair(other.view, other.at);
    };
    most = std::min(most, slots.size());
    std::partial_sort(slots.begin(), slots.begin() + static_cast<std::ptrdiff_t>(most), slots.end(), before);
    slots.resize(most);
    std::vector<Reason> reasons;
    std::array<std::unordered_map<std::uint32_t, std::size_t>, views> place;
    for (auto const& [view, at, adds] : slots) {
        place[view].emplace(at, reasons.size());
        reasons.push_back({view, "", "", adds});
    }
    std::size_t unnamed = reasons.size();
    analyzer(message, [&](std::size_t view, std::uint32_t at, std::string_view field, std::string_view first,
                          std::string_view second) {
        if (unnamed == 0) return;
        auto const found = place[view].find(at);
        if (found == place[view].end()) return;
        auto& reason = reasons[found->second];
        reason.field = field;
        reason.text = first;
        if (!second.empty()) reason.text.append(" ").append(second);
        place[view].erase(found);
        --unnamed;
    });
    return reasons;
}

}  // namespace tallywise::spam
