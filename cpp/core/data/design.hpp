// The one place that knows what X looks like in memory.
//
// A design is a list of lines, all of one width. Stored by rows (CSR, or dense in C order) its lines are the
// samples; stored by columns (CSC, or dense in Fortran order) they are the features. Solvers are written once
// against the verbs below and ask for the direction they walk in; none of them sees indptr.
//
// Indices are 32 bits wide whatever came in, and starts of lines 64: a matrix may hold more than 2^31 entries, but is
// never wider than 2^31 - 1. One width of index is half the code to compile, and half the memory to read.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "core/base/numeric.hpp"

namespace tallywise {

template <class T>
struct Dense {
    using Value = T;
    static constexpr bool is_sparse = false;

    T const* data = nullptr;
    std::size_t lines = 0, width = 0;
    std::size_t stride = 0;  // from one line to the next

    std::size_t nonzeros() const { return lines * width; }
    std::size_t length(std::size_t) const { return width; }

    // f(index, value) over the entries of a line, zeros included.
    template <class F>
    void each(std::size_t line, F&& f) const {
        T const* x = data + line * stride;
        for (std::size_t j = 0; j < width; ++j) f(j, x[j]);
    }

    // The same, for indices in [begin, end). f may be called for several entries at once: it writes by index.
    template <class F>
    void each_between(std::size_t line, std::size_t begin, std::size_t end, F&& f) const {
        T const* x = data + line * stride;
#pragma omp simd
        for (std::size_t j = begin; j < end; ++j) f(j, x[j]);
    }

    double dot(std::size_t line, double const* w) const { return tallywise::dot(data + line * stride, w, width); }

    void axpy(std::size_t line, double scale, double* w) const {
        tallywise::axpy(scale, data + line * stride, w, width);
    }
};

using Index = std::int32_t;

// The stored entries of a sparse line.
template <class T>
struct Entries {
    Index const* indices;
    T const* values;
    std::size_t size;
};

template <class T>
struct Sparse {
    using Value = T;
    static constexpr bool is_sparse = true;

    T const* data = nullptr;
    Index const* indices = nullptr;
    std::int64_t const* indptr = nullptr;
    std::size_t lines = 0, width = 0;

    std::size_t start(std::size_t line) const { return static_cast<std::size_t>(indptr[line]); }
    std::size_t nonzeros() const { return start(lines); }
    std::size_t length(std::size_t line) const { return static_cast<std::size_t>(indptr[line + 1] - indptr[line]); }
    Entries<T> entries(std::size_t line) const { return {indices + start(line), data + start(line), length(line)}; }

    // f(index, value) over the stored entries of a line.
    template <class F>
    void each(std::size_t line, F&& f) const {
        for (std::size_t k = start(line); k < start(line + 1); ++k) {
            f(static_cast<std::size_t>(indices[k]), data[k]);
        }
    }

    // The same, with ahead(index) called a dozen entries before f comes there: time to fetch what f will need.
    template <class Ahead, class F>
    void each(std::size_t line, Ahead&& ahead, F&& f) const {
        constexpr std::size_t distance = 12;
        std::size_t k = start(line);
        std::size_t const end = start(line + 1), all = nonzeros();
        for (; k < end && k + distance < all; ++k) {
            ahead(static_cast<std::size_t>(indices[k + distance]));
            f(static_cast<std::size_t>(indices[k]), data[k]);
        }
        for (; k < end; ++k) f(static_cast<std::size_t>(indices[k]), data[k]);
    }

    // The same, for indices in [begin, end); the line is sorted.
    template <class F>
    void each_between(std::size_t line, std::size_t begin, std::size_t end, F&& f) const {
        auto const* first = indices + indptr[line];
        auto const* last = indices + indptr[line + 1];
        if (begin > 0) first = std::lower_bound(first, last, static_cast<Index>(begin));
        if (end < width) last = std::lower_bound(first, last, static_cast<Index>(end));
        T const* x = data + (first - indices);
        for (; first != last; ++first, ++x) f(static_cast<std::size_t>(*first), *x);
    }

    // Four running sums: one would wait for its own last addition at every entry (1.3x slower on 158 words a text).
    template <class U>
    U dot(std::size_t line, U const* w) const {
        auto const begin = start(line), end = start(line + 1);
        auto const term = [&](std::size_t k) {
            return static_cast<U>(data[k]) * w[static_cast<std::size_t>(indices[k])];
        };
        U a = 0, b = 0, c = 0, d = 0;
        std::size_t k = begin;
        for (; k + 4 <= end; k += 4) {
            a += term(k);
            b += term(k + 1);
            c += term(k + 2);
            d += term(k + 3);
        }
        for (; k < end; ++k) a += term(k);
        return (a + b) + (c + d);
    }

