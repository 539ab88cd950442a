// Distances between sparse rows, and the search that looks at all of them.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "core/neighbors/metrics.hpp"
#include "core/neighbors/search.hpp"

namespace tallywise::neighbors {

// A query's values by column: a hash table with linear probing, behind a filter that stops nearly all other columns.
class ColumnTable {
  public:
    void fill(std::vector<std::size_t> const& indices, std::vector<double> const& values) {
        shift_ = 64 - std::max(6, static_cast<int>(std::bit_width(4 * indices.size())));
        keys_.assign(std::size_t{1} << (64 - shift_), none);
        values_.resize(keys_.size());
        filter_.assign(keys_.size() / (64 >> finer), 0);
        for (std::size_t k = 0; k < indices.size(); ++k) {
            std::size_t const bit = hash(indices[k]) >> (shift_ - finer), slot = find(indices[k]);
            filter_[bit / 64] |= std::uint64_t{1} << bit % 64;
            keys_[slot] = indices[k];
            values_[slot] = values[k];
        }
    }

    // The value of column j, 0 where the query has none.
    double operator[](std::size_t j) const {
        std::size_t const slot = find(j);
        return keys_[slot] == j ? values_[slot] : 0.0;
    }

    // 1 for all columns of the query and one in 32 of the others, or fewer.
    std::size_t may_hold(std::size_t j) const {
        std::size_t const bit = hash(j) >> (shift_ - finer);
        return filter_[bit / 64] >> bit % 64 & 1;
    }

  private:
    static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
    static constexpr int finer = 3;  // 2^3 bits of the filter a slot

    static std::uint64_t hash(std::size_t j) { return j * 0x9E3779B97F4A7C15u; }

    std::size_t find(std::size_t j) const {
        std::size_t slot = hash(j) >> shift_;
        while (keys_[slot] != j && keys_[slot] != none) slot = (slot + 1) & (keys_.size() - 1);
        return slot;
    }

