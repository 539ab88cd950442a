// Points in cells, and for a block of queries the points within a reach that shrinks as neighbours are found.
//
// Each query looks into cells from the nearest on, and not into those whose box is out of its reach. In a cell, codes
// of 8 bits say which points may be within it (coarse.hpp), and the float32 products of these go to the sieve; of
// queries to which codes say little, because their reach is small against the error of a code or holds many points,
// products of all points do.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "core/base/gemm.hpp"
#include "core/base/parallel.hpp"
#include "core/neighbors/cells.hpp"
#include "core/neighbors/coarse.hpp"

namespace tallywise::neighbors {

class CellSearch {
  public:
    CellSearch() = default;

    // n points of `width` entries, of which the last is for products alone.
    CellSearch(std::vector<float> const& points, std::size_t n, std::size_t width, Team& team)
        : n_(n), width_(width), cells_(points.data(), n, width, std::min(width - 1, box_width)), points_(n * width) {
        team.each_range(n, 1024, [&](std::size_t begin, std::size_t end, std::size_t) {
            for (std::size_t i = begin; i < end; ++i) {
                std::copy_n(points.data() + order()[i] * width, width, points_.data() + i * width);
            }
        });
        team.each(2, [&](std::size_t part) {
            if (part == 0) {
                packed_.pack(points_.data(), width, n, width);
            } else {
                coarse_ = CoarseRows(points_.data(), n, width, width - 1);
            }
        });
    }

    std::size_t count() const { return cells_.count(); }
    std::vector<std::uint32_t> const& order() const { return cells_.order(); }

    // Queries A, all entries but the last with the other sign. `reach(i)` bounds the distance, in all entries but the
    // last, of query i to points that may be its neighbours; the sieve gets their products <a, x>. In rounds: the
    // nearest cells of each query, those within half of its reach then, and at last all within what is left of it.
    template <class Sifter, class Reach>
    void search(std::vector<float> const& A, std::size_t k, Sifter& sieve, Reach&& reach) const {
        std::size_t const m = A.size() / width_;
        Look look(A, m, bounds(A, m), coarse_.encode_queries(A.data(), m, width_));
        std::vector<float> last = nearest_bounds(look.bounds, m, 1 + k / (Cells::size / 2));
        // What the sums of squares of a box may be short of is far below 2^-12.
        auto const square = [&](std::size_t i) {
            double const far = reach(i), most = (1 + 0x1p-12) * far * far + 1e-30;
            return most < 1e30 ? static_cast<float>(most) : std::numeric_limits<float>::infinity();
        };
        for (int round = 0; round < 3; ++round) {
            look.by_products = false;
            for (std::size_t i = 0; i < m; ++i) {
                if (round == 0) {
                    last[i] = std::min(last[i], square(i));
                } else {
                    sieve.measure(i);
                    look.from[i] = std::max(look.from[i], last[i]);
                    last[i] = (round == 1 ? 0.25f : 1.0f) * square(i);
                }
                look.cuts[i] = coarse_.cut(look.codes, i, reach(i));
                bool const products =
                    look.cuts[i] == CoarseRows::all || 2 * coarse_.error(look.codes, i) > reach(i) || look.many(i);
                look.to[products][i] = last[i];
                look.to[!products][i] = none;
                look.by_products |= products;
            }
            for (std::size_t cell = 0; cell < count(); ++cell) {
                if (look.by_products) sift_products(cell, round == 0, look, sieve);
                sift_codes(cell, k, look, sieve, reach);  // last, as it may leave the next cells to products
            }
        }
        sieve.finish();
    }

  private:
    static constexpr std::size_t box_width = 24;  // coordinates of a box: the leading axes say most
    static constexpr std::size_t panels = Cells::size / CoarseRows::panel;
    static constexpr float none = -1.0f;  // below all bounds

    struct Hit {
        std::uint32_t query, point;
    };

    // A block of queries on their way through the cells. A query takes a cell where from < bound <= to, by codes
    // (to[0]) or by products (to[1]).
    struct Look {
        Look(std::vector<float> const& queries, std::size_t size, std::vector<float> boxes, CoarseQueries coarse)
            : A(queries), m(size), width(queries.size() / size), bounds(std::move(boxes)), codes(std::move(coarse)) {}

        std::vector<float> const& A;
        std::size_t m, width;
        std::vector<float> bounds;  // by cell and query
        CoarseQueries codes;
        std::vector<std::uint16_t> cuts = std::vector<std::uint16_t>(m);
        std::vector<float> from = std::vector<float>(m, none), to[2] = {from, from};
        bool by_products = false;  // for any query
        std::vector<std::size_t> looked = std::vector<std::size_t>(m), passed = looked;
        std::vector<std::uint32_t> active = std::vector<std::uint32_t>(m + 1), found;
        std::vector<Hit> hits;
        std::vector<float> chosen, table;

        // Codes let so many points pass that products of all would have been faster: one that passes takes some 30
        // cycles, the products of one by codes width / 50 and in float32 width / 14.
        bool many(std::size_t i) const { return passed[i] > 64 + looked[i] * width / 512; }

