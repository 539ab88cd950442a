// Scores from remembered rows: nearest neighbours and kernel machines, on the serve side.
//
//     nearest    z = b + sum over the k rows i most alike x of  s_i A_i
//     gaussian   z = b + sum over all rows i of  exp(-gamma |x - x_i|^2) A_i
//
// with s_i = x'x_i and one row of A a remembered row. The rows lie by column, so that a text meets only those with a
// word of its own. Rows as alike as each other rank in their order.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/numeric.hpp"
#include "core/base/parallel.hpp"
#include "core/data/design.hpp"

namespace tallywise::serve {

class RowMemory {
  public:
    // Column j holds entries [starts[j], starts[j + 1]) of `rows` and `values`. `number` is k, or gamma. The arrays
    // stay with the caller; A is count x columns.
    struct Arrays {
        std::int64_t const* starts;
        std::size_t terms;
        std::int32_t const* rows;
        double const* values;
        std::size_t entries;
        double const* A;
        std::size_t count, columns;
    };

    RowMemory(std::string_view kind, double number, Arrays const& arrays) : number_(number), m_(arrays) {
        if (kind != "nearest" && kind != "gaussian") {
            throw std::invalid_argument("Unknown kind of memory '" + std::string(kind) + "'");
        }
        gaussian_ = kind == "gaussian";
        if (!std::isfinite(number) || number <= 0) throw std::invalid_argument("A memory needs a positive number");
        bool sound = m_.starts[0] == 0 && m_.starts[m_.terms] == static_cast<std::int64_t>(m_.entries);
        for (std::size_t j = 0; j < m_.terms; ++j) sound = sound && m_.starts[j] <= m_.starts[j + 1];
        // A row twice in a column would count once in its square and twice in what it has in common with a text.
        for (std::size_t j = 0; sound && j < m_.terms; ++j) {
            for (std::int64_t e = m_.starts[j] + 1; e < m_.starts[j + 1]; ++e) {
                sound = sound && e > 0 && m_.rows[e - 1] < m_.rows[e];
            }
        }
        for (std::size_t e = 0; e < m_.entries; ++e) {
            sound = sound && m_.rows[e] >= 0 && static_cast<std::size_t>(m_.rows[e]) < m_.count;
            sound = sound && std::isfinite(m_.values[e]);
        }
        for (std::size_t e = 0; e < m_.count * m_.columns; ++e) sound = sound && std::isfinite(m_.A[e]);
        if (!sound) throw std::invalid_argument("The remembered rows are not sound");
        squares_.assign(m_.count, 0.0);
        for (std::size_t e = 0; e < m_.entries; ++e) squares_[at(e)] += m_.values[e] * m_.values[e];
    }

    std::size_t terms() const { return m_.terms; }
    std::size_t columns() const { return m_.columns; }

    // What a thread needs; kept from text to text.
    struct Scratch {
        std::vector<double> alike;
        std::vector<std::size_t> met;
    };

    // z += ... for a text with `values` in `columns`.
    template <class Column>
    void score(Column const* columns, double const* values, std::size_t n, double* z, Scratch& scratch) const {
        meet(columns, values, n, scratch);
        if (gaussian_) {
            double square = 0;
            for (std::size_t k = 0; k < n; ++k) square += values[k] * values[k];
            for (std::size_t i = 0; i < m_.count; ++i) {
                axpy(exp(-number_ * apart(square, i, scratch.alike[i])), m_.A + i * m_.columns, z, m_.columns);
            }
        } else {
            keep_nearest(scratch);
            for (std::size_t const i : scratch.met) axpy(scratch.alike[i], m_.A + i * m_.columns, z, m_.columns);
        }
    }

    // z += ... for every line of X.
    void score_rows(Sparse<double> const& X, double* z, int threads) const {
        if (X.width != m_.terms) throw std::invalid_argument("A row must have one column per term");
        Team team(threads);
        team.each_range(X.lines, 64, [&](std::size_t begin, std::size_t end, std::size_t) {
            Scratch scratch;
            for (std::size_t i = begin; i < end; ++i) {
                auto const x = X.entries(i);
                score(x.indices, x.values, x.size, z + i * m_.columns, scratch);
            }
        });
    }

    // The same as slopes: z = b + base + sum over entries of column j of slope_i value x_j, exactly, which says what
    // each word adds. For the Gaussian a row's exp(...) less what it is without a common word is shared out over the
    // common words by their part in s_i.
    template <class Column>
    std::vector<double> slopes(Column const* columns, double const* values, std::size_t n, double* base) const {
        Scratch scratch;
        meet(columns, values, n, scratch);
        std::vector<double> slope(m_.count, 0.0);
        if (gaussian_) {
            double square = 0;
            for (std::size_t k = 0; k < n; ++k) square += values[k] * values[k];
            for (std::size_t i = 0; i < m_.count; ++i) {
                double const s = scratch.alike[i], near = 2 * number_ * s;
                double const without = exp(-number_ * (square + squares_[i]));
                // The product would be 0 times infinity for rows that are long and alike.
                double const gain =
                    near > 1 ? exp(-number_ * apart(square, i, s)) - without : without * std::expm1(near);
                slope[i] = s != 0 ? gain / s : 0.0;
                axpy(without, m_.A + i * m_.columns, base, m_.columns);
            }
        } else {
            keep_nearest(scratch);
            for (std::size_t const i : scratch.met) slope[i] = 1;
        }
        return slope;
    }

  private:
    std::size_t at(std::size_t entry) const { return static_cast<std::size_t>(m_.rows[entry]); }

    // |x - x_i|^2, which rounding must not make negative: of long rows the exponential would be infinite.
    double apart(double square, std::size_t i, double alike) const {
        return std::max(0.0, square + squares_[i] - 2 * alike);
    }

    // alike_i = x'x_i, and the rows where it is not 0.
    template <class Column>
    void meet(Column const* columns, double const* values, std::size_t n, Scratch& scratch) const {
        scratch.alike.assign(m_.count, 0.0);
        for (std::size_t k = 0; k < n; ++k) {
            auto const j = static_cast<std::size_t>(columns[k]);
            for (auto e = static_cast<std::size_t>(m_.starts[j]); e < static_cast<std::size_t>(m_.starts[j + 1]); ++e) {
                scratch.alike[at(e)] += values[k] * m_.values[e];
            }
        }
        if (gaussian_) return;
        scratch.met.clear();
        for (std::size_t i = 0; i < m_.count; ++i) {
            if (scratch.alike[i] != 0) scratch.met.push_back(i);
        }
    }

    void keep_nearest(Scratch& scratch) const {
        auto const k = static_cast<std::size_t>(std::min(number_, static_cast<double>(scratch.met.size())));
        auto const middle = scratch.met.begin() + static_cast<std::ptrdiff_t>(k);
        std::partial_sort(scratch.met.begin(), middle, scratch.met.end(), [&](std::size_t a, std::size_t b) {
            return scratch.alike[a] != scratch.alike[b] ? scratch.alike[a] > scratch.alike[b] : a < b;
        });
        scratch.met.resize(k);
    }

    bool gaussian_ = false;
    double number_;
    Arrays m_;
    std::vector<double> squares_;
};

}  // namespace tallywise::serve
