// A list of terms, each as the bytes it shares with the one before it and the bytes that follow.
//
// In a sorted vocabulary most of a term is shared, so that the list is short and what is left of it packs well. Any
// order is taken; only the size depends on it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

namespace tallywise::serve {

// A length is a run of bytes that are added up; only the last of them is less than 255.
struct FrontCoded {
    std::vector<std::uint8_t> shared;   // a byte a term: at most 255 are taken from the term before
    std::vector<std::uint8_t> lengths;  // of what follows
    std::vector<std::uint8_t> rest;
};

struct PlainTerms {
    std::vector<std::uint8_t> bytes;
    std::vector<std::int64_t> offsets{0};
};

inline FrontCoded front_code(std::span<std::uint8_t const> bytes, std::span<std::int64_t const> offsets) {
    if (offsets.empty() || offsets.front() != 0 || !std::is_sorted(offsets.begin(), offsets.end()) ||
        offsets.back() > static_cast<std::int64_t>(bytes.size())) {
        throw std::invalid_argument("The offsets of the terms must rise from 0 and stay within their bytes");
    }
    FrontCoded out;
    out.shared.reserve(offsets.size());
    std::span<std::uint8_t const> before;
    for (std::size_t j = 0; j + 1 < offsets.size(); ++j) {
        auto const term =
            bytes.subspan(static_cast<std::size_t>(offsets[j]), static_cast<std::size_t>(offsets[j + 1] - offsets[j]));
        std::size_t const most = std::min({term.size(), before.size(), std::size_t{255}});
        std::size_t same = 0;
        while (same < most && term[same] == before[same]) ++same;
        out.shared.push_back(static_cast<std::uint8_t>(same));
        std::size_t length = term.size() - same;
        for (; length >= 255; length -= 255) out.lengths.push_back(255);
        out.lengths.push_back(static_cast<std::uint8_t>(length));
        out.rest.insert(out.rest.end(), term.begin() + static_cast<std::ptrdiff_t>(same), term.end());
        before = term;
    }
    return out;
}

// The list again; an error where the parts do not fit together, or where it would be longer than `most` bytes.
inline PlainTerms front_decode(std::span<std::uint8_t const> shared, std::span<std::uint8_t const> lengths,
                               std::span<std::uint8_t const> rest, std::size_t most) {
    PlainTerms out;
    out.offsets.reserve(shared.size() + 1);
    std::size_t next_length = 0, next_byte = 0, before = 0;
    for (std::uint8_t const same : shared) {
        std::size_t length = 0;
        bool more = true;
        while (more) {
            if (next_length == lengths.size()) throw std::invalid_argument("The lengths of its terms end too early");
            more = lengths[next_length] == 255;
            length += lengths[next_length++];
        }
        std::size_t const begin = out.bytes.size();
        if (same > begin - before) throw std::invalid_argument("A term shares more than the one before it has");
        if (length > rest.size() - next_byte) throw std::invalid_argument("The bytes of its terms end too early");
        if (same + length > most - begin) throw std::invalid_argument("Its terms are longer than it says");
        out.bytes.resize(begin + same + length);
        std::copy_n(out.bytes.data() + before, same, out.bytes.data() + begin);
        std::copy_n(rest.data() + next_byte, length, out.bytes.data() + begin + same);
        next_byte += length;
        before = begin;
        out.offsets.push_back(static_cast<std::int64_t>(out.bytes.size()));
    }
    if (next_length != lengths.size() || next_byte != rest.size()) {
        throw std::invalid_argument("Its terms end too early");
    }
    return out;
}

}  // namespace tallywise::serve
