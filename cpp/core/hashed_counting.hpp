// Documents to rows whose columns are hashes of terms: no vocabulary, no memory of what has been seen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/counting.hpp"
#include "core/murmur.hpp"
#include "core/occurrences.hpp"
#include "core/rows.hpp"

namespace tallywise {

class HashCounter {
  public:
    // With `alternate` the sign bit of a term's hash is the sign of its counts.
    HashCounter(std::shared_ptr<Analyzer const> analyzer, std::uint32_t columns, bool alternate)
        : analyzer_(std::move(analyzer)), columns_(columns), alternate_(alternate) {
        if (columns == 0) throw std::invalid_argument("A hashed matrix needs at least one column.");
    }

    void feed(std::vector<Text> const& texts, int threads) {
        auto const make = [&] { return std::make_unique<Worker>(*analyzer_, columns_, alternate_); };
        pool_.count(texts, threads, make, blocks_);
    }

    CountedRows finish() { return {std::move(blocks_), {}, true}; }

  private:
    struct Worker {
        Worker(Analyzer const& how, std::uint32_t width, bool signs)
            : analyzer(how), occurrences(how), columns(width), alternate(signs) {}

        void count(Text const& text, RowBlock& block) {
            analyzer.read(text, scratch);
            row.clear();
            occurrences.each(scratch, [&](Occurrence const& term) {
                if (scratch.line.surrogates) require_no_surrogate(term);
                HashedTerm const hashed(term.bytes, term.length, columns);
                row.push_back(packed(hashed.column, alternate && hashed.negative ? -1 : 1));
            });
            sort_by_column(row, spare, bits_of_columns(columns));
            add_up(row);
            entries.clear();
            for (std::uint64_t const x : row) {
                entries.push_back({static_cast<TermId>(x >> 32), static_cast<std::int32_t>(x)});
            }
            block.add_row(entries);
        }

        static void require_no_surrogate(Occurrence const& term) {
            for (std::size_t k = 0; k + 1 < term.length; ++k) {
                auto const first = static_cast<unsigned char>(term.bytes[k]);
                auto const second = static_cast<unsigned char>(term.bytes[k + 1]);
                if (first == 0xED && second >= 0xA0) throw LoneSurrogate{};
            }
        }

        Analyzer const& analyzer;
        Occurrences occurrences;
        std::uint32_t columns;
        bool alternate;
        Scratch scratch;
        std::vector<std::uint64_t> row, spare;
        std::vector<Entry> entries;
    };

    std::shared_ptr<Analyzer const> analyzer_;
    std::uint32_t columns_;
    bool alternate_;
    CountingPool<Worker> pool_;
    std::vector<RowBlock> blocks_;
};

}  // namespace tallywise
