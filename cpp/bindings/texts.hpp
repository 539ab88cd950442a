// Documents from Python: lists of str, and columns with Arrow's C interface. Read in place.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/text/arrow.hpp"
#include "core/text/characters.hpp"

namespace nb = nanobind;

namespace tallywise::bindings {

// What the running interpreter says of each character. Reading its tables needs no lock.
inline text::CharacterTable const& interpreter_characters() {
    static text::CharacterTable const table([](text::CodePoint c) {
        bool const word = Py_UNICODE_ISALNUM(c) || c == '_';
        return text::Character(c, Py_UNICODE_TOLOWER(c), word, Py_UNICODE_ISSPACE(c));
    });
    return table;
}

// Documents that stay alive as long as this does.
struct Texts {
    std::vector<text::Text> views;
    std::vector<nb::object> owners;
    std::vector<std::shared_ptr<text::arrow::ArrowArray>> arrays;
    std::int64_t first_other = -1;  // the first row that is no text
    bool ascii = true;
};

inline text::Text view_of(nb::handle text) {
#if PY_VERSION_HEX < 0x030C0000
    if (PyUnicode_READY(text.ptr()) != 0) throw nb::python_error();
#endif
    return {PyUnicode_DATA(text.ptr()), static_cast<std::size_t>(PyUnicode_GET_LENGTH(text.ptr())),
            static_cast<text::Text::Form>(PyUnicode_KIND(text.ptr()))};
}

// Capital sigma is the one character whose lower case depends on its neighbours. Where a text has one, Python lowers
// the text, and each capital sigma is replaced by the small one that it became; the rest stays as it was.
inline nb::object with_small_sigmas(nb::handle text) {
    nb::object const lowered = text.attr("lower")();
    Py_ssize_t const n = PyUnicode_GET_LENGTH(text.ptr());
    nb::object result = nb::steal(PyUnicode_New(n, PyUnicode_MAX_CHAR_VALUE(text.ptr())));
    if (!result.is_valid() || PyUnicode_CopyCharacters(result.ptr(), 0, text.ptr(), 0, n) < 0) throw nb::python_error();
    for (Py_ssize_t i = 0, j = 0; i < n; ++i, ++j) {
        Py_UCS4 const c = PyUnicode_READ_CHAR(text.ptr(), i);
        if (c == text::capital_sigma) PyUnicode_WriteChar(result.ptr(), i, PyUnicode_READ_CHAR(lowered.ptr(), j));
        if (c == text::dotted_capital_i) ++j;
    }
    return result;
}

// Python's strings, read in place. They are owned through a copy of the list: another thread may change the caller's
// while Python's lock is free.
inline Texts from_list(nb::list const& given, bool lower) {
    Texts result;
    nb::list const items = nb::steal<nb::list>(PyList_GetSlice(given.ptr(), 0, PyList_GET_SIZE(given.ptr())));
    if (!items.is_valid()) throw nb::python_error();
    result.owners.push_back(items);
    result.views.reserve(items.size());
    for (nb::handle item : items) {
        if (!PyUnicode_Check(item.ptr())) {
            result.first_other = static_cast<std::int64_t>(result.views.size());
            break;
        }
        text::Text text = view_of(item);
        result.ascii &= PyUnicode_IS_ASCII(item.ptr()) != 0;
        if (lower && has_capital_sigma(text)) {
            result.owners.push_back(with_small_sigmas(item));
            text = view_of(result.owners.back());
        }
        result.views.push_back(text);
    }
    return result;
}

inline void append_arrow(Texts& texts, text::arrow::ArrowSchema const& schema, text::arrow::ArrowArray const& array,
                         bool lower) {
    for (std::int64_t row = 0; row < array.length && texts.first_other < 0; ++row) {
        text::Text text = text::arrow::text(schema, array, row);
        if (text.data == nullptr) {
            texts.first_other = static_cast<std::int64_t>(texts.views.size());
        } else if (lower && has_capital_sigma(text)) {
            nb::str const whole(static_cast<char const*>(text.data), text.length);
            texts.owners.push_back(with_small_sigmas(whole));
            text = view_of(texts.owners.back());
        }
        texts.views.push_back(text);
    }
}

template <class T>
T* from_capsule(nb::handle capsule, char const* name) {
    auto* const pointer = static_cast<T*>(PyCapsule_GetPointer(capsule.ptr(), name));
    if (pointer == nullptr) throw nb::python_error();
    return pointer;
}

// The capsules stay owners of their structs; a stream's arrays are kept here.
inline std::optional<Texts> from_arrow(nb::object const& column, bool lower) {
    using namespace text::arrow;
    Texts result;
    result.ascii = false;
    if (nb::hasattr(column, "__arrow_c_array__")) {
        nb::object const pair = column.attr("__arrow_c_array__")();
        auto const* schema = from_capsule<ArrowSchema>(pair[0], "arrow_schema");
        if (!is_text(*schema)) return std::nullopt;
        result.owners.push_back(pair);
        append_arrow(result, *schema, *from_capsule<ArrowArray>(pair[1], "arrow_array"), lower);
        return result;
    }
    nb::object const capsule = column.attr("__arrow_c_stream__")();
    auto* const stream = from_capsule<ArrowArrayStream>(capsule, "arrow_array_stream");
    auto const require = [&](int status) {
        if (status != 0)
            throw std::invalid_argument("An Arrow stream failed with error " + std::to_string(status) + ".");
    };
    Owned<ArrowSchema> schema;
    require(stream->get_schema(stream, &schema));
    if (!is_text(schema)) return std::nullopt;
    result.owners.push_back(capsule);
    while (result.first_other < 0) {
        auto array = std::make_shared<Owned<ArrowArray>>();
        require(stream->get_next(stream, array.get()));
        if (array->release == nullptr) break;
        result.arrays.push_back(array);
        append_arrow(result, schema, *array, lower);
    }
    return result;
}

}  // namespace tallywise::bindings
