// All classes in one problem (Crammer, Singer), by coordinate descent in the dual, one sample's K variables at a time.
//
//   minimise  P(W) = 1/2 sum_k |w_k|^2 + sum_i s_i max_k (e_ik + z_ik - z_iy),    z_ik = w_k'x_i,  e_ik = [k != y_i]
//   maximise  D(A) = -1/2 sum_k |w_k|^2 - sum_ik e_ik a_ik,    w_k = sum_i a_ik x_i,
//             sum_k a_ik = 0,  a_ik <= s_i [k = y_i]
//
// A sample's own problem, min sum_k q/2 a_k^2 + c_k a_k, has a solution by sorting. The gap is a sum over samples:
// P - D = sum_i s_i loss_i + sum_k a_ik (z_ik + e_ik).
//
// Crammer, Singer, On the algorithmic implementation of multiclass kernel-based vector machines (JMLR 2, 2001);
// Keerthi, Sundararajan, Chang, Hsieh, Lin, A sequential dual method for large scale multi-class linear SVMs (KDD
// 2008).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/interrupt.hpp"
#include "core/linear/svm/dual_descent.hpp"

namespace tallywise::linear::svm {

template <class Rows>
class CrammerSinger {
  public:
    CrammerSinger(Rows const& X, std::int64_t const* y, double const* s, std::size_t K, DualOptions const& options)
        : X_(X),
          y_(y),
          rows_(DistinctRows::of(X, y, s, options.seed)),
          s_(rows_.s.data()),
          K_(K),
          options_(options),
          q_(squared_lengths(X, options.intercept_scale)),
          a_(X.lines * K, 0.0),
          W_((X.width + 1) * K, 0.0),
          z_(K),
          c_(K),
          next_(K),
          random_{options.seed} {}

    void solve() {
        certify();
        while (!solved() && iterations_ < options_.max_iter && !active_.empty()) {
            double const goal = std::max(0.5 * options_.tol * std::abs(primal_), 0.1 * (primal_ - dual_));
            do {
                check_interrupt();
            } while (sweep(goal) > goal && ++iterations_ < options_.max_iter && !active_.empty());
            ++iterations_;
            certify();
            // What is reported is from weights that are made of A itself: the sum of all steps has drifted from it.
            if (solved() || iterations_ >= options_.max_iter) {
                rebuild();
                certify();
            }
        }
    }

    // Features x classes, the intercept's row last.
    std::vector<double> const& weights() const { return W_; }
    double primal() const { return primal_; }
    double dual() const { return dual_; }
    int iterations() const { return iterations_; }

  private:
    bool solved() const { return relative_gap(primal_, dual_) <= options_.tol; }

    void score(std::size_t i) {
        double const* last = W_.data() + X_.width * K_;
        for (std::size_t k = 0; k < K_; ++k) z_[k] = options_.intercept_scale * last[k];
        X_.each(i, [&](std::size_t j, auto x) { axpy(static_cast<double>(x), W_.data() + j * K_, z_.data(), K_); });
    }

    double loss(std::size_t own) const {
        double top = z_[own];
        for (std::size_t k = 0; k < K_; ++k) top = std::max(top, z_[k] + (k == own ? 0.0 : 1.0));
        return top - z_[own];
    }

    double row_gap(std::size_t i) const {
        auto const own = static_cast<std::size_t>(y_[i]);
        double total = s_[i] * loss(own);
        for (std::size_t k = 0; k < K_; ++k) total += a_[i * K_ + k] * (z_[k] + (k == own ? 0.0 : 1.0));
        return total;
    }

    void rebuild() {
        std::fill(W_.begin(), W_.end(), 0.0);
        for (std::uint32_t const i : rows_.order) add(i, a_.data() + i * K_);
    }

    // W += x_i a'
    void add(std::size_t i, double const* a) {
        axpy(options_.intercept_scale, a, W_.data() + X_.width * K_, K_);
        X_.each(i, [&](std::size_t j, double x) { axpy(x, a, W_.data() + j * K_, K_); });
    }

    void certify() {
        double losses = 0, gap = 0;
        active_.clear();
        for (std::uint32_t const i : rows_.order) {
            score(i);
            losses += s_[i] * loss(static_cast<std::size_t>(y_[i]));
            double const row = row_gap(i);
            gap += row;
            if (row > 0) active_.push_back(i);
        }
        primal_ = 0.5 * dot(W_.data(), W_.data(), W_.size()) + losses;
        dual_ = primal_ - gap;
    }

    // One step for every active row; gives the gap it saw. Rows with next to no gap of their own rest until the next
    // certificate.
    double sweep(double goal) {
        double seen = 0;
        std::size_t kept = 0;
        std::size_t const count = active_.size();
        double const little = 0.01 * goal / static_cast<double>(rows_.order.size());
        random_.shuffle(active_);
        for (std::size_t k = 0; k < count; ++k) {
            std::size_t const i = active_[k];
            score(i);
            double const row = row_gap(i);
            seen += row;
            if (row <= little) continue;
            active_[kept++] = static_cast<std::uint32_t>(i);
            step(i);
        }
        active_.resize(kept);
        return seen;
    }

    // min over a of sum_k q/2 a_k^2 + c_k a_k with sum a = 0, a_own <= s, others <= 0: a_k = min(bound_k, (t - c_k)/q),
    // with t found by sorting c_k + q bound_k.
    void step(std::size_t i) {
        auto const own = static_cast<std::size_t>(y_[i]);
        double const q = q_[i], s = s_[i];
        double* a = a_.data() + i * K_;
        for (std::size_t k = 0; k < K_; ++k) {
            c_[k] = z_[k] + (k == own ? 0.0 : 1.0) - q * a[k];
            next_[k] = c_[k] + (k == own ? q * s : 0.0);
        }
        std::sort(next_.begin(), next_.end(), std::greater<double>());
        double t = next_[0] - q * s;
        std::size_t r = 1;
        for (; r < K_ && t < static_cast<double>(r) * next_[r]; ++r) t += next_[r];
        t /= static_cast<double>(r);
        bool any = false;
        for (std::size_t k = 0; k < K_; ++k) {
            double const best = std::min(k == own ? s : 0.0, (t - c_[k]) / q);
            next_[k] = best - a[k];
            any |= next_[k] != 0;
            a[k] = best;
        }
        if (any) add(i, next_.data());
    }

    Rows const& X_;
    std::int64_t const* y_;
    DistinctRows rows_;
    double const* s_;
    std::size_t K_;
    DualOptions options_;
    std::vector<double> q_, a_, W_, z_, c_, next_;
    std::vector<std::uint32_t> active_;
    SplitMix random_;
    double primal_ = 0, dual_ = 0;
    int iterations_ = 0;
};

}  // namespace tallywise::linear::svm
