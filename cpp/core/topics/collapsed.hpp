// Collapsed variational inference for latent Dirichlet allocation, zero order (CVB0).
//
// Given counts x_dw and priors alpha, beta, every entry (d, w) holds a distribution gamma over K topics. A sweep visits
// each entry once and sets
//     gamma_k proportional to (n_dk + alpha_k) (n_wk + beta_w) / (n_k + sum beta),
// n_dk and n_wk being sums of x gamma without the entry itself, which it then joins again. n_k is that of the moment
// when the sweep came to the document: a division for each document and topic instead of each entry and topic, for a
// relative error of a document's length over the corpus's. What comes back is n_wk and n_dk. Asuncion, Welling, Smyth
// and Teh, "On smoothing and inference for topic models", UAI 2009.
//
// Up to `widest` topics every document holds all of them. Above, each document holds its `width` strongest, chosen anew
// every few sweeps from what it has and from what its words are most often about, so that the cost of a sweep is
// entries * width + words * K. Dropped mass goes to the topics that stay. (KOS, K = 200, 50 sweeps:
// held-out perplexity 1394, against 1373 with all topics.) A place in a list takes three times as long as a topic that
// lies beside the last one: at K = 100, lists take 1.6 times as long as all topics.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/base/parallel.hpp"
#include "core/topics/corpus.hpp"
#include "core/topics/random.hpp"
#include "core/topics/shares.hpp"

namespace tallywise::topics {

struct Priors {
    std::vector<float> alpha;  // one a topic
    std::vector<float> beta;   // one a word
};

class Collapsed {
  public:
    static constexpr std::size_t width = list_width;
    static constexpr std::size_t widest = 128;  // topics of which every document holds all

    // `blocks` = 0 cuts the corpus as its size asks for.
    Collapsed(Corpus corpus, Priors priors, std::uint64_t seed, std::size_t blocks)
        : cut_(std::move(corpus), blocks),
          K_(priors.alpha.size()),
          stride_((K_ + 15) / 16 * 16),
          listed_(K_ > widest),
          held_(listed_ ? width : stride_),
          seed_(seed),
          word_topic_(cut_.corpus.words * stride_),
          totals_(stride_),
          gamma_(cut_.corpus.entries() * held_),
          document_topic_(cut_.corpus.documents * held_),
          lengths_(cut_.corpus.documents) {
        if (listed_) {
            lists_.resize(cut_.corpus.documents * width);
            old_lists_ = lists_;
            sizes_.assign(cut_.corpus.documents, 0);
            old_sizes_ = sizes_;
        }
        for (std::size_t d = 0; d < lengths_.size(); ++d) lengths_[d] = cut_.corpus.length(d);
        set_priors(std::move(priors));
    }

    std::size_t topics() const { return K_; }
    Corpus const& corpus() const { return cut_.corpus; }

    void set_priors(Priors priors) {
        priors_ = std::move(priors);
        priors_.alpha.resize(stride_, 0.0F);
        alpha_sum_ = beta_sum_ = 0;
        for (float a : priors_.alpha) alpha_sum_ += static_cast<double>(a);
        for (float b : priors_.beta) beta_sum_ += static_cast<double>(b);
    }

    // First gamma, proportional to share_dk topic_wk. `topic` is words x K; `share` is documents x K, or null for flat.
    void start(Team& team, float const* share, float const* topic) {
        for (std::size_t w = 0; w < corpus().words; ++w) {
            std::copy(topic + w * K_, topic + (w + 1) * K_, &word_topic_[w * stride_]);
        }
        std::fill(totals_.begin(), totals_.end(), 1.0);
        sweeps_ = 0;
        if (listed_) find_tops(team);
        team.each(cut_.blocks(), [&](std::size_t block) {
            Scratch scratch(stride_);
            for (std::size_t d = cut_.first_document(block); listed_ && d < cut_.first_document(block + 1); ++d) {
                choose_list(d, share == nullptr ? nullptr : share + d * K_, scratch);
            }
            for (std::size_t step = 0; step < cut_.blocks(); ++step) {
                for (Run const& run : cut_.cell(block, step)) {
                    start_run(run, share == nullptr ? nullptr : share + run.document * K_, scratch.b.data());
                }
            }
        });
        std::fill(document_topic_.begin(), document_topic_.end(), 0.0F);
        std::fill(word_topic_.begin(), word_topic_.end(), 0.0F);
        std::fill(totals_.begin(), totals_.end(), 0.0);
        each_cell(team, [&](std::vector<Run> const& runs, float*, std::size_t) {
            for (Run const& run : runs) count_run(run);
            return 0.0;
        });
        for (std::size_t w = 0; w < corpus().words; ++w) {
            for (std::size_t k = 0; k < K_; ++k) totals_[k] += static_cast<double>(word_topic_[w * stride_ + k]);
        }
    }

