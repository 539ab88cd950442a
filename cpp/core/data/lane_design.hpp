// X in the two precisions of a Newton solver: float for the products inside conjugate gradients, which want a
// direction good to a few digits, and double for what is reported.
#pragma once

#include <cstddef>
#include <type_traits>
#include <vector>

#include "core/data/design.hpp"
#include "core/data/lanes.hpp"

namespace tallywise {

template <class Rows>
class LaneDesign;

template <class V>
class LaneDesign<Sparse<V>> {
  public:
    explicit LaneDesign(Sparse<V> const& X)
        : n(X.lines),
          p(X.width),
          columns_(transpose(X)),
          exact(X, columns_.view()),
          fast(narrow(X, rows32_), narrow(columns_.view(), columns32_)) {}

    LaneDesign(LaneDesign const&) = delete;  // the products hold pointers into it

    Sparse<V> columns() const { return columns_.view(); }

    std::size_t n, p;

  private:
    OwnedSparse<V> columns_;
    std::vector<float> rows32_, columns32_;

    static Sparse<float> narrow(Sparse<V> const& X, std::vector<float>& data) {
        if constexpr (std::is_same_v<V, float>) {
            return X;
        } else {
            data.assign(X.data, X.data + X.nonzeros());
            return {data.data(), X.indices, X.indptr, X.lines, X.width};
        }
    }

  public:
    Lanes<double, Sparse<V>> exact;
    Lanes<float, Sparse<float>> fast;
};

template <class V>
class LaneDesign<Dense<V>> {
  public:
    explicit LaneDesign(Dense<V> const& X) : n(X.lines), p(X.width), exact(X), fast(narrow(X, rows32_)), rows_(X) {}

    LaneDesign(LaneDesign const&) = delete;  // the products hold pointers into it

    Dense<V> rows() const { return rows_; }

    std::size_t n, p;

  private:
    std::vector<float> rows32_;

    static Dense<float> narrow(Dense<V> const& X, std::vector<float>& data) {
        if constexpr (std::is_same_v<V, float>) {
            return X;
        } else {
            data.resize(X.lines * X.width);
            for (std::size_t i = 0; i < X.lines; ++i) {
                std::copy(X.data + i * X.stride, X.data + i * X.stride + X.width, data.data() + i * X.width);
            }
            return {data.data(), X.lines, X.width, X.width};
        }
    }

  public:
    Lanes<double, Dense<V>> exact;
    Lanes<float, Dense<float>> fast;

  private:
    Dense<V> rows_;
};

}  // namespace tallywise
