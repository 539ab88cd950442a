// Blocks of a kernel matrix, for dense and sparse points, in float or double.
//
// Values are made a tile at a time (some rows of the left points against a chunk of the right ones) and handed over
// while still in cache: to be stored as rows (the solver's cache), summed against coefficients (gradients,
// predictions), or written out. Chunks of right points are the unit of parallel work, and each entry is computed by the
// same sums wherever it falls, so results do not depend on the number of threads.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "core/base/gemm.hpp"
#include "core/base/interrupt.hpp"
#include "core/base/parallel.hpp"
#include "core/base/pool.hpp"
#include "core/kernels/kernels.hpp"
#include "core/kernels/points.hpp"

namespace tallywise::kernels {

namespace detail {

// A few sparse points as columns of a small dense block, over the features that they have; another point's products
// with all of them then cost one line of the block for each of its entries. Line 0 is zero, for features that none has.
template <class T>
class ScatteredBlock {
  public:
    static constexpr std::size_t columns = 128 / sizeof(T);

    explicit ScatteredBlock(Points const& points) : points_(points), slot_(points.width(), 0) {}

    void fill(std::span<std::uint32_t const> which) {
        for (auto j : used_) slot_[j] = 0;
        used_.clear();
        visit(points_.design(), [&](auto const& x) {
            for (auto i : which) {
                x.each(points_.line(i), [&](std::size_t j, auto) {
                    if (slot_[j] != 0) return;
                    used_.push_back(static_cast<std::uint32_t>(j));
                    slot_[j] = static_cast<std::uint32_t>(used_.size());
                });
            }
            // At a multiple of 128 bytes, so that no load spans two lines of cache (a twentieth of the time on mnist).
            storage_.assign((used_.size() + 2) * columns, T(0));
            std::size_t room = storage_.size() * sizeof(T);
            void* at = storage_.data();
            W_ = static_cast<T*>(std::align(columns * sizeof(T), (used_.size() + 1) * columns * sizeof(T), at, room));
            for (std::size_t r = 0; r < which.size(); ++r) {
                x.each(points_.line(which[r]),
                       [&](std::size_t j, auto value) { W_[slot_[j] * columns + r] += static_cast<T>(value); });
            }
        });
    }

    // The products of lines l and m of X with the first `count` points, `stride` apart from `one` and `two` on; nowhere
    // for null. Two lines in step: one alone waits for its own sums, a third of the time lost.
    template <class Sparse>
    void products(Sparse const& X, std::size_t l, std::size_t m, std::size_t count, std::size_t stride, T* one,
                  T* two) const {
        Register first[parts] = {}, second[parts] = {};
        auto const u = X.entries(l), v = X.entries(m);
        std::size_t const both = std::min(u.size, v.size);
        for (std::size_t k = 0; k < both; ++k) {
            add(u, k, first);
            add(v, k, second);
        }
        for (std::size_t k = both; k < u.size; ++k) add(u, k, first);
        for (std::size_t k = both; k < v.size; ++k) add(v, k, second);
        store(first, count, stride, one);
        if (two != nullptr) store(second, count, stride, two);
    }

  private:
    using Register = typename tallywise::detail::Tile<T>::Loaded;
    static constexpr std::size_t parts = columns / tallywise::detail::Tile<T>::register_size;

    template <class V>
    void add(Entries<V> const& x, std::size_t k, Register* sum) const {
        T const v = static_cast<T>(x.values[k]);
        auto const* w = reinterpret_cast<Register const*>(W_ + slot_[static_cast<std::size_t>(x.indices[k])] * columns);
        for (std::size_t p = 0; p < parts; ++p) sum[p] += v * w[p];
    }

    static void store(Register const* sum, std::size_t count, std::size_t stride, T* to) {
        T const* from = reinterpret_cast<T const*>(sum);
        for (std::size_t r = 0; r < count; ++r) to[r * stride] = from[r];
    }

    Points const& points_;
    std::vector<std::uint32_t> slot_, used_;
    std::vector<T> storage_;
    T* W_ = nullptr;
};

}  // namespace detail

// Kernel values between left and right points.
template <class T>
class Gram {
  public:
    static constexpr std::size_t chunk = 256;  // right points to a tile
    static constexpr std::size_t rows = 96;    // left points to a tile: 96 x 256 floats, 96 KB

