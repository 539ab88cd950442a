// Documents as they lie in memory, and what the tokeniser must know of a character.
//
// What a letter is and what its lower case is are facts of the Unicode version of the running interpreter (3.11 and
// 3.14 differ), so the table is filled from it as characters are met. The core sees data.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tallywise::text {

using CodePoint = std::uint32_t;
inline constexpr CodePoint code_points = 0x110000;
inline constexpr CodePoint capital_sigma = 0x3A3, dotted_capital_i = 0x130;

// A document: `length` units of one, two or four bytes each holding a code point (Python's strings), or UTF-8.
struct Text {
    enum class Form : std::uint8_t { utf8 = 0, one = 1, two = 2, four = 4 };

    void const* data = nullptr;
    std::size_t length = 0;
    Form form = Form::utf8;

    std::size_t bytes() const { return length * (form == Form::utf8 ? 1 : static_cast<std::size_t>(form)); }
};

inline bool has_capital_sigma(Text const& text) {
    auto const among = [&](auto const* units) {
        return std::find(units, units + text.length, capital_sigma) != units + text.length;
    };
    switch (text.form) {
        case Text::Form::one:
            return false;
        case Text::Form::two:
            return among(static_cast<std::uint16_t const*>(text.data));
        case Text::Form::four:
            return among(static_cast<std::uint32_t const*>(text.data));
        case Text::Form::utf8:
            break;
    }
    return std::string_view(static_cast<char const*>(text.data), text.length).find("\xCE\xA3") !=
           std::string_view::npos;
}

struct Character {
    static constexpr std::uint32_t word_bit = 1, space_bit = 2;

    std::uint32_t packed = 0;  // distance to the lower case in the high 24 bits, signed; the two bits below

    Character() = default;
    Character(CodePoint self, CodePoint lower, bool word, bool space)
        : packed(((lower - self) << 8) | (word ? word_bit : 0) | (space ? space_bit : 0)) {}

    bool word() const { return (packed & word_bit) != 0; }
    bool space() const { return (packed & space_bit) != 0; }
    CodePoint lower(CodePoint self) const {
        return self + static_cast<CodePoint>(static_cast<std::int32_t>(packed) >> 8);
    }
};

// Every character, in pages of 256 that are filled when first met: the whole of Unicode takes 20 ms, Latin-1 nothing.
class CharacterTable {
  public:
    explicit CharacterTable(Character (*describe)(CodePoint)) : describe_(describe) {}
    ~CharacterTable() {
        for (auto& page : pages_) delete page.load();
    }
    CharacterTable(CharacterTable const&) = delete;
    CharacterTable& operator=(CharacterTable const&) = delete;

    Character operator[](CodePoint c) const {
        Page const* page = pages_[c >> 8].load(std::memory_order_acquire);
        if (page == nullptr) page = fill(c >> 8);
        return (*page)[c & 255];
    }

  private:
    using Page = std::array<Character, 256>;

    Page const* fill(CodePoint number) const {
        auto page = std::make_unique<Page>();
        for (CodePoint k = 0; k < 256; ++k) (*page)[k] = describe_(number * 256 + k);
        Page const* known = nullptr;  // another thread may have been first
        return pages_[number].compare_exchange_strong(known, page.get()) ? page.release() : known;
    }

    Character (*describe_)(CodePoint);
    mutable std::array<std::atomic<Page const*>, code_points / 256> pages_{};
};

// What replaces a character when accents are stripped: nothing, or a few characters.
class Foldings {
  public:
    // Folds from[k] to to[ends[k-1] .. ends[k]). Other characters stay, or are dropped too where `only_these`.
    Foldings(std::vector<CodePoint> const& from, std::vector<std::uint32_t> const& ends, std::vector<CodePoint> to,
             bool only_these)
        : to_(std::move(to)), only_these_(only_these) {
        std::uint32_t begin = 0;
        for (std::size_t k = 0; k < from.size(); ++k) {
            if (k >= ends.size() || ends[k] < begin || ends[k] > to_.size()) {
                throw std::invalid_argument("The ends of foldings must rise and stay inside their text.");
            }
            places_[from[k]] = {begin, ends[k]};
            begin = ends[k];
        }
        if (std::any_of(to_.begin(), to_.end(), [](CodePoint c) { return c >= code_points; })) {
            throw std::invalid_argument("A folding holds what is no code point.");
        }
    }

