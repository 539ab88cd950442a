// Which index serves which data, metric and algorithm.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/data/row_ids.hpp"
#include "core/neighbors/blocked.hpp"
#include "core/neighbors/inverted.hpp"
#include "core/neighbors/kd_tree.hpp"
#include "core/neighbors/products.hpp"

namespace tallywise::neighbors {

struct IndexOptions {
    std::string metric = "euclidean";
    double p = 2;                      // of minkowski
    std::size_t leaf = 0;              // rows in a leaf of a k-d tree; 0 for no tree
    std::vector<double> centre, axes;  // see ProductIndex; an empty centre is the origin
    int threads = 1;
};

namespace detail {

template <class T>
std::unique_ptr<NeighbourIndex> make_index(Dense<T> const& X, IndexOptions options) {
    std::unique_ptr<Rows> rows = make_rows(X, options.metric, options.p);
    double const p = rows->p();
    if (options.leaf > 0) {
        if (p == 0) throw std::invalid_argument("A k-d tree needs a Minkowski metric.");
        return make_kd_tree(X, p, options.leaf);
    }
    bool const cosine = options.metric == Cosine::name;
    if (cosine || p == 2) {
        if (options.centre.empty()) options.centre.assign(X.width, 0.0);
        return std::make_unique<ProductIndex>(std::move(rows), cosine, std::move(options.centre),
                                              std::move(options.axes), options.threads);
    }
    if (p > 0) return std::make_unique<MinkowskiIndex<T>>(X, p);
    return std::make_unique<ScanIndex>(std::move(rows));
}

template <class T>
std::unique_ptr<NeighbourIndex> make_index(Sparse<T> const& X, IndexOptions const& options) {
    std::unique_ptr<SparseRows> rows = make_rows(X, options.metric, options.p);
    bool const cosine = options.metric == Cosine::name;
    if (cosine || rows->p() == 2) return std::make_unique<InvertedIndex<T>>(X, cosine, options.threads);
    return std::make_unique<SparseScanIndex>(std::move(rows), X.lines, X.width);
}

}  // namespace detail

// Over X, which must outlive it. Counts are refused: estimators hold float32 or float64.
inline std::unique_ptr<NeighbourIndex> make_index(Design const& X, IndexOptions const& options) {
    require_row_ids(lines(X));
    return visit(X, [&](auto const& x) -> std::unique_ptr<NeighbourIndex> {
        using View = std::remove_cvref_t<decltype(x)>;
        if constexpr (!std::is_floating_point_v<typename View::Value>) {
            throw std::invalid_argument("Neighbours are searched among float32 or float64 values.");
        } else if constexpr (View::is_sparse) {
            Real const real = as_real(X);
            auto index = detail::make_index(std::get<Sparse<double>>(real.view), options);
            index->copy = real.copy;
            return index;
        } else {
            return detail::make_index(x, options);  // float32 as it is: images and embeddings come so, and are large
        }
    });
}

}  // namespace tallywise::neighbors
