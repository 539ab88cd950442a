// Event models. All of them score a row x under class c as
//
//     z_c(x) = b_c + sum_j g(a_j, theta_jc),    a_j = amount(x_j), at cell(j, x_j)
//
// and differ in what they read from an entry (cell, amount), which sums they keep (`statistics`), how theta and b
// follow from the sums (Estimate), and how a row's own share is taken out of them again (Estimate::hold_out, the
// score as it would be had the row never been learned). An estimate holds what does not depend on the cell; `cell`
// writes theta of one cell for all classes and adds that cell's part of b.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

#include "core/base/numeric.hpp"
#include "core/base/registry.hpp"
#include "core/naive_bayes/categorical.hpp"
#include "core/naive_bayes/gaussian.hpp"
#include "core/naive_bayes/linear_event.hpp"
#include "core/naive_bayes/statistics.hpp"

namespace tallywise::naive_bayes {

// P(x | c) ~ prod_j theta_jc^x_j,  theta_jc = (N_jc + alpha_j) / (N_c + sum alpha): N counts tokens.
struct Multinomial : LinearEvent {
    static constexpr std::string_view name = "multinomial";
    explicit Multinomial(EventOptions const&) {}

    struct Estimate : LinearEstimate {
        std::vector<double> log_total;

        Estimate(Multinomial const&, Statistics const& sums, Smoothing const& smoothing)
            : LinearEstimate{sums, smoothing} {
            for (std::size_t c = 0; c < S.classes; ++c) {
                log_total.push_back(detail::log_total(S.tokens(c).high + alpha.total));
            }
        }

        void class_cells(std::size_t c, double const* n, double const* a, double const*, std::size_t size,
                         double* theta, double*) const {
            double const own = log_total[c];
#pragma omp simd
            for (std::size_t k = 0; k < size; ++k) theta[k] = log(n[k] + a[k]) - own;
        }

        template <class View>
        void hold_out(Multinomial const&, View const& X, std::size_t i, std::size_t y, double* z) const {
            double length = 0, score = 0;
            X.each(i, [&](std::size_t j, auto x) {
                auto const a = static_cast<double>(x);
                length += a;
                score += detail::times_log(a, std::max(S.value[S.at(0, y, j)] - a, 0.0) + alpha(j));
            });
            double const rest = S.tokens(y).high - length + alpha.total;
            z[y] = rest > 0 || length == 0 ? score - detail::times_log(length, rest) : detail::impossible;
        }
    };
};

// Multinomial with the rest of the classes in place of the class (Rennie et al., ICML 2003):
// z_c = - sum_j x_j log theta_jc,  theta_jc = (N_j - N_jc + alpha_j) / (N - N_c + sum alpha); normalised: weights of a
// class divided by the sum of their sizes.
struct Complement : LinearEvent {
    static constexpr std::string_view name = "complement";
    static constexpr bool sums_classes = true;
    bool normalize;
    explicit Complement(EventOptions const& options) : normalize(options.normalize) {}

    struct Estimate : LinearEstimate {
        bool normalize;
        std::vector<double> others;     // tokens of the other classes, smoothed
        std::vector<double> log_total;  // their logarithm
        // Of rows held out: N_j - N_jc + alpha_j by cell, and the sum of the weights of each class.
        std::vector<double> rest, log_sum;

        Estimate(Complement const& event, Statistics const& sums, Smoothing const& smoothing)
            : LinearEstimate{sums, smoothing}, normalize(event.normalize) {
            for (std::size_t c = 0; c < S.classes; ++c) {
                others.push_back((S.all_tokens() - S.tokens(c)).high + alpha.total);
                log_total.push_back(detail::log_total(others[c]));
            }
        }

