// Rounds of the decomposition (see smo.hpp): which variables to work on, and what their steps do to all gradients.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/base/interrupt.hpp"
#include "core/base/parallel.hpp"
#include "core/base/relative_gap.hpp"
#include "core/kernels/block.hpp"
#include "core/kernels/row_cache.hpp"

namespace tallywise::kernels {

struct RoundOptions {
    double eps = 1e-3, gap = std::numeric_limits<double>::infinity();  // violation and relative gap to reach
    double elsewhere = 0;                                              // objective of variables that take no part
    std::size_t cache_bytes = 200'000'000;
    std::size_t block_bytes =
        200'000'000;  // rows of a block; unlike the cache's size, this decides which steps are made
    bool shrinking = true;
    bool keep_rows = false;  // even where values are cheap: rows serve several solutions
    std::int64_t max_steps = std::numeric_limits<std::int64_t>::max();
    std::function<void(std::int64_t, double, std::size_t)> progress;
};

// Rounds of blocks over the variables of `problem`, whose points are `points`; f = K b is kept in double and updated by
// rows in T. It ends when optimality is violated by at most `eps` and, as far as values in T can tell, the duality gap
// is at most `gap` of the objective. Variables that sit at a bound and are kept there by their gradient leave the round
// (shrinking); their f is then out of date, and the caller makes it anew.
template <class T>
class Round {
  public:
    Round(Kernel const& kernel, Points points, BoxProblem problem, std::vector<double> beta, std::vector<double> f,
          RoundOptions options, Team& team)
        : kernel_(kernel),
          points_(std::move(points)),
          problem_(std::move(problem)),
          beta_(std::move(beta)),
          f_(std::move(f)),
          options_(std::move(options)),
          team_(team),
          cache_(rows_in(options_.cache_bytes), points_.size()) {
        variable_ = Points::everything(problem_.size());
        result_ = beta_;
        calm_.assign(problem_.size(), 0);
    }

    struct Result {
        std::vector<double> beta, f;  // f as far as rows in T can tell, by variable; NaN for those that left
        std::int64_t steps = 0;
        double violation = 0;
    };

    // The same points with other bounds and another start. Rows stay in the cache, so this wants a round that does not
    // shrink. f is known at b; what the start changes is made up for with rows in T.
    void move_to(BoxProblem problem, std::vector<double> start, std::vector<double> const& b, std::vector<double> f) {
        problem_ = std::move(problem);
        beta_ = std::move(start);
        f_ = std::move(f);
        result_ = beta_;
        last_.clear();
        steps_ = 0;
        std::vector<double> change(points_.size(), 0.0);
        for (std::size_t t = 0; t < beta_.size(); ++t) change[problem_.point[t]] += beta_[t] - b[t];
        Ids moved;
        for (std::size_t i = 0; i < change.size(); ++i) {
            if (change[i] != 0) moved.push_back(static_cast<std::uint32_t>(i));
        }
        for (std::size_t first = 0; first < moved.size();) {
            std::size_t const count = std::min({moved.size() - first, cache_.capacity(), std::size_t{1024}});
            auto const part = std::span(moved).subspan(first, count);
            std::vector<double> steps;
            for (auto i : part) steps.push_back(change[i]);
            update(cache_.fetch(part, gram()), steps);
            first += count;
        }
    }

    // K b at a point, as far as rows in T can tell.
    double f(std::size_t point) const { return f_[point]; }
    double intercept() const {
        return optimality(problem_, beta_, [&](std::size_t t) { return gradient(t); }).intercept;
    }

    Result solve() {
        double const least = options_.eps / 64;  // rounding in T may keep the gap from closing
        double previous = std::numeric_limits<double>::infinity();
        int stalled = 0;
        for (std::size_t turn = 1;; ++turn) {
            Extremes const seen = extremes();
            violation_ = seen.violation();
            if (steps_ >= options_.max_steps) break;
            if (violation_ <= options_.eps) {
                if (options_.eps <= least || small_gap(seen)) break;
                options_.eps *= 0.5;
                continue;
            }
            // Rounding in T sets a floor: a violation that no longer falls is handed back for exact gradients.
            stalled = violation_ < previous * 0.999 ? 0 : stalled + 1;
            previous = std::min(previous, violation_);
            if (stalled > 50) break;
            if (options_.progress) options_.progress(steps_, violation_, problem_.size());
            check_interrupt();
            if (options_.shrinking && turn % 4 == 0) shrink(seen);
            if (!improve(select(seen))) break;
        }
        std::vector<double> f(result_.size(), std::numeric_limits<double>::quiet_NaN());
        for (std::size_t t = 0; t < variable_.size(); ++t) {
            result_[variable_[t]] = beta_[t];
            f[variable_[t]] = f_[problem_.point[t]];
        }
        return {result_, std::move(f), steps_, violation_};
    }