    int shift_ = 58;
    std::vector<std::size_t> keys_;
    std::vector<double> values_;
    std::vector<std::uint64_t> filter_;
};

// One query, in float64.
struct SparseLine {
    std::vector<std::size_t> indices;
    std::vector<double> values;
    ColumnTable table;
    double whole = 0;  // what its values would sum to in a distance from zero; see sum_of_pairs
};

// Reads query i into `line`, indices rising whatever their order in Q.
inline void read_line(Design const& Q, std::size_t i, SparseLine& line) {
    line.indices.clear();
    line.values.clear();
    visit(Q, [&](auto const& q) {
        if constexpr (std::remove_cvref_t<decltype(q)>::is_sparse) {
            q.each(i, [&](std::size_t j, auto x) {
                line.indices.push_back(j);
                line.values.push_back(static_cast<double>(x));
            });
        }
    });
    if (std::is_sorted(line.indices.begin(), line.indices.end())) return;
    std::vector<std::pair<std::size_t, double>> pairs;
    for (std::size_t k = 0; k < line.indices.size(); ++k) pairs.emplace_back(line.indices[k], line.values[k]);
    std::sort(pairs.begin(), pairs.end());
    for (std::size_t k = 0; k < pairs.size(); ++k) std::tie(line.indices[k], line.values[k]) = pairs[k];
}

// The rows of a sparse design under one metric; see Rows, its dense twin.
class SparseRows {
  public:
    virtual ~SparseRows() = default;
    double p() const { return p_; }
    // Brings a query, as read, into the form that `reduced` takes, but for its table.
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
template <class T, class F>
void merge(SparseLine const& u, Sparse<T> const& V, std::size_t row, F&& f) {
    auto const [indices, values, end] = V.entries(row);
    std::size_t i = 0, k = 0;
    while (i < u.indices.size() && k < end) {  // no branch on which index is lower: it cannot be predicted
        std::size_t const a = u.indices[i], b = static_cast<std::size_t>(indices[k]);
        double const x = u.values[i], y = static_cast<double>(values[k]);
        f(a <= b ? x : 0.0, b <= a ? y : 0.0);
        i += a <= b;
        k += b <= a;
    }
    for (; i < u.indices.size(); ++i) f(u.values[i], 0.0);
    for (; k < end; ++k) f(0.0, static_cast<double>(values[k]));
}

// Sum of f(u_j, v_j) over all columns, where f(0, 0) = 0 and `whole` is the sum of all f(0, v_j).
//
// Only the columns that both rows hold are computed, several times faster than a merge: the others bring what is left
// of the two whole sums. Where little is left the difference is rounding, and the rows are merged.
template <class T, class F>
double sum_of_pairs(SparseLine const& u, Sparse<T> const& V, std::size_t row, double whole, F&& f) {
    double total = 0, of_u = u.whole, of_v = whole;
    auto const [indices, values, end] = V.entries(row);
    std::array<std::size_t, 256> both;
    for (std::size_t from = 0; from < end; from += both.size()) {
        std::size_t m = 0;
        std::size_t const to = std::min(end, from + both.size());
        for (std::size_t k = from; k < to; ++k) {  // always written, kept or not: no branch to mispredict
            both[m] = k;
            m += u.table.may_hold(static_cast<std::size_t>(indices[k]));
        }
        for (std::size_t at = 0; at < m; ++at) {
            double const x = u.table[static_cast<std::size_t>(indices[both[at]])];
            auto const y = static_cast<double>(values[both[at]]);
            total += f(x, y);
            of_u -= f(x, 0.0);
            of_v -= f(0.0, y);
        }
    }
    if (of_u > 0x1p-10 * u.whole && of_v > 0x1p-10 * whole && of_u + of_v < 0x1p1000) return total + (of_u + of_v);
    total = 0;
    merge(u, V, row, [&](double x, double y) { total += f(x, y); });
    return total;
}

// f(0, x) over the entries of each row, summed.
template <class T, class F>
std::vector<double> whole_sums(Sparse<T> const& X, F&& f) {
    std::vector<double> sums(X.lines, 0.0);
    for (std::size_t row = 0; row < X.lines; ++row) {
        X.each(row, [&](std::size_t, T x) { sums[row] += f(0.0, static_cast<double>(x)); });
    }
    return sums;
}

template <class Norm, class T>
class SparseNormRows final : public SparseRows {
  public:
    SparseNormRows(Norm norm, Sparse<T> const& X) : SparseRows(norm.p()), norm_(norm), X_(X) {
        if (!Norm::largest) wholes_ = whole_sums(X, Term{norm});
    }
    void prepare(SparseLine& query) const override {
        query.whole = 0;
        for (double const u : query.values) query.whole += norm_.term(std::abs(u));
    }
    double reduced(SparseLine const& query, std::size_t row) const override {
        Term const term{norm_};
        if constexpr (!Norm::largest) return sum_of_pairs(query, X_, row, wholes_[row], term);
        double largest = 0;
        merge(query, X_, row, [&](double u, double v) { largest = std::max(largest, term(u, v)); });
        return largest;
    }
    double finish(double reduced) const override { return norm_.finish(reduced); }
    double raise(double distance) const override { return norm_.raise(distance); }

  private:
    struct Term {
        Norm norm;
        double operator()(double u, double v) const { return norm.term(std::abs(u - v)); }
    };

    Norm norm_;
    Sparse<T> X_;
    std::vector<double> wholes_;
};

template <class T>
class SparseCosineRows final : public SparseRows {
  public:
    explicit SparseCosineRows(Sparse<T> const& X) : SparseRows(0), X_(X), inverse_(X.lines) {
        for (std::size_t row = 0; row < X.lines; ++row) {
            inverse_[row] = inverse_norm(X.entries(row).values, X.length(row));
        }
    }
    void prepare(SparseLine& query) const override {
        double const inverse = inverse_norm(query.values.data(), query.values.size());
        query.whole = 0;
        for (double& value : query.values) {
            value *= inverse;
            query.whole += value * value;
        }
    }
    double reduced(SparseLine const& query, std::size_t row) const override {
        double const inverse = inverse_[row];
        if (inverse == 0 || query.whole == 0) return 1;
        double const total = sum_of_pairs(query, X_, row, 1.0, [inverse](double u, double v) {
            double const difference = u - v * inverse;
            return difference * difference;
        });
        return total / 2 < same_direction ? 0 : total / 2;
    }
    std::vector<double> const& inverse() const { return inverse_; }