    void axpy(std::size_t line, double scale, double* w) const {
        each(line, [&](std::size_t j, T x) { w[j] += scale * static_cast<double>(x); });
    }
};

// Integer entries are counts from a vectoriser, taken as they are: no copy to floating point.
using Design = std::variant<Dense<double>, Dense<float>, Dense<std::int64_t>,  //
                            Sparse<double>, Sparse<float>, Sparse<std::int64_t>>;

template <class F>
decltype(auto) visit(Design const& X, F&& f) {
    return std::visit(std::forward<F>(f), X);
}

// The same for solvers that pass over X many times: they see float64 only, so that each is compiled for two designs.
// A copy of float32 or of counts is made once; widening changes no bit of what a solver computes in double.
using RealDesign = std::variant<Dense<double>, Sparse<double>>;

struct Real {
    RealDesign view;
    std::shared_ptr<std::vector<double>> copy;  // null where X has float64 entries
};

inline Real as_real(Design const& X) {
    return visit(X, [](auto const& x) -> Real {
        using View = std::remove_cvref_t<decltype(x)>;
        if constexpr (std::is_same_v<typename View::Value, double>) {
            return {x, nullptr};
        } else if constexpr (View::is_sparse) {
            auto copy = std::make_shared<std::vector<double>>(x.data, x.data + x.nonzeros());
            return {Sparse<double>{copy->data(), x.indices, x.indptr, x.lines, x.width}, copy};
        } else {
            auto copy = std::make_shared<std::vector<double>>(x.lines * x.width);
            for (std::size_t line = 0; line < x.lines; ++line) {
                auto const* from = x.data + line * x.stride;
                std::copy(from, from + x.width, copy->data() + line * x.width);
            }
            return {Dense<double>{copy->data(), x.lines, x.width, x.width}, copy};
        }
    });
}

template <class F>
decltype(auto) visit(RealDesign const& X, F&& f) {
    return std::visit(std::forward<F>(f), X);
}

template <class F>
auto visit_real(Design const& X, F&& f) {
    Real const real = as_real(X);
    return visit(real.view, std::forward<F>(f));
}

inline std::size_t lines(Design const& X) {
    return visit(X, [](auto const& x) { return x.lines; });
}
inline std::size_t width(Design const& X) {
    return visit(X, [](auto const& x) { return x.width; });
}

// What validate has found out: whether each line's indices rise strictly (sorted, none twice).
struct Validated {
    bool sorted = true;
};

namespace detail {

template <class T>
void require_finite(T const* data, std::size_t n) {
    if constexpr (std::is_floating_point_v<T>) {
        T sum = 0;
#pragma omp simd reduction(+ : sum)
        for (std::size_t k = 0; k < n; ++k) sum += data[k] * T(0);  // 0 for finite entries, NaN otherwise
        if (sum == T(0)) return;
        for (std::size_t k = 0; k < n; ++k) {
            if (std::isnan(data[k])) throw std::invalid_argument("Input X contains NaN.");
            if (std::isinf(data[k])) throw std::invalid_argument("Input X contains infinity.");
        }
    }
}

}  // namespace detail

template <class T>
Validated validate(Dense<T> const& X) {
    for (std::size_t line = 0; line < X.lines; ++line) {
        detail::require_finite(X.data + line * X.stride, X.width);
    }
    return {};
}

// Whether no index comes twice in a line. scikit-learn's vectorisers leave lines unsorted, but distinct.
inline bool distinct(Design const& design) {
    return visit(design, [](auto const& X) {
        if constexpr (std::remove_cvref_t<decltype(X)>::is_sparse) {
            std::vector<std::size_t> seen(X.width, X.lines);  // the line that had the index last
            for (std::size_t line = 0; line < X.lines; ++line) {
                bool again = false;
                X.each(line, [&](std::size_t j, auto) {
                    again |= seen[j] == line;
                    seen[j] = line;
                });
                if (again) return false;
            }
        }
        return true;
    });
}

// Indices as they arrive (32 or 64 bits) to those of a design. `entries` is the length of data and of indices, which
// the structure must not reach beyond. Says whether each line's indices rise strictly.
// Lines become indices when a design is transposed, and columns are indices anyway.
inline void require_index_range(std::size_t size) {
    if (size <= static_cast<std::size_t>(std::numeric_limits<Index>::max())) return;
    throw std::invalid_argument("A sparse matrix may have at most 2147483647 rows and as many columns here. Got " +
                                std::to_string(size) + ".");
}

template <class I>
Validated validate_structure(I const* indices, I const* indptr, std::size_t lines, std::size_t width,
                             std::size_t entries) {
    require_index_range(width);
    if (indptr[0] != 0) {
        throw std::invalid_argument("The indptr of a sparse matrix must begin with 0. Got " +
                                    std::to_string(indptr[0]) + ".");
    }
    for (std::size_t line = 0; line < lines; ++line) {
        if (indptr[line + 1] < indptr[line]) {
            throw std::invalid_argument("The indptr of a sparse matrix must not fall. It does at position " +
                                        std::to_string(line + 1) + ".");
        }
    }
    if (static_cast<std::size_t>(indptr[lines]) > entries) {
        throw std::invalid_argument("The indptr of a sparse matrix ends at " + std::to_string(indptr[lines]) +
                                    ", beyond its " + std::to_string(entries) + " stored entries.");
    }
    // Two passes without branches: lines of a dozen entries, one by one, took three times as long.
    auto const n = static_cast<std::size_t>(indptr[lines]);
    using Unsigned = std::make_unsigned_t<I>;
    Unsigned largest = 0;  // negative indices are large
#pragma omp simd reduction(max : largest)
    for (std::size_t k = 0; k < n; ++k) largest = std::max(largest, static_cast<Unsigned>(indices[k]));
    if (n > 0 && largest >= width) {
        auto const bad = std::find_if(indices, indices + n, [&](I j) { return static_cast<Unsigned>(j) >= width; });
        auto const line = std::upper_bound(indptr, indptr + lines + 1, static_cast<I>(bad - indices)) - indptr - 1;
        throw std::invalid_argument("A sparse matrix of width " + std::to_string(width) + " holds index " +
                                    std::to_string(*bad) + " in line " + std::to_string(line) + ".");
    }
    I falls = 0;  // as many as 2^32 of them would wrap round to none, but for int32 there are fewer entries
#pragma omp simd reduction(+ : falls)
    for (std::size_t k = 1; k < n; ++k) falls += indices[k] <= indices[k - 1] ? 1 : 0;
    for (std::size_t line = 1; line < lines; ++line) {
        auto const k = static_cast<std::size_t>(indptr[line]);
        if (k > 0 && indptr[line] < indptr[line + 1]) falls -= indices[k] <= indices[k - 1] ? 1 : 0;
    }
    Validated const found{falls == 0};
    return found;
}

template <class T>
void validate_values(Sparse<T> const& X) {
    detail::require_finite(X.data, X.nonzeros());
}

// The same matrix with lines and width exchanged, owned. Entries of a line come out in rising order of index.
template <class T>
struct OwnedSparse {
    std::vector<T> data;
    std::vector<Index> indices;
    std::vector<std::int64_t> indptr{0};
    std::size_t lines = 0, width = 0;