    // One pass over all entries. With `measure`, returns the sum over entries of x log p(w | everything else), the
    // leave-one-out log predictive probability before each update; otherwise 0.
    double sweep(Team& team, bool measure) {
        ++sweeps_;
        moving_ = listed_ && sweeps_ % list_life == 1;
        if (moving_) choose_lists(team);
        return each_cell(team, [&](std::vector<Run> const& runs, float* totals, std::size_t) {
            if (listed_) return listed_cell(runs, totals, measure);
            return dense_cell(runs, totals, measure);
        });
    }

    // words x K, without the prior.
    std::vector<float> word_topic() const {
        std::vector<float> result(corpus().words * K_);
        for (std::size_t w = 0; w < corpus().words; ++w) {
            for (std::size_t k = 0; k < K_; ++k) {
                result[w * K_ + k] = std::max(0.0F, word_topic_[w * stride_ + k]);
            }
        }
        return result;
    }

    // documents x K, without the prior.
    std::vector<float> document_topic() const {
        std::vector<float> result(corpus().documents * K_);
        for (std::size_t d = 0; d < corpus().documents; ++d) {
            std::size_t const n = listed_ ? sizes_[d] : K_;
            for (std::size_t j = 0; j < n; ++j) {
                std::size_t const k = listed_ ? lists_[d * width + j] : j;
                result[d * K_ + k] = std::max(0.0F, document_topic_[d * held_ + j]);
            }
        }
        return result;
    }

  private:
    static constexpr std::uint64_t list_life = 5;  // sweeps
    static constexpr std::size_t newcomers = 8;    // places of a full list that are free for topics it does not hold
    static constexpr std::size_t tops = 4;         // strongest topics of a word, which vote for newcomers
    static constexpr float held = -1;              // votes of a topic that needs none: the list has it
    static constexpr float faint = 0.05F;          // tokens of a topic below which a document lets go of it

    struct Scratch {
        explicit Scratch(std::size_t n) : a(n), b(n), order() {}
        std::vector<float> a, b;
        std::vector<std::uint32_t> order;
    };

    // Calls f(runs, totals, block) for the cells of each step at once, with a private copy of the topic totals each,
    // and adds up, in order, the changes of the totals and what f returns.
    template <class F>
    double each_cell(Team& team, F&& f) {
        std::size_t const blocks = cut_.blocks();
        std::vector<std::vector<float>> totals(blocks);
        std::vector<double> measures(blocks);
        std::vector<float> base(stride_);
        double sum = 0;
        for (std::size_t step = 0; step < blocks; ++step) {
            for (std::size_t k = 0; k < stride_; ++k) base[k] = static_cast<float>(totals_[k]);
            team.each(blocks, [&](std::size_t block) {
                totals[block] = base;
                measures[block] = f(cut_.cell(block, step), totals[block].data(), block);
            });
            for (std::size_t block = 0; block < blocks; ++block) {
                sum += measures[block];
                for (std::size_t k = 0; k < stride_; ++k) {
                    totals_[k] += static_cast<double>(totals[block][k]) - static_cast<double>(base[k]);
                }
            }
        }
        return sum;
    }

    double log_predictive(float x, float mass, std::size_t d) const {
        return static_cast<double>(x) * std::log(static_cast<double>(mass) /
                                                 std::max(lengths_[d] - static_cast<double>(x) + alpha_sum_, 1e-300));
    }

    double dense_cell(std::vector<Run> const& runs, float* totals, bool measure) {
        std::vector<float> inverse(stride_), fresh(stride_), before(stride_);
        float const* const alpha = priors_.alpha.data();
        float const B = static_cast<float>(beta_sum_);
        double sum = 0;
        for (Run const& run : runs) {
            float* const nd = &document_topic_[run.document * held_];
            std::copy(nd, nd + stride_, before.data());
            for (std::size_t k = 0; k < K_; ++k) inverse[k] = 1 / (totals[k] + B);
            for (std::size_t e = run.begin; e < run.end; ++e) {
                Share* const gamma = &gamma_[e * held_];
                float* const nw = &word_topic_[cut_.word[e] * stride_];
                float const x = cut_.count[e], beta = priors_.beta[cut_.word[e]], unit = x / whole;
                float const mass = weigh(stride_, {gamma, nd, nw, alpha, inverse.data()}, unit, beta, fresh.data());
                if (!(mass > 0)) continue;  // priors so small that every product underflows: nothing to learn from
                replace(stride_, fresh.data(), whole / mass, unit, gamma, nd, nw);
                if (measure) sum += log_predictive(x, mass, run.document);
            }
            for (std::size_t k = 0; k < K_; ++k) totals[k] += nd[k] - before[k];
        }
        return sum;
    }

