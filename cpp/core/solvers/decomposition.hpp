// The inner loops of the decomposition (see smo.hpp): a block of kernel rows in a bounded cache, two-variable steps
// inside a block, and rounds of blocks over the active variables.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "core/gram.hpp"
#include "core/interrupt.hpp"
#include "core/parallel.hpp"

namespace tallywise {

// minimise 1/2 sum_st b_s b_t K[point_s, point_t] + sum_t linear_t b_t
// subject to lower <= b <= upper, sum_t b_t = 0.
//
// SVC has one variable a sample, y_i alpha_i: linear -y_i, bounds [0, C_i] or [-C_i, 0]. SVR has two, for residuals
// above and below: linear epsilon - y_i on [0, C_i] and -epsilon - y_i on [-C_i, 0], both at the sample's point.
struct BoxProblem {
    Ids point;
    std::vector<double> linear, lower, upper;

    std::size_t size() const { return point.size(); }

    void push(std::uint32_t at, double l, double low, double high) {
        point.push_back(at);
        linear.push_back(l);
        lower.push_back(low);
        upper.push_back(high);
    }
};

// With g the gradient, b is optimal when g_s >= g_t for every s that may rise and t that may fall, s over t.
struct Extremes {
    double least_rising = std::numeric_limits<double>::infinity();
    double most_falling = -std::numeric_limits<double>::infinity();
    double violation() const { return std::max(0.0, most_falling - least_rising); }
};

// Kernel rows of the working sets, least recently used out first.
template <class T>
class RowCache {
  public:
    RowCache(std::size_t capacity, std::size_t points)
        : capacity_(std::min(capacity, points)), length_(points), slot_of_(points, none) {}

    std::size_t capacity() const { return capacity_; }
    T const* row(std::size_t slot) const { return rows_[slot].data(); }

    // The slots of these points (distinct, at most capacity), computing the rows that are missing.
    std::vector<std::uint32_t> fetch(std::span<std::uint32_t const> wanted, Gram<T> const& gram) {
        ++now_;
        Ids missing;
        for (auto p : wanted) {
            if (slot_of_[p] == none) {
                missing.push_back(p);
            } else {
                stamp_[slot_of_[p]] = now_;
            }
        }
        Ids places = make_room(missing.size());
        for (std::size_t k = 0; k < missing.size(); ++k) {
            if (owner_[places[k]] != none) slot_of_[owner_[places[k]]] = none;
            owner_[places[k]] = missing[k];
            slot_of_[missing[k]] = places[k];
            stamp_[places[k]] = now_;
        }
        gram.tiles(missing,
                   [&](std::size_t first, std::size_t count, std::size_t begin, std::size_t end, T const* tile) {
                       for (std::size_t r = 0; r < count; ++r) {
                           T const* from = tile + r * Gram<T>::chunk;
                           std::copy(from, from + (end - begin), rows_[places[first + r]].data() + begin);
                       }
                   });
        std::vector<std::uint32_t> slots(wanted.size());
        for (std::size_t k = 0; k < wanted.size(); ++k) slots[k] = slot_of_[wanted[k]];
        return slots;
    }

    // Keeps these points (rising), in rows and in columns.
    void compact(std::span<std::uint32_t const> kept, std::size_t capacity) {
        Ids new_of(slot_of_.size(), none);
        for (std::size_t k = 0; k < kept.size(); ++k) new_of[kept[k]] = static_cast<std::uint32_t>(k);
        std::size_t filled = 0;
        for (std::size_t slot = 0; slot < owner_.size(); ++slot) {
            if (owner_[slot] == none || new_of[owner_[slot]] == none) continue;
            auto& row = rows_[slot];
            for (std::size_t k = 0; k < kept.size(); ++k) row[k] = row[kept[k]];
            row.resize(kept.size());
            row.shrink_to_fit();
            std::swap(rows_[filled], row);
            owner_[filled] = new_of[owner_[slot]];
            stamp_[filled] = stamp_[slot];
            ++filled;
        }
        rows_.resize(filled);
        owner_.resize(filled);
        stamp_.resize(filled);
        capacity_ = std::max(filled, std::min(capacity, kept.size()));
        length_ = kept.size();
        slot_of_.assign(kept.size(), none);
        for (std::size_t slot = 0; slot < filled; ++slot) slot_of_[owner_[slot]] = static_cast<std::uint32_t>(slot);
    }

  private:
    static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

