// Naive Bayes scores: one kernel for all event models, and what follows from it.
//
//   score          z_c(x) + prior_c for each row, or probabilities, or the best class
//   leave_one_out  each row's best class and the log probability of its true one, had the row not been learned
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/base/parallel.hpp"
#include "core/bayes/bayes.hpp"
#include "core/data/design.hpp"
#include "core/data/readers.hpp"

namespace tallywise {

namespace detail {

// Four classes side by side. Always handled by reference: by value it would tie the calling convention to the build.
typedef double Register __attribute__((vector_size(32)));

inline void load(double const* from, Register& to) { std::memcpy(&to, from, sizeof(Register)); }

// f(std::integral_constant<int, N>) for N = min(count, Most).
template <int Most, class F>
void with_count(std::size_t count, F&& f) {
    if constexpr (Most > 1) {
        if (count < Most) return with_count<Most - 1>(count, f);
    }
    f(std::integral_constant<int, Most>{});
}

template <class Event, int N>
void add_entry_scores(Event const& event, Weights const& W, std::size_t j, double x, std::size_t column,
                      Register (&z)[N]) {
    double const a = event.amount(x);
    if (Event::skips_zero && a == 0) return;  // 0 times an impossible weight says nothing
    double const* row = W.theta + event.cell(j, x) * W.stride() + column;
    for (int v = 0; v < N; ++v) {
        Register theta[Event::parameters];
        for (std::size_t p = 0; p < Event::parameters; ++p) load(row + p * W.padded() + 4 * v, theta[p]);
        Event::add_g(a, theta, z[v]);
    }
}

// Sparse rows, one at a time, up to 32 classes at once.
template <class Event>
void sum_scores(Event const& event, ReadSparse const& X, std::size_t begin, std::size_t end, Weights const& W,
                double* z) {
    std::size_t const width = W.padded();
    for (std::size_t i = begin; i < end; ++i) {
        for (std::size_t column = 0; column < width;) {
            with_count<8>((width - column) / Weights::register_size, [&](auto count) {
                constexpr int N = count;
                Register sums[N] = {};
                auto ahead = [&](std::size_t j) {
                    double const* row = W.theta + j * W.stride() + column;
                    for (int line = 0; line <= N / 2; ++line) __builtin_prefetch(row + 8 * line);
                };
                X.each(i, ahead,
                       [&](std::size_t j, double x) { add_entry_scores<Event, N>(event, W, j, x, column, sums); });
                std::memcpy(z + (i - begin) * width + column, sums, sizeof(sums));
                column += N * Weights::register_size;
            });
        }
    }
}

// Dense rows, four at a time, so that a row of weights is loaded once for four rows.
template <class Event>
void sum_scores(Event const& event, ReadDense const& X, std::size_t begin, std::size_t end, Weights const& W,
                double* z) {
    constexpr std::size_t tile = 4;
    std::size_t const width = W.padded();
    std::vector<double> buffer(tile * X.width);
    for (std::size_t i = begin; i < end; i += tile) {
        double const* x[tile];
        std::size_t const rows = std::min(tile, end - i);
        for (std::size_t r = 0; r < tile; ++r) x[r] = X.line(i + std::min(r, rows - 1), buffer.data() + r * X.width);
        for (std::size_t column = 0; column < width;) {
            with_count<3>((width - column) / Weights::register_size, [&](auto count) {
                constexpr int N = count;
                Register sums[tile][N] = {};
                for (std::size_t j = 0; j < X.width; ++j) {
                    for (std::size_t r = 0; r < tile; ++r) {
                        add_entry_scores<Event, N>(event, W, j, x[r][j], column, sums[r]);
                    }
                }
                for (std::size_t r = 0; r < rows; ++r) {
                    std::memcpy(z + (i - begin + r) * width + column, sums[r], sizeof(sums[r]));
                }
                column += N * Weights::register_size;
            });
        }
    }
}

// The scores of a row from its sums, in place: z_c + b_c, or impossible where the row lacks what the class always has.
inline void complete_scores(Weights const& W, double* z) {
    for (std::size_t c = 0; c < W.columns; ++c) z[c] += W.b[c];
    for (std::size_t c = W.classes; c < W.columns; ++c) {
        if (z[c] < 0) z[c - W.classes] = impossible;
    }
}

// log sum_c exp(z_c) in two parts, so that z_c - top - rest keeps its digits when |z| is large. Infinite scores (a
// complement without any of the row's words) share all the probability: z becomes 0 for them and impossible elsewhere.
struct Normalizer {
    double top, rest;

