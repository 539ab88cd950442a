// The Gaussian event model, for events.hpp.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <stdexcept>
#include <string_view>

#include "core/base/numeric.hpp"
#include "core/naive_bayes/statistics.hpp"

namespace tallywise::naive_bayes {

namespace detail {

// Sum of squared distances from the mean, S2 - S1^2 / n, from exact sums: the difference keeps 106 bits less what
// cancels. What is left within their rounding counts as 0.
inline double squared_distances(Pair n, Pair s1, Pair s2) {
    if (n.high <= 0) return 0;
    Pair const whole = n * s2;
    double const rest = (whole - s1 * s1).high;
    return rest <= 0x1p-96 * whole.high ? 0.0 : rest / n.high;
}

// sum_j log v_j: a product of fractions and a sum of exponents, one logarithm for 512 numbers instead of one each.
inline double sum_log(double const* v, std::size_t n) {
    double total = 0;
    for (std::size_t begin = 0; begin < n; begin += 512) {
        double product = 1, exponents = 0;
#pragma omp simd reduction(* : product) reduction(+ : exponents)
        for (std::size_t j = begin; j < std::min(n, begin + 512); ++j) {
            auto const bits = std::bit_cast<std::uint64_t>(v[j]);
            product *= std::bit_cast<double>((bits & 0x000fffffffffffff) | 0x3ff0000000000000);
            exponents += std::bit_cast<double>((bits >> 52) | 0x4330000000000000) - (0x1p52 + 1023.0);
        }
        total += std::log(product) + exponents * std::numbers::ln2;
    }
    return total;
}

}  // namespace detail

// P(x | c) = prod_j N(x_j; mu_jc, v_jc), with v_jc the mean squared distance from mu_jc within the class, or within all
// classes (shared), plus alpha times the largest variance of any feature over all rows. Here alpha is scikit-learn's
// var_smoothing. g = -(x - mu)^2 / 2v and b_c = -1/2 sum_j log 2 pi v_jc. The sums are those of x and x^2.
struct Gaussian {
    static constexpr std::string_view name = "gaussian";
    static constexpr std::size_t statistics = 2, parameters = 2;
    static constexpr bool skips_zero = false, non_negative = false, reads_sparse = false, adds_repeats = false;
    static constexpr bool features_are_cells = true, from_counts = false, from_cells = true;
    bool shared;
    explicit Gaussian(EventOptions const& options) : shared(options.shared) {}

    std::size_t cell(std::size_t j, double) const { return j; }
    double amount(double x) const { return x; }
    std::size_t first_cell(std::size_t j) const { return j; }
    std::size_t features(std::size_t cells) const { return cells; }
    std::size_t rows(std::size_t cells) const { return cells; }

    static std::size_t columns(std::size_t classes, Smoothing const&) { return classes; }

    template <class V>
    static void add_g(double x, V const (&theta)[2], V& z) {
        V const distance = x - theta[0];
        z += distance * distance * theta[1];
    }

    // Sums of squares cannot be below those of any rows that have these sums.
    bool plausible(Statistics const& S, std::size_t c) const {
        Pair const n = S.documents(c);
        for (std::size_t j = 0; j < S.cells; ++j) {
            Pair const s1 = S.pair(0, c, j), s2 = S.pair(1, c, j);
            if (n.high == 0 && (s1.high != 0 || s2.high != 0)) return false;
            if ((n * s2 - s1 * s1).high < -0x1p-90 * (s1 * s1).high) return false;
        }
        return true;
    }

    struct Estimate {
        Statistics S;
        double alpha;
        bool shared;
        Pair n;                    // rows in all
        std::vector<Pair> s1, s2;  // sums over all classes
        double epsilon = 0;
        // Of rows held out, class by class: means, and sums of squared distances from them.
        std::vector<double> mean, distances, pooled;

