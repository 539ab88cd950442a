// The quadratic model of a penalised loss on a working set, and its minimiser.
//
//   m(d, c) = sum_i g_i v_i + h_i v_i^2 / 2 + sum_k p(w_k + d_k),   v = X d + c
//
// given the gradient g and the curvature h of the loss by sample (both with the sample weights in them) and the weights
// w so far. The shift c of the intercept is profiled out: c = -(sum g + h'X d) / sum h. Minimised by coordinate
// descent; where the signs have settled, conjugate gradients on the coordinates in use take over what is left. When
// rounds have taken as long as making the matrix of all products would, it is made, and the model is solved exactly.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "core/base/parallel.hpp"
#include "core/linear/conjugate_gradients.hpp"
#include "core/linear/orthants.hpp"
#include "core/linear/working_set.hpp"

namespace tallywise::linear {

template <class Columns, class Penalty>
class QuadraticModel {
  public:
    void assign(Columns const& X, std::vector<std::size_t> const& members, bool fit_intercept) {
        X_ = &X;
        members_ = &members;
        fit_intercept_ = fit_intercept;
        columns_.assign(X, members);
        slope_.resize(members.size());
        curvature_.resize(members.size());
        mean_.resize(members.size());
        w_.resize(members.size());
        v_.resize(X.width);
    }

    // root = sqrt(h), which must outlive the model's use.
    void weigh(Team& team, std::vector<double> const& root) {
        root_ = &root;
        gram_.clear();
        total_curvature_ = 0;
        for (double r : root) total_curvature_ += r * r;
        each_member(team, [&](std::size_t k) {
            auto const [first, second] = columns_.weigh(k, root.data());
            mean_[k] = first;
            curvature_[k] = profiled() ? second - first / total_curvature_ * first : second;
            if (curvature_[k] <= 1e-14 * second) curvature_[k] = 0;
        });
    }

    // At d = 0, with all weights w (those of the members are read) and the gradient g.
    void start(Team& team, std::vector<double> const& w, std::vector<double> const& g) {
        total_slope_ = 0;
        for (double x : g) total_slope_ += x;
        each_member(team, [&](std::size_t k) {
            w_[k] = w[(*members_)[k]];
            slope_[k] = X_->dot((*members_)[k], g.data());
        });
        d_.assign(w_.size(), 0.0);
        std::fill(v_.begin(), v_.end(), 0.0);
        weighted_sum_ = 0;
        if (!gram_.empty()) start_slope();
    }

    std::vector<double> const& slopes() const { return slope_; }
    std::vector<double> const& step() const { return d_; }
    double total_slope() const { return total_slope_; }
    double shift() const { return profiled() ? -(total_slope_ + weighted_sum_) / total_curvature_ : 0.0; }

    // Until the largest gradient that a round removes is at most `enough`, or that share of what the first round did.
    // Gives the number of rounds.
    int minimise(Team& team, Penalty const& penalty, double enough, double share, int max_rounds) {
        penalty_ = penalty;
        rounds_ = 0;
        int calm = 0, wait = 2;
        for (bool first = true; rounds_ < max_rounds; first = false) {
            if (worth_gram()) make_gram(team);
            if (Penalty::convex && !gram_.empty()) {
                ++rounds_;
                solve_exactly();
                break;
            }
            double const violation = sweep(first);
            ++rounds_;
            if (first) enough = std::max(enough, share * violation);
            if (violation <= enough) break;
            settle_busy(enough);
            calm = turned_ ? 0 : calm + 1;
            if (!Penalty::convex || calm < wait) continue;
            calm = 0;
            if (!support_step(team, enough)) wait *= 2;
        }
        spent_ += static_cast<std::size_t>(rounds_);
        return rounds_;
    }

  private:
    static constexpr int max_products = 30;
    static constexpr std::size_t bands = 4;  // of rows, each with its own part of a sum of columns

