// Lines of a design as points: their squared norms, their sparse form where that pays, and which of them are equal.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "core/data/design.hpp"
#include "core/data/equal_lines.hpp"
#include "core/data/row_ids.hpp"

namespace tallywise::kernels {

using Ids = std::vector<std::uint32_t>;

// Some lines of a design, with their squared norms.
class Points {
  public:
    Points() = default;

    // Of a kernel matrix given in place of points (`precomputed`), the diagonal stands for the norms.
    Points(Design const& X, Ids lines, bool precomputed = false) : lines_(std::move(lines)) {
        Real const real = as_real(X);
        X_ = real.view;
        own_ = real.copy;
        norms_.resize(lines_.size());
        std::size_t entries = 0;
        if (precomputed) {
            visit(X_, [&](auto const& x) {
                if constexpr (!std::remove_cvref_t<decltype(x)>::is_sparse) {
                    for (std::size_t i = 0; i < lines_.size(); ++i) {
                        bool const inside = lines_[i] < x.width;
                        norms_[i] =
                            inside ? std::abs(static_cast<double>(x.data[lines_[i] * x.stride + lines_[i]])) : 0;
                    }
                }
            });
            return;
        }
        visit(X_, [&](auto const& x) {
            for (std::size_t i = 0; i < lines_.size(); ++i) {
                double square = 0;
                x.each(lines_[i], [&](std::size_t, auto value) {
                    double const v = static_cast<double>(value);
                    square += v * v;
                    entries += v != 0;
                    whole_ &= v == std::nearbyint(v);
                });
                norms_[i] = square;
            }
            // An entry of a sparse product costs as much as two or three of a dense one: 6 ns against 16 for a pair of
            // mnist's digits (19 % not zero), 0.9 against 2.6 on a9a (11 %).
            sparse_ = static_cast<double>(entries) < 0.35 * static_cast<double>(lines_.size() * x.width);
        });
        entries_ = static_cast<double>(entries) / static_cast<double>(std::max<std::size_t>(1, lines_.size()));
        if (sparse_) make_sparse(entries);
    }

    explicit Points(Design const& X) : Points(X, everything(tallywise::lines(X))) {}

    static Ids everything(std::size_t n) {
        require_row_ids(n);
        Ids all(n);
        std::iota(all.begin(), all.end(), 0U);
        return all;
    }

    std::size_t size() const { return lines_.size(); }
    std::size_t width() const {
        return visit(X_, [](auto const& x) { return x.width; });
    }
    bool sparse() const { return sparse_; }
    std::uint32_t line(std::size_t i) const { return lines_[i]; }
    double norm(std::size_t i) const { return norms_[i]; }
    RealDesign const& design() const { return X_; }

    // Whether single precision gives inner products without any rounding: whole numbers, all sums below 2^24.
    bool exact_in_single() const { return whole_ && largest_norm() < 16'777'216.0; }

    // Entries that a product with another point goes through.
    double effort() const { return sparse_ ? entries_ : static_cast<double>(width()); }

    // Whether a product takes longer than fetching a number from memory that is in no cache: many columns, or sparse
    // points, 32 of which (a block of products) have more features between them than stay near the processor.
    bool costly() const {
        return sparse_ ? std::min(static_cast<double>(width()), 32 * entries_) > 2048 : width() > 512;
    }

    double largest_norm() const { return norms_.empty() ? 0 : *std::max_element(norms_.begin(), norms_.end()); }

    // Point i in full, zeros included.
    template <class T>
    void gather(std::size_t i, T* to) const {
        visit(X_, [&](auto const& x) {
            if (x.is_sparse) std::fill(to, to + x.width, T(0));
            x.each(lines_[i], [&](std::size_t j, auto value) { to[j] = static_cast<T>(value); });
        });
    }

    Points subset(std::span<std::uint32_t const> which) const {
        Points result;
        result.X_ = X_;
        result.own_ = own_;
        result.sparse_ = sparse_;
        result.whole_ = whole_;
        result.entries_ = entries_;
        for (auto i : which) {
            result.lines_.push_back(lines_[i]);
            result.norms_.push_back(norms_[i]);
        }
        return result;
    }

  private:
    // Dense lines that are mostly zero, as sparse ones of our own.
    void make_sparse(std::size_t entries) {
        auto const* x = std::get_if<Dense<double>>(&X_);
        if (x == nullptr) return;
        auto own = std::make_shared<OwnedSparse<double>>();
        own->width = x->width;
        own->data.reserve(entries);
        own->indices.reserve(entries);
        for (auto line : lines_) {
            x->each(line, [&](std::size_t j, double value) {
                if (value != 0) own->add(j, value);
            });
            own->end_line();
        }
        X_ = own->view();
        lines_ = everything(lines_.size());
        own_ = own;
    }

    RealDesign X_;
    std::shared_ptr<void> own_;
    Ids lines_;
    std::vector<double> norms_;
    double entries_ = 0;  // not zero, in a line
    bool sparse_ = false, whole_ = true;
};

// Equal lines share their kernel rows. Gives for each line the number of its distinct point, and for each of these one
// line and a number made from its content alone.
struct Distinct {
    Ids point_of, lines;
    std::vector<std::uint64_t> hashes;

    // All lines for themselves.
    static Distinct all(std::size_t n) {
        Distinct result{Points::everything(n), Points::everything(n), {}};
        result.hashes.assign(result.lines.begin(), result.lines.end());
        return result;
    }
};

inline Distinct distinct_lines(Design const& X, Ids const& lines) {
    return visit(X, [&](auto const& x) {
        constexpr auto none = std::numeric_limits<std::uint32_t>::max();
        std::vector<std::uint64_t> key(x.lines);
        for (auto const line : lines) key[line] = content_key(x, line, 0, 0);
        Ids order = lines;
        std::vector<std::size_t> const first = find_equal_lines(x, static_cast<double const*>(nullptr), key, order);
        Ids same(x.lines), point(x.lines, none);
        for (std::size_t k = 0; k < order.size(); ++k) same[order[k]] = order[first[k]];
        Distinct result;
        for (auto const line : lines) {
            auto& at = point[same[line]];
            if (at == none) {
                at = static_cast<std::uint32_t>(result.lines.size());
                result.lines.push_back(line);
                result.hashes.push_back(key[line]);
            }
            result.point_of.push_back(at);
        }
        return result;
    });
}

}  // namespace tallywise::kernels
