// NumPy arrays to core views and back. The binding files share nothing else.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <memory>
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
void bind_bayes(nb::module_& m);
void bind_linear(nb::module_& m);
void bind_kernel(nb::module_& m);
void bind_neighbors(nb::module_& m);
void bind_topics(nb::module_& m);
void bind_scorer(nb::module_& m);

}  // namespace tallywise::bindings
