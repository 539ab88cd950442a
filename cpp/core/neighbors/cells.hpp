// Cells of rows that lie together, each with the box around them: a search passes over the cells that no neighbour can
// be in.
//
// Rows are halved along the coordinate in which they vary most until a cell holds `size` of them; every cell but the
// last holds exactly that many, so that cells begin where panels of packed rows do.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

namespace tallywise::neighbors {

class Cells {
  public:
    static constexpr std::size_t size = 128;

    // Over the first `width` entries of n rows.
    Cells(float const* rows, std::size_t n, std::size_t stride, std::size_t width)
        : rows_(rows), stride_(stride), width_(width), order_(n) {
        std::iota(order_.begin(), order_.end(), std::uint32_t{0});
        halve(0, n);
        box_.resize(count() * 2 * width);
        for (std::size_t cell = 0; cell < count(); ++cell) enclose(cell);
        rows_ = nullptr;  // they may go now
    }
    Cells() = default;

    std::size_t count() const { return (order_.size() + size - 1) / size; }
    std::size_t width() const { return width_; }
    // Rows, cell after cell.
    std::vector<std::uint32_t> const& order() const { return order_; }

    // squares[i] = the squared distance of point i to the box of a cell, short of it by (width + 4) 2^-23 of itself at
    // most; 0 where it is no number. Points are given coordinate by coordinate, m to each.
    void bound(std::size_t cell, float const* points, std::size_t m, float* squares) const {
        float const* low = box_.data() + cell * 2 * width_;
        float const* high = low + width_;
        std::fill(squares, squares + m, 0.0f);
        for (std::size_t j = 0; j < width_; ++j, points += m) {
            float const l = low[j], h = high[j];
#pragma omp simd
            for (std::size_t i = 0; i < m; ++i) {
                float const below = l - points[i], above = points[i] - h;
                float const outside = below > above ? below : above;
                float const gap = outside > 0 ? outside : 0.0f;
                squares[i] += gap * gap;
            }
        }
    }

  private:
    float value(std::uint32_t row, std::size_t j) const { return rows_[row * stride_ + j]; }

    void halve(std::size_t begin, std::size_t end) {
        if (end - begin <= size) return;
        std::size_t const cells = (end - begin + size - 1) / size, middle = begin + cells / 2 * size;
        std::size_t const axis = widest(begin, end);
        auto const at = [&](std::size_t i) { return order_.begin() + static_cast<std::ptrdiff_t>(i); };
        // Ties by row, so that cells do not depend on how nth_element is written.
        std::nth_element(at(begin), at(middle), at(end), [&](std::uint32_t a, std::uint32_t b) {
            float const x = value(a, axis), y = value(b, axis);
            return x != y ? x < y : a < b;
        });
        halve(begin, middle);
        halve(middle, end);
    }

    // The coordinate with the largest variance, by some of the rows.
    std::size_t widest(std::size_t begin, std::size_t end) const {
        std::size_t const step = std::max<std::size_t>(1, (end - begin) / 256);
        std::vector<double> sum(width_, 0.0), square(width_, 0.0);
        double count = 0;
        for (std::size_t i = begin; i < end; i += step, ++count) {
            for (std::size_t j = 0; j < width_; ++j) {
                double const x = value(order_[i], j);
                sum[j] += x;
                square[j] += x * x;
            }
        }
        std::size_t best = 0;
        double most = -1;
        for (std::size_t j = 0; j < width_; ++j) {
            double const variance = square[j] - sum[j] / count * sum[j];
            if (variance > most) {
                most = variance;
                best = j;
            }
        }
        return best;
    }

    void enclose(std::size_t cell) {
        float* low = box_.data() + cell * 2 * width_;
        float* high = low + width_;
        std::fill(low, high, std::numeric_limits<float>::infinity());
        std::fill(high, high + width_, -std::numeric_limits<float>::infinity());
        for (std::size_t i = cell * size; i < std::min(order_.size(), (cell + 1) * size); ++i) {
            for (std::size_t j = 0; j < width_; ++j) {
                low[j] = std::min(low[j], value(order_[i], j));
                high[j] = std::max(high[j], value(order_[i], j));
            }
        }
    }

    float const* rows_ = nullptr;
    std::size_t stride_ = 0, width_ = 0;
    std::vector<std::uint32_t> order_;
    std::vector<float> box_;  // of each cell, its low ends and then its high ends
};

}  // namespace tallywise::neighbors
