// Features of many texts from their counts: what `Scorer` makes of one text, for the fit side.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "core/base/parallel.hpp"
#include "core/data/design.hpp"
#include "core/serve/scorer.hpp"

namespace tallywise::serve {

// Where the features of a block go: those of row i from starts[i] on, their columns moved by `first`. Without indices,
// values alone are written, which may be where the counts are.
struct BlockPlace {
    std::int64_t const* starts;
    std::size_t first;
    Index* indices;
    double* data;
};

template <class T>
void weigh_block(Team& team, Sparse<T> const& counts, Weighting const& weighting, BlockPlace const& place) {
    team.each_range(counts.lines, 64, [&](std::size_t begin, std::size_t end, std::size_t) {
        for (std::size_t i = begin; i < end; ++i) {
            auto const start = static_cast<std::size_t>(place.starts[i]);
            std::size_t k = start;
            double squares = 0;
            counts.each(i, [&](std::size_t j, T c) {
                double const x = weighting.scales[weighting.places[j]] * weighting.factor(static_cast<double>(c));
                squares += x * x;
                if (place.indices != nullptr) place.indices[k] = static_cast<Index>(place.first + j);
                place.data[k++] = x;
            });
            if (!weighting.unit_length || squares == 0) continue;
            double const inverse = 1.0 / std::sqrt(squares);
            for (std::size_t l = start; l < k; ++l) place.data[l] *= inverse;
        }
    });
}

}  // namespace tallywise::serve
