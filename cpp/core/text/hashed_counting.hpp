// Documents to rows whose columns are hashes of terms: no vocabulary, no memory of what has been seen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/text/counting.hpp"
#include "core/text/murmur.hpp"
#include "core/text/occurrences.hpp"
#include "core/text/rows.hpp"

namespace tallywise::text {

// One thread's share: counts the lines it is given into a block of rows.
class HashedLines {
  public:
    // With `alternate` the sign bit of a term's hash is the sign of its counts; when `strict`, half a surrogate pair,
    // which no UTF-8 has, is refused.
    HashedLines(Analyzer const& analyzer, std::uint32_t columns, bool alternate, bool strict)
        : analyzer_(analyzer), occurrences_(analyzer), columns_(columns), alternate_(alternate), strict_(strict) {
        if (columns == 0) throw std::invalid_argument("A hashed matrix needs at least one column.");
    }

    void count(Text const& text, RowBlock& block) {
        read(text, analyzer_.runs());
        block.add_row(count_line());
    }

    // As in LineCounter.
    void read(Text const& text, Runs runs) { analyzer_.read(text, scratch_, runs, false); }
    Line& line() { return scratch_.line; }

    std::span<Entry const> count_line() {
        row_.clear();
        occurrences_.each(scratch_, [&](Occurrence const& term) {
            if (strict_ && scratch_.line.surrogates) require_no_surrogate(term);
            HashedTerm const hashed(term.bytes, term.length, columns_);
            row_.push_back(packed(hashed.column, alternate_ && hashed.negative ? -1 : 1));
        });
        sort_by_column(row_, spare_, bits_of_columns(columns_));
        add_up(row_);
        entries_.clear();
        for (std::uint64_t const x : row_) {
            entries_.push_back({static_cast<TermId>(x >> 32), static_cast<std::int32_t>(x)});
        }
        return entries_;
    }

  private:
    static void require_no_surrogate(Occurrence const& term) {
        for (std::size_t k = 0; k + 1 < term.length; ++k) {
            auto const first = static_cast<unsigned char>(term.bytes[k]);
            auto const second = static_cast<unsigned char>(term.bytes[k + 1]);
            if (first == 0xED && second >= 0xA0) throw LoneSurrogate{};
        }
    }

    Analyzer const& analyzer_;
    Occurrences occurrences_;
    std::uint32_t columns_;
    bool alternate_, strict_;
    Scratch scratch_;
    std::vector<std::uint64_t> row_, spare_;
    std::vector<Entry> entries_;
};

class HashCounter {
  public:
    HashCounter(std::shared_ptr<Analyzer const> analyzer, std::uint32_t columns, bool alternate)
        : analyzer_(std::move(analyzer)), columns_(columns), alternate_(alternate) {
        HashedLines(*analyzer_, columns, alternate, true);  // says what does not fit
    }

    void feed(std::vector<Text> const& texts, int threads) {
        auto const make = [&] { return std::make_unique<HashedLines>(*analyzer_, columns_, alternate_, true); };
        pool_.count(texts, threads, make, blocks_);
    }

    CountedRows finish() { return {std::move(blocks_), {}, true}; }

  private:
    std::shared_ptr<Analyzer const> analyzer_;
    std::uint32_t columns_;
    bool alternate_;
    CountingPool<HashedLines> pool_;
    std::vector<RowBlock> blocks_;
};

}  // namespace tallywise::text
