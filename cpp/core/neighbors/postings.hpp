// The rows of a sparse design for searches by inner products: rare terms by lists of their rows, frequent ones also by
// row, with bounds on what they can bring.
//
// A term is frequent where more than one row in 16 holds it. Weights are float32, rows scaled to |x| <= 1.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "core/base/parallel.hpp"
#include "core/neighbors/metrics.hpp"
#include "core/neighbors/signatures.hpp"

namespace tallywise::neighbors {

struct TermLists {
    static constexpr std::size_t block = 1u << 16;  // rows whose accumulators share the second-level cache
    static constexpr std::uint32_t rare = std::numeric_limits<std::uint32_t>::max();

    struct Entry {
        std::uint32_t rank;
        float weight;
    };

    std::size_t count = 0, width = 0, ranks = 0;
    double scale = 1;
    std::vector<std::uint32_t> rank;    // of each term among the frequent ones, or `rare`
    std::vector<std::uint8_t> parcels;  // of each rank
    std::vector<std::uint64_t> starts;  // by block and term, into:
    std::vector<std::uint16_t> rows;    // that hold the term, counted from the block's first
    std::vector<float> weights;
    Signatures signatures;             // of the frequent terms of each row
    std::vector<std::uint64_t> begin;  // by row, into:
    std::vector<Entry> entries;        // frequent terms

    // Row i is stored as x_i * factors[i] * scaling.
    template <class T>
    void store(Sparse<T> const& X, std::vector<double> const& factors, double scaling, int threads) {
        count = X.lines;
        width = X.width;
        scale = scaling;
        rank_terms(X);
        make_parcels(X, factors);
        Team(threads).each(2, [&](std::size_t part) { part == 0 ? store_lists(X, factors) : store_rows(X, factors); });
    }

    std::size_t parcel(std::uint32_t r) const { return parcels[r]; }

    std::uint64_t const* lists(std::size_t first_row) const { return starts.data() + first_row / block * (width + 1); }

  private:
    template <class T>
    void rank_terms(Sparse<T> const& X) {
        std::vector<std::size_t> holders(width, 0);
        for (std::size_t k = 0; k < X.nonzeros(); ++k) ++holders[static_cast<std::size_t>(X.indices[k])];
        rank.assign(width, rare);
        for (std::size_t j = 0; j < width; ++j) {
            if (holders[j] <= count / 16) continue;
            rank[j] = static_cast<std::uint32_t>(ranks++);
        }
    }

    // Terms into parcels of even weight, the heaviest first: most of these get one of their own, where the bound of a
    // parcel is what it bounds.
    template <class T>
    void make_parcels(Sparse<T> const& X, std::vector<double> const& factors) {
        std::vector<double> weight(ranks, 0.0);
        for (std::size_t row = 0; row < count; row += std::max<std::size_t>(1, count / 1024)) {  // some will do
            double const factor = factors[row] * scale;
            X.each(row, [&](std::size_t j, T x) {
                if (rank[j] != rare)
                    weight[rank[j]] += static_cast<double>(x) * static_cast<double>(x) * factor * factor;
            });
        }
        std::vector<std::uint32_t> order(ranks);
        std::iota(order.begin(), order.end(), std::uint32_t{0});
        std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return weight[a] > weight[b]; });
        std::array<double, Signature::parcels> load{};
        parcels.resize(ranks);
        for (std::uint32_t const r : order) {
            auto const lightest = std::min_element(load.begin(), load.end());
            *lightest += weight[r];
            parcels[r] = static_cast<std::uint8_t>(lightest - load.begin());
        }
    }

    template <class T>
    void store_lists(Sparse<T> const& X, std::vector<double> const& factors) {
        std::size_t const blocks = Team::count(count, block);
        starts.assign(blocks * (width + 1), 0);
        rows.resize(X.nonzeros());
        weights.resize(X.nonzeros());
        std::uint64_t base = 0;
        for (std::size_t b = 0; b < blocks; ++b) {
            std::uint64_t* at = starts.data() + b * (width + 1);
            std::size_t const end = std::min(count, (b + 1) * block);
            for (std::size_t row = b * block; row < end; ++row) {
                X.each(row, [&](std::size_t j, T) { ++at[j + 1]; });
            }
            at[0] = base;
            for (std::size_t j = 0; j < width; ++j) at[j + 1] += at[j];
            base = at[width];
            std::vector<std::uint64_t> next(at, at + width);
            for (std::size_t row = b * block; row < end; ++row) {
                X.each(row, [&](std::size_t j, T x) {
                    std::uint64_t const k = next[j]++;
                    rows[k] = static_cast<std::uint16_t>(row - b * block);
                    weights[k] = static_cast<float>(static_cast<double>(x) * factors[row] * scale);
                });
            }
        }
    }

    template <class T>
    void store_rows(Sparse<T> const& X, std::vector<double> const& factors) {
        if (ranks == 0) return begin.assign(count + 1, 0);
        signatures.resize(count);
        begin.assign(1, 0);
        for (std::size_t row = 0; row < count; ++row) {
            std::array<double, Signature::parcels> parts{};
            X.each(row, [&](std::size_t j, T x) {
                if (rank[j] == rare) return;
                double const value = static_cast<double>(x) * factors[row] * scale;
                parts[parcel(rank[j])] += value * value;
                entries.push_back({rank[j], static_cast<float>(value)});
            });
            begin.push_back(entries.size());
            Signature signature;
            signature.set(parts);
            signatures.set(row, signature);
        }
    }
};

}  // namespace tallywise::neighbors
