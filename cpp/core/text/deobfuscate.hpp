// Look-alikes to plain letters: m0rtgage, v1agra, full-width and mathematical letters, Cyrillic and Greek twins inside
// Latin words, marks of no width. What could be honest text stays: a word all Cyrillic, a number, mp3, an address.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "core/text/characters.hpp"

namespace tallywise::text {

class Deobfuscator {
  public:
    // The text with look-alikes replaced; valid until the next call. Afterwards origin()[k] is the character of `text`
    // that the k-th character came from.
    Text operator()(Text const& text) {
        characters_.clear();
        origin_.clear();
        std::uint32_t place = 0;
        each_character(text, [&](CodePoint c) {
            if (!has_no_width(c)) {
                characters_.push_back(plain(c));
                origin_.push_back(place);
            }
            ++place;
        });
        std::size_t begin = 0;
        for (std::size_t k = 0; k <= characters_.size(); ++k) {
            if (k == characters_.size() || is_separator(characters_[k])) {
                unmask(begin, k);
                begin = k + 1;
            }
        }
        return {characters_.data(), characters_.size(), Text::Form::four};
    }

    std::vector<std::uint32_t> const& origin() const { return origin_; }

  private:
    static bool has_no_width(CodePoint c) {
        return c == 0xAD || c == 0x34F || c == 0x61C || c == 0x180E || (c >= 0x200B && c <= 0x200F) ||
               (c >= 0x202A && c <= 0x202E) || (c >= 0x2060 && c <= 0x2064) || (c >= 0xFE00 && c <= 0xFE0F) ||
               c == 0xFEFF || (c >= 0xE0000 && c <= 0xE01EF);
    }

    // Letters that are Latin ones in another dress, whatever stands beside them.
    static CodePoint plain(CodePoint c) {
        if (c < 0x2100) return c;
        auto const letter = [](CodePoint k) { return k < 26 ? 'A' + k : 'a' + (k - 26); };
        if (c >= 0xFF01 && c <= 0xFF5E) return c - 0xFEE0;                    // full width
        if (c >= 0x1D400 && c <= 0x1D6A3) return letter((c - 0x1D400) % 52);  // mathematical bold, italic, script ...
        if (c >= 0x1D7CE && c <= 0x1D7FF) return '0' + (c - 0x1D7CE) % 10;
        if (c >= 0x24B6 && c <= 0x24E9) return letter(c - 0x24B6);     // in circles
        if (c >= 0x1F130 && c <= 0x1F149) return 'A' + (c - 0x1F130);  // in squares
        if (c >= 0x1F170 && c <= 0x1F189) return 'A' + (c - 0x1F170);
        return c;
    }

    static bool is_separator(CodePoint c) {
        return c <= ' ' || c == 0x85 || c == 0xA0 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 ||
               c == 0x202F || c == 0x205F || c == 0x3000;
    }
    static bool is_latin(CodePoint c) { return (c | 32) >= 'a' && (c | 32) <= 'z'; }

    // The Latin letter that a Cyrillic or Greek one looks like, or 0.
    static CodePoint twin(CodePoint c) {
        if (c < 0x370 || c > 0x526) return 0;
        using namespace std::literals;
        static constexpr auto foreign = U"АВСЕНІЈКМОРԚЅТУХаеіјорԛѕсухһԁԝӏΑΒΕΖΗΙΚΜΝΟΡΤΥΧονυικαρ"sv;
        static constexpr auto latin = "ABCEHIJKMOPQSTYXaeijopqscyxhdwlABEZHIKMNOPTYXovuikap"sv;
        static_assert(foreign.size() == latin.size());
        std::size_t const k = foreign.find(static_cast<char32_t>(c));
        return k == std::u32string_view::npos ? 0 : static_cast<CodePoint>(latin[k]);
    }

    static CodePoint letter_of_digit(CodePoint c) {
        constexpr std::string_view letters = "oi.eas.t..";
        return c >= '0' && c <= '9' && letters[c - '0'] != '.' ? static_cast<CodePoint>(letters[c - '0']) : 0;
    }
    static CodePoint letter_of_sign(CodePoint c) {
        return c == '@' ? 'a' : c == '$' ? 's' : c == '!' ? 'i' : c == '|' ? 'l' : 0;
    }

    // What stands between two separators.
    void unmask(std::size_t begin, std::size_t end) {
        bool latin = false, foreign = false, address = false;
        for (std::size_t k = begin; k < end; ++k) {
            CodePoint const c = characters_[k];
            latin |= is_latin(c);
            foreign |= c >= 0x370;
            address |= c == '.' || c == '/' || c == ':';
        }
        if (!latin) return;
        if (foreign) {
            for (std::size_t k = begin; k < end; ++k) {
                if (CodePoint const c = twin(characters_[k])) characters_[k] = c;
            }
        }
        replace_between_letters(begin, end, letter_of_digit);
        if (!address) replace_between_letters(begin, end, letter_of_sign);
    }

    // One or two characters with letters on both sides, all of which look like letters.
    template <class F>
    void replace_between_letters(std::size_t begin, std::size_t end, F&& letter_of) {
        for (std::size_t k = begin + 1; k + 1 < end; ++k) {
            if (!is_latin(characters_[k - 1])) continue;
            std::size_t stop = k;
            while (stop < end && stop - k < 3 && letter_of(characters_[stop]) != 0) ++stop;
            if (stop == k || stop - k > 2 || stop >= end || !is_latin(characters_[stop])) continue;
            for (; k < stop; ++k) characters_[k] = letter_of(characters_[k]);
        }
    }

    std::vector<std::uint32_t> characters_;
    std::vector<std::uint32_t> origin_;
};

}  // namespace tallywise::text
