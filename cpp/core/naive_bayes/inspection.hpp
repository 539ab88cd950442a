// A batch of rows for naive Bayes, and what it holds, before anything changes.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "core/base/parallel.hpp"
#include "core/data/design.hpp"
#include "core/data/readers.hpp"
#include "core/naive_bayes/events.hpp"

namespace tallywise::naive_bayes {

// Rows with their classes, 0 to K - 1, and weights; no weights are weights of 1.
struct Batch {
    Design const* X = nullptr;
    std::int64_t const* classes = nullptr;
    double const* weights = nullptr;
    bool sorted = false;                                       // are the entries of each row in rising order?
    double largest = std::numeric_limits<double>::infinity();  // amount of an entry at most, where known

    double weight(std::size_t i) const { return weights == nullptr ? 1.0 : weights[i]; }
};

// visit_read, without the sparse designs for events that read every entry.
template <class Event, class F>
void visit_for(Design const& design, F&& f) {
    visit_read(design, [&](auto const& X) {
        if constexpr (Event::reads_sparse || !std::remove_cvref_t<decltype(X)>::is_sparse) {
            f(X);
        } else {
            throw std::invalid_argument("This event model reads dense data only.");
        }
    });
}

// Threads for so many entries, each read with one vector of classes: to start a team takes as long as some 50,000.
inline int worthwhile(std::size_t entries, int threads) { return entries >= 50'000 ? threads : 1; }

struct Inspection {
    bool negative = false;  // is anything below 0 that the event model cannot add?
    bool integral = true;   // are all that will be added integers?
    double largest = 0;     // amount of an entry
};

namespace detail {

// Values in pieces for a team: lines of dense designs, entries of sparse ones. f(first, count) over the runs of values
// that lie together in pieces [begin, end).
template <class T>
std::size_t pieces(Dense<T> const& X) {
    return X.lines;
}
template <class T>
std::size_t pieces(Sparse<T> const& X) {
    return X.nonzeros();
}
template <class T, class F>
void each_run(Dense<T> const& X, std::size_t begin, std::size_t end, F&& f) {
    for (std::size_t i = begin; i < end; ++i) f(X.data + i * X.stride, X.width);
}
template <class T, class F>
void each_run(Sparse<T> const& X, std::size_t begin, std::size_t end, F&& f) {
    f(X.data + begin, end - begin);
}

}  // namespace detail

template <class Event>
Inspection inspect(Event const& event, Batch const& batch, Team& team) {
    Inspection found;
    if constexpr (Event::statistics > 1) return {false, false};  // squares need more bits than a double has
    visit(*batch.X, [&](auto const& X) {
        using View = std::remove_cvref_t<decltype(X)>;
        using T = typename View::Value;
        std::size_t const grain = View::is_sparse ? 65'536 : 65'536 / std::max<std::size_t>(X.width, 1) + 1;
        std::vector<Inspection> parts(Team::count(detail::pieces(X), grain));
        team.each_range(detail::pieces(X), grain, [&](std::size_t begin, std::size_t end, std::size_t chunk) {
            detail::each_run(X, begin, end, [&](T const* x, std::size_t n) {
                double least = 0, fraction = 0, largest = 0;
                if constexpr (std::is_integral_v<T>) {
                    // Amounts rise with entries. (One by one as doubles, which AVX2 cannot make of them: twice as
                    // long.)
                    T low = 0, high = 0;
                    for (std::size_t k = 0; k < n; ++k) {
                        low = std::min(low, x[k]);
                        high = std::max(high, x[k]);
                    }
                    least = std::min(0.0, event.amount(static_cast<double>(low)));
                    largest = std::max(0.0, event.amount(static_cast<double>(high)));
                } else {
#pragma omp simd reduction(min : least) reduction(+ : fraction) reduction(max : largest)
                    for (std::size_t k = 0; k < n; ++k) {
                        double const a = event.amount(static_cast<double>(x[k]));
                        least = std::min(least, a);
                        largest = std::max(largest, a);
                        fraction += std::abs(a - std::trunc(a));
                    }
                }
                parts[chunk].negative |= Event::non_negative && least < 0;
                parts[chunk].integral &= fraction == 0;
                parts[chunk].largest = std::max(parts[chunk].largest, largest);
                if (std::is_integral_v<T> && largest > largest_count) {
                    throw std::overflow_error("Counts beyond 2^53 cannot be added up exactly.");
                }
            });
        });
        for (Inspection const& part : parts) {
            found.negative |= part.negative;
            found.integral &= part.integral;
            found.largest = std::max(found.largest, part.largest);
        }
        for (std::size_t i = 0; batch.weights != nullptr && i < X.lines; ++i) {
            found.integral &= batch.weights[i] == std::trunc(batch.weights[i]);
        }
    });
    return found;
}

}  // namespace tallywise::naive_bayes
