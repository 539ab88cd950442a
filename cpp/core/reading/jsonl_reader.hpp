// Texts of a file with a JSON object on each line, as Python's json module reads them.
//
// A line is odd, and left to Python, if it is no JSON by the letter of RFC 8259 (Python takes more, such as NaN), holds
// a zero byte, bytes that are not UTF-8 or half a surrogate pair, is nested deeply, has numbers of very many digits or
// very many bytes, or if its text is neither a string nor null. So is a blank line: see csv_reader.hpp. An object
// without a text has an empty one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "core/reading/text_block.hpp"

namespace tallywise::reading {

struct JsonlLayout {
    std::string text;         // the key of the texts
    std::size_t longest = 0;  // bytes of a line that are read here
};

// One object; values are looked at, not built.
class JsonObject {
  public:
    enum class Kind { absent, null, string, other };

    struct Value {
        Kind kind = Kind::absent;
        std::string_view raw = "";  // of a string, what stands between the quotation marks
        bool escaped = false;
    };

    JsonObject(std::string_view line, JsonlLayout const& layout)
        : in_(line.data()), end_(line.data() + line.size()), layout_(layout) {}

    // False for what is odd.
    bool parse() {
        spaces();
        if (!object(0, true)) return false;
        spaces();
        return in_ == end_;
    }

    Value const& text() const { return text_; }

    // The characters of a string; false if one of them is half a pair.
    static bool unescape(std::string_view raw, std::string& out) {
        out.clear();
        out.reserve(raw.size());
        for (std::size_t k = 0; k < raw.size(); ++k) {
            if (raw[k] != '\\') {
                out.push_back(raw[k]);
                continue;
            }
            char const c = raw[++k];
            if (c != 'u') {
                constexpr std::string_view from = "\"\\/bfnrt", to = "\"\\/\b\f\n\r\t";
                out.push_back(to[from.find(c)]);
                continue;
            }
            text::CodePoint code = four(raw, k);
            if (code >= 0xDC00 && code < 0xE000) return false;
            if (code >= 0xD800 && code < 0xDC00) {
                if (k + 6 >= raw.size() || raw[k + 1] != '\\' || raw[k + 2] != 'u') return false;
                k += 2;
                text::CodePoint const low = four(raw, k);
                if (low < 0xDC00 || low >= 0xE000) return false;
                code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
            }
            char bytes[4];
            out.append(bytes, text::encode(code, bytes));
        }
        return true;
    }

  private:
    static constexpr int deepest = 64;
    static constexpr std::ptrdiff_t most_digits = 1000;

    static int digit(char c) {
        if (c >= '0' && c <= '9') return c - '0';
        if (c >= 'a' && c <= 'f') return c - 'a' + 10;
        return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
    }

    // The four digits behind the u at k, which were looked at before; k moves to the last of them.
    static text::CodePoint four(std::string_view raw, std::size_t& k) {
        text::CodePoint code = 0;
        for (int d = 0; d < 4; ++d) code = code << 4 | static_cast<text::CodePoint>(digit(raw[++k]));
        return code;
    }

    bool at(char c) const { return in_ < end_ && *in_ == c; }
    bool take(char c) {
        if (!at(c)) return false;
        ++in_;
        return true;
    }
    void spaces() {
        while (in_ < end_ && (*in_ == ' ' || *in_ == '\t' || *in_ == '\n' || *in_ == '\r')) ++in_;
    }

    bool string(Value& value) {
        if (!take('"')) return false;
        char const* const begin = in_;
        for (; in_ < end_ && *in_ != '"'; ++in_) {
            if (static_cast<unsigned char>(*in_) < 0x20) return false;
            if (*in_ != '\\') continue;
            value.escaped = true;
            if (++in_ == end_) return false;
            if (*in_ == 'u') {
                if (end_ - in_ < 5) return false;
                for (int d = 1; d <= 4; ++d) {
                    if (digit(in_[d]) < 0) return false;
                }
                in_ += 4;
            } else if (std::string_view("\"\\/bfnrt").find(*in_) == std::string_view::npos) {
                return false;
            }
        }
        value.kind = Kind::string;
        value.raw = {begin, static_cast<std::size_t>(in_ - begin)};
        return take('"');
    }

