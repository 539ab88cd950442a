// The loss of class labels as a function of scores alone, with the intercepts at their best: see offsets.hpp.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/line_products.hpp"
#include "core/base/parallel.hpp"
#include "core/data/lanes.hpp"
#include "core/linear/conjugate_gradients.hpp"
#include "core/linear/logistic/softmax.hpp"
#include "core/linear/offsets.hpp"

namespace tallywise::linear::logistic {

// What a fit to class labels is given beside X. y holds positions of classes, s a weight a sample.
struct Labels {
    std::int64_t const* y;
    double const* s;
    std::size_t n;
};

class ProfiledLoss : public Offsets {
  public:
    static constexpr bool intercepts = true;
    // Up to so many classes, the K x K curvature in the intercepts is made and factored: n K^2 work a sweep. Beyond, its
    // products with vectors serve conjugate gradients: n K each, some ten to forty a solve.
    static constexpr std::size_t few_classes = 128;

    ProfiledLoss(Team& team, ClassLoss const& loss, Labels const& labels, bool fit_intercept, double const* b0,
                 std::size_t few = few_classes)
        : team_(team),
          loss_(loss),
          labels_(labels),
          K_(std::visit([](auto const& l) -> std::size_t { return l.lanes; }, loss)),
          L_(padded(std::visit([](auto const& l) -> std::size_t { return l.slots(); }, loss))),
          factored_(K_ <= few),
          class_weight_(K_ + !shift_free(), 0.0) {
        grain_ = std::max<std::size_t>(64, (labels.n + 31) / 32);
        if (fit_intercept) c_.assign(K_, 0.0);
        if (fit_intercept && b0 != nullptr) std::copy(b0, b0 + K_, c_.begin());
        p_.assign(labels.n * L_, 0.0);
        p32_.assign(labels.n * L_, 0.0f);
        for (std::size_t i = 0; i < labels.n; ++i) {
            weight_ += labels.s[i];
            if (labels.s[i] > 0) least_weight_ = std::min(least_weight_, labels.s[i]);
            class_weight_[position(class_of(i))] += labels.s[i];
        }
    }

    std::size_t lanes() const { return K_; }
    std::size_t stride() const { return L_; }
    double weight(std::size_t i) const { return labels_.s[i]; }
    double least_weight() const { return least_weight_; }
    double rounding() const { return 4e-16 * weight_ * std::log(static_cast<double>(K_ + 1)); }
    bool shift_free() const {
        return std::visit([](auto const& loss) { return loss.shift_free; }, loss_);
    }

    double evaluate(double const* Z, double const* guess = nullptr) {
        if (guess != nullptr) std::copy(guess, guess + c_.size(), c_.begin());
        settle(weight_, [&] { sweep(Z); }, [] { return true; }, [&](double* v) { solve_offsets(v); });
        if (!c_.empty()) balance(p_.data(), gradient_);
        std::copy(p_.begin(), p_.end(), p32_.begin());
        return value_;
    }

    // v = (d2J/dc2)^-1 v
    void solve_offsets(double* v) {
        if (factored_) return Offsets::solve_offsets(v);
        std::vector<double> r(v, v + K_), d(K_), image;
        std::fill(v, v + K_, 0.0);
        double rho = 0;
        for (std::size_t k = 0; k < K_; ++k) {
            d[k] = r[k] / diagonal_[k];
            rho += r[k] * d[k];
        }
        // In single precision, for which most are solved, 1e-7 of the length is all there is.
        double const enough = 1e-14 * rho;
        auto const curvature = [&] {
            image = curve_offsets(d.data());
            return std::inner_product(d.begin(), d.end(), image.begin(), 0.0);
        };
        auto const step = [&](double alpha) {
            double next = 0;
            for (std::size_t k = 0; k < K_; ++k) {
                v[k] += alpha * d[k];
                r[k] -= alpha * image[k];
                next += r[k] * r[k] / diagonal_[k];
            }
            return next > enough ? next : 0.0;
        };
        auto const update = [&](double beta) {
            for (std::size_t k = 0; k < K_; ++k) d[k] = r[k] / diagonal_[k] + beta * d[k];
        };
        conjugate_gradients(rho, 200, curvature, step, update);
    }

