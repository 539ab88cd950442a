// Designs of any entries, read as float64 a stretch at a time: for methods that pass over X once, where a whole copy
// (see visit_real) would cost as much as the method. A stretch stays in the first-level cache; float64 is read in
// place.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "core/data/design.hpp"

namespace tallywise {

// n entries from `place` on, as float64: where they are, or put into `buffer`.
struct Reader {
    static constexpr std::size_t stretch = 256;

    void const* data = nullptr;
    std::size_t entry_bytes = 0;
    double const* (*read)(void const* data, std::size_t place, std::size_t n, double* buffer) = nullptr;

    Reader() = default;

    template <class T>
    explicit Reader(T const* from) : data(from), entry_bytes(sizeof(T)) {
        read = [](void const* values, std::size_t place, std::size_t n, double* buffer) -> double const* {
            T const* x = static_cast<T const*>(values) + place;
            if constexpr (std::is_same_v<T, double>) {
                return x;
            } else {
                for (std::size_t k = 0; k < n; ++k) buffer[k] = static_cast<double>(x[k]);
                return buffer;
            }
        };
    }

    // Entries [place, place + n) will be read soon.
    void fetch(std::size_t place, std::size_t n) const {
        char const* first = static_cast<char const*>(data) + place * entry_bytes;
        for (std::size_t byte = 0; byte < n * entry_bytes; byte += 64) __builtin_prefetch(first + byte);
    }

    // f(values, first, size) over the stretches of entries [place, place + n).
    template <class F>
    void each_stretch(std::size_t place, std::size_t n, F&& f) const {
        double buffer[stretch];
        for (std::size_t first = 0; first < n; first += stretch) {
            std::size_t const size = std::min(stretch, n - first);
            f(read(data, place + first, size, buffer), first, size);
        }
    }
};

struct ReadDense {
    static constexpr bool is_sparse = false;

    Reader reader;
    std::size_t lines = 0, width = 0, stride = 0;

    template <class T>
    explicit ReadDense(Dense<T> const& X) : reader(X.data), lines(X.lines), width(X.width), stride(X.stride) {}

    std::size_t nonzeros() const { return lines * width; }

    template <class F>
    void each(std::size_t line, F&& f) const {
        reader.each_stretch(line * stride, width, [&](double const* x, std::size_t first, std::size_t size) {
            for (std::size_t k = 0; k < size; ++k) f(first + k, x[k]);
        });
    }

    // f may be called for several entries at once: it writes by index.
    template <class F>
    void each_between(std::size_t line, std::size_t begin, std::size_t end, F&& f) const {
        if (begin >= end) return;
        reader.each_stretch(line * stride + begin, end - begin,
                            [&](double const* x, std::size_t first, std::size_t size) {
#pragma omp simd
                                for (std::size_t k = 0; k < size; ++k) f(begin + first + k, x[k]);
                            });
    }

    // f(values, size) over the stretches of a line.
    template <class F>
    void each_stretch(std::size_t line, F&& f) const {
        reader.each_stretch(line * stride, width, [&](double const* x, std::size_t, std::size_t size) { f(x, size); });
    }

    // A whole line, in place or in `buffer`, which has room for it.
    double const* line(std::size_t i, double* buffer) const { return part(i, 0, width, buffer); }

    // Entries [begin, end) of it will be read soon.
    void fetch(std::size_t i, std::size_t begin, std::size_t end) const {
        reader.fetch(i * stride + begin, end - begin);
    }

    // They in place or in `buffer`.
    double const* part(std::size_t i, std::size_t begin, std::size_t end, double* buffer) const {
        return reader.read(reader.data, i * stride + begin, end - begin, buffer);
    }
};

struct ReadSparse {
    static constexpr bool is_sparse = true;

    Reader reader;
    Sparse<double> structure;  // without entries

    template <class T>
    explicit ReadSparse(Sparse<T> const& X)
        : reader(X.data), structure{nullptr, X.indices, X.indptr, X.lines, X.width}, lines(X.lines), width(X.width) {}

    std::size_t lines, width;
    std::size_t nonzeros() const { return structure.nonzeros(); }

    template <class F>
    void each(std::size_t line, F&& f) const {
        each_of(structure.start(line), structure.start(line + 1), f);
    }

    // f(values, size) over the stretches of a line.
    template <class F>
    void each_stretch(std::size_t line, F&& f) const {
        reader.each_stretch(structure.start(line), structure.length(line),
                            [&](double const* x, std::size_t, std::size_t size) { f(x, size); });
    }

    // With ahead(index) called a dozen entries before f comes there: time to fetch what f will need.
    template <class Ahead, class F>
    void each(std::size_t line, Ahead&& ahead, F&& f) const {
        constexpr std::size_t distance = 12;
        std::size_t const begin = structure.start(line), all = nonzeros();
        reader.each_stretch(begin, structure.length(line), [&](double const* x, std::size_t first, std::size_t size) {
            Index const* indices = structure.indices + begin + first;
            std::size_t const near = std::min(size, std::max(all - begin - first, distance) - distance);
            std::size_t k = 0;
            for (; k < near; ++k) {
                ahead(static_cast<std::size_t>(indices[k + distance]));
                f(static_cast<std::size_t>(indices[k]), x[k]);
            }
            for (; k < size; ++k) f(static_cast<std::size_t>(indices[k]), x[k]);
        });
    }

    // For indices in [begin, end); the line is sorted.
    template <class F>
    void each_between(std::size_t line, std::size_t begin, std::size_t end, F&& f) const {
        Index const *first = structure.indices + structure.start(line),
                    *last = structure.indices + structure.start(line + 1);
        if (begin > 0) first = std::lower_bound(first, last, static_cast<Index>(begin));
        if (end < width) last = std::lower_bound(first, last, static_cast<Index>(end));
        each_of(static_cast<std::size_t>(first - structure.indices), static_cast<std::size_t>(last - structure.indices),
                f);
    }

  private:
    template <class F>
    void each_of(std::size_t begin, std::size_t end, F&& f) const {
        reader.each_stretch(begin, end - begin, [&](double const* x, std::size_t first, std::size_t size) {
            Index const* indices = structure.indices + begin + first;
            for (std::size_t k = 0; k < size; ++k) f(static_cast<std::size_t>(indices[k]), x[k]);
        });
    }
};

template <class F>
decltype(auto) visit_read(Design const& X, F&& f) {
    return visit(X, [&](auto const& x) -> decltype(f(std::declval<ReadDense const&>())) {
        if constexpr (std::remove_cvref_t<decltype(x)>::is_sparse) {
            return f(ReadSparse(x));
        } else {
            return f(ReadDense(x));
        }
    });
}

}  // namespace tallywise
