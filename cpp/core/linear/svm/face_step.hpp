// One step of all free dual variables together, for coordinate descent in the dual (dual_descent.hpp).
//
//   minimise over b_F  1/2 |w|^2 + sum_i s_i l*(y_i, -b_i / s_i),   w = sum_i b_i x_i
//
// given the rows F whose variables lie inside the piece of l* that they are on: there, the sum is a parabola with
// Hessian G + C, G the products of the rows and C the curvatures of l*. Once the variables at bounds are known, rows
// that resemble each other cost coordinate descent hundreds of sweeps, one after the other; a Krylov method takes them
// together, and on all threads.
//
// Variables that leave their piece are put at its end and held there, and the others go on: without that a pair of
// nearly equal rows with different targets, whose variables want to go far, spoils the step for all. In the first half
// of its products a variable may go a tenth of its piece too far, so that many are held at once; then, as few as are
// left stop where they are to be held, so that the step ends well wherever it ends. It is cut to the lowest point on
// the way there.
//
// The gap of a row grows with its residual, so that it is the residual that is made small: conjugate residuals. Those
// of conjugate gradients rise by factors of a hundred on the way.
//
// Products are in float, over the columns that two rows of F have (those of one row are part of the diagonal), often
// used ones first so that they share cache lines: twice as fast as over the columns as they are, on words.
//
// More, Toraldo, On the solution of large quadratic programming problems with bound constraints (SIAM J. Optim. 1,
// 1991), for the outline; Stiefel, Relaxationsmethoden bester Strategie zur Loesung linearer Gleichungssysteme
// (Comment. Math. Helv. 29, 1955).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "core/base/interrupt.hpp"
#include "core/base/parallel.hpp"
#include "core/data/design.hpp"
#include "core/data/lanes.hpp"
#include "core/linear/losses.hpp"

namespace tallywise::linear::svm {

// Products of some rows of X with each other, G d = X_F X_F'd, in float.
template <class Rows>
class RowProducts;

template <class V>
class RowProducts<Sparse<V>> {
  public:
    RowProducts(Sparse<V> const& X, std::vector<std::uint32_t> const& rows) : alone_(rows.size(), 0.0f) {
        std::vector<std::uint32_t> uses(X.width, 0);
        for (std::uint32_t const i : rows) X.each(i, [&](std::size_t j, V) { ++uses[j]; });
        std::vector<Index> order;
        for (std::size_t j = 0; j < X.width; ++j) {
            if (uses[j] > 1) order.push_back(static_cast<Index>(j));
        }
        auto const often = [&](Index a, Index b) {
            return uses[static_cast<std::size_t>(a)] > uses[static_cast<std::size_t>(b)];
        };
        std::stable_sort(order.begin(), order.end(), often);
        std::vector<std::size_t> place(X.width, order.size());
        for (std::size_t k = 0; k < order.size(); ++k) place[static_cast<std::size_t>(order[k])] = k;
        rows_.width = order.size();
        for (std::size_t k = 0; k < rows.size(); ++k) {
            X.each(rows[k], [&](std::size_t j, V value) {
                auto const x = static_cast<float>(value);
                if (place[j] < order.size()) {
                    rows_.add(place[j], x);
                } else {
                    alone_[k] += x * x;
                }
            });
            rows_.end_line();
        }
        columns_ = transpose(rows_.view());
        between_.resize(order.size());
        cut();
    }

    void apply(Team& team, std::vector<float> const& d, std::vector<float>& Gd) {
        auto const columns = columns_.view(), rows = rows_.view();
        team.each(ends_.size() - 1, [&](std::size_t chunk) {
            for (std::size_t j = ends_[chunk]; j < ends_[chunk + 1]; ++j) between_[j] = columns.dot(j, d.data());
        });
        team.each_range(rows.lines, 64, [&](std::size_t begin, std::size_t end, std::size_t) {
            for (std::size_t k = begin; k < end; ++k) Gd[k] = rows.dot(k, between_.data()) + alone_[k] * d[k];
        });
    }
    std::size_t entries() const { return rows_.data.size(); }

  private:
    // Columns in chunks of about equally many entries: the first are long, the last short.
    void cut() {
        auto const columns = columns_.view();
        std::size_t const size = std::max<std::size_t>(entries() / 64, 4096);
        ends_.push_back(0);
        for (std::size_t j = 0; j < columns.lines; ++j) {
            if (columns.start(j + 1) - columns.start(ends_.back()) >= size) ends_.push_back(j + 1);
        }
        if (ends_.back() < columns.lines) ends_.push_back(columns.lines);
    }

    OwnedSparse<float> rows_, columns_;
    std::vector<float> alone_, between_;
    std::vector<std::size_t> ends_;
};

template <class V>
class RowProducts<Dense<V>> {
  public:
    RowProducts(Dense<V> const& X, std::vector<std::uint32_t> const& rows)
        : copy_(rows.size() * X.width), lanes_({copy_.data(), rows.size(), X.width, X.width}), between_(X.width) {
        for (std::size_t k = 0; k < rows.size(); ++k) {
            V const* x = X.data + rows[k] * X.stride;
            std::copy(x, x + X.width, copy_.data() + k * X.width);
        }
    }