    Ids make_room(std::size_t count) {
        Ids places;
        while (places.size() < count && owner_.size() < capacity_) {
            places.push_back(static_cast<std::uint32_t>(owner_.size()));
            owner_.push_back(none);
            stamp_.push_back(now_);
            rows_.emplace_back(length_);
        }
        if (places.size() < count) {
            Ids order;
            for (std::size_t slot = 0; slot < owner_.size(); ++slot) {
                if (stamp_[slot] != now_) order.push_back(static_cast<std::uint32_t>(slot));
            }
            std::sort(order.begin(), order.end(),
                      [&](auto a, auto b) { return stamp_[a] != stamp_[b] ? stamp_[a] < stamp_[b] : a < b; });
            for (std::size_t k = 0; places.size() < count; ++k) places.push_back(order[k]);
        }
        return places;
    }

    std::size_t capacity_ = 0, length_ = 0;
    std::vector<std::vector<T>> rows_;
    Ids slot_of_, owner_;
    std::vector<std::uint32_t> stamp_;
    std::uint32_t now_ = 0;
};

// Two-variable steps inside a block until its violation is at most `eps`: the first variable is the one whose gradient
// is least, the second the one that gains most with it (Fan, Chen & Lin 2005, WSS 2).
template <class T>
class Block {
  public:
    std::vector<T> K;  // q x q
    std::vector<double> g, beta, lower, upper;

    void resize(std::size_t q) {
        q_ = q;
        K.resize(q * q);
        for (auto* v : {&g, &beta, &lower, &upper, &closed_up_, &closed_down_}) v->resize(q);
        score_.resize(q);
        open_.resize(q);
        diagonal_.resize(q);
    }

    long solve(double eps, long most) {
        for (std::size_t k = 0; k < q_; ++k) {
            diagonal_[k] = static_cast<float>(K[k * q_ + k]);
            mark(k);
        }
        Extremes seen;
        for (std::size_t k = 0; k < q_; ++k) note(seen, k);
        long steps = 0;
        for (; steps < most && seen.violation() > eps; ++steps) {
            std::size_t const i = find_least(seen.least_rising);
            std::size_t const j = partner(i, seen.least_rising);
            if (j == q_) break;
            double const curvature = static_cast<double>(K[i * q_ + i]) + static_cast<double>(K[j * q_ + j]) -
                                     2.0 * static_cast<double>(K[i * q_ + j]);
            double step = (g[j] - g[i]) / std::max(curvature, tiny);
            double const up = upper[i] - beta[i], down = beta[j] - lower[j];
            if (step >= up || step >= down) step = std::min(up, down);
            beta[i] = step >= up ? upper[i] : beta[i] + step;
            beta[j] = step >= down ? lower[j] : beta[j] - step;
            mark(i);
            mark(j);
            seen = move(K.data() + i * q_, K.data() + j * q_, step);
        }
        return steps;
    }

  private:
    static constexpr double tiny = 1e-12;

    void mark(std::size_t k) {
        constexpr double inf = std::numeric_limits<double>::infinity();
        closed_up_[k] = beta[k] < upper[k] ? 0 : inf;
        closed_down_[k] = beta[k] > lower[k] ? 0 : -inf;
        open_[k] = beta[k] > lower[k] ? 1.0F : 0.0F;
    }

    void note(Extremes& seen, std::size_t k) const {
        seen.least_rising = std::min(seen.least_rising, g[k] + closed_up_[k]);
        seen.most_falling = std::max(seen.most_falling, g[k] + closed_down_[k]);
    }

    std::size_t find_least(double least) const {
        for (std::size_t k = 0; k < q_; ++k) {
            if (g[k] + closed_up_[k] == least) return k;
        }
        return 0;
    }

    // Scores in single precision: they only choose.
    std::size_t partner(std::size_t i, double gi) {
        T const* row = K.data() + i * q_;
        float const di = diagonal_[i];
        float best = 0;
#pragma omp simd reduction(max : best)
        for (std::size_t k = 0; k < q_; ++k) {
            float const rise = std::max(static_cast<float>(g[k] - gi), 0.0F) * open_[k];
            float const curvature = di + diagonal_[k] - 2 * static_cast<float>(row[k]);
            float const gain = rise * rise / std::max(curvature, 1e-12F);
            score_[k] = gain;
            best = std::max(best, gain);
        }
        if (!(best > 0)) return q_;
        for (std::size_t k = 0; k < q_; ++k) {
            if (score_[k] == best) return k;
        }
        return q_;
    }

    Extremes move(T const* Ki, T const* Kj, double step) {
        double least = std::numeric_limits<double>::infinity(), most = -least;
#pragma omp simd reduction(min : least) reduction(max : most)
        for (std::size_t k = 0; k < q_; ++k) {
            g[k] += step * (static_cast<double>(Ki[k]) - static_cast<double>(Kj[k]));
            least = std::min(least, g[k] + closed_up_[k]);
            most = std::max(most, g[k] + closed_down_[k]);
        }
        return {least, most};
    }

