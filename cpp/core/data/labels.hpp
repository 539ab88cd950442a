// Labels to numbers, by a hash table: no sort of all of them, and no string object for each.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/random.hpp"

namespace tallywise {

// Of rows of words: the first of each kind, in order of appearance, and for each row the number of its kind.
struct RowCodes {
    std::vector<std::int64_t> first, codes;
};

// Rows of `width` words that follow each other. Kinds are kept by an open table twice as large as their number, so that
// many kinds cost no more a row than few.
inline RowCodes code_rows(std::uint32_t const* rows, std::size_t n, std::size_t width) {
    RowCodes found{{}, std::vector<std::int64_t>(n)};
    std::vector<std::int64_t> table(64, -1);
    auto const row = [&](std::size_t i) { return rows + i * width; };
    auto const hash = [&](std::uint32_t const* words) {
        std::uint64_t h = width;
        for (std::size_t k = 0; k < width; ++k) h = (std::rotl(h, 23) ^ words[k]) * golden_ratio;
        return h ^ (h >> 29);
    };
    // Where a kind like these words is, or would be put.
    auto const place = [&](std::uint32_t const* words) {
        std::size_t at = hash(words) & (table.size() - 1);
        while (table[at] >= 0) {
            auto const other = row(static_cast<std::size_t>(found.first[static_cast<std::size_t>(table[at])]));
            if (std::equal(words, words + width, other)) break;
            at = (at + 1) & (table.size() - 1);
        }
        return at;
    };
    for (std::size_t i = 0; i < n; ++i) {
        std::size_t at = place(row(i));
        if (table[at] < 0) {
            if (2 * (found.first.size() + 1) > table.size()) {
                table.assign(2 * table.size(), -1);
                for (std::size_t kind = 0; kind < found.first.size(); ++kind) {
                    table[place(row(static_cast<std::size_t>(found.first[kind])))] = static_cast<std::int64_t>(kind);
                }
                at = place(row(i));
            }
            table[at] = static_cast<std::int64_t>(found.first.size());
            found.first.push_back(static_cast<std::int64_t>(i));
        }
        found.codes[i] = table[at];
    }
    return found;
}

}  // namespace tallywise
