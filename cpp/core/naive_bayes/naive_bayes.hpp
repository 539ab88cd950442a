// Naive Bayes over any event model: one counting kernel, one scoring kernel, and what follows from the two.
//
//   learn     sums += or -= a batch
//
// before it, in inspection.hpp, what the batch holds; then, in estimates.hpp, weights from the sums and, in scores.hpp,
// what the weights say of rows.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <stdexcept>
#include <variant>
#include <vector>

#include "core/base/parallel.hpp"
#include "core/base/pool.hpp"
#include "core/data/design.hpp"
#include "core/data/readers.hpp"
#include "core/naive_bayes/category_counts.hpp"
#include "core/naive_bayes/class_counts.hpp"
#include "core/naive_bayes/events.hpp"
#include "core/naive_bayes/groups.hpp"
#include "core/naive_bayes/inspection.hpp"

namespace tallywise::naive_bayes {

// Forgetting would leave less than nothing. The sums are as they were.
struct NeverLearned : std::runtime_error {
    using std::runtime_error::runtime_error;
};

namespace detail {

template <class Event>
double amount_of(Event const& event, double const* x, std::size_t n) {
    double total = 0;
#pragma omp simd reduction(+ : total)
    for (std::size_t k = 0; k < n; ++k) total += event.amount(x[k]);
    return total;
}

// sum_j amount(x_ij). Integers beyond 2^53 are summed again with more bits, so that what does not fit is noticed.
template <class Event, class View>
double row_sum(Event const& event, View const& X, std::size_t i) {
    double total = 0;
    X.each_stretch(i, [&](double const* x, std::size_t size) { total += amount_of(event, x, size); });
    if (std::abs(total) < largest_count) return total;
    Pair more;
    X.each(i, [&](std::size_t, auto x) { more = more + Pair{event.amount(static_cast<double>(x)), 0.0}; });
    bool const fits = more.high < largest_count || (more.high == largest_count && more.low <= 0);
    return fits ? more.high : std::numeric_limits<double>::infinity();
}

inline void add_to(double& high, double& low, Pair amount) {
    Pair const sum = Pair{high, low} + amount;
    high = sum.high;
    low = sum.low;
}

// Documents and tokens of each class in a batch: four rows as in Statistics::totals.
template <class Event, class View>
std::vector<double> batch_totals(Event const& event, View const& X, Batch const& batch, Groups const& groups,
                                 Team& team) {
    std::size_t const K = groups.start.size() - 1;
    std::vector<double> totals(4 * K);
    auto count = [&](std::size_t c) {
        Pair documents, tokens;
        for (std::size_t r = groups.start[c]; r < groups.start[c + 1]; ++r) {
            std::size_t const i = groups.order[r];
            double const s = batch.weight(i);
            documents = documents + Pair{s, 0};
            if constexpr (Event::statistics == 1) tokens = tokens + two_product(s, row_sum(event, X, i));
        }
        totals[c] = documents.high;
        totals[K + c] = documents.low;
        totals[2 * K + c] = tokens.high;
        totals[3 * K + c] = tokens.low;
    };
    team.each(K, count);
    return totals;
}

// Rows whose entries are the numbers of their cells; null where they are not.
template <class Event>
Categories const* categories(Batch const& batch) {
    return Event::features_are_cells ? nullptr : std::get_if<Categories>(batch.X);
}

// Every class and cell that a batch names must be in the sums: what is written is never out of bounds.
template <class Event, class View>
void require_known(Event const& event, View const& X, Batch const& batch, Statistics const& S, Team& team) {
    bool known = X.width == event.features(S.cells);
    for (std::size_t i = 0; i < X.lines; ++i) {
        known &= batch.classes[i] >= 0 && static_cast<std::size_t>(batch.classes[i]) < S.classes;
    }
    if constexpr (!Event::features_are_cells) {
        Categories const* const numbers = categories<Event>(batch);
        known &= S.cells == event.first_cell(event.features(S.cells));
        if (known && numbers != nullptr) known = all_known(event, *numbers, team);
        for (std::size_t i = 0; known && numbers == nullptr && i < X.lines; ++i) {
            X.each(i, [&](std::size_t j, auto x) { known &= event.cell(j, static_cast<double>(x)) < S.cells; });
        }
    }
    if (!known) throw NeverLearned("values");
}

// Adds entry x with weight s to the sums of class c, and what a double cannot hold of it to their carry.
template <class Event>
void add_entry(Event const& event, Statistics const& S, std::size_t c, std::size_t j, double x, double s) {
    auto add = [&](std::size_t k, Pair amount) {
        Pair const sum = two_sum(S.value[k], amount.high);
        S.value[k] = sum.high;
        S.carry[k] += sum.low + amount.low;
    };
    std::size_t const k = S.at(0, c, event.cell(j, x));
    double const a = event.amount(x);
    Pair const first = two_product(s, a);
    add(k, first);
    if constexpr (Event::statistics == 2) {
        Pair second = two_product(first.high, a);
        second.low += first.low * a;
        add(k + S.plane, second);
    }
}

// The same for entries [begin, end) of four dense rows, whose features are the cells: the sums are read and written
// once for four rows. Rows are added in their order, as one by one.
template <bool Weighted, class Event>
void add_four_rows(Event const& event, Statistics const& S, std::size_t c, std::size_t begin, std::size_t end,
                   double const* const (&x)[4], double const (&s)[4]) {
    constexpr bool squares = Event::statistics == 2;
    auto add = [](double& value, double& carry, Pair amount) {
        Pair const sum = two_sum(value, amount.high);
        value = sum.high;
        carry += Weighted || squares ? sum.low + amount.low : sum.low;
    };
    double *value = S.value + S.at(0, c, begin), *carry = S.carry + S.at(0, c, begin);
    double *value2 = squares ? value + S.plane : value, *carry2 = squares ? carry + S.plane : carry;
    double const *x0 = x[0], *x1 = x[1], *x2 = x[2], *x3 = x[3];
    double const s0 = s[0], s1 = s[1], s2 = s[2], s3 = s[3];
#pragma omp simd
    for (std::size_t k = 0; k < end - begin; ++k) {
        double sum = value[k], low = carry[k], sum2 = 0, low2 = 0;
        if constexpr (squares) {
            sum2 = value2[k];
            low2 = carry2[k];
        }
        auto add_row = [&](double entry, double weight) {
            double const a = event.amount(entry);
            Pair const first = Weighted ? two_product(weight, a) : Pair{weight * a, 0};
            add(sum, low, first);
            if constexpr (squares) {
                Pair second = two_product(first.high, a);
                if constexpr (Weighted) second.low += first.low * a;
                add(sum2, low2, second);
            }
        };
        add_row(x0[k], s0);
        add_row(x1[k], s1);
        add_row(x2[k], s2);
        add_row(x3[k], s3);
        value[k] = sum;
        carry[k] = low;
        if constexpr (squares) {
            value2[k] = sum2;
            carry2[k] = low2;
        }
    }
}

// Carries are summed up loosely in between; afterwards value and carry are the one pair that stands for their sum.
template <class Event>
void settle(Statistics const& S, std::size_t c, std::size_t begin, std::size_t end) {
    for (std::size_t t = 0; t < Event::statistics; ++t) {
        double* value = S.value + S.at(t, c, 0);
        double* carry = S.carry + S.at(t, c, 0);
#pragma omp simd
        for (std::size_t k = begin; k < end; ++k) {
            Pair const sum = two_sum(value[k], carry[k]);
            value[k] = sum.high;
            carry[k] = sum.low;
        }
    }
}

// The totals after a batch of sign +1 or -1, or the reason why it cannot be.
inline std::vector<double> new_totals(Statistics const& S, std::vector<double> const& batch, double sign) {
    std::size_t const K = S.classes;
    std::vector<double> totals(S.totals, S.totals + 4 * K);
    for (std::size_t c = 0; c < K; ++c) {
        for (std::size_t row : {std::size_t{0}, 2 * K}) {
            double& high = totals[row + c];
            double& low = totals[row + K + c];
            add_to(high, low, {sign * batch[row + c], sign * batch[row + K + c]});
            if (S.carry == nullptr && (high > largest_count || low != 0 || !std::isfinite(high))) {
                throw std::overflow_error("Counts of a class would pass 2^53, beyond which they are not exact.");
            }
            if (!std::isfinite(high)) throw std::overflow_error("The sums of a class would overflow.");
            if (high < 0 && S.carry != nullptr && high > -0x1p-40 * std::abs(batch[row + c])) high = low = 0;
            if (high < 0) throw NeverLearned(row == 0 ? "documents" : "tokens");
        }
    }
    return totals;
}

// Whether a batch adds whole numbers alone, of weight 1, and no sum of a class can reach 2^53 by them.
template <class View>
bool fits(View const& X, Batch const& batch, Statistics const& S) {
    double most = 0;
    for (std::size_t c = 0; c < S.classes; ++c) most = std::max({most, S.documents(c).high, S.tokens(c).high});
    double const more = static_cast<double>(X.nonzeros()) * std::max(batch.largest, 1.0);
    return S.carry == nullptr && batch.weights == nullptr && most + more < largest_count / 2;
}

template <class View>
std::size_t entries_of(View const& X, Groups const& groups, std::size_t c) {
    std::size_t entries = 0;
    for (std::size_t r = groups.start[c]; r < groups.start[c + 1]; ++r) entries += X.structure.length(groups.order[r]);
    return entries;
}

// Rows of class c by fours, as many as there are; gives where the rest begins in the order of the groups.
template <class Event>
std::size_t add_fours(Event const& event, ReadDense const& X, Batch const& batch, Groups const& groups, double sign,
                      Statistics const& S, std::size_t c, std::size_t begin, std::size_t end) {
    double buffer[4][Reader::stretch];
    std::size_t r = groups.start[c];
    for (; r + 4 <= groups.start[c + 1] && end - begin <= Reader::stretch; r += 4) {
        double const* x[4];
        double s[4];
        for (std::size_t k = 0; k < 4; ++k) {
            std::size_t const i = groups.order[r + k];
            // Rows of a class lie anywhere: no hardware guesses which comes next.
            X.fetch(groups.order[std::min(r + k + 8, groups.start[c + 1] - 1)], begin, end);
            s[k] = sign * batch.weight(i);
            x[k] = X.part(i, begin, end, buffer[k]);
        }
        if (batch.weights == nullptr) {
            add_four_rows<false>(event, S, c, begin, end, x, s);
        } else {
            add_four_rows<true>(event, S, c, begin, end, x, s);
        }
    }
    return r;
}

// Returns the amounts that were added to each class, but for the weights, where these are 1 and nothing is carried.
template <bool Carry, class Event, class View>
std::vector<double> add_rows(Event const& event, View const& X, Batch const& batch, Groups const& groups, double sign,
                             Statistics const& S, Team& team) {
    // A class's sums belong to one chunk (or, where classes are few, a stretch of its features), so that each sum is
    // taken in the order of the rows whatever the number of threads, with no second table to add up.
    std::size_t const K = S.classes, entries = X.nonzeros();
    constexpr std::size_t stretch = 256;  // of dense features: four sums of them stay in the first cache
    // Counts of entries that add whole numbers: a table for each part of a class's rows, so that two classes occupy more
    // than two threads (cut by features, each part searches every row: 5.2 ms for 1.2 on 30,000 x 3,000).
    bool const counted = !Carry && View::is_sparse && ClassCounts::holds(batch.largest) && fits(X, batch, S);
    bool const split = entries > 100'000 && K < 8;
    std::size_t const parts = counted && split ? Team::count(8, K) : 1;
    std::size_t blocks = 1;
    if (View::is_sparse ? batch.sorted && split && !counted : X.width > stretch) {
        blocks = View::is_sparse ? Team::count(8, K) : Team::count(X.width, stretch);
    }
    std::size_t const size = Team::count(std::max<std::size_t>(X.width, 1), blocks);
    std::size_t const pieces = blocks * parts;
    std::vector<double> amounts(K * pieces, 0.0), tokens(K, 0.0);
    std::vector<std::mutex> locks(K);
    Pool<ClassCounts> pool;
    auto chunk = [&](std::size_t index) {
        std::size_t const c = index / pieces, begin = std::min(X.width, index % blocks * size);
        std::size_t const end = std::min(X.width, begin + size);
        // A table of its own is read once more in the end: that pays for itself where half of it is written to.
        bool table = false;
        if constexpr (!Carry && View::is_sparse) table = counted && 2 * entries_of(X, groups, c) >= size * parts;
        std::size_t const rows = groups.start[c + 1] - groups.start[c], part = index % pieces / blocks;
        if (!table && part > 0) return;
        std::size_t r = table ? groups.start[c] + rows * part / parts : groups.start[c];
        std::size_t const last = table ? groups.start[c] + rows * (part + 1) / parts : groups.start[c + 1];
        double amount = 0;
        if constexpr (!Carry && View::is_sparse) {
            if (table) {
                auto const counts = pool.take([&] { return std::make_unique<ClassCounts>(size); });
                counts->start(S.value + S.at(0, c, begin), sign, end - begin, locks[c]);
                for (; r < last; ++r) {
                    // Rows of a class lie anywhere: no hardware guesses which comes next.
                    X.fetch(groups.order[std::min(r + 2, last - 1)]);
                    X.each_between(
                        groups.order[r], begin, end,
                        [&event, begin, to = counts->data()](std::size_t j, double x) {
                            to[j - begin] += static_cast<std::int32_t>(event.amount(x));
                        },
                        [&](double const* x, std::size_t n) {
                            double const more = amount_of(event, x, n);
                            counts->expect(more);
                            amount += more;
                        });
                }
                counts->flush();
            }
        }
        if constexpr (Carry && !View::is_sparse && Event::features_are_cells) {
            r = add_fours(event, X, batch, groups, sign, S, c, begin, end);
        }
        for (; r < last; ++r) {
            std::size_t const i = groups.order[r];
            double const s = sign * batch.weight(i);
            if constexpr (!Carry) {
                double* sums = S.value + S.at(0, c, 0);
                X.each_between(
                    i, begin, end,
                    [&event, sums, s](std::size_t j, double x) { sums[event.cell(j, x)] += s * event.amount(x); },
                    [&](double const* x, std::size_t n) { amount += amount_of(event, x, n); });
            } else {
                X.each_between(
                    i, begin, end,
                    [&](std::size_t j, double x) {
                        add_entry(event, S, c, j, x, s);
                        if constexpr (View::is_sparse) {
                            std::size_t const cell = event.cell(j, x);
                            settle<Event>(S, c, cell, cell + 1);
                        }
                    },
                    [](double const*, std::size_t) {});
            }
        }
        if constexpr (Carry && !View::is_sparse) settle<Event>(S, c, event.first_cell(begin), event.first_cell(end));
        amounts[index] = amount;
    };
    team.each(K * pieces, chunk);
    for (std::size_t index = 0; index < amounts.size(); ++index) tokens[index / pieces] += amounts[index];
    return tokens;
}

// The same for categories in whole numbers.
template <class Event>
std::vector<double> add_numbers(Event const& event, Categories const& X, Groups const& groups, double sign,
                                Statistics const& S, Team& team) {
    add_categories(event, X, groups, sign, S, team);
    std::vector<double> tokens;
    for (std::size_t c = 0; c < S.classes; ++c) {
        tokens.push_back(static_cast<double>((groups.start[c + 1] - groups.start[c]) * X.width));
    }
    return tokens;
}

// What to put back when forgetting fails: the totals, and real sums of the classes at stake, which cannot be trusted to
// come back by adding.
template <class Event>
class Kept {
  public:
    Kept(Statistics const& S, Groups const& groups) : S(S), groups(groups) {}

