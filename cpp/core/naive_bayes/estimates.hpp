// Naive Bayes weights: theta and b from the sums.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/base/numeric.hpp"
#include "core/base/parallel.hpp"
#include "core/naive_bayes/events.hpp"

namespace tallywise::naive_bayes {

// theta: a row a cell, holding each parameter for all classes, padded to whole vectors; b: one a class. Both are kept
// by the caller. Columns are the classes, and once more as many where an event counts what a row lacks (see Bernoulli).
struct Weights {
    static constexpr std::size_t register_size = 4;

    double* theta = nullptr;
    double* b = nullptr;
    std::size_t rows = 0, columns = 0, classes = 0, parameters = 1;

    std::size_t padded() const { return Team::count(columns, register_size) * register_size; }
    std::size_t stride() const { return parameters * padded(); }
};

// The shape of the weights that `estimate` will fill.
template <class Event>
Weights weights_of(Event const& event, Statistics const& S, Smoothing const& alpha) {
    return {nullptr, nullptr, event.rows(S.cells), Event::columns(S.classes, alpha), S.classes, Event::parameters};
}

namespace detail {

// Theta and b of cells [begin, end) for events that make theta of a class from the counts of a cell: a class that lacks
// the cell has the same theta as in every other cell that it lacks, or but for the sum over classes. Of texts that is
// nine in ten: only what there is takes a logarithm of its own.
template <class Event>
void estimate_counts(typename Event::Estimate const& parameters, Statistics const& S, Weights const& W,
                     std::size_t begin, std::size_t end, double* b) {
    constexpr std::size_t block = 256;
    std::size_t const K = S.classes, stride = W.stride();
    bool const alike = !parameters.alpha.each;
    std::vector<double> total(block), a(block, parameters.alpha(0)), n(block), theta(block), constant(block);
    std::vector<double> absent(W.padded(), 0.0), absent_constant(K, 0.0), zero(1, 0.0);
    std::vector<std::uint32_t> place(block);
    if constexpr (!Event::sums_classes) {
        for (std::size_t c = 0; c < K && alike; ++c) {
            parameters.class_cells(c, zero.data(), a.data(), zero.data(), 1, &absent[c], &absent_constant[c]);
        }
    }
    for (std::size_t first = begin; first < end; first += block) {
        std::size_t const size = std::min(block, end - first);
        double* rows = W.theta + first * stride;
        if constexpr (Event::sums_classes) {
            std::fill(total.begin(), total.end(), 0.0);
            for (std::size_t c = 0; c < K; ++c) axpy(1.0, S.value + S.at(0, c, first), total.data(), size);
        }
        if (alike) {
            for (std::size_t k = 0; k < size; ++k) {
                if constexpr (Event::sums_classes) parameters.absent(total[k], absent.data());
                std::copy(absent.begin(), absent.end(), rows + k * stride);
            }
        } else {
            for (std::size_t k = 0; k < size; ++k) {
                a[k] = parameters.alpha(first + k);
                std::fill(rows + k * stride, rows + (k + 1) * stride, 0.0);
            }
        }
        for (std::size_t c = 0; c < K; ++c) {
            double const *counts = S.value + S.at(0, c, first), *sums = total.data();
            std::size_t present = size;
            if (alike) {
                present = 0;
                for (std::size_t k = 0; k < size; ++k) {
                    place[present] = static_cast<std::uint32_t>(k);
                    present += counts[k] != 0;
                }
                for (std::size_t m = 0; m < present; ++m) n[m] = counts[place[m]];
                counts = n.data();
                if constexpr (Event::sums_classes) {
                    for (std::size_t m = 0; m < present; ++m) constant[m] = total[place[m]];
                    sums = constant.data();
                }
            }
            parameters.class_cells(c, counts, a.data(), sums, present, theta.data(), constant.data());
            for (std::size_t m = 0; m < present; ++m) rows[(alike ? place[m] : m) * stride + c] = theta[m];
            if constexpr (Event::has_constants) {
                b[c] += static_cast<double>(size - present) * absent_constant[c];
                for (std::size_t m = 0; m < present; ++m) b[c] += constant[m];
            }
        }
        if constexpr (Event::sums_classes) {
            for (std::size_t k = 0; k < size && parameters.normalize; ++k) axpy(1.0, rows + k * stride, b, K);
        }
    }
}

// The same, cell by cell.
template <class Event>
void estimate_cells(typename Event::Estimate const& parameters, Statistics const& S, Weights const& W,
                    std::size_t begin, std::size_t end, double* b) {
    constexpr std::size_t tile = 8;  // cells of a class that share a cache line
    std::size_t const K = S.classes, stride = W.stride();
    std::vector<double> n(tile * K);
    for (std::size_t first = begin; first < end; first += tile) {
        std::size_t const size = std::min(tile, end - first);
        for (std::size_t c = 0; c < K; ++c) {
            double const* row = S.value + S.at(0, c, first);
            for (std::size_t k = 0; k < size; ++k) n[k * K + c] = row[k];
        }
        for (std::size_t k = 0; k < size; ++k) {
            double* theta = W.theta + (first + k) * stride;
            for (std::size_t p = 0; p < W.parameters; ++p) {
                std::fill(theta + p * W.padded() + W.columns, theta + (p + 1) * W.padded(), 0.0);
            }
            parameters.cell(first + k, n.data() + k * K, theta, b);
        }
    }
}

}  // namespace detail

template <class Event>
void estimate(typename Event::Estimate const& parameters, Statistics const& S, Weights const& W, Team& team) {
    std::size_t const columns = W.columns;
    constexpr std::size_t grain = 4096;  // cells a chunk
    std::vector<double> parts(Team::count(S.cells, grain) * columns);
    team.each_range(S.cells, grain, [&](std::size_t begin, std::size_t end, std::size_t chunk) {
        double* b = parts.data() + chunk * columns;
        if constexpr (Event::from_counts) {
            if (columns == S.classes) return detail::estimate_counts<Event>(parameters, S, W, begin, end, b);
        }
        if constexpr (Event::from_cells) detail::estimate_cells<Event>(parameters, S, W, begin, end, b);
    });
    std::fill(W.theta + S.cells * W.stride(), W.theta + W.rows * W.stride(), 0.0);
    std::fill(W.b, W.b + columns, 0.0);
    for (std::size_t k = 0; k < parts.size(); ++k) W.b[k % columns] += parts[k];
    parameters.finish(W.theta, W.stride(), W.b);
}

}  // namespace tallywise::naive_bayes
