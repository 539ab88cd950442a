// The perceptron: rows in turn, and a step towards every row on the wrong side.
//
//   z = w'x + b;   if y z <= 0:   w += eta y x,   b += eta y decay
//
// A weight s of a sample is how often it is presented in a row, a fraction being a shorter step: the same as repeating
// it. Shuffled rows are distinct ones (distinct_rows.hpp): the order of the data does not matter.
//
// Plus the options of the stochastic gradient family that scikit-learn's class has: L2 as a shrinkage of w before every
// step, L1 as the penalty owed and paid up to zero, stopping on the loss or on held-out accuracy. Rosenblatt (1958);
// Novikoff (1962) for the bound (R / gamma)^2 on the number of mistakes; Freund, Schapire (1999) for the average;
// Tsuruoka, Tsujii, Ananiadou (2009) for L1.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/base/random.hpp"
#include "core/data/design.hpp"
#include "core/data/row_lanes.hpp"
#include "core/linear/losses.hpp"

namespace tallywise::linear::online {

struct PerceptronOptions {
    double l1 = 0, l2 = 0;  // alpha times the share of each norm
    double eta = 1, tol = 1e-3;
    double intercept_decay = 1;  // factor on the intercept's step; 0 for no intercept
    int max_iter = 1000, patience = 5;
    bool shuffle = true, averaged = false, early_stopping = false;
    std::uint64_t seed = 0;
    int threads = 1;
};

struct PerceptronState {
    std::vector<double> w;
    double b = 0, t = 1;  // t: steps so far, and one
    std::int64_t mistakes = 0;
    int epochs = 0;
    bool clean = false;  // whether the last pass had no mistake
};

// What a fit is given beside X, a number per row each: class, weight, and whether the row is held back to stop on.
// `factor` is what the class weights make of a step towards a negative and a positive row, two numbers per state.
struct PerceptronRows {
    std::int64_t const* codes;
    double const* s;
    std::uint8_t const* held;
    double const* factor;
};

// The order of rows, which all classes share, so that a class is the same in any company.
struct PerceptronOrder {
    std::vector<std::uint32_t> rows;
    SplitMix random;
};

// One class against the rest on its way: its state, and what else it takes along from one group to another.
struct PerceptronClass {
    std::int64_t code = 0;           // the class that is +1
    double const* factor = nullptr;  // of steps towards a negative and a positive row
    PerceptronState state;
    double scale = 1, total = 0, met = 0, late_b = 0, best = -infinity;
    int waited = 0;
    bool over = false;
    std::vector<double> paid, late_w;
};

// Up to L classes side by side (RowLanes). `order` holds the rows to learn from, with the weights of data.s.
template <class Rows, std::size_t L>
class Perceptron {
    using Lines = RowLanes<Rows, L>;
    using Row = std::array<double, L>;

  public:
    Perceptron(Rows const& X, PerceptronRows const& data, PerceptronOrder const& order,
               PerceptronOptions const& options, std::vector<PerceptronClass> classes)
        : X_(X),
          codes_(data.codes),
          s_(data.s),
          held_(data.held),
          order_(order),
          options_(options),
          lane_(std::move(classes)),
          w_(X.width * L, 0.0) {
        for (std::uint32_t const i : order_.rows) total_weight_ += s_[i];
        if (options.l1 > 0) paid_.assign(w_.size(), 0.0);
        if (options.averaged) late_w_.assign(w_.size(), 0.0);
        for (std::size_t l = 0; l < lane_.size(); ++l) {
            gather(lane_[l].state.w, l, w_);
            gather(lane_[l].paid, l, paid_);
            gather(lane_[l].late_w, l, late_w_);
        }
    }

    // The classes, which go on elsewhere or are done; this group is at its end.
    std::vector<PerceptronClass> part() {
        for (std::size_t l = 0; l < lane_.size(); ++l) {
            if (lane_[l].over) continue;
            scatter(w_, l, lane_[l].state.w);
            scatter(paid_, l, lane_[l].paid);
            scatter(late_w_, l, lane_[l].late_w);
        }
        return std::move(lane_);
    }

    PerceptronOrder const& order() const { return order_; }
    std::size_t live() const {
        auto const going = [](PerceptronClass const& lane) { return !lane.over; };
        return static_cast<std::size_t>(std::count_if(lane_.begin(), lane_.end(), going));
    }

    // Up to `epochs` more passes; true when the fit is over. It is the same however it is cut.
    bool advance(int epochs) {
        for (int k = 0; k < epochs && !over(); ++k) {
            Row const loss = pass();
            for (std::size_t l = 0; l < lane_.size(); ++l) {
                if (lane_[l].over) continue;
                ++lane_[l].state.epochs;
                lane_[l].over = lane_[l].state.epochs >= options_.max_iter || (lane_[l].state.clean && !penalised()) ||
                                (options_.tol > -infinity && stalled(l, loss[l]));
                if (lane_[l].over) settle(l);
            }
        }
        return over();
    }