    // As dense_cell, in the places of the document's list: the word's row is gathered, updated and scattered.
    double listed_cell(std::vector<Run> const& runs, float* totals, bool measure) {
        std::vector<float> alpha(width), inverse(width), fresh(width), before(width), row(width);
        Moves moves{};
        float const B = static_cast<float>(beta_sum_);
        double sum = 0;
        for (Run const& run : runs) {
            std::size_t const at = run.document * width, n = sizes_[run.document], padded = (n + 15) / 16 * 16;
            std::uint32_t const* const list = &lists_[at];
            float* const nd = &document_topic_[at];
            for (std::size_t j = 0; j < n; ++j) {
                before[j] = nd[j];
                alpha[j] = priors_.alpha[list[j]];
                inverse[j] = 1 / (totals[list[j]] + B);
            }
            for (std::size_t j = n; j < padded; ++j) alpha[j] = inverse[j] = row[j] = 0;
            if (moving_) {
                moves = find_moves(list, n, &old_lists_[at], old_sizes_[run.document]);
            }
            for (std::size_t e = run.begin; e < run.end; ++e) {
                Share* const gamma = &gamma_[e * width];
                float* const nw = &word_topic_[cut_.word[e] * stride_];
                float const x = cut_.count[e], beta = priors_.beta[cut_.word[e]], unit = x / whole;
                if (moving_) move_shares(moves, unit, gamma, nw, totals);
                // The next word's places lie far from here: asked for early, they cost a fifth less of a sweep.
                float const* const next = &word_topic_[cut_.word[std::min(e + 1, run.end - 1)] * stride_];
                for (std::size_t j = 0; j < n; ++j) {
                    row[j] = nw[list[j]];
                    __builtin_prefetch(&next[list[j]], 1);
                }
                float const mass =
                    weigh(padded, {gamma, nd, row.data(), alpha.data(), inverse.data()}, unit, beta, fresh.data());
                if (!(mass > 0)) continue;
                replace(padded, fresh.data(), whole / mass, unit, gamma, nd, row.data());
                for (std::size_t j = 0; j < n; ++j) nw[list[j]] = row[j];
                if (measure) sum += log_predictive(x, mass, run.document);
            }
            for (std::size_t j = 0; j < n; ++j) totals[list[j]] += nd[j] - before[j];
        }
        return sum;
    }

    // f(j, k): place j of the document's shares is that of topic k. Two loops, for the sake of vectors in the plain
    // one.
    template <class F>
    void each_topic(std::size_t d, F&& f) const {
        if (listed_) {
            for (std::size_t j = 0; j < sizes_[d]; ++j) f(j, lists_[d * width + j]);
        } else {
#pragma omp simd
            for (std::size_t k = 0; k < K_; ++k) f(k, k);
        }
    }

    void count_run(Run const& run) {
        float* const nd = &document_topic_[run.document * held_];
        for (std::size_t e = run.begin; e < run.end; ++e) {
            float* const nw = &word_topic_[cut_.word[e] * stride_];
            Share const* const gamma = &gamma_[e * held_];
            float const unit = cut_.count[e] / whole;
            each_topic(run.document, [=](std::size_t j, std::size_t k) {
                float const own = unit * static_cast<float>(gamma[j]);
                nd[j] += own;
                nw[k] += own;
            });
        }
    }

    void start_run(Run const& run, float const* share, float* part) {
        std::size_t const n = listed_ ? sizes_[run.document] : K_;
        for (std::size_t e = run.begin; e < run.end; ++e) {
            float const* const row = &word_topic_[cut_.word[e] * stride_];
            if (share == nullptr) {
                each_topic(run.document, [=](std::size_t j, std::size_t k) { part[j] = row[k]; });
            } else {
                each_topic(run.document, [=](std::size_t j, std::size_t k) { part[j] = row[k] * share[k]; });
            }
            float mass = 0;
#pragma omp simd reduction(+ : mass)
            for (std::size_t j = 0; j < n; ++j) mass += part[j];
            if (!(mass > 0)) {
                std::fill(part, part + n, 1.0F);
                mass = static_cast<float>(n);
            }
            float const scale = whole / mass;
            Share* const gamma = &gamma_[e * held_];
#pragma omp simd
            for (std::size_t j = 0; j < n; ++j) {
                gamma[j] = static_cast<Share>(static_cast<std::int32_t>(part[j] * scale + 0.5F));
            }
        }
    }