  private:
    Gram<T> const& gram() {
        if (!gram_) gram_ = std::make_unique<Gram<T>>(kernel_, points_, points_, team_, true);
        return *gram_;
    }

    double gradient(std::size_t t) const { return f_[problem_.point[t]] + problem_.linear[t]; }
    bool rises(std::size_t t) const { return beta_[t] < problem_.upper[t]; }
    bool falls(std::size_t t) const { return beta_[t] > problem_.lower[t]; }

    std::size_t rows_in(std::size_t bytes) const {
        std::size_t const least = std::max<std::size_t>(16, options_.block_bytes / row_bytes());
        return std::max(least, bytes / row_bytes());
    }

    std::size_t row_bytes() const { return sizeof(T) * std::max<std::size_t>(1, points_.size()); }

    std::size_t block_size() const {
        // With 512 at most, SVR on 8 columns takes 0.9 of the time, and a9a 1.3 times as long.
        std::size_t const wanted = std::clamp<std::size_t>(problem_.size() / 8, 128, 1024);
        // Rows are those of points, of which several variables may share one.
        std::size_t const rows = rows_in(options_.block_bytes);
        std::size_t const most = rows >= points_.size() ? problem_.size() : rows;
        return std::min({wanted, most, problem_.size()});
    }

    Extremes extremes() const {
        Extremes seen;
        for (std::size_t t = 0; t < problem_.size(); ++t) {
            double const g = gradient(t);
            if (rises(t)) seen.least_rising = std::min(seen.least_rising, g);
            if (falls(t)) seen.most_falling = std::max(seen.most_falling, g);
        }
        return seen;
    }

    // With z_t the gradient plus the intercept, the gap is sum_t z_t b_t - min over [lower, upper] of z_t b_t.
    bool small_gap(Extremes const& seen) const {
        if (!std::isfinite(options_.gap)) return true;
        double const intercept = -0.5 * (seen.least_rising + seen.most_falling);
        double gap = 0, objective = options_.elsewhere;
        for (std::size_t t = 0; t < problem_.size(); ++t) {
            double const g = gradient(t), z = g + intercept;
            gap += z * (beta_[t] - (z > 0 ? problem_.lower[t] : problem_.upper[t]));
            objective += 0.5 * beta_[t] * (g + problem_.linear[t]);
        }
        return relative_gap(gap - objective, -objective) <= options_.gap;
    }

    // Part of the block are the worst violators, the rest continues the last one (free variables first). Only variables
    // that violate come in: a row for one that does not is computed for nothing. Where rows are kept, fewer come in at
    // a time, and fewer of them in vain (mnist: 39 instead of 55 million values; 26 classes on 16 columns: 70 instead
    // of 96; SVR on 8 columns, values made in passing: 15 % more updates).
    Ids select(Extremes const& seen) {
        std::size_t const n = problem_.size(), q = block_size();
        std::size_t const fresh = std::min(q, std::max<std::size_t>(16, in_passing() ? q / 2 : q / 4));
        Ids chosen;
        std::vector<char> taken(n, 0);
        auto take = [&](std::uint32_t t) {
            if (taken[t]) return;
            taken[t] = 1;
            chosen.push_back(t);
        };
        // Without branches, which no processor foresees: a third of the time.
        rising_.resize(n);
        falling_.resize(n);
        std::size_t r = 0, d = 0;
        for (std::uint32_t t = 0; t < n; ++t) {
            double const g = gradient(t);
            rising_[r] = {g, t};
            r += static_cast<std::size_t>(rises(t) & (g < seen.most_falling));
            falling_[d] = {-g, t};
            d += static_cast<std::size_t>(falls(t) & (g > seen.least_rising));
        }
        r = keep_first(rising_, r, fresh);
        d = keep_first(falling_, d, fresh);
        for (std::size_t k = 0; chosen.size() < fresh && (k < r || k < d); ++k) {
            if (k < r) take(rising_[k].second);
            if (k < d && chosen.size() < fresh) take(falling_[k].second);
        }
        for (auto t : last_) {
            if (chosen.size() < q && rises(t) && falls(t)) take(t);
        }
        for (auto t : last_) {
            if (chosen.size() < q) take(t);
        }
        last_ = chosen;
        // In the order of memory: half of the time to gather a block's kernel values from rows that are in no cache.
        std::sort(chosen.begin(), chosen.end(), [&](auto a, auto b) {
            return problem_.point[a] != problem_.point[b] ? problem_.point[a] < problem_.point[b] : a < b;
        });
        return chosen;
    }

