// Rows of X with a last column of constants for the intercept, for solvers that hold matrices as large as X is wide.
//
// Rows are cut into at most sixteen pieces, whose sums are added in order: the same bytes for any number of threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "core/design.hpp"
#include "core/parallel.hpp"

namespace tallywise {

template <class Rows>
struct NarrowRows {
    Team& team;
    Rows X;
    double entry;  // of the intercept's column; 0 for none

    std::size_t n() const { return X.lines; }
    std::size_t q() const { return X.width + (entry != 0 ? 1 : 0); }
    std::size_t grain() const { return std::max<std::size_t>(256, (n() + 15) / 16); }
    std::size_t pieces() const { return Team::count(n(), grain()); }

    double score(std::size_t i, std::vector<double> const& w) const {
        return X.dot(i, w.data()) + (entry != 0 ? entry * w[X.width] : 0.0);
    }

    // f(i) for every row.
    template <class F>
    void each(F&& f) const {
        team.each_range(n(), grain(), [&](std::size_t begin, std::size_t end, std::size_t) {
            for (std::size_t i = begin; i < end; ++i) f(i);
        });
    }

    // The sum of f(i) over the rows.
    template <class F>
    double sum(F&& f) const {
        return team.sum<double>(n(), grain(), [&](std::size_t begin, std::size_t end) {
            double total = 0;
            for (std::size_t i = begin; i < end; ++i) total += f(i);
            return total;
        });
    }

    // X'v, v given row by row.
    template <class F>
    std::vector<double> gather(F&& v) const {
        std::size_t const width = q();
        std::vector<double> parts(pieces() * width, 0.0), total(width, 0.0);
        team.each_range(n(), grain(), [&](std::size_t begin, std::size_t end, std::size_t chunk) {
            double* part = parts.data() + chunk * width;
            double sum = 0;
            for (std::size_t i = begin; i < end; ++i) {
                double const x = v(i);
                if (x == 0) continue;
                X.axpy(i, x, part);
                sum += x;
            }
            if (entry != 0) part[width - 1] += entry * sum;
        });
        for (std::size_t c = 0; c < parts.size(); ++c) total[c % width] += parts[c];
        return total;
    }
};

}  // namespace tallywise
