// A vector that begins at a cache line, so that no vector register is filled from two lines.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace tallywise {

template <class T>
struct AlignedAllocator {
    using value_type = T;

    AlignedAllocator() = default;
    template <class U>
    AlignedAllocator(AlignedAllocator<U> const&) {}

    T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), line)); }
    void deallocate(T* place, std::size_t) { ::operator delete(place, line); }

    bool operator==(AlignedAllocator const&) const { return true; }

  private:
    static constexpr std::align_val_t line{64};
};

template <class T>
using AlignedArray = std::vector<T, AlignedAllocator<T>>;

}  // namespace tallywise
