// Arrays for NumPy whose large blocks are on huge pages (core/base/large_array.hpp).
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <array>
#include <cstddef>

#include "core/base/large_array.hpp"

namespace nb = nanobind;

namespace tallywise::bindings {

// Memory for the core to fill, not cleared unless that is asked for; large blocks are on huge pages.
template <class T, std::size_t dimensions>
auto new_array(std::array<std::size_t, dimensions> const& shape, bool zeros = false) {
    struct Block {
        std::size_t n;
        T* place = LargeAllocator<T>().allocate(n);
        ~Block() { LargeAllocator<T>().deallocate(place, n); }
    };
    std::size_t n = 1;
    for (std::size_t const size : shape) n *= size;
    auto* block = new Block{std::max<std::size_t>(n, 1)};
    nb::capsule owner(block, [](void* p) noexcept { delete static_cast<Block*>(p); });
    if (zeros && !LargeAllocator<T>::clears(block->n)) std::fill_n(block->place, block->n, T{});
    return nb::ndarray<nb::numpy, T, nb::ndim<dimensions>, nb::c_contig>(block->place, dimensions, shape.data(), owner);
}

}  // namespace tallywise::bindings
