// Collapsed Gibbs sampling for latent Dirichlet allocation, with sparse buckets.
//
// Every token i of word w in document d holds a topic z_i. A sweep draws each z_i anew from
//     p(z_i = k | all others) proportional to (n_dk + alpha_k) (n_wk + beta_w) / (n_k + sum beta),
// split into  beta_w alpha_k / N_k  +  beta_w n_dk / N_k  +  n_wk (n_dk + alpha_k) / N_k,  N_k = n_k + sum beta. The
// first sum is kept up to date, the second runs over the document's topics, the third over the word's: a token costs as
// many steps as its word and its document have topics, whatever K is.
// Yao, Mimno and McCallum, "Efficient methods for topic model inference on streaming document collections", KDD 2009.
//
// A count of 2.3 is two tokens and one of weight 0.3, which counts as that much of a token.
// In a corpus of one block the draws are exactly these. In a larger one n_k is as old as the step of the partition.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/base/parallel.hpp"
#include "core/topics/collapsed.hpp"
#include "core/topics/corpus.hpp"
#include "core/topics/random.hpp"

namespace tallywise::topics {

// (topic, count) pairs of one word or document, counts falling, in a place of fixed size.
class Tally {
  public:
    struct Pair {
        std::uint32_t topic;
        float count;
    };

    Tally(Pair* pairs, std::uint32_t& size) : pairs_(pairs), size_(size) {}

    Pair const* begin() const { return pairs_; }
    Pair const* end() const { return pairs_ + size_; }

    float count(std::uint32_t topic) const {
        std::size_t const j = find(topic);
        return j < size_ ? pairs_[j].count : 0;
    }

    void add(std::uint32_t topic, float weight) {
        std::size_t j = find(topic);
        if (j == size_) pairs_[size_++] = {topic, 0};
        pairs_[j].count += weight;
        for (; j > 0 && pairs_[j - 1].count < pairs_[j].count; --j) std::swap(pairs_[j - 1], pairs_[j]);
    }

    void take(std::uint32_t topic, float weight) {
        std::size_t j = find(topic);
        pairs_[j].count -= weight;
        if (pairs_[j].count < dust) pairs_[j].count = 0;
        for (; j + 1 < size_ && pairs_[j + 1].count > pairs_[j].count; ++j) std::swap(pairs_[j], pairs_[j + 1]);
        if (pairs_[j].count == 0) --size_;  // a count of nothing is the smallest: it has moved to the end
    }

  private:
    static constexpr float dust = 1e-5F;  // what is left of parts of tokens by rounding

    std::size_t find(std::uint32_t topic) const {
        std::size_t j = 0;
        while (j < size_ && pairs_[j].topic != topic) ++j;
        return j;
    }

    Pair* pairs_;
    std::uint32_t& size_;
};

class Gibbs {
  public:
    // `z` gives the first topic of each token, tokens in the order of X's entries; null draws them at random.
    Gibbs(Corpus corpus, Priors priors, std::uint64_t seed, std::size_t blocks, std::uint32_t const* z)
        : cut_(std::move(corpus), blocks), K_(priors.alpha.size()), seed_(seed), totals_(K_) {
        set_priors(std::move(priors));
        place_tokens();
        place_tallies();
        Stream random(seed_, 0, 0);
        z_.resize(token_.back());
        for (std::size_t e = 0; e < cut_.corpus.entries(); ++e) {
            for (std::size_t i = 0; i < token_[e + 1] - token_[e]; ++i) {
                z_[token_[e] + i] = z == nullptr ? static_cast<std::uint32_t>(random.below(K_)) : z[origin_[e] + i];
            }
        }
        count();
    }

    // Draws the topic of each token in proportion to share_dk topic_wk. `topic` is words x K; `share` is documents x K,
    // or null for flat.
    void start(Team&, float const* share, float const* topic) {
        Stream random(seed_, 0, 1);
        std::vector<double> mass(K_);
        cut_.each_run([&](Run const& run) {
            for (std::size_t e = run.begin; e < run.end; ++e) {
                double total = 0;
                for (std::size_t k = 0; k < K_; ++k) {
                    mass[k] = static_cast<double>(topic[cut_.word[e] * K_ + k]) *
                              (share == nullptr ? 1.0 : static_cast<double>(share[run.document * K_ + k]));
                    total += mass[k];
                }
                for (std::size_t i = token_[e]; i < token_[e + 1]; ++i) {
                    double u = random.uniform() * total;
                    std::uint32_t k = 0;
                    while (k + 1 < K_ && (u -= mass[k]) >= 0) ++k;
                    z_[i] = k;
                }
            }
        });
        count();
    }

    std::size_t topics() const { return K_; }
    Corpus const& corpus() const { return cut_.corpus; }

    void set_priors(Priors priors) {
        priors_ = std::move(priors);
        beta_sum_ = alpha_sum_ = 0;
        for (float b : priors_.beta) beta_sum_ += static_cast<double>(b);
        for (float a : priors_.alpha) alpha_sum_ += static_cast<double>(a);
    }

