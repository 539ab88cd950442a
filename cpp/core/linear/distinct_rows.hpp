// Rows in an order that depends on what they hold and not on where they stand, each once: repeats add to its weight.
//
// Methods that visit one row after the other end at other digits when the same data come in another order, or when a
// weight of two is written as two rows. On distinct rows they do not.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/random.hpp"
#include "core/data/design.hpp"
#include "core/data/equal_lines.hpp"
#include "core/data/row_ids.hpp"

namespace tallywise::linear {

struct DistinctRows {
    std::vector<std::uint32_t> order;  // of equal rows one, and none without weight
    std::vector<double> s;             // one weight per row of X: the sum over its equals, 0 where it is not in `order`

    // Rows as they stand, repeats and all.
    static DistinctRows plain(double const* s, std::size_t n) {
        require_row_ids(n);
        DistinctRows rows{{}, std::vector<double>(s, s + n)};
        for (std::size_t i = 0; i < n; ++i) {
            if (s[i] > 0) rows.order.push_back(static_cast<std::uint32_t>(i));
        }
        return rows;
    }

    // y: labels or numbers, which equal rows share.
    template <class Rows, class Target>
    static DistinctRows of(Rows const& X, Target const* y, double const* s, std::uint64_t seed) {
        DistinctRows rows = plain(s, X.lines);
        std::vector<std::uint64_t> key(X.lines);
        for (std::uint32_t const i : rows.order) key[i] = content_key(X, i, std::bit_cast<std::uint64_t>(y[i]), seed);
        std::vector<std::size_t> const first = find_equal_lines(X, y, key, rows.order);
        std::vector<std::size_t> at(first.size());  // where a row that is kept has gone
        std::size_t kept = 0;
        for (std::size_t k = 0; k < first.size(); ++k) {
            std::uint32_t const i = rows.order[k];
            if (first[k] == k) {
                at[k] = kept;
                rows.order[kept++] = i;
            } else {
                std::uint32_t const same = rows.order[at[first[k]]];
                rows.s[same] += rows.s[i];
                rows.s[i] = 0;
            }
        }
        rows.order.resize(kept);
        return rows;
    }
};

// Copies of some rows of a sparse matrix, for methods that pass over all rows they are given.
template <class V>
struct RowCopies {
    std::vector<V> data;
    std::vector<Index> indices;
    std::vector<std::int64_t> indptr;
    std::size_t width;

    RowCopies(Sparse<V> const& X, std::vector<std::uint32_t> const& which) : indptr{0}, width(X.width) {
        for (std::uint32_t const i : which) {
            auto const [at, values, size] = X.entries(i);
            indices.insert(indices.end(), at, at + size);
            data.insert(data.end(), values, values + size);
            indptr.push_back(static_cast<std::int64_t>(indices.size()));
        }
    }

    Sparse<V> view() const { return {data.data(), indices.data(), indptr.data(), indptr.size() - 1, width}; }
};

}  // namespace tallywise::linear
