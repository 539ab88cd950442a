// When coordinate descent in the dual (dual_descent.hpp) is to take a step of all free variables (face_step.hpp).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace tallywise::linear::svm {

// Whether sweeps get on, by how much of the gap they see as they go: the logarithm of it that a sweep takes off. A step
// of all free variables together is counted as half a sweep a product.
class Pace {
  public:
    // Whether such a step is to be preferred: many sweeps are to come until `goal`, and they have become slower than
    // the last such step was.
    bool slow(double seen, double goal) {
        judge(seen);
        together_ *= 1.02;  // it may do better later
        seen_.push_back(seen);
        if (seen_.size() <= patience_) return false;
        double const rate = std::max(std::log(seen_[seen_.size() - 1 - span] / seen) / span, 1e-3);
        left_ = std::log(seen / goal) / rate;
        return left_ > 20 && rate < together_;
    }
    // Products that the step may cost, and what it did.
    int most() const { return static_cast<int>(std::clamp(2 * left_, 20.0, 200.0)); }
    void took(int products) {
        before_ = seen_.back();
        spent_ = 0.5 * std::max(products, 1);
        seen_.clear();
    }
    // What is left of the gap after it. Sweeps then see more of it for a while, and look slower than they are: after a
    // step that took little off the next waits longer, until sweeps have two thirds of the time.
    void judge(double gap) {
        if (before_ == 0) return;
        double const off = std::log(before_ / gap);
        together_ = std::max(off / spent_, 1e-3);
        patience_ = off > 1 ? span : std::max(std::min(2 * patience_, static_cast<std::size_t>(2 * spent_)), span);
        before_ = 0;
    }

  private:
    static constexpr std::size_t span = 5;
    std::size_t patience_ = span;
    std::vector<double> seen_;  // since the last step
    double left_ = 0, before_ = 0, spent_ = 0;
    double together_ = 0.15;
};

}  // namespace tallywise::linear::svm