    bool worth_gram() const {
        std::size_t const m = w_.size(), rounds = spent_ + static_cast<std::size_t>(rounds_);
        return gram_.empty() && m <= WorkingSet<Columns>::largest_gram && rounds >= columns_.gram_rounds();
    }

    // Columns about their means: what the profiled intercept leaves of them. From here on slope_now_ is the gradient.
    void make_gram(Team& team) {
        spent_ = 0;
        std::vector<double> centre(w_.size(), 0.0);
        for (std::size_t k = 0; k < w_.size() && profiled(); ++k) centre[k] = mean_[k] / total_curvature_;
        gram_ = columns_.gram(team, *root_, centre);
        start_slope();
    }

    void start_slope() {
        std::size_t const m = w_.size();
        slope_now_.resize(m);
        for (std::size_t k = 0; k < m; ++k) {
            slope_now_[k] = slope_[k] - (profiled() ? total_slope_ * mean_[k] / total_curvature_ : 0.0);
        }
        for (std::size_t k = 0; k < m; ++k) {
            if (d_[k] != 0) axpy(d_[k], gram_.data() + k * m, slope_now_.data(), m);
        }
    }

    void solve_exactly() {
        std::size_t const m = w_.size();
        std::vector<double> w(m);
        double top = penalty_.l1, terms = 0;
        for (std::size_t k = 0; k < m; ++k) {
            w[k] = curvature_[k] > 0 ? w_[k] + d_[k] : 0.0;
            top = std::max(top, std::abs(slope_now_[k]));
            terms = std::max(terms, curvature_[k] * std::abs(w[k]));
        }
        // Gradients are differences of such terms: where all of them vanish, what is left is rounding.
        double const eps = std::max(1e-10 * top, 1e-13 * terms);
        Orthants<Penalty> problem(gram_, penalty_, slope_now_, w);
        problem.minimise(eps);
        weighted_sum_ = 0;
        for (std::size_t k = 0; k < m; ++k) {
            d_[k] = problem.weight(k) - w_[k];
            weighted_sum_ += d_[k] * mean_[k];
        }
    }

    bool profiled() const { return fit_intercept_ && total_curvature_ > 0; }

    template <class F>
    static void in_pieces(Team& team, std::size_t size, F&& f) {
        team.each_range(size, std::max<std::size_t>(1, size / 16),
                        [&](std::size_t begin, std::size_t end, std::size_t) {
                            for (std::size_t k = begin; k < end; ++k) f(k);
                        });
    }

    template <class F>
    void each_member(Team& team, F&& f) {
        in_pieces(team, w_.size(), f);
    }

    // f(a, k) for the a-th coordinate in use, which is the k-th of the working set.
    template <class F>
    void each_in_use(Team& team, F&& f) {
        in_pieces(team, support_.size(), [&](std::size_t a) { f(a, support_[a]); });
    }

    // One round of exact coordinate steps. Gives the largest gradient that a step removed.
    double sweep(bool everything) {
        double violation = 0;
        turned_ = false;
        swept_ = 0;
        moves_.clear();
        for (std::size_t k = 0; k < w_.size(); ++k) {
            double const now = w_[k] + d_[k];
            if (!everything && now == 0 && d_[k] == 0) continue;
            double const removed = coordinate_step(k, now);
            swept_ += columns_.length(k);
            if (removed > 0) moves_.push_back({removed, k});
            violation = std::max(violation, removed);
        }
        return violation;
    }

    // More rounds over the coordinates that moved most, for as long as they take less than the round that found them:
    // columns that are nearly equal wait for each other long after all others have arrived.
    void settle_busy(double enough) {
        std::erase_if(moves_, [&](Move const& move) { return move.removed <= enough; });
        std::size_t cost = 0;
        for (Move const& move : moves_) cost += columns_.length(move.member);
        for (std::size_t spent = cost; spent <= swept_; spent += cost) {
            double violation = 0;
            for (Move const& move : moves_) {
                violation = std::max(violation, coordinate_step(move.member, w_[move.member] + d_[move.member]));
            }
            if (violation <= 0.5 * enough) break;
        }
    }