        void class_cells(std::size_t c, double const* n, double const* a, double const* total, std::size_t size,
                         double* theta, double*) const {
            double const own = log_total[c];
#pragma omp simd
            for (std::size_t k = 0; k < size; ++k) {
                double const rest = total[k] - n[k] + a[k];
                double const log_rest = log(rest > a[k] ? rest : a[k]);  // rounding of real counts must not go below a
                theta[k] = total[k] + a[k] == 0 ? 0.0 : own - log_rest;  // a word that nobody has says nothing
            }
        }
        void absent(double total, double* theta) const {
            double const all = total + alpha(0), log_all = log(all);
#pragma omp simd
            for (std::size_t c = 0; c < S.classes; ++c) theta[c] = all == 0 ? 0.0 : log_total[c] - log_all;
        }

        void finish(double* theta, std::size_t stride, double* b) const {
            if (!normalize) return;
            for (std::size_t c = 0; c < S.classes; ++c) {
                // Without smoothing, words that no other class has weigh infinitely much: they share the whole weight.
                double endless = 0;
                for (std::size_t j = 0; std::isinf(b[c]) && j < S.cells; ++j)
                    endless += std::isinf(theta[j * stride + c]);
                for (std::size_t j = 0; j < S.cells; ++j) {
                    double& w = theta[j * stride + c];
                    if (endless > 0) {
                        w = std::isinf(w) ? 1 / endless : 0.0;
                    } else if (b[c] != 0) {  // a sum of 0 has weights of 0
                        w /= b[c];
                    }
                }
            }
            std::fill(b, b + S.classes, 0.0);
        }

        void prepare_hold_out() {
            std::size_t const K = S.classes;
            log_sum.assign(K, 0.0);
            rest.resize(S.cells * K);
            for (std::size_t j = 0; j < S.cells; ++j) {
                double const a = alpha(j);
                double* to = rest.data() + j * K;
                double all = a;
                for (std::size_t c = 0; c < K; ++c) all += to[c] = S.value[S.at(0, c, j)];
                for (std::size_t c = 0; c < K; ++c) to[c] = all == 0 ? 0.0 : std::max(all - to[c], a);
                if (!normalize || all == 0) continue;
#pragma omp simd
                for (std::size_t c = 0; c < K; ++c) log_sum[c] += log_total[c] - log(to[c]);
            }
        }

        // The row is part of the complement of every class but its own.
        template <class View>
        void hold_out(Complement const&, View const& X, std::size_t i, std::size_t y, double* z) const {
            std::size_t const K = S.classes;
            double const own = z[y];
            double length = 0, heard = 0;  // tokens, and those of words that others have too
            std::vector<double> score(K, 0.0), shift(K, 0.0);
            X.each(i, [&](std::size_t j, auto x) {
                auto const a = static_cast<double>(x);
                if (a == 0) return;
                length += a;
                double const least = alpha(j), *before = rest.data() + j * K;
                // Nobody else has the word and nothing is added: without the row it says nothing.
                if (before[y] <= 0 && S.value[S.at(0, y, j)] <= a) return;
                heard += a;
                double* to = score.data();
#pragma omp simd
                for (std::size_t c = 0; c < K; ++c) {
                    double const left = before[c] - a;
                    to[c] -= a * log(left > least ? left : least);
                }
                for (std::size_t c = 0; normalize && c < K; ++c) {
                    shift[c] += log(before[c]) - log(std::max(before[c] - a, least));
                }
            });
            for (std::size_t c = 0; c < K; ++c) {
                double const log_rest = detail::log_total(others[c] - length);
                z[c] = score[c] + heard * log_rest;
                if (normalize) {
                    double const sum = log_sum[c] + static_cast<double>(S.cells) * (log_rest - log_total[c]) + shift[c];
                    if (sum != 0) z[c] /= sum;
                }
            }
            z[y] = own;
        }
    };
};

// P(x | c) = prod_j lambda_jc^x_j exp(-lambda_jc) / x_j!,  lambda_jc = (N_jc + alpha_j) / (N_c + alpha_j): N_jc counts
// tokens, N_c documents. That is the mean of lambda given the counts when beforehand it is Gamma(alpha_j, alpha_j), as
// if alpha_j more documents had each feature once. In the common form b_c = - sum_j lambda_jc and weights log lambda;
// x_j! is the same for all classes and left out.
struct Poisson : LinearEvent {
    static constexpr std::string_view name = "poisson";
    static constexpr bool has_constants = true;
    explicit Poisson(EventOptions const&) {}

