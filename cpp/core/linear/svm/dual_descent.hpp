// Linear models by coordinate descent in the dual: the way for losses with kinks on wide, sparse data.
//
//   minimise  P(w) = 1/2 |w|^2 + sum_i s_i l(y_i, x_i'w)
//   maximise  D(b) = -1/2 |w|^2 - sum_i s_i l*(y_i, -b_i / s_i),   w = sum_i b_i x_i
//
// given the rows of X and a loss that can `ascend`; an intercept is one more entry of every row. Comes back with w, b
// and both values. Because w is made of b, the gap is a sum of one nonnegative term a row,
//
//   P - D = sum_i  s_i l(y_i, z_i) + s_i l*(y_i, -b_i / s_i) + b_i z_i,   z_i = x_i'w,
//
// which a sweep sees as it goes. Outer loop: a pass over all rows gives the exact gap and the rows that are not firmly
// held where they are (at a bound, or at the kink of epsilon). Inner loop: sweeps over these in random order, dropping
// rows as they come to be held, until what the sweep has seen of the gap is small enough.
//
// Where sweeps would be many more, free variables take a step together in between (face_step.hpp).
//
// Several problems on the same rows go in lanes, side by side: a row of X is read once for all, and their weights of a
// feature share a cache line. A row stays in the sweep while any lane wants it, and then every lane takes a step.
//
// A free intercept asks for sum_i b_i = 0, which no single coordinate can keep. The method of multipliers has it as the
// limit of penalised intercepts, each centred on the last: z_i = x_i'w + c v + centre, with the centre moved by c v
// whenever a problem is nearly solved. The gap then is that of b with its heavier sign scaled down to balance.
//
// Hsieh, Chang, Lin, Keerthi, Sundararajan, A dual coordinate descent method for large-scale linear SVM (ICML 2008);
// Ho, Lin, Large-scale linear support vector regression (JMLR 13, 2012).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/base/relative_gap.hpp"
#include "core/data/design.hpp"
#include "core/data/row_lanes.hpp"
#include "core/linear/balance.hpp"
#include "core/linear/distinct_rows.hpp"
#include "core/linear/losses.hpp"
#include "core/linear/svm/face_step.hpp"
#include "core/linear/svm/pace.hpp"

namespace tallywise::linear::svm {

struct DualOptions {
    double tol = 1e-4;  // relative gap
    int max_iter = 1000;
    double intercept_scale = 0;   // the entry that every row has for its intercept; 0 for none
    bool free_intercept = false;  // whether the intercept escapes the penalty
    std::uint64_t seed = 0;
    bool quick = false;  // whether bounds may come from weights that rounding has moved, for a tol far above it
};

// Weights, variables and targets in single precision halve what a row costs; good for a loose tol, and for losses whose
// bounds are exact in it.
template <class Rows, class Loss, std::size_t L, class Weight = double>
class DualDescent {
    using Row = std::array<double, L>;
    using Lines = RowLanes<Rows, L, Weight>;

  public:
    // y and s hold L numbers a row, q = squared_lengths(X) one, `order` the rows that count; they live as long as the
    // solver. The first `lanes` lanes are problems, the others are empty.
    DualDescent(Team& team, Rows const& X, std::vector<std::uint32_t> const& order, Loss const& loss, Weight const* y,
                Weight const* s, double const* q, std::size_t lanes, DualOptions const& options)
        : team_(team),
          X_(X),
          order_(order),
          loss_(loss),
          options_(options),
          y_(y),
          s_(s),
          q_(q),
          b_(X.lines * L, Weight(0)),
          w_((X.width + 1) * L, Weight(0)),
          random_{options.seed},
          lanes_(lanes) {
        active_.reserve(order.size());
        for (std::size_t l = 0; l < L; ++l) lane_[l].done = l >= lanes;
    }

