// The left-to-right estimate of log p(w | phi, alpha) for whole documents.
//
// p(w) is the product over n of p(w_n | w_1 .. w_{n-1}). Each factor is a mean over particles: a particle holds topics
// of the tokens so far, draws them all once more by Gibbs sampling, and predicts the next token. Particles are then
// drawn anew in proportion to what they gave it, and take in its topic. The product is unbiased for p(w); its logarithm
// is a little low, less so with more particles. (Without the new draw, as first published, the product is biased
// upward.) Wallach, Murray, Salakhutdinov and Mimno, "Evaluation methods for topic models", ICML 2009; Buntine, ACML
// 2009.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/interrupt.hpp"
#include "core/base/parallel.hpp"
#include "core/topics/corpus.hpp"
#include "core/topics/random.hpp"

namespace tallywise::topics {

class LeftToRight {
  public:
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

        std::vector<double> mass(K), given(particles);
        std::vector<Particle> cloud(particles), next(particles);
        for (auto& particle : cloud) {
            particle.counts.assign(alpha, alpha + K);
            particle.z.reserve(tokens.size());
        }
        double sum = 0;
        for (std::size_t n = 0; n < tokens.size(); ++n) {
            double total = 0;
            for (std::size_t r = 0; r < particles; ++r) {
                auto& [z, counts] = cloud[r];
                for (std::size_t i = 0; i < n; ++i) {
                    counts[z[i]] -= 1;
                    z[i] = draw(tokens[i], counts, mass, random);
                    counts[z[i]] += 1;
                }
                given[r] = weigh(tokens[n], counts, mass);
                total += given[r];
            }
            sum += std::log(total / static_cast<double>(particles) / (alpha_sum + static_cast<double>(n)));
            choose(cloud, next, given, total, random);
            for (auto& [z, counts] : cloud) {
                z.push_back(draw(tokens[n], counts, mass, random));
                counts[z.back()] += 1;
            }
        }
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

  private:
    struct Particle {
        std::vector<std::uint32_t> z;
        std::vector<double> counts;  // n_k + alpha_k
    };

    double weigh(std::uint32_t w, std::vector<double> const& counts, std::vector<double>& mass) const {
        double total = 0;
        double const* const row = phi + w * K;
#pragma omp simd reduction(+ : total)
        for (std::size_t k = 0; k < K; ++k) {
            mass[k] = counts[k] * row[k];
            total += mass[k];
        }
        return total;
    }

    std::uint32_t draw(std::uint32_t w, std::vector<double> const& counts, std::vector<double>& mass,
                       Stream& random) const {
        double u = weigh(w, counts, mass) * random.uniform();
        std::uint32_t k = 0;
        while (k + 1 < K && (u -= mass[k]) >= 0) ++k;
        return k;
    }

    // Systematic resampling: particle r is chosen given_r / total * particles times, rounded up or down by one draw.
    void choose(std::vector<Particle>& cloud, std::vector<Particle>& next, std::vector<double> const& given,
                double total, Stream& random) const {
        double const step = total / static_cast<double>(particles);
        double mark = random.uniform() * step, reached = 0;
        std::size_t chosen = 0;
        for (std::size_t r = 0; r < particles; ++r) {
            reached += given[r];
            for (; chosen < particles && (mark < reached || r + 1 == particles); mark += step)
                next[chosen++] = cloud[r];
        }
        std::swap(cloud, next);
    }
};

}  // namespace tallywise::topics
