// Texts of a table of delimited cells, as Python's csv module reads it line by line.
//
// A record is odd, and left to Python, if it holds a zero byte or bytes that are not UTF-8, a carriage return that ends
// no line, something behind a closing quotation mark, a quotation mark that is never closed, or too many bytes. So is a
// blank line: whether it is a row depends on what follows. A row without the column of texts has an empty text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#if defined(__SSE2__)
#include <emmintrin.h>

#include <bit>
#endif

#include "core/reading/text_block.hpp"

namespace tallywise::reading {

struct CsvLayout {
    char delimiter = ',';
    bool quoted = true;       // whether a quotation mark at its beginning quotes a cell
    std::size_t text = 0;     // column of the texts
    std::size_t longest = 0;  // bytes of a record that are read here
};

class CsvReader {
  public:
    CsvReader(CsvLayout layout, text::CharacterTable const& characters) : layout_(layout), characters_(characters) {}

    // Records of data[from.position .. size) into the block, the first of them with from.lines line ends before it. The
    // data stay where they are for as long as the block is used. Without `last` more data follow, and a record that may
    // go on there is left for then.
    ReadSoFar read(std::string_view data, ReadSoFar from, bool last, TextBlock& block) const {
        Place at{data.data() + from.position, data.data() + data.size(), last};
        std::uint64_t lines = from.lines;
        for (;;) {
            char const* const begin = at.next;
            if (begin == at.end) return {data.size(), lines, false};
            Cells cells;
            Found const found = record(at, cells);
            auto const position = static_cast<std::size_t>(begin - data.data());
            auto const size = static_cast<std::size_t>((found == Found::record ? at.next : at.end) - begin);
            if (found == Found::odd || size >= layout_.longest) return {position, lines, true};
            if (found == Found::more) return {position, lines, false};
            if (cells.count == 0 || !is_plain(begin, size)) return {position, lines, true};
            lines += 1 + cells.breaks;
            keep(cells, lines, block);
        }
    }

  private:
    enum class Found { record, more, odd };

    struct Place {
        char const* next;
        char const* end;
        bool last;
    };

    struct Cell {
        std::string_view raw = "";
        bool doubled = false;  // holds quotation marks that are written twice
    };

    struct Cells {
        std::size_t count = 0;
        Cell text;
        std::uint64_t breaks = 0;  // line ends inside of cells
    };

    // The first delimiter or line end from `in` on, or the end.
    char const* cell_end(char const* in, char const* end) const {
        char const d = layout_.delimiter;
#if defined(__SSE2__)
        auto const delimiter = _mm_set1_epi8(d), feed = _mm_set1_epi8('\n'), back = _mm_set1_epi8('\r');
        for (; end - in >= 16; in += 16) {
            auto const c = _mm_loadu_si128(reinterpret_cast<__m128i const*>(in));
            auto const any = _mm_or_si128(_mm_cmpeq_epi8(c, delimiter),
                                          _mm_or_si128(_mm_cmpeq_epi8(c, feed), _mm_cmpeq_epi8(c, back)));
            if (auto const mask = static_cast<unsigned>(_mm_movemask_epi8(any)); mask != 0) {
                return in + std::countr_zero(mask);
            }
        }
#endif
        while (in < end && *in != d && *in != '\n' && *in != '\r') ++in;
        return in;
    }

    // Moves behind a quoted cell, which begins at `next`.
    Found quoted_cell(Place& at, Cell& cell, std::uint64_t& breaks) const {
        char const* const begin = at.next + 1;
        for (char const* in = begin;;) {
            auto const* const mark =
                static_cast<char const*>(std::memchr(in, '"', static_cast<std::size_t>(at.end - in)));
            if (mark == nullptr || (mark + 1 == at.end && !at.last)) return at.last ? Found::odd : Found::more;
            for (; in < mark; ++in) breaks += *in == '\n';
            if (mark + 1 < at.end && mark[1] == '"') {
                cell.doubled = true;
                in = mark + 2;
                continue;
            }
            cell.raw = {begin, static_cast<std::size_t>(mark - begin)};
            at.next = mark + 1;
            bool const ends =
                at.next == at.end || *at.next == layout_.delimiter || *at.next == '\n' || *at.next == '\r';
            return ends ? Found::record : Found::odd;
        }
    }

    // Moves behind a record, which begins at `next`; where it is incomplete or odd, nowhere in particular.
    Found record(Place& at, Cells& cells) const {
        if (*at.next == '\n' || *at.next == '\r') return line_end(at);  // no cells at all
        for (;;) {
            Cell cell;
            if (layout_.quoted && at.next < at.end && *at.next == '"') {
                if (Found const found = quoted_cell(at, cell, cells.breaks); found != Found::record) return found;
            } else {
                char const* const begin = at.next;
                at.next = cell_end(begin, at.end);
                cell.raw = {begin, static_cast<std::size_t>(at.next - begin)};
            }
            if (at.next == at.end && !at.last) return Found::more;
            if (cells.count == layout_.text) cells.text = cell;
            ++cells.count;
            if (at.next == at.end) return Found::record;
            if (*at.next != layout_.delimiter) return line_end(at);
            ++at.next;
        }
    }

    static Found line_end(Place& at) {
        if (*at.next == '\n') {
            ++at.next;
            return Found::record;
        }
        if (at.next + 1 == at.end) {
            ++at.next;
            return at.last ? Found::record : Found::more;
        }
        if (at.next[1] != '\n') return Found::odd;
        at.next += 2;
        return Found::record;
    }

    void keep(Cells const& cells, std::uint64_t line, TextBlock& block) const {
        block.blank += is_blank(cells.text.raw, characters_);
        if (cells.text.doubled) {
            block.add_own(undoubled(cells.text.raw), line);
        } else {
            block.add(cells.text.raw, line);
        }
    }

    static std::string undoubled(std::string_view raw) {
        std::string text;
        text.reserve(raw.size());
        for (std::size_t k = 0; k < raw.size(); ++k) {
            text.push_back(raw[k]);
            if (raw[k] == '"') ++k;
        }
        return text;
    }

    CsvLayout layout_;
    text::CharacterTable const& characters_;
};

}  // namespace tallywise::reading