  private:
    bool over() const { return live() == 0; }
    // One lane's numbers, beside those of the others and on their own.
    static void gather(std::vector<double> const& own, std::size_t l, std::vector<double>& all) {
        for (std::size_t j = 0; j < own.size(); ++j) all[j * L + l] = own[j];
    }
    static void scatter(std::vector<double> const& all, std::size_t l, std::vector<double>& own) {
        own.resize(all.size() / L);
        for (std::size_t j = 0; j < own.size(); ++j) own[j] = all[j * L + l];
    }
    bool penalised() const { return options_.l1 > 0 || options_.l2 > 0; }

    double sign(std::size_t i, std::size_t l) const { return codes_[i] == lane_[l].code ? 1.0 : -1.0; }
    double factor(std::size_t l, double y) const { return lane_[l].factor[y > 0 ? 1 : 0]; }

    // As scikit-learn counts: passes that do not better the best by tol. An average is judged by its own loss: that of
    // the vectors on the way says little about it.
    bool stalled(std::size_t l, double loss) {
        PerceptronClass& lane = lane_[l];
        if (options_.averaged) loss = average_loss(l);
        double const now = options_.early_stopping ? accuracy(l) : -loss;
        bool const better =
            options_.early_stopping ? now >= lane.best + options_.tol : now >= lane.best + options_.tol * total_weight_;
        lane.waited = better ? 0 : lane.waited + 1;
        lane.best = std::max(lane.best, now);
        return lane.waited >= options_.patience;
    }

    // x_i'v in one lane.
    double dot(std::size_t i, std::size_t l, std::vector<double> const& v) const {
        double total = 0;
        X_.each(i, [&](std::size_t j, auto x) { total += static_cast<double>(x) * v[j * L + l]; });
        return total;
    }
    double score(std::size_t i, std::size_t l) const { return lane_[l].scale * dot(i, l, w_) + lane_[l].state.b; }

    // By what would be handed out now.
    double final_score(std::size_t i, std::size_t l) const {
        PerceptronClass const& lane = lane_[l];
        if (!options_.averaged) return score(i, l);
        return score(i, l) - (dot(i, l, late_w_) + lane.late_b) / std::max(lane.met, 1e-300);
    }

    double average_loss(std::size_t l) const {
        double total = 0;
        for (std::uint32_t const i : order_.rows) {
            double const y = sign(i, l);
            total += s_[i] * factor(l, y) * std::max(0.0, -y * final_score(i, l));
        }
        return total;
    }

    double accuracy(std::size_t l) const {
        double right = 0, rows = 0;
        for (std::size_t i = 0; i < X_.lines; ++i) {
            if (held_[i] == 0) continue;
            right += (final_score(i, l) > 0) == (sign(i, l) > 0);
            rows += 1;
        }
        return rows > 0 ? right / rows : 0.0;
    }

    // Sums of the weighted losses max(0, -y z) as they were met.
    Row pass() {
        if (options_.shuffle) order_.random.shuffle(order_.rows);
        Row loss{};
        for (std::size_t l = 0; l < lane_.size(); ++l) lane_[l].state.clean |= !lane_[l].over;
        each_row(X_, order_.rows, [&](std::size_t i) {
            Row z, step{}, late{};
            Lines::dot(X_, i, w_.data(), z.data());
            bool any = false;
            double const weight = std::min(s_[i], 1.0);
            for (std::size_t l = 0; l < lane_.size(); ++l) {
                if (lane_[l].over) continue;
                double const by = present(i, l, weight, lane_[l].scale * z[l] + lane_[l].state.b, loss[l]);
                step[l] = by / lane_[l].scale;
                late[l] = by * lane_[l].met;
                lane_[l].met += weight * factor(l, sign(i, l));
                any |= by != 0;
            }
            if (any) Lines::axpy(X_, i, step.data(), w_.data());
            if (any && options_.averaged) Lines::axpy(X_, i, late.data(), late_w_.data());
            for (std::size_t l = 0; l < lane_.size(); ++l) {
                if (lane_[l].over) continue;
                if (options_.l1 > 0) pay(i, l, weight);
                if (s_[i] > 1) again(i, l, s_[i] - 1, loss[l]);
            }
        });
        return loss;
    }

