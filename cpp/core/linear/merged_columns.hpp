// Columns that are the same in every row, merged into one.
//
// Runs of words and of characters come in sets that stand in the same texts equally often: all those of one text only,
// the pieces of a rare word. Columns s_j x of one x act on scores as one column S x, S^2 = sum_j s_j^2, and a penalty
// on |w|^2 shares its weight v out as w_j = v s_j / S: a fit on merged columns is the fit on all of them, exactly.
//
// Sets are numbered by how many rows have them, to within a factor of four, the most frequent first: most entries of a
// row then ask for weights that lie close together and stay in a cache.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "core/data/design.hpp"
#include "core/linear/distinct_rows.hpp"

namespace tallywise {

struct MergedColumns {
    std::vector<std::int32_t> group;  // of each column the number of its set; -1 if no row has it
    OwnedSparse<double> X;            // one column a set
};

// Columns are told apart by sums of 128 bits, one number for each row and value. Numbers are drawn anew in each
// process, so that nobody can write texts whose columns collide; sets are numbered without them.
class ColumnMerger {
  public:
    // With `presence`, entries count as 1 whatever they are.
    static MergedColumns merge(Sparse<double> const& X, bool presence) {
        MergedColumns found;
        std::vector<Sum> const sums = add_up(X, presence);
        std::vector<std::int32_t> first;  // column of each set
        found.group = number(sums, first);
        sort_by_tier(sums, found.group, first);
        found.X.width = first.size();
        found.X.data.reserve(X.nonzeros() / 2);
        found.X.indices.reserve(X.nonzeros() / 2);
        std::array<std::vector<std::pair<std::int32_t, double>>, tiers> row;
        for (std::size_t i = 0; i < X.lines; ++i) {
            X.each(i, [&](std::size_t j, double x) {
                std::int32_t const g = found.group[j];
                if (x == 0 || first[static_cast<std::size_t>(g)] != static_cast<std::int32_t>(j)) return;
                row[tier_of(sums[j].rows)].emplace_back(g, presence ? 1.0 : x);
            });
            for (auto& tier : row) {  // each in the order of columns, hence of sets
                for (auto const& [g, x] : tier) found.X.add(static_cast<std::size_t>(g), x);
                tier.clear();
            }
            found.X.end_line();
        }
        return found;
    }

  private:
    struct Sum {
        std::uint64_t low = 0, high = 0;
        std::uint64_t rows = 0;
        bool operator==(Sum const&) const = default;
    };

    static constexpr std::size_t tiers = 16;  // up to 2^32 rows
    // 0 for the columns that most rows have.
    static std::size_t tier_of(std::uint64_t rows) {
        return tiers - 1 - std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(rows) - 1) / 2, tiers - 1);
    }

    static std::uint64_t draw() {
        std::random_device device;
        return (static_cast<std::uint64_t>(device()) << 32) | device();
    }

    static std::vector<Sum> add_up(Sparse<double> const& X, bool presence) {
        static std::uint64_t const seed_low = draw(), seed_high = draw();
        std::vector<Sum> sums(X.width);
        SplitMix low{seed_low}, high{seed_high};
        for (std::size_t i = 0; i < X.lines; ++i) {
            Sum const row{low.next(), high.next(), 1};
            X.each(i, [&](std::size_t j, double x) {
                if (x == 0) return;
                Sum& sum = sums[j];
                ++sum.rows;
                if (presence || x == 1.0) {
                    sum.low += row.low;
                    sum.high += row.high;
                } else {
                    auto const bits = std::bit_cast<std::uint64_t>(x);
                    sum.low += SplitMix{row.low ^ bits}.next();
                    sum.high += SplitMix{row.high ^ bits}.next();
                }
            });
        }
        return sums;
    }

    static std::vector<std::int32_t> number(std::vector<Sum> const& sums, std::vector<std::int32_t>& first) {
        std::vector<std::int32_t> group(sums.size(), -1), slots(std::bit_ceil(2 * sums.size() + 1), -1);
        std::size_t const mask = slots.size() - 1;
        for (std::size_t j = 0; j < sums.size(); ++j) {
            if (sums[j] == Sum{}) continue;
            for (std::size_t k = sums[j].low & mask;; k = (k + 1) & mask) {
                if (slots[k] < 0) {
                    slots[k] = static_cast<std::int32_t>(first.size());
                    first.push_back(static_cast<std::int32_t>(j));
                } else if (sums[static_cast<std::size_t>(first[static_cast<std::size_t>(slots[k])])] != sums[j]) {
                    continue;
                }
                group[j] = slots[k];
                break;
            }
        }
        return group;
    }

    // Numbers the sets anew, tier by tier, and in a tier by their first column.
    static void sort_by_tier(std::vector<Sum> const& sums, std::vector<std::int32_t>& group,
                             std::vector<std::int32_t>& first) {
        auto const tier = [&](std::int32_t column) { return tier_of(sums[static_cast<std::size_t>(column)].rows); };
        std::array<std::int32_t, tiers + 1> next{};
        for (std::int32_t const column : first) ++next[tier(column) + 1];
        for (std::size_t t = 0; t < tiers; ++t) next[t + 1] += next[t];
        std::vector<std::int32_t> place(first.size()), sorted(first.size());
        for (std::size_t g = 0; g < first.size(); ++g) {
            place[g] = next[tier(first[g])]++;
            sorted[static_cast<std::size_t>(place[g])] = first[g];
        }
        first = std::move(sorted);
        for (std::int32_t& g : group) {
            if (g >= 0) g = place[static_cast<std::size_t>(g)];
        }
    }
};

}  // namespace tallywise