  private:
    Sparse<T> X_;
    std::vector<double> inverse_;
};

inline double nonzeros(SparseLine const& query) {
    return static_cast<double>(query.values.size()) -
           static_cast<double>(std::count(query.values.begin(), query.values.end(), 0.0));
}

template <class T>
class SparseHammingRows final : public SparseRows {
  public:
    explicit SparseHammingRows(Sparse<T> const& X) : SparseRows(0), X_(X), wholes_(whole_sums(X, differ)) {}
    void prepare(SparseLine& query) const override { query.whole = nonzeros(query); }
    double reduced(SparseLine const& query, std::size_t row) const override {
        return sum_of_pairs(query, X_, row, wholes_[row], differ) / static_cast<double>(X_.width);
    }

  private:
    static double differ(double u, double v) { return u != v ? 1.0 : 0.0; }

    Sparse<T> X_;
    std::vector<double> wholes_;
};

template <class T>
class SparseJaccardRows final : public SparseRows {
  public:
    explicit SparseJaccardRows(Sparse<T> const& X) : SparseRows(0), X_(X) {}
    void prepare(SparseLine& query) const override { query.whole = nonzeros(query); }
    double reduced(SparseLine const& query, std::size_t row) const override {
        std::size_t both = 0, size = 0;
        X_.each(row, [&](std::size_t j, T v) {
            size += v != T(0);
            both += v != T(0) && query.table[j] != 0;
        });
        double const either = query.whole + static_cast<double>(size - both);
        return either == 0 ? 0 : (either - static_cast<double>(both)) / either;
    }

  private:
    Sparse<T> X_;
};

}  // namespace detail

// `p` counts for minkowski alone.
template <class T>
std::unique_ptr<SparseRows> make_rows(Sparse<T> const& X, std::string_view metric, double p) {
    return make_by_metric<SparseRows>(
        metric, p,
        [&](auto norm) -> std::unique_ptr<SparseRows> {
            return std::make_unique<detail::SparseNormRows<decltype(norm), T>>(norm, X);
        },
        [&](Cosine) -> std::unique_ptr<SparseRows> { return std::make_unique<detail::SparseCosineRows<T>>(X); },
        [&](Hamming) -> std::unique_ptr<SparseRows> { return std::make_unique<detail::SparseHammingRows<T>>(X); },
        [&](Jaccard) -> std::unique_ptr<SparseRows> { return std::make_unique<detail::SparseJaccardRows<T>>(X); });
}

// The base of sparse searches: solve(query, i, spec, nearest, work) is theirs.
class SparseIndex : public NeighbourIndex {
  public:
    SparseIndex(std::unique_ptr<SparseRows> rows, std::size_t count, std::size_t width)
        : rows_(std::move(rows)), count_(count), width_(width) {}

    Neighbours search(Design const& Q, SearchSpec const& spec) const override {
        bool const fits =
            visit(Q, [&](auto const& q) { return std::remove_cvref_t<decltype(q)>::is_sparse && q.width == width_; });
        if (!fits) throw std::invalid_argument("Queries of a sparse index are sparse and of its width.");
        auto const make = [&] { return Nearest(spec, rows_->p(), rows_->raise(spec.radius)); };
        return search_blocks(lines(Q), 32, spec, make, [&](std::size_t begin, std::size_t end, Nearest* nearest) {
            std::unique_ptr<Work> const work = make_work();
            SparseLine query;
            for (std::size_t i = begin; i < end; ++i) {
                read_line(Q, i, query);
                rows_->prepare(query);
                query.table.fill(query.indices, query.values);
                solve(query, i, spec, nearest[i - begin], *work);
            }
        });
    }

  protected:
    // What a search uses again for the next query.
    struct Work {
        virtual ~Work() = default;
    };

    virtual std::unique_ptr<Work> make_work() const { return std::make_unique<Work>(); }
    virtual void solve(SparseLine const& query, std::size_t i, SearchSpec const& spec, Nearest& nearest,
                       Work& work) const = 0;

    std::unique_ptr<SparseRows> rows_;
    std::size_t count_, width_;
};

class SparseScanIndex final : public SparseIndex {
  public:
    using SparseIndex::SparseIndex;

  protected:
    void solve(SparseLine const& query, std::size_t i, SearchSpec const& spec, Nearest& nearest, Work&) const override {
        for (std::size_t row = 0; row < count_; ++row) {
            if (allowed(spec, i, row)) nearest.offer(*rows_, rows_->reduced(query, row), row);
        }
    }
};

}  // namespace tallywise::neighbors
