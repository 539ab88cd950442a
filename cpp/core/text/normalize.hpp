// A document to a line: its text after lower-casing and folding, in UTF-8, and a bit for each byte that says whether
// it lies inside a run (a word, or what stands between white space; or both, each in bits of its own).
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "core/text/characters.hpp"
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace tallywise::text {

struct Line {
    static constexpr std::size_t padding = 32;  // readable bytes behind the text, for loads of whole words

    std::vector<char> bytes;
    std::vector<std::uint64_t> inside;  // one bit a byte, at least 64 zeros behind the text
    std::vector<std::uint64_t> solid;   // likewise, with Runs::both: what is not white space
    std::vector<std::uint32_t> origin;  // where asked for: the character of the document that each byte came from
    std::size_t size = 0;
    bool ascii = true;
    bool surrogates = false;  // some character is half of a pair, which has no UTF-8 of its own
    bool both = false;        // words are marked in `inside`, and what is not white space in `solid`

    void clear(std::size_t expected, bool two) {
        clear_marks();
        size = 0;
        ascii = true;
        surrogates = false;
        both = two;
        if (both && solid.size() < inside.size()) solid.resize(inside.size(), 0);
        origin.clear();
        reserve(expected);
    }

    // Only what the text marked: one long text must not make every later one pay for it. To be called before `size`
    // falls, or marks of what is cut off would be those of a later text.
    void clear_marks() {
        if (!inside.empty()) std::fill_n(inside.begin(), size / 64 + 1, 0);
        if (both) std::fill_n(solid.begin(), size / 64 + 1, 0);
    }

    void reserve(std::size_t wanted) {
        if (bytes.size() >= wanted + padding) return;
        std::size_t const room = std::max(wanted + padding, 2 * bytes.size());
        bytes.resize(room);
        inside.resize(room / 64 + 2, 0);
        if (both) solid.resize(inside.size(), 0);
    }

    // The bits of what stands between white space, in a line marked so.
    std::uint64_t const* between_spaces() const { return both ? solid.data() : inside.data(); }

    // Marks `count` <= 16 bytes from `size` on by the low bits of the masks, and moves past them.
    void mark(std::uint64_t mask, std::uint64_t solid_mask, std::size_t count) {
        put_bits(inside, mask);
        if (both) put_bits(solid, solid_mask);
        size += count;
    }

  private:
    void put_bits(std::vector<std::uint64_t>& bits, std::uint64_t mask) const {
        std::size_t const word = size / 64, shift = size % 64;
        bits[word] |= mask << shift;
        if (shift > 48) bits[word + 1] |= mask >> (64 - shift);
    }
};

// What belongs to a run. With `both`, words are runs, and what is not white space is marked as well.
enum class Runs : std::uint8_t { words, between_spaces, both };

namespace detail {

inline bool ascii_word(unsigned char c) {
    return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '_';
}
inline bool ascii_space(unsigned char c) { return c == ' ' || (c >= 9 && c <= 13) || (c >= 28 && c <= 31); }

// Sixteen ASCII characters: their lower case to `out` if wanted, their mask returned; with Runs::both, that of words in
// the low 16 bits and that of what is not white space in the high ones.
inline std::uint32_t sixteen(char const* in, char* out, bool lower, Runs runs) {
#if defined(__SSE2__)
    auto const c = _mm_loadu_si128(reinterpret_cast<__m128i const*>(in));
    auto const between = [](__m128i x, char low, char high) {
        return _mm_and_si128(_mm_cmpgt_epi8(x, _mm_set1_epi8(static_cast<char>(low - 1))),
                             _mm_cmplt_epi8(x, _mm_set1_epi8(static_cast<char>(high + 1))));
    };
    auto const bit = _mm_set1_epi8(32);
    auto const folded = lower ? _mm_or_si128(c, _mm_and_si128(between(c, 'A', 'Z'), bit)) : c;
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out), folded);
    std::uint32_t words = 0;
    if (runs != Runs::between_spaces) {
        auto const letter = between(_mm_or_si128(c, bit), 'a', 'z');
        auto const other = _mm_or_si128(between(c, '0', '9'), _mm_cmpeq_epi8(c, _mm_set1_epi8('_')));
        words = static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_or_si128(letter, other)));
        if (runs == Runs::words) return words;
    }
    auto const space = _mm_or_si128(between(c, 9, 13), between(c, 28, 32));
    std::uint32_t const solid = static_cast<std::uint32_t>(_mm_movemask_epi8(space)) ^ 0xFFFFu;
    return runs == Runs::both ? words | (solid << 16) : solid;