    void apply(Team& team, std::vector<float> const& d, std::vector<float>& Gd) {
        lanes_.gather(team, d.data(), 1, between_.data());
        lanes_.scores(team, between_.data(), 1, Gd.data());
    }

  private:
    std::vector<float> copy_;
    Lanes<float, Dense<float>> lanes_;
    std::vector<float> between_;
};

// Where a solver in the dual stands: its problem, and what a step moves. `w` has the intercept's weight last.
template <class Rows, class Loss>
struct DualPoint {
    Rows const& X;
    Loss const& loss;
    double const *y, *s, *q;
    double entry;   // of every row, for the intercept
    double centre;  // added to every score
    std::vector<double>&b, &w;
};

template <class Rows, class Loss>
class FaceStep {
  public:
    // Of the rows given, those inside their pieces.
    FaceStep(Team& team, DualPoint<Rows, Loss> const& at, std::vector<std::uint32_t> const& rows)
        : team_(team), at_(at), rows_(inside(at, rows)), products_(at.X, rows_) {
        std::size_t const m = rows_.size();
        double size = 0;
        for (std::uint32_t const i : rows_) size += std::abs(at.b[i]) / static_cast<double>(m);
        for (std::uint32_t const i : rows_) {
            Piece const piece = at.loss.piece(at.y[i], at.s[i], at.b[i]);
            double const length = piece.high - piece.low;
            pieces_.push_back(piece);
            lengths_.push_back(length < infinity ? length : 2 * size);
            scale_.push_back(static_cast<float>(1.0 / (at.q[i] + piece.curvature)));
        }
        g_.resize(m);
        team.each_range(m, 64, [&](std::size_t begin, std::size_t end, std::size_t) {
            for (std::size_t k = begin; k < end; ++k) {
                double const z = at.X.dot(rows_[k], at.w.data()) + at.entry * at.w[at.X.width] + at.centre;
                g_[k] = z + pieces_[k].slope;
            }
        });
        for (auto* v : {&x_, &r_, &h_, &Ad_}) v->assign(m, 0.0f);
        held_.assign(m, 0);
    }

    // Goes on until the gaps of its rows add up to `goal`, or after `most` products with G. Gives how many it took.
    int take(double goal, int most) {
        goal_ = goal;
        most_ = most;
        do {
            restart();
        } while (descend() && hold());
        if (std::all_of(x_.begin(), x_.end(), [](float x) { return std::isfinite(x); })) move();
        return used_;
    }

    // Whether it came to the goal with no variable outside of its piece.
    bool reached() const { return reached_; }

  private:
    static std::vector<std::uint32_t> inside(DualPoint<Rows, Loss> const& at, std::vector<std::uint32_t> rows) {
        std::erase_if(rows, [&](std::uint32_t i) { return !at.loss.piece(at.y[i], at.s[i], at.b[i]).inside(at.b[i]); });
        std::sort(rows.begin(), rows.end());
        return rows;
    }

    // Ad = (G + C) d
    void apply(std::vector<float> const& d) {
        products_.apply(team_, d, Ad_);
        double const sum = std::accumulate(d.begin(), d.end(), 0.0);
        auto const intercept = static_cast<float>(at_.entry * at_.entry * sum);
        for (std::size_t k = 0; k < d.size(); ++k)
            Ad_[k] += intercept + static_cast<float>(pieces_[k].curvature) * d[k];
    }

    // The residual of what is not held, anew. To let go of what it draws back inside made steps a third longer.
    void restart() {
        if (used_ > 0) apply(x_);
        for (std::size_t k = 0; k < r_.size(); ++k) {
            r_[k] = held_[k] ? 0.0f : static_cast<float>(-g_[k]) - Ad_[k];
        }
        used_ += used_ > 0 ? 1 : 0;
    }

    // h = M r and Ah = A h, of what is not held; gives h'Ah.
    double precondition() {
        check_interrupt();
        for (std::size_t k = 0; k < r_.size(); ++k) h_[k] = scale_[k] * r_[k];
        apply(h_);
        ++used_;
        double total = 0;
        for (std::size_t k = 0; k < r_.size(); ++k) {
            if (held_[k]) Ad_[k] = 0.0f;
            total += static_cast<double>(h_[k]) * static_cast<double>(Ad_[k]);
        }
        return total;
    }