    // The least of the first `size`, in order, and how many they are.
    static std::size_t keep_first(std::vector<std::pair<double, std::uint32_t>>& these, std::size_t size,
                                  std::size_t wanted) {
        auto const begin = these.begin();
        std::size_t const count = std::min(size, wanted);
        if (count < size)
            std::nth_element(begin, begin + static_cast<std::ptrdiff_t>(count),
                             begin + static_cast<std::ptrdiff_t>(size));
        std::sort(begin, begin + static_cast<std::ptrdiff_t>(count));
        return count;
    }

    bool improve(Ids const& chosen) {
        std::size_t const q = chosen.size();
        Ids where(points_.size(), std::numeric_limits<std::uint32_t>::max()), wanted;
        for (auto t : chosen) {
            auto& at = where[problem_.point[t]];
            if (at == std::numeric_limits<std::uint32_t>::max()) {
                at = static_cast<std::uint32_t>(wanted.size());
                wanted.push_back(problem_.point[t]);
            }
        }
        bool const direct = in_passing();
        std::vector<std::uint32_t> slots;
        block_.resize(q);
        Ids columns(q);
        for (std::size_t k = 0; k < q; ++k) columns[k] = problem_.point[chosen[k]];
        if (direct) {
            make_block(columns);
        } else {
            slots = cache_.fetch(wanted, gram());
            gather(columns, [&](std::size_t k) { return cache_.row(slots[where[columns[k]]]); });
        }
        for (std::size_t k = 0; k < q; ++k) {
            auto const t = chosen[k];
            block_.g[k] = gradient(t);
            block_.beta[k] = beta_[t];
            block_.lower[k] = problem_.lower[t];
            block_.upper[k] = problem_.upper[t];
        }
        double const eps = std::max(0.5 * options_.eps, 0.1 * violation_);
        std::int64_t const steps = block_.solve(eps, options_.max_steps - steps_);
        steps_ += steps;
        std::vector<double> change(wanted.size(), 0.0);
        for (std::size_t k = 0; k < q; ++k) {
            auto const t = chosen[k];
            change[where[problem_.point[t]]] += block_.beta[k] - beta_[t];
            beta_[t] = block_.beta[k];
        }
        if (direct) {
            update_in_passing(wanted, change);
        } else {
            update(slots, change);
        }
        return steps > 0;
    }

    // Where values are cheap and rows long, to fetch a value takes longer than to make it again: no rows are kept, and
    // each block makes its own values and, as they pass, those of the variables that moved (SVR on 8 columns: 1.8 times
    // the values in half of the time; 54 columns and 4,300 points: 1.3 times the time of kept rows).
    bool in_passing() const {
        return !options_.keep_rows && !points_.sparse() && !kernel_.precomputed() && points_.effort() <= 32 &&
               points_.size() > 4096;
    }

    void make_block(Ids const& columns) {
        std::size_t const q = columns.size();
        Points const inside = points_.subset(columns);
        T* K = block_.K.data();
        Gram<T>(kernel_, inside, inside, team_)
            .tiles(Points::everything(q),
                   [&](std::size_t first, std::size_t count, std::size_t begin, std::size_t end, T const* tile) {
                       for (std::size_t r = 0; r < count; ++r) {
                           T const* from = tile + r * Gram<T>::chunk;
                           std::copy(from, from + (end - begin), K + (first + r) * q + begin);
                       }
                   });
    }

    void update_in_passing(Ids const& wanted, std::vector<double> const& change) {
        Ids moved;
        std::vector<double> c;
        for (std::size_t k = 0; k < change.size(); ++k) {
            if (change[k] == 0) continue;
            moved.push_back(wanted[k]);
            c.push_back(change[k]);
        }
        gram().tiles(
            moved, [&](std::size_t first, std::size_t count, std::size_t begin, std::size_t end, T const* tile) {
                add_tile(std::span<double const>(c).subspan(first, count), tile, f_.data() + begin, end - begin);
            });
    }