#else
    std::uint32_t mask = 0;
    for (int k = 0; k < 16; ++k) {
        auto const c = static_cast<unsigned char>(in[k]);
        out[k] = static_cast<char>(lower && c >= 'A' && c <= 'Z' ? c | 32 : c);
        if (runs != Runs::between_spaces) mask |= static_cast<std::uint32_t>(ascii_word(c)) << k;
        if (runs != Runs::words)
            mask |= static_cast<std::uint32_t>(!ascii_space(c)) << (runs == Runs::both ? k + 16 : k);
    }
    return mask;
#endif
}

inline bool all_ascii(char const* in, std::size_t n) {
    unsigned char all = 0;
    for (std::size_t k = 0; k < n; ++k) all |= static_cast<unsigned char>(in[k]);
    return all < 0x80;
}

// Copies sixteen characters to bytes; false if one of them is not ASCII.
template <class Unit>
inline bool narrow(Unit const* in, char* out) {
    Unit all = 0;
    for (int k = 0; k < 16; ++k) {
        all = static_cast<Unit>(all | in[k]);
        out[k] = static_cast<char>(in[k]);
    }
    return all < 0x80;
}

}  // namespace detail

class Normalizer {
  public:
    struct Options {
        bool lower = true;
        Runs runs = Runs::words;
        bool track = false;  // fill Line::origin
    };

    Normalizer(Options options, CharacterTable const& table, Foldings const* foldings)
        : options_(options), table_(table), foldings_(foldings) {}

    void operator()(Text const& text, Line& line) const {
        line.clear(text.length, options_.runs == Runs::both);
        auto const* bytes = static_cast<unsigned char const*>(text.data);
        switch (text.form) {
            case Text::Form::one:
                return fixed(bytes, text.length, line);
            case Text::Form::two:
                return fixed(static_cast<std::uint16_t const*>(text.data), text.length, line);
            case Text::Form::four:
                return fixed(static_cast<std::uint32_t const*>(text.data), text.length, line);
            case Text::Form::utf8:
                return utf8(bytes, text.length, line);
        }
    }

  private:
    // One step of sixteen characters where all are ASCII.
    void ascii(char const* in, std::size_t count, std::size_t origin, Line& line) const {
        line.reserve(line.size + 16);
        std::uint32_t const masks = detail::sixteen(in, line.bytes.data() + line.size, options_.lower, options_.runs);
        std::uint32_t const kept = (1u << count) - 1;
        if (options_.track) {
            for (std::size_t k = 0; k < count; ++k) line.origin.push_back(static_cast<std::uint32_t>(origin + k));
        }
        line.mark(masks & kept, (masks >> 16) & kept, count);
    }

    // Bytes from `in` as long as whole blocks of 64 are ASCII; returns how many were read. The line is empty before.
    template <bool lower, Runs runs>
    static std::size_t ascii_blocks(char const* in, std::size_t n, Line& line) {
        std::size_t i = 0;
        for (; i + 64 <= n && detail::all_ascii(in + i, 64); i += 64) {
            char* const out = line.bytes.data() + i;
            std::uint64_t marks = 0, solid = 0;
            for (unsigned k = 0; k < 64; k += 16) {
                std::uint64_t const masks = detail::sixteen(in + i + k, out + k, lower, runs);
                marks |= (masks & 0xFFFF) << k;
                solid |= (masks >> 16) << k;
            }
            line.inside[i / 64] = marks;
            if constexpr (runs == Runs::both) line.solid[i / 64] = solid;
        }
        line.size = i;
        return i;
    }