    // Begins at dual variables near the solution, variable(row, lane): at the multiple t of them with the largest D,
    //   D(t b) = t sum_i |b_i| - t^2 / 2 (|w|^2 + sum_i b_i^2 / (2 s_i)).
    template <class F>
        requires std::is_same_v<Loss, SquaredHinge>
    void begin_at(F&& variable) {
        Row linear{}, square{};
        for (std::uint32_t const i : order_) {
            for (std::size_t l = 0; l < lanes_; ++l) {
                std::size_t const at = i * L + l;
                double const b = variable(i, l);
                if (s_[at] <= 0 || b * y_[at] <= 0) continue;
                b_[at] = static_cast<Weight>(b);
                linear[l] += std::abs(b);
                square[l] += b * b / (2 * s_[at]);
            }
        }
        rebuild();
        Row multiple{};
        for (std::size_t l = 0; l < lanes_; ++l) {
            for (std::size_t j = 0; j <= X_.width; ++j) square[l] += weight(l, j) * weight(l, j);
            multiple[l] = square[l] > 0 ? linear[l] / square[l] : 0.0;
        }
        for (std::uint32_t const i : order_) {
            for (std::size_t l = 0; l < lanes_; ++l) b_[i * L + l] *= static_cast<Weight>(multiple[l]);
        }
        for (std::size_t j = 0; j <= X_.width; ++j) {
            for (std::size_t l = 0; l < lanes_; ++l) w_[j * L + l] *= static_cast<Weight>(multiple[l]);
        }
        begun_ = true;
        steps_ += 1;
    }

    // Goes on from a lane of another solver.
    template <std::size_t M, class Other>
    void adopt(DualDescent<Rows, Loss, M, Other> const& other, std::size_t lane) {
        static_assert(L == 1);
        for (std::size_t i = 0; i < b_.size(); ++i) b_[i] = static_cast<Weight>(other.b_[i * M + lane]);
        for (std::size_t j = 0; j < w_.size(); ++j) w_[j] = static_cast<Weight>(other.w_[j * M + lane]);
        auto const& from = other.lane_[lane];
        lane_[0] = {from.reach, from.goal,   from.centre, from.primal, from.dual,
                    0.0,        from.sweeps, from.done,   from.proven, from.largest};
        sweeps_ = other.sweeps_;
        begun_ = other.begun_;
        // Steps in a coarser precision count for as many more.
        steps_ = other.steps_ * static_cast<double>(std::numeric_limits<Other>::epsilon()) /
                 static_cast<double>(std::numeric_limits<Weight>::epsilon());
    }

    // Whether too few lanes want the same rows for going side by side to be worth it.
    bool thin() const { return thin_; }
    bool done(std::size_t lane) const { return lane_[lane].done; }
    bool done() const {
        return std::all_of(lane_.begin(), lane_.end(), [](Lane const& lane) { return lane.done; });
    }

    // Works until done or until about `budget` entries of X have been read. A solve is the same however it is cut.
    void advance(std::size_t budget) {
        std::size_t spent = 0;
        while (!done() && !thin_ && spent < budget) {
            if (wants_pass()) {
                certify();
                spent += X_.nonzeros();
            } else {
                spent += sweep();
            }
        }
    }

    // The same by hand, for what passes over all rows with several solvers at once (dual_bundle.hpp): sweeps until a
    // pass is due, scores of a row as the pass finds them (the intercept is added here), and what follows from them.
    std::size_t sweep_until_pass() {
        std::size_t spent = 0;
        while (!wants_pass()) spent += sweep();
        return spent;
    }
    void take_score(std::size_t i, double z) {
        static_assert(L == 1 && std::is_same_v<Weight, double>);
        z_[i] = z + intercept();
    }
    void begin_pass() { z_.resize(X_.lines * L); }
    void end_pass() { certify(true); }

    std::size_t lanes() const { return lanes_; }
    double variable(std::size_t lane, std::size_t i) const { return static_cast<double>(b_[i * L + lane]); }
    // Scores of a row of X, or of other rows with the same columns, one a problem.
    void write_scores(Rows const& rows, std::size_t i, double* z) const {
        Row const scores = score(rows, i);
        std::copy_n(scores.begin(), lanes_, z);
    }

    Weight const* weights() const { return w_.data(); }  // L a column, then those of the intercepts
    double weight(std::size_t lane, std::size_t j) const { return static_cast<double>(w_[j * L + lane]); }
    double intercept(std::size_t lane = 0) const {
        return lane_[lane].centre + options_.intercept_scale * weight(lane, X_.width);
    }
    double primal(std::size_t lane = 0) const { return lane_[lane].primal; }
    double dual(std::size_t lane = 0) const { return lane_[lane].dual; }
    int iterations(std::size_t lane = 0) const { return lane_[lane].sweeps; }