    double coordinate_step(std::size_t k, double now) {
        double const c = curvature_[k];
        double next = 0;
        if (c > 0) {
            double const slope =
                gram_.empty() ? slope_[k] + columns_.dot(k, v_.data()) + shift() * mean_[k] : slope_now_[k];
            next = penalty_.prox(now - slope / c, 1.0 / c);
        }
        double const step = next - now;
        if (step == 0) return 0;
        turned_ |= (next > 0) != (now > 0) || (next < 0) != (now < 0);
        d_[k] = next == 0 ? -w_[k] : d_[k] + step;
        weighted_sum_ += step * mean_[k];
        if (gram_.empty()) {
            columns_.axpy(k, step, v_.data());
        } else {
            axpy(step, gram_.data() + k * w_.size(), slope_now_.data(), w_.size());
        }
        return c * std::abs(step);
    }

    // Conjugate gradients over the coordinates in use, where the penalty is smooth while no sign turns. Where signs
    // have settled this takes about the square root of the rounds. False when it did not get far.
    bool support_step(Team& team, double enough) {
        support_.clear();
        for (std::size_t k = 0; k < w_.size(); ++k) {
            if (w_[k] + d_[k] != 0 && curvature_[k] > 0) support_.push_back(k);
        }
        std::size_t const size = support_.size();
        residual_.resize(size);
        product_.resize(size);
        direction_.assign(size, 0.0);
        total_step_.assign(size, 0.0);
        image_.resize(v_.size());
        moved_.assign(v_.size(), 0.0);
        double moved_sum = 0;
        places_.resize(size * (bands + 1));
        each_in_use(team, [&](std::size_t a, std::size_t k) {
            double const now = w_[k] + d_[k];
            residual_[a] = -(slope_[k] + columns_.dot(k, v_.data()) + shift() * mean_[k] +
                             std::copysign(penalty_.l1, now) + penalty_.l2 * now);
            for (std::size_t band = 0; band <= bands; ++band) {
                places_[a * (bands + 1) + band] = columns_.place(k, v_.size() * band / bands);
            }
        });
        auto const measure = [&] {
            double top = 0, total = 0;
            for (std::size_t a = 0; a < size; ++a) {
                top = std::max(top, std::abs(residual_[a]));
                total += residual_[a] * residual_[a] / (curvature_[support_[a]] + penalty_.l2);
            }
            return top <= 0.5 * enough ? 0.0 : total;
        };
        double image_sum = turn_direction(team, 0.0);
        rounds_ += conjugate_gradients(
            measure(), max_products, [&] { return bend_along(team, image_sum); },
            [&](double alpha) {
                for (std::size_t a = 0; a < size; ++a) {
                    total_step_[a] += alpha * direction_[a];
                    residual_[a] -= alpha * product_[a];
                }
                for (std::size_t i = 0; i < v_.size(); ++i) moved_[i] += alpha * image_[i];
                moved_sum += alpha * image_sum;
                return measure();
            },
            [&](double beta) { image_sum = turn_direction(team, beta); });
        return take_step(moved_sum);
    }

    // The next direction and its image X~ direction; gives h'X direction.
    double turn_direction(Team& team, double turn) {
        double sum = 0;
        for (std::size_t a = 0; a < support_.size(); ++a) {
            std::size_t const k = support_[a];
            direction_[a] = turn * direction_[a] + residual_[a] / (curvature_[k] + penalty_.l2);
            sum += direction_[a] * mean_[k];
        }
        team.each(bands, [&](std::size_t band) {
            std::fill(image_.begin() + row_of(band), image_.begin() + row_of(band + 1), 0.0);
            for (std::size_t a = 0; a < support_.size(); ++a) {
                std::size_t const* place = places_.data() + a * (bands + 1) + band;
                columns_.axpy(support_[a], direction_[a], image_.data(), place[0], place[1]);
            }
        });
        return sum;
    }

