// A word as a reader sees it, so that V1@gra, VIAGRA and v-i-a-g-r-a are one: lower case, digits and signs that stand
// for letters as those letters, l as i, Latin letters without accents (in UTF-8 or Latin-1), what parts letters left
// out, a letter that is repeated once.
//
// It is counted beside the word, never in its place, so it may be rough: honest words that fall together ("fail",
// "fall") lose nothing. `Deobfuscator` of text/, whose result is read in the place of the text, has to be careful.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/spam/letters.hpp"

namespace tallywise::spam {

// The letters that U+00C0 to U+00FF are without their accents.
inline constexpr std::string_view bare_latin = "aaaaaaaceeeeiiiidnoooooxouuuuytsaaaaaaaceeeeiiiidnoooooxouuuuyty";

inline constexpr std::array<char, 256> looks = [] {
    std::array<char, 256> table{};
    for (int b = 0; b < 256; ++b) {
        table[static_cast<std::size_t>(b)] = static_cast<char>(b >= 'A' && b <= 'Z' ? b + 32 : b);
    }
    constexpr std::string_view signs = "0134578!@$lL", letters = "oieastbiasii", parting = ".-_'";
    static_assert(signs.size() == letters.size());
    for (std::size_t k = 0; k < signs.size(); ++k) table[static_cast<unsigned char>(signs[k])] = letters[k];
    for (char const c : parting) table[static_cast<unsigned char>(c)] = '\0';
    return table;
}();

// Replaces `out`.
inline void skeleton(std::string_view word, std::string& out) {
    out.clear();
    for (std::size_t k = 0; k < word.size(); ++k) {
        auto const byte = static_cast<unsigned char>(word[k]);
        char c = looks[byte];
        if (byte >= 0xC0) {
            bool const goes_on = k + 1 < word.size() && (static_cast<unsigned char>(word[k + 1]) & 0xC0) == 0x80;
            if (!goes_on) {
                c = bare_latin[byte - 0xC0];
            } else if (byte == 0xC3) {
                c = bare_latin[static_cast<unsigned char>(word[++k]) & 0x3F];
            }
        }
        if (c != '\0' && (out.empty() || out.back() != c)) out.push_back(c);
    }
}

}  // namespace tallywise::spam