  private:
    static constexpr double rounding = 64 * std::numeric_limits<double>::epsilon();
    static constexpr double thinnest = 2.0;  // lanes a row
    static constexpr bool steps_together = L == 1 && std::is_same_v<Weight, double>;

    // What a problem knows of itself.
    struct Lane {
        double reach = 0, goal = 0, centre = 0, primal = 0, dual = -infinity, shift = 0;
        int sweeps = 0;
        bool done = false, proven = true;  // proven: `dual` is from weights that have not strayed from b
        double largest = 0;                // square of the weights, as large as it was seen
    };

    Row score(std::size_t i) const { return score(X_, i); }
    Row score(Rows const& rows, std::size_t i) const {
        Row z;
        Lines::dot(rows, i, w_.data(), z.data());
        for (std::size_t l = 0; l < L; ++l) z[l] += intercept(l);
        return z;
    }

    double conjugate(std::size_t at, double b) const { return weighted_conjugate(loss_, s_[at], y_[at], -b); }
    // What the variable adds to its row's gap; most are 0, and so is l*(y, 0).
    double dual_part(std::size_t at, double z) const {
        double const b = static_cast<double>(b_[at]);
        return b == 0 ? 0.0 : conjugate(at, b) + b * z;
    }
    double row_gap(std::size_t at, double z) const { return s_[at] * loss_.value(y_[at], z) + dual_part(at, z); }
    double best(std::size_t i, std::size_t l, double z) const {
        return loss_.ascend(y_[i * L + l], s_[i * L + l], q_[i], z, b_[i * L + l]);
    }

    // Whether the variable would stay where it is even if the score moved by `reach` either way.
    bool held(std::size_t i, std::size_t l, double z) const {
        double const b = b_[i * L + l], reach = lane_[l].reach;
        return best(i, l, z - reach) == b && best(i, l, z + reach) == b;
    }

    bool wants_pass() const { return active_.empty() || quiet_; }

    // The exact gaps, and the rows to sweep over next; the scores may be known.
    void certify(bool known = false) {
        Row loss{}, gap{};
        Row primal = measure(loss, gap, known);
        // What is reported is from weights that are made of b itself, unless the sum of all steps is as good.
        bool again = false;
        for (std::size_t l = 0; l < L; ++l) {
            bool const ends = sweeps_ >= options_.max_iter || solved(primal[l], primal[l] - gap[l]);
            again |= !lane_[l].done && ends && strayed(l, primal[l]);
        }
        if (again && !options_.quick) {
            rebuild();
            primal = measure(loss, gap);
        }
        for (std::size_t l = 0; l < L; ++l) {
            if (!lane_[l].done) judge(l, primal[l], gap[l]);
        }
        pace_.judge(gap[0]);
        wake();
        // All is still, and yet a gap is there: rows were dropped too soon, or rounding is all that is left.
        if (active_.empty()) {
            for (Lane& lane : lane_) lane.reach = 0;
            wake();
        }
        // Every variable at a bound and yet out of balance: the intercept goes on until a row comes loose.
        for (int k = 0; k < 60 && active_.empty() && push(); ++k) wake();
        for (Lane& lane : lane_) {
            lane.done |= active_.empty();
            if (lane.done) lane.centre -= lane.shift;
            lane.shift = 0;
        }
        quiet_ = false;
    }