    std::size_t q_ = 0;
    std::vector<double> closed_up_, closed_down_;
    std::vector<float> score_, open_, diagonal_;
};

// Rounds of blocks over the variables of `problem`, whose points are `points`; f = K b is kept in double and updated by
// rows in T. Variables that sit at a bound and are kept there by their gradient leave the round (shrinking); their f is
// then out of date, and the caller makes it anew.
template <class T>
class Round {
  public:
    struct Options {
        double eps = 1e-3;
        std::size_t cache_bytes = 200'000'000;
        bool shrinking = true;
        long max_steps = std::numeric_limits<long>::max();
        std::function<void(long, double, std::size_t)> progress;
    };

    Round(Kernel const& kernel, Points points, BoxProblem problem, std::vector<double> beta, std::vector<double> f,
          Options options, Team& team)
        : kernel_(kernel),
          points_(std::move(points)),
          problem_(std::move(problem)),
          beta_(std::move(beta)),
          f_(std::move(f)),
          options_(std::move(options)),
          team_(team),
          cache_(capacity(), points_.size()) {
        variable_ = Points::everything(problem_.size());
        result_ = beta_;
        calm_.assign(problem_.size(), 0);
    }

    struct Result {
        std::vector<double> beta;
        long steps = 0;
        double violation = 0;
    };

    Result solve() {
        auto gram = std::make_unique<Gram<T>>(kernel_, points_, points_, team_, true);
        double previous = std::numeric_limits<double>::infinity();
        int stalled = 0;
        for (std::size_t turn = 1;; ++turn) {
            Extremes const seen = extremes();
            violation_ = seen.violation();
            if (violation_ <= options_.eps || steps_ >= options_.max_steps) break;
            // Rounding in T sets a floor: a violation that no longer falls is handed back for exact gradients.
            stalled = violation_ < previous * 0.999 ? 0 : stalled + 1;
            previous = std::min(previous, violation_);
            if (stalled > 50) break;
            if (options_.progress) options_.progress(steps_, violation_, problem_.size());
            check_interrupt();
            if (options_.shrinking && turn % 4 == 0 && shrink(seen)) {
                gram = std::make_unique<Gram<T>>(kernel_, points_, points_, team_, true);
            }
            if (!improve(select(seen), *gram)) break;
        }
        for (std::size_t t = 0; t < variable_.size(); ++t) result_[variable_[t]] = beta_[t];
        return {std::move(result_), steps_, violation_};
    }

  private:
    double gradient(std::size_t t) const { return f_[problem_.point[t]] + problem_.linear[t]; }
    bool rises(std::size_t t) const { return beta_[t] < problem_.upper[t]; }
    bool falls(std::size_t t) const { return beta_[t] > problem_.lower[t]; }

    std::size_t capacity() const {
        return std::max<std::size_t>(16, options_.cache_bytes / (sizeof(T) * std::max<std::size_t>(1, points_.size())));
    }