    // One draw for every token. With `measure`, returns the sum of log p(w_i | all other tokens and topics).
    double sweep(Team& team, bool measure) {
        std::size_t const blocks = cut_.blocks();
        ++sweeps_;
        std::vector<std::vector<double>> totals(blocks);
        std::vector<double> measures(blocks);
        double sum = 0;
        for (std::size_t step = 0; step < blocks; ++step) {
            team.each(blocks, [&](std::size_t block) {
                totals[block] = totals_;
                Stream random(seed_, sweeps_, block * blocks + step);
                measures[block] = cell(cut_.cell(block, step), totals[block], random, measure);
            });
            std::vector<double> const base = totals_;
            for (std::size_t block = 0; block < blocks; ++block) {
                sum += measures[block];
                for (std::size_t k = 0; k < K_; ++k) totals_[k] += totals[block][k] - base[k];
            }
        }
        return sum;
    }

    std::vector<float> word_topic() {
        return laid_out(cut_.corpus.words, [&](std::size_t w) { return word(w); });
    }
    std::vector<float> document_topic() {
        return laid_out(cut_.corpus.documents, [&](std::size_t d) { return document(d); });
    }

    // Topics of the tokens, in the order of X's entries.
    std::vector<std::uint32_t> assignments() const {
        std::vector<std::uint32_t> z(z_.size());
        for (std::size_t e = 0; e < cut_.corpus.entries(); ++e) {
            std::copy(&z_[token_[e]], &z_[token_[e]] + (token_[e + 1] - token_[e]), &z[origin_[e]]);
        }
        return z;
    }

    static std::size_t tokens(float count) { return static_cast<std::size_t>(std::ceil(count)); }

  private:
    void count() {
        std::fill(word_sizes_.begin(), word_sizes_.end(), 0);
        std::fill(document_sizes_.begin(), document_sizes_.end(), 0);
        std::fill(totals_.begin(), totals_.end(), 0.0);
        cut_.each_run([&](Run const& run) {
            for (std::size_t e = run.begin; e < run.end; ++e) {
                for (std::size_t i = token_[e]; i < token_[e + 1]; ++i) {
                    float const weight = weight_of(e, i);
                    document(run.document).add(z_[i], weight);
                    word(cut_.word[e]).add(z_[i], weight);
                    totals_[z_[i]] += static_cast<double>(weight);
                }
            }
        });
    }

    void place_tokens() {
        std::size_t const n = cut_.corpus.entries();
        std::vector<std::size_t> begin(n + 1);
        token_.assign(n + 1, 0);
        for (std::size_t e = 0; e < n; ++e) {
            auto const c = tokens(cut_.count[e]);
            token_[e + 1] = token_[e] + c;
            begin[cut_.source[e] + 1] = c;
        }
        for (std::size_t e = 0; e < n; ++e) begin[e + 1] += begin[e];
        origin_.resize(n);
        for (std::size_t e = 0; e < n; ++e) origin_[e] = begin[cut_.source[e]];
    }

    // A word or document of n tokens needs at most min(n, K) places.
    void place_tallies() {
        Corpus const& c = cut_.corpus;
        std::vector<std::size_t> tokens_of_word(c.words), tokens_of_document(c.documents);
        for (std::size_t d = 0; d < c.documents; ++d) {
            for (std::size_t e = c.begin[d]; e < c.begin[d + 1]; ++e) {
                tokens_of_word[c.word[e]] += tokens(c.count[e]);
                tokens_of_document[d] += tokens(c.count[e]);
            }
        }
        auto place = [&](std::vector<std::size_t> const& tokens, std::vector<std::size_t>& begin,
                         std::vector<Tally::Pair>& pairs, std::vector<std::uint32_t>& sizes) {
            begin.assign(1, 0);
            for (auto n : tokens) begin.push_back(begin.back() + std::min(n, K_));
            pairs.resize(begin.back());
            sizes.assign(tokens.size(), 0);
        };
        place(tokens_of_word, word_begin_, word_pairs_, word_sizes_);
        place(tokens_of_document, document_begin_, document_pairs_, document_sizes_);
    }

    // Weight of token i, which is of entry e.
    float weight_of(std::size_t e, std::size_t i) const {
        return std::min(1.0F, cut_.count[e] - static_cast<float>(i - token_[e]));
    }

    Tally word(std::size_t w) { return {word_pairs_.data() + word_begin_[w], word_sizes_[w]}; }
    Tally document(std::size_t d) { return {document_pairs_.data() + document_begin_[d], document_sizes_[d]}; }

    template <class F>
    std::vector<float> laid_out(std::size_t lines, F&& tally) {
        std::vector<float> result(lines * K_);
        for (std::size_t line = 0; line < lines; ++line) {
            for (auto const& pair : tally(line)) result[line * K_ + pair.topic] = pair.count;
        }
        return result;
    }

