// The body of a message as its reader sees it: text parts decoded from base64 and quoted-printable, HTML without what
// is not shown; heads of parts and all other parts line by line as they came. One pass over the lines, linear time.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/spam/letters.hpp"
#include "core/spam/markup_text.hpp"

namespace tallywise::spam {

enum class Encoding { plain, base64, quoted_printable };

// The bytes of a text in the character set of this name, in UTF-8. Tables of all character sets are Python's, which sets
// this; without it text stays as it is.
using ToUtf8 = std::string (*)(std::string_view bytes, std::string_view charset);
inline ToUtf8 to_utf8 = nullptr;

// What the header of a part, or that of the message, says of the bytes below it. Without a content type they are text.
struct PartHead {
    bool text = true, html = false, message = false;
    Encoding encoding = Encoding::plain;
    std::string charset{};  // as it is written; empty for ASCII, UTF-8 and where none is named

    void named(std::string_view value) {
        charset = value;
        if (begins(value, "utf-8") || begins(value, "utf8") || begins(value, "us-ascii")) charset.clear();
    }

    void field(std::string_view line) {
        if (auto const type = value_of(line, "content-type:"); type.data() != nullptr) {
            text = begins(type, "text/");
            html = begins(type, "text/html");
            message = begins(type, "message/rfc822");
        } else if (auto const code = value_of(line, "content-transfer-encoding:"); code.data() != nullptr) {
            encoding = begins(code, "base64")             ? Encoding::base64
                       : begins(code, "quoted-printable") ? Encoding::quoted_printable
                                                          : Encoding::plain;
        }
    }

  private:
    static std::string_view value_of(std::string_view line, std::string_view name) {
        if (!begins(line, name)) return {};
        line.remove_prefix(name.size());
        line.remove_prefix(std::min(line.find_first_not_of(" \t\r\n\""), line.size()));
        return line;
    }
};

// Appends the bytes that lines of base64 stand for; what is no digit is passed over, as mail readers do.
class Base64 {
  public:
    void append(std::string_view line, std::string& out) {
        for (char const c : line) {
            int const digit = digits[static_cast<unsigned char>(c)];
            if (digit < 0) continue;
            bits_ = bits_ << 6 | static_cast<std::uint32_t>(digit);
            if ((held_ += 6) < 8) continue;
            held_ -= 8;
            out.push_back(static_cast<char>(bits_ >> held_ & 0xFF));
        }
    }

  private:
    static constexpr auto digits = [] {
        std::array<signed char, 256> table{};
        table.fill(-1);
        constexpr std::string_view all = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        for (std::size_t k = 0; k < all.size(); ++k) {
            table[static_cast<unsigned char>(all[k])] = static_cast<signed char>(k);
        }
        return table;
    }();

    std::uint32_t bits_ = 0;
    unsigned held_ = 0;
};

inline int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    auto const low = static_cast<char>(lowered(static_cast<unsigned char>(c)));
    return low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

// Appends the bytes that a line in quoted-printable stands for; a line that ends in "=" goes on in the next one.
inline void append_quoted_printable(std::string_view line, std::string& out) {
    line = line.substr(0, line.find_last_not_of(" \t") + 1);
    bool const goes_on = line.ends_with('=');
    if (goes_on) line.remove_suffix(1);
    for (std::size_t k = 0; k < line.size(); ++k) {
        int const high = line[k] == '=' && k + 2 < line.size() ? hex_digit(line[k + 1]) : -1;
        int const low = high < 0 ? -1 : hex_digit(line[k + 2]);
        if (low < 0) {
            out.push_back(line[k]);
        } else {
            out.push_back(static_cast<char>(high << 4 | low));
            k += 2;
        }
    }
    if (!goes_on) out.push_back('\n');
}

class BodyReader {
  public:
    static constexpr std::size_t most_boundaries = 16, longest_boundary = 100;
    // Of one text part, decoded: a style sheet of 20 KB is long, one of 200 is there to fill what is read.
    static constexpr std::size_t most_text = 200000;