    double conjugate(double t = 1) {
        return sum_rows([&](auto const& loss, std::size_t begin, std::size_t end) {
            std::vector<double> p(L_);
            double part = 0;
            for (std::size_t i = begin; i < end; ++i) {
                std::copy(p_.data() + i * L_, p_.data() + (i + 1) * L_, p.begin());
                if (t < 1) loss.shrink(class_of(i), t, p.data());
                part += labels_.s[i] * loss.conjugate(class_of(i), p.data());
            }
            return part;
        });
    }

    double conjugate_ahead(double const* U, double const* m, double* A, std::vector<double>& left) {
        std::vector<double> P = p_;
        double const outside = sum_rows([&](auto const& loss, std::size_t begin, std::size_t end) {
            std::vector<double> u(K_);
            bool inside = true;
            for (std::size_t i = begin; i < end; ++i) {
                for (std::size_t k = 0; k < K_; ++k) u[k] = U[i * L_ + k] + (c_.empty() ? 0.0 : m[k]);
                inside = inside && loss.ahead(class_of(i), u.data(), P.data() + i * L_);
            }
            return inside ? 0.0 : 1.0;
        });
        if (outside > 0) return infinity;
        left.assign(c_.size(), 0.0);
        if (!c_.empty()) balance(P.data(), imbalance(P.data()));
        residual_of(P.data(), A);
        return sum_rows([&](auto const& loss, std::size_t begin, std::size_t end) {
            double part = 0;
            for (std::size_t i = begin; i < end; ++i) {
                part += labels_.s[i] * loss.conjugate(class_of(i), P.data() + i * L_);
            }
            return part;
        });
    }

    template <class T>
    void residual(T* A) {
        residual_of(p_.data(), A);
    }

    double curvature(std::size_t i, std::size_t k, std::size_t m) const {
        double const* p = p_.data() + i * L_;
        return labels_.s[i] * (K_ == 1 ? *p * (1.0 - *p) : Softmax{K_}.curvature(p, k, m));
    }

    // R may be U.
    void curve_rows(std::size_t begin, std::size_t end, float const* U, float* R) const {
        visit([&](auto const& loss) {
            for (std::size_t i = begin; i < end; ++i) {
                float* r = R + i * L_;
                loss.curve(p32_.data() + i * L_, U + i * L_, r);
                auto const s = static_cast<float>(labels_.s[i]);
                for (std::size_t k = 0; k < L_; ++k) r[k] *= s;
            }
        });
    }

    void curve(float const* U, float* R) {
        each_chunk([&](std::size_t begin, std::size_t end, std::size_t) { curve_rows(begin, end, U, R); });
        if (c_.empty()) return;
        std::vector<double> shift = sum_lanes([&](std::size_t i, double* part) {
            for (std::size_t k = 0; k < K_; ++k) part[k] += static_cast<double>(R[i * L_ + k]);
        });
        solve_offsets(shift.data());
        std::vector<float> delta(L_, 0.0f);
        std::copy(shift.begin(), shift.end(), delta.begin());
        each_chunk([&](std::size_t begin, std::size_t end, std::size_t) {
            std::vector<float> r(L_);
            visit([&](auto const& loss) {
                for (std::size_t i = begin; i < end; ++i) {
                    loss.curve(p32_.data() + i * L_, delta.data(), r.data());
                    auto const s = static_cast<float>(labels_.s[i]);
                    for (std::size_t k = 0; k < K_; ++k) R[i * L_ + k] -= s * r[k];
                }
            });
        });
    }

    template <class T>
    std::vector<double> follow(T const* U) {
        if (c_.empty()) return {};
        std::vector<double> shift(K_, 0.0);
        visit([&](auto const& loss) {
            shift = sum_lanes(
                [&, u = std::vector<double>(L_), r = std::vector<double>(L_)](std::size_t i, double* part) mutable {
                    for (std::size_t k = 0; k < K_; ++k) u[k] = static_cast<double>(U[i * L_ + k]);
                    loss.curve(p_.data() + i * L_, u.data(), r.data());
                    for (std::size_t k = 0; k < K_; ++k) part[k] -= labels_.s[i] * r[k];
                });
        });
        solve_offsets(shift.data());
        return shift;
    }

