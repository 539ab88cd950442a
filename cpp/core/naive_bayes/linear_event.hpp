// What event models with one number a cell share, for events.hpp.
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>

#include "core/base/numeric.hpp"
#include "core/naive_bayes/statistics.hpp"

namespace tallywise::naive_bayes {

namespace detail {

constexpr double impossible = -std::numeric_limits<double>::infinity();

// The logarithm of a denominator. 0 only without smoothing and without data: its numerators are 0 too, and the
// quotient is to be 0, not 0/0.
inline double log_total(double total) { return total > 0 ? log(total) : 0.0; }

// a log(x), with nothing to say where a is 0.
inline double times_log(double a, double x) { return a == 0 ? 0.0 : a * log(x); }

}  // namespace detail

// What events with one number a cell have in common: g(a, theta) = a theta.
struct LinearEvent {
    static constexpr std::size_t statistics = 1, parameters = 1;
    static constexpr bool skips_zero = true;    // amount 0 adds nothing to a score
    static constexpr bool non_negative = true;  // amounts, and so their sums
    static constexpr bool reads_sparse = true;
    static constexpr bool adds_repeats = true;  // an entry may come in parts that add up to it
    static constexpr bool features_are_cells = true;
    // How theta is made: class by class from counts (class_cells), or cell by cell (cell); see LinearEstimate.
    static constexpr bool from_counts = true, from_cells = false;
    static constexpr bool sums_classes = false;   // does theta of a class depend on the counts of all classes?
    static constexpr bool has_constants = false;  // do cells have a part of b?

    std::size_t cell(std::size_t j, double) const { return j; }
    double amount(double x) const { return x; }
    std::size_t first_cell(std::size_t j) const { return j; }        // of feature j; features follow each other
    std::size_t features(std::size_t cells) const { return cells; }  // columns of X
    std::size_t rows(std::size_t cells) const { return cells; }      // of theta
    static std::size_t columns(std::size_t classes, Smoothing const&) { return classes; }

    // May these be the sums of some rows? A class without documents has no tokens.
    bool plausible(Statistics const& S, std::size_t c) const {
        return S.documents(c).high > 0 || S.tokens(c).high == 0;
    }

    // z += g(a, theta), for a vector of classes.
    template <class V>
    static void add_g(double a, V const (&theta)[1], V& z) {
        z += a * theta[0];
    }
};

// What their estimates have in common. Besides, each has
//   class_cells(c, n, a, total, size, theta, b)    theta of `size` cells for class c from its sums n there, their
//                                  smoothing a, and the sums over classes (where `sums_classes`); their parts of b
//                                  (where `has_constants`)
//   absent(total, theta)           theta of a cell for all classes had none of them any of its sum over classes (where
//                                  `sums_classes`)
//   log_cells(c, n, a, size, to)   logarithms of the parameters of class c, where they are not theta (optional)
//   cell(j, n, theta, b)           theta of cell j for all classes from their sums n; its part of b is added (where
//                                  `from_cells`)
//   hold_out(event, X, i, y, z)    makes the scores z of row i of class y what they are without the row
struct LinearEstimate {
    Statistics S;
    Smoothing alpha;

    void finish(double*, std::size_t, double*) const {}  // after all cells: theta, its stride, b
    void prepare_hold_out() {}                           // before the first row
};

}  // namespace tallywise::naive_bayes