    // Calls f with each character that c, not ASCII, becomes.
    template <class F>
    void each(CodePoint c, F&& f) const {
        auto const found = places_.find(c);
        if (found == places_.end()) {
            if (!only_these_ || c < 0x80) f(c);
            return;
        }
        for (std::uint32_t k = found->second.first; k < found->second.second; ++k) f(to_[k]);
    }

  private:
    std::unordered_map<CodePoint, std::pair<std::uint32_t, std::uint32_t>> places_;
    std::vector<CodePoint> to_;
    bool only_these_;
};

// Writes c in UTF-8 (surrogates like any other character, so that bytes sort as code points do); returns the length.
inline std::size_t encode(CodePoint c, char* out) {
    if (c < 0x80) {
        out[0] = static_cast<char>(c);
        return 1;
    }
    if (c < 0x800) {
        out[0] = static_cast<char>(0xC0 | (c >> 6));
        out[1] = static_cast<char>(0x80 | (c & 0x3F));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = static_cast<char>(0xE0 | (c >> 12));
        out[1] = static_cast<char>(0x80 | ((c >> 6) & 0x3F));
        out[2] = static_cast<char>(0x80 | (c & 0x3F));
        return 3;
    }
    out[0] = static_cast<char>(0xF0 | (c >> 18));
    out[1] = static_cast<char>(0x80 | ((c >> 12) & 0x3F));
    out[2] = static_cast<char>(0x80 | ((c >> 6) & 0x3F));
    out[3] = static_cast<char>(0x80 | (c & 0x3F));
    return 4;
}

// What is wrong with a document; which one it is, is said by who read it.
struct BadText : std::invalid_argument {
    using std::invalid_argument::invalid_argument;
};
struct BadUtf8 : BadText {
    BadUtf8() : BadText("it is not valid UTF-8") {}
};
struct LoneSurrogate : BadText {
    LoneSurrogate() : BadText("it holds a lone surrogate, which UTF-8 can't encode: surrogates not allowed") {}
};

// Reads one character at `in` and moves past it. Surrogates are let through, as encode writes them.
inline CodePoint decode(unsigned char const*& in, unsigned char const* end) {
    CodePoint const lead = *in;
    if (lead < 0x80) {
        ++in;
        return lead;
    }
    std::size_t const more = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : 1;
    if (lead < 0xC2 || lead > 0xF4 || static_cast<std::size_t>(end - in) <= more) throw BadUtf8{};
    CodePoint c = lead & (0x3F >> more);
    for (std::size_t k = 1; k <= more; ++k) {
        if ((in[k] & 0xC0) != 0x80) throw BadUtf8{};
        c = (c << 6) | (in[k] & 0x3F);
    }
    constexpr CodePoint least[] = {0, 0x80, 0x800, 0x10000};
    if (c < least[more] || c >= code_points) throw BadUtf8{};
    in += more + 1;
    return c;
}

// Characters in UTF-8 bytes: those that do not continue one.
inline std::size_t count_characters(char const* bytes, std::size_t n) {
    std::size_t total = 0;
    for (std::size_t k = 0; k < n; ++k) total += (static_cast<unsigned char>(bytes[k]) & 0xC0) != 0x80;
    return total;
}

// f(c) for each character of a text.
template <class F>
void each_character(Text const& text, F&& f) {
    auto const all = [&](auto const* units) { std::for_each(units, units + text.length, f); };
    switch (text.form) {
        case Text::Form::one:
            return all(static_cast<std::uint8_t const*>(text.data));
        case Text::Form::two:
            return all(static_cast<std::uint16_t const*>(text.data));
        case Text::Form::four:
            return all(static_cast<std::uint32_t const*>(text.data));
        case Text::Form::utf8:
            break;
    }
    auto const* in = static_cast<unsigned char const*>(text.data);
    auto const* const end = in + text.length;
    while (in < end) f(decode(in, end));
}

}  // namespace tallywise::text