    struct Estimate : LinearEstimate {
        std::vector<double> documents;
        std::vector<double> left;  // of rows held out: sum_j (N_jc + alpha_j) / (N_c - 1 + alpha_j)

        Estimate(Poisson const&, Statistics const& sums, Smoothing const& smoothing) : LinearEstimate{sums, smoothing} {
            for (std::size_t c = 0; c < S.classes; ++c) documents.push_back(S.documents(c).high);
        }

        // 0 for a class without documents and smoothing, whose prior is against it already.
        static double rate(double n, double total) { return total > 0 ? n / total : 0.0; }

        void class_cells(std::size_t c, double const* n, double const* a, double const*, std::size_t size,
                         double* theta, double* b) const {
            double const own = documents[c];
#pragma omp simd
            for (std::size_t k = 0; k < size; ++k) {
                double const lambda = rate(n[k] + a[k], own + a[k]);
                theta[k] = log(lambda);
                b[k] = -lambda;
            }
        }

        void prepare_hold_out() {
            left.assign(S.classes, 0.0);
            for (std::size_t c = 0; c < S.classes; ++c) {
                double sum = 0;
                for (std::size_t j = 0; j < S.cells; ++j) {
                    sum += rate(S.value[S.at(0, c, j)] + alpha(j), documents[c] - 1 + alpha(j));
                }
                left[c] = sum;
            }
        }

        template <class View>
        void hold_out(Poisson const&, View const& X, std::size_t i, std::size_t y, double* z) const {
            double score = -left[y];
            X.each(i, [&](std::size_t j, auto x) {
                auto const a = static_cast<double>(x);
                double const total = documents[y] - 1 + alpha(j);
                double const n = std::max(S.value[S.at(0, y, j)] - a, 0.0) + alpha(j);
                score += rate(a, total) + detail::times_log(a, rate(n, total));
            });
            z[y] = score;
        }
    };
};

// P(x | c) = prod_j theta_jc^x_j (1 - theta_jc)^(1 - x_j),  theta_jc = (N_jc + alpha_j) / (N_c + 2 alpha_j): N counts
// documents. In the common form b_c = sum_j log(1 - theta_jc) and weights log(theta / (1 - theta)). Where theta is 1
// (without smoothing only) the weight is infinite both ways; such cells get weight log theta = 0, and a second
// block of columns counts how many of them a row lacks: any at all, and the class is impossible.
struct Bernoulli : LinearEvent {
    static constexpr std::string_view name = "bernoulli";
    static constexpr bool has_constants = true, from_cells = true;
    static constexpr bool adds_repeats = false;  // there twice is there
    bool binarize;
    double threshold;
    explicit Bernoulli(EventOptions const& options) : binarize(options.binarize), threshold(options.threshold) {}

    double amount(double x) const { return binarize ? (x > threshold ? 1.0 : 0.0) : x; }
    static std::size_t columns(std::size_t classes, Smoothing const& alpha) {
        return alpha.has_zero ? 2 * classes : classes;
    }

    bool plausible(Statistics const& S, std::size_t c) const {
        double const n = S.documents(c).high, slack = S.carry == nullptr ? 0.0 : 1e-12 * n;
        double const* row = S.value + S.at(0, c, 0);
        return !binarize || S.cells == 0 || *std::max_element(row, row + S.cells) <= n + slack;
    }

