// NumPy arrays to core views and back. The binding files share nothing else.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "core/data/design.hpp"

namespace nb = nanobind;

namespace tallywise::bindings {

template <class T>
using Vector = nb::ndarray<T const, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = nb::ndarray<T const, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using MutableVector = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using MutableMatrix = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// f() while other threads may run Python.
template <class F>
auto without_gil(F&& f) {
    nb::gil_scoped_release unlocked;
    return f();
}

// What core code relies on is checked here, once, for every caller: a number out of range would be read or written out
// of bounds.
inline void require(bool holds, char const* message) {
    if (!holds) throw std::invalid_argument(message);
}

// All of these are in [least, below).
template <class T>
void require_range(Vector<T> const& values, std::int64_t least, std::size_t below, char const* message) {
    auto const inside = [&](T value) {
        auto const v = static_cast<std::int64_t>(value);
        return v >= least && (v < 0 || static_cast<std::size_t>(v) < below);
    };
    require(std::all_of(values.data(), values.data() + values.size(), inside), message);
}

// Sample weights: finite and not negative.
inline void require_weights(Vector<double> const& s, std::size_t n) {
    require(s.size() == n, "There must be one weight per row.");
    require(std::all_of(s.data(), s.data() + n, [](double w) { return w >= 0 && std::isfinite(w); }),
            "Weights of rows must be finite and not negative.");
}

// Starts of groups: they rise from 0 and end at `size`.
template <class T>
void require_starts(Vector<T> const& starts, std::size_t size, char const* message) {
    require(starts.size() > 0 && starts(0) == 0 && std::is_sorted(starts.data(), starts.data() + starts.size()) &&
                static_cast<std::size_t>(starts(starts.size() - 1)) == size,
            message);
}

// A core vector handed to NumPy without a copy.
template <class T>
auto to_numpy(std::vector<T>&& values) {
    auto owned = std::make_unique<std::vector<T>>(std::move(values));
    auto* raw = owned.release();
    nb::capsule owner(raw, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return nb::ndarray<nb::numpy, T, nb::ndim<1>>(raw->data(), {raw->size()}, owner);
}

template <class T>
auto to_numpy(std::vector<T>&& values, std::size_t rows, std::size_t columns) {
    auto owned = std::make_unique<std::vector<T>>(std::move(values));
    auto* raw = owned.release();
    nb::capsule owner(raw, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return nb::ndarray<nb::numpy, T, nb::ndim<2>>(raw->data(), {rows, columns}, owner);
}

// A validated design over arrays that it keeps alive. Immutable; made by tallywise._arrays, never stored on
// estimators.
struct BoundDesign {
    Design view;
    Validated validated;
    std::vector<nb::object> owners;
};

// One a family, each in the file of that name.
void bind_design(nb::module_& m);
void bind_registries(nb::module_& m);
void bind_text(nb::module_& m);
void bind_naive_bayes(nb::module_& m);
void bind_linear(nb::module_& m);
void bind_kernel(nb::module_& m);
void bind_neighbors(nb::module_& m);
void bind_topics(nb::module_& m);
void bind_scorer(nb::module_& m);

}  // namespace tallywise::bindings