    // The model keeps the coupling of classes: with u_i the change of the scores of sample i, its curvature is
    // p_ik (u_ik - sum_m p_im u_im), so one running sum a sample makes a coordinate step cost the entries of its column
    // and no more. It is class-major: the three vectors that the coordinates of one class touch stay in second-level
    // cache.
    class Model {
      public:
        explicit Model(ProfiledLoss const& F) : F_(F), n_(F.labels_.n), K_(F.K_), p_(K_ * n_), mean_(n_) {}

        void expand() {
            for (std::size_t i = 0; i < n_; ++i) {
                for (std::size_t k = 0; k < K_; ++k) p_[k * n_ + i] = F_.p_[i * F_.L_ + k];
            }
            u_.assign(K_ * n_, 0.0);
            mean_.assign(n_, 0.0);
            shift_.assign(K_, 0.0);
            shift_curvature_.assign(K_, 0.0);
            for (std::size_t k = 0; k < K_; ++k) {
                for (std::size_t i = 0; i < n_; ++i) shift_curvature_[k] += curvature(i, k);
            }
        }
        double weight(std::size_t i) const { return F_.labels_.s[i]; }
        double curvature(std::size_t i, std::size_t k) const {
            double const p = p_[k * n_ + i];
            return F_.labels_.s[i] * p * (1 - p);
        }
        double slope(std::size_t i, std::size_t k) const {
            return F_.labels_.s[i] * p_[k * n_ + i] * (u_[k * n_ + i] - mean_[i]);
        }
        void move(std::size_t i, std::size_t k, double change) {
            u_[k * n_ + i] += change;
            mean_[i] += p_[k * n_ + i] * change;
        }
        // One step for each intercept.
        void settle() {
            for (std::size_t k = 0; k < F_.c_.size(); ++k) {
                double total = 0;
                for (std::size_t i = 0; i < n_; ++i) total += slope(i, k);
                if (!(shift_curvature_[k] > 0)) continue;
                double const step = -total / shift_curvature_[k];
                shift_[k] += step;
                for (std::size_t i = 0; i < n_; ++i) move(i, k, step);
            }
        }
        // How far the score has moved, without the offsets.
        double score(std::size_t i, std::size_t k) const { return u_[k * n_ + i] - shift_[k]; }

      private:
        ProfiledLoss const& F_;
        std::size_t n_, K_;
        std::vector<double> p_, u_, mean_, shift_, shift_curvature_;
    };

  private:
    std::size_t class_of(std::size_t i) const { return static_cast<std::size_t>(labels_.y[i]); }
    // Classes are listed with the one that has no lane last; of two classes that is class 0.
    std::size_t position(std::size_t y) const { return std::holds_alternative<BinaryLogistic>(loss_) ? 1 - y : y; }

    // f(loss), the loss by its type: for whole loops over samples.
    template <class F>
    void visit(F&& f) const {
        std::visit(std::forward<F>(f), loss_);
    }
    template <class F>
    void each_chunk(F&& f) {
        team_.each_range(labels_.n, grain_, f);
    }
    template <class F>
    double sum_rows(F&& f) {
        return team_.sum<double>(labels_.n, grain_, [&](std::size_t begin, std::size_t end) {
            double part = 0;
            visit([&](auto const& loss) { part = f(loss, begin, end); });
            return part;
        });
    }
    // add(i, part) for all rows, a sum a lane.
    template <class Add>
    std::vector<double> sum_lanes(Add const& add) {
        std::vector<double> parts(Team::count(labels_.n, grain_) * K_, 0.0), total(K_, 0.0);
        each_chunk([&](std::size_t begin, std::size_t end, std::size_t chunk) {
            Add mine = add;
            for (std::size_t i = begin; i < end; ++i) mine(i, parts.data() + chunk * K_);
        });
        for (std::size_t c = 0; c < parts.size(); ++c) total[c % K_] += parts[c];
        return total;
    }

    template <class T>
    void residual_of(double const* P, T* A) {
        each_chunk([&](std::size_t begin, std::size_t end, std::size_t) {
            std::vector<double> a(L_, 0.0);
            visit([&](auto const& loss) {
                for (std::size_t i = begin; i < end; ++i) {
                    loss.residual(class_of(i), P + i * L_, a.data());
                    for (std::size_t k = 0; k < L_; ++k) A[i * L_ + k] = static_cast<T>(labels_.s[i] * a[k]);
                }
            });
        });
    }