    // The block's kernel values, from rows that are in no cache: each is read once and written on both sides. (A matrix
    // that is given need not be symmetric.)
    template <class Row>
    void gather(Ids const& columns, Row&& row_of) {
        constexpr std::size_t panel = 64;
        std::size_t const q = columns.size();
        bool const both = !kernel_.precomputed();
        T* K = block_.K.data();
        team_.each_range(q, panel, [&](std::size_t begin, std::size_t end, std::size_t) {
            for (std::size_t first = both ? begin : 0; first < q; first += panel) {
                std::size_t const last = std::min(q, first + panel);
                for (std::size_t k = begin; k < end; ++k) {
                    T const* row = row_of(k);
                    for (std::size_t l = first; l < last; ++l) K[k * q + l] = row[columns[l]];
                }
                if (!both || first == begin) continue;
                for (std::size_t l = first; l < last; ++l) {
                    for (std::size_t k = begin; k < end; ++k) K[l * q + k] = K[k * q + l];
                }
            }
        });
    }

    // f += the changes times their rows.
    void update(std::vector<std::uint32_t> const& slots, std::vector<double> const& change) {
        std::vector<T const*> rows;
        std::vector<double> c;
        for (std::size_t k = 0; k < change.size(); ++k) {
            if (change[k] == 0) continue;
            rows.push_back(cache_.row(slots[k]));
            c.push_back(change[k]);
        }
        team_.each_range(f_.size(), 1024, [&](std::size_t begin, std::size_t end, std::size_t) {
            add_rows<T>(c, [&](std::size_t r) { return rows[r] + begin; }, f_.data() + begin, end - begin);
        });
    }

    // Drops variables that two visits in a row found at a bound with a gradient beyond all that could move them, once
    // they are a third of all.
    void shrink(Extremes const& seen) {
        std::size_t quiet = 0;
        for (std::size_t t = 0; t < problem_.size(); ++t) {
            double const g = gradient(t);
            bool const calm = (!falls(t) && g > seen.most_falling) || (!rises(t) && g < seen.least_rising);
            calm_[t] = calm ? static_cast<char>(std::min(calm_[t] + 1, 2)) : 0;
            quiet += calm_[t] == 2;
        }
        if (quiet * 3 < problem_.size() || problem_.size() - quiet < 64) return;
        std::vector<char> needed(points_.size(), 0);
        for (std::size_t t = 0; t < problem_.size(); ++t) {
            if (calm_[t] < 2) needed[problem_.point[t]] = 1;
        }
        Ids kept, place(points_.size());
        for (std::size_t i = 0; i < needed.size(); ++i) {
            place[i] = static_cast<std::uint32_t>(kept.size());
            if (needed[i]) kept.push_back(static_cast<std::uint32_t>(i));
        }
        BoxProblem smaller;
        Ids variable;
        std::vector<double> beta, f;
        for (auto i : kept) f.push_back(f_[i]);
        for (std::size_t t = 0; t < problem_.size(); ++t) {
            result_[variable_[t]] = beta_[t];
            if (calm_[t] == 2) {
                options_.elsewhere += 0.5 * beta_[t] * (gradient(t) + problem_.linear[t]);
                continue;
            }
            smaller.push(place[problem_.point[t]], problem_.linear[t], problem_.lower[t], problem_.upper[t]);
            variable.push_back(variable_[t]);
            beta.push_back(beta_[t]);
        }
        gram_.reset();  // it looks at the points
        points_ = points_.subset(kept);
        problem_ = std::move(smaller);
        variable_ = std::move(variable);
        beta_ = std::move(beta);
        f_ = std::move(f);
        calm_.assign(problem_.size(), 0);
        last_.clear();
        cache_.compact(kept, rows_in(options_.cache_bytes));
    }

    Kernel const& kernel_;
    Points points_;
    BoxProblem problem_;
    std::vector<double> beta_, f_;
    RoundOptions options_;
    Team& team_;
    RowCache<T> cache_;
    std::unique_ptr<Gram<T>> gram_;
    Block<T> block_;
    Ids variable_, last_;  // variable_: the caller's number of each variable still here
    std::vector<std::pair<double, std::uint32_t>> rising_, falling_;  // that violate, by gradient
    std::vector<double> result_;
    std::vector<char> calm_;
    std::int64_t steps_ = 0;
    double violation_ = 0;
};

}  // namespace tallywise::kernels
