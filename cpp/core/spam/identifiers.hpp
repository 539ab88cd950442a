// Runs of characters that machines write for machines: keys, signatures, identifiers of messages and of servers. They
// are other ones in each message, so a filter learns nothing from them, and they fill whatever it reads.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace tallywise::spam {

inline constexpr std::size_t shortest_identifier = 16;
inline constexpr std::string_view identifier_token = "$id$";

// Small letters 1, capitals 2, digits 3, signs that join 4; 0 for what is in no identifier.
inline constexpr std::array<unsigned char, 256> kinds_of_characters = [] {
    std::array<unsigned char, 256> kinds{};
    for (int c = 'a'; c <= 'z'; ++c) kinds[static_cast<std::size_t>(c)] = 1;
    for (int c = 'A'; c <= 'Z'; ++c) kinds[static_cast<std::size_t>(c)] = 2;
    for (int c = '0'; c <= '9'; ++c) kinds[static_cast<std::size_t>(c)] = 3;
    for (char const c : std::string_view("+/=_-")) kinds[static_cast<unsigned char>(c)] = 4;
    return kinds;
}();

// Whether the kind of character changes at every third one or more often: base64 has .6 changes a character,
// hexadecimal digits .47, words joined by hyphens hardly any, as signs that join are passed over.
inline bool is_identifier(std::string_view run) {
    if (run.size() < shortest_identifier) return false;
    std::size_t changes = 0;
    unsigned char last = 0;
    for (char const c : run) {
        auto const kind = kinds_of_characters[static_cast<unsigned char>(c)];
        if (kind == 4) continue;
        changes += last != 0 && kind != last ? 1u : 0u;
        last = kind;
    }
    return 3 * changes >= run.size();
}

// Appends `text` without the CR of CR LF and with one token for each identifier, until `out` has `most` bytes.
inline void append_without_identifiers(std::string& out, std::string_view text, std::size_t most) {
    std::size_t kept = 0;  // from here on nothing is appended yet
    auto const flush = [&](std::size_t end) { out.append(text.substr(kept, end - kept)); };
    for (std::size_t k = 0; k < text.size() && out.size() + (k - kept) < most;) {
        std::size_t const start = k;
        while (k < text.size() && kinds_of_characters[static_cast<unsigned char>(text[k])] != 0) ++k;
        if (k - start >= shortest_identifier && is_identifier(text.substr(start, k - start))) {
            flush(start);
            out.append(identifier_token);
            kept = k;
        }
        if (k < text.size() && text[k] == '\r' && k + 1 < text.size() && text[k + 1] == '\n') {
            flush(k);
            kept = k + 1;
        }
        if (k < text.size()) ++k;
    }
    flush(std::min(text.size(), kept + most));
    if (out.size() > most) out.resize(most);
}

}  // namespace tallywise::spam
