// Columns that are the same in every row, merged into one.
//
// Runs of words and of characters come in sets that stand in the same texts equally often: all those of one text only,
// the pieces of a rare word. Columns s_j x of one x act on scores as one column S x, S^2 = sum_j s_j^2, and a penalty
// on |w|^2 shares its weight v out as w_j = v s_j / S: a fit on merged columns is the fit on all of them, exactly.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "core/data/design.hpp"
#include "core/linear/distinct_rows.hpp"

namespace tallywise {

struct MergedColumns {
    std::vector<std::int32_t> group;  // of each column the number of its set, by the first column of each; -1 if empty
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
        found.X.width = first.size();
        found.X.data.reserve(X.nonzeros() / 2);
        found.X.indices.reserve(X.nonzeros() / 2);
        for (std::size_t i = 0; i < X.lines; ++i) {
            X.each(i, [&](std::size_t j, double x) {
                std::int32_t const g = found.group[j];
                if (x == 0 || first[static_cast<std::size_t>(g)] != static_cast<std::int32_t>(j)) return;
                found.X.add(static_cast<std::size_t>(g), presence ? 1.0 : x);
            });
            found.X.end_line();
        }
        return found;
    }

  private:
    struct Sum {
        std::uint64_t low = 0, high = 0;
        bool operator==(Sum const&) const = default;
    };

    static std::uint64_t draw() {
        std::random_device device;
        return (static_cast<std::uint64_t>(device()) << 32) | device();
    }

    static std::vector<Sum> add_up(Sparse<double> const& X, bool presence) {
        static std::uint64_t const seed_low = draw(), seed_high = draw();
        std::vector<Sum> sums(X.width);
        SplitMix low{seed_low}, high{seed_high};
        for (std::size_t i = 0; i < X.lines; ++i) {
            Sum const row{low.next(), high.next()};
            X.each(i, [&](std::size_t j, double x) {
                if (x == 0) return;
                Sum& sum = sums[j];
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
};

}  // namespace tallywise