    // Sums of losses and of the rows' gaps; gives the objectives.
    Row measure(Row& loss, Row& gap, bool known = false) {
        loss = gap = Row{};
        z_.resize(X_.lines * L);
        auto const add = [&](std::size_t i, Row const& z) {
            for (std::size_t l = 0; l < L; ++l) {
                std::size_t const at = i * L + l;
                z_[at] = static_cast<Weight>(z[l]);
                double const value = s_[at] * loss_.value(y_[at], z[l]);
                loss[l] += value;
                gap[l] += value + dual_part(at, z[l]);
            }
        };
        if (begun_ && !known) {
            each_row(X_, order_, [&](std::size_t i) { add(i, score(i)); });
        } else {
            for (std::uint32_t const i : order_) {
                Row z{};  // all weights are 0 at the start
                for (std::size_t l = 0; l < L && known; ++l) z[l] = static_cast<double>(z_[i * L + l]);
                add(i, z);
            }
        }
        Row square{}, primal;
        if constexpr (L == 1 && std::is_same_v<Weight, double>) {
            square[0] = tallywise::dot(w_.data(), w_.data(), X_.width);
        } else {
            for (std::size_t j = 0; j < X_.width; ++j) {
                for (std::size_t l = 0; l < L; ++l) square[l] += weight(l, j) * weight(l, j);
            }
        }
        for (std::size_t l = 0; l < L; ++l) {
            double const v = weight(l, X_.width), v2 = v * v;
            lane_[l].largest = std::max(lane_[l].largest, square[l] + v2);
            primal[l] = 0.5 * square[l] + loss[l] + (options_.free_intercept ? 0.0 : 0.5 * v2);
        }
        return primal;
    }

    // Whether w, a sum of many steps, may be so far from the sum of b_i x_i that a bound counts on it: each step rounds
    // by at most half a unit in the last place of weights as large as they were.
    bool strayed(std::size_t l, double primal) const {
        double const drift = std::numeric_limits<Weight>::epsilon() * steps_ * lane_[l].largest;
        return drift > 1e-3 * options_.tol * std::abs(primal);
    }

    void rebuild() {
        std::fill(w_.begin(), w_.end(), Weight(0));
        for (std::uint32_t const i : order_) {
            Row b;
            for (std::size_t l = 0; l < L; ++l) b[l] = variable(l, i);
            if (std::all_of(b.begin(), b.end(), [](double x) { return x == 0; })) continue;
            for (std::size_t l = 0; l < L; ++l) add_intercept(l, b[l]);
            Lines::axpy(X_, i, b.data(), w_.data());
        }
        steps_ = 0;
    }

    void add_intercept(std::size_t l, double step) {
        w_[X_.width * L + l] += static_cast<Weight>(options_.intercept_scale * step);
    }

    bool solved(double primal, double dual) const {
        return relative_gap(primal, dual) <= std::max(options_.tol, rounding);
    }

    void judge(std::size_t l, double primal, double gap) {
        Lane& lane = lane_[l];
        double const v = weight(l, X_.width);
        bool const far = strayed(l, primal);
        lane.primal = primal;
        double const whole = options_.free_intercept ? lane.primal - balanced_dual(l) : gap;
        // Bounds from weights that have strayed do not count, but for where to go from here.
        if (far || !lane.proven) lane.dual = -infinity;
        lane.proven = !far;
        lane.dual = std::max(lane.dual, lane.primal - whole);
        lane.sweeps = sweeps_;
        lane.done = solved(lane.primal, lane.dual) || sweeps_ >= options_.max_iter;
        double const goal = 0.5 * options_.tol * std::abs(lane.primal);
        if (options_.free_intercept && gap <= std::max(goal, 0.1 * whole)) {
            lane.shift = options_.intercept_scale * v;
            lane.centre += lane.shift;
        }
        lane.goal = std::max(goal, 0.1 * (lane.shift == 0 ? gap : whole));
    }

    void wake() {
        active_.clear();
        for (std::uint32_t const i : order_) {
            bool still = true;
            for (std::size_t l = 0; l < L && still; ++l) {
                still = lane_[l].done || held(i, l, z_[i * L + l] + lane_[l].shift);
            }
            if (!still) active_.push_back(i);
        }
    }

    // Moves the centres of problems that are not done by as much again; false when none moves.
    bool push() {
        bool any = false;
        for (Lane& lane : lane_) {
            if (lane.done || lane.shift == 0) continue;
            lane.centre += lane.shift;
            lane.shift *= 2;
            any = true;
        }
        return any;
    }

