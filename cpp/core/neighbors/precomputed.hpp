// Neighbours by a matrix of distances that the caller has.
#pragma once

#include "core/neighbors/search.hpp"

namespace tallywise::neighbors {

struct AsGiven {
    static double finish(double reduced) { return reduced; }
};

// D: a line a query, a column a training row.
inline Neighbours select_nearest(Design const& D, SearchSpec const& spec) {
    return visit(D, [&](auto const& distances) -> Neighbours {
        if constexpr (std::remove_cvref_t<decltype(distances)>::is_sparse) {
            throw std::invalid_argument("Distances come as a dense matrix.");
        } else {
            auto const make = [&] { return Nearest(spec, 1, spec.radius); };
            return search_blocks(distances.lines, 64, spec, make,
                                 [&](std::size_t begin, std::size_t end, Nearest* nearest) {
                                     for (std::size_t i = begin; i < end; ++i) {
                                         distances.each(i, [&](std::size_t row, auto distance) {
                                             if (!allowed(spec, i, row)) return;
                                             nearest[i - begin].offer(AsGiven{}, static_cast<double>(distance), row);
                                         });
                                     }
                                 });
        }
    });
}

}  // namespace tallywise::neighbors
