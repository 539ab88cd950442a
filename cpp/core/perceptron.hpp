// The perceptron: rows in turn, and a step towards every row on the wrong side.
//
//   z = w'x + b;   if y z <= 0:   w += eta y x,   b += eta y decay
//
// A weight s of a sample is how often it is presented in a row, a fraction being a shorter step: the same as repeating
// it. Shuffled rows are folded ones (folded_rows.hpp): the order of the data does not matter.
//
// Plus the options of the stochastic gradient family that scikit-learn's class has: L2 as a shrinkage of w before every
// step, L1 as the penalty owed and paid up to zero, stopping on the loss or on held-out accuracy. Rosenblatt (1958);
// Novikoff (1962) for the bound (R / gamma)^2 on the number of mistakes; Freund, Schapire (1999) for the average;
// Tsuruoka, Tsujii, Ananiadou (2009) for L1.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/design.hpp"
#include "core/interrupt.hpp"
#include "core/losses.hpp"
#include "core/parallel.hpp"
#include "core/solvers/folded_rows.hpp"

namespace tallywise {

struct PerceptronOptions {
    double l1 = 0, l2 = 0;  // alpha times the share of each norm
    double eta = 1, tol = 1e-3;
    double intercept_decay = 1;  // factor on the intercept's step; 0 for no intercept
    int max_iter = 1000, patience = 5;
    bool shuffle = true, averaged = false, early_stopping = false;
};

struct PerceptronState {
    std::vector<double> w;
    double b = 0, t = 1;  // t: steps so far, and one
    std::int64_t mistakes = 0;
    int epochs = 0;
    bool clean = false;  // whether the last pass had no mistake
};

// States as rows of (w, b, t, mistakes, epochs, clean), for those who keep them outside.
inline std::vector<PerceptronState> perceptron_states(double const* rows, std::size_t count, std::size_t p) {
    std::vector<PerceptronState> states(count);
    for (std::size_t k = 0; k < count; ++k) {
        double const* row = rows + k * (p + 5);
        states[k].w.assign(row, row + p);
        states[k].b = row[p];
        states[k].t = row[p + 1];
        states[k].mistakes = static_cast<std::int64_t>(row[p + 2]);
    }
    return states;
}

inline void write_states(std::vector<PerceptronState> const& states, double* rows, std::size_t p) {
    for (std::size_t k = 0; k < states.size(); ++k) {
        double* row = rows + k * (p + 5);
        std::copy(states[k].w.begin(), states[k].w.end(), row);
        row[p] = states[k].b;
        row[p + 1] = states[k].t;
        row[p + 2] = static_cast<double>(states[k].mistakes);
        row[p + 3] = states[k].epochs;
        row[p + 4] = states[k].clean ? 1.0 : 0.0;
    }
}

// One class against the rest. `rows` holds the weight of each row, `factor` what the class weights make of a step
// towards a negative and a positive row, held the rows kept back to stop on.
template <class Rows>
class Perceptron {
  public:
    Perceptron(Rows const& X, std::vector<double> y, FoldedRows const& rows, double const* factor,
               std::uint8_t const* held, PerceptronOptions const& options, std::uint64_t seed, PerceptronState& state)
        : X_(X),
          y_(std::move(y)),
          s_(rows.s.data()),
          factor_(factor),
          held_(held),
          order_(rows.order),
          options_(options),
          state_(state),
          random_{seed} {
        for (std::uint32_t const i : order_) total_weight_ += s_[i];
        if (options.l1 > 0) paid_.assign(X.width, 0.0);
        if (options.averaged) late_w_.assign(X.width, 0.0);
    }

    // Up to `epochs` more passes; true when the fit is over. It is the same however it is cut.
    bool advance(int epochs) {
        for (int k = 0; k < epochs; ++k) {
            if (over_ || state_.epochs >= options_.max_iter) break;
            double const loss = pass();
            ++state_.epochs;
            over_ = clean_and_free() || (options_.tol > -infinity && stalled(loss));
        }
        if (!over_ && state_.epochs < options_.max_iter) return false;
        settle();
        return true;
    }

