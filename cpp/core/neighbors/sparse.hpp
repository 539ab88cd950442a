// Distances between sparse rows, and the search that looks at all of them.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/neighbors/metrics.hpp"
#include "core/neighbors/search.hpp"

namespace tallywise {

// One query, in float64.
struct SparseLine {
    std::vector<std::size_t> indices;
    std::vector<double> values;
};

inline SparseLine sparse_line(Design const& Q, std::size_t i) {
    SparseLine line;
    visit(Q, [&](auto const& q) {
        if constexpr (std::remove_cvref_t<decltype(q)>::is_sparse) {
            q.each(i, [&](std::size_t j, auto x) {
                line.indices.push_back(j);
                line.values.push_back(static_cast<double>(x));
            });
        }
    });
    return line;
}

// The rows of a sparse design under one metric; see Rows, its dense twin.
class SparseRows {
  public:
    virtual ~SparseRows() = default;
    double p() const { return p_; }
    virtual void prepare(SparseLine&) const {}
    virtual double reduced(SparseLine const& query, std::size_t row) const = 0;
    virtual double finish(double reduced) const { return reduced; }
    virtual double raise(double distance) const { return distance; }

  protected:
    explicit SparseRows(double p) : p_(p) {}
    double p_;
};

namespace detail {

// f(u_j, v_j) over the columns where either row has an entry, in rising order.
template <class T, class I, class F>
void merge(SparseLine const& u, Sparse<T, I> const& V, std::size_t row, F&& f) {
    auto k = static_cast<std::size_t>(V.indptr[row]);
    auto const end = static_cast<std::size_t>(V.indptr[row + 1]);
    std::size_t i = 0;
    while (i < u.indices.size() && k < end) {  // no branch on which index is lower: it cannot be predicted
        std::size_t const a = u.indices[i], b = static_cast<std::size_t>(V.indices[k]);
        double const x = u.values[i], y = static_cast<double>(V.data[k]);
        f(a <= b ? x : 0.0, b <= a ? y : 0.0);
        i += a <= b;
        k += b <= a;
    }
    for (; i < u.indices.size(); ++i) f(u.values[i], 0.0);
    for (; k < end; ++k) f(0.0, static_cast<double>(V.data[k]));
}

template <class Norm, class T, class I>
class SparseNormRows final : public SparseRows {
  public:
    SparseNormRows(Norm norm, Sparse<T, I> const& X) : SparseRows(norm.p()), norm_(norm), X_(X) {}
    double reduced(SparseLine const& query, std::size_t row) const override {
        double total = 0;
        merge(query, X_, row, [&](double u, double v) {
            double const term = norm_.term(std::abs(u - v));
            total = Norm::largest ? std::max(total, term) : total + term;
        });
        return total;
    }
    double finish(double reduced) const override { return norm_.finish(reduced); }
    double raise(double distance) const override { return norm_.raise(distance); }

  private:
    Norm norm_;
    Sparse<T, I> X_;
};

template <class T, class I>
class SparseCosineRows final : public SparseRows {
  public:
    explicit SparseCosineRows(Sparse<T, I> const& X) : SparseRows(0), X_(X), inverse_(X.lines) {
        for (std::size_t row = 0; row < X.lines; ++row) {
            inverse_[row] = inverse_norm(X.data + static_cast<std::size_t>(X.indptr[row]), X.length(row));
        }
    }
    void prepare(SparseLine& query) const override {
        double const inverse = inverse_norm(query.values.data(), query.values.size());
        for (double& value : query.values) value *= inverse;
    }
    double reduced(SparseLine const& query, std::size_t row) const override {
        if (inverse_[row] == 0) return 1;
        double total = 0;
        bool empty = true;
        merge(query, X_, row, [&](double u, double v) {
            double const gap = u - v * inverse_[row];
            total += gap * gap;
            empty &= u == 0;
        });
        if (empty) return 1;
        return total / 2 < same_direction ? 0 : total / 2;
    }
    std::vector<double> const& inverse() const { return inverse_; }

