// Dense searches: the queries of a block, and the plain search that looks at every row.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "core/neighbors/metrics.hpp"
#include "core/neighbors/search.hpp"

namespace tallywise::neighbors {

// Queries [begin, end) in float64, prepared for `rows`.
class PreparedQueries {
  public:
    PreparedQueries(Design const& Q, Rows const& rows, std::size_t begin, std::size_t end)
        : width_(rows.width()), values_((end - begin) * rows.width()) {
        visit(Q, [&](auto const& q) {
            if constexpr (!std::remove_cvref_t<decltype(q)>::is_sparse) {
                for (std::size_t i = begin; i < end; ++i) {
                    double* to = values_.data() + (i - begin) * width_;
                    std::copy(q.data + i * q.stride, q.data + i * q.stride + width_, to);
                    rows.prepare(to);
                }
            }
        });
    }

    double const* operator[](std::size_t i) const { return values_.data() + i * width_; }

  private:
    std::size_t width_;
    std::vector<double> values_;
};

// The base of dense searches: solve(queries, begin, end, nearest) is theirs.
class DenseIndex : public NeighbourIndex {
  public:
    explicit DenseIndex(std::unique_ptr<Rows> rows) : rows_(std::move(rows)) {}

    Neighbours search(Design const& Q, SearchSpec const& spec) const override {
        bool const fits = visit(Q, [&](auto const& q) {
            return !std::remove_cvref_t<decltype(q)>::is_sparse && q.width == rows_->width();
        });
        if (!fits) throw std::invalid_argument("Queries of a dense index are dense and of its width.");
        auto const make = [&] { return Nearest(spec, rows_->p(), rows_->raise(spec.radius)); };
        return search_blocks(lines(Q), block(), spec, make, [&](std::size_t begin, std::size_t end, Nearest* nearest) {
            solve(PreparedQueries(Q, *rows_, begin, end), begin, end, spec, nearest);
        });
    }

  protected:
    virtual std::size_t block() const { return 16; }
    virtual void solve(PreparedQueries const& queries, std::size_t begin, std::size_t end, SearchSpec const& spec,
                       Nearest* nearest) const = 0;

    std::unique_ptr<Rows> rows_;
};

class ScanIndex final : public DenseIndex {
  public:
    using DenseIndex::DenseIndex;

  protected:
    void solve(PreparedQueries const& queries, std::size_t begin, std::size_t end, SearchSpec const& spec,
               Nearest* nearest) const override {
        for (std::size_t i = begin; i < end; ++i) {
            for (std::size_t row = 0; row < rows_->count(); ++row) {
                if (!allowed(spec, i, row)) continue;
                nearest[i - begin].offer(*rows_, rows_->reduced(queries[i - begin], row), row);
            }
        }
    }
};

}  // namespace tallywise::neighbors
