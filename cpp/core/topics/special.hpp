// The digamma function, written so that loops over it vectorise.
#pragma once

#include <cmath>
#include <cstddef>

#include "core/base/numeric.hpp"

namespace tallywise::topics {

// psi(x) for x > 0 to about 1e-14: six steps of psi(x) = psi(x + 1) - 1/x, then the asymptotic series with its first
// seven Bernoulli terms, whose remainder at x + 6 is below 1e-13.
inline double digamma(double x) {
    // The six reciprocals as one fraction: the derivative of x (x+1) ... (x+5) over the product.
    double product = 1, derivative = 0;
    for (int step = 0; step < 6; ++step) {
        derivative = derivative * x + product;
        product *= x;
        x += 1;
    }
    double const r = 1 / x, s = r * r;
    double const series =
        s * (1.0 / 12 -
             s * (1.0 / 120 - s * (1.0 / 252 - s * (1.0 / 240 - s * (1.0 / 132 - s * (691.0 / 32760 - s / 12))))));
    return std::log(x) - 0.5 * r - series - derivative / product;
}

// exp(psi(x)): the weight of a topic with pseudo-count x in variational Bayes.
inline double exp_digamma(double x) { return tallywise::exp(digamma(x)); }

}  // namespace tallywise::topics
