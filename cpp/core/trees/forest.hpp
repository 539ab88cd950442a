// Decision trees over columns in bins: a sum of them, scored, and taken apart along the paths of rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "core/base/parallel.hpp"

namespace tallywise::trees {

// The bins of rows, (columns, rows), each column contiguous. A column has at most 256 bins; the last bin of an ordered
// column holds the rows without a value.
struct Bins {
    std::uint8_t const* data = nullptr;
    std::size_t rows = 0;
    std::size_t columns = 0;
    std::uint8_t const* column(std::size_t j) const { return data + j * rows; }
};

using Levels = std::vector<std::uint64_t>;  // four words for each set of 256 levels

// Nodes of all trees. A node with feature -1 is a leaf; otherwise the children are `left` and `left` + 1, which come
// later in the list. Bins up to `cut` go left, the last bin where `missing` says so; with categories, `cut` is the
// number of the set of levels that go left. The value of an inner node is what it would add as a leaf.
struct Forest {
    std::vector<std::int32_t> feature, cut, left, missing;
    std::vector<double> value;
    std::vector<std::int32_t> roots;  // tree t adds to score t % outputs
    Levels sets;
    std::size_t outputs = 1;

    std::size_t nodes() const { return feature.size(); }
};

// A forest whose arrays belong to someone else, and the kinds of the columns.
struct ForestView {
    std::int32_t const *feature, *cut, *left, *missing;
    double const* value;
    std::int32_t const* roots;
    std::uint64_t const* sets;
    std::size_t nodes, trees, set_count, outputs;
    std::int32_t const* sizes;    // bins by column
    std::uint8_t const* ordered;  // by column

    bool goes_left(std::size_t node, std::uint8_t bin) const {
        auto const j = static_cast<std::size_t>(feature[node]);
        auto const at = static_cast<std::size_t>(cut[node]);
        if (ordered[j] == 0) return (sets[4 * at + bin / 64] >> (bin % 64) & 1) != 0;
        return static_cast<std::int32_t>(bin) == sizes[j] - 1 ? missing[node] != 0 : bin <= at;
    }

    // Files are hostile: every node leads to later nodes, to known columns and to known sets.
    void validate(std::size_t columns) const {
        for (std::size_t i = 0; i < nodes; ++i) {
            if (feature[i] < 0) continue;
            bool const known = static_cast<std::size_t>(feature[i]) < columns && cut[i] >= 0;
            if (!known || left[i] <= static_cast<std::int32_t>(i) || static_cast<std::size_t>(left[i]) + 1 >= nodes) {
                throw std::invalid_argument("A node of a tree is malformed.");
            }
            if (ordered[feature[i]] == 0 && static_cast<std::size_t>(cut[i]) >= set_count) {
                throw std::invalid_argument("A node of a tree has no set of levels.");
            }
        }
        for (std::size_t t = 0; t < trees; ++t) {
            if (roots[t] < 0 || static_cast<std::size_t>(roots[t]) >= nodes) {
                throw std::invalid_argument("A tree has no root.");
            }
        }
    }
};

inline constexpr std::size_t row_grain = 1024;

// Adds the scores of rows to `out`, (rows, outputs).
inline void add_scores(ForestView const& forest, Bins const& X, double* out, Team& team) {
    team.each_range(X.rows, row_grain, [&](std::size_t begin, std::size_t end, std::size_t) {
        for (std::size_t t = 0; t < forest.trees; ++t) {
            for (std::size_t i = begin; i < end; ++i) {
                auto node = static_cast<std::size_t>(forest.roots[t]);
                while (forest.feature[node] >= 0) {
                    std::uint8_t const bin = X.column(static_cast<std::size_t>(forest.feature[node]))[i];
                    node = static_cast<std::size_t>(forest.left[node]) + (forest.goes_left(node, bin) ? 0 : 1);
                }
                out[i * forest.outputs + t % forest.outputs] += forest.value[node];
            }
        }
    });
}

// Adds to `out`, (rows, columns, outputs), what each column changes on the paths of the rows: the value of the child less
// that of its parent goes to the column that the parent asks for. With the values of the roots, these sum to the score.
inline void add_paths(ForestView const& forest, Bins const& X, double* out, Team& team) {
    team.each_range(X.rows, row_grain, [&](std::size_t begin, std::size_t end, std::size_t) {
        for (std::size_t t = 0; t < forest.trees; ++t) {
            for (std::size_t i = begin; i < end; ++i) {
                auto node = static_cast<std::size_t>(forest.roots[t]);
                while (forest.feature[node] >= 0) {
                    auto const j = static_cast<std::size_t>(forest.feature[node]);
                    std::size_t const next =
                        static_cast<std::size_t>(forest.left[node]) + (forest.goes_left(node, X.column(j)[i]) ? 0 : 1);
                    out[(i * X.columns + j) * forest.outputs + t % forest.outputs] +=
                        forest.value[next] - forest.value[node];
                    node = next;
                }
            }
        }
    });
}

}  // namespace tallywise::trees
