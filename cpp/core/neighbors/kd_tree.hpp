// k-d tree for the Minkowski norms: exact, for data of few columns.
//
// Built by halving the widest column at its median. A node knows where its lower half ends and its upper half begins,
// so the gap between the two counts towards the distance; a search carries, per column, the distance from the query to
// the cell (Arya & Mount 1993) and enters a cell only while their sum may beat the worst neighbour kept.
#pragma once

#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "core/neighbors/scan.hpp"

namespace tallywise::neighbors {

template <class Norm, class T>
class KdTree final : public DenseIndex {
  public:
    KdTree(Norm norm, Dense<T> const& X, std::size_t leaf)
        : DenseIndex(std::make_unique<detail::NormRows<Norm, T>>(norm, X)),
          norm_(norm),
          leaf_(std::max<std::size_t>(leaf, 1)),
          order_(X.lines),
          low_(X.width, std::numeric_limits<double>::infinity()),
          high_(X.width, -std::numeric_limits<double>::infinity()) {
        std::iota(order_.begin(), order_.end(), std::uint32_t{0});
        nodes_.reserve(2 * X.lines / leaf_ + 2);
        build(X, 0, X.lines);
        gather(X);
        for (std::size_t row = 0; row < X.lines; ++row) {
            for (std::size_t j = 0; j < X.width; ++j) {
                low_[j] = std::min(low_[j], static_cast<double>(X.data[row * X.stride + j]));
                high_[j] = std::max(high_[j], static_cast<double>(X.data[row * X.stride + j]));
            }
        }
    }

  protected:
    void solve(PreparedQueries const& queries, std::size_t begin, std::size_t end, SearchSpec const& spec,
               Nearest* nearest) const override {
        std::size_t const d = rows_->width();
        Walk walk{spec, nullptr, 0, nullptr, std::vector<double>(d), std::vector<double>(largest_leaf_)};
        for (std::size_t i = begin; i < end; ++i) {
            walk.query = queries[i - begin];
            walk.row = i;
            walk.nearest = nearest + (i - begin);
            double bound = 0;
            for (std::size_t j = 0; j < d; ++j) {
                double const outside = std::max({0.0, low_[j] - walk.query[j], walk.query[j] - high_[j]});
                walk.offset[j] = norm_.term(outside);
                bound = Norm::largest ? std::max(bound, walk.offset[j]) : bound + walk.offset[j];
            }
            enter(walk, 0, bound);
        }
    }

  private:
    struct Node {
        std::uint32_t begin, end;  // rows, in order_
        std::uint32_t upper = 0;   // the node of the upper half; the lower half is the next node; 0 in a leaf
        std::uint32_t axis = 0;
        double lower_end = 0, upper_begin = 0;
    };

    struct Walk {
        SearchSpec const& spec;
        double const* query;
        std::size_t row;
        Nearest* nearest;
        std::vector<double> offset;  // per column, the term from the query to the cell
        std::vector<double> sums;
    };

    // Sums of at most a few thousand positive terms in another order differ by less than this, relatively.
    static constexpr double slack = 1 + 0x1p-36;

    std::uint32_t build(Dense<T> const& X, std::size_t begin, std::size_t end) {
        auto const self = static_cast<std::uint32_t>(nodes_.size());
        nodes_.push_back({static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)});
        auto const value = [&](std::uint32_t row, std::size_t j) { return X.data[row * X.stride + j]; };
        std::size_t axis = 0;
        double widest = 0;
        if (end - begin > leaf_) {
            for (std::size_t j = 0; j < X.width; ++j) {
                T low = value(order_[begin], j), high = low;
                for (std::size_t i = begin; i < end; ++i) {
                    low = std::min(low, value(order_[i], j));
                    high = std::max(high, value(order_[i], j));
                }
                double const spread = static_cast<double>(high) - static_cast<double>(low);
                if (spread > widest) {
                    widest = spread;
                    axis = j;
                }
            }
        }
        if (widest == 0) {  // few rows, or all the same
            largest_leaf_ = std::max(largest_leaf_, end - begin);
            return self;
        }
        std::size_t const middle = begin + (end - begin) / 2;
        auto const at = [&](std::size_t i) { return order_.begin() + static_cast<std::ptrdiff_t>(i); };
        // Ties by row, so that the tree does not depend on how nth_element is written.
        std::nth_element(at(begin), at(middle), at(end), [&](std::uint32_t a, std::uint32_t b) {
            return value(a, axis) < value(b, axis) || (value(a, axis) == value(b, axis) && a < b);
        });
        T lower_end = value(order_[begin], axis);
        for (std::size_t i = begin; i < middle; ++i) lower_end = std::max(lower_end, value(order_[i], axis));
        nodes_[self].axis = static_cast<std::uint32_t>(axis);
        nodes_[self].lower_end = static_cast<double>(lower_end);
        nodes_[self].upper_begin = static_cast<double>(value(order_[middle], axis));
        build(X, begin, middle);
        nodes_[self].upper = build(X, middle, end);
        return self;
    }

