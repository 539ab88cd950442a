// HTML in a text to what a reader sees: a tag or a comment is white space, an entity its character. The addresses of
// links and pictures stay, since they say much of a text. What could be honest text stays, too: a < b, <me@here.org>,
// AT&T, a tag of no name that HTML knows, an entity without its semicolon.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "core/text/characters.hpp"

namespace tallywise::text {

class MarkupStripper {
  public:
    // Whether a text has a character that markup begins with.
    static bool may_have(Text const& text) {
        auto const among = [&](auto const* units) {
            return std::any_of(units, units + text.length, [](auto c) { return c == '<' || c == '&'; });
        };
        switch (text.form) {
            case Text::Form::two:
                return among(static_cast<std::uint16_t const*>(text.data));
            case Text::Form::four:
                return among(static_cast<std::uint32_t const*>(text.data));
            case Text::Form::one:
            case Text::Form::utf8:
                break;
        }
        return text.length > 0 && (std::memchr(text.data, '<', text.length) != nullptr ||
                                   std::memchr(text.data, '&', text.length) != nullptr);
    }

    // The text without markup; valid until the next call. Afterwards origin()[k] is the character of `text` that the
    // k-th character came from. Time is linear in the text whatever it holds: a tag ends before the next '<', names are
    // short, and the end of a comment is looked for once where there is none.
    Text operator()(Text const& text) {
        in_.clear();
        out_.clear();
        origin_.clear();
        each_character(text, [&](CodePoint c) { in_.push_back(c); });
        bool comments_end = true;
        for (std::size_t k = 0; k < in_.size();) {
            std::size_t next = k;
            if (in_[k] == '<') {
                next = comments_end ? after_comment(k, comments_end) : k;
                if (next > k) put(' ', k);
                if (next == k) next = after_tag(k);
            } else if (in_[k] == '&') {
                next = after_entity(k);
            }
            if (next == k) put(in_[next++], k);
            k = next;
        }
        return {out_.data(), out_.size(), Text::Form::four};
    }

    std::vector<std::uint32_t> const& origin() const { return origin_; }

  private:
    static constexpr std::size_t longest_name = 10;

