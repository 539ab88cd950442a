// Columns of strings in Arrow's memory, through its C data and stream interfaces
// (https://arrow.apache.org/docs/format/CDataInterface.html): read in place, never copied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>

#include "core/text/characters.hpp"

namespace tallywise::text::arrow {

extern "C" {
struct ArrowSchema {
    char const* format;
    char const* name;
    char const* metadata;
    std::int64_t flags;
    std::int64_t n_children;
    ArrowSchema** children;
    ArrowSchema* dictionary;
    void (*release)(ArrowSchema*);
    void* private_data;
};

struct ArrowArray {
    std::int64_t length;
    std::int64_t null_count;
    std::int64_t offset;
    std::int64_t n_buffers;
    std::int64_t n_children;
    void const** buffers;
    ArrowArray** children;
    ArrowArray* dictionary;
    void (*release)(ArrowArray*);
    void* private_data;
};

struct ArrowArrayStream {
    int (*get_schema)(ArrowArrayStream*, ArrowSchema*);
    int (*get_next)(ArrowArrayStream*, ArrowArray*);
    char const* (*get_last_error)(ArrowArrayStream*);
    void (*release)(ArrowArrayStream*);
    void* private_data;
};
}

// A struct of the interface that releases itself.
template <class T>
struct Owned : T {
    Owned() : T{} {}
    ~Owned() {
        if (this->release != nullptr) this->release(this);
    }
    Owned(Owned const&) = delete;
    Owned& operator=(Owned const&) = delete;
};

// Whether columns of this type can be read as text.
inline bool is_text(ArrowSchema const& schema) {
    std::string_view const format = schema.format;
    if (schema.dictionary != nullptr) {
        return format.size() == 1 && std::string_view("cCsSiIlL").find(format[0]) != std::string_view::npos &&
               schema.dictionary->dictionary == nullptr && is_text(*schema.dictionary);
    }
    return format == "u" || format == "U" || format == "vu";
}

inline bool is_null(ArrowArray const& array, std::int64_t place) {
    if (array.null_count == 0 || array.n_buffers == 0 || array.buffers[0] == nullptr) return false;
    auto const* bits = static_cast<std::uint8_t const*>(array.buffers[0]);
    return (bits[place >> 3] >> (place & 7) & 1) == 0;
}

namespace detail {

template <class T>
T at(ArrowArray const& array, std::int64_t buffer, std::int64_t place) {
    return static_cast<T const*>(array.buffers[buffer])[place];
}

template <class Offset>
Text by_offsets(ArrowArray const& array, std::int64_t place) {
    auto const begin = at<Offset>(array, 1, place), end = at<Offset>(array, 1, place + 1);
    if (begin < 0 || end < begin) throw std::invalid_argument("The offsets of an Arrow string column fall.");
    return {static_cast<char const*>(array.buffers[2]) + begin, static_cast<std::size_t>(end - begin),
            Text::Form::utf8};
}

// Sixteen bytes: the length, then up to twelve bytes of text, or four bytes of it, a buffer and a place in it. The last
// buffer of the array holds the sizes of those of text, which are all that the interface says of the size of a buffer.
inline Text by_view(ArrowArray const& array, std::int64_t place) {
    auto const* view = static_cast<char const*>(array.buffers[1]) + 16 * place;
    std::int32_t length, buffer, offset;
    std::memcpy(&length, view, 4);
    if (length < 0) throw std::invalid_argument("An Arrow string view has a negative length.");
    auto const size = static_cast<std::size_t>(length);
    if (length <= 12) return {view + 4, size, Text::Form::utf8};
    std::memcpy(&buffer, view + 8, 4);
    std::memcpy(&offset, view + 12, 4);
    bool const inside = buffer >= 0 && std::int64_t{buffer} + 3 < array.n_buffers && offset >= 0;
    if (!inside || std::int64_t{offset} + length > at<std::int64_t>(array, array.n_buffers - 1, buffer)) {
        throw std::invalid_argument("An Arrow string view points outside of its buffers.");
    }
    return {static_cast<char const*>(array.buffers[buffer + 2]) + offset, size, Text::Form::utf8};
}

inline std::int64_t code(char format, ArrowArray const& array, std::int64_t place) {
    switch (format) {
        case 'c':
            return at<std::int8_t>(array, 1, place);
        case 'C':
            return at<std::uint8_t>(array, 1, place);
        case 's':
            return at<std::int16_t>(array, 1, place);
        case 'S':
            return at<std::uint16_t>(array, 1, place);
        case 'i':
            return at<std::int32_t>(array, 1, place);
        case 'I':
            return at<std::uint32_t>(array, 1, place);
        case 'l':
            return at<std::int64_t>(array, 1, place);
        default:
            return static_cast<std::int64_t>(at<std::uint64_t>(array, 1, place));
    }
}

}  // namespace detail

// The text of a row, or one without data where there is none. `schema` is text.
inline Text text(ArrowSchema const& schema, ArrowArray const& array, std::int64_t row) {
    std::int64_t const place = row + array.offset;
    if (is_null(array, place)) return {};
    std::string_view const format = schema.format;
    if (schema.dictionary != nullptr) {
        std::int64_t const code = detail::code(format[0], array, place);
        if (code < 0 || code >= array.dictionary->length) {
            throw std::invalid_argument("An Arrow column has a code outside of its dictionary.");
        }
        return text(*schema.dictionary, *array.dictionary, code);
    }
    Text result = format == "u"   ? detail::by_offsets<std::int32_t>(array, place)
                  : format == "U" ? detail::by_offsets<std::int64_t>(array, place)
                                  : detail::by_view(array, place);
    if (result.data == nullptr || result.length == 0) result.data = "";  // an empty column may have no bytes at all
    return result;
}

}  // namespace tallywise::text::arrow
