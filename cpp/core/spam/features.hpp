// Three views of a message, each a set of slots of one hashed table.
//
//     0 grams    byte 6-grams of the first 3,000 bytes
//     1 header   words and adjacent pairs of words, each with the name of its field; order of the fields, content
//     types,
//                character sets and hosts of links
//     2 body     words and adjacent pairs of words of body and subject
//
// In views 1 and 2 case is kept, and a word with capitals counts in lower case too.
//
// A word is a run of at most 40 bytes that are letters, digits, not ASCII, or one of $'-_!; a dot or an at sign belongs
// to it when a word byte follows. A slot counts once however often it occurs. Slots are in ascending order, so that
// sums over them have one order, from a message or from the journal alike.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/spam/message.hpp"

namespace tallywise::spam {

inline constexpr std::size_t views = 3;
inline constexpr unsigned slot_bits = 20;
inline constexpr std::size_t slots = std::size_t{1} << slot_bits;
inline constexpr std::size_t gram_bytes = 3000, gram_length = 6, longest_word = 40;

using Slots = std::vector<std::uint32_t>;
struct Features : std::array<Slots, views> {};

inline std::uint64_t mixed(std::uint64_t h, std::uint64_t value) {
    h = (h ^ value) * 0x9E3779B97F4A7C15u;
    return h ^ (h >> 32);
}

inline std::uint64_t little_endian(char const* bytes, std::size_t n = 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes, n);
    if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
    return word;
}

inline std::uint64_t hashed(std::string_view bytes, std::uint64_t seed) {
    std::uint64_t h = mixed(seed, bytes.size());
    for (std::size_t k = 0; k < bytes.size(); k += 8) {
        h = mixed(h, little_endian(bytes.data() + k, std::min<std::size_t>(8, bytes.size() - k)));
    }
    return h;
}

inline std::uint32_t slot_of(std::uint64_t h) {
    h *= 0xD6E8FEB86659FD93u;
    return static_cast<std::uint32_t>((h ^ (h >> 32)) * 0xD6E8FEB86659FD93u >> (64 - slot_bits));
}

inline bool word_byte(unsigned char c) {
    static constexpr auto table = [] {
        std::array<bool, 256> t{};
        for (int b = 0; b < 256; ++b) {
            t[static_cast<std::size_t>(b)] = (b >= '0' && b <= '9') || (b >= 'A' && b <= 'Z') ||
                                             (b >= 'a' && b <= 'z') || b >= 128 || b == '$' || b == '\'' || b == '-' ||
                                             b == '_' || b == '!';
        }
        return t;
    }();
    return table[c];
}

// visit(word) for each word of a text.
template <class Visit>
void each_word(std::string_view text, Visit&& visit) {
    std::size_t k = 0;
    auto const is_word = [&](std::size_t at) { return word_byte(static_cast<unsigned char>(text[at])); };
    while (k < text.size()) {
        std::size_t const start = k;
        while (k < text.size() && k - start < longest_word) {
            bool const joins = (text[k] == '.' || text[k] == '@') && k + 1 < text.size() && is_word(k + 1);
            if (!is_word(k) && !joins) break;
            ++k;
        }
        if (k > start) {
            visit(text.substr(start, k - start));
        } else {
            ++k;
        }
    }
}

// What a feature is, for those who ask for names: (view, name, slot). The default costs nothing.
struct NoNames {
    void operator()(std::size_t, std::uint32_t, std::string_view, std::string_view, std::string_view) const {}
};

// Ascending and distinct, by two passes of counting.
inline void sort_distinct(Slots& found, Slots& scratch) {
    constexpr unsigned half = slot_bits / 2;
    constexpr std::uint32_t mask = (1u << half) - 1;
    scratch.resize(found.size());
    for (unsigned const shift : {0u, half}) {
        std::array<std::uint32_t, (1u << half) + 1> place{};
        for (auto const s : found) ++place[((s >> shift) & mask) + 1];
        for (std::size_t k = 1; k < place.size(); ++k) place[k] += place[k - 1];
        for (auto const s : found) scratch[place[(s >> shift) & mask]++] = s;
        found.swap(scratch);
    }
    found.erase(std::unique(found.begin(), found.end()), found.end());
}

class Analyzer {
  public:
    template <class Name = NoNames>
    Features const& operator()(CleanMessage const& message, Name&& name = {}) {
        for (auto& view : found_) view.clear();
        grams(message, name);
        header(message, name);
        words(message.body, 2, "", name);
        for (auto& view : found_) sort_distinct(view, scratch_);
        return found_;
    }