    bool digits() {
        char const* const begin = in_;
        while (in_ < end_ && *in_ >= '0' && *in_ <= '9') ++in_;
        return in_ != begin;
    }

    bool number() {
        char const* const begin = in_;
        take('-');
        if (!take('0') && !digits()) return false;
        if (take('.') && !digits()) return false;
        if (at('e') || at('E')) {
            ++in_;
            if (!take('+')) take('-');
            if (!digits()) return false;
        }
        return in_ - begin < most_digits;
    }

    bool word(std::string_view wanted) {
        if (static_cast<std::size_t>(end_ - in_) < wanted.size()) return false;
        if (std::memcmp(in_, wanted.data(), wanted.size()) != 0) return false;
        in_ += wanted.size();
        return true;
    }

    bool value(Value& found, int depth) {
        if (in_ == end_ || depth > deepest) return false;
        if (*in_ == '"') return string(found);
        found.kind = *in_ == 'n' ? Kind::null : Kind::other;
        switch (*in_) {
            case '{':
                return object(depth, false);
            case '[':
                return array(depth);
            case 't':
                return word("true");
            case 'f':
                return word("false");
            case 'n':
                return word("null");
            default:
                return number();
        }
    }

    bool array(int depth) {
        take('[');
        spaces();
        if (take(']')) return true;
        do {
            spaces();
            Value ignored;
            if (!value(ignored, depth + 1)) return false;
            spaces();
        } while (take(','));
        return take(']');
    }

    bool object(int depth, bool outermost) {
        if (!take('{')) return false;
        spaces();
        if (take('}')) return true;
        do {
            spaces();
            Value key, found;
            if (!string(key)) return false;
            spaces();
            if (!take(':')) return false;
            spaces();
            if (!value(found, depth + 1)) return false;
            if (outermost && !keep(key, found)) return false;
            spaces();
        } while (take(','));
        return take('}');
    }

    // Of equal keys the last one counts.
    bool keep(Value const& key, Value const& found) {
        std::string_view name = key.raw;
        if (key.escaped) {
            if (!unescape(key.raw, name_)) return false;
            name = name_;
        }
        if (name == layout_.text) text_ = found;
        return true;
    }

    char const* in_;
    char const* end_;
    JsonlLayout const& layout_;
    Value text_;
    std::string name_;
};

class JsonlReader {
  public:
    JsonlReader(JsonlLayout layout, text::CharacterTable const& characters)
        : layout_(std::move(layout)), characters_(characters) {}

    // As CsvReader::read.
    ReadSoFar read(std::string_view data, ReadSoFar from, bool last, TextBlock& block) const {
        ReadSoFar now{from.position, from.lines, false};
        while (now.position < data.size()) {
            char const* const begin = data.data() + now.position;
            std::size_t const left = data.size() - now.position;
            auto const* const feed = static_cast<char const*>(std::memchr(begin, '\n', left));
            std::size_t const size = feed == nullptr ? left : static_cast<std::size_t>(feed - begin);
            if (size >= layout_.longest) return {now.position, now.lines, true};
            if (feed == nullptr && !last) return now;
            if (!line({begin, size}, now.lines + 1, block)) return {now.position, now.lines, true};
            now.position += size + (feed == nullptr ? 0 : 1);
            ++now.lines;
        }
        return now;
    }

  private:
    // False for what is odd; a blank line is, because it is no object.
    bool line(std::string_view content, std::uint64_t number, TextBlock& block) const {
        if (!is_plain(content.data(), content.size())) return false;
        JsonObject object(content, layout_);
        if (!object.parse()) return false;
        JsonObject::Value const& text = object.text();
        if (text.kind == JsonObject::Kind::other) return false;
        std::string own;
        std::string_view cell = text.raw;
        if (text.escaped) {
            if (!JsonObject::unescape(text.raw, own)) return false;
            cell = own;
        }
        block.blank += is_blank(cell, characters_);
        if (text.escaped) {
            block.add_own(std::move(own), number);
        } else {
            block.add(cell, number);
        }
        return true;
    }

    JsonlLayout layout_;
    text::CharacterTable const& characters_;
};

}  // namespace tallywise::reading