    // A round, with A = G + C and M its diagonal: x += t d, r -= t A d, until a variable is outside or the goal is
    // reached. False where there is nothing left to do.
    bool descend() {
        std::size_t const m = r_.size();
        reached_ = gap() <= goal_;
        if (reached_ || used_ >= most_) return false;
        double along = precondition();
        d_ = h_;
        Q_ = Ad_;
        while (along > 0 && used_ < most_) {
            double square = 0;
            for (std::size_t k = 0; k < m; ++k) {
                square += static_cast<double>(Q_[k]) * static_cast<double>(scale_[k] * Q_[k]);
            }
            double const length = along / square, t = room(length);
            if (!(t < infinity)) return false;
            auto const by = static_cast<float>(t);
            for (std::size_t k = 0; k < m; ++k) {
                x_[k] += by * d_[k];
                r_[k] -= by * Q_[k];
            }
            reached_ = gap() <= goal_;
            if (t < length || reached_) return true;
            double const next = precondition();
            auto const beta = static_cast<float>(next / along);
            for (std::size_t k = 0; k < m; ++k) {
                d_[k] = h_[k] + beta * d_[k];
                Q_[k] = Ad_[k] + beta * Q_[k];
            }
            along = next;
        }
        return true;
    }

    // The gap of the rows that are not held, at the residuals as they are.
    double gap() const {
        double total = 0;
        for (std::size_t k = 0; k < r_.size(); ++k) {
            if (held_[k]) continue;
            std::size_t const i = rows_[k];
            double const x = static_cast<double>(x_[k]), b = pieces_[k].nearest(target(k));
            double const z = -static_cast<double>(r_[k]) - pieces_[k].slope - pieces_[k].curvature * x;
            total +=
                at_.s[i] * at_.loss.value(at_.y[i], z) + weighted_conjugate(at_.loss, at_.s[i], at_.y[i], -b) + b * z;
        }
        return total;
    }

    // Where variable k is to go, and the end of its piece that it is held at.
    double target(std::size_t k) const { return at_.b[rows_[k]] + static_cast<double>(x_[k]); }
    double end_of(std::size_t k) const { return held_[k] > 0 ? pieces_[k].high : pieces_[k].low; }

    // How far to go along d, at most `length`: until a variable is a tenth of its piece outside and, in the second
    // half, no further than where half of those that would leave their pieces have done so.
    double room(double length) const {
        std::vector<double> at;
        double most = length;
        for (std::size_t k = 0; k < d_.size(); ++k) {
            if (held_[k] || d_[k] == 0) continue;
            double const d = static_cast<double>(d_[k]);
            double const t = ((d > 0 ? pieces_[k].high : pieces_[k].low) - target(k)) / d;
            if (t > length) continue;
            at.push_back(t);
            most = std::min(most, t + 0.1 * lengths_[k] / std::abs(d));
        }
        if (at.empty() || 2 * used_ < most_) return most;
        auto const middle = at.begin() + static_cast<std::ptrdiff_t>((at.size() - 1) / 2);
        std::nth_element(at.begin(), middle, at.end());
        return std::min(most, *middle);
    }

    // Puts variables that have come to the ends of their pieces there; false where none has.
    bool hold() {
        bool any = false;
        for (std::size_t k = 0; k < x_.size(); ++k) {
            if (held_[k]) continue;
            double const to = target(k);
            double const hair = 1e-6 * lengths_[k];
            if (to > pieces_[k].low + hair && to < pieces_[k].high - hair) continue;
            held_[k] = to > pieces_[k].low + hair ? 1 : -1;
            x_[k] = static_cast<float>(end_of(k) - at_.b[rows_[k]]);
            any = true;
        }
        reached_ = reached_ && !any;
        return any;
    }

    // To the lowest point between where the variables are and where they are to go, in double.
    void move() {
        std::size_t const m = rows_.size(), p = at_.X.width;
        std::vector<double> step(m), w(p, 0.0);
        double slope = 0, bend = 0, sum = 0;
        for (std::size_t k = 0; k < m; ++k) {
            step[k] = (held_[k] ? end_of(k) : pieces_[k].nearest(target(k))) - at_.b[rows_[k]];
            slope += g_[k] * step[k];
            bend += pieces_[k].curvature * step[k] * step[k];
            sum += step[k];
            at_.X.axpy(rows_[k], step[k], w.data());
        }
        bend += dot(w.data(), w.data(), p) + at_.entry * at_.entry * sum * sum;
        if (!(slope < 0) || !(bend < infinity)) return;
        double const t = std::min(1.0, -slope / bend);
        for (std::size_t k = 0; k < m; ++k) {
            std::size_t const i = rows_[k];
            at_.b[i] = pieces_[k].nearest(at_.b[i] + t * step[k]);
        }
        for (std::size_t j = 0; j < p; ++j) at_.w[j] += t * w[j];
        at_.w[p] += t * at_.entry * sum;
    }

    Team& team_;
    DualPoint<Rows, Loss> at_;
    std::vector<std::uint32_t> rows_;
    RowProducts<Rows> products_;
    std::vector<Piece> pieces_;
    std::vector<double> lengths_, g_;                    // lengths of the pieces, and the gradient at the start
    std::vector<float> scale_, x_, r_, h_, d_, Ad_, Q_;  // Ad_ is the last product, Q_ that of d
    std::vector<signed char> held_;                      // -1 at the low end of its piece, 1 at the high end
    double goal_ = 0;
    int most_ = 0, used_ = 0;
    bool reached_ = false;
};

}  // namespace tallywise::linear::svm