    BodyReader(std::string& out, std::size_t most) : out_(out), most_(most) {}

    // A field of the header of the message, or a line of that of a part.
    void head_line(std::string_view lines) {
        head_.field(lines);
        auto const ends_in = [&](std::size_t k, std::string_view mark) {
            return k + 1 >= mark.size() && begins(lines.substr(k + 1 - mark.size()), mark);
        };
        for (std::size_t k = lines.find('='); k < lines.size(); k = lines.find('=', k + 1)) {
            bool const charset = ends_in(k, "charset=");
            if (!charset && !ends_in(k, "boundary=")) continue;
            std::string_view value = lines.substr(k + 1, longest_boundary);
            bool const quoted = value.starts_with('"');
            if (quoted) value.remove_prefix(1);
            value = value.substr(0, value.find_first_of(quoted ? "\"\r\n" : "; \t\r\n"));
            if (charset) {
                head_.named(value);
            } else if (!value.empty() && boundaries_.size() < most_boundaries) {
                boundaries_.emplace_back(value);
            }
        }
    }

    void read(std::string_view body) {
        bool in_head = false;
        while (!body.empty() && out_.size() < most_) {
            auto const end = body.find('\n');
            std::string_view line = body.substr(0, end);
            body.remove_prefix(end == std::string_view::npos ? body.size() : end + 1);
            if (line.ends_with('\r')) line.remove_suffix(1);
            if (line.starts_with("--") && parts(line)) {
                finish_part();
                head_ = {};
                in_head = true;
                put_line(line);
            } else if (in_head) {
                head_line(line);
                put_line(line);
                if (line.empty()) {
                    in_head = head_.message;  // below, the header of another message
                    if (in_head) head_ = {};
                }
            } else if (head_.text) {
                decode(line);
            } else {
                put_line(line);
            }
        }
        finish_part();
        if (out_.size() > most_) out_.resize(most_);
    }

  private:
    bool parts(std::string_view line) const {
        return std::any_of(boundaries_.begin(), boundaries_.end(),
                           [&](auto const& boundary) { return line.substr(2).starts_with(boundary); });
    }

    void put_line(std::string_view line) {
        out_.append(line.substr(0, most_ - std::min(out_.size(), most_)));
        out_.push_back('\n');
    }

    // Plain text in UTF-8 goes out at once; HTML and other character sets wait for the end.
    void decode(std::string_view line) {
        bool const waits = head_.html || !head_.charset.empty();
        std::string& to = waits ? text_ : out_;
        if (waits && text_.size() > most_text) return;
        line = line.substr(0, most_text);
        if (head_.encoding == Encoding::base64) {
            decoder_.append(line, to);
        } else if (head_.encoding == Encoding::quoted_printable) {
            append_quoted_printable(line, to);
        } else {
            to.append(line);
            to.push_back('\n');
        }
    }

    void finish_part() {
        decoder_ = {};
        if (!text_.empty() && !head_.charset.empty() && to_utf8 != nullptr && !is_ascii(text_, head_.charset)) {
            text_ = to_utf8(text_, head_.charset);
        }
        if (head_.html && !text_.empty()) VisibleText(text_, out_, most_).append();
        if (!head_.html) out_.append(text_, 0, most_ - std::min(out_.size(), most_));
        text_.clear();
        if (!out_.empty() && out_.back() != '\n') out_.push_back('\n');  // the next part begins on a line of its own
    }

    // Whether a text says the same in UTF-8; some character sets have letters in ASCII bytes.
    static bool is_ascii(std::string_view text, std::string_view charset) {
        for (std::string_view const shifted : {"iso-2022", "hz", "utf-7", "utf-16", "utf16", "utf-32", "utf32"}) {
            if (begins(charset, shifted)) return false;
        }
        return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 128; });
    }

    PartHead head_;
    Base64 decoder_;
    std::vector<std::string> boundaries_;
    std::string& out_;
    std::string text_;
    std::size_t most_;
};

}  // namespace tallywise::spam
