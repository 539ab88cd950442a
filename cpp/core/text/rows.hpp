// Rows of counts while they grow, and the sparse matrix made of them.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/base/parallel.hpp"
#include "core/base/prefetch.hpp"
#include "core/text/terms.hpp"

namespace tallywise::text {

struct Entry {
    TermId id;
    std::int32_t count;
};

// Consecutive rows, counted by one worker and in that worker's numbers: five bytes an entry, because few counts need
// more than one.
class RowBlock {
  public:
    std::size_t worker = 0;

    std::size_t rows() const { return ends_.size(); }
    std::size_t entries() const { return ids_.size(); }
    std::size_t entries_of(std::size_t row) const { return ends_[row] - begin_of(row); }

    void add_row(std::span<Entry const> row) {
        std::size_t const before = ids_.size();
        ids_.resize(before + row.size());
        counts_.resize(before + row.size());
        bool any_large = false;
        for (std::size_t k = 0; k < row.size(); ++k) {
            ids_[before + k] = row[k].id;
            counts_[before + k] = is_small(row[k].count) ? static_cast<std::int8_t>(row[k].count) : escape;
            any_large |= !is_small(row[k].count);
        }
        for (std::size_t k = 0; any_large && k < row.size(); ++k) {
            if (!is_small(row[k].count)) large_.push_back({before + k, row[k].count});
        }
        ends_.push_back(ids_.size());
    }

    // f(id, count) over the entries of rows [first, last).
    template <class F>
    void each(std::size_t first, std::size_t last, F&& f) const {
        std::size_t const begin = begin_of(first), end = last == 0 ? 0 : ends_[last - 1];
        auto next = std::lower_bound(large_.begin(), large_.end(), begin,
                                     [](Large const& large, std::size_t place) { return large.place < place; });
        for (std::size_t k = begin; k < end; ++k) f(ids_[k], counts_[k] != escape ? counts_[k] : (next++)->count);
    }

    void free() { *this = RowBlock(); }

  private:
    static constexpr std::int8_t escape = -128;
    static bool is_small(std::int32_t count) { return count > escape && count <= 127; }

    struct Large {
        std::size_t place;
        std::int32_t count;
    };

    std::size_t begin_of(std::size_t row) const { return row == 0 ? 0 : ends_[row - 1]; }

    std::vector<TermId> ids_;
    std::vector<std::int8_t> counts_;
    std::vector<Large> large_;  // the counts that are too large, by their place
    std::vector<std::size_t> ends_;
};

// Adds up the terms of a row. Each number remembers the last row that had it, so there is no table to clear from row
// to row.
class RowTally {
  public:
    void begin() {
        size_ = 0;
        if (++number_ != 0) return;
        seen_.assign(seen_.size(), {});  // four thousand million rows on
        number_ = 1;
    }

    // At most `more` numbers below `ids` come next.
    void expect(std::size_t ids, std::size_t more) {
        if (seen_.size() < ids) seen_.resize(std::max(ids, 2 * seen_.size()));
        if (row_.size() < size_ + more) row_.resize(std::max(size_ + more, 2 * row_.size()));
    }

    // For a number that was expected.
    void prefetch(TermId id) const { prefetch_line(&seen_[id]); }

    // Without a branch: whether a term was met before is hard to foresee.
    void add(TermId id, std::int32_t count) {
        Seen& seen = seen_[id];
        bool const again = seen.row == number_;
        std::uint32_t const place = again ? seen.place : static_cast<std::uint32_t>(size_);
        seen = {number_, place};
        row_[place] = {id, count + (again ? row_[place].count : 0)};
        size_ += !again;
    }

    std::span<Entry const> row() const { return {row_.data(), size_}; }

