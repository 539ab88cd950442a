// Rows of X with a last column of constants for the intercept, for solvers that hold matrices as large as X is wide.
//
// Rows are cut into at most sixteen pieces, whose sums are added in order: the same bytes for any number of threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "core/base/cholesky.hpp"
#include "core/base/parallel.hpp"
#include "core/base/relative_gap.hpp"
#include "core/data/design.hpp"
#include "core/linear/balance.hpp"
#include "core/linear/losses.hpp"
#include "core/linear/solution.hpp"
#include "core/linear/weighted_gram.hpp"

namespace tallywise::linear {

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
        return sum_rows([&](std::size_t i, double* part) {
            double const x = v(i);
            if (x != 0) X.axpy(i, x, part);
            return x;
        });
    }

    // The diagonal of X' h X.
    std::vector<double> squares(std::vector<double> const& h) const {
        std::vector<double> total = sum_rows([&](std::size_t i, double* part) {
            if (h[i] == 0) return 0.0;
            X.each(i,
                   [&](std::size_t j, auto x) { part[j] += h[i] * static_cast<double>(x) * static_cast<double>(x); });
            return h[i];
        });
        if (entry != 0) total.back() *= entry;
        return total;
    }

  private:
    // Over the rows, what f adds to X.width numbers, and the sum of what it gives back times the entry of the intercept.
    template <class F>
    std::vector<double> sum_rows(F&& f) const {
        std::size_t const width = q();
        std::vector<double> parts(pieces() * width, 0.0), total(width, 0.0);
        team.each_range(n(), grain(), [&](std::size_t begin, std::size_t end, std::size_t chunk) {
            double* part = parts.data() + chunk * width;
            double sum = 0;
            for (std::size_t i = begin; i < end; ++i) sum += f(i, part);
            if (entry != 0) part[width - 1] += entry * sum;
        });
        for (std::size_t c = 0; c < parts.size(); ++c) total[c % width] += parts[c];
        return total;
    }
};

// (R + X' h X)^-1, in the units of the columns.
struct NarrowFactor {
    std::vector<double> L, scale;

    void solve(std::vector<double>& v) const {
        for (std::size_t j = 0; j < v.size(); ++j) v[j] *= scale[j];
        cholesky_solve(L.data(), v.size(), v.data());
        for (std::size_t j = 0; j < v.size(); ++j) v[j] *= scale[j];
    }
};

// 1/2 |w|^2 + sum s_i l(y_i, x_i'w + b), its intercept a last entry of w that escapes the penalty where it is `free`.
template <class Rows, class Loss>
struct NarrowProblem {
    NarrowRows<Rows> rows;
    Loss loss;
    double const *y, *s;
    bool free;

    // The same rows and targets under another loss.
    template <class Other>
    NarrowProblem<Rows, Other> under(Other const& other) const {
        return {rows, other, y, s, free};
    }
    // What a squared weight costs: 1, and 0 for a free intercept.
    std::vector<double> ridge() const {
        std::vector<double> R(rows.q(), 1.0);
        if (free) R.back() = 0.0;
        return R;
    }
    NarrowFactor factor(std::vector<double> const& R, std::vector<double> const& h) const {
        std::size_t const q = R.size();
        std::vector<double> H = weighted_gram(rows.team, rows.X, h.data(), rows.entry);
        for (std::size_t j = 0; j < q; ++j) H[j * q + j] += R[j];
        std::vector<double> scale = equilibrate(H, q);
        cholesky(H.data(), q, 1e-14);
        return {std::move(H), std::move(scale)};
    }
    double value(std::vector<double> const& w, std::vector<double> const& z) const {
        double total = rows.sum([&](std::size_t i) { return s[i] * loss.value(y[i], z[i]); });
        for (std::size_t j = 0; j < w.size(); ++j) total += j + 1 == w.size() && free ? 0.0 : 0.5 * w[j] * w[j];
        return total;
    }
    // D at the dual variables v(i), given g = X'v. A free intercept asks that they balance.
    template <class F>
    double dual(F&& v, std::vector<double> const& g) const {
        if (!free) return dual_at(v, g);
        Balance balance;
        balance.positive = rows.sum([&](std::size_t i) { return std::max(v(i), 0.0); });
        balance.negative = rows.sum([&](std::size_t i) { return std::max(-v(i), 0.0); });
        auto const balanced = [&](std::size_t i) { return balance(v(i)); };
        return dual_at(balanced, rows.gather(balanced));
    }
    Solution solution(std::vector<double> const& w, double primal, double dual, int iterations) const {
        auto const end = w.begin() + static_cast<std::ptrdiff_t>(rows.X.width);
        return {{w.begin(), end}, rows.entry != 0 ? rows.entry * w.back() : 0.0, primal, dual, iterations};
    }

  private:
    template <class F>
    double dual_at(F&& v, std::vector<double> const& g) const {
        double total = -rows.sum([&](std::size_t i) { return weighted_conjugate(loss, s[i], y[i], -v(i)); });
        for (std::size_t j = 0; j < g.size(); ++j) total -= j + 1 == g.size() && free ? 0.0 : 0.5 * g[j] * g[j];
        return total;
    }
};

}  // namespace tallywise::linear
