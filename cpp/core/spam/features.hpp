// Three views of a message, each a set of slots of one hashed table.
//
//     0 grams    byte 6-grams of 1,500 bytes of the header and of the body, 3,000 together
//     1 header   words and adjacent pairs of words, each with the name of its field; order of the fields,
//                content types, character sets and hosts of links
//     2 body     words and adjacent pairs of words of body and subject
//
// In views 1 and 2 case is kept, and a word with capitals counts in lower case too. Words of body and subject count
// once more as they look (skeleton.hpp); words of the header with dots in them, names of hosts and addresses, also by
// what stands before and behind each dot: the networks and domains that they are in.
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
#include "core/spam/skeleton.hpp"

namespace tallywise::spam {

inline constexpr std::size_t views = 3;
inline constexpr unsigned slot_bits = 20;
inline constexpr std::size_t slots = std::size_t{1} << slot_bits;
inline constexpr std::size_t gram_bytes = 3000, gram_header = 1500, gram_length = 6, longest_word = 40,
                             shortest_skeleton = 3;

using Slots = std::vector<std::uint32_t>;
struct Features : std::array<Slots, views> {};

inline std::uint64_t mixed(std::uint64_t h, std::uint64_t value) {
    h = (h ^ value) * 0x9E3779B97F4A7C15u;
    return h ^ (h >> 32);
}

template <class Word = std::uint64_t>
std::uint64_t little_endian(char const* bytes) {
    Word word;
    std::memcpy(&word, bytes, sizeof word);
    if constexpr (std::endian::native == std::endian::big) {
        return __builtin_bswap64(word) >> (64 - 8 * sizeof word);
    } else {
        return word;
    }
}

// Fewer than eight bytes, zeros behind them: by two loads that may overlap, as a copy of so many bytes is a call.
inline std::uint64_t little_endian_tail(char const* bytes, std::size_t n) {
    if (n >= 4) return little_endian<std::uint32_t>(bytes) | little_endian<std::uint32_t>(bytes + n - 4) << 8 * (n - 4);
    if (n >= 2) return little_endian<std::uint16_t>(bytes) | little_endian<std::uint16_t>(bytes + n - 2) << 8 * (n - 2);
    return n == 1 ? static_cast<unsigned char>(*bytes) : 0;
}

inline std::uint64_t hashed(std::string_view bytes, std::uint64_t seed) {
    std::uint64_t h = mixed(seed, bytes.size());
    std::size_t k = 0;
    for (; k + 8 <= bytes.size(); k += 8) h = mixed(h, little_endian(bytes.data() + k));
    return k < bytes.size() ? mixed(h, little_endian_tail(bytes.data() + k, bytes.size() - k)) : h;
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

// A set of slots in two levels of bits: 16,384 words, and a bit for each of them that says whether it is empty. Adding
// costs two bits, and reading out in ascending order visits what is there alone; sorting lists instead took three times
// as long.
class SlotSet {
  public:
    SlotSet() : words_(slots / 64), groups_(slots / 4096) {}

    void add(std::uint32_t slot) {
        words_[slot >> 6] |= std::uint64_t{1} << (slot & 63);
        groups_[slot >> 12] |= std::uint64_t{1} << ((slot >> 6) & 63);
    }

    // Moves the slots to the end of `out`; the set is empty then.
    void take(Slots& out) {
        for (std::size_t g = 0; g < groups_.size(); ++g) {
            for (std::uint64_t group = std::exchange(groups_[g], 0); group != 0; group &= group - 1) {
                std::size_t const w = g << 6 | static_cast<std::size_t>(std::countr_zero(group));
                for (std::uint64_t word = std::exchange(words_[w], 0); word != 0; word &= word - 1) {
                    out.push_back(
                        static_cast<std::uint32_t>(w << 6 | static_cast<std::size_t>(std::countr_zero(word))));
                }
            }
        }
    }

  private:
    std::vector<std::uint64_t> words_, groups_;
};

class Analyzer {
  public:
    template <class Name = NoNames>
    Features const& operator()(CleanMessage const& message, Name&& name = {}) {
        grams(message, name);
        header(message, name);
        words(message.body, 2, "", name);
        for (std::size_t v = 0; v < views; ++v) {
            found_[v].clear();
            sets_[v].take(found_[v]);
        }
        return found_;
    }

  private:
    template <class Name>
    void grams(CleanMessage const& message, Name& name) {
        text_.assign(message.header, 0, gram_header).push_back('\n');
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
        std::string_view before = "";
        for (auto const& field : message.order) {
            add(1, hashed(field, hashed(before, 11)), name, "order", before, field);
            before = field;
        }
        for (auto const& [order, start, size] : message.fields) {
            std::string_view const field = message.order[order];
            std::string_view const lines = std::string_view(message.header).substr(start, size);
            auto const colon = lines.find(':');
            if (colon == std::string_view::npos) continue;
            words(lines.substr(colon + 1), 1, field, name);
            if (field == "subject") words(lines.substr(colon + 1), 2, "", name);
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
                if (!begins(body.substr(k), mark)) continue;
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

    template <class Name>
    void words(std::string_view text, std::size_t view, std::string_view field, Name& name) {
        std::uint64_t const seed = hashed(field, 2 + view), before = hashed(field, 13), behind = hashed(field, 14);
        bool const by_looks = view == 2 || field == "subject";
        std::uint64_t last = 0;
        std::string_view previous;
        each_word(text, [&](std::string_view word) {
            std::uint64_t const h = hashed(word, seed);
            add(view, h, name, field, word, "");
            if (std::any_of(word.begin(), word.end(), [](char c) { return c >= 'A' && c <= 'Z'; })) {
                value_.assign(word);
                for (char& c : value_) c = static_cast<char>(lowered(static_cast<unsigned char>(c)));
                add(view, hashed(value_, seed), name, field, value_, "");
            }
            if (by_looks) {
                skeleton(word, value_);
                if (value_.size() >= shortest_skeleton) add(view, hashed(value_, 15), name, "looks like", word, "");
            }
            if (view == 1) domains(word, before, behind, field, name);
            if (!previous.empty()) add(view, mixed(last, h), name, field, previous, word);
            last = h;
            previous = word;
        });
    }

    template <class Name>
    void domains(std::string_view word, std::uint64_t before, std::uint64_t behind, std::string_view field,
                 Name& name) {
        std::size_t dot = word.find('.');
        if (dot == std::string_view::npos) return;
        value_.assign(word);
        for (char& c : value_) c = static_cast<char>(lowered(static_cast<unsigned char>(c)));
        std::string_view const low = value_;
        for (; dot != std::string_view::npos; dot = low.find('.', dot + 1)) {
            std::string_view const start = low.substr(0, dot + 1), end = low.substr(dot);
            add(1, hashed(start, before), name, field, start, "");
            add(1, hashed(end, behind), name, field, end, "");
        }
    }

    template <class Name>
    void add(std::size_t view, std::uint64_t h, Name& name, std::string_view field, std::string_view first,
             std::string_view second) {
        std::uint32_t const slot = slot_of(h);
        sets_[view].add(slot);
        name(view, slot, field, first, second);
    }

    std::array<SlotSet, views> sets_;
    Features found_;
    std::string text_, value_;
};

// The features of a message, until this thread asks for those of another: an analyzer is not for one message alone.
inline Features const& analyzed(CleanMessage const& message) {
    thread_local Analyzer analyzer;
    return analyzer(message);
}

}  // namespace tallywise::spam