        Estimate(Gaussian const& event, Statistics const& sums, Smoothing const& smoothing)
            : S(sums), alpha(smoothing(0)), shared(event.shared), s1(S.cells), s2(S.cells) {
            for (std::size_t c = 0; c < S.classes; ++c) {
                n = n + S.documents(c);
                for (std::size_t j = 0; j < S.cells; ++j) {
                    s1[j] = s1[j] + S.pair(0, c, j);
                    s2[j] = s2[j] + S.pair(1, c, j);
                }
            }
            for (std::size_t j = 0; j < S.cells; ++j) {
                epsilon = std::max(epsilon, alpha * detail::squared_distances(n, s1[j], s2[j]) / n.high);
            }
        }
        double class_distances(std::size_t c, std::size_t j) const {
            return detail::squared_distances(S.documents(c), S.pair(0, c, j), S.pair(1, c, j));
        }
        double class_mean(std::size_t c, std::size_t j) const {
            return S.documents(c).high > 0 ? S.pair(0, c, j).high / S.documents(c).high : 0.0;
        }
        double class_variance(std::size_t c, std::size_t j) const {
            double sum = 0, rows = S.documents(c).high;
            if (shared) {
                for (std::size_t k = 0; k < S.classes; ++k) sum += class_distances(k, j);
                rows = n.high;
            } else {
                sum = class_distances(c, j);
            }
            return (rows > 0 ? sum / rows : 0.0) + epsilon;
        }

        void cell(std::size_t j, double const*, double* theta, double* b) const {
            std::size_t const width = (S.classes + 3) / 4 * 4;
            for (std::size_t c = 0; c < S.classes; ++c) {
                double const v = class_variance(c, j);
                theta[c] = class_mean(c, j);
                // No spread gives no density: -inf is for the caller to refuse. A class never seen has its prior
                // against it.
                theta[width + c] = v > 0 ? -0.5 / v : (S.documents(c).high > 0 ? -INFINITY : 0.0);
                b[c] -= v > 0 ? 0.5 * std::log(2 * std::numbers::pi * v) : 0.0;
            }
        }
        void finish(double*, std::size_t, double*) const {}

        void prepare_hold_out() {
            pooled.assign(S.cells, 0.0);
            for (std::size_t c = 0; c < S.classes; ++c) {
                for (std::size_t j = 0; j < S.cells; ++j) {
                    mean.push_back(class_mean(c, j));
                    distances.push_back(class_distances(c, j));
                    pooled[j] += distances.back();
                }
            }
        }

        // Without row i every variance moves, because epsilon does.
        template <class View>
        void hold_out(Gaussian const&, View const& X, std::size_t i, std::size_t y, double* z) const {
            std::size_t const d = S.cells;
            std::vector<double> x(d), own_mean(d), own_distances(d), v(d);
            X.each(i, [&](std::size_t j, auto value) { x[j] = static_cast<double>(value); });
            double const rows = n.high - 1, own_rows = S.documents(y).high - 1;
            double largest = 0;
            Pair const own_count = S.documents(y) - Pair{1, 0};
            for (std::size_t j = 0; j < d; ++j) {
                Pair const one{x[j], 0}, square = two_product(x[j], x[j]);
                largest = std::max(largest, detail::squared_distances(n - Pair{1, 0}, s1[j] - one, s2[j] - square));
                Pair const rest1 = S.pair(0, y, j) - one, rest2 = S.pair(1, y, j) - square;
                own_mean[j] = own_rows > 0 ? rest1.high / own_rows : 0.0;
                own_distances[j] = detail::squared_distances(own_count, rest1, rest2);
            }
            double const without = alpha * largest / rows;
            for (std::size_t c = 0; c < S.classes; ++c) {
                double const* mu = c == y ? own_mean.data() : mean.data() + c * d;
                double const* q = c == y ? own_distances.data() : distances.data() + c * d;
                double const count = shared ? rows : (c == y ? own_rows : S.documents(c).high);
                double exponent = 0;
#pragma omp simd reduction(+ : exponent)
                for (std::size_t j = 0; j < d; ++j) {
                    double const all = pooled[j] - distances[y * d + j] + own_distances[j];
                    v[j] = (shared ? all : q[j]) / count + without;
                    exponent += (x[j] - mu[j]) * (x[j] - mu[j]) / v[j];
                }
                double const constant = static_cast<double>(d) * std::log(2 * std::numbers::pi);
                z[c] = -0.5 * (constant + detail::sum_log(v.data(), d) + exponent);
                if (count <= 0) z[c] = -std::numeric_limits<double>::infinity();
            }
        }
    };
};

}  // namespace tallywise::naive_bayes