    std::ptrdiff_t row_of(std::size_t band) const { return static_cast<std::ptrdiff_t>(v_.size() * band / bands); }

    // product = Hessian times direction; gives their inner product.
    double bend_along(Team& team, double image_sum) {
        double const image_shift = profiled() ? image_sum / total_curvature_ : 0.0;
        each_in_use(team, [&](std::size_t a, std::size_t k) {
            product_[a] = columns_.dot(k, image_.data()) - image_shift * mean_[k] + penalty_.l2 * direction_[a];
        });
        double bend = 0;
        for (std::size_t a = 0; a < support_.size(); ++a) bend += direction_[a] * product_[a];
        return bend;
    }

    // d + total_step, with weights that would turn their sign left at zero; where the model dislikes that, as far as
    // the first of them, and then false.
    bool take_step(double moved_sum) {
        double const before = value();
        std::vector<double> const kept_d = d_, kept_v = v_;
        double const kept_sum = weighted_sum_;
        double share = 1;
        for (std::size_t i = 0; i < v_.size(); ++i) v_[i] += moved_[i];
        weighted_sum_ += moved_sum;
        for (std::size_t a = 0; a < support_.size(); ++a) {
            std::size_t const k = support_[a];
            double const now = w_[k] + d_[k], next = now + total_step_[a];
            d_[k] += total_step_[a];
            if (next * now >= 0) continue;
            share = std::min(share, -now / total_step_[a]);
            d_[k] = -w_[k];
            columns_.axpy(k, -next, v_.data());
            weighted_sum_ -= next * mean_[k];
        }
        if (share == 1 || value() < before) return true;
        for (std::size_t i = 0; i < v_.size(); ++i) v_[i] = kept_v[i] + share * moved_[i];
        weighted_sum_ = kept_sum + share * moved_sum;
        for (std::size_t a = 0; a < support_.size(); ++a) {
            std::size_t const k = support_[a];
            bool const stops = -(w_[k] + kept_d[k]) / total_step_[a] == share;
            d_[k] = stops ? -w_[k] : kept_d[k] + share * total_step_[a];
        }
        return false;
    }

    double value() const {
        double total = 0;
        for (double v : v_) total += v * v;
        if (profiled()) total -= (total_slope_ + weighted_sum_) * (total_slope_ + weighted_sum_) / total_curvature_;
        total *= 0.5;
        for (std::size_t k = 0; k < w_.size(); ++k) {
            double const w = w_[k] + d_[k];
            if (w != 0 || d_[k] != 0) total += slope_[k] * d_[k] + penalty_.value(w);
        }
        return total;
    }

    Columns const* X_ = nullptr;
    std::vector<std::size_t> const* members_ = nullptr;
    bool fit_intercept_ = false;
    Penalty penalty_{};
    WorkingSet<Columns> columns_;
    std::vector<double> w_, d_, slope_, curvature_, mean_;
    std::vector<double> v_;  // sqrt(h) X d, as long as there is no gram_
    std::vector<double> const* root_ = nullptr;
    std::vector<double> gram_, slope_now_;
    double total_slope_ = 0, total_curvature_ = 0, weighted_sum_ = 0;
    int rounds_ = 0;
    std::size_t spent_ = 0;  // rounds since the last matrix, of models before this one
    bool turned_ = false;
    std::size_t swept_ = 0;  // entries that the last round has read
    struct Move {
        double removed;  // gradient
        std::size_t member;
    };
    std::vector<Move> moves_;                    // of the last round
    std::vector<std::size_t> support_, places_;  // coordinates in use, and where each enters each band of rows
    std::vector<double> residual_, direction_, product_, total_step_, image_, moved_;
};

}  // namespace tallywise::linear
