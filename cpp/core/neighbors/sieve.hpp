// From tables of cheap lower bounds to neighbours.
//
// A table entry is a score that rises with the distance, below it by a proven margin. Rows whose score is beyond the
// query's cut can not be neighbours; the others wait in a list and, when it is full, are taken from the lowest score
// up and measured exactly, which lowers the cut, until the next score is beyond it. So few rows are ever measured, and
// no shortcut changes an answer.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/neighbors/scan.hpp"

namespace tallywise {

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
          waiting_(end - begin),
          cuts_(end - begin) {
        for (std::size_t i = 0; i < cuts_.size(); ++i) cuts_[i] = cut_(i, nearest_[i].limit());
    }

    // Scores of query i (counted from begin) and rows first, first + 1, ..., first + n - 1.
    void sift(std::size_t i, Score const* scores, std::size_t n, std::size_t first) {
        constexpr std::size_t step = 32;
        for (std::size_t j = 0; j < n; j += step) {
            std::size_t const m = std::min(step, n - j);
            Score const cut = cuts_[i];
            unsigned any = 0;
            if (m == step) {
#pragma omp simd reduction(| : any)
                for (std::size_t l = 0; l < step; ++l) any |= scores[j + l] > cut ? 0u : 1u;
                if (any == 0) continue;
            }
            for (std::size_t l = 0; l < m; ++l) {
                Score score = scores[j + l];
                if (score > cuts_[i]) continue;
                if (std::isnan(score)) score = -std::numeric_limits<Score>::infinity();  // overflowed: says nothing
                waiting_[i].push_back({score, static_cast<std::uint32_t>(first + j + l)});
                if (waiting_[i].size() >= capacity_) settle(i);
            }
        }
    }

    void finish() {
        for (std::size_t i = 0; i < waiting_.size(); ++i) settle(i);
    }

  private:
    struct Survivor {
        Score score;
        std::uint32_t row;
        bool operator<(Survivor const& other) const { return score > other.score; }  // lowest first in a heap
    };

    void settle(std::size_t i) {
        std::vector<Survivor>& list = waiting_[i];
        Nearest& nearest = nearest_[i];
        std::make_heap(list.begin(), list.end());
        auto end = list.end();
        auto const next = [&] {  // moves the lowest score to *end
            std::pop_heap(list.begin(), end);
            rows_.prefetch((--end)->row);
        };
        if (!list.empty()) next();
        for (std::size_t left = list.size(); left > 0; --left) {
            Survivor const survivor = *end;
            if (survivor.score > cuts_[i]) break;
            if (left > 1) next();
            if (!allowed(spec_, begin_ + i, survivor.row)) continue;
            double const before = nearest.limit();
            nearest.offer(rows_, rows_.reduced(queries_[i], survivor.row), survivor.row);
            if (nearest.limit() != before) cuts_[i] = cut_(i, nearest.limit());
        }
        list.clear();
    }

    Rows const& rows_;
    PreparedQueries const& queries_;
    std::size_t begin_;
    SearchSpec const& spec_;
    Nearest* nearest_;
    Cut cut_;
    std::size_t capacity_;
    std::vector<std::vector<Survivor>> waiting_;
    std::vector<Score> cuts_;
};

}  // namespace tallywise