  private:
    // Nothing will change any more.
    bool clean_and_free() const { return state_.clean && options_.l1 == 0 && options_.l2 == 0; }

    // As scikit-learn counts: passes that do not better the best by tol. An average is judged by its own loss: that of
    // the vectors on the way says little about it.
    bool stalled(double loss) {
        if (options_.averaged) loss = average_loss();
        if (options_.early_stopping) {
            double const score = accuracy();
            waited_ = score < best_ + options_.tol ? waited_ + 1 : 0;
            best_ = std::max(best_, score);
        } else {
            waited_ = loss > -best_ - options_.tol * total_weight_ ? waited_ + 1 : 0;
            best_ = std::max(best_, -loss);
        }
        return waited_ >= options_.patience;
    }

    // By what would be handed out now.
    double final_score(std::size_t i) const {
        double const late = options_.averaged ? (X_.dot(i, late_w_.data()) + late_b_) / std::max(met_, 1e-300) : 0.0;
        return score(i) - late;
    }

    double average_loss() const {
        double total = 0;
        for (std::uint32_t const i : order_) {
            total += s_[i] * factor_[y_[i] > 0 ? 1 : 0] * std::max(0.0, -y_[i] * final_score(i));
        }
        return total;
    }

    double score(std::size_t i) const { return scale_ * X_.dot(i, state_.w.data()) + state_.b; }

    // Sum of the weighted losses max(0, -y z) as they were met.
    double pass() {
        if (options_.shuffle) random_.shuffle(order_);
        double loss = 0;
        state_.clean = true;
        for (std::uint32_t const i : order_) {
            for (double left = s_[i]; left > 0;) {
                double const weight = std::min(left, 1.0);
                loss += present(i, weight);
                left -= weight;
                if (left >= 1 && !penalised()) left -= repeat(i, std::floor(left), loss);
            }
        }
        return loss;
    }

    double present(std::size_t i, double weight) {
        double const z = score(i), y = y_[i];
        if (options_.l2 > 0) shrink(weight);
        double const by = options_.eta * weight * factor_[y > 0 ? 1 : 0] * y;
        if (y * z <= 0 && by != 0) {
            ++state_.mistakes;
            state_.clean = false;
            step(i, by, met_);
        }
        if (options_.l1 > 0) pay(i, weight);
        state_.t += weight;
        met_ += weight * factor_[y > 0 ? 1 : 0];
        return weight * factor_[y > 0 ? 1 : 0] * std::max(0.0, -y * z);
    }

    bool penalised() const { return options_.l1 > 0 || options_.l2 > 0; }

    // Presents a row `times` more times at once, and says how many these were. A row on its right side stays there; one
    // on the wrong side moves by `length` a step, until it has crossed.
    double repeat(std::size_t i, double times, double& loss) {
        double const y = y_[i], behind = -y * score(i), by = options_.eta * factor_[y > 0 ? 1 : 0];
        if (behind >= 0 && by != 0) {
            double length = options_.intercept_decay;
            X_.each(i, [&](std::size_t, auto x) { length += static_cast<double>(x) * static_cast<double>(x); });
            length *= by;
            times = std::min(times, std::floor(behind / length) + 1);
            state_.mistakes += static_cast<std::int64_t>(std::min(times, 1e15));
            state_.clean = false;
            loss += factor_[y > 0 ? 1 : 0] * (times * behind - 0.5 * times * (times - 1) * length);
            // The steps come after met_, met_ + factor, ... rows.
            step(i, times * by * y, met_ + 0.5 * (times - 1) * factor_[y > 0 ? 1 : 0]);
        }
        state_.t += times;
        met_ += times * factor_[y > 0 ? 1 : 0];
        return times;
    }

    void step(std::size_t i, double by, double met) {
        X_.axpy(i, by / scale_, state_.w.data());
        state_.b += by * options_.intercept_decay;
        if (!options_.averaged) return;
        // A step after m of M rows is missing from the first m of the averaged vectors: the average is
        // w - sum m step / M, without a copy of w a row. Rows count in it as their class does in the steps.
        X_.axpy(i, by * met, late_w_.data());
        late_b_ += by * options_.intercept_decay * met;
    }