    // What the draws of one cell need of the totals, kept up to date as tokens change their topic: 1 / N_k, (n_dk +
    // alpha_k) / N_k of the document at hand, and the sums over k of alpha_k / N_k and n_dk / N_k.
    struct Shares {
        std::vector<float> const& alpha;
        double beta_sum;
        std::vector<double>& totals;
        std::vector<double> inverse, weight;
        double smoothing = 0, held = 0;

        Shares(std::vector<float> const& alphas, double betas, std::vector<double>& sums)
            : alpha(alphas), beta_sum(betas), totals(sums), inverse(sums.size()), weight(sums.size()) {
            for (std::size_t k = 0; k < sums.size(); ++k) {
                inverse[k] = 1 / (totals[k] + beta_sum);
                weight[k] = static_cast<double>(alpha[k]) * inverse[k];
                smoothing += weight[k];
            }
        }

        void open(Tally const& doc) {
            held = 0;
            for (auto const& pair : doc) {
                double const part = static_cast<double>(pair.count) * inverse[pair.topic];
                held += part;
                weight[pair.topic] += part;
            }
        }
        void close(Tally const& doc) {
            for (auto const& pair : doc) {
                weight[pair.topic] = static_cast<double>(alpha[pair.topic]) * inverse[pair.topic];
            }
        }

        // Adds `change` to the total of topic k, of which the document has n_dk after it.
        void move(std::uint32_t k, double change, Tally const& doc) {
            double const a = static_cast<double>(alpha[k]), count = static_cast<double>(doc.count(k));
            smoothing -= a * inverse[k];
            held -= (count - change) * inverse[k];
            totals[k] += change;
            inverse[k] = 1 / (totals[k] + beta_sum);
            smoothing += a * inverse[k];
            held += count * inverse[k];
            weight[k] = (count + a) * inverse[k];
        }
    };

    double cell(std::vector<Run> const& runs, std::vector<double>& totals, Stream& random, bool measure) {
        Shares shares(priors_.alpha, beta_sum_, totals);
        double sum = 0;
        for (Run const& run : runs) {
            Tally doc = document(run.document);
            shares.open(doc);
            double length = 0;
            for (auto const& pair : doc) length += static_cast<double>(pair.count);
            for (std::size_t e = run.begin; e < run.end; ++e) {
                Tally about = word(cut_.word[e]);
                auto const beta = static_cast<double>(priors_.beta[cut_.word[e]]);
                for (std::size_t i = token_[e]; i < token_[e + 1]; ++i) {
                    float const weight = weight_of(e, i);
                    auto const x = static_cast<double>(weight);
                    doc.take(z_[i], weight);
                    about.take(z_[i], weight);
                    shares.move(z_[i], -x, doc);
                    double known = 0;
                    for (auto const& pair : about) known += static_cast<double>(pair.count) * shares.weight[pair.topic];
                    double const mass = known + beta * (shares.held + shares.smoothing);
                    z_[i] = draw(random.uniform() * mass, known, beta, about, doc, shares);
                    if (measure) sum += x * std::log(mass / (length - x + alpha_sum_));
                    doc.add(z_[i], weight);
                    about.add(z_[i], weight);
                    shares.move(z_[i], x, doc);
                }
            }
            shares.close(doc);
        }
        return sum;
    }

    // The topic at u of the mass: first what the word's own counts give, then the document's, then the smoothing.
    std::uint32_t draw(double u, double known, double beta, Tally const& about, Tally const& doc,
                       Shares const& shares) const {
        std::uint32_t last = 0;
        if (u < known) {
            for (auto const& pair : about) {
                last = pair.topic;
                if ((u -= static_cast<double>(pair.count) * shares.weight[pair.topic]) < 0) return last;
            }
            return last;
        }
        u = (u - known) / beta;
        if (u < shares.held && doc.begin() != doc.end()) {
            for (auto const& pair : doc) {
                last = pair.topic;
                if ((u -= static_cast<double>(pair.count) * shares.inverse[pair.topic]) < 0) return last;
            }
            return last;
        }
        u -= shares.held;
        for (std::uint32_t k = 0; k < K_; ++k) {
            if ((u -= static_cast<double>(priors_.alpha[k]) * shares.inverse[k]) < 0) return k;
        }
        return static_cast<std::uint32_t>(K_ - 1);
    }

    Partition cut_;
    std::size_t K_;
    std::uint64_t seed_, sweeps_ = 0;
    Priors priors_;
    double alpha_sum_ = 0, beta_sum_ = 0;
    std::vector<double> totals_;
    std::vector<std::size_t> token_, origin_;  // first token of each entry: in z_, and in the order of X
    std::vector<std::uint32_t> z_;
    std::vector<std::size_t> word_begin_, document_begin_;
    std::vector<Tally::Pair> word_pairs_, document_pairs_;
    std::vector<std::uint32_t> word_sizes_, document_sizes_;
};

}  // namespace tallywise::topics
