// One step of the maximum-likelihood fit of a Dirichlet prior to counts (the Polya distribution).
#pragma once

#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "core/base/parallel.hpp"
#include "core/topics/special.hpp"

namespace tallywise::topics {

// With counts n (rows x K) drawn from Dirichlet-multinomials of one alpha, the fixed point of Minka (2000, eq. 55):
//     alpha_k <- alpha_k  sum_i [psi(n_ik + alpha_k) - psi(alpha_k)] / sum_i [psi(n_i + A) - psi(A)],  A = sum alpha.
// Counts that are means over what is not known (`expected`, as CVB0 has) are treated as Poisson: a count of mean m is
// not zero with probability P = 1 - exp(-m), and then m / P in the mean (Teh, Newman and Welling, NIPS 2006, eq. 20,
// first order). Taken at face value, the many faint ones make alpha five times too large on KOS.
// Returns the K numerators and, last, the denominator, so that symmetric priors can pool them.
template <class T>
std::vector<double> prior_sums(Team& team, T const* counts, std::size_t rows, std::vector<double> const& alpha,
                               bool expected) {
    std::size_t const K = alpha.size(), grain = 256;
    std::vector<std::vector<double>> parts(Team::count(rows, grain));
    std::vector<double> base(K);
    double A = 0;
    for (std::size_t k = 0; k < K; ++k) {
        base[k] = digamma(alpha[k]);
        A += alpha[k];
    }
    team.each_range(rows, grain, [&](std::size_t begin, std::size_t end, std::size_t chunk) {
        std::vector<double> sums(K + 1);
        for (std::size_t i = begin; i < end; ++i) {
            double length = 0;
            for (std::size_t k = 0; k < K; ++k) {
                auto const n = static_cast<double>(counts[i * K + k]);
                length += n;
                if (n <= 0) continue;
                double const P = expected ? -std::expm1(-n) : 1.0;
                sums[k] += P * (digamma(n / P + alpha[k]) - base[k]);
            }
            if (length > 0) sums[K] += digamma(length + A) - digamma(A);
        }
        parts[chunk] = std::move(sums);
    });
    std::vector<double> result(K + 1);
    for (auto const& part : parts) {
        for (std::size_t k = 0; k <= K; ++k) result[k] += part[k];
    }
    return result;
}

}  // namespace tallywise::topics