    Normalizer(double* z, std::size_t K) : top(*std::max_element(z, z + K)), rest(0) {
        if (top == -impossible) {
            for (std::size_t c = 0; c < K; ++c) z[c] = z[c] == top ? 0.0 : impossible;
            top = 0;
        }
        for (std::size_t c = 0; c < K; ++c) rest += exp(z[c] - top);
        rest = std::log(rest);
    }
};

constexpr std::size_t rows_a_chunk = 64;

}  // namespace detail

enum class Output { joint, log_probability, probability, label };

// Calls out(i, z) for each row with its K finished scores, prior included, from several threads.
template <class Event, class F>
void each_score(Event const& event, Design const& design, Weights const& W, double const* prior, Team& team, F&& out) {
    visit_for<Event>(design, [&](auto const& X) {
        if (event.rows(X.width) > W.rows) throw std::invalid_argument("X has more columns than the weights have rows.");
        team.each_range(X.lines, detail::rows_a_chunk, [&](std::size_t begin, std::size_t end, std::size_t) {
            std::vector<double> z((end - begin) * W.padded());
            detail::sum_scores(event, X, begin, end, W, z.data());
            for (std::size_t i = begin; i < end; ++i) {
                double* row = z.data() + (i - begin) * W.padded();
                detail::complete_scores(W, row);
                for (std::size_t c = 0; c < W.classes; ++c) row[c] += prior[c];
                out(i, row);
            }
        });
    });
}

// Scores, or what was asked for, of each row; `values` has K columns, `labels` one. Returns the rows that no class
// could have produced, whose values are not to be used (but for joint scores, which are right). Throws where a score is
// the difference of two infinities.
template <class Event>
std::vector<std::int64_t> score(Event const& event, Design const& X, Weights const& W, double const* prior,
                                Output output, double* values, std::int64_t* labels, Team& team) {
    std::size_t const K = W.classes;
    std::vector<char> hopeless(lines(X), 0);
    each_score(event, X, W, prior, team, [&](std::size_t i, double* z) {
        hopeless[i] = *std::max_element(z, z + K) == detail::impossible;
        if (std::any_of(z, z + K, [](double score) { return std::isnan(score); })) {
            hopeless[i] = 2;
            return;
        }
        if (output == Output::label) {
            labels[i] = std::max_element(z, z + K) - z;
            return;
        }
        double* to = values + i * K;
        if (output != Output::joint) {
            detail::Normalizer const norm(z, K);
            for (std::size_t c = 0; c < K; ++c) z[c] = (z[c] - norm.top) - norm.rest;
        }
        std::copy(z, z + K, to);
        if (output != Output::probability) return;
        double total = 0;
        for (std::size_t c = 0; c < K; ++c) total += to[c] = exp(z[c]);
        for (std::size_t c = 0; c < K; ++c) to[c] /= total;
    });
    if (auto const row = std::find(hopeless.begin(), hopeless.end(), 2); row != hopeless.end()) {
        throw std::invalid_argument("Row " + std::to_string(row - hopeless.begin()) +
                                    " of X has entries that are negative, or too large, for weights that are infinite "
                                    "or of both signs: its scores are not numbers. Smooth with alpha > 0, or scale X.");
    }
    std::vector<std::int64_t> rows;
    for (std::size_t i = 0; output != Output::joint && i < hopeless.size(); ++i) {
        if (hopeless[i]) rows.push_back(static_cast<std::int64_t>(i));
    }
    return rows;
}

enum class PriorKind { documents, tokens, fixed };

// Where the prior of a class comes from: its share of the documents or tokens, or given logarithms.
struct Prior {
    PriorKind kind;
    double const* logarithms;
};

// For each row: the best class without it (-1: none possible), and the log probability of its own class without it.
struct HeldOut {
    std::int64_t* labels;
    double* log_probability;
};

// `batch` holds all that S has learned, each row once.
template <class Event>
void leave_one_out(Event const& event, Batch const& batch, Statistics const& S, Smoothing const& alpha, Prior prior,
                   HeldOut out, Team& team) {
    Weights W = weights_of(event, S, alpha);
    std::vector<double> theta(W.rows * W.stride()), b(W.columns), zero(S.classes, 0.0), share(S.classes);
    W.theta = theta.data();
    W.b = b.data();
    typename Event::Estimate parameters(event, S, alpha);
    estimate<Event>(parameters, S, W, team);
    parameters.prepare_hold_out();
    std::size_t const K = S.classes;
    double total = 0;
    for (std::size_t c = 0; c < K; ++c) {
        share[c] = prior.kind == PriorKind::tokens ? S.tokens(c).high : S.documents(c).high;
        total += share[c];
    }
    visit_for<Event>(*batch.X, [&](auto const& X) {
        each_score(event, *batch.X, W, zero.data(), team, [&](std::size_t i, double* z) {
            auto const y = static_cast<std::size_t>(batch.classes[i]);
            parameters.hold_out(event, X, i, y, z);
            double const own = prior.kind == PriorKind::tokens ? detail::row_sum(event, X, i) : 1.0;
            for (std::size_t c = 0; c < K; ++c) {
                double const left = share[c] - (c == y ? own : 0.0);
                z[c] += prior.kind == PriorKind::fixed ? prior.logarithms[c] : log(left) - log(total - own);
            }
            // A class whose only row is held out would not be known.
            if (S.documents(y).high <= 1) z[y] = detail::impossible;
            auto const best = std::max_element(z, z + K) - z;
            out.labels[i] = z[best] == detail::impossible ? -1 : best;
            detail::Normalizer const norm(z, K);
            out.log_probability[i] = out.labels[i] < 0 ? detail::impossible : (z[y] - norm.top) - norm.rest;
        });
    });
}

}  // namespace tallywise
