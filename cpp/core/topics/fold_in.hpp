// What a document is about, given the topics: fold-in, the E-step of variational Bayes, and log likelihoods.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/parallel.hpp"
#include "core/topics/corpus.hpp"
#include "core/topics/special.hpp"

namespace tallywise::topics {

constexpr std::size_t fold_in_grain = 16;  // documents a chunk

template <class T>
struct FoldIn {
    T const* phi = nullptr;    // words x K: the weight of word w in topic k
    T const* alpha = nullptr;  // K
    std::size_t K = 0;
    bool variational = false;  // weights exp(psi(gamma_k)) instead of gamma_k
    int most_iterations = 100;
    double tolerance = 1e-3;  // on the mean absolute change of gamma
};

template <class T>
void topic_weights(FoldIn<T> const& how, T const* gamma, T* weight) {
    double largest = 0;
    if (!how.variational) {
        std::copy(gamma, gamma + how.K, weight);
        return;
    }
    double total = 0;
    for (std::size_t k = 0; k < how.K; ++k) total += static_cast<double>(gamma[k]);
    double const shift = digamma(std::max(total, 1e-300));
    for (std::size_t k = 0; k < how.K; ++k) {
        weight[k] = static_cast<T>(tallywise::exp(digamma(static_cast<double>(gamma[k])) - shift));
        largest = std::max(largest, static_cast<double>(weight[k]));
    }
    // A prior so small that every weight underflows: the flat answer is the one that stays finite.
    if (largest == 0) std::fill(weight, weight + how.K, T(1));
}

// Repeats  gamma_k <- alpha_k + weight_k sum_w x_w phi_wk / sum_j weight_j phi_wj  from the given gamma (documents x K)
// until it moves by less than the tolerance. With plain weights this is expectation-maximisation for the mean of
// theta, with variational ones the E-step of Hoffman, Blei and Bach, "Online learning for LDA", NIPS 2010.
// Returns the number of iterations that the slowest document took.
template <class T>
int fold_in(Team& team, Corpus const& corpus, FoldIn<T> const& how, T* gamma) {
    std::size_t const K = how.K;
    std::vector<int> most(Team::count(corpus.documents, fold_in_grain));
    team.each_range(corpus.documents, fold_in_grain, [&](std::size_t begin, std::size_t end, std::size_t chunk) {
        std::vector<T> weight(K), next(K), rows;
        for (std::size_t d = begin; d < end; ++d) {
            std::size_t const first = corpus.begin[d], n = corpus.begin[d + 1] - first;
            T* const g = gamma + d * K;
            rows.resize(n *
                        K);  // the document's words side by side: read a hundred times, scattered over phi only once
            for (std::size_t i = 0; i < n; ++i) {
                T const* const row = how.phi + corpus.word[first + i] * K;
                std::copy(row, row + K, &rows[i * K]);
            }
            int iteration = 0;
            for (bool moving = true; moving && iteration < how.most_iterations; ++iteration) {
                topic_weights(how, g, weight.data());
                std::fill(next.begin(), next.end(), T(0));
                for (std::size_t i = 0; i < n; ++i) {
                    T const* const row = &rows[i * K];
                    T mass = 0;
#pragma omp simd reduction(+ : mass)
                    for (std::size_t k = 0; k < K; ++k) mass += weight[k] * row[k];
                    T const scale = mass > 0 ? static_cast<T>(corpus.count[first + i]) / mass : T(0);
#pragma omp simd
                    for (std::size_t k = 0; k < K; ++k) next[k] += scale * row[k];
                }
                double change = 0;
                for (std::size_t k = 0; k < K; ++k) {
                    T const now = how.alpha[k] + weight[k] * next[k];
                    change += static_cast<double>(std::abs(now - g[k]));
                    g[k] = now;
                }
                moving = change >= how.tolerance * static_cast<double>(K);
            }
            most[chunk] = std::max(most[chunk], iteration);
        }
    });
    return most.empty() ? 0 : *std::max_element(most.begin(), most.end());
}

// sum over documents of x_dw weight_dk phi_wk / sum_j weight_dj phi_wj, words x K, with the weights of `gamma`.
// Word by word, so that no two threads write to one row and no order of summation changes.
template <class T>
std::vector<T> topic_statistics(Team& team, Corpus const& corpus, FoldIn<T> const& how, T const* gamma) {
    std::size_t const K = how.K;
    std::vector<T> weight(corpus.documents * K), result(corpus.words * K);
    team.each_range(corpus.documents, fold_in_grain, [&](std::size_t begin, std::size_t end, std::size_t) {
        for (std::size_t d = begin; d < end; ++d) topic_weights(how, gamma + d * K, &weight[d * K]);
    });
    ByWord const index = by_word(corpus);
    team.each_range(corpus.words, 64, [&](std::size_t begin, std::size_t end, std::size_t) {
        for (std::size_t w = begin; w < end; ++w) {
            T const* const row = how.phi + w * K;
            T* const out = &result[w * K];
            for (std::size_t e = index.begin[w]; e < index.begin[w + 1]; ++e) {
                T const* const share = &weight[index.document[e] * K];
                T mass = 0;
#pragma omp simd reduction(+ : mass)
                for (std::size_t k = 0; k < K; ++k) mass += share[k] * row[k];
                T const scale = mass > 0 ? static_cast<T>(index.count[e]) / mass : T(0);
#pragma omp simd
                for (std::size_t k = 0; k < K; ++k) out[k] += scale * share[k];
            }
            for (std::size_t k = 0; k < K; ++k) out[k] *= row[k];
        }
    });
    return result;
}

// For each document, the sum of x_w log sum_k weight_k phi_wk.
inline std::vector<double> log_likelihoods(Team& team, Corpus const& corpus, double const* weight, double const* phi,
                                           std::size_t K) {
    std::vector<double> result(corpus.documents);
    team.each_range(corpus.documents, fold_in_grain, [&](std::size_t begin, std::size_t end, std::size_t) {
        for (std::size_t d = begin; d < end; ++d) {
            for (std::size_t e = corpus.begin[d]; e < corpus.begin[d + 1]; ++e) {
                result[d] += static_cast<double>(corpus.count[e]) *
                             std::log(tallywise::dot(weight + d * K, phi + corpus.word[e] * K, K));
            }
        }
    });
    return result;
}

}  // namespace tallywise::topics
