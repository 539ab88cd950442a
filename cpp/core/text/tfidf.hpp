// Weights on a matrix of counts, in place: x_ij *= idf_j, then each row divided by its norm.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <type_traits>

#include "core/base/parallel.hpp"

namespace tallywise::text {

enum class Norm : std::uint8_t { none, l1, l2 };

// Sum of f(x_k) in the order of k, rounded term by term: terms pass through memory, or the compiler would fuse the
// product and the sum where the processor can, and bits would depend on the processor.
template <class Value, class F>
double sum_of(Value const* x, std::size_t n, F&& f) {
    constexpr std::size_t block = 64;
    double terms[block];
    double total = 0;
    for (std::size_t k = 0; k < n; k += block) {
        std::size_t const count = std::min(block, n - k);
        for (std::size_t i = 0; i < count; ++i) terms[i] = static_cast<double>(f(x[k + i]));
        for (std::size_t i = 0; i < count; ++i) total += terms[i];
    }
    return total;
}

// `idf`, one weight per column, may be empty. Sums run along each row in the order of its entries, as scikit-learn's do.
// The indices may be the caller's own, which another thread can change at any time, so each is compared with the number
// of columns where it is used: an entry whose index is out of range becomes 0.
template <class Index, class Value>
void weigh_rows(Team& team, Index const* indptr, std::size_t rows, Index const* indices, Value* data,
                std::span<std::type_identity_t<Value> const> idf, Norm norm) {
    // Of the type in which squares are taken.
    constexpr double largest_sum = std::numeric_limits<Value>::max();
    constexpr double smallest_sum = std::numeric_limits<Value>::min() / std::numeric_limits<Value>::epsilon();
    team.each_range(rows, 256, [&](std::size_t begin, std::size_t end, std::size_t) {
        for (std::size_t r = begin; r < end; ++r) {
            auto const first = static_cast<std::size_t>(indptr[r]), last = static_cast<std::size_t>(indptr[r + 1]);
            if (!idf.empty()) {
                for (std::size_t k = first; k < last; ++k) {
                    auto const j = static_cast<std::size_t>(indices[k]);
                    data[k] = j < idf.size() ? data[k] * idf[j] : Value{0};
                }
            }
            if (norm == Norm::none) continue;
            auto const sum_of_row = [&] {
                return norm == Norm::l1 ? sum_of(data + first, last - first, [](Value x) { return std::abs(x); })
                                        : sum_of(data + first, last - first, [](Value x) { return x * x; });
            };
            double sum = sum_of_row();
            // Squares of very large or very small entries leave the range: in units of the largest they do not.
            if (!(sum <= largest_sum) || sum < smallest_sum) {
                double largest = 0;
                for (std::size_t k = first; k < last; ++k) largest = std::max(largest, std::abs(double(data[k])));
                if (largest == 0) continue;
                if (!std::isfinite(largest)) throw std::invalid_argument("Weights of a row overflow: scale X down.");
                for (std::size_t k = first; k < last; ++k) data[k] = static_cast<Value>(data[k] / largest);
                sum = sum_of_row();
            }
            double const length = norm == Norm::l1 ? sum : std::sqrt(sum);
            for (std::size_t k = first; k < last; ++k) data[k] = static_cast<Value>(data[k] / length);
        }
    });
}

}  // namespace tallywise::text
