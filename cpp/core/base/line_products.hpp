// All products of the lines of one block with each other: G += L L', lower triangle, for lines that lie one after the
// other in cache.
//
// Half the arithmetic of a product of two matrices, and no packing: a tile of 3 x 4 products walks along its seven
// lines, whose registers it fills directly. The order of the sums depends on the length of the lines alone.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "core/base/aligned_array.hpp"
#include "core/base/gemm.hpp"
#include "core/base/parallel.hpp"

namespace tallywise {

namespace detail {

// products[r][c] = <a_r, b_c> for R lines at a and C at b.
template <std::size_t R, std::size_t C>
void line_tile(double const* a, double const* b, std::size_t stride, std::size_t width, double (&products)[3][4]) {
    using L = typename Tile<double>::Loaded;
    constexpr std::size_t step = Tile<double>::register_size;
    L sum[R][C];
    for (std::size_t r = 0; r < R; ++r) {
        for (std::size_t c = 0; c < C; ++c) sum[r][c] = L{};
    }
    for (std::size_t i = 0; i < width; i += step) {
        L x[R];
#pragma GCC unroll 3
        for (std::size_t r = 0; r < R; ++r) x[r] = *reinterpret_cast<L const*>(a + r * stride + i);
#pragma GCC unroll 4
        for (std::size_t c = 0; c < C; ++c) {
            L const y = *reinterpret_cast<L const*>(b + c * stride + i);
#pragma GCC unroll 3
            for (std::size_t r = 0; r < R; ++r) sum[r][c] += x[r] * y;
        }
    }
    for (std::size_t r = 0; r < R; ++r) {
        for (std::size_t c = 0; c < C; ++c) {
            for (std::size_t half = step / 2; half > 0; half /= 2) {
                for (std::size_t k = 0; k < half; ++k) sum[r][c][k] += sum[r][c][k + half];
            }
            products[r][c] = sum[r][c][0];
        }
    }
}

}  // namespace detail

// A block of lines of which a whole number of registers is filled, with as many lines as tiles take: the rest is zero.
class LineBlock {
  public:
    static constexpr std::size_t width = 256;  // of a line: seven of them stay in first-level cache

    explicit LineBlock(std::size_t lines) : lines_(lines), values_((lines + 4) * stride, 0.0) {}

    // Where line k begins; entries from the block's width on stay zero.
    double* line(std::size_t k) { return values_.data() + k * stride; }
    double const* line(std::size_t k) const { return values_.data() + k * stride; }

    // G[k, l] += <line k, line l> for l <= k; what is added above the diagonal has no meaning. G has `ld` to a row.
    void add_products(double* G, std::size_t ld) const {
        double products[3][4];
        for (std::size_t a = 0; a < lines_; a += 3) {
            for (std::size_t b = 0; b < std::min(a + 3, lines_); b += 4) {
                detail::line_tile<3, 4>(line(a), line(b), stride, width, products);
                for (std::size_t r = 0; r < std::min<std::size_t>(3, lines_ - a); ++r) {
                    for (std::size_t c = 0; c < std::min<std::size_t>(4, lines_ - b); ++c) {
                        G[(a + r) * ld + b + c] += products[r][c];
                    }
                }
            }
        }
    }

  private:
    // Whole cache lines; a power of two apart, lines would share a set of the cache.
    static constexpr std::size_t stride = width + 8;

    std::size_t lines_;
    AlignedArray<double> values_;
};

// Pieces of whole blocks: eight at most, and fewer where the sums of `lines` lines would take more memory than 64 MB.
inline std::size_t block_grain(std::size_t length, std::size_t lines) {
    std::size_t const blocks = Team::count(length, LineBlock::width);
    std::size_t const memory = (std::size_t{1} << 23) / std::max<std::size_t>(lines * lines, 1);
    return std::max<std::size_t>(1, Team::count(blocks, std::clamp<std::size_t>(memory, 1, 8))) * LineBlock::width;
}

// All products of `lines` lines of this length, row-major. fill(first, count, block) writes the entries
// [first, first + count) of each line. Pieces have sums of their own, added in order: the same bytes for any number of
// threads.
template <class Fill>
std::vector<double> gram_of_lines(Team& team, std::size_t lines, std::size_t length, Fill&& fill) {
    std::size_t const size = lines * lines, grain = block_grain(length, lines);
    std::vector<double> parts(std::max<std::size_t>(Team::count(length, grain), 1) * size, 0.0);
    team.each_range(length, grain, [&](std::size_t begin, std::size_t end, std::size_t piece) {
        LineBlock block(lines);
        for (std::size_t first = begin; first < end; first += LineBlock::width) {
            std::size_t const count = std::min(LineBlock::width, end - first);
            fill(first, count, block);
            for (std::size_t k = 0; k < lines && count < LineBlock::width; ++k) {
                std::fill(block.line(k) + count, block.line(k) + LineBlock::width, 0.0);
            }
            block.add_products(parts.data() + piece * size, lines);
        }
    });
    for (std::size_t a = size; a < parts.size(); ++a) parts[a % size] += parts[a];
    parts.resize(size);
    for (std::size_t k = 0; k < lines; ++k) {
        for (std::size_t l = 0; l < k; ++l) parts[l * lines + k] = parts[k * lines + l];
    }
    return parts;
}

}  // namespace tallywise
