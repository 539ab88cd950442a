// Verdicts on many texts as lines: for people (label, probability, the beginning of the text), or as JSON.
#pragma once

#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/parallel.hpp"
#include "core/text/characters.hpp"

namespace tallywise::serve {

// A finite number as Python writes it: the fewest digits that give it back, with an exponent below 1e-4 and from 1e16.
inline void append_number(double x, std::string& out) {
    char room[32];
    auto const end = std::to_chars(room, room + sizeof room, x, std::chars_format::scientific).ptr;
    std::string_view const all(room, static_cast<std::size_t>(end - room));
    std::size_t const e = all.find('e');
    int exponent = 0;
    std::from_chars(all.data() + e + (all[e + 1] == '+' ? 2 : 1), all.data() + all.size(), exponent);
    if (exponent < -4 || exponent >= 16) {
        out.append(all);  // both write a point only where digits follow, and two digits of the exponent
        return;
    }
    char const* const stop = std::to_chars(room, room + sizeof room, x, std::chars_format::fixed).ptr;
    std::string_view const plain(room, static_cast<std::size_t>(stop - room));
    out.append(plain);
    if (plain.find('.') == std::string_view::npos) out.append(".0");
}

// The beginning of a text on one line: white space as one space each, at most `beginning` characters, the last of them
// an ellipsis where something is left out. The text is UTF-8.
inline constexpr std::size_t beginning = 60;

inline void append_beginning(text::Text const& text, text::CharacterTable const& characters, std::string& out) {
    auto const* in = static_cast<unsigned char const*>(text.data);
    auto const* const end = in + text.length;
    char room[4 * beginning + 8];
    char *at = room, *cut = room;  // cut: behind one character less than there may be
    std::size_t written = 0;
    bool space = false;
    auto const put = [&](unsigned char const* from, std::size_t bytes) {
        if (written + 1 == beginning) cut = at;
        if (written++ == beginning) return false;
        *at++ = static_cast<char>(*from);
        for (std::size_t k = 1; k < bytes; ++k) *at++ = static_cast<char>(from[k]);
        return true;
    };
    while (in < end) {
        auto const* const begin = in;
        bool blank = false;
        if (*in < 0x80) {
            blank = *in == ' ' || (*in >= 9 && *in <= 13) || (*in >= 28 && *in <= 31);
            ++in;
        } else {
            blank = characters[text::decode(in, end)].space();
        }
        if (blank) {
            space = written > 0;
            continue;
        }
        constexpr unsigned char one[] = {' '};
        if ((space && !put(one, 1)) || !put(begin, static_cast<std::size_t>(in - begin))) {
            out.append(room, static_cast<std::size_t>(cut - room)).append("\xE2\x80\xA6");
            return;
        }
        space = false;
    }
    out.append(room, static_cast<std::size_t>(at - room));
}

struct AnswerStyle {
    std::vector<std::string> labels;  // as they are written
    bool json = false;
    std::string source;  // of JSON: what stands before the number of a line, in quotation marks that stay open
};

struct Answers {
    std::span<text::Text const> texts;
    std::span<std::uint64_t const> lines;
    std::span<std::int64_t const> verdicts;  // positions among the labels
    std::span<double const> probabilities;   // of the verdicts
    std::span<double const> unknown;         // of JSON: shares of unknown words, or nothing
};

inline void append_answer(Answers const& answers, std::size_t i, AnswerStyle const& style,
                          text::CharacterTable const& characters, std::string& out) {
    std::string const& label = style.labels[static_cast<std::size_t>(answers.verdicts[i])];
    char room[32];
    if (style.json) {
        auto const end = std::to_chars(room, room + sizeof room, answers.lines[i]).ptr;
        out.append("{\"source\": ").append(style.source).append(room, static_cast<std::size_t>(end - room));
        out.append("\", \"label\": ").append(label).append(", \"probability\": ");
        append_number(answers.probabilities[i], out);
        if (!answers.unknown.empty()) {
            out.append(", \"unknown_words\": ");
            append_number(answers.unknown[i], out);
        }
        out.append("}\n");
        return;
    }
    auto const end = std::to_chars(room, room + sizeof room, answers.probabilities[i], std::chars_format::fixed, 3).ptr;
    out.append(label).append("\t").append(room, static_cast<std::size_t>(end - room)).append("\t");
    append_beginning(answers.texts[i], characters, out);
    out.push_back('\n');
}

inline std::string answer_lines(Answers const& answers, AnswerStyle const& style,
                                text::CharacterTable const& characters, int threads) {
    constexpr std::size_t grain = 1024;
    Team team(threads);
    std::vector<std::string> parts(Team::count(answers.texts.size(), grain));
    team.each_range(answers.texts.size(), grain, [&](std::size_t begin, std::size_t end, std::size_t chunk) {
        for (std::size_t i = begin; i < end; ++i) append_answer(answers, i, style, characters, parts[chunk]);
    });
    std::string all;
    std::size_t total = 0;
    for (auto const& part : parts) total += part.size();
    all.reserve(total);
    for (auto const& part : parts) all.append(part);
    return all;
}

}  // namespace tallywise::serve