    struct Estimate : LinearEstimate {
        std::vector<double> documents, log_total;
        // Of rows held out: sum_j log((N_c - 1 - N_jc + alpha_j) / (N_c - 1 + 2 alpha_j)) where that is above 0, and
        // how many cells all other documents of the class have.
        std::vector<double> left, certain;

        Estimate(Bernoulli const&, Statistics const& sums, Smoothing const& smoothing)
            : LinearEstimate{sums, smoothing} {
            for (std::size_t c = 0; c < S.classes; ++c) {
                documents.push_back(S.documents(c).high);
                log_total.push_back(detail::log_total(documents[c] + 2 * alpha(0)));
            }
        }

        void class_cells(std::size_t c, double const* n, double const* a, double const*, std::size_t size,
                         double* theta, double* b) const {
            double const own = documents[c];
#pragma omp simd
            for (std::size_t k = 0; k < size; ++k) {
                // Rounding of real counts must not go below what was added.
                double const absent = own - n[k] + a[k], log_absent = log(absent > a[k] ? absent : a[k]);
                theta[k] = log(n[k] + a[k]) - log_absent;
                b[k] = log_absent - (alpha.each ? log(own + 2 * a[k]) : log_total[c]);
            }
        }
        // log theta itself, which is no weight of the scores.
        void log_cells(std::size_t c, double const* n, double const* a, std::size_t size, double* to) const {
            double const own = documents[c];
#pragma omp simd
            for (std::size_t k = 0; k < size; ++k) {
                double const total = own + 2 * a[k];
                to[k] = log(n[k] + a[k]) - (total > 0 ? log(total) : 0.0);
            }
        }
        // Without smoothing; with it, there is one column a class, and no call.
        void cell(std::size_t j, double const* n, double* theta, double* b) const {
            double const a = alpha(j);
            for (std::size_t c = 0; c < S.classes; ++c) {
                double const absent = std::max(documents[c] - n[c] + a, 0.0);
                bool const certain = absent == 0 && documents[c] > 0;
                theta[c] = certain ? 0.0 : log(n[c] + a) - detail::log_total(absent);
                b[c] += certain ? 0.0 : detail::log_total(absent) - detail::log_total(documents[c] + 2 * a);
                theta[S.classes + c] = certain ? 1.0 : 0.0;
                b[S.classes + c] -= certain ? 1.0 : 0.0;
            }
        }

        void prepare_hold_out() {
            left.assign(S.classes, 0.0);
            certain.assign(S.classes, 0.0);
            for (std::size_t c = 0; c < S.classes; ++c) {
                double const rest = documents[c] - 1;
                double sum = 0, sure = 0;
#pragma omp simd reduction(+ : sum, sure)
                for (std::size_t j = 0; j < S.cells; ++j) {
                    double const n = S.value[S.at(0, c, j)], a = alpha(j), absent = rest - n + a;
                    double const term = log(absent) - log(rest + 2 * a);
                    sum += absent > 0 ? term : 0.0;
                    sure += a == 0 && n == rest ? 1.0 : 0.0;
                }
                left[c] = sum;
                certain[c] = sure;
            }
        }

        template <class View>
        void hold_out(Bernoulli const& event, View const& X, std::size_t i, std::size_t y, double* z) const {
            double const rest = documents[y] - 1;
            double score = left[y], lacking = certain[y];
            X.each(i, [&](std::size_t j, auto x) {
                if (event.amount(static_cast<double>(x)) == 0) return;
                double const n = S.value[S.at(0, y, j)], a = alpha(j), absent = rest - n + a;
                score += log(n - 1 + a) - (absent > 0 ? log(absent) : detail::log_total(rest + 2 * a));
                if (a == 0 && n == rest) lacking -= 1;
            });
            z[y] = lacking > 0 || rest <= 0 ? detail::impossible : score;
        }
    };
};

using Events = Registry<Bernoulli, Multinomial, Complement, Poisson, Categorical, Gaussian>;

}  // namespace tallywise::naive_bayes
