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
#include <vector>

#include "core/base/parallel.hpp"
#include "core/neighbors/metrics.hpp"

namespace tallywise {

// Not below x, for 0 <= x < 1e30.
inline float rounded_up(double x) { return static_cast<float>(x * (1 + 0x1p-22)) + std::numeric_limits<float>::min(); }

// Norms of the frequent terms of a row or query in parcels, in 7 bits, rounded up: by Cauchy-Schwarz in each parcel,
// the product of two signatures bounds the inner product of what they stand for.
struct Signature {
    static constexpr std::size_t parcels = 64;

    std::array<std::uint8_t, parcels> steps;  // a parcel's norm is at most steps * unit

    // From squared norms; returns the unit.
    float set(std::array<double, parcels> const& squares) {
        float const unit = rounded_up(std::sqrt(*std::max_element(squares.begin(), squares.end())) / 127);
        for (std::size_t g = 0; g < parcels; ++g) {
            steps[g] = static_cast<std::uint8_t>(std::ceil(std::sqrt(squares[g]) / static_cast<double>(unit)));
        }
        return unit;
    }

    float operator*(Signature const& other) const {
        int total = 0;
        for (std::size_t g = 0; g < parcels; ++g) total += int{steps[g]} * int{other.steps[g]};
        return static_cast<float>(total);
    }
};

struct TermLists {
    static constexpr std::size_t octaves = 4;       // of frequent terms: held by up to n/8, n/4, n/2, n rows
    static constexpr std::size_t block = 1u << 16;  // rows whose accumulators share the second-level cache
    static constexpr std::uint32_t rare = std::numeric_limits<std::uint32_t>::max();

    struct Entry {
        std::uint32_t rank;
        float weight;
    };

    std::size_t count = 0, width = 0, ranks = 0;
    double scale = 1;
    std::vector<std::uint32_t> rank;    // of each term among the frequent ones, or `rare`
    std::vector<std::uint8_t> octave;   // of each rank
    std::vector<std::uint64_t> starts;  // by block and term, into:
    std::vector<std::uint16_t> rows;    // that hold the term, counted from the block's first
    std::vector<float> weights;
    std::vector<float> norms;           // by octave and row: norm of the row's terms of this octave, rounded up
    std::vector<Signature> signatures;  // of each row
    std::vector<float> units;           // of the signatures
    std::vector<std::uint64_t> begin;   // by row, into:
    std::vector<Entry> entries;         // frequent terms

    // Row i is stored as x_i * factors[i] * scaling.
    template <class T>
    void store(Sparse<T> const& X, std::vector<double> const& factors, double scaling, int threads) {
        count = X.lines;
        width = X.width;
        scale = scaling;
        rank_terms(X);
        Team(threads).each(2, [&](std::size_t part) { part == 0 ? store_lists(X, factors) : store_rows(X, factors); });
    }

    static std::size_t parcel(std::uint32_t rank) { return rank % Signature::parcels; }

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
            auto const share = static_cast<std::size_t>(std::bit_width(count / holders[j]));  // 1 to 5
            octave.push_back(static_cast<std::uint8_t>(octaves - std::min(share, octaves)));
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
        norms.resize(octaves * count);
        signatures.resize(count);
        units.resize(count);
        begin.assign(1, 0);
        for (std::size_t row = 0; row < count; ++row) {
            std::array<double, octaves> squares{};
            std::array<double, Signature::parcels> parts{};
            X.each(row, [&](std::size_t j, T x) {
                if (rank[j] == rare) return;
                double const value = static_cast<double>(x) * factors[row] * scale;
                squares[octave[rank[j]]] += value * value;
                parts[parcel(rank[j])] += value * value;
                entries.push_back({rank[j], static_cast<float>(value)});
            });
            begin.push_back(entries.size());
            for (std::size_t o = 0; o < octaves; ++o) norms[o * count + row] = rounded_up(std::sqrt(squares[o]));
            units[row] = signatures[row].set(parts);
        }
    }
};

}  // namespace tallywise
