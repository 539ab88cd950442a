// A vector whose large blocks come straight from the system, on huge pages where it has them, and go straight back.
//
// Tables of terms are read at random: with 4 KB pages half of the time of a lookup went into finding the page. And
// what malloc keeps for later would count as memory that we use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace tallywise {

template <class T>
struct LargeAllocator {
    using value_type = T;

    LargeAllocator() = default;
    template <class U>
    LargeAllocator(LargeAllocator<U> const&) {}

    T* allocate(std::size_t n) {
        std::size_t const bytes = n * sizeof(T);
#if defined(__linux__)
        if (bytes >= large) {
            void* const place = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            if (place == MAP_FAILED) throw std::bad_alloc();
            if (bytes >= huge) madvise(place, bytes, MADV_HUGEPAGE);
            return static_cast<T*>(place);
        }
#endif
        return static_cast<T*>(::operator new(bytes));
    }

    void deallocate(T* place, std::size_t n) {
#if defined(__linux__)
        if (n * sizeof(T) >= large) {
            munmap(place, n * sizeof(T));
            return;
        }
#endif
        ::operator delete(place);
    }

    bool operator==(LargeAllocator const&) const { return true; }

  private:
    static constexpr std::size_t large = std::size_t{1} << 18, huge = std::size_t{1} << 22;
};

template <class T>
using LargeArray = std::vector<T, LargeAllocator<T>>;

}  // namespace tallywise
