// Bytes of a fuzzer as numbers, choices and pieces of text. What is missing at the end is 0.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "core/text/analyzer.hpp"

// A law that must hold whatever arrives: the fuzzer keeps the input that breaks it.
#define REQUIRE(condition)                                                       \
    do {                                                                         \
        if (!(condition)) {                                                      \
            std::fprintf(stderr, "%s:%d: " #condition "\n", __FILE__, __LINE__); \
            std::abort();                                                        \
        }                                                                        \
    } while (false)

namespace tallywise::fuzz {

class Input {
  public:
    Input(std::uint8_t const* data, std::size_t size) : begin_(data), place_(data), end_(data + size) {}

    std::size_t left() const { return static_cast<std::size_t>(end_ - place_); }

    template <class T = std::uint8_t>
    T number() {
        T value{};
        std::size_t const n = std::min(left(), sizeof value);
        if (n > 0) std::memcpy(&value, place_, n);
        place_ += n;
        return value;
    }

    // A number in [low, high], from one byte.
    std::size_t among(std::size_t low, std::size_t high) { return low + number() % (high - low + 1); }
    bool flag() { return number() & 1; }

    // Whether to do what is slow beside all else, for one input in n. Drawn from every byte: the fuzzer keeps inputs
    // that do more, and if a byte decided, so would most of what it makes of them.
    bool one_in(std::uint32_t n) const {
        std::uint32_t hash = 2166136261;
        for (auto const* byte = begin_; byte < end_; ++byte) hash = (hash ^ *byte) * 16777619;
        return (hash >> 8) % n == 0;
    }

    // At most n bytes, in memory of their own: the sanitizer sees who reads beyond.
    std::vector<std::uint8_t> bytes(std::size_t n) {
        n = std::min(n, left());
        std::vector<std::uint8_t> found(place_, place_ + n);
        place_ += n;
        return found;
    }
    std::string text(std::size_t n) {
        auto const found = bytes(n);
        return {found.begin(), found.end()};
    }

    template <class T>
    std::vector<T> numbers(std::size_t n) {
        n = std::min(n, left() / sizeof(T));
        std::vector<T> found(n);
        if (n > 0) std::memcpy(found.data(), place_, n * sizeof(T));
        place_ += n * sizeof(T);
        return found;
    }

  private:
    std::uint8_t const *begin_, *place_, *end_;
};

// Facts of characters, with something of every kind: case, words outside of ASCII, spaces outside of ASCII.
inline text::Character describe(text::CodePoint c) {
    if (c < 0x80) {
        auto const byte = static_cast<unsigned char>(c);
        return {c, c >= 'A' && c <= 'Z' ? c + 32 : c, text::detail::ascii_word(byte), text::detail::ascii_space(byte)};
    }
    bool const upper = (c >= 0xC0 && c < 0xDF) || (c >= 0x391 && c < 0x3AA) || (c >= 0x10400 && c < 0x10428);
    bool const space = c == 0x85 || c == 0xA0 || (c >= 0x2000 && c <= 0x200A) || c == 0x3000;
    bool const word = !space && (c >= 0xC0 && c < 0x2000) | (c >= 0x3040 && c < 0xD800) | (c >= 0x10000 && c < 0x1F000);
    return {c, upper ? c + (c >= 0x10400 ? 40 : 32) : c, word, space};
}

inline text::CharacterTable const& characters() {
    static text::CharacterTable const table(&describe);
    return table;
}

inline std::shared_ptr<text::Foldings const> foldings(bool only_these) {
    return std::make_shared<text::Foldings>(std::vector<text::CodePoint>{0xE4, 0xE9, 0x301, 0x1D400},
                                            std::vector<std::uint32_t>{2, 3, 3, 6},
                                            std::vector<text::CodePoint>{'a', 'e', 'e', 'X', ' ', 0x4E00}, only_these);
}

inline text::AnalyzerOptions analyzer_options(Input& in) {
    text::AnalyzerOptions options;
    options.units = static_cast<text::Units>(in.among(0, 2));
    options.lower = in.flag();
    options.least = in.among(1, 3);
    options.marks = in.flag();
    options.min_n = in.among(1, 4);
    options.max_n = options.min_n + in.among(0, 3);
    options.deobfuscate = in.flag();
    if (in.flag()) options.stop_words = {"the", "a", "!", in.text(5)};
    return options;
}

// A document of any form, in memory of exactly its size.
struct Document {
    std::vector<std::uint8_t> one;
    std::vector<std::uint16_t> two;
    std::vector<std::uint32_t> four;
    text::Text text;
};

inline Document document(Input& in, std::size_t most) {
    Document d;
    switch (in.among(0, 3)) {
        case 0:
            d.one = in.bytes(most);
            d.text = {d.one.data(), d.one.size(), text::Text::Form::utf8};
            break;
        case 1:
            d.one = in.bytes(most);
            d.text = {d.one.data(), d.one.size(), text::Text::Form::one};
            break;
        case 2:
            d.two = in.numbers<std::uint16_t>(most / 2);
            d.text = {d.two.data(), d.two.size(), text::Text::Form::two};
            break;
        default:
            d.four = in.numbers<std::uint32_t>(most / 4);
            for (auto& c : d.four) c %= text::code_points;
            d.text = {d.four.data(), d.four.size(), text::Text::Form::four};
    }
    return d;
}

// The code points of a document, one by one; BadUtf8 where it has none.
inline std::vector<text::CodePoint> code_points_of(text::Text const& text) {
    std::vector<text::CodePoint> found;
    auto const* one = static_cast<std::uint8_t const*>(text.data);
    for (std::size_t k = 0; text.form != text::Text::Form::utf8 && k < text.length; ++k) {
        found.push_back(text.form == text::Text::Form::one   ? one[k]
                        : text.form == text::Text::Form::two ? static_cast<std::uint16_t const*>(text.data)[k]
                                                             : static_cast<std::uint32_t const*>(text.data)[k]);
    }
    auto const* const end = one + text.length;
    while (text.form == text::Text::Form::utf8 && one < end) found.push_back(text::decode(one, end));
    return found;
}

}  // namespace tallywise::fuzz