    void add(std::size_t index, T value) {
        data.push_back(value);
        indices.push_back(static_cast<Index>(index));
    }
    void end_line() {
        indptr.push_back(static_cast<std::int64_t>(data.size()));
        ++lines;
    }

    Sparse<T> view() const { return {data.data(), indices.data(), indptr.data(), lines, width}; }
};

template <class T>
OwnedSparse<T> transpose(Sparse<T> const& X) {
    require_index_range(X.lines);
    OwnedSparse<T> result;
    result.lines = X.width;
    result.width = X.lines;
    result.data.resize(X.nonzeros());
    result.indices.resize(X.nonzeros());
    result.indptr.assign(X.width + 1, 0);
    for (std::size_t k = 0; k < X.nonzeros(); ++k) ++result.indptr[static_cast<std::size_t>(X.indices[k]) + 1];
    for (std::size_t j = 0; j < X.width; ++j) result.indptr[j + 1] += result.indptr[j];
    std::vector<std::int64_t> next(result.indptr.begin(), result.indptr.end() - 1);
    for (std::size_t line = 0; line < X.lines; ++line) {
        X.each(line, [&](std::size_t j, T x) {
            auto const k = static_cast<std::size_t>(next[j]++);
            result.data[k] = x;
            result.indices[k] = static_cast<Index>(line);
        });
    }
    return result;
}

}  // namespace tallywise
