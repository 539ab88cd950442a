// The left-to-right estimate of log p(w | phi, alpha) for whole documents.
//
// p(w) is the product over n of p(w_n | w_1 .. w_{n-1}). Each factor is a mean over particles: a particle holds topics
// of the tokens so far, draws them all once more by Gibbs sampling, and predicts the next token. The product is
// unbiased for p(w); its logarithm is a little low, less so with more particles. Wallach, Murray, Salakhutdinov and
// Mimno, "Evaluation methods for topic models", ICML 2009; Buntine, ACML 2009.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/interrupt.hpp"
#include "core/parallel.hpp"
#include "core/topics/corpus.hpp"
#include "core/topics/random.hpp"

namespace tallywise::topics {

namespace detail {

inline std::size_t pick(std::vector<double> const& mass, double total, double u) {
    u *= total;
    for (std::size_t k = 0; k + 1 < mass.size(); ++k) {
        if ((u -= mass[k]) < 0) return k;
    }
    return mass.size() - 1;
}

}  // namespace detail

struct LeftToRight {
    double const* phi = nullptr;    // words x K, each topic summing to 1
    double const* alpha = nullptr;  // K
    std::size_t K = 0, particles = 20;
    std::uint64_t seed = 0;

    double document(Corpus const& corpus, std::size_t d) const {
        Stream random(seed, 1, d);
        std::vector<std::uint32_t> tokens;
        for (std::size_t e = corpus.begin[d]; e < corpus.begin[d + 1]; ++e) {
            tokens.insert(tokens.end(), static_cast<std::size_t>(corpus.count[e]), corpus.word[e]);
        }
        for (std::size_t n = tokens.size(); n > 1; --n) std::swap(tokens[n - 1], tokens[random.below(n)]);
        double alpha_sum = 0;
        for (std::size_t k = 0; k < K; ++k) alpha_sum += alpha[k];
        std::vector<double> predicted(tokens.size()), counts(K), mass(K);
        std::vector<std::size_t> z(tokens.size());
        auto weigh = [&](std::uint32_t w) {
            double total = 0;
            double const* const row = phi + w * K;
#pragma omp simd reduction(+ : total)
            for (std::size_t k = 0; k < K; ++k) {
                mass[k] = counts[k] * row[k];
                total += mass[k];
            }
            return total;
        };
        for (std::size_t particle = 0; particle < particles; ++particle) {
            std::copy(alpha, alpha + K, counts.begin());
            for (std::size_t n = 0; n < tokens.size(); ++n) {
                for (std::size_t i = 0; i < n; ++i) {
                    counts[z[i]] -= 1;
                    double const total = weigh(tokens[i]);
                    counts[z[i] = detail::pick(mass, total, random.uniform())] += 1;
                }
                double const total = weigh(tokens[n]);
                predicted[n] += total / (alpha_sum + static_cast<double>(n));
                counts[z[n] = detail::pick(mass, total, random.uniform())] += 1;
            }
        }
        double sum = 0;
        for (double p : predicted) sum += std::log(p / static_cast<double>(particles));
        return sum;
    }

    // One log probability a document. Quadratic in the length of a document.
    std::vector<double> operator()(Team& team, Corpus const& corpus) const {
        std::vector<double> result(corpus.documents);
        constexpr std::size_t batch = 64;
        for (std::size_t from = 0; from < corpus.documents; from += batch) {
            check_interrupt();
            std::size_t const n = std::min(batch, corpus.documents - from);
            team.each(n, [&](std::size_t i) { result[from + i] = document(corpus, from + i); });
        }
        return result;
    }
};

}  // namespace tallywise::topics
