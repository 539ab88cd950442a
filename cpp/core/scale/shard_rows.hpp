// What a fit over many shards asks of the rows of one: sums, and nothing as long as the rows.
//
//   minimise  sum_i s_i l(y_i, z_i, b) + l2/2 |W|^2,   z = X W,
//
// where the rows i lie on many machines. The solver (src/tallywise/scale/newton.py) has W, b and their directions; the
// rows have X, y, s, their scores Z and what a direction adds to them, U. Each sum runs over the rows in order, on one
// thread: its bits depend on the rows alone.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/interrupt.hpp"
#include "core/base/prefetch.hpp"
#include "core/data/design.hpp"
#include "core/scale/row_losses.hpp"

namespace tallywise::scale {

namespace detail {

template <class List>
struct ScalarVariants;
template <class... Losses>
struct ScalarVariants<Registry<Losses...>> {
    using type = std::variant<ScalarRows<Losses>...>;
};

template <class Loss>
using Smooth = std::bool_constant<(Loss::smoothness < infinity)>;

}  // namespace detail

using SmoothRegistry = linear::Losses::where<detail::Smooth>;

// A loss by name: one of the smooth scalar losses, "softmax", or "ordered " with a link. `classes` is 0 for numbers.
struct RowLoss {
    using Scalar = detail::ScalarVariants<SmoothRegistry>::type;
    std::variant<Scalar, ClassRows<linear::logistic::Softmax>, ClassRows<linear::logistic::BinaryLogistic>,
                 LevelRows<linear::ordinal::Logit>, LevelRows<linear::ordinal::Probit>,
                 LevelRows<linear::ordinal::Cloglog>>
        entry;
    std::size_t lanes = 1;

    static RowLoss named(std::string const& name, double parameter, std::size_t classes) {
        std::string const ordered = "ordered ";
        if (name == "softmax") {
            if (classes < 2) throw std::invalid_argument("The softmax loss takes two classes or more.");
            if (classes == 2) return {ClassRows<linear::logistic::BinaryLogistic>{}, 1};
            return {ClassRows<linear::logistic::Softmax>{{classes}}, classes};
        }
        if (name.starts_with(ordered)) {
            if (classes < 2) throw std::invalid_argument("Ordered levels are two or more.");
            return linear::ordinal::OrdinalLinks::visit(
                "link", name.substr(ordered.size()),
                [&]<class Link>() -> RowLoss { return {LevelRows<Link>{classes - 1}, 1}; });
        }
        return SmoothRegistry::visit("loss", name, [&]<class L>() -> RowLoss {
            if (L::binary != (classes > 0)) {
                throw std::invalid_argument("The loss '" + name + "' takes " +
                                            (L::binary ? "classes." : "numbers, not classes."));
            }
            std::size_t const lanes = classes > 2 ? classes : 1;
            return {Scalar{ScalarRows<L>{linear::make_loss<L>(parameter), lanes}}, lanes};
        });
    }

    template <class F>
    decltype(auto) visit(F&& f) const {
        return std::visit(
            [&](auto const& entry) -> decltype(auto) {
                if constexpr (std::is_same_v<std::remove_cvref_t<decltype(entry)>, Scalar>) {
                    return std::visit([&](auto const& scalar) -> decltype(auto) { return f(scalar); }, entry);
                } else {
                    return f(entry);
                }
            },
            entry);
    }

    std::size_t offsets() const {
        return visit([](auto const& loss) { return loss.offsets(); });
    }
};

// Sums over rows: the loss, its slope by the offsets, and its curvature by them (offsets x offsets).
struct OffsetSums {
    double value = 0;
    std::vector<double> slope, curvature;
};

class ShardRows {
  public:
    ShardRows(Design const& X, RowLoss loss, std::vector<double> y, std::vector<double> s)
        : X_(X), loss_(std::move(loss)), y_(std::move(y)), s_(std::move(s)), L_(loss_.lanes), n_(tallywise::lines(X)) {
        if (y_.size() != n_ || s_.size() != n_) throw std::invalid_argument("X, y and s must have one length.");
        Z_.assign(n_ * L_, 0.0);
    }

    std::size_t lanes() const { return L_; }
    std::size_t offsets() const { return loss_.offsets(); }
    std::size_t width() const { return tallywise::width(X_); }
    // Of the design, as far as it is sparse; scores are small beside it.
    std::size_t bytes() const {
        return visit_real(X_, [](auto const& X) -> std::size_t {
            using View = std::remove_cvref_t<decltype(X)>;
            if constexpr (View::is_sparse) {
                return X.nonzeros() * (sizeof(typename View::Value) + sizeof(Index)) + X.lines * sizeof(Index);
            } else {
                return X.nonzeros() * sizeof(typename View::Value);
            }
        });
    }
    void weigh(std::vector<double> s) {
        if (s.size() != n_) throw std::invalid_argument("There must be one weight per row.");
        s_ = std::move(s);
    }

    // Z = X W
    void move(double const* W) { multiply(W, Z_); }
    // U = X D
    void aim(double const* D) { multiply(D, U_); }

