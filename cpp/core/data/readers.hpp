// Designs of any entries, read as float64 a stretch at a time: for methods that pass over X once, where a whole copy
// (see visit_real) would cost as much as the method. A stretch stays in the first-level cache; float64 is read in
// place.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "core/base/prefetch.hpp"
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
                if constexpr (std::is_same_v<T, std::int64_t>) {
                    if (convert_small(x, n, buffer)) return buffer;
                }
                for (std::size_t k = 0; k < n; ++k) buffer[k] = static_cast<double>(x[k]);
                return buffer;
            }
        };
    }

    // Integers in [-2^51, 2^51) as float64, by their place among the last bits of 1.5 x 2^52; false where others are
    // among them. AVX2 has no instruction for it: one by one, converting took a fifth of the time of counting texts.
    static bool convert_small(std::int64_t const* x, std::size_t n, double* buffer) {
        typedef std::uint64_t Words __attribute__((vector_size(32)));
        typedef double Values __attribute__((vector_size(32)));
        constexpr std::uint64_t place = 0x4338000000000000, half = std::uint64_t{1} << 51;
        Words beyond = {};
        std::size_t k = 0;
        for (; k + 4 <= n; k += 4) {
            Words words;
            Values values;
            std::memcpy(&words, x + k, sizeof(words));
            beyond |= (words + half) >> 52;
            words += place;
            std::memcpy(&values, &words, sizeof(words));
            values -= 0x1.8p52;
            std::memcpy(buffer + k, &values, sizeof(values));
        }
        for (; k < n; ++k) buffer[k] = static_cast<double>(x[k]);
        return (beyond[0] | beyond[1] | beyond[2] | beyond[3]) == 0;
    }

    // Entries [place, place + n) will be read soon.
    void fetch(std::size_t place, std::size_t n) const {
        char const* first = static_cast<char const*>(data) + place * entry_bytes;
        for (std::size_t byte = 0; byte < n * entry_bytes; byte += 64) prefetch_line(first + byte);
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

    // f may be called for several entries at once: it writes by index. whole(values, size) comes before each stretch.
    template <class F, class Whole>
    void each_between(std::size_t line, std::size_t begin, std::size_t end, F&& f, Whole&& whole) const {
        if (begin >= end) return;
        reader.each_stretch(line * stride + begin, end - begin,
                            [&](double const* x, std::size_t first, std::size_t size) {
                                whole(x, size);
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
        each_of(structure.start(line), structure.start(line + 1), f, [](double const*, std::size_t) {});
    }

    // The first stretch of a line will be read soon.
    void fetch(std::size_t line) const {
        std::size_t const begin = structure.start(line), n = std::min(structure.length(line), Reader::stretch);
        reader.fetch(begin, n);
        for (std::size_t k = 0; k < n; k += 64 / sizeof(Index)) prefetch_line(structure.indices + begin + k);
    }

    // f(values, size) over the stretches of a line.
    template <class F>
    void each_stretch(std::size_t line, F&& f) const {
        reader.each_stretch(structure.start(line), structure.length(line),
                            [&](double const* x, std::size_t, std::size_t size) { f(x, size); });
    }

    // f(indices, values, size, last) over the stretches of a line. indices[size], ... up to indices[last] may be read
    // too, to fetch early what they will need. f keeps sums in variables of its own, which stay in registers: a
    // function of one entry that has them by reference stores and loads them at each, 2.5 ns for two classes.
    template <class F>
    void each_part(std::size_t line, F&& f) const {
        std::size_t const begin = structure.start(line), all = nonzeros();
        reader.each_stretch(begin, structure.length(line), [&](double const* x, std::size_t first, std::size_t size) {
            f(structure.indices + begin + first, x, size, all - begin - first - 1);
        });
    }

    // For indices in [begin, end); the line is sorted. whole(values, size) comes before each stretch.
    template <class F, class Whole>
    void each_between(std::size_t line, std::size_t begin, std::size_t end, F&& f, Whole&& whole) const {
        Index const *first = structure.indices + structure.start(line),
                    *last = structure.indices + structure.start(line + 1);
        if (begin > 0) first = std::lower_bound(first, last, static_cast<Index>(begin));
        if (end < width) last = std::lower_bound(first, last, static_cast<Index>(end));
        each_of(static_cast<std::size_t>(first - structure.indices), static_cast<std::size_t>(last - structure.indices),
                f, whole);
    }

  private:
    template <class F, class Whole>
    void each_of(std::size_t begin, std::size_t end, F&& f, Whole&& whole) const {
        reader.each_stretch(begin, end - begin, [&](double const* x, std::size_t first, std::size_t size) {
            Index const* indices = structure.indices + begin + first;
            whole(x, size);
            for (std::size_t k = 0; k < size; ++k) f(static_cast<std::size_t>(indices[k]), x[k]);
        });
    }
};

template <class F>
decltype(auto) visit_read(Design const& X, F&& f) {
    // Named by its type: clang 16 crashes on a captured f in the type of a lambda's result.
    return visit(X, [&](auto const& x) -> std::invoke_result_t<F&, ReadDense const&> {
        if constexpr (std::remove_cvref_t<decltype(x)>::is_sparse) {
            return f(ReadSparse(x));
        } else {
            return f(ReadDense(x));
        }
    });
}

}  // namespace tallywise