    static CodePoint small(CodePoint c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; }
    static bool is_space(CodePoint c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

    void put(CodePoint c, std::size_t from) {
        out_.push_back(c);
        origin_.push_back(static_cast<std::uint32_t>(from));
    }

    bool stands_at(std::size_t k, std::string_view what) const {
        return in_.size() - k >= what.size() &&
               std::equal(what.begin(), what.end(), in_.begin() + static_cast<std::ptrdiff_t>(k),
                          [](char c, CodePoint d) { return static_cast<CodePoint>(c) == small(d); });
    }

    // The end of a comment that begins at k, or k.
    std::size_t after_comment(std::size_t k, bool& any_end) const {
        if (!stands_at(k, "<!--")) return k;
        for (std::size_t end = k + 4; end < in_.size(); ++end) {
            if (in_[end] == '-' && stands_at(end, "-->")) return end + 3;
        }
        any_end = false;
        return k;
    }

    // The end of a tag that begins at k, or k. Leaves white space and the addresses it names in the output.
    std::size_t after_tag(std::size_t k) {
        std::size_t const first = k + 1 + (k + 1 < in_.size() && in_[k + 1] == '/');
        std::array<char, longest_name> name;
        std::size_t length = 0;
        std::size_t place = first;
        for (; place < in_.size() && is_letter_or_digit(in_[place]); ++place) {
            if (length == longest_name) return k;
            name[length++] = static_cast<char>(small(in_[place]));
        }
        if (place == in_.size() || !(is_space(in_[place]) || in_[place] == '>' || in_[place] == '/')) return k;
        if (!std::binary_search(names.begin(), names.end(), std::string_view(name.data(), length))) return k;
        std::size_t end = place;
        while (end < in_.size() && in_[end] != '>' && in_[end] != '<') ++end;
        if (end == in_.size() || in_[end] == '<') return k;
        put(' ', k);
        for (; place < end; ++place) {
            if (!is_space(in_[place])) continue;
            std::size_t const value = stands_at(place + 1, "href=")  ? place + 6
                                      : stands_at(place + 1, "src=") ? place + 5
                                                                     : 0;
            if (value == 0 || value >= end) continue;
            bool const quoted = in_[value] == '"' || in_[value] == '\'';
            std::size_t at = value + quoted;
            while (at < end && (quoted ? in_[at] != in_[value] : !is_space(in_[at]))) {
                put(in_[at], at);
                ++at;
            }
            put(' ', at - 1);
            place = at - 1;
        }
        return end + 1;
    }

    static bool is_letter_or_digit(CodePoint c) {
        return (small(c) >= 'a' && small(c) <= 'z') || (c >= '0' && c <= '9');
    }

    // The end of an entity that begins at k, whose character it leaves in the output; or k.
    std::size_t after_entity(std::size_t k) {
        std::array<char, longest_name> name;
        std::size_t length = 0, place = k + 1;
        for (; place < in_.size() && in_[place] != ';'; ++place) {
            if (length == longest_name || in_[place] > 0x7F) return k;
            name[length++] = static_cast<char>(in_[place]);
        }
        if (place == in_.size() || length == 0) return k;
        CodePoint const c = meaning({name.data(), length});
        if (c == 0) return k;
        put(c, k);
        return place + 1;
    }

    static CodePoint meaning(std::string_view name) {
        if (name[0] != '#') {
            auto const* const found = std::find_if(entities.begin(), entities.end(),
                                                   [&](auto const& entity) { return entity.first == name; });
            return found == entities.end() ? 0 : found->second;
        }
        bool const hexadecimal = name.size() > 1 && small(static_cast<unsigned char>(name[1])) == 'x';
        CodePoint value = 0;
        for (char const digit : name.substr(hexadecimal ? 2 : 1)) {
            CodePoint const c = small(static_cast<unsigned char>(digit));
            CodePoint const worth = c >= '0' && c <= '9'                  ? c - '0'
                                    : hexadecimal && c >= 'a' && c <= 'f' ? c - 'a' + 10
                                                                          : 16;
            if (worth == 16 || value >= code_points) return 0;
            value = value * (hexadecimal ? 16 : 10) + worth;
        }
        // Lower cases that depend on what stands beside them are found before texts come here.
        bool const plain = value < code_points && (value < 0xD800 || value > 0xDFFF);
        return plain && value != capital_sigma && value != dotted_capital_i ? value : 0;
    }

    static constexpr std::array<std::string_view, 79> names = {
        "a",      "abbr",   "article", "aside", "b",        "big",  "blockquote", "body",    "br",     "button",
        "center", "cite",   "code",    "dd",    "del",      "div",  "dl",         "dt",      "em",     "figure",
        "font",   "footer", "form",    "frame", "frameset", "h1",   "h2",         "h3",      "h4",     "h5",
        "h6",     "head",   "header",  "hr",    "html",     "i",    "iframe",     "img",     "input",  "ins",
        "kbd",    "label",  "li",      "link",  "main",     "map",  "meta",       "nav",     "object", "ol",
        "option", "p",      "pre",     "q",     "s",        "samp", "script",     "section", "select", "small",
        "span",   "strike", "strong",  "style", "sub",      "sup",  "table",      "tbody",   "td",     "textarea",
        "tfoot",  "th",     "thead",   "title", "tr",       "tt",   "u",          "ul",      "var"};
    static_assert(std::is_sorted(names.begin(), names.end()));

    static constexpr auto entities = std::to_array<std::pair<std::string_view, CodePoint>>({
        {"amp", '&'},      {"lt", '<'},       {"gt", '>'},       {"quot", '"'},      {"apos", '\''},
        {"nbsp", ' '},     {"ndash", 0x2013}, {"mdash", 0x2014}, {"lsquo", 0x2018},  {"rsquo", 0x2019},
        {"ldquo", 0x201C}, {"rdquo", 0x201D}, {"bull", 0x2022},  {"hellip", 0x2026}, {"middot", 0xB7},
        {"laquo", 0xAB},   {"raquo", 0xBB},   {"cent", 0xA2},    {"pound", 0xA3},    {"yen", 0xA5},
        {"euro", 0x20AC},  {"sect", 0xA7},    {"copy", 0xA9},    {"reg", 0xAE},      {"trade", 0x2122},
        {"deg", 0xB0},     {"frac12", 0xBD},  {"times", 0xD7},   {"szlig", 0xDF},    {"agrave", 0xE0},
        {"aacute", 0xE1},  {"acirc", 0xE2},   {"atilde", 0xE3},  {"auml", 0xE4},     {"aring", 0xE5},
        {"aelig", 0xE6},   {"ccedil", 0xE7},  {"egrave", 0xE8},  {"eacute", 0xE9},   {"ecirc", 0xEA},
        {"euml", 0xEB},    {"igrave", 0xEC},  {"iacute", 0xED},  {"icirc", 0xEE},    {"iuml", 0xEF},
        {"ntilde", 0xF1},  {"ograve", 0xF2},  {"oacute", 0xF3},  {"ocirc", 0xF4},    {"otilde", 0xF5},
        {"ouml", 0xF6},    {"oslash", 0xF8},  {"ugrave", 0xF9},  {"uacute", 0xFA},   {"ucirc", 0xFB},
        {"uuml", 0xFC},    {"Auml", 0xC4},    {"Ouml", 0xD6},    {"Uuml", 0xDC},     {"Eacute", 0xC9},
    });

    std::vector<CodePoint> in_, out_;
    std::vector<std::uint32_t> origin_;
};

}  // namespace tallywise::text
