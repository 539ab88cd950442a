// A vector whose large blocks come straight from the system, on huge pages where it has them, and go straight back.
//
// Tables of terms are read at random: with 4 KB pages half of the time of a lookup went into finding the page. And
// what malloc keeps for later would count as memory that we use. Large blocks begin and end where huge pages do: the
// ends of one of 21 MB, on small pages, took 1,000 faults and four times as long to be given out as all of it now.
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
        if (bytes >= huge) {
            std::size_t const size = whole_pages(bytes);
            char* const place = static_cast<char*>(map(size + huge_page));
            std::size_t const before = (huge_page - reinterpret_cast<std::uintptr_t>(place) % huge_page) % huge_page;
            if (before > 0) munmap(place, before);
            if (before < huge_page) munmap(place + before + size, huge_page - before);
            madvise(place + before, size, MADV_HUGEPAGE);
            return reinterpret_cast<T*>(place + before);
        }
        if (bytes >= large) return static_cast<T*>(map(bytes));
#endif
        return static_cast<T*>(::operator new(bytes));
    }

    // Whether a block of n comes cleared.
    static bool clears([[maybe_unused]] std::size_t n) {
#if defined(__linux__)
        return n * sizeof(T) >= large;
#else
        return false;
#endif
    }

    void deallocate(T* place, [[maybe_unused]] std::size_t n) {
#if defined(__linux__)
        std::size_t const bytes = n * sizeof(T);
        if (bytes >= large) {
            munmap(place, bytes >= huge ? whole_pages(bytes) : bytes);
            return;
        }
#endif
        ::operator delete(place);
    }

    bool operator==(LargeAllocator const&) const { return true; }

  private:
    static constexpr std::size_t large = std::size_t{1} << 18, huge = std::size_t{1} << 22;
    static constexpr std::size_t huge_page = std::size_t{1} << 21;

#if defined(__linux__)
    static std::size_t whole_pages(std::size_t bytes) { return (bytes + huge_page - 1) / huge_page * huge_page; }

    static void* map(std::size_t bytes) {
        void* const place = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (place == MAP_FAILED) throw std::bad_alloc();
        return place;
    }
#endif
};

template <class T>
using LargeArray = std::vector<T, LargeAllocator<T>>;

}  // namespace tallywise
