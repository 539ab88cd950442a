// What the neighbours say: one prediction for each k up to K in one walk along the sorted lists.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/base/parallel.hpp"

namespace tallywise::neighbors {

// Sorted neighbours of n queries, K each.
struct NeighbourLists {
    double const* distances;  // n x K
    std::int64_t const* rows;
    std::size_t n, K;
    bool by_distance;  // weights 1 / distance instead of 1; where a distance is 0, 1 for those at 0 and 0 for others
};

// Throws unless every value lies in [0, bound).
inline void require_below(std::int64_t const* values, std::size_t n, std::size_t bound, char const* what) {
    for (std::size_t k = 0; k < n; ++k) {
        if (values[k] >= 0 && static_cast<std::size_t>(values[k]) < bound) continue;
        throw std::invalid_argument(std::string(what) + " " + std::to_string(values[k]) + " is not in [0, " +
                                    std::to_string(bound) + ").");
    }
}

// f(rank, weight, row) along the list of query i.
template <class F>
void each_neighbour(NeighbourLists const& lists, std::size_t i, F&& f) {
    double const* distance = lists.distances + i * lists.K;
    // Distances rise, so whether some weight is infinite, or all are 0, is known from the first.
    bool const exact = lists.by_distance && lists.K > 0 && std::isinf(1 / distance[0]);
    bool const far = lists.by_distance && lists.K > 0 && std::isinf(distance[0]);  // all alike then
    for (std::size_t rank = 0; rank < lists.K; ++rank) {
        double weight = 1;
        if (lists.by_distance && !far)
            weight = exact ? (std::isinf(1 / distance[rank]) ? 1.0 : 0.0) : 1 / distance[rank];
        f(rank, weight, static_cast<std::size_t>(lists.rows[i * lists.K + rank]));
    }
}

// predictions[i, k - 1]: the class with the largest vote among the first k, the lowest of equals.
inline std::vector<std::int64_t> vote_curve(NeighbourLists const& lists, std::int64_t const* codes, std::size_t classes,
                                            int threads) {
    std::vector<std::int64_t> predictions(lists.n * lists.K);
    Team(threads).each_range(lists.n, 512, [&](std::size_t begin, std::size_t end, std::size_t) {
        std::vector<double> votes(classes);
        for (std::size_t i = begin; i < end; ++i) {
            std::fill(votes.begin(), votes.end(), 0.0);
            std::size_t best = 0;
            each_neighbour(lists, i, [&](std::size_t rank, double weight, std::size_t row) {
                auto const c = static_cast<std::size_t>(codes[row]);
                votes[c] += weight;
                // Only the class that gained can overtake.
                if (rank == 0 || votes[c] > votes[best] || (votes[c] == votes[best] && c < best)) best = c;
                predictions[i * lists.K + rank] = static_cast<std::int64_t>(best);
            });
        }
    });
    return predictions;
}

// predictions[i, k - 1]: the weighted mean of y over the first k.
inline std::vector<double> mean_curve(NeighbourLists const& lists, double const* y, int threads) {
    std::vector<double> predictions(lists.n * lists.K);
    Team(threads).each_range(lists.n, 512, [&](std::size_t begin, std::size_t end, std::size_t) {
        for (std::size_t i = begin; i < end; ++i) {
            double total = 0, sum = 0;
            each_neighbour(lists, i, [&](std::size_t rank, double weight, std::size_t row) {
                total += weight;
                sum += weight * y[row];
                predictions[i * lists.K + rank] = sum / total;
            });
        }
    });
    return predictions;
}

// shares[i, c]: class c's part of the whole vote of query i.
inline std::vector<double> vote_shares(NeighbourLists const& lists, std::int64_t const* codes, std::size_t classes,
                                       int threads) {
    std::vector<double> shares(lists.n * classes, 0.0);
    Team(threads).each_range(lists.n, 512, [&](std::size_t begin, std::size_t end, std::size_t) {
        for (std::size_t i = begin; i < end; ++i) {
            double total = 0;
            each_neighbour(lists, i, [&](std::size_t, double weight, std::size_t row) {
                shares[i * classes + static_cast<std::size_t>(codes[row])] += weight;
                total += weight;
            });
            for (std::size_t c = 0; c < classes; ++c) shares[i * classes + c] /= total;
        }
    });
    return shares;
}

}  // namespace tallywise::neighbors
