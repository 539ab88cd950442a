// The categorical event model, for events.hpp.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "core/base/numeric.hpp"
#include "core/naive_bayes/linear_event.hpp"
#include "core/naive_bayes/statistics.hpp"

namespace tallywise::naive_bayes {

// One die a feature and class: P(x_j = k | c) = (N_jkc + alpha) / (N_c + alpha K_j). Each category is a cell. A value
// never seen in learning gets the share that one more category would have, alpha / (N_c + alpha (K_j + 1)); those rows
// of theta follow the cells, one a feature.
struct Categorical : LinearEvent {
    static constexpr std::string_view name = "categorical";
    static constexpr bool reads_sparse = false;  // 0 is a category like any other
    static constexpr bool adds_repeats = false, features_are_cells = false;
    static constexpr bool from_counts = false, from_cells = true;
    std::vector<std::int64_t> offsets;
    explicit Categorical(EventOptions const& options) : offsets(options.offsets) {
        if (offsets.empty()) throw std::invalid_argument("Categorical events need the offsets of their features.");
    }

    std::size_t first_cell(std::size_t j) const { return static_cast<std::size_t>(offsets[j]); }
    std::size_t features(std::size_t) const { return offsets.size() - 1; }
    std::size_t rows(std::size_t cells) const { return cells + offsets.size() - 1; }
    double amount(double) const { return 1.0; }
    std::size_t cell(std::size_t j, double x) const {
        double const size = static_cast<double>(offsets[j + 1] - offsets[j]);
        std::size_t const unseen = static_cast<std::size_t>(offsets.back()) + j;
        return x >= 0 && x < size ? static_cast<std::size_t>(offsets[j]) + static_cast<std::size_t>(x) : unseen;
    }

    struct Estimate : LinearEstimate {
        std::vector<std::int64_t> offsets;
        std::vector<std::size_t> feature;  // of each cell
        std::vector<double> log_total;     // of each feature and class

        Estimate(Categorical const& event, Statistics const& sums, Smoothing const& smoothing)
            : LinearEstimate{sums, smoothing}, offsets(event.offsets) {
            for (std::size_t f = 0; f + 1 < offsets.size(); ++f) {
                auto const size = static_cast<double>(offsets[f + 1] - offsets[f]);
                feature.insert(feature.end(), static_cast<std::size_t>(size), f);
                for (std::size_t c = 0; c < S.classes; ++c) {
                    log_total.push_back(detail::log_total(S.documents(c).high + alpha(0) * size));
                }
            }
        }

        void cell(std::size_t j, double const* n, double* theta, double*) const {
            double const* total = log_total.data() + feature[j] * S.classes;
            for (std::size_t c = 0; c < S.classes; ++c) theta[c] = log(n[c] + alpha(0)) - total[c];
        }

        void finish(double* theta, std::size_t stride, double*) const {
            for (std::size_t f = 0; f + 1 < offsets.size(); ++f) {
                auto const size = static_cast<double>(offsets[f + 1] - offsets[f] + 1);
                for (std::size_t c = 0; c < S.classes; ++c) {
                    double const total = S.documents(c).high + alpha(0) * size;
                    theta[(S.cells + f) * stride + c] = log(alpha(0)) - detail::log_total(total);
                }
            }
        }

        template <class View>
        void hold_out(Categorical const& event, View const& X, std::size_t i, std::size_t y, double* z) const {
            double score = 0, rest = S.documents(y).high - 1;
            X.each(i, [&](std::size_t f, auto x) {
                auto const size = static_cast<double>(offsets[f + 1] - offsets[f]);
                double const n = S.value[S.at(0, y, event.cell(f, static_cast<double>(x)))] - 1;
                score += log(n + alpha(0)) - detail::log_total(rest + alpha(0) * size);
            });
            z[y] = score;
        }
    };
};

}  // namespace tallywise::naive_bayes
