// Three logistic regressions on line, one a view, in one table of weights.
//
// With the n slots S of a view, and w, G of the shared table:
//
//     z = n^-1/2 sum over S of w_i           score = t / (t + 10) * sum over views of 5 tanh(z / 5)
//
// after t messages learned. Learning y (1 for spam), each view from its own z:
//
//     e = y - sigmoid(z), nothing when |e| < .01;  g = e n^-1/2;  G_i += g^2;  w_i += rate g / sqrt(G_i + 1e-6)
//
// AdaGrad (Duchi, Hazan, Singer, 2011), without a bias. A learner on line forgets what it sees no more of: behind the
// ninth message of one class in a row, and each one more, one message of the other class is learned again (Rehearsal).
// Sums and roots are in double precision in ascending order of
// slots, the table in single: the same messages in the same order give the same bits on every machine.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/large_array.hpp"
#include "core/base/numeric.hpp"
#include "core/spam/features.hpp"

namespace tallywise::spam {

inline constexpr std::array<double, views> rates = {.4, .8, .8};
inline constexpr double bound = 5, cold = 10, small_error = .01, damping = 1e-6;

inline double bounded(double z) {
    double const e = exp(-2 / bound * std::abs(z));
    double const t = bound * (1 - e) / (1 + e);
    return z < 0 ? -t : t;
}

// A view's z and the factor by which a weight of it enters the score: n^-1/2 * 5 tanh(z/5)/z * t/(t+10).
struct Scores {
    std::array<double, views> z{}, factor{};
    double total = 0;
};

// What the two models share: a table of two numbers a slot, and the score.
template <class Model, class Number>
class Table {
  public:
    // Side by side, as learning needs both of a slot, and each slot is a line of memory that has to come.
    struct Cell {
        Number first, second;
    };

    Table() : cells_(slots) {}
    static constexpr std::size_t state_bytes = slots * sizeof(Cell);

    std::uint64_t learned() const { return t_; }
    std::vector<Number> first() const { return column(&Cell::first); }
    std::vector<Number> second() const { return column(&Cell::second); }

    // The cells as bytes, and back; how many messages were learned is the journal's to say.
    std::string_view state() const { return {reinterpret_cast<char const*>(cells_.data()), state_bytes}; }

    // A state may come piece by piece, so that nobody needs all of it beside the table; `check` refuses what is
    // damaged.
    void fill(std::size_t offset, std::string_view piece) {
        if (offset > state_bytes || piece.size() > state_bytes - offset) {
            throw std::invalid_argument("The table of a filter has another size");
        }
        std::memcpy(reinterpret_cast<char*>(cells_.data()) + offset, piece.data(), piece.size());
    }

    void check() const {
        unsigned unsound = 0;
        for (Cell const cell : cells_) unsound |= Model::sound(cell) ? 0u : 1u;
        if (unsound) throw std::invalid_argument("The table of a filter is damaged");
    }

    void restore(std::string_view state) {
        if (state.size() != state_bytes) throw std::invalid_argument("The table of a filter has another size");
        fill(0, state);
        check();
    }

    Scores score(Features const& features) const {
        Scores scores;
        double const shrink = static_cast<double>(t_) / (static_cast<double>(t_) + cold);
        for (std::size_t v = 0; v < views; ++v) {
            double const n = static_cast<double>(std::max<std::size_t>(features[v].size(), 1));
            double const z = sum(features[v]), b = bounded(z);
            scores.z[v] = z;
            scores.factor[v] = (z == 0 ? 1 : b / z) * shrink / std::sqrt(n);
            scores.total += b;
        }
        scores.total *= shrink;
        return scores;
    }

  protected:
    double sum(Slots const& view) const {
        if (view.empty()) return 0;
        std::array<double, 4> part{};  // four sums, added at the end: in one, each addition waits for the last
        std::size_t const n = view.size();
        for (std::size_t k = 0; k < n; ++k) part[k % 4] += model().weight(view[k]);
        return ((part[0] + part[1]) + (part[2] + part[3])) / std::sqrt(static_cast<double>(n));
    }

    Model const& model() const { return static_cast<Model const&>(*this); }

    std::vector<Number> column(Number Cell::* member) const {
        std::vector<Number> out(slots);
        for (std::size_t i = 0; i < slots; ++i) out[i] = cells_[i].*member;
        return out;
    }

    LargeArray<Cell> cells_;  // read at random
    std::uint64_t t_ = 0;
};

// A number that changes with any byte of a state, to notice damage; another one on machines of the other byte order.
// Eight bytes at a time: a cryptographic digest took as long as all else that a filter in a pipe does.
inline std::uint64_t checksum(std::string_view state) {
    return hashed(state, std::endian::native == std::endian::little ? 21 : 22);
}

// The errors e of the views when a message was learned; 0 where a view was left as it was.
using Errors = std::array<double, views>;

// Behind which messages one of the other class is learned again: the oldest that was not, and from the first again when
// all were. 300 messages taught one class after the other then miss 3 to 5 % of spam instead of 96 to 99, and streams,
// which have few such runs, are as before.
class Rehearsal {
  public:
    static constexpr int longest_run = 8;