    // `keep` packs the right points once, for blocks that come back many times; otherwise they are packed as they pass.
    Gram(Kernel const& kernel, Points const& left, Points const& right, Team& team, bool keep = false)
        : kernel_(kernel), left_(left), right_(right), team_(team) {
        T const largest = static_cast<T>(std::max(left.largest_norm(), right.largest_norm()));
        if (!kernel.precomputed() && !std::isfinite(4 * largest)) {
            throw std::invalid_argument("Squared norms of the points are beyond floating point. Scale the data.");
        }
        right_norms_.resize(right.size());
        for (std::size_t j = 0; j < right.size(); ++j) right_norms_[j] = static_cast<T>(right.norm(j));
        sparse_ = left.sparse() && right.sparse();
        if (keep && !sparse_ && !kernel_.precomputed()) {
            packed_.resize(Team::count(right.size(), chunk));
            team_.each_range(right.size(), chunk, [&](std::size_t begin, std::size_t end, std::size_t c) {
                pack(packed_[c], pool<T>().take()->plain, begin, end);
            });
        }
    }

    // sink(first, count, begin, end, tile) for tiles that cover which x right: row r < count of the tile is left point
    // which[first + r], at tile + r * chunk. Calls for different chunks [begin, end) run at the same time; for one
    // chunk they come in rising order of `first`. Chunks before `from` are left out.
    template <class Sink>
    void tiles(std::span<std::uint32_t const> which, Sink&& sink, std::size_t from = 0) const {
        if (kernel_.precomputed()) return stored(which, sink, from);
        if (sparse_) return scattered(which, sink, from);
        if constexpr (std::is_same_v<T, double>) {
            // Counts, presence, bytes: exact products at twice the speed.
            if (left_.exact_in_single() && right_.exact_in_single()) return dense<float>(which, sink, from);
        }
        dense<T>(which, sink, from);
    }

  private:
    // f(begin, end, c) for the chunks of right points from number `from` on.
    template <class F>
    void each_chunk(std::size_t from, F&& f) const {
        std::size_t const chunks = Team::count(right_.size(), chunk);
        team_.each(chunks - std::min(from, chunks), [&](std::size_t k) {
            std::size_t const c = from + k;
            f(c * chunk, std::min(right_.size(), (c + 1) * chunk), c);
        });
    }

    // What a thread needs for a chunk.
    template <class P>
    struct Scratch {
        std::vector<P> products, plain;
        std::vector<T> tile;
        PackedRows<P> passing;
    };

    template <class P>
    auto& pool() const {
        if constexpr (std::is_same_v<P, T>) {
            return scratch_;
        } else {
            return single_scratch_;
        }
    }

    // P is the precision of the inner products.
    template <class P, class Sink>
    void dense(std::span<std::uint32_t const> which, Sink& sink, std::size_t from) const {
        std::size_t const width = left_.width();
        std::size_t const block = 4 * rows;
        std::vector<P> A(std::min(block, which.size()) * width);
        for (std::size_t first = 0; first < which.size(); first += block) {
            std::size_t const count = std::min(block, which.size() - first);
            for (std::size_t r = 0; r < count; ++r) left_.gather(which[first + r], A.data() + r * width);
            each_chunk(from, [&](std::size_t begin, std::size_t end, std::size_t c) {
                auto const scratch = pool<P>().take();
                auto& [products, plain, tile, passing] = *scratch;
                products.resize(rows * chunk);
                PackedRows<P> const* B = &passing;
                if constexpr (std::is_same_v<P, T>) {
                    if (!packed_.empty()) B = &packed_[c];
                }
                if (B == &passing) pack(passing, plain, begin, end);
                for (std::size_t r = 0; r < count; r += rows) {
                    std::size_t const m = std::min(rows, count - r);
                    multiply(A.data() + r * width, width, m, *B, 0, end - begin, products.data(), chunk);
                    T* values = nullptr;
                    if constexpr (std::is_same_v<P, T>) {
                        values = products.data();
                    } else {
                        tile.assign(products.begin(), products.end());
                        values = tile.data();
                    }
                    finish(which, first + r, m, begin, end, values);
                    sink(first + r, m, begin, end, static_cast<T const*>(values));
                }
            });
            if (count == block) check_interrupt();
        }
    }

    template <class P>
    void pack(PackedRows<P>& to, std::vector<P>& plain, std::size_t begin, std::size_t end) const {
        std::size_t const width = right_.width();
        plain.resize((end - begin) * width);
        for (std::size_t j = begin; j < end; ++j) right_.gather(j, plain.data() + (j - begin) * width);
        to.pack(plain.data(), width, end - begin, width);
    }

    void finish(std::span<std::uint32_t const> which, std::size_t first, std::size_t count, std::size_t begin,
                std::size_t end, T* tile) const {
        for (std::size_t r = 0; r < count; ++r) {
            kernel_.apply(tile + r * chunk, static_cast<T>(left_.norm(which[first + r])), right_norms_.data() + begin,
                          end - begin);
        }
    }