  private:
    template <class Name>
    void grams(CleanMessage const& message, Name& name) {
        text_.assign(message.header).push_back('\n');
        text_.append(message.body, 0, gram_bytes);
        if (text_.size() > gram_bytes) text_.resize(gram_bytes);
        std::size_t const n = text_.size();
        text_.append(8 - gram_length, '\0');  // grams are read eight bytes at a time
        for (std::size_t k = 0; k + gram_length <= n; ++k) {
            add(0, little_endian(text_.data() + k) << (64 - 8 * gram_length), name, "",
                std::string_view(text_).substr(k, gram_length), "");
        }
    }

    template <class Name>
    void header(CleanMessage const& message, Name& name) {
        std::string_view const all = message.header;
        std::string_view before = "";
        std::size_t place = 0;
        for (auto const& field : message.order) {
            add(1, hashed(field, hashed(before, 11)), name, "order", before, field);
            before = field;
            std::size_t end = all.find('\n', place);
            while (end != std::string_view::npos && end + 1 < all.size() &&
                   (all[end + 1] == ' ' || all[end + 1] == '\t')) {
                end = all.find('\n', end + 1);
            }
            if (end == std::string_view::npos) end = all.size();
            std::string_view const lines = all.substr(place, end - place);
            auto const colon = lines.find(':');
            if (colon != std::string_view::npos) {
                words(lines.substr(colon + 1), 1, field, name);
                if (field == "subject") words(lines.substr(colon + 1), 2, "", name);
            }
            place = std::min(end + 1, all.size());
        }
        structure(message.body, name);
    }

    // Content types, character sets and transfer encodings of the parts, hosts of links.
    template <class Name>
    void structure(std::string_view body, Name& name) {
        static constexpr std::array<std::pair<std::string_view, std::string_view>, 4> marks = {{
            {"content-type:", "type"},
            {"charset=", "charset"},
            {"content-transfer-encoding:", "encoding"},
            {"://", "host"},
        }};
        for (std::size_t k = 0; k < body.size(); ++k) {
            if (body[k] != ':' && body[k] != 'c' && body[k] != 'C') continue;
            for (auto const& [mark, kind] : marks) {
                if (!matches(body, k, mark)) continue;
                std::size_t start = k + mark.size();
                while (start < body.size() && (body[start] == ' ' || body[start] == '"')) ++start;
                value_.clear();
                while (start < body.size() && value_.size() < 60 &&
                       (word_byte(static_cast<unsigned char>(body[start])) || body[start] == '.' ||
                        (body[start] == '/' && kind == "type"))) {
                    value_.push_back(static_cast<char>(lowered(static_cast<unsigned char>(body[start++]))));
                }
                if (!value_.empty()) add(1, hashed(value_, hashed(kind, 12)), name, kind, value_, "");
            }
        }
    }

    static bool matches(std::string_view body, std::size_t at, std::string_view mark) {
        if (body.size() - at < mark.size()) return false;
        for (std::size_t k = 0; k < mark.size(); ++k) {
            if (lowered(static_cast<unsigned char>(body[at + k])) != static_cast<unsigned char>(mark[k])) return false;
        }
        return true;
    }

    template <class Name>
    void words(std::string_view text, std::size_t view, std::string_view field, Name& name) {
        std::uint64_t const seed = hashed(field, 2 + view);
        std::uint64_t last = 0;
        std::string_view previous;
        each_word(text, [&](std::string_view word) {
            std::uint64_t const h = hashed(word, seed);
            add(view, h, name, field, word, "");
            value_.assign(word);
            for (char& c : value_) c = static_cast<char>(lowered(static_cast<unsigned char>(c)));
            if (value_ != word) add(view, hashed(value_, seed), name, field, value_, "");
            if (!previous.empty()) add(view, mixed(last, h), name, field, previous, word);
            last = h;
            previous = word;
        });
    }

    template <class Name>
    void add(std::size_t view, std::uint64_t h, Name& name, std::string_view field, std::string_view first,
             std::string_view second) {
        std::uint32_t const slot = slot_of(h);
        found_[view].push_back(slot);
        name(view, slot, field, first, second);
    }

    Features found_;
    Slots scratch_;
    std::string text_, value_;
};

}  // namespace tallywise::spam