    // What a row of score z asks of its lane: the step in the weights' own scale, which is left to the caller.
    double present(std::size_t i, std::size_t l, double weight, double z, double& loss) {
        double const y = sign(i, l), by = options_.eta * weight * factor(l, y) * y;
        if (options_.l2 > 0) shrink(l, weight);
        loss += weight * factor(l, y) * std::max(0.0, -y * z);
        lane_[l].state.t += weight;
        if (y * z > 0 || by == 0) return 0;
        mistake(l, by, 1, lane_[l].met);
        return by;
    }

    // A step after m of M rows is missing from the first m of the averaged vectors: the average is w - sum m step / M,
    // without a copy of w a row. Rows count in it as their class does in the steps.
    void mistake(std::size_t l, double by, double times, double met) {
        lane_[l].state.mistakes += static_cast<std::int64_t>(std::min(times, 1e15));
        lane_[l].state.clean = false;
        lane_[l].state.b += by * options_.intercept_decay;
        lane_[l].late_b += by * options_.intercept_decay * met;
    }

    void step(std::size_t i, std::size_t l, double by, double met) {
        double const scale = lane_[l].scale;
        X_.each(i, [&](std::size_t j, auto x) {
            w_[j * L + l] += static_cast<double>(x) * by / scale;
            if (options_.averaged) late_w_[j * L + l] += static_cast<double>(x) * by * met;
        });
    }

    // What is left of a row's presentations, in one lane.
    void again(std::size_t i, std::size_t l, double left, double& loss) {
        while (left > 0) {
            if (left >= 1 && !penalised()) {
                left -= repeat(i, l, std::floor(left), loss);
                continue;
            }
            double const weight = std::min(left, 1.0), by = present(i, l, weight, score(i, l), loss);
            if (by != 0) step(i, l, by, lane_[l].met);
            lane_[l].met += weight * factor(l, sign(i, l));
            if (options_.l1 > 0) pay(i, l, weight);
            left -= weight;
        }
    }

    // Presents a row `times` more times at once, and says how many these were. A row on its right side stays there; one
    // on the wrong side moves by `length` a step, until it has crossed.
    double repeat(std::size_t i, std::size_t l, double times, double& loss) {
        double const y = sign(i, l), share = factor(l, y), behind = -y * score(i, l), by = options_.eta * share;
        PerceptronClass& lane = lane_[l];
        if (behind >= 0 && by != 0) {
            double length = options_.intercept_decay;
            X_.each(i, [&](std::size_t, auto x) { length += static_cast<double>(x) * static_cast<double>(x); });
            length *= by;
            times = std::min(times, std::floor(behind / length) + 1);
            loss += share * (times * behind - 0.5 * times * (times - 1) * length);
            // The steps come after met, met + share, ... rows.
            double const met = lane.met + 0.5 * (times - 1) * share;
            mistake(l, times * by * y, times, met);
            step(i, l, times * by * y, met);
        }
        lane_[l].state.t += times;
        lane.met += times * share;
        return times;
    }

    void shrink(std::size_t l, double weight) {
        double& scale = lane_[l].scale;
        scale *= std::max(0.0, 1.0 - weight * options_.eta * options_.l2);
        if (scale > 1e-9) return;
        for (std::size_t j = l; j < w_.size(); j += L) w_[j] *= scale;
        scale = 1;
    }

    // What L1 has asked of every weight so far is paid by the weights of this row, never past zero.
    void pay(std::size_t i, std::size_t l, double weight) {
        PerceptronClass& lane = lane_[l];
        lane.total += weight * options_.eta * options_.l1;
        X_.each(i, [&](std::size_t j, auto) {
            double &w = w_[j * L + l], &paid = paid_[j * L + l];
            double const before = w;
            if (lane.scale * w > 0) {
                w = std::max(0.0, w - (lane.total + paid) / lane.scale);
            } else if (lane.scale * w < 0) {
                w = std::min(0.0, w + (lane.total - paid) / lane.scale);
            }
            paid += lane.scale * (w - before);
        });
    }

    void settle(std::size_t l) {
        PerceptronClass const& lane = lane_[l];
        bool const average = options_.averaged && lane.met > 0;
        for (std::size_t j = 0; j < X_.width; ++j) {
            lane_[l].state.w[j] = lane.scale * w_[j * L + l] - (average ? late_w_[j * L + l] / lane.met : 0.0);
        }
        if (average) lane_[l].state.b -= lane.late_b / lane.met;
    }

    Rows const& X_;
    std::int64_t const* codes_;
    double const* s_;
    std::uint8_t const* held_;
    PerceptronOrder order_;
    PerceptronOptions options_;
    std::vector<PerceptronClass> lane_;
    std::vector<double> w_, paid_, late_w_;
    double total_weight_ = 0;
};

}  // namespace tallywise::linear::online