  private:
    struct Seen {
        std::uint32_t row = 0, place = 0;
    };
    LargeArray<Seen> seen_;
    std::vector<Entry> row_;
    std::size_t size_ = 0;
    std::uint32_t number_ = 0;
};

inline unsigned bits_of_columns(std::size_t width) {
    return width <= 2 ? 1 : static_cast<unsigned>(std::bit_width(width - 1));
}

// Sorts by the column, value >> 32, which has so many bits. Narrow digits for short rows, because the counters of a
// digit must be cleared and summed for each row.
inline void sort_by_column(std::vector<std::uint64_t>& row, std::vector<std::uint64_t>& spare, unsigned bits) {
    std::size_t const n = row.size();
    if (n <= 24) {
        for (std::size_t i = 1; i < n; ++i) {
            std::uint64_t const x = row[i];
            std::size_t k = i;
            for (; k > 0 && row[k - 1] > x; --k) row[k] = row[k - 1];
            row[k] = x;
        }
        return;
    }
    constexpr unsigned most = 11;
    unsigned const wanted = n < 512 ? 6 : n < 8192 ? 8 : most;
    unsigned const passes = (bits + wanted - 1) / wanted;
    unsigned const digit = (bits + passes - 1) / passes;
    std::uint64_t const mask = (std::uint64_t{1} << digit) - 1;
    std::array<std::uint32_t, std::size_t{1} << most> places;
    spare.resize(n);
    for (unsigned pass = 0, shift = 32; pass < passes; ++pass, shift += digit) {
        std::fill_n(places.begin(), mask + 1, 0);
        for (std::uint64_t const x : row) ++places[(x >> shift) & mask];
        std::uint32_t total = 0;
        for (std::size_t k = 0; k <= mask; ++k) total += std::exchange(places[k], total);
        for (std::uint64_t const x : row) spare[places[(x >> shift) & mask]++] = x;
        row.swap(spare);
    }
}

// Adds the counts of equal columns in a sorted row.
inline void add_up(std::vector<std::uint64_t>& row) {
    std::size_t kept = 0;
    for (std::size_t k = 1; k < row.size(); ++k) {
        if (row[k] >> 32 != row[kept] >> 32) {
            row[++kept] = row[k];
        } else {  // counts may be negative: they add modulo 2^32
            row[kept] = (row[k] >> 32 << 32) | ((row[kept] + row[k]) & 0xFFFFFFFF);
        }
    }
    if (!row.empty()) row.resize(kept + 1);
}

inline std::uint64_t packed(TermId column, std::int32_t count) {
    return (static_cast<std::uint64_t>(column) << 32) | static_cast<std::uint32_t>(count);
}

// Where a column of the counts goes in the matrix, for each worker's numbers: no_term drops it.
using ColumnMaps = std::vector<std::vector<TermId>>;

// Rows by the numbers of the workers that counted them, and the column of each number.
struct CountedRows {
    std::vector<RowBlock> blocks;
    ColumnMaps columns;   // empty: a number is its column
    bool sorted = false;  // rows are in the order of columns already, each once

    std::size_t size() const {
        std::size_t total = 0;
        for (RowBlock const& block : blocks) total += block.rows();
        return total;
    }

    // Sums over the rows, by column: of 1 for each row that has it, or of its counts.
    std::vector<std::int64_t> sums(std::size_t width, bool documents) const {
        std::vector<std::int64_t> result(width, 0);
        for (RowBlock const& block : blocks) {
            TermId const* const column = columns.empty() ? nullptr : columns[block.worker].data();
            block.each(0, block.rows(), [&](TermId id, std::int32_t count) {
                TermId const j = column == nullptr ? id : column[id];
                if (j != no_term) result[j] += documents ? 1 : count;  // terms of too few documents are nowhere
            });
        }
        return result;
    }

