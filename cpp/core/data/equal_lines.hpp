// Which lines of a design are equal: the same numbers at the same places, zeros stored or not, in any order.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/base/random.hpp"
#include "core/data/design.hpp"

namespace tallywise {

// A number made from what a line holds and `target`, which equal lines share. A sum over the entries, so that a line may
// be stored in any order.
template <class Lines>
std::uint64_t content_key(Lines const& X, std::size_t line, std::uint64_t target, std::uint64_t seed) {
    std::uint64_t key = SplitMix{seed ^ target}.next();
    X.each(line, [&](std::size_t j, auto x) {
        if (x == 0) return;
        auto const bits = std::bit_cast<std::uint64_t>(static_cast<double>(x));
        key += SplitMix{(seed + bits) ^ ((j + 1) * golden_ratio)}.next();
    });
    return key;
}

// The entries of a line other than 0, in order of index.
using LineContent = std::vector<std::pair<std::size_t, double>>;

template <class Lines>
void read_content(Lines const& X, std::size_t line, LineContent& content) {
    content.clear();
    X.each(line, [&](std::size_t j, auto x) {
        if (x != 0) content.emplace_back(j, static_cast<double>(x));
    });
    if (!std::is_sorted(content.begin(), content.end())) std::sort(content.begin(), content.end());
}

// Puts `lines` in order of `key` (by line) and gives for each place in this order the first place of an equal line: equal
// keys, lines and targets. Exact whatever the keys are: lines that share a key and differ are sorted by what they hold.
template <class Lines, class Target>
std::vector<std::size_t> find_equal_lines(Lines const& X, Target const* y, std::vector<std::uint64_t> const& key,
                                          std::vector<std::uint32_t>& lines) {
    std::sort(lines.begin(), lines.end(),
              [&](std::uint32_t a, std::uint32_t b) { return key[a] != key[b] ? key[a] < key[b] : a < b; });
    auto const target = [&](std::uint32_t line) { return y == nullptr ? Target{} : y[line]; };
    std::vector<std::size_t> first(lines.size()), others;
    LineContent here, there;
    auto const compare = [&](std::size_t a, std::size_t b) {
        if (target(lines[a]) != target(lines[b])) return target(lines[a]) < target(lines[b]) ? -1 : 1;
        read_content(X, lines[a], here);
        read_content(X, lines[b], there);
        return here == there ? 0 : here < there ? -1 : 1;
    };
    for (std::size_t begin = 0, end = 0; begin < lines.size(); begin = end) {
        others.clear();
        for (end = begin; end < lines.size() && key[lines[end]] == key[lines[begin]]; ++end) {
            first[end] = end;
            if (end > begin && compare(begin, end) == 0) {
                first[end] = begin;
            } else if (end > begin) {
                others.push_back(end);
            }
        }
        std::sort(others.begin(), others.end(), [&](std::size_t a, std::size_t b) {
            int const order = compare(a, b);
            return order != 0 ? order < 0 : a < b;
        });
        for (std::size_t k = 1; k < others.size(); ++k) {
            if (compare(others[k - 1], others[k]) == 0) first[others[k]] = first[others[k - 1]];
        }
    }
    return first;
}

}  // namespace tallywise
