// Two-variable steps inside a working set.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "core/kernels/box_problem.hpp"

namespace tallywise {

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

}  // namespace tallywise
