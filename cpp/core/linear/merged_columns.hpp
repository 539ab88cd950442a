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
#include <numeric>
#include <random>
#include <span>
#include <vector>

#include "core/base/parallel.hpp"
#include "core/data/design.hpp"
#include "core/linear/distinct_rows.hpp"

namespace tallywise::linear {

struct ColumnSets {
    static constexpr std::size_t tiers = 16;  // up to 2^32 rows

    std::vector<std::int32_t> of;              // of each column the number of its set; -1 if no row has it
    std::vector<std::int32_t> led;             // the same for the first column of each set, and -1 for others
    std::vector<std::int64_t> starts;          // where each row begins in the merged matrix
    std::array<std::int32_t, tiers + 1> ends;  // of each tier the set after its last; the last is the number of sets
};

// Columns are told apart by sums of 128 bits, one number for each row and value. Numbers are drawn anew in each
// process, so that nobody can write texts whose columns collide; sets are numbered without them. Rows are sorted.
class ColumnMerger {
  public:
    static constexpr std::size_t tiers = ColumnSets::tiers;

    // With `presence`, entries count as 1 whatever they are.
    template <class T>
    static ColumnSets find(Team& team, Sparse<T> const& X, bool presence) {
        ColumnSets found;
        std::vector<Sum> const sums = add_up(team, X, presence);
        std::vector<std::int32_t> first;  // column of each set
        found.of = number(sums, first);
        found.ends = sort_by_tier(sums, found.of, first);
        found.led.assign(X.width, -1);
        for (std::size_t g = 0; g < first.size(); ++g) {
            found.led[static_cast<std::size_t>(first[g])] = static_cast<std::int32_t>(g);
        }
        found.starts.assign(X.lines + 1, 0);
        team.each_range(X.lines, rows_at_once, [&](std::size_t begin, std::size_t end, std::size_t) {
            for (std::size_t i = begin; i < end; ++i) {
                X.each(i, [&](std::size_t j, T x) { found.starts[i + 1] += x != 0 && found.led[j] >= 0; });
            }
        });
        std::partial_sum(found.starts.begin(), found.starts.end(), found.starts.begin());
        return found;
    }

    // The merged matrix, one column a set: entries in the places of its rows.
    template <class T>
    static void fill(Team& team, Sparse<T> const& X, bool presence, std::int32_t const* led,
                     std::array<std::int32_t, tiers + 1> const& ends, std::int64_t const* starts, Index* indices,
                     double* data) {
        team.each_range(X.lines, rows_at_once, [&](std::size_t begin, std::size_t end, std::size_t) {
            std::vector<Kept> row;
            for (std::size_t i = begin; i < end; ++i) {
                row.clear();
                std::array<std::size_t, tiers + 1> next{};
                X.each(i, [&](std::size_t j, T x) {
                    if (x == 0 || led[j] < 0) return;
                    std::uint32_t tier = 0;  // without branches, which would be guessed wrong half of the time
                    for (std::size_t t = 0; t < tiers; ++t) tier += led[j] >= ends[t] ? 1U : 0U;
                    ++next[tier + 1];
                    row.push_back({presence ? 1.0 : static_cast<double>(x), led[j], tier});
                });
                next[0] = static_cast<std::size_t>(starts[i]);
                for (std::size_t t = 0; t < tiers; ++t) next[t + 1] += next[t];
                for (Kept const& entry : row) {  // each tier in the order of columns, hence of sets
                    std::size_t const k = next[entry.tier]++;
                    indices[k] = static_cast<Index>(entry.set);
                    data[k] = entry.x;
                }
            }
        });
    }

  private:
    struct Kept {
        double x;
        std::int32_t set;
        std::uint32_t tier;
    };

    struct Sum {
        std::uint64_t low = 0, high = 0;
        std::uint64_t rows = 0;
        bool operator==(Sum const&) const = default;
    };

    static constexpr std::size_t rows_at_once = 64;
    static constexpr std::size_t columns_at_once = std::size_t{1} << 16;  // sums that stay in a cache

    // 0 for the columns that most rows have.
    static std::size_t tier_of(std::uint64_t rows) {
        return tiers - 1 - std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(rows) - 1) / 2, tiers - 1);
    }

    static std::uint64_t draw() {
        std::random_device device;
        return (static_cast<std::uint64_t>(device()) << 32) | device();
    }

    // Threads take columns, not rows.
    template <class T>
    static std::vector<Sum> add_up(Team& team, Sparse<T> const& X, bool presence) {
        static std::uint64_t const seed_low = draw(), seed_high = draw();
        std::vector<Sum> sums(X.width);
        team.each_range(X.width, columns_at_once, [&](std::size_t begin, std::size_t end, std::size_t) {
            SplitMix low{seed_low}, high{seed_high};
            for (std::size_t i = 0; i < X.lines; ++i) {
                Sum const row{low.next(), high.next(), 1};
                X.each_between(i, begin, end, [&](std::size_t j, T x) {
                    if (x == 0) return;
                    Sum& sum = sums[j];
                    ++sum.rows;
                    if (presence || x == T(1)) {
                        sum.low += row.low;
                        sum.high += row.high;
                    } else {
                        auto const bits = std::bit_cast<std::uint64_t>(static_cast<double>(x));
                        sum.low += SplitMix{row.low ^ bits}.next();
                        sum.high += SplitMix{row.high ^ bits}.next();
                    }
                });
            }
        });
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
    static std::array<std::int32_t, tiers + 1> sort_by_tier(std::vector<Sum> const& sums,
                                                            std::vector<std::int32_t>& group,
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
        next[tiers] = static_cast<std::int32_t>(first.size());
        return next;
    }
};

// Weights of the columns from those of the sets, K a row: out_j = share_j V_of(j).
inline void share_out(Team& team, std::span<std::int32_t const> of, double const* share, double const* V, std::size_t K,
                      double* out) {
    team.each_range(of.size(), 4096, [&](std::size_t begin, std::size_t end, std::size_t) {
        for (std::size_t j = begin; j < end; ++j) {
            double const* const v = of[j] < 0 ? nullptr : V + static_cast<std::size_t>(of[j]) * K;
            for (std::size_t k = 0; k < K; ++k) out[j * K + k] = v == nullptr ? 0.0 : share[j] * v[k];
        }
    });
}

}  // namespace tallywise::linear