    // Sends column j to target[j], or nowhere where that is negative.
    void retarget(std::int64_t const* target, std::size_t width) {
        std::int64_t last = -1;
        for (std::size_t j = 0; sorted && j < width; ++j) {
            if (target[j] < 0) continue;
            sorted = target[j] > last;
            last = target[j];
        }
        for (auto& map : columns) {
            for (TermId& j : map) {
                if (j == no_term) continue;
                if (j >= width) throw std::out_of_range("A column has no target.");
                j = target[j] < 0 ? no_term : static_cast<TermId>(target[j]);
            }
        }
    }
};

// The matrix of blocks of rows: first its row lengths, then its entries, into arrays of the caller's.
class RowMatrix {
  public:
    // `merging`: several numbers may go to one column, whose counts add up.
    RowMatrix(CountedRows const& rows, std::size_t width, bool merging)
        : blocks_(rows.blocks),
          maps_(rows.columns),
          merging_(merging),
          sorted_(rows.sorted),
          bits_(bits_of_columns(width)) {}

    // Entries before each row, and after the last.
    std::vector<std::int64_t> indptr(Team& team) const {
        std::vector<std::size_t> first_row(blocks_.size() + 1, 0);
        for (std::size_t b = 0; b < blocks_.size(); ++b) first_row[b + 1] = first_row[b] + blocks_[b].rows();
        std::vector<std::int64_t> result(first_row.back() + 1, 0);
        team.each(blocks_.size(), [&](std::size_t b) {
            std::vector<std::uint64_t> row, spare;
            for (std::size_t r = 0; r < blocks_[b].rows(); ++r) {
                if (merging_) {
                    read(blocks_[b], r, row, spare);
                    result[first_row[b] + r + 1] = static_cast<std::int64_t>(row.size());
                } else {
                    result[first_row[b] + r + 1] = kept(blocks_[b], r);
                }
            }
        });
        for (std::size_t r = 0; r + 1 < result.size(); ++r) result[r + 1] += result[r];
        return result;
    }

    template <class Index, class Value>
    void fill(Team& team, std::int64_t const* indptr, Index* indices, Value* data, bool binary) const {
        std::vector<std::size_t> first_row(blocks_.size() + 1, 0);
        for (std::size_t b = 0; b < blocks_.size(); ++b) first_row[b + 1] = first_row[b] + blocks_[b].rows();
        team.each(blocks_.size(), [&](std::size_t b) {
            std::vector<std::uint64_t> row, spare;
            for (std::size_t r = 0; r < blocks_[b].rows(); ++r) {
                read(blocks_[b], r, row, spare);
                std::int64_t const* const at = indptr + first_row[b] + r;
                if (at[1] - at[0] != static_cast<std::int64_t>(row.size())) {
                    throw std::invalid_argument("The starts of rows are not those of `indptr`.");
                }
                auto place = static_cast<std::size_t>(at[0]);
                for (std::uint64_t const x : row) {
                    indices[place] = static_cast<Index>(x >> 32);
                    data[place] = binary ? Value(1) : static_cast<Value>(static_cast<std::int32_t>(x));
                    ++place;
                }
            }
        });
    }

  private:
    TermId column(RowBlock const& block, TermId id) const { return maps_.empty() ? id : maps_[block.worker][id]; }

    std::int64_t kept(RowBlock const& block, std::size_t r) const {
        if (maps_.empty()) return static_cast<std::int64_t>(block.entries_of(r));
        std::int64_t total = 0;
        block.each(r, r + 1, [&](TermId id, std::int32_t) { total += column(block, id) != no_term; });
        return total;
    }

    // The row as column << 32 | count, sorted, columns once each.
    void read(RowBlock const& block, std::size_t r, std::vector<std::uint64_t>& row,
              std::vector<std::uint64_t>& spare) const {
        row.resize(block.entries_of(r));
        std::size_t size = 0;
        block.each(r, r + 1, [&](TermId id, std::int32_t count) {
            TermId const j = column(block, id);
            row[size] = packed(j, count);
            size += j != no_term;
        });
        row.resize(size);
        if (!sorted_) sort_by_column(row, spare, bits_);
        if (merging_) add_up(row);
    }

    std::vector<RowBlock> const& blocks_;
    ColumnMaps const& maps_;
    bool merging_, sorted_;
    unsigned bits_;
};

}  // namespace tallywise::text