    // K given as a matrix: the value for left i and right j is X[j, i].
    template <class Sink>
    void stored(std::span<std::uint32_t const> which, Sink& sink, std::size_t from) const {
        each_chunk(from, [&](std::size_t begin, std::size_t end, std::size_t) {
            auto const scratch = pool<T>().take();
            std::vector<T>& tile = scratch->tile;
            tile.resize(rows * chunk);
            for (std::size_t first = 0; first < which.size(); first += rows) {
                std::size_t const count = std::min(rows, which.size() - first);
                for (std::size_t j = begin; j < end; ++j) {
                    visit(right_.design(), [&](auto const& x) {
                        if constexpr (!std::remove_cvref_t<decltype(x)>::is_sparse) {
                            auto const* line = x.data + right_.line(j) * x.stride;
                            for (std::size_t r = 0; r < count; ++r) {
                                tile[r * chunk + j - begin] = static_cast<T>(line[left_.line(which[first + r])]);
                            }
                        }
                    });
                }
                sink(first, count, begin, end, static_cast<T const*>(tile.data()));
            }
        });
    }

    // Sparse points, by blocks of left ones.
    template <class Sink>
    void scattered(std::span<std::uint32_t const> which, Sink& sink, std::size_t from) const {
        detail::ScatteredBlock<T> block(left_);
        for (std::size_t first = 0; first < which.size(); first += block.columns) {
            std::size_t const count = std::min(block.columns, which.size() - first);
            block.fill(which.subspan(first, count));
            each_chunk(from, [&](std::size_t begin, std::size_t end, std::size_t) {
                auto const scratch = pool<T>().take();
                std::vector<T>& tile = scratch->tile;
                tile.resize(rows * chunk);
                visit(right_.design(), [&](auto const& x) {
                    if constexpr (std::remove_cvref_t<decltype(x)>::is_sparse) {
                        for (std::size_t j = begin; j < end; j += 2) {
                            bool const both = j + 1 < end;
                            std::size_t const l = right_.line(j);
                            T* to = tile.data() + (j - begin);
                            block.products(x, l, both ? right_.line(j + 1) : l, count, chunk, to,
                                           both ? to + 1 : nullptr);
                        }
                    }
                });
                finish(which, first, count, begin, end, tile.data());
                sink(first, count, begin, end, static_cast<T const*>(tile.data()));
            });
            check_interrupt();
        }
    }