    // At Z + t U. Only the value where `derivatives` is false.
    OffsetSums offset_sums(double const* b, double t, bool derivatives) const {
        OffsetSums sums;
        loss_.visit([&](auto const& loss) {
            std::size_t const B = loss.offsets();
            sums.slope.assign(B, 0.0);
            sums.curvature.assign(B * B, 0.0);
            std::vector<double> z(L_), a(L_), none(L_, 0.0), unit(B, 0.0), p(loss.states());
            for (std::size_t i = 0; i < n_; ++i) {
                if (s_[i] == 0) continue;
                std::copy_n(Z_.data() + i * L_, L_, z.data());
                if (t != 0) {
                    for (std::size_t k = 0; k < L_; ++k) z[k] += t * U_[i * L_ + k];
                }
                sums.value += s_[i] * loss.at(y_[i], z.data(), b, p.data());
                if (!derivatives) continue;
                loss.slope(y_[i], p.data(), s_[i], a.data(), sums.slope.data());
                for (std::size_t m = 0; m < B; ++m) {
                    unit[m] = 1;
                    loss.bend(y_[i], p.data(), s_[i], none.data(), unit.data(), a.data(),
                              sums.curvature.data() + m * B);
                    unit[m] = 0;
                }
            }
        });
        return sums;
    }

    // G += X' (s dl/dz) at Z; returns sum s l* there, minus the loss's part of the dual.
    double gradient(double const* b, double* G) const {
        double conjugates = 0;
        loss_.visit([&](auto const& loss) {
            std::vector<double> a(L_), g(loss.offsets(), 0.0);
            each_row(
                loss, b,
                [&](std::size_t i, double const* p) {
                    loss.slope(y_[i], p, s_[i], a.data(), g.data());
                    conjugates += s_[i] * loss.conjugate(y_[i], p);
                    return a.data();
                },
                G);
        });
        return conjugates;
    }

    // H += X' (s (l_zz X D + l_zb e)); adds the change of the offsets' slope to q.
    void product(double const* b, double const* D, double const* e, double* H, double* q) const {
        loss_.visit([&](auto const& loss) {
            std::vector<double> u(L_), r(L_);
            each_row(
                loss, b,
                [&](std::size_t i, double const* p) {
                    dot(i, D, u.data());
                    loss.bend(y_[i], p, s_[i], u.data(), e, r.data(), q);
                    return r.data();
                },
                H);
        });
    }

    // d += the diagonal of X' (s l_zz) X, lane by lane.
    void diagonal(double const* b, double* d) const {
        loss_.visit([&](auto const& loss) {
            std::vector<double> c(L_), p(loss.states());
            for (std::size_t i = 0; i < n_; ++i) {
                if (s_[i] == 0) continue;
                loss.at(y_[i], Z_.data() + i * L_, b, p.data());
                loss.diagonal(y_[i], p.data(), c.data());
                visit_real(X_, [&](auto const& X) {
                    X.each(i, [&](std::size_t j, auto x) {
                        double const square = s_[i] * static_cast<double>(x) * static_cast<double>(x);
                        for (std::size_t k = 0; k < L_; ++k) d[j * L_ + k] += square * c[k];
                    });
                });
            }
        });
    }

  private:
    static constexpr std::size_t poll = 1 << 14;  // rows between looks at Ctrl-C

    void dot(std::size_t i, double const* W, double* z) const {
        visit_real(X_, [&](auto const& X) {
            if (L_ == 1) {
                *z = static_cast<double>(X.dot(i, W));
                return;
            }
            std::fill_n(z, L_, 0.0);
            each_fetched(X, i, W, [&](std::size_t j, auto x) {
                double const* w = W + j * L_;
                for (std::size_t k = 0; k < L_; ++k) z[k] += static_cast<double>(x) * w[k];
            });
        });
    }

    // f over the entries of a line, each of which looks at its column's lanes in a table too large for the caches.
    template <class View, class F>
    void each_fetched(View const& X, std::size_t i, double const* table, F&& f) const {
        if constexpr (View::is_sparse) {
            auto const fetch = [&](std::size_t j) {
                for (std::size_t k = 0; k < L_; k += 8) prefetch_line(table + j * L_ + k);
            };
            X.each(i, fetch, f);
        } else {
            X.each(i, f);
        }
    }

    void multiply(double const* W, std::vector<double>& Z) const {
        Z.resize(n_ * L_);
        for (std::size_t i = 0; i < n_; ++i) {
            if (i % poll == 0) check_interrupt();
            dot(i, W, Z.data() + i * L_);
        }
    }

    // G += sum over rows of x_i f(i, p)': f gives a row of lanes.
    template <class Loss, class F>
    void each_row(Loss const& loss, double const* b, F&& f, double* G) const {
        std::vector<double> p(loss.states());
        for (std::size_t i = 0; i < n_; ++i) {
            if (i % poll == 0) check_interrupt();
            if (s_[i] == 0) continue;
            loss.at(y_[i], Z_.data() + i * L_, b, p.data());
            double const* a = f(i, p.data());
            visit_real(X_, [&](auto const& X) {
                if (L_ == 1) {
                    X.axpy(i, *a, G);
                    return;
                }
                each_fetched(X, i, G, [&](std::size_t j, auto x) {
                    double* g = G + j * L_;
                    for (std::size_t k = 0; k < L_; ++k) g[k] += static_cast<double>(x) * a[k];
                });
            });
        }
    }

    Design X_;
    RowLoss loss_;
    std::vector<double> y_, s_;
    std::size_t L_, n_;
    std::vector<double> Z_, U_;
};

}  // namespace tallywise::scale