    // Counts a message that was learned; whether another is to be learned again behind it.
    bool due(bool spam) {
        run = run != 0 && spam == (run > 0) ? run + (spam ? 1 : -1) : spam ? 1 : -1;
        run = std::clamp(run, -longest_run - 1, longest_run + 1);
        return std::abs(run) > longest_run;
    }

    int run = 0;  // messages of one class in a row, ham below 0
};

class OnlineLearner : public Table<OnlineLearner, float> {
  public:
    static constexpr bool rehearses = true;

    double weight(std::uint32_t i) const { return cells_[i].first; }

    // Without branches, so that many cells are looked at together.
    static bool sound(Cell c) {
        constexpr float most = std::numeric_limits<float>::max();
        return (std::abs(c.first) <= most) & (c.second >= 0) & (c.second <= most);
    }

    void count(std::uint64_t messages, std::uint64_t) { t_ = messages; }

    Errors learn(Features const& features, bool spam) {
        std::array<double, views> z;
        for (std::size_t v = 0; v < views; ++v) z[v] = sum(features[v]);
        return learn(features, spam, z);
    }

    // The same, for a message whose z are known from its score.
    Errors learn(Features const& features, bool spam, std::array<double, views> z) {
        ++t_;
        return step_all(features, spam, z);
    }

    // Learns a message that was learned before.
    void rehearse(Features const& features, bool spam) {
        std::array<double, views> z;
        for (std::size_t v = 0; v < views; ++v) z[v] = sum(features[v]);
        step_all(features, spam, z);
    }

    // Takes a message back about as it was learned: by the errors of that day, with today's steps.
    void take_back(Features const& features, bool, Errors const& errors) {
        for (std::size_t v = 0; v < views; ++v) {
            if (errors[v] == 0 || features[v].empty()) continue;
            double const g = errors[v] / std::sqrt(static_cast<double>(features[v].size()));
            for (auto const i : features[v]) {
                auto& [w, G] = cells_[i];
                w = static_cast<float>(w - rates[v] * g / std::sqrt(G + damping));
                G = static_cast<float>(std::max(0.0, G - g * g));
            }
        }
        if (t_ > 0) --t_;
    }

  private:
    Errors step_all(Features const& features, bool spam, std::array<double, views> z) {
        Errors errors{};
        bool changed = false;
        for (std::size_t v = 0; v < views; ++v) {
            if (features[v].empty()) continue;
            if (changed) z[v] = sum(features[v]);  // views share slots: an earlier view's step may have moved this z
            double const e = (spam ? 1.0 : 0.0) - sigmoid(z[v]);
            if (std::abs(e) < small_error) continue;
            step(features[v], e, rates[v]);
            errors[v] = e;
            changed = true;
        }
        return errors;
    }

    void step(Slots const& view, double e, double rate) {
        double const g = e / std::sqrt(static_cast<double>(view.size()));
        for (auto const i : view) {
            auto& cell = cells_[i];
            double const G = static_cast<double>(cell.second) + g * g;
            cell = {static_cast<float>(cell.first + rate * g / std::sqrt(G + damping)), static_cast<float>(G)};
        }
    }
};

// Naive Bayes over the same slots: w_i = log((s_i + 1/2) / (S + 1)) - log((h_i + 1/2) / (H + 1)), where s_i of S spam
// and h_i of H ham messages have slot i. Counts can be taken back, so forgetting is exact at once.
class CountLearner : public Table<CountLearner, std::uint32_t> {
  public:
    static constexpr bool rehearses = false;  // counts have no order

    double weight(std::uint32_t i) const {
        auto const [s, h] = cells_[i];
        if (s == 0 && h == 0) return 0;  // a slot that nobody has seen says nothing
        return log((s + .5) / (static_cast<double>(spam_) + 1)) - log((h + .5) / (static_cast<double>(t_ - spam_) + 1));
    }

    static bool sound(Cell) { return true; }

    void count(std::uint64_t messages, std::uint64_t spam) {
        if (spam > messages) throw std::invalid_argument("More spam than messages");
        t_ = messages;
        spam_ = spam;
    }

    Errors learn(Features const& features, bool spam, std::array<double, views> = {}) {
        for (std::size_t v = 0; v < views; ++v) {
            for (auto const i : features[v]) ++count_of(i, spam);
        }
        ++t_;
        spam_ += spam;
        return {1, 1, 1};
    }

    void rehearse(Features const&, bool) {}

    void take_back(Features const& features, bool spam, Errors const&) {
        for (std::size_t v = 0; v < views; ++v) {
            for (auto const i : features[v]) {
                auto& count = count_of(i, spam);
                if (count > 0) --count;
            }
        }
        if (t_ > 0) --t_;
        if (spam && spam_ > 0) --spam_;
    }

  private:
    std::uint32_t& count_of(std::uint32_t i, bool spam) { return spam ? cells_[i].first : cells_[i].second; }

    std::uint64_t spam_ = 0;
};

}  // namespace tallywise::spam