    Kernel const& kernel_;
    Points const& left_;
    Points const& right_;
    Team& team_;
    bool sparse_ = false;
    std::vector<T> right_norms_;
    std::vector<PackedRows<T>> packed_;
    mutable Pool<Scratch<T>> scratch_;
    mutable Pool<Scratch<float>> single_scratch_;
};

// out += sum_r c[r] row_r, four rows at a time: one alone waits for its loads and stores of `out`. row(r) is where row
// r begins.
template <class T, class Row>
void add_rows(std::span<double const> c, Row&& row, double* out, std::size_t n) {
    std::size_t r = 0;
    for (; r + 4 <= c.size(); r += 4) {
        T const *p = row(r), *q = row(r + 1), *s = row(r + 2), *t = row(r + 3);
        double const a = c[r], b = c[r + 1], d = c[r + 2], e = c[r + 3];
#pragma omp simd
        for (std::size_t i = 0; i < n; ++i) {
            out[i] += (a * static_cast<double>(p[i]) + b * static_cast<double>(q[i])) +
                      (d * static_cast<double>(s[i]) + e * static_cast<double>(t[i]));
        }
    }
    for (; r < c.size(); ++r) axpy(c[r], row(r), out, n);
}

// The same for the rows of a tile.
template <class T>
void add_tile(std::span<double const> c, T const* tile, double* out, std::size_t n) {
    add_rows<T>(c, [&](std::size_t r) { return tile + r * Gram<T>::chunk; }, out, n);
}

// out[j] += sum_r coefficients[r] k(left which[r], right j): kernel values in T, sums in double.
template <class T>
void add_kernel_sums(Kernel const& kernel, Points const& left, std::span<std::uint32_t const> which,
                     std::span<double const> coefficients, Points const& right, Team& team, double* out) {
    Gram<T> const gram(kernel, left, right, team);
    gram.tiles(which, [&](std::size_t first, std::size_t count, std::size_t begin, std::size_t end, T const* tile) {
        add_tile(coefficients.subspan(first, count), tile, out + begin, end - begin);
    });
}

// The same for points against themselves: the values between two of `which` (rising) are made once for both.
template <class T>
void add_own_kernel_sums(Kernel const& kernel, Points const& points, std::span<std::uint32_t const> which,
                         std::span<double const> coefficients, Team& team, double* out) {
    constexpr std::size_t chunk = Gram<T>::chunk, band = 2 * chunk;
    std::size_t const m = which.size();
    if (m <= band || kernel.precomputed()) {  // a matrix that is given need not be symmetric
        return add_kernel_sums<T>(kernel, points, which, coefficients, points, team, out);
    }
    Ids others;
    for (std::size_t i = 0, k = 0; i < points.size(); ++i) {
        if (k < m && which[k] == i) {
            ++k;
        } else {
            others.push_back(static_cast<std::uint32_t>(i));
        }
    }
    std::vector<double> rest(others.size(), 0.0), own(m, 0.0);
    if (!others.empty()) {
        add_kernel_sums<T>(kernel, points, which, coefficients, points.subset(others), team, rest.data());
    }
    Points const inside = points.subset(which);
    Ids const all = Points::everything(m);
    Gram<T> const gram(kernel, inside, inside, team, true);
    // A band of rows against what is right of it, and in turn the columns there against the band: sums over columns
    // are kept by chunk, and added up in order.
    std::vector<double> turned(band * Team::count(m, chunk));
    for (std::size_t row = 0; row < m; row += band) {
        std::size_t const last = std::min(m, row + band);
        std::fill(turned.begin(), turned.end(), 0.0);
        gram.tiles(
            std::span(all).subspan(row, last - row),
            [&](std::size_t first, std::size_t count, std::size_t begin, std::size_t end, T const* tile) {
                add_tile(coefficients.subspan(row + first, count), tile, own.data() + begin, end - begin);
                for (std::size_t r = 0; begin >= last && r < count; ++r) {
                    turned[begin / chunk * band + first + r] =
                        dot(tile + r * chunk, coefficients.data() + begin, end - begin);
                }
            },
            row / chunk);
        for (std::size_t c = row / chunk; c * chunk < m; ++c) {
            for (std::size_t r = 0; r < last - row; ++r) own[row + r] += turned[c * band + r];
        }
    }
    for (std::size_t k = 0; k < m; ++k) out[which[k]] += own[k];
    for (std::size_t k = 0; k < others.size(); ++k) out[others[k]] += rest[k];
}

// out[j, i] = k(left i, right j).
template <class T>
void kernel_matrix(Kernel const& kernel, Points const& left, Points const& right, Team& team, T* out) {
    Gram<T> const gram(kernel, left, right, team);
    std::size_t const m = left.size();
    Ids const all = Points::everything(m);
    gram.tiles(all, [&](std::size_t first, std::size_t count, std::size_t begin, std::size_t end, T const* tile) {
        for (std::size_t j = begin; j < end; ++j) {
            for (std::size_t r = 0; r < count; ++r) {
                out[j * m + first + r] = tile[r * Gram<T>::chunk + j - begin];
            }
        }
    });
}

// Whether `starts` cuts `points` into groups, and there is a coefficient for each point.
inline void require_groups(std::span<std::int64_t const> starts, std::size_t points, std::size_t coefficients) {
    bool const whole = !starts.empty() && starts.front() == 0 && starts.back() == static_cast<std::int64_t>(points);
    if (!whole || !std::is_sorted(starts.begin(), starts.end()) || coefficients != points) {
        throw std::invalid_argument("Groups must cover the points in order, with a coefficient for each point.");
    }
}

// out[j, g, k] = sum over the left points i of group g of C[k, i] k(left i, right j). Groups are consecutive: group g
// is [starts[g], starts[g + 1]).
inline void kernel_sums(Kernel const& kernel, Points const& left, std::span<std::int64_t const> starts, double const* C,
                        std::size_t rows, Points const& right, Team& team, double* out) {
    Gram<double> const gram(kernel, left, right, team);
    Ids const all = Points::everything(left.size());
    std::size_t const groups = starts.size() - 1;
    std::vector<std::uint32_t> group_of(left.size());
    for (std::size_t g = 0; g < groups; ++g) {
        for (auto i = starts[g]; i < starts[g + 1]; ++i)
            group_of[static_cast<std::size_t>(i)] = static_cast<std::uint32_t>(g);
    }
    gram.tiles(all, [&](std::size_t first, std::size_t count, std::size_t begin, std::size_t end, double const* tile) {
        constexpr std::size_t chunk = Gram<double>::chunk;
        std::array<double, chunk> sums;
        for (std::size_t r0 = 0; r0 < count;) {
            std::size_t const g = group_of[first + r0];
            std::size_t r1 = r0;
            while (r1 < count && group_of[first + r1] == g) ++r1;
            for (std::size_t k = 0; k < rows; ++k) {
                std::fill(sums.begin(), sums.end(), 0.0);
                for (std::size_t r = r0; r < r1; ++r) {
                    double const c = C[k * left.size() + first + r];
                    if (c != 0) axpy(c, tile + r * chunk, sums.data(), end - begin);
                }
                for (std::size_t j = begin; j < end; ++j) out[(j * groups + g) * rows + k] += sums[j - begin];
            }
            r0 = r1;
        }
    });
}

}  // namespace tallywise::kernels