    // The strongest topics of each word by n_wk / n_k.
    void find_tops(Team& team) {
        tops_.resize(corpus().words * tops);
        std::vector<float> inverse(K_);
        for (std::size_t k = 0; k < K_; ++k) inverse[k] = static_cast<float>(1 / (totals_[k] + beta_sum_));
        team.each_range(corpus().words, 256, [&](std::size_t begin, std::size_t end, std::size_t) {
            for (std::size_t w = begin; w < end; ++w) {
                float best[tops];
                std::fill(best, best + tops, -1.0F);
                std::uint32_t* const top = &tops_[w * tops];
                for (std::uint32_t k = 0; k < K_; ++k) {
                    float const score = word_topic_[w * stride_ + k] * inverse[k];
                    if (score <= best[tops - 1]) continue;
                    std::size_t place = tops - 1;
                    for (; place > 0 && score > best[place - 1]; --place) {
                        best[place] = best[place - 1];
                        top[place] = top[place - 1];
                    }
                    best[place] = score;
                    top[place] = k;
                }
            }
        });
    }

    void choose_lists(Team& team) {
        find_tops(team);
        std::swap(lists_, old_lists_);
        std::swap(sizes_, old_sizes_);
        team.each(cut_.blocks(), [&](std::size_t block) {
            Scratch scratch(stride_);
            for (std::size_t d = cut_.first_document(block); d < cut_.first_document(block + 1); ++d) {
                std::uint32_t const* const old = &old_lists_[d * width];
                float* const nd = &document_topic_[d * width];
                for (std::size_t j = 0; j < old_sizes_[d]; ++j) scratch.a[old[j]] = nd[j];
                choose_list(d, scratch.a.data(), scratch);
                std::fill(nd, nd + width, 0.0F);
                for (std::size_t j = 0; j < sizes_[d]; ++j) nd[j] = scratch.a[lists_[d * width + j]];
                for (std::size_t j = 0; j < old_sizes_[d]; ++j) scratch.a[old[j]] = 0;
            }
        });
    }

    // The strongest topics of `mass` (K of them, or null), and those with most votes among the document's words; a full
    // list at the start, when chance fills what is left.
    void choose_list(std::size_t d, float const* mass, Scratch& scratch) {
        auto& order = scratch.order;
        auto stronger = [](float const* by) {
            return [by](std::uint32_t p, std::uint32_t q) { return by[p] != by[q] ? by[p] > by[q] : p < q; };
        };
        order.clear();
        if (mass != nullptr) {
            for (std::uint32_t k = 0; k < K_; ++k) {
                if (mass[k] >= faint) order.push_back(k);
            }
            std::sort(order.begin(), order.end(), stronger(mass));
            order.resize(std::min(order.size(), width - newcomers));
        }
        std::uint32_t* const list = &lists_[d * width];
        std::size_t n = order.size();
        std::copy(order.begin(), order.end(), list);

        float* const votes = scratch.b.data();
        std::fill(votes, votes + K_, 0.0F);
        order.clear();
        for (std::size_t e = corpus().begin[d]; e < corpus().begin[d + 1]; ++e) {
            for (std::size_t t = 0; t < tops; ++t) {
                std::uint32_t const k = tops_[corpus().word[e] * tops + t];
                if (votes[k] == 0) order.push_back(k);
                votes[k] += corpus().count[e];
            }
        }
        for (std::size_t j = 0; j < n; ++j) votes[list[j]] = held;
        std::erase_if(order, [&](std::uint32_t k) { return votes[k] == held; });
        std::size_t const room = sweeps_ == 0 ? width : std::min(width, n + newcomers);
        if (order.size() > room - n) {
            auto const last = order.begin() + static_cast<std::ptrdiff_t>(room - n);
            std::nth_element(order.begin(), last, order.end(), stronger(votes));
            order.erase(last, order.end());
        }
        n = static_cast<std::size_t>(std::copy(order.begin(), order.end(), list + n) - list);
        if (sweeps_ == 0) {
            Stream random(seed_, 0, d);
            while (n < width) {
                auto const k = static_cast<std::uint32_t>(random.below(K_));
                if (std::find(list, list + n, k) == list + n) list[n++] = k;
            }
        }
        if (n == 0) list[n++] = 0;
        std::sort(list, list + n);
        sizes_[d] = static_cast<std::uint32_t>(n);
    }

    Partition cut_;
    std::size_t K_, stride_;
    bool listed_, moving_ = false;  // documents hold lists; and are changing them in this sweep
    std::size_t held_;              // shares stored for an entry, topics stored for a document
    std::uint64_t seed_, sweeps_ = 0;
    Priors priors_;
    double alpha_sum_ = 0, beta_sum_ = 0;
    std::vector<float> word_topic_;
    std::vector<double> totals_;
    std::vector<Share> gamma_;
    std::vector<float> document_topic_;
    std::vector<double> lengths_;
    std::vector<std::uint32_t> lists_, old_lists_, sizes_, old_sizes_, tops_;
};

}  // namespace tallywise::topics
