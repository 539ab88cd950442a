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

#include "core/data/design.hpp"
#include "core/data/row_ids.hpp"

namespace tallywise {

// Small, fast and good enough to shuffle with (Steele, Lea, Flood, OOPSLA 2014).
struct SplitMix {
    std::uint64_t state;

    std::uint64_t next() {
        std::uint64_t x = state += 0x9e3779b97f4a7c15u;
        x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
        x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
        return x ^ (x >> 31);
    }
    // Uniform in [0, n) but for a bias below n / 2^32.
    std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(((next() >> 32) * n) >> 32); }

    void shuffle(std::vector<std::uint32_t>& items) {
        for (std::size_t k = items.size(); k > 1; --k) {
            std::swap(items[k - 1], items[below(static_cast<std::uint32_t>(k))]);
        }
    }
};

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
        for (std::uint32_t const i : rows.order) {
            // A sum over the entries, so that a row may be stored in any order.
            std::uint64_t hash = SplitMix{seed ^ std::bit_cast<std::uint64_t>(y[i])}.next();
            X.each(i, [&](std::size_t j, auto x) {
                if (x == 0) return;
                auto const bits = std::bit_cast<std::uint64_t>(static_cast<double>(x));
                hash += SplitMix{(seed + bits) ^ ((j + 1) * 0x9e3779b97f4a7c15u)}.next();
            });
            key[i] = hash;
        }
        std::sort(rows.order.begin(), rows.order.end(),
                  [&](std::uint32_t a, std::uint32_t b) { return key[a] != key[b] ? key[a] < key[b] : a < b; });
        std::size_t kept = 0;
        for (std::uint32_t const i : rows.order) {
            std::uint32_t const last = kept > 0 ? rows.order[kept - 1] : i;
            if (kept > 0 && key[i] == key[last] && y[i] == y[last] && equal(X, i, last)) {
                rows.s[last] += rows.s[i];
                rows.s[i] = 0;
            } else {
                rows.order[kept++] = i;
            }
        }
        rows.order.resize(kept);
        return rows;
    }

  private:
    template <class Rows>
    static bool equal(Rows const& X, std::size_t a, std::size_t b) {
        std::vector<double> row(X.length(a));
        if (X.length(b) != row.size()) return false;
        std::vector<std::size_t> at(row.size());
        std::size_t k = 0;
        X.each(a, [&](std::size_t j, auto x) {
            at[k] = j;
            row[k++] = static_cast<double>(x);
        });
        k = 0;
        bool same = true;
        X.each(b, [&](std::size_t j, auto x) {
            same = same && at[k] == j && row[k] == static_cast<double>(x);
            ++k;
        });
        return same;
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

}  // namespace tallywise