    // (d2J/dc2) v; where one number added to every lane changes nothing, that direction has the mean curvature.
    std::vector<double> curve_offsets(double const* v) {
        std::vector<double> product(K_, 0.0);
        visit([&](auto const& loss) {
            product = sum_lanes([&, r = std::vector<double>(L_)](std::size_t i, double* part) mutable {
                loss.curve(p_.data() + i * L_, v, r.data());
                for (std::size_t k = 0; k < K_; ++k) part[k] += labels_.s[i] * r[k];
            });
        });
        if (!shift_free()) return product;
        double trace = 0, sum = 0;
        for (std::size_t k = 0; k < K_; ++k) trace += diagonal_[k], sum += v[k];
        for (double& value : product) value += trace / static_cast<double>(K_ * K_) * sum;
        return product;
    }

    // sum_i s_i a_i for the residuals that P gives.
    std::vector<double> imbalance(double const* P) {
        std::vector<double> total(K_, 0.0);
        visit([&](auto const& loss) {
            total = sum_lanes([&, a = std::vector<double>(L_)](std::size_t i, double* part) mutable {
                loss.residual(class_of(i), P + i * L_, a.data());
                for (std::size_t k = 0; k < K_; ++k) part[k] += labels_.s[i] * a[k];
            });
        });
        return total;
    }

    // The constraint of the intercepts on the dual is sum_i s_i p_ik = sum of s_i over class k. What P misses it by is
    // made up by a small share e of one vector r for all samples: P stays a table of probabilities, so the dual point
    // is feasible whatever was left when the search for the intercepts ended.
    void balance(double* P, std::vector<double> excess) {
        std::size_t const classes = class_weight_.size();
        for (std::size_t k = 0; k < classes; ++k) {
            if (class_weight_[k] > 0) continue;
            drop_class(P, k);
            excess = imbalance(P);
        }
        double sum = 0;
        for (double g : excess) sum += g;
        if (classes > K_) excess.push_back(-sum);
        double ratio = 0;
        for (std::size_t k = 0; k < classes; ++k) {
            if (class_weight_[k] > 0) ratio = std::max(ratio, excess[k] / class_weight_[k]);
        }
        if (!(ratio > 0)) return;
        std::vector<double> r(classes);
        for (std::size_t k = 0; k < classes; ++k) {
            r[k] = std::max(class_weight_[k] - excess[k] / ratio, 0.0) / weight_;
        }
        double const e = ratio / (1 + ratio);
        each_chunk([&](std::size_t begin, std::size_t end, std::size_t) {
            visit([&](auto const& loss) {
                for (std::size_t i = begin; i < end; ++i) loss.mix(class_of(i), e, r.data(), P + i * L_);
            });
        });
    }

    // A class without weight has no probability at the optimum.
    void drop_class(double* P, std::size_t k) {
        if (K_ == 1) return;
        std::size_t const slots = class_weight_.size();
        for (std::size_t i = 0; i < labels_.n; ++i) {
            double* p = P + i * L_;
            double const rest = Softmax::others(slots, k, p);
            p[k] = 0;
            for (std::size_t m = 0; m < slots && rest > 0; ++m) p[m] /= rest;
        }
    }

    // What a sweep does for rows [begin, end), in a loop that vectorises.
    void sweep_rows(BinaryLogistic const& loss, double const* Z, std::size_t begin, std::size_t end, double* part) {
        double const b = c_.empty() ? 0.0 : c_[0], *s = labels_.s;
        double value = 0, slope = 0, bend = 0, *P = p_.data();
        std::int64_t const* y = labels_.y;
#pragma omp simd reduction(+ : value, slope, bend)
        for (std::size_t i = begin; i < end; ++i) {
            double const z = Z[i] + b;
            double p, a;
            value += s[i] * loss.value(static_cast<std::size_t>(y[i]), &z, &p);
            loss.residual(static_cast<std::size_t>(y[i]), &p, &a);
            P[i] = p;
            slope += s[i] * a;
            bend += s[i] * p * (1.0 - p);
        }
        part[0] = value;
        if (!c_.empty()) part[1] = slope, part[2] = bend;  // the rest is 0: products are taken off the sums
    }

