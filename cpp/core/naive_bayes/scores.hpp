// Naive Bayes scores: one kernel for all event models, and what follows from it.
//
//   score          z_c(x) + prior_c for each row, or probabilities, or the best class
//   label          the best class, by weights in single precision where these leave no doubt
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
#include "core/data/design.hpp"
#include "core/data/readers.hpp"
#include "core/naive_bayes/estimates.hpp"
#include "core/naive_bayes/naive_bayes.hpp"

namespace tallywise::naive_bayes {

namespace detail {

// Four classes side by side. Always handled by reference: by value it would tie the calling convention to the build.
typedef double Register __attribute__((vector_size(32)));

constexpr std::size_t ahead = 12;  // entries from which weights are fetched to those that are added

inline void load(double const* from, Register& to) { std::memcpy(&to, from, sizeof(Register)); }

// f(std::integral_constant<int, N>) for N = min(count, Most).
template <int Most, class F>
void with_count(std::size_t count, F&& f) {
    if constexpr (Most > 1) {
        if (count < Most) return with_count<Most - 1>(count, f);
    }
    f(std::integral_constant<int, Most>{});
}

// Adds what an amount says by a row of weights.
template <class Event, int N>
void add_row_scores(double a, double const* row, std::size_t padded, Register (&z)[N]) {
    for (int v = 0; v < N; ++v) {
        Register theta[Event::parameters];
        for (std::size_t p = 0; p < Event::parameters; ++p) load(row + p * padded + 4 * v, theta[p]);
        Event::add_g(a, theta, z[v]);
    }
}

template <class Event, int N>
void add_entry_scores(Event const& event, Weights const& W, std::size_t j, double x, std::size_t column,
                      Register (&z)[N]) {
    double const a = event.amount(x);
    if (Event::skips_zero && a == 0) return;  // 0 times an impossible weight says nothing
    add_row_scores<Event>(a, W.theta + event.cell(j, x) * W.stride() + column, W.padded(), z);
}

// Sparse rows, one at a time, up to 32 classes at once.
template <class Event>
void sum_scores(Event const& event, ReadSparse const& X, std::size_t begin, std::size_t end, Weights const& W,
                double* z) {
    std::size_t const width = W.padded();
    for (std::size_t i = begin; i < end; ++i) {
        std::size_t column = 0;
        while (column < width) {
            with_count<8>((width - column) / Weights::register_size, [&](auto count) {
                constexpr int N = count;
                double* to = z + (i - begin) * width + column;
                std::fill(to, to + N * Weights::register_size, 0.0);
                X.each_part(i, [&, W](Index const* indices, double const* x, std::size_t size, std::size_t last) {
                    Register sums[N];
                    std::memcpy(sums, to, sizeof(sums));
                    for (std::size_t k = 0; k < size; ++k) {
                        auto const next = static_cast<std::size_t>(indices[std::min(k + ahead, last)]);
                        double const* row = W.theta + next * W.stride() + column;
                        for (int line = 0; line <= N / 2; ++line) __builtin_prefetch(row + 8 * line);
                        add_entry_scores<Event, N>(event, W, static_cast<std::size_t>(indices[k]), x[k], column, sums);
                    }
                    std::memcpy(to, sums, sizeof(sums));
                });
                column += N * Weights::register_size;
            });
        }
    }
}

// Dense rows, four at a time, so that a row of weights is loaded once for four rows. Zeros, which may be anywhere, have
// weights of 0 instead of a branch that cannot be foreseen.
template <class Event>
void sum_scores(Event const& event, ReadDense const& X, std::size_t begin, std::size_t end, Weights const& W,
                double* z) {
    constexpr std::size_t tile = 4;
    std::size_t const width = W.padded();
    std::vector<double> buffer(tile * X.width), nothing(W.stride());
    for (std::size_t i = begin; i < end; i += tile) {
        double const* x[tile];
        std::size_t const rows = std::min(tile, end - i);
        for (std::size_t r = 0; r < tile; ++r) x[r] = X.line(i + std::min(r, rows - 1), buffer.data() + r * X.width);
        std::size_t column = 0;
        while (column < width) {
            with_count<3>((width - column) / Weights::register_size, [&](auto count) {
                constexpr int N = count;
                Register sums[tile][N] = {};
                for (std::size_t j = 0; j < X.width; ++j) {
                    for (std::size_t r = 0; r < tile; ++r) {
                        double const a = event.amount(x[r][j]);
                        double const* const row = W.theta + event.cell(j, x[r][j]) * W.stride() + column;
                        bool const skipped = Event::skips_zero && a == 0;
                        add_row_scores<Event>(a, skipped ? nothing.data() : row, W.padded(), sums[r]);
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

// What is wrong with the scores of a row: nothing (0), no class could have produced it (1), or they are not numbers.
constexpr char not_numbers = 2;

inline char mark_of(double const* z, std::size_t K) {
    if (std::any_of(z, z + K, [](double score) { return std::isnan(score); })) return not_numbers;
    return *std::max_element(z, z + K) == impossible ? 1 : 0;
}

// The rows that no class could have produced. Throws where scores are not numbers.
inline std::vector<std::int64_t> marked(std::vector<char> const& mark) {
    std::vector<std::int64_t> rows;
    for (std::size_t i = 0; i < mark.size(); ++i) {
        if (mark[i] == not_numbers) {
            throw std::invalid_argument(
                "Row " + std::to_string(i) +
                " of X has entries that are negative, or too large, for weights that are infinite or of both signs: "
                "its scores are not numbers. Smooth with alpha > 0, or scale X.");
        }
        if (mark[i] != 0) rows.push_back(static_cast<std::int64_t>(i));
    }
    return rows;
}

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
        hopeless[i] = detail::mark_of(z, K);
        if (hopeless[i] == detail::not_numbers) return;
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
    auto const rows = detail::marked(hopeless);
    return output == Output::joint ? std::vector<std::int64_t>{} : rows;
}

// Weights in single precision, rows padded to whole vectors: half of the memory that the scores of texts wait for.
struct SingleWeights {
    static constexpr std::size_t register_size = 8;

    float* theta = nullptr;
    std::size_t width = 0;
    double largest = 0;  // |theta|; infinite where single precision does not reach

    static std::size_t padded(std::size_t classes) { return Team::count(classes, register_size) * register_size; }
};

// Fills theta of W.rows x padded(W.classes); gives the largest size of a weight.
inline double narrow(Weights const& W, float* theta, Team& team) {
    constexpr std::size_t grain = 4096;
    std::size_t const width = SingleWeights::padded(W.classes);
    std::vector<double> largest(Team::count(W.rows, grain), 0.0);
    team.each_range(W.rows, grain, [&](std::size_t begin, std::size_t end, std::size_t chunk) {
        double most = 0;
        for (std::size_t j = begin; j < end; ++j) {
            double const* from = W.theta + j * W.stride();
            float* to = theta + j * width;
            std::fill(to + W.classes, to + width, 0.0F);
#pragma omp simd reduction(max : most)
            for (std::size_t c = 0; c < W.classes; ++c) {
                to[c] = static_cast<float>(from[c]);
                most = std::max(most, std::abs(from[c]));
            }
        }
        largest[chunk] = most;
    });
    double const most = largest.empty() ? 0.0 : *std::max_element(largest.begin(), largest.end());
    return most > 0x1p-40 && most < 0x1p80 ? most : std::numeric_limits<double>::infinity();
}

namespace detail {

constexpr std::size_t single_run = 128;  // products summed in single precision before they go to a double

// z_c = sum_j a_j theta_jc of one row, each off by no more than single_error times sum_j |a_j|, which comes back.
template <class Event>
double sum_single(Event const& event, ReadSparse const& X, std::size_t i, SingleWeights const& W, double* z) {
    typedef float Vector __attribute__((vector_size(32)));
    double size = 0;
    std::fill(z, z + W.width, 0.0);
    for (std::size_t column = 0; column < W.width;) {
        with_count<4>((W.width - column) / SingleWeights::register_size, [&](auto count) {
            constexpr int N = count;
            X.each_part(i, [&, W](Index const* indices, double const* x, std::size_t n, std::size_t last) {
                double length = 0;
                for (std::size_t first = 0; first < n; first += single_run) {
                    Vector sums[N] = {};
                    for (std::size_t k = first; k < std::min(n, first + single_run); ++k) {
                        auto const next = static_cast<std::size_t>(indices[std::min(k + ahead, last)]);
                        float const* later = W.theta + next * W.width + column;
                        for (int line = 0; line <= N / 2; ++line) __builtin_prefetch(later + 16 * line);
                        double const amount = event.amount(x[k]);
                        if (column == 0) length += std::abs(amount);
                        auto const a = static_cast<float>(amount);
                        float const* row = W.theta + static_cast<std::size_t>(indices[k]) * W.width + column;
                        for (int v = 0; v < N; ++v) {
                            Vector theta;
                            std::memcpy(&theta, row + static_cast<std::size_t>(v) * SingleWeights::register_size,
                                        sizeof(Vector));
                            sums[v] += a * theta;
                        }
                    }
                    float values[N * SingleWeights::register_size];
                    std::memcpy(values, sums, sizeof(sums));
                    for (std::size_t c = 0; c < N * SingleWeights::register_size; ++c) {
                        z[column + c] += static_cast<double>(values[c]);
                    }
                }
                size += length;
            });
            column += N * SingleWeights::register_size;
        });
    }
    return size;
}

// Scores from sums, in place, and the best. (Best and second best in one plain loop took 0.2 us a row of 77 classes, as
// long as the sums of a short text.)
inline double add_offsets(std::size_t K, double const* b, double const* prior, double* z) {
    double best = impossible;
#pragma omp simd reduction(max : best)
    for (std::size_t c = 0; c < K; ++c) {
        double const score = z[c] + b[c] + prior[c];
        z[c] = score;
        best = score > best ? score : best;
    }
    return best;
}

// How many scores are not below `least`; none where it is not a number.
inline std::int64_t count_above(std::size_t K, double const* z, double least) {
    std::int64_t count = 0;
#pragma omp simd reduction(+ : count)
    for (std::size_t c = 0; c < K; ++c) count += z[c] >= least ? 1 : 0;
    return count;
}

template <class Event>
void label_sparse(Event const& event, ReadSparse const& X, Weights const& W, SingleWeights const& single,
                  double const* prior, std::int64_t* labels, std::vector<char>& hopeless, Team& team) {
    std::size_t const K = W.classes;
    double const share = static_cast<double>(single_run + 8) * 0x1p-24 * single.largest;
    team.each_range(X.lines, rows_a_chunk, [&](std::size_t begin, std::size_t end, std::size_t) {
        std::vector<double> z(single.width), exact(W.padded());
        for (std::size_t i = begin; i < end; ++i) {
            double const size = sum_single(event, X, i, single, z.data());
            double const best = add_offsets(K, W.b, prior, z.data());
            double const error = share * size + 0x1p-40 * std::abs(best);
            bool const in_range =
                size > 0x1p-40 && size < 0x1p20;  // no product overflows, none that matters underflows
            if (in_range && std::isfinite(best) && count_above(K, z.data(), best - 2 * error) == 1) {
                labels[i] = std::find(z.begin(), z.end(), best) - z.begin();
                continue;
            }
            sum_scores(event, X, i, i + 1, W, exact.data());
            complete_scores(W, exact.data());
            for (std::size_t c = 0; c < K; ++c) exact[c] += prior[c];
            auto const top = std::max_element(exact.begin(), exact.begin() + static_cast<std::ptrdiff_t>(K));
            labels[i] = top - exact.begin();
            hopeless[i] = mark_of(exact.data(), K);
        }
    });
}

}  // namespace detail

// The best class of each row as `score` has it. Sums in single precision are off by at most a share of sum_j |a_j|
// times the largest weight: a, theta, their product and each of `single_run` additions round by 2^-24 of what is summed
// (half of that in truth, which leaves room for the roundings in double). A row whose two best scores are not further
// apart than that goes the exact way, ties included.
template <class Event>
std::vector<std::int64_t> label(Event const& event, Design const& design, Weights const& W, SingleWeights const& single,
                                double const* prior, std::int64_t* labels, Team& team) {
    bool done = false;
    std::vector<char> hopeless(lines(design), 0);
    if constexpr (Event::reads_sparse) {
        bool const usable = single.theta != nullptr && std::isfinite(single.largest) && W.columns == W.classes;
        visit_for<Event>(design, [&](auto const& X) {
            if constexpr (std::remove_cvref_t<decltype(X)>::is_sparse) {
                done = usable && event.rows(X.width) <= W.rows;
                if (done) detail::label_sparse(event, X, W, single, prior, labels, hopeless, team);
            }
        });
    }
    return done ? detail::marked(hopeless) : score(event, design, W, prior, Output::label, nullptr, labels, team);
}

enum class PriorKind { documents, tokens, fixed };

// Where the prior of a class comes from: its share of the documents or tokens, (n_c + l) / (n + K l), or given
// logarithms.
struct Prior {
    PriorKind kind;
    double smoothing;
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
        share[c] = (prior.kind == PriorKind::tokens ? S.tokens(c).high : S.documents(c).high) + prior.smoothing;
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

}  // namespace tallywise::naive_bayes