  private:
    Sparse<T, I> X_;
    std::vector<double> inverse_;
};

template <class T, class I>
class SparseHammingRows final : public SparseRows {
  public:
    explicit SparseHammingRows(Sparse<T, I> const& X) : SparseRows(0), X_(X) {}
    double reduced(SparseLine const& query, std::size_t row) const override {
        std::size_t differ = 0;
        merge(query, X_, row, [&](double u, double v) { differ += u != v; });
        return static_cast<double>(differ) / static_cast<double>(X_.width);
    }

  private:
    Sparse<T, I> X_;
};

template <class T, class I>
class SparseJaccardRows final : public SparseRows {
  public:
    explicit SparseJaccardRows(Sparse<T, I> const& X) : SparseRows(0), X_(X) {}
    double reduced(SparseLine const& query, std::size_t row) const override {
        std::size_t both = 0, either = 0;
        merge(query, X_, row, [&](double u, double v) {
            both += u != 0 && v != 0;
            either += u != 0 || v != 0;
        });
        return either == 0 ? 0 : static_cast<double>(either - both) / static_cast<double>(either);
    }

  private:
    Sparse<T, I> X_;
};

}  // namespace detail

// `p` counts for minkowski alone.
template <class T, class I>
std::unique_ptr<SparseRows> make_rows(Sparse<T, I> const& X, std::string_view metric, double p) {
    return make_by_metric<SparseRows>(
        metric, p,
        [&](auto norm) -> std::unique_ptr<SparseRows> {
            return std::make_unique<detail::SparseNormRows<decltype(norm), T, I>>(norm, X);
        },
        [&](Cosine) -> std::unique_ptr<SparseRows> { return std::make_unique<detail::SparseCosineRows<T, I>>(X); },
        [&](Hamming) -> std::unique_ptr<SparseRows> { return std::make_unique<detail::SparseHammingRows<T, I>>(X); },
        [&](Jaccard) -> std::unique_ptr<SparseRows> { return std::make_unique<detail::SparseJaccardRows<T, I>>(X); });
}

// The base of sparse searches: solve(query, i, spec, nearest) is theirs.
class SparseIndex : public NeighbourIndex {
  public:
    SparseIndex(std::unique_ptr<SparseRows> rows, std::size_t count, std::size_t width)
        : rows_(std::move(rows)), count_(count), width_(width) {}

    Neighbours search(Design const& Q, SearchSpec const& spec) const override {
        bool const fits =
            visit(Q, [&](auto const& q) { return std::remove_cvref_t<decltype(q)>::is_sparse && q.width == width_; });
        if (!fits) throw std::invalid_argument("Queries of a sparse index are sparse and of its width.");
        auto const make = [&] { return Nearest(spec, rows_->p(), rows_->raise(spec.radius)); };
        return search_blocks(lines(Q), 16, spec, make, [&](std::size_t begin, std::size_t end, Nearest* nearest) {
            solve(Q, begin, end, spec, nearest);
        });
    }

  protected:
    virtual void solve(Design const& Q, std::size_t begin, std::size_t end, SearchSpec const& spec,
                       Nearest* nearest) const = 0;

    std::unique_ptr<SparseRows> rows_;
    std::size_t count_, width_;
};

class SparseScanIndex final : public SparseIndex {
  public:
    using SparseIndex::SparseIndex;

  protected:
    void solve(Design const& Q, std::size_t begin, std::size_t end, SearchSpec const& spec,
               Nearest* nearest) const override {
        for (std::size_t i = begin; i < end; ++i) {
            SparseLine query = sparse_line(Q, i);
            rows_->prepare(query);
            for (std::size_t row = 0; row < count_; ++row) {
                if (allowed(spec, i, row)) nearest[i - begin].offer(*rows_, rows_->reduced(query, row), row);
            }
        }
    }
};

}  // namespace tallywise