    // In the same order: value, K sums of residuals, K of probabilities, K x K of products of probabilities (of many
    // classes, K of p (1 - p)). The last are what a sweep takes longest for; as products of blocks they fill registers.
    template <class Loss>
    void sweep_rows(Loss const& loss, double const* Z, std::size_t begin, std::size_t end, double* part) {
        std::vector<double> z(K_), a(K_);
        double *sums = part + 1 + K_, *products = part + 1 + 2 * K_;
        bool const by_blocks = K_ >= 8 && factored_ && !c_.empty();
        LineBlock block(by_blocks ? K_ : 0);
        for (std::size_t first = begin; first < end; first += LineBlock::width) {
            std::size_t const count = std::min(LineBlock::width, end - first);
            for (std::size_t i = first; i < first + count; ++i) {
                double* p = p_.data() + i * L_;
                double const s = labels_.s[i], root = std::sqrt(s);
                for (std::size_t k = 0; k < K_; ++k) z[k] = Z[i * L_ + k] + (c_.empty() ? 0.0 : c_[k]);
                part[0] += s * loss.value(class_of(i), z.data(), p);
                if (c_.empty()) continue;
                loss.residual(class_of(i), p, a.data());
                for (std::size_t k = 0; k < K_; ++k) {
                    part[1 + k] += s * a[k];
                    sums[k] += s * p[k];
                }
                for (std::size_t k = 0; k < K_; ++k) {
                    if (!factored_) {
                        products[k] += s * p[k] * (1.0 - p[k]);
                    } else if (by_blocks) {
                        block.line(k)[i - first] = root * p[k];
                    } else {
                        for (std::size_t m = 0; m <= k; ++m) products[k * K_ + m] += s * p[k] * p[m];
                    }
                }
            }
            if (!by_blocks) continue;
            for (std::size_t k = 0; k < K_; ++k) {
                std::fill(block.line(k) + count, block.line(k) + LineBlock::width, 0.0);
            }
            block.add_products(products, K_);
        }
    }

    // Probabilities, value, gradient and curvature in the intercepts.
    void sweep(double const* Z) {
        std::size_t const K = K_, chunks = Team::count(labels_.n, grain_), curved = factored_ ? K * K : K;
        std::size_t const width = c_.empty() ? 1 : 1 + 2 * K + curved;
        std::vector<double> parts(chunks * width, 0.0), total(width, 0.0);
        each_chunk([&](std::size_t begin, std::size_t end, std::size_t chunk) {
            visit([&](auto const& loss) { sweep_rows(loss, Z, begin, end, parts.data() + chunk * width); });
        });
        for (std::size_t c = 0; c < chunks; ++c) {
            for (std::size_t k = 0; k < width; ++k) total[k] += parts[c * width + k];
        }
        value_ = total[0];
        if (c_.empty()) return;
        gradient_.assign(total.begin() + 1, total.begin() + 1 + static_cast<std::ptrdiff_t>(K));
        if (!factored_) {
            diagonal_.assign(total.end() - static_cast<std::ptrdiff_t>(K), total.end());
            double const least = 1e-13 * *std::max_element(diagonal_.begin(), diagonal_.end());
            for (double& d : diagonal_) d = std::max(d, least);
            return;
        }
        hessian_.assign(K * K, 0.0);
        for (std::size_t k = 0; k < K; ++k) {
            for (std::size_t m = 0; m <= k; ++m) hessian_[k * K + m] = -total[1 + 2 * K + k * K + m];
            hessian_[k * K + k] += total[1 + K + k];
        }
        // Adding one number to every lane changes nothing: give that direction the mean curvature, so that it is solved
        // to 0.
        if (shift_free()) {
            double trace = 0;
            for (std::size_t k = 0; k < K_; ++k) trace += hessian_[k * K_ + k];
            for (double& h : hessian_) h += trace / static_cast<double>(K_ * K_);
        }
    }

    Team& team_;
    ClassLoss loss_;
    Labels labels_;
    std::size_t K_, L_;
    bool factored_;
    std::size_t grain_;  // rows a chunk: few chunks, because each has a K x K sum of its own
    std::vector<double> class_weight_, diagonal_;
    double weight_ = 0, least_weight_ = infinity;
    std::vector<double> p_;
    std::vector<float> p32_;
};

}  // namespace tallywise::linear::logistic