    void shrink(double weight) {
        scale_ *= std::max(0.0, 1.0 - weight * options_.eta * options_.l2);
        if (scale_ > 1e-9) return;
        for (double& w : state_.w) w *= scale_;
        scale_ = 1;
    }

    // What L1 has asked of every weight so far is paid by the weights of this row, never past zero.
    void pay(std::size_t i, double weight) {
        total_ += weight * options_.eta * options_.l1;
        X_.each(i, [&](std::size_t j, auto) {
            double& w = state_.w[j];
            double const before = w;
            if (scale_ * w > 0) {
                w = std::max(0.0, w - (total_ + paid_[j]) / scale_);
            } else if (scale_ * w < 0) {
                w = std::min(0.0, w + (total_ - paid_[j]) / scale_);
            }
            paid_[j] += scale_ * (w - before);
        });
    }

    double accuracy() const {
        double right = 0, rows = 0;
        for (std::size_t i = 0; i < X_.lines; ++i) {
            if (held_[i] == 0) continue;
            right += (final_score(i) > 0) == (y_[i] > 0);
            rows += 1;
        }
        return rows > 0 ? right / rows : 0.0;
    }

    void settle() {
        for (double& w : state_.w) w *= scale_;
        scale_ = 1;
        if (!options_.averaged || met_ == 0) return;
        for (std::size_t j = 0; j < X_.width; ++j) state_.w[j] -= late_w_[j] / met_;
        state_.b -= late_b_ / met_;
    }

    Rows const& X_;
    std::vector<double> y_;
    double const *s_, *factor_;
    std::uint8_t const* held_;
    std::vector<std::uint32_t> order_;
    PerceptronOptions options_;
    PerceptronState& state_;
    SplitMix random_;
    std::vector<double> paid_, late_w_;
    double late_b_ = 0, scale_ = 1, total_ = 0, met_ = 0, total_weight_ = 0, best_ = -infinity;
    int waited_ = 0;
    bool over_ = false;
};

// One class against the rest for each state, the second class for a single one. factor: two numbers a state.
template <class Rows>
void fit_perceptrons(Team& team, Rows const& X, std::int64_t const* codes, double const* s, double const* factor,
                     std::uint8_t const* held, PerceptronOptions const& options, std::uint64_t seed,
                     std::vector<PerceptronState>& states) {
    std::vector<double> weights(s, s + X.lines);
    for (std::size_t i = 0; i < X.lines; ++i) weights[i] = held[i] != 0 ? 0.0 : weights[i];
    FoldedRows const rows =
        options.shuffle ? FoldedRows::of(X, codes, weights.data(), seed) : FoldedRows::plain(weights.data(), X.lines);
    std::uint64_t const stream = SplitMix{seed}.next();  // what hashes the rows does not shuffle them too
    std::vector<std::unique_ptr<Perceptron<Rows>>> problems(states.size());
    std::vector<std::uint8_t> over(states.size(), 0);
    // Passes between two looks at the keyboard.
    int const passes = static_cast<int>(std::clamp<std::size_t>((std::size_t{1} << 26) / (X.nonzeros() + 1), 1, 1000));
    while (std::find(over.begin(), over.end(), 0) != over.end()) {
        check_interrupt();
        team.each(states.size(), [&](std::size_t k) {
            if (!problems[k]) {
                std::vector<double> y(X.lines);
                auto const positive = static_cast<std::int64_t>(states.size() == 1 ? 1 : k);
                for (std::size_t i = 0; i < X.lines; ++i) y[i] = codes[i] == positive ? 1.0 : -1.0;
                states[k].epochs = 0;
                problems[k] = std::make_unique<Perceptron<Rows>>(X, std::move(y), rows, factor + 2 * k, held, options,
                                                                 stream + k, states[k]);
            }
            if (over[k] == 0) over[k] = problems[k]->advance(passes) ? 1 : 0;
        });
    }
}

}  // namespace tallywise
