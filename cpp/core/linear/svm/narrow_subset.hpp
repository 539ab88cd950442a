// Some rows of a narrow problem (narrow_rows.hpp) as a problem of their own.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/data/design.hpp"
#include "core/linear/distinct_rows.hpp"
#include "core/linear/narrow_rows.hpp"

namespace tallywise::linear::svm {

namespace detail {

template <class V>
struct DenseCopies {
    std::vector<V> data;
    std::size_t lines, width;

    DenseCopies(Dense<V> const& X, std::vector<std::uint32_t> const& which)
        : data(which.size() * X.width), lines(which.size()), width(X.width) {
        for (std::size_t k = 0; k < lines; ++k) {
            std::copy_n(X.data + which[k] * X.stride, width, data.data() + k * width);
        }
    }
    Dense<V> view() const { return {data.data(), lines, width, width}; }
};

template <class V>
RowCopies<V> copies_of(Sparse<V> const& X, std::vector<std::uint32_t> const& which) {
    return {X, which};
}
template <class V>
DenseCopies<V> copies_of(Dense<V> const& X, std::vector<std::uint32_t> const& which) {
    return {X, which};
}

}  // namespace detail

template <class Rows>
class NarrowSubset {
  public:
    // The rows `which`.
    template <class Loss>
    NarrowSubset(NarrowProblem<Rows, Loss> const& whole, std::vector<std::uint32_t> const& which)
        : copies_(detail::copies_of(whole.rows.X, which)) {
        for (std::uint32_t const i : which) {
            y_.push_back(whole.y[i]);
            s_.push_back(whole.s[i]);
        }
    }

    // Under some loss; it lives as long as this.
    template <class Loss>
    NarrowProblem<Rows, Loss> problem(NarrowRows<Rows> const& like, Loss const& loss, bool free) const {
        return {{like.team, copies_.view(), like.entry}, loss, y_.data(), s_.data(), free};
    }

  private:
    decltype(detail::copies_of(std::declval<Rows const&>(), {})) copies_;
    std::vector<double> y_, s_;
};

}  // namespace tallywise::linear::svm