    std::size_t ascii_blocks(char const* in, std::size_t n, Line& line) const {
        if (options_.track) return 0;
        auto const blocks = [&]<bool lower>() {
            switch (options_.runs) {
                case Runs::words:
                    return ascii_blocks<lower, Runs::words>(in, n, line);
                case Runs::between_spaces:
                    return ascii_blocks<lower, Runs::between_spaces>(in, n, line);
                default:
                    return ascii_blocks<lower, Runs::both>(in, n, line);
            }
        };
        return options_.lower ? blocks.template operator()<true>() : blocks.template operator()<false>();
    }

    template <class Unit>
    void fixed(Unit const* in, std::size_t n, Line& line) const {
        char block[16];
        std::size_t i = 0;
        if constexpr (sizeof(Unit) == 1) i = ascii_blocks(reinterpret_cast<char const*>(in), n, line);
        for (; i < n; i += 16) {
            std::size_t const count = std::min<std::size_t>(16, n - i);
            if (count == 16) {
                if (detail::narrow(in + i, block)) {
                    ascii(block, 16, i, line);
                    continue;
                }
            }
            for (std::size_t k = i; k < i + count; ++k) character(in[k], k, line);
        }
    }

    void utf8(unsigned char const* in, std::size_t n, Line& line) const {
        unsigned char const* const end = in + n;
        char block[16];
        std::size_t i = ascii_blocks(reinterpret_cast<char const*>(in), n, line);
        in += i;
        while (in < end) {
            if (end - in >= 16 && detail::narrow(in, block)) {
                ascii(block, 16, i, line);
                in += 16;
                i += 16;
                continue;
            }
            unsigned char const* const stop = in + std::min<std::ptrdiff_t>(16, end - in);
            while (in < stop) character(decode(in, end), i++, line);
        }
    }

    void character(CodePoint c, std::size_t origin, Line& line) const {
        if (c < 0x80) {
            bool const upper = options_.lower && c >= 'A' && c <= 'Z';
            auto const byte = static_cast<unsigned char>(c);
            return put(upper ? c | 32 : c, detail::ascii_word(byte), !detail::ascii_space(byte), origin, line);
        }
        if (!options_.lower) return folded(c, origin, line);
        if (c == dotted_capital_i) {  // the one character whose lower case is two: i and a dot above
            folded('i', origin, line);
            return folded(0x307, origin, line);
        }
        folded(table_[c].lower(c), origin, line);
    }

    void folded(CodePoint c, std::size_t origin, Line& line) const {
        auto const classified = [&](CodePoint part) {
            Character const facts = table_[part];
            put(part, facts.word(), !facts.space(), origin, line);
        };
        if (foldings_ == nullptr) return classified(c);
        foldings_->each(c, classified);
    }

    void put(CodePoint c, bool word, bool solid, std::size_t origin, Line& line) const {
        line.reserve(line.size + 16);
        std::size_t const count = encode(c, line.bytes.data() + line.size);
        line.ascii &= count == 1;
        line.surrogates |= c >= 0xD800 && c < 0xE000;
        if (options_.track) line.origin.insert(line.origin.end(), count, static_cast<std::uint32_t>(origin));
        std::uint64_t const all = (1u << count) - 1;
        bool const in = options_.runs == Runs::between_spaces ? solid : word;
        line.mark(in ? all : 0, solid ? all : 0, count);
    }

    Options options_;
    CharacterTable const& table_;
    Foldings const* foldings_;
};

}  // namespace tallywise::text
