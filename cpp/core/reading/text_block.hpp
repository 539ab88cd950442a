// Texts of a file as they are read: where each lies, and the line on which its record ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/text/characters.hpp"

namespace tallywise::reading {

struct TextBlock {
    std::vector<text::Text> texts;  // UTF-8
    std::vector<std::uint64_t> lines;
    std::uint64_t blank = 0;      // texts of nothing but white space
    std::deque<std::string> own;  // texts that do not lie in the file as they are

    void add(std::string_view text, std::uint64_t line) {
        texts.push_back({text.data(), text.size(), text::Text::Form::utf8});
        lines.push_back(line);
    }
    void add_own(std::string text, std::uint64_t line) { add(own.emplace_back(std::move(text)), line); }
};

// How far a reader of records came. It leaves alone what is not plain and simple (`odd`), for someone slower to read:
// what it reads itself, it reads exactly as that one would.
struct ReadSoFar {
    std::size_t position = 0;  // where the next record begins
    std::uint64_t lines = 0;   // line ends before it
    bool odd = false;          // whether it is that record that stopped it, and not the end of the data
};

// Whether bytes are UTF-8 as the standard has it: shortest forms, no surrogates.
inline bool is_utf8(char const* data, std::size_t n) {
    auto const* in = reinterpret_cast<unsigned char const*>(data);
    auto const* const end = in + n;
    auto const follows = [&](std::size_t k) { return (in[k] & 0xC0) == 0x80; };
    while (in < end) {
        if (*in < 0x80) {
            ++in;
            continue;
        }
        auto const left = static_cast<std::size_t>(end - in);
        if (*in >= 0xC2 && *in < 0xE0) {
            if (left < 2 || !follows(1)) return false;
            in += 2;
        } else if (*in >= 0xE0 && *in < 0xF0) {
            if (left < 3 || !follows(1) || !follows(2)) return false;
            if ((*in == 0xE0 && in[1] < 0xA0) || (*in == 0xED && in[1] >= 0xA0)) return false;
            in += 3;
        } else if (*in >= 0xF0 && *in < 0xF5) {
            if (left < 4 || !follows(1) || !follows(2) || !follows(3)) return false;
            if ((*in == 0xF0 && in[1] < 0x90) || (*in == 0xF4 && in[1] >= 0x90)) return false;
            in += 4;
        } else {
            return false;
        }
    }
    return true;
}

// Whether a record can be read as it lies: text without zeros.
inline bool is_plain(char const* data, std::size_t n) {
    bool zero = false;
    unsigned char all = 0;
    for (std::size_t k = 0; k < n; ++k) {
        zero |= data[k] == 0;
        all |= static_cast<unsigned char>(data[k]);
    }
    return !zero && (all < 0x80 || is_utf8(data, n));
}

// Whether nothing but white space is in valid UTF-8.
inline bool is_blank(std::string_view cell, text::CharacterTable const& characters) {
    auto const* in = reinterpret_cast<unsigned char const*>(cell.data());
    auto const* const end = in + cell.size();
    while (in < end) {
        if (!characters[text::decode(in, end)].space()) return false;
    }
    return true;
}

}  // namespace tallywise::reading