    // Copies the rows leaf by leaf, each leaf by columns: distances to a leaf are then computed several at a time.
    void gather(Dense<T> const& X) {
        leaves_.resize(X.lines * X.width);
        for (Node const& node : nodes_) {
            if (node.upper != 0) continue;
            std::size_t const m = node.end - node.begin;
            T* to = leaves_.data() + node.begin * X.width;
            for (std::size_t j = 0; j < X.width; ++j) {
                for (std::size_t i = 0; i < m; ++i) to[j * m + i] = X.data[order_[node.begin + i] * X.stride + j];
            }
        }
    }

    void enter(Walk& walk, std::uint32_t at, double bound) const {
        Node const& node = nodes_[at];
        if (node.upper == 0) {
            visit_leaf(walk, node);
            return;
        }
        double const q = walk.query[node.axis], old = walk.offset[node.axis];
        double const to_lower = std::max(old, norm_.term(std::max(0.0, q - node.lower_end)));
        double const to_upper = std::max(old, norm_.term(std::max(0.0, node.upper_begin - q)));
        auto const child = [&](std::uint32_t next, double term) {
            double const total = Norm::largest ? std::max(bound, term) : bound - old + term;
            if (total > walk.nearest->limit() * slack) return;
            walk.offset[node.axis] = term;
            enter(walk, next, total);
            walk.offset[node.axis] = old;
        };
        // Between the halves, the nearer one first; outside both or inside one, the same comparison serves.
        if (q - node.lower_end < node.upper_begin - q) {
            child(at + 1, to_lower);
            child(node.upper, to_upper);
        } else {
            child(node.upper, to_upper);
            child(at + 1, to_lower);
        }
    }

    void visit_leaf(Walk& walk, Node const& node) const {
        std::size_t const d = rows_->width(), m = node.end - node.begin;
        T const* x = leaves_.data() + node.begin * d;
        double* sums = walk.sums.data();
        std::fill(sums, sums + m, 0.0);
        for (std::size_t j = 0; j < d; ++j, x += m) {
            double const q = walk.query[j];
#pragma omp simd
            for (std::size_t i = 0; i < m; ++i) {
                double const term = norm_.term(std::abs(q - static_cast<double>(x[i])));
                sums[i] = Norm::largest ? (term > sums[i] ? term : sums[i]) : sums[i] + term;
            }
        }
        for (std::size_t i = 0; i < m; ++i) {
            if (!(sums[i] <= walk.nearest->limit() * slack)) continue;
            std::size_t const row = order_[node.begin + i];
            if (allowed(walk.spec, walk.row, row)) {
                walk.nearest->offer(*rows_, rows_->reduced(walk.query, row), row);
            }
        }
    }

    Norm norm_;
    std::size_t leaf_, largest_leaf_ = 0;
    std::vector<std::uint32_t> order_;
    std::vector<Node> nodes_;
    std::vector<T> leaves_;
    std::vector<double> low_, high_;
};

template <class T>
std::unique_ptr<NeighbourIndex> make_kd_tree(Dense<T> const& X, double p, std::size_t leaf) {
    return visit_norm(p, [&](auto norm) -> std::unique_ptr<NeighbourIndex> {
        return std::make_unique<KdTree<decltype(norm), T>>(norm, X, leaf);
    });
}

}  // namespace tallywise::neighbors
