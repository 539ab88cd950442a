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

// The `most` largest: words of header and body first, then bytes, of which each says little to a reader.
template <class Learner>
std::vector<Reason> explain(Learner const& learner, CleanMessage const& message,
                            std::size_t most = std::numeric_limits<std::size_t>::max()) {
    std::array<std::unordered_map<std::uint32_t, std::size_t>, views> place;
    std::vector<Reason> reasons;
    std::vector<std::uint32_t> slot;
    Analyzer analyzer;
    auto const& features = analyzer(message, [&](std::size_t view, std::uint32_t at, std::string_view field,
                                                 std::string_view first, std::string_view second) {
        if (!place[view].emplace(at, reasons.size()).second) return;
        std::string text(first);
        if (!second.empty()) text.append(" ").append(second);
        reasons.push_back({view, std::string(field), std::move(text), 0});
        slot.push_back(at);
    });
    Scores const scores = learner.score(features);
    for (std::size_t k = 0; k < reasons.size(); ++k) {
        reasons[k].adds = learner.weight(slot[k]) * scores.factor[reasons[k].view];
    }
    auto const before = [](Reason const& one, Reason const& other) {
        if ((one.view == 0) != (other.view == 0)) return other.view == 0;
        return std::abs(one.adds) > std::abs(other.adds);
    };
    if (most < reasons.size()) {
        std::nth_element(reasons.begin(), reasons.begin() + static_cast<std::ptrdiff_t>(most), reasons.end(), before);
        reasons.resize(most);
    }
    std::stable_sort(reasons.begin(), reasons.end(), before);
    return reasons;
}

}  // namespace tallywise::spam
