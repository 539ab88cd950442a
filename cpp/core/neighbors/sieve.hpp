// From tables of cheap lower bounds to neighbours.
//
// A table entry is a score that rises with the distance, below it by a proven margin. Rows whose score is beyond the
// query's cut can not be neighbours; the others wait in a list. When the list is full, a few of the lowest scores are
// measured exactly, which lowers the cut and empties most of the list; at the end the others are, from the lowest score
// up, until the next is beyond the cut. So few rows are ever measured, and no shortcut changes an answer.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/neighbors/scan.hpp"

namespace tallywise::neighbors {

// cut(i, limit): the largest score that query i's neighbours with reduced distance up to `limit` may have.
template <class Score, class Cut>
class Sieve {
  public:
    Sieve(Rows const& rows, PreparedQueries const& queries, std::size_t begin, std::size_t end, SearchSpec const& spec,
          Nearest* nearest, Cut cut)
        : rows_(rows),
          queries_(queries),
          begin_(begin),
          spec_(spec),
          nearest_(nearest),
          cut_(cut),
          capacity_(std::max<std::size_t>(512, 2 * spec.k)),
          lists_((end - begin) * (capacity_ + step)),
          sizes_(end - begin),
          cuts_(end - begin) {
        for (std::size_t i = 0; i < cuts_.size(); ++i) cuts_[i] = cut_(i, nearest_[i].limit());
    }

    // Scores of query i (counted from begin) and rows first, first + 1, ..., first + n - 1.
    void sift(std::size_t i, Score const* scores, std::size_t n, std::size_t first) {
        std::size_t j = 0;
        for (; j + step <= n; j += step) {
            Score const cut = cuts_[i];
            unsigned any = 0;
#pragma omp simd reduction(| : any)
            for (std::size_t l = 0; l < step; ++l) any |= scores[j + l] > cut ? 0u : 1u;
            if (any != 0) add(i, scores + j, step, first + j);
        }
        add(i, scores + j, n - j, first + j);
    }

    // The same of one row.
    void offer(std::size_t i, Score score, std::size_t row) {
        if (!(score > cuts_[i])) add(i, &score, 1, row);
    }

    // The same, where nothing is known of query i yet: the rows that lead are measured before any other waits.
    void begin(std::size_t i, Score const* scores, std::size_t n, std::size_t first) {
        Score const level = sizes_[i] == 0 ? leading(scores, n) : -std::numeric_limits<Score>::infinity();
        for (std::size_t row = 0; row < n; ++row) {
            if (scores[row] <= level) rows_.prefetch(name(first + row));
        }
        for (std::size_t row = 0; row < n; ++row) {
            if (scores[row] <= level) measure(i, name(first + row));
        }
        Survivor* list = lists_.data() + i * (capacity_ + step);
        for (std::size_t from = 0; from < n; from += step) {
            std::size_t const to = std::min(n, from + step);
            for (std::size_t row = from; row < to; ++row) {
                list[sizes_[i]] = {scores[row], static_cast<std::uint32_t>(first + row)};
                sizes_[i] +=
                    static_cast<int>(scores[row] > cuts_[i]) + static_cast<int>(scores[row] <= level) > 0 ? 0 : 1;
            }
            make_room(i);
        }
    }

    // Rows are numbered by their place in `rows` from here on.
    void rename(std::uint32_t const* rows) { names_ = rows; }

    std::size_t waiting(std::size_t i) const { return sizes_[i]; }

    // Measures what waits for query i, so that its cut is what the rows so far allow.
    void measure(std::size_t i) { settle(i, capacity_ + step); }

    void finish() {
        for (std::size_t i = 0; i < cuts_.size(); ++i) measure(i);
    }

  private:
    static constexpr std::size_t step = 16;

    struct Survivor {
        Score score;
        std::uint32_t row;
        bool operator<(Survivor const& other) const { return score > other.score; }  // lowest first in a heap
    };

    void add(std::size_t i, Score const* scores, std::size_t n, std::size_t first) {
        Survivor* list = lists_.data() + i * (capacity_ + step);
        std::size_t size = sizes_[i];
        Score const cut = cuts_[i];
        for (std::size_t l = 0; l < n; ++l) {  // always written, kept or not: no branch to mispredict
            list[size] = {scores[l], static_cast<std::uint32_t>(first + l)};
            size += scores[l] > cut ? 0 : 1;
        }
        sizes_[i] = size;
        make_room(i);
    }

    void make_room(std::size_t i) {
        if (sizes_[i] < capacity_) return;
        settle(i, spec_.k + 8);
        if (sizes_[i] > capacity_ / 2) settle(i, capacity_ + step);
    }

    // A score that k rows or a few more do not exceed; -infinity where it is not found at once.
    Score leading(Score const* scores, std::size_t n) {
        constexpr std::size_t group = 8;
        if (spec_.k == 0 || n / group < spec_.k) return -std::numeric_limits<Score>::infinity();
        lowest_.resize(n / group);
        for (std::size_t g = 0; g < lowest_.size(); ++g) {
            lowest_[g] = *std::min_element(scores + g * group, scores + (g + 1) * group);
        }
        auto const kth = lowest_.begin() + static_cast<std::ptrdiff_t>(spec_.k - 1);
        std::nth_element(lowest_.begin(), kth, lowest_.end());
        return *kth;
    }

    void measure(std::size_t i, std::size_t row) {
        if (!allowed(spec_, begin_ + i, row)) return;
        double const before = nearest_[i].limit();
        nearest_[i].offer(rows_, rows_.reduced(queries_[i], row), row);
        if (nearest_[i].limit() != before) cuts_[i] = cut_(i, nearest_[i].limit());
    }

    // Measures up to `most` of the waiting rows, the lowest scores first, and keeps those still within the cut.
    void settle(std::size_t i, std::size_t most) {
        Survivor* const list = lists_.data() + i * (capacity_ + step);
        Survivor* end = list + sizes_[i];
        for (Survivor* s = list; s < end; ++s) {
            if (std::isnan(s->score)) s->score = -std::numeric_limits<Score>::infinity();  // overflowed: says nothing
        }
        std::make_heap(list, end);
        auto const next = [&] {  // moves the lowest score to *end
            std::pop_heap(list, end);
            rows_.prefetch(name((--end)->row));
        };
        if (end > list && most > 0) next();
        for (std::size_t left = std::min(most, sizes_[i]); left > 0; --left) {
            Survivor const survivor = *end;
            if (survivor.score > cuts_[i]) {
                end = list;  // and so are all others
                break;
            }
            if (left > 1) next();
            measure(i, name(survivor.row));
        }
        Score const cut = cuts_[i];
        end = std::remove_if(list, end, [cut](Survivor const& s) { return s.score > cut; });
        sizes_[i] = static_cast<std::size_t>(end - list);
    }

    std::size_t name(std::size_t row) const { return names_ ? names_[row] : row; }

    Rows const& rows_;
    PreparedQueries const& queries_;
    std::size_t begin_;
    SearchSpec const& spec_;
    Nearest* nearest_;
    Cut cut_;
    std::size_t capacity_;
    std::uint32_t const* names_ = nullptr;
    std::vector<Survivor> lists_;  // capacity_ + step a query
    std::vector<std::size_t> sizes_;
    std::vector<Score> lowest_;
    std::vector<Score> cuts_;
};

}  // namespace tallywise::neighbors
