#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <cstring>
#include <string>
#include <tuple>

#include "bindings/views.hpp"
#include "core/data/labels.hpp"

namespace tallywise::bindings {
namespace {

using Array = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;

// Calls f with a null pointer of the array's value type.
template <class F>
auto by_value(Array const& array, F&& f) {
    if (array.dtype() == nb::dtype<double>()) return f(static_cast<double const*>(array.data()));
    if (array.dtype() == nb::dtype<float>()) return f(static_cast<float const*>(array.data()));
    if (array.dtype() == nb::dtype<std::int64_t>()) return f(static_cast<std::int64_t const*>(array.data()));
    throw std::invalid_argument("A design holds float64, float32 or int64 values.");
}

template <class F>
auto by_index(Array const& array, F&& f) {
    if (array.dtype() == nb::dtype<std::int32_t>()) return f(static_cast<std::int32_t const*>(array.data()));
    if (array.dtype() == nb::dtype<std::int64_t>()) return f(static_cast<std::int64_t const*>(array.data()));
    throw std::invalid_argument("The indices of a sparse design are int32 or int64.");
}

// The numbers as the design wants them: the caller's own where they have that type, else a copy.
template <class To, class From>
To const* own_or_borrow(Array const& array, From const* from, std::size_t n, BoundDesign& bound) {
    if constexpr (std::is_same_v<To, From>) {
        bound.owners.push_back(nb::find(array));
        return from;
    } else {
        auto copy = to_numpy(std::vector<To>(from, from + n));
        To const* data = copy.data();
        bound.owners.push_back(nb::cast(std::move(copy)));
        return data;
    }
}

BoundDesign dense(Array const& array) {
    if (array.ndim() != 2) throw std::invalid_argument("A dense design has two dimensions.");
    return by_value(array, [&](auto const* data) -> BoundDesign {
        using T = std::remove_cvref_t<decltype(*data)>;
        Dense<T> view{data, array.shape(0), array.shape(1), array.shape(1)};
        return {view, validate(view), {nb::find(array)}};
    });
}

BoundDesign sparse(Array const& data, Array const& indices, Array const& indptr, std::size_t width) {
    if (data.ndim() != 1 || indices.ndim() != 1 || indptr.ndim() != 1 || indptr.shape(0) == 0) {
        throw std::invalid_argument("The parts of a sparse design are vectors, and indptr is not empty.");
    }
    if (indices.dtype() != indptr.dtype()) {
        throw std::invalid_argument("The indices and the indptr of a sparse design have one type.");
    }
    std::size_t const entries = std::min(data.shape(0), indices.shape(0));
    return by_value(data, [&](auto const* x) {
        return by_index(indices, [&](auto const* j) -> BoundDesign {
            using T = std::remove_cvref_t<decltype(*x)>;
            using I = std::remove_cvref_t<decltype(*j)>;
            auto const* starts = static_cast<I const*>(indptr.data());
            std::size_t const lines = indptr.shape(0) - 1;
            Validated const found = validate_structure(j, starts, lines, width, entries);
            BoundDesign bound{{}, found, {nb::find(data)}};
            Sparse<T> const view{x, own_or_borrow<Index>(indices, j, starts[lines], bound),
                                 own_or_borrow<std::int64_t>(indptr, starts, indptr.shape(0), bound), lines, width};
            validate_values(view);
            bound.view = view;
            return bound;
        });
    });
}

auto label_codes(Matrix<std::uint32_t> const& labels) {
    auto found = code_rows(labels.data(), labels.shape(0), labels.shape(1));
    return std::tuple(to_numpy(std::move(found.first)), to_numpy(std::move(found.codes)));
}

}  // namespace

void bind_design(nb::module_& m) {
    m.def("label_codes", &label_codes, nb::arg("labels"),
          "The first row of each distinct row, in order of appearance, and for each row which of them it equals.");
    nb::class_<BoundDesign>(m, "Design", "A validated matrix: a list of lines (rows or columns) of one width.")
        .def_static("dense", &dense, nb::arg("array"), "Lines are the rows of a C-ordered array.")
        .def_static("sparse", &sparse, nb::arg("data"), nb::arg("indices"), nb::arg("indptr"), nb::arg("width"),
                    "Lines are the compressed axis: rows of CSR, columns of CSC.")
        .def_prop_ro("lines", [](BoundDesign const& d) { return lines(d.view); })
        .def_prop_ro("width", [](BoundDesign const& d) { return width(d.view); })
        .def_prop_ro("entries",
                     [](BoundDesign const& d) { return visit(d.view, [](auto const& x) { return x.nonzeros(); }); })
        .def_prop_ro("sorted", [](BoundDesign const& d) { return d.validated.sorted; })
        .def_prop_ro("distinct", [](BoundDesign const& d) { return d.validated.sorted || distinct(d.view); });
}

}  // namespace tallywise::bindings