        // The queries that take the cell, into `active`; returns how many.
        std::size_t take(std::size_t cell, std::vector<float> const& last) {
            float const* bound = bounds.data() + cell * m;
            std::size_t size = 0;
            for (std::size_t i = 0; i < m; ++i) {  // always written, counted or not: no branch to mispredict
                active[size] = static_cast<std::uint32_t>(i);
                size += static_cast<std::size_t>(bound[i] > from[i]) & static_cast<std::size_t>(bound[i] <= last[i]);
            }
            return size;
        }
    };

    // Squared distances of queries to boxes, by cell and query.
    std::vector<float> bounds(std::vector<float> const& A, std::size_t m) const {
        std::size_t const width = cells_.width();
        std::vector<float> points(width * m), squares(count() * m);
        for (std::size_t i = 0; i < m; ++i) {
            for (std::size_t j = 0; j < width; ++j) points[j * m + i] = -A[i * width_ + j];
        }
        for (std::size_t cell = 0; cell < count(); ++cell) {
            cells_.bound(cell, points.data(), m, squares.data() + cell * m);
        }
        return squares;
    }

    template <class Sifter, class Reach>
    void sift_codes(std::size_t cell, std::size_t k, Look& look, Sifter& sieve, Reach&& reach) const {
        std::size_t const size = look.take(cell, look.to[0]);
        if (size == 0) return;
        std::size_t const first = cell * Cells::size, last = std::min(n_, first + Cells::size);
        std::size_t const used = (last - first + CoarseRows::panel - 1) / CoarseRows::panel;
        look.found.resize(look.m * panels);
        coarse_.find(look.codes, look.cuts.data(), look.active.data(), size, first / CoarseRows::panel, used,
                     look.found.data());
        look.hits.clear();
        for (std::size_t a = 0; a < size; ++a) {
            std::uint32_t const i = look.active[a];
            std::size_t const before = look.hits.size();
            for (std::size_t p = 0; p < used; ++p) {
                for (std::uint32_t bits = look.found[a * used + p]; bits != 0; bits &= bits - 1) {
                    std::size_t const point =
                        first + p * CoarseRows::panel + static_cast<std::size_t>(std::countr_zero(bits));
                    if (point >= last) break;  // what fills the last panel
                    for (std::size_t j = 0; j < width_; j += 16) __builtin_prefetch(&points_[point * width_ + j]);
                    look.hits.push_back({i, static_cast<std::uint32_t>(point)});
                }
            }
            look.looked[i] += Cells::size;
            look.passed[i] += look.hits.size() - before;
            if (look.many(i)) {
                look.to[1][i] = std::exchange(look.to[0][i], none);
                look.by_products = true;
            }
        }
        for (Hit const hit : look.hits) {
            float const *a = look.A.data() + hit.query * width_, *x = points_.data() + hit.point * width_;
            float score = 0;
#pragma omp simd reduction(+ : score)
            for (std::size_t j = 0; j < width_; ++j) score += a[j] * x[j];
            sieve.offer(hit.query, score, hit.point);
        }
        for (std::size_t a = 0; a < size; ++a) {  // a reach as small as can be known: 1.7 times as fast on noise
            std::uint32_t const i = look.active[a];
            if (sieve.waiting(i) < 2 * k + 16) continue;
            sieve.measure(i);
            look.cuts[i] = coarse_.cut(look.codes, i, reach(i));
        }
    }

    template <class Sifter>
    void sift_products(std::size_t cell, bool first_round, Look& look, Sifter& sieve) const {
        std::size_t const size = look.take(cell, look.to[1]);
        if (size == 0) return;
        std::size_t const first = cell * Cells::size, last = std::min(n_, first + Cells::size);
        look.chosen.resize(look.m * width_);
        look.table.resize(look.m * Cells::size);
        for (std::size_t a = 0; a < size; ++a) {
            std::copy_n(look.A.data() + look.active[a] * width_, width_, look.chosen.data() + a * width_);
        }
        multiply(look.chosen.data(), width_, size, packed_, first, last, look.table.data(), Cells::size);
        for (std::size_t a = 0; a < size; ++a) {
            float const* scores = look.table.data() + a * Cells::size;
            if (first_round) {
                sieve.begin(look.active[a], scores, last - first, first);
            } else {
                sieve.sift(look.active[a], scores, last - first, first);
            }
        }
    }

    // The share-th smallest bound of each query.
    static std::vector<float> nearest_bounds(std::vector<float> const& bounds, std::size_t m, std::size_t share) {
        std::size_t const count = bounds.size() / m;
        std::vector<float> level(m, std::numeric_limits<float>::infinity()), own(count);
        if (share >= count) return level;
        for (std::size_t cell = 0; cell < count && share == 1; ++cell) {
            for (std::size_t i = 0; i < m; ++i) level[i] = std::min(level[i], bounds[cell * m + i]);
        }
        for (std::size_t i = 0; i < m && share > 1; ++i) {
            for (std::size_t cell = 0; cell < count; ++cell) own[cell] = bounds[cell * m + i];
            auto const last = own.begin() + static_cast<std::ptrdiff_t>(share - 1);
            std::nth_element(own.begin(), last, own.end());
            level[i] = *last;
        }
        return level;
    }

    std::size_t n_ = 0, width_ = 0;
    Cells cells_;
    std::vector<float> points_;  // cell after cell
    PackedRows<float> packed_;
    CoarseRows coarse_;
};

}  // namespace tallywise::neighbors