    void take() {
        each_row([&](double* row, std::size_t n) { values.insert(values.end(), row, row + n); });
    }
    void put_back() const {
        auto from = values.begin();
        each_row([&](double* row, std::size_t n) {
            auto const next = from + static_cast<std::ptrdiff_t>(n);
            std::copy(from, next, row);
            from = next;
        });
    }

  private:
    Statistics const& S;
    Groups const& groups;
    std::vector<double> values;

    template <class F>
    void each_row(F&& f) const {
        f(S.totals, 4 * S.classes);
        for (std::size_t c = 0; c < S.classes && S.carry != nullptr; ++c) {
            for (std::size_t t = 0; t < Event::statistics && groups.start[c] < groups.start[c + 1]; ++t) {
                f(S.value + S.at(t, c, 0), S.cells);
                f(S.carry + S.at(t, c, 0), S.cells);
            }
        }
    }
};

// Are the sums of these rows' cells still sums of something? Tiny remains of real numbers are put to 0.
template <class Event, class View>
bool all_plausible(Event const& event, View const& X, Batch const& batch, Groups const& groups, Statistics const& S) {
    for (std::size_t c = 0; c < S.classes; ++c) {
        if (groups.start[c] == groups.start[c + 1]) continue;
        bool good = event.plausible(S, c);
        if constexpr (Event::non_negative) {
            for (std::size_t r = groups.start[c]; r < groups.start[c + 1]; ++r) {
                std::size_t const i = groups.order[r];
                double const s = batch.weight(i);
                X.each(i, [&](std::size_t j, auto x) {
                    std::size_t const k = S.at(0, c, event.cell(j, static_cast<double>(x)));
                    if (S.carry != nullptr &&
                        std::abs(S.value[k]) <= 0x1p-80 * s * event.amount(static_cast<double>(x))) {
                        S.value[k] = S.carry[k] = 0;
                    }
                    good &= S.value[k] >= 0;
                });
            }
        }
        if (!good) return false;
    }
    return true;
}

}  // namespace detail

// S += sign * batch, or an exception and S as it was. With S.carry null, all that is added is integer (see inspect).
template <class Event>
void learn(Event const& event, Batch const& batch, double sign, Statistics const& S, Team& team) {
    visit_for<Event>(*batch.X, [&](auto const& X) {
        detail::require_known(event, X, batch, S, team);
        Groups const groups(batch.classes, X.lines, S.classes);
        bool const exact = detail::fits(X, batch, S);
        auto add = [&](double by) {
            if constexpr (!Event::features_are_cells) {
                if (auto const* const numbers = detail::categories<Event>(batch); numbers != nullptr && exact) {
                    return detail::add_numbers(event, *numbers, groups, by, S, team);
                }
            }
            if (S.carry != nullptr) return detail::add_rows<true>(event, X, batch, groups, by, S, team);
            if constexpr (Event::statistics == 1) {
                return detail::add_rows<false>(event, X, batch, groups, by, S, team);
            }
            return std::vector<double>{};
        };
        if (exact) {
            // Whole numbers that stay exact come back by subtracting: their totals need no pass of their own.
            auto const tokens = add(sign);
            std::vector<double> counts(4 * S.classes, 0.0);
            for (std::size_t c = 0; c < S.classes; ++c) {
                counts[c] = static_cast<double>(groups.start[c + 1] - groups.start[c]);
                counts[2 * S.classes + c] = tokens[c];
            }
            try {
                auto const totals = detail::new_totals(S, counts, sign);
                std::vector<double> const before(S.totals, S.totals + 4 * S.classes);
                std::copy(totals.begin(), totals.end(), S.totals);
                if (sign > 0 || detail::all_plausible(event, X, batch, groups, S)) return;
                std::copy(before.begin(), before.end(), S.totals);
                throw NeverLearned("features");
            } catch (NeverLearned const&) {
                add(-sign);
                throw;
            }
        }
        auto const totals = detail::new_totals(S, detail::batch_totals(event, X, batch, groups, team), sign);
        detail::Kept<Event> kept(S, groups);
        if (sign < 0) kept.take();
        add(sign);
        std::copy(totals.begin(), totals.end(), S.totals);
        if (sign > 0 || detail::all_plausible(event, X, batch, groups, S)) return;
        if (S.carry == nullptr) add(-sign);
        kept.put_back();
        throw NeverLearned("features");
    });
}

}  // namespace tallywise::naive_bayes
