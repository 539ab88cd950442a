// Where the tokens of a line are: runs of marked bytes, words of a least length, n-grams of characters.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/text/normalize.hpp"

namespace tallywise::text {

// f(begin, end) for each longest run of marked bytes. An edge is a bit that differs from the one before it.
template <class F>
void each_run(Line const& line, std::uint64_t const* bits, F&& f) {
    std::size_t begin = 0;
    bool inside = false;
    std::uint64_t before = 0;
    for (std::size_t word = 0; word <= line.size / 64; ++word) {
        std::uint64_t const marks = bits[word];
        for (std::uint64_t edges = marks ^ ((marks << 1) | before); edges != 0; edges &= edges - 1) {
            std::size_t const place = word * 64 + static_cast<std::size_t>(std::countr_zero(edges));
            if (inside) f(begin, place);
            begin = place;
            inside = !inside;
        }
        before = marks >> 63;
    }
    if (inside) f(begin, line.size);
}

template <class F>
void each_run(Line const& line, F&& f) {
    each_run(line, line.inside.data(), f);
}

// f(begin, end) for each word and for each character that is neither in a word nor white space: \w+|[^\w\s].
template <class F>
void each_word_or_mark(Line const& line, F&& f) {
    char const* const bytes = line.bytes.data();
    std::size_t place = 0;
    auto const marks = [&](std::size_t end) {
        while (place < end) {
            std::size_t next = place + 1;
            while (next < end && (static_cast<unsigned char>(bytes[next]) & 0xC0) == 0x80) ++next;
            if (line.solid[place / 64] >> (place % 64) & 1) f(place, next);
            place = next;
        }
    };
    each_run(line, [&](std::size_t begin, std::size_t end) {
        marks(begin);
        f(begin, end);
        place = end;
    });
    marks(line.size);
}

// f(begin, end) for each run of at least `least` characters: \b\w\w+\b for least = 2.
template <class F>
void each_word(Line const& line, std::size_t least, F&& f) {
    each_run(line, [&](std::size_t begin, std::size_t end) {
        if (end - begin < least) return;
        if (!line.ascii && end - begin < 4 * least &&
            count_characters(line.bytes.data() + begin, end - begin) < least) {
            return;
        }
        f(begin, end);
    });
}

}  // namespace tallywise::text
