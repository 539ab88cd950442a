// The problem of a working set: two-variable steps, and an active-set method where they do not end.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "core/base/active_set.hpp"
#include "core/kernels/box_problem.hpp"

namespace tallywise::kernels {

// Two-variable steps inside a block until its violation is at most `eps`: the first variable is the one whose gradient
// is least, the second the one that gains most with it (Fan, Chen & Lin 2005, WSS 2). Where kernel values are nearly
// dependent, as those of a linear kernel on columns of all magnitudes are, such steps take for ever: what hundreds of
// them a variable leave is solved on the free variables at once, and later blocks of the same points wait less long for
// that.
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

    std::int64_t solve(double eps, std::int64_t most) {
        for (std::size_t k = 0; k < q_; ++k) {
            diagonal_[k] = static_cast<float>(K[k * q_ + k]);
            mark(k);
        }
        Extremes seen;
        for (std::size_t k = 0; k < q_; ++k) note(seen, k);
        std::int64_t steps = 0;
        std::int64_t const enough = std::min(most, patience_ * static_cast<std::int64_t>(q_) + 1000);
        for (; steps < enough && seen.violation() > eps; ++steps) {
            std::size_t const i = find_least(seen.least_rising);
            std::size_t const j = partner(i, seen.least_rising);
            if (j == q_) break;
            double const curvature = static_cast<double>(K[i * q_ + i]) + static_cast<double>(K[j * q_ + j]) -
                                     2.0 * static_cast<double>(K[i * q_ + j]);
            double const least = tiny * static_cast<double>(diagonal_[i] + diagonal_[j]);
            double step = (g[j] - g[i]) / std::max(curvature, least);
            double const up = upper[i] - beta[i], down = beta[j] - lower[j];
            if (step >= up || step >= down) step = std::min(up, down);
            beta[i] = step >= up ? upper[i] : beta[i] + step;
            beta[j] = step >= down ? lower[j] : beta[j] - step;
            mark(i);
            mark(j);
            seen = move(K.data() + i * q_, K.data() + j * q_, step);
        }
        if (steps < most && seen.violation() > eps) {
            patience_ = std::max(2L, patience_ / 5);
            steps += solve_exactly(0.5 * eps, most - steps);
        }
        return steps;
    }

  private:
    static constexpr double tiny = 1e-12;

    struct Problem {
        Block& block;

        std::size_t size() const { return block.q_; }
        double x(std::size_t k) const { return block.beta[k]; }
        double gradient(std::size_t k) const { return block.g[k]; }
        double lower(std::size_t k) const { return block.lower[k]; }
        double upper(std::size_t k) const { return block.upper[k]; }
        double entry(std::size_t i, std::size_t j) const { return static_cast<double>(block.K[i * block.q_ + j]); }
        void move(std::size_t k, double step) {
            block.beta[k] += step;
            axpy(step, block.K.data() + k * block.q_, block.g.data(), block.q_);
        }
        void place(std::size_t k, double value) { block.beta[k] = value; }
    };

    std::int64_t solve_exactly(double eps, std::int64_t most) {
        double mean = 0;
        for (float d : diagonal_) mean += static_cast<double>(d) / static_cast<double>(q_);
        Problem problem{*this};
        return ActiveSet(problem, mean > 0 ? mean : 1.0)
            .solve(eps, std::min(most, 4 * static_cast<std::int64_t>(q_) + 100));
    }

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

    // Scores in single precision: they only choose. (Written with std::max, GCC does not vectorise this loop: twice the
    // time of a step.)
    std::size_t partner(std::size_t i, double gi) {
        T const* row = K.data() + i * q_;
        float const *open = open_.data(), *diagonal = diagonal_.data();
        double const* gradient = g.data();
        float* score = score_.data();
        float const di = diagonal_[i];
        float best = 0;
#pragma omp simd reduction(max : best)
        for (std::size_t k = 0; k < q_; ++k) {
            float const both = di + diagonal[k], apart = static_cast<float>(gradient[k] - gi);
            float const rise = (apart > 0.0F ? apart : 0.0F) * open[k];
            float const curvature = both - 2 * static_cast<float>(row[k]), least = 1e-12F * both;
            float const gain = rise * rise / (curvature > least ? curvature : least);
            score[k] = gain;
            best = gain > best ? gain : best;
        }
        if (!(best > 0)) return q_;
        for (std::size_t k = 0; k < q_; ++k) {
            if (score[k] == best) return k;
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
    std::int64_t patience_ = 100;  // two-variable steps, a variable
    std::vector<double> closed_up_, closed_down_;
    std::vector<float> score_, open_, diagonal_;
};

}  // namespace tallywise::kernels
