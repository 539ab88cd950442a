// What least squares need to know of dense data with few columns: one pass over X, for any number of penalties.
//
//   G = sum s (x - m)(x - m)',   c = sum s (x - m)(y - q),   yy = sum s (y - q)^2
//
// with the weighted means m and q where there is an intercept, and 0 in their place otherwise. X lies by rows or by
// columns. Sums run about the means of some of the rows, so that columns far from 0 lose no digits, and are moved to
// the means afterwards.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/base/line_products.hpp"
#include "core/base/parallel.hpp"
#include "core/data/design.hpp"

namespace tallywise::linear {

// Dense X in either order.
struct DenseTable {
    Dense<double> X;
    bool by_rows = false;

    std::size_t rows() const { return by_rows ? X.lines : X.width; }
    std::size_t columns() const { return by_rows ? X.width : X.lines; }
    double at(std::size_t i, std::size_t j) const {
        return by_rows ? X.data[i * X.stride + j] : X.data[j * X.stride + i];
    }

    // block.line(j)[i] = x_ij - centre_j for the rows [first, first + count).
    void copy(std::size_t first, std::size_t count, std::vector<double> const& centre, LineBlock& block) const {
        std::size_t const p = columns();
        if (by_rows) {
            for (std::size_t i = 0; i < count; ++i) {
                double const* x = X.data + (first + i) * X.stride;
                for (std::size_t j = 0; j < p; ++j) block.line(j)[i] = x[j] - centre[j];
            }
        } else {
            for (std::size_t j = 0; j < p; ++j) {
                double const* x = X.data + j * X.stride + first;
                double* to = block.line(j);
#pragma omp simd
                for (std::size_t i = 0; i < count; ++i) to[i] = x[i] - centre[j];
            }
        }
    }
};

struct ProductStatistics {
    std::size_t p = 0;
    std::vector<double> G;     // p x p
    std::vector<double> c;     // p
    double yy = 0, total = 0;  // total: sum of s
    std::vector<double> mean;  // m; 0 without an intercept
    double y_mean = 0;
    // Sums of products are off by at most this share of the product of the norms of what was multiplied.
    double rounding = 0;

    // Whether the matrix is made sooner than coordinate descent would have arrived: it takes as long as p / 150 rounds
    // over all columns on one thread (a round reads and writes memory, products run in cache), and is smaller than X.
    static bool pay(std::size_t rows, std::size_t columns) { return columns <= 1024 && columns <= rows; }

    // s may be null (all ones).
    static ProductStatistics of(Team& team, DenseTable const& X, double const* y, double const* s, bool fit_intercept) {
        std::size_t const n = X.rows(), p = X.columns(), lines = p + 2;
        ProductStatistics result;
        result.p = p;
        std::vector<double> near(p, 0.0);
        double near_y = 0;
        if (fit_intercept) find_near_means(X, y, s, near, near_y);
        // Lines p and p + 1 are y and ones.
        std::vector<double> const sums =
            gram_of_lines(team, lines, n, [&](std::size_t first, std::size_t count, LineBlock& block) {
                X.copy(first, count, near, block);
                double *targets = block.line(p), *ones = block.line(p + 1);
                for (std::size_t i = 0; i < count; ++i) {
                    targets[i] = y[first + i] - near_y;
                    ones[i] = 1.0;
                }
                if (s == nullptr) return;
                double root[LineBlock::width];
                for (std::size_t i = 0; i < count; ++i) root[i] = std::sqrt(s[first + i]);
                for (std::size_t k = 0; k < lines; ++k) {
                    double* line = block.line(k);
#pragma omp simd
                    for (std::size_t i = 0; i < count; ++i) line[i] *= root[i];
                }
            });
        // A sum of k terms is off by k units of rounding at most: 64 in each lane of a block, blocks, pieces, and a few
        // for what was multiplied.
        double const terms = 64 + static_cast<double>(block_grain(n, lines) / LineBlock::width) + 8 + 16;
        result.rounding = terms * std::numeric_limits<double>::epsilon();
        result.unpack(sums, near, near_y, fit_intercept);
        return result;
    }

  private:
    // Of some 256 rows that have a weight.
    static void find_near_means(DenseTable const& X, double const* y, double const* s, std::vector<double>& near,
                                double& near_y) {
        std::vector<std::size_t> members;
        for (std::size_t i = 0; i < X.rows(); ++i) {
            if (s == nullptr || s[i] > 0) members.push_back(i);
        }
        std::size_t const step = std::max<std::size_t>(1, members.size() / 256);
        double seen = 0;
        for (std::size_t k = 0; k < members.size(); k += step, ++seen) {
            for (std::size_t j = 0; j < near.size(); ++j) near[j] += X.at(members[k], j);
            near_y += y[members[k]];
        }
        for (double& m : near) m /= std::max(seen, 1.0);
        near_y /= std::max(seen, 1.0);
    }

    void unpack(std::vector<double> const& sums, std::vector<double> const& near, double near_y, bool fit_intercept) {
        std::size_t const lines = p + 2;
        double const *of_y = sums.data() + p * lines, *of_ones = of_y + lines;
        total = of_ones[p + 1];
        mean.assign(p, 0.0);
        std::vector<double> shift(p + 1, 0.0);  // of the means from the near ones
        for (std::size_t j = 0; j <= p && fit_intercept && total > 0; ++j) shift[j] = of_ones[j] / total;
        G.resize(p * p);
        c.resize(p);
        double lost = 1;  // the most by which a square shrinks where it is taken about the mean
        for (std::size_t j = 0; j < p; ++j) {
            if (fit_intercept) mean[j] = near[j] + shift[j];
            c[j] = of_y[j] - total * shift[j] * shift[p];
            for (std::size_t k = 0; k <= j; ++k) {
                G[j * p + k] = G[k * p + j] = sums[j * lines + k] - total * shift[j] * shift[k];
            }
            double const square = G[j * p + j], hidden = 1e-14 * mean[j];
            if (!std::isfinite(square)) {
                bool const added = std::isfinite(total * mean[j]);
                throw std::invalid_argument(std::string("The numbers in X are too large for this fit: the ") +
                                            (added ? "squares of a column overflow" : "sum of a column overflows") +
                                            ". Scale X.");
            }
            bool const varies = square > std::max(total * hidden * hidden, rounding * sums[j * lines + j]);
            if (varies) lost = std::max(lost, sums[j * lines + j] / square);
            if (!varies) c[j] = G[j * p + j] = 0;
        }
        // What rounding has left of a constant column is no product.
        for (std::size_t j = 0; j < p; ++j) {
            for (std::size_t k = 0; k < p; ++k) {
                if (G[j * p + j] == 0 || G[k * p + k] == 0) G[j * p + k] = 0;
            }
        }
        yy = std::max(of_y[p] - total * shift[p] * shift[p], 0.0);
        y_mean = fit_intercept ? near_y + shift[p] : 0.0;
        if (yy > 0) lost = std::max(lost, of_y[p] / yy);
        rounding *= lost;
    }
};

}  // namespace tallywise::linear
