// The losses that trees are boosted by: l(y, z), its gradient and curvature in the scores z of a row.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <tuple>

#include "core/base/registry.hpp"

namespace tallywise::trees {

struct Slope {
    double gradient, curvature;
};

inline double log1p_exp(double z) { return std::max(z, 0.0) + std::log1p(std::exp(-std::abs(z))); }

// l = (z - y)^2 / 2
struct Squared {
    static constexpr char const* name = "squared";
    static double value(double y, double const* z, std::size_t) { return 0.5 * (z[0] - y) * (z[0] - y); }
    static void slopes(double y, double const* z, std::size_t, Slope* out) { out[0] = {z[0] - y, 1.0}; }
};

// l = log(1 + exp(z)) - y z, y in {0, 1}
struct Logistic {
    static constexpr char const* name = "logistic";
    static double value(double y, double const* z, std::size_t) { return log1p_exp(z[0]) - y * z[0]; }
    static void slopes(double y, double const* z, std::size_t, Slope* out) {
        double const p = 1.0 / (1.0 + std::exp(-z[0]));
        out[0] = {p - y, std::max(p * (1.0 - p), 1e-12)};
    }
};

// l = log(sum_k exp(z_k)) - z_y, y a position. The curvature is the diagonal of the Hessian.
struct Softmax {
    static constexpr char const* name = "softmax";
    static double value(double y, double const* z, std::size_t K) {
        double const top = *std::max_element(z, z + K);
        double sum = 0;
        for (std::size_t k = 0; k < K; ++k) sum += std::exp(z[k] - top);
        return std::log(sum) + top - z[static_cast<std::size_t>(y)];
    }
    static void slopes(double y, double const* z, std::size_t K, Slope* out) {
        double const top = *std::max_element(z, z + K);
        double sum = 0;
        for (std::size_t k = 0; k < K; ++k) sum += out[k].gradient = std::exp(z[k] - top);
        for (std::size_t k = 0; k < K; ++k) {
            double const p = out[k].gradient / sum;
            out[k] = {p - (k == static_cast<std::size_t>(y) ? 1.0 : 0.0), std::max(p * (1.0 - p), 1e-12)};
        }
    }
};

// l = exp(z) - y z, y a count; its exponent is bounded so that no score overflows.
struct Poisson {
    static constexpr char const* name = "poisson";
    static double mean(double z) { return std::exp(std::min(z, 300.0)); }
    static double value(double y, double const* z, std::size_t) { return mean(z[0]) - y * z[0]; }
    static void slopes(double y, double const* z, std::size_t, Slope* out) {
        double const mu = mean(z[0]);
        out[0] = {mu - y, std::max(mu, 1e-12)};
    }
};

using Losses = Registry<Squared, Logistic, Softmax, Poisson>;

}  // namespace tallywise::trees
