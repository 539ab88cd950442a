// Scores to probabilities.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/numeric.hpp"

namespace tallywise::serve {

// "sigmoid": one score, p = 1 / (1 + exp(-(scale z + shift))) for the second of two classes.
// "softmax": a score a class, p ~ exp(scale z).
// "sigmoids": a score a class, p ~ 1 / (1 + exp(-(scale z + shift))): one class against the rest, divided by their sum.
// "ordered": one score, P(class <= k) = sigmoid(thresholds_k - z).
// "independent": a score a label, p_k = 1 / (1 + exp(-(scale z_k + shift))); labels do not exclude each other.
struct Link {
    enum class Kind { sigmoid, softmax, sigmoids, ordered, independent };

    Kind kind = Kind::sigmoid;
    double scale = 1, shift = 0;
    std::vector<double> thresholds;

    Link(std::string_view name, double a, double b, std::vector<double> cuts)
        : scale(a), shift(b), thresholds(std::move(cuts)) {
        if (name == "softmax") {
            kind = Kind::softmax;
        } else if (name == "sigmoids") {
            kind = Kind::sigmoids;
        } else if (name == "ordered") {
            kind = Kind::ordered;
        } else if (name == "independent") {
            kind = Kind::independent;
        } else if (name != "sigmoid") {
            throw std::invalid_argument("Unknown link '" + std::string(name) + "'");
        }
        bool const rising = std::is_sorted(thresholds.begin(), thresholds.end());
        bool finite = std::isfinite(scale) && std::isfinite(shift);
        for (double const t : thresholds) finite = finite && std::isfinite(t);
        if (!finite || !rising || (kind == Kind::ordered && thresholds.empty())) {
            throw std::invalid_argument("A link needs finite numbers and rising thresholds");
        }
    }

    std::size_t classes(std::size_t columns) const {
        if (one_a_column()) return columns;
        return kind == Kind::sigmoid ? 2 : thresholds.size() + 1;
    }

    // Whether each column of scores is a class of its own.
    bool one_a_column() const { return kind == Kind::softmax || kind == Kind::sigmoids || kind == Kind::independent; }

    void operator()(double const* z, std::size_t columns, double* p) const {
        if (kind == Kind::independent) {
            for (std::size_t k = 0; k < columns; ++k) p[k] = sigmoid(scale * z[k] + shift);
        } else if (kind == Kind::sigmoid) {
            p[0] = sigmoid(-(scale * z[0] + shift));
            p[1] = sigmoid(scale * z[0] + shift);
        } else if (kind == Kind::ordered) {
            double below = 0;
            for (std::size_t k = 0; k < thresholds.size(); ++k) {
                double const next = sigmoid(thresholds[k] - z[0]);
                p[k] = std::max(next - below, 0.0);
                below = next;
            }
            p[thresholds.size()] = sigmoid(z[0] - thresholds.back());
        } else if (kind == Kind::sigmoids) {
            // All of them times exp(-top), top <= 0: where no class is likely, no sum of them is 0.
            double const most = *(scale >= 0 ? std::max_element(z, z + columns) : std::min_element(z, z + columns));
            double const top = std::min(scale * most + shift, 0.0);
            double total = 0;
            for (std::size_t k = 0; k < columns; ++k) {
                double const s = scale * z[k] + shift;
                total += p[k] = s > 0 ? sigmoid(s) : exp(s - top) / (1.0 + exp(s));
            }
            for (std::size_t k = 0; k < columns; ++k) p[k] /= total;
        } else {
            double const top =
                scale * *(scale >= 0 ? std::max_element(z, z + columns) : std::min_element(z, z + columns));
            double total = 0;
            for (std::size_t k = 0; k < columns; ++k) total += p[k] = exp(scale * z[k] - top);
            for (std::size_t k = 0; k < columns; ++k) p[k] /= total;
        }
    }
};

}  // namespace tallywise::serve