    std::size_t block_size() const {
        std::size_t const wanted = std::clamp<std::size_t>(problem_.size() / 8, 128, 1024);
        // The cache holds points, of which several variables may share one.
        std::size_t const most = cache_.capacity() >= points_.size() ? problem_.size() : cache_.capacity();
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

    // Half of the block continues the last one (free variables first); the other half are the worst violators. Only
    // variables that violate come in: a row for one that does not is computed for nothing.
    Ids select(Extremes const& seen) {
        std::size_t const q = block_size();
        Ids chosen;
        std::vector<char> taken(problem_.size(), 0);
        auto take = [&](std::uint32_t t) {
            if (taken[t]) return;
            taken[t] = 1;
            chosen.push_back(t);
        };
        Ids rising, falling;
        std::vector<double> g(problem_.size());
        for (std::size_t t = 0; t < problem_.size(); ++t) {
            g[t] = gradient(t);
            if (rises(t) && g[t] < seen.most_falling) rising.push_back(static_cast<std::uint32_t>(t));
            if (falls(t) && g[t] > seen.least_rising) falling.push_back(static_cast<std::uint32_t>(t));
        }
        auto less = [&](auto a, auto b) { return g[a] != g[b] ? g[a] < g[b] : a < b; };
        auto more = [&](auto a, auto b) { return g[a] != g[b] ? g[a] > g[b] : a < b; };
        std::size_t const r = std::min(q, rising.size()), d = std::min(q, falling.size());
        std::partial_sort(rising.begin(), rising.begin() + static_cast<long>(r), rising.end(), less);
        std::partial_sort(falling.begin(), falling.begin() + static_cast<long>(d), falling.end(), more);
        std::size_t const kept = last_.empty() ? 0 : q / 2;
        std::size_t const fresh = q - kept;
        for (std::size_t k = 0; chosen.size() < fresh && (k < r || k < d); ++k) {
            if (k < r) take(rising[k]);
            if (k < d && chosen.size() < fresh) take(falling[k]);
        }
        for (auto t : last_) {
            if (chosen.size() < q && rises(t) && falls(t)) take(t);
        }
        for (auto t : last_) {
            if (chosen.size() < q) take(t);
        }
        for (std::size_t k = 0; chosen.size() < q && (k < r || k < d); ++k) {
            if (k < r) take(rising[k]);
            if (k < d && chosen.size() < q) take(falling[k]);
        }
        last_ = chosen;
        return chosen;
    }

    bool improve(Ids const& chosen, Gram<T> const& gram) {
        std::size_t const q = chosen.size();
        Ids where(points_.size(), std::numeric_limits<std::uint32_t>::max()), wanted;
        for (auto t : chosen) {
            auto& at = where[problem_.point[t]];
            if (at == std::numeric_limits<std::uint32_t>::max()) {
                at = static_cast<std::uint32_t>(wanted.size());
                wanted.push_back(problem_.point[t]);
            }
        }
        auto const slots = cache_.fetch(wanted, gram);
        block_.resize(q);
        for (std::size_t k = 0; k < q; ++k) {
            auto const t = chosen[k];
            T const* row = cache_.row(slots[where[problem_.point[t]]]);
            for (std::size_t l = 0; l < q; ++l) block_.K[k * q + l] = row[problem_.point[chosen[l]]];
            block_.g[k] = gradient(t);
            block_.beta[k] = beta_[t];
            block_.lower[k] = problem_.lower[t];
            block_.upper[k] = problem_.upper[t];
        }
        double const eps = std::max(0.5 * options_.eps, 0.1 * violation_);
        long const steps = block_.solve(eps, std::min(options_.max_steps - steps_, 100 * static_cast<long>(q) + 1000));
        steps_ += steps;
        std::vector<double> change(wanted.size(), 0.0);
        for (std::size_t k = 0; k < q; ++k) {
            auto const t = chosen[k];
            change[where[problem_.point[t]]] += block_.beta[k] - beta_[t];
            beta_[t] = block_.beta[k];
        }
        team_.each_range(f_.size(), 1024, [&](std::size_t begin, std::size_t end, std::size_t) {
            for (std::size_t k = 0; k < wanted.size(); ++k) {
                if (change[k] != 0) axpy(change[k], cache_.row(slots[k]) + begin, f_.data() + begin, end - begin);
            }
        });
        return steps > 0;
    }

    // Drops variables that two visits in a row found at a bound with a gradient beyond all that could move them, once
    // they are a third of all.
    bool shrink(Extremes const& seen) {
        std::size_t quiet = 0;
        for (std::size_t t = 0; t < problem_.size(); ++t) {
            double const g = gradient(t);
            bool const calm = (!falls(t) && g > seen.most_falling) || (!rises(t) && g < seen.least_rising);
            calm_[t] = calm ? static_cast<char>(std::min(calm_[t] + 1, 2)) : 0;
            quiet += calm_[t] == 2;
        }
        if (quiet * 3 < problem_.size() || problem_.size() - quiet < 64) return false;
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
            if (calm_[t] == 2) continue;
            smaller.push(place[problem_.point[t]], problem_.linear[t], problem_.lower[t], problem_.upper[t]);
            variable.push_back(variable_[t]);
            beta.push_back(beta_[t]);
        }
        points_ = points_.subset(kept);
        problem_ = std::move(smaller);
        variable_ = std::move(variable);
        beta_ = std::move(beta);
        f_ = std::move(f);
        calm_.assign(problem_.size(), 0);
        last_.clear();
        cache_.compact(kept, capacity());
        return true;
    }

    Kernel const& kernel_;
    Points points_;
    BoxProblem problem_;
    std::vector<double> beta_, f_;
    Options options_;
    Team& team_;
    RowCache<T> cache_;
    Block<T> block_;
    Ids variable_, last_;  // variable_: the caller's number of each variable still here
    std::vector<double> result_;
    std::vector<char> calm_;
    long steps_ = 0;
    double violation_ = 0;
};

}  // namespace tallywise