    // D at b, balanced.
    double balanced_dual(std::size_t l) {
        Balance balance;
        for (std::uint32_t const i : order_) balance.add(b_[i * L + l]);
        std::vector<double> w(X_.width);
        for (std::size_t j = 0; j < X_.width; ++j) w[j] = weight(l, j);
        double dual = 0;
        for (std::uint32_t const i : order_) {
            double const b = b_[i * L + l], balanced = balance(b);
            if (balanced != b) X_.axpy(i, balanced - b, w.data());
            dual -= conjugate(i * L + l, balanced);
        }
        return dual - 0.5 * tallywise::dot(w.data(), w.data(), w.size());
    }

    // One step for every active row. Gives the number of entries read.
    std::size_t sweep() {
        Row seen{}, moved{}, met{};
        std::size_t read = 0, kept = 0;
        std::size_t const count = active_.size();
        random_.shuffle(active_);
        each_row(X_, active_, [&](std::size_t i) {
            Row const z = score(i);
            Row step{};
            bool any = false, still = sweeps_ > 0;
            for (std::size_t l = 0; l < L; ++l) {
                if (lane_[l].done) continue;
                std::size_t const at = i * L + l;
                seen[l] += row_gap(at, z[l]);
                double const before = variable(l, i);
                b_[at] = static_cast<Weight>(best(i, l, z[l]));
                step[l] = variable(l, i) - before;
                any |= step[l] != 0;
                moved[l] += std::abs(step[l]) * q_[i];
                bool const here = step[l] == 0 && held(i, l, z[l]);
                met[l] += here ? 0.0 : 1.0;
                still &= here;
            }
            read += X_.length(i);
            if (any) {
                for (std::size_t l = 0; l < L; ++l) add_intercept(l, step[l]);
                Lines::axpy(X_, i, step.data(), w_.data());
                read += X_.length(i);
            }
            if (!still) active_[kept++] = static_cast<std::uint32_t>(i);
        });
        active_.resize(kept);
        ++sweeps_;
        begun_ = true;
        quiet_ = true;
        steps_ += static_cast<double>(count);
        for (std::size_t l = 0; l < L; ++l) {
            if (lane_[l].done) continue;
            // Twice the mean movement: rows dropped too soon come back with the next pass, so be quick. The largest
            // movement instead costs 1.3 to 1.5 times as much on 20 newsgroups.
            lane_[l].reach = met[l] > 0 ? 2 * moved[l] / met[l] : 0.0;
            quiet_ &= seen[l] <= lane_[l].goal || sweeps_ >= options_.max_iter;
        }
        if constexpr (steps_together) {
            if (!quiet_ && !active_.empty() && pace_.slow(seen[0], 0.5 * options_.tol * std::abs(lane_[0].primal))) {
                read += step_together(seen[0]);
            }
        }
        if constexpr (L > 1) {
            double want = 0;
            for (double m : met) want += m;
            thin_ = want < thinnest * static_cast<double>(count);
        }
        return read + 8 * count;
    }

    // Gives the number of entries read.
    std::size_t step_together(double seen) {
        FaceStep<Rows, Loss> face(team_, {X_, loss_, y_, s_, q_, options_.intercept_scale, lane_[0].centre, b_, w_},
                                  active_);
        double const goal = std::max(0.05 * seen, 0.25 * options_.tol * std::abs(lane_[0].primal));
        int const products = face.take(goal, pace_.most());
        quiet_ = face.reached();
        pace_.took(products);
        ++sweeps_;
        steps_ += static_cast<double>(active_.size());
        std::size_t entries = 0;
        for (std::uint32_t const i : active_) entries += X_.length(i);
        return 2 * entries * static_cast<std::size_t>(products);
    }

    template <class, class, std::size_t, class>
    friend class DualDescent;

    Team& team_;
    Rows const& X_;
    std::vector<std::uint32_t> const& order_;
    Loss loss_;
    DualOptions options_;
    Weight const *y_, *s_;
    double const* q_;
    std::vector<Weight> b_, z_, w_;
    std::vector<std::uint32_t> active_;
    std::array<Lane, L> lane_;
    SplitMix random_;
    Pace pace_;
    std::size_t lanes_;
    int sweeps_ = 0;
    double steps_ = 0;  // added to w since it was made of b
    bool begun_ = false, quiet_ = false, thin_ = false;
};

}  // namespace tallywise::linear::svm
