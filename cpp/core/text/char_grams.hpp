// n-grams of characters: of a text whose white space is squeezed, or of the words between white space.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "core/text/normalize.hpp"
#include "core/text/tokens.hpp"

namespace tallywise::text {

// f(begin, end) over the n-grams of the characters in bytes[0 .. size), for n in [min_n, max_n]. `starts` is scratch.
template <class F>
void each_gram(char const* bytes, std::size_t size, bool ascii, std::size_t min_n, std::size_t max_n,
               std::vector<std::size_t>& starts, F&& f) {
    if (ascii) {
        for (std::size_t n = min_n; n <= std::min(max_n, size); ++n) {
            for (std::size_t begin = 0; begin + n <= size; ++begin) f(begin, begin + n);
        }
        return;
    }
    starts.clear();
    for (std::size_t k = 0; k < size; ++k) {
        if ((static_cast<unsigned char>(bytes[k]) & 0xC0) != 0x80) starts.push_back(k);
    }
    std::size_t const characters = starts.size();
    starts.push_back(size);
    for (std::size_t n = min_n; n <= std::min(max_n, characters); ++n) {
        for (std::size_t k = 0; k + n <= characters; ++k) f(starts[k], starts[k + n]);
    }
}

// Makes one space of every two or more characters of white space in a row; a single one stays what it is. The line
// is marked between spaces, and has no marks afterwards.
inline void squeeze_spaces(Line& line) {
    std::size_t const size = line.size;
    std::size_t written = 0, read = 0;
    auto const move = [&](std::size_t begin, std::size_t end) {
        std::memmove(line.bytes.data() + written, line.bytes.data() + begin, end - begin);
        if (!line.origin.empty()) {
            std::copy(line.origin.begin() + static_cast<std::ptrdiff_t>(begin),
                      line.origin.begin() + static_cast<std::ptrdiff_t>(end),
                      line.origin.begin() + static_cast<std::ptrdiff_t>(written));
        }
        written += end - begin;
    };
    auto const space = [&](std::size_t end) {
        if (end - read > 1 && count_characters(line.bytes.data() + read, end - read) > 1) {
            line.bytes[read] = ' ';
            move(read, read + 1);
        } else {
            move(read, end);
        }
    };
    each_run(line, line.between_spaces(), [&](std::size_t begin, std::size_t end) {
        space(begin);
        move(begin, end);
        read = end;
    });
    space(size);
    line.clear_marks();
    line.size = written;
}

// The n-grams of words, each with a space before and after it; a word shorter than every n counts as a whole.
class PaddedWord {
  public:
    // f(begin, end) in bytes().
    template <class F>
    void each(char const* word, std::size_t size, bool ascii, std::size_t min_n, std::size_t max_n, F&& f) {
        room_.resize(std::max(room_.size(), size + 2 + Line::padding));
        room_[0] = ' ';
        std::memcpy(room_.data() + 1, word, size);
        room_[size + 1] = ' ';
        std::size_t const characters = 2 + (ascii ? size : count_characters(word, size));
        if (characters < min_n) return f(std::size_t{0}, size + 2);
        each_gram(room_.data(), size + 2, ascii, min_n, max_n, starts_, f);
    }

    char const* bytes() const { return room_.data(); }

  private:
    std::vector<char> room_;
    std::vector<std::size_t> starts_;
};

}  // namespace tallywise::text
