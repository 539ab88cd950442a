// Text that a message carries in base64, as its reader sees it: words in it are none of the raw message. One pass over
// the lines of the body, linear time.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/spam/letters.hpp"

namespace tallywise::spam {

// What the header of a part, or that of the message, says of the bytes below it. Without a content type they are text.
class PartHead {
  public:
    void field(std::string_view line) {
        if (auto const type = value_of(line, "content-type:"); type.data() != nullptr) {
            text_ = begins(type, "text/");
        } else if (auto const code = value_of(line, "content-transfer-encoding:"); code.data() != nullptr) {
            base64_ = begins(code, "base64");
        }
    }

    bool text_in_base64() const { return text_ && base64_; }

  private:
    static std::string_view value_of(std::string_view line, std::string_view name) {
        if (!begins(line, name)) return {};
        line.remove_prefix(name.size());
        line.remove_prefix(std::min(line.find_first_not_of(" \t\r\n"), line.size()));
        return line;
    }

    bool text_ = true, base64_ = false;
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

// The text in base64 of a body with LF alone at the ends of its lines, below a header that says `head`.
inline std::string text_in_base64(std::string_view body, PartHead head) {
    std::string out;
    Base64 decoder;
    bool in_head = false;
    while (!body.empty()) {
        auto const end = body.find('\n');
        std::string_view const line = body.substr(0, end);
        body.remove_prefix(end == std::string_view::npos ? body.size() : end + 1);
        if (line.starts_with("--")) {  // a boundary: the next part's header begins
            in_head = true;
            head = {};
            decoder = {};
        } else if (in_head) {
            if (line.empty()) in_head = false;
            head.field(line);
        } else if (head.text_in_base64()) {
            decoder.append(line, out);
        }
    }
    return out;
}

}  // namespace tallywise::spam
