// Topics under the sanitizers: cuts, sweeps with few and with many topics, hostile corpora.
#include <cmath>
#include <numeric>

#include "core/topics/collapsed.hpp"
#include "core/topics/fold_in.hpp"
#include "core/topics/gibbs.hpp"
#include "core/topics/left_to_right.hpp"
#include "core/topics/prior_fit.hpp"
#include "tests/check.hpp"

using namespace tallywise;
using namespace tallywise::topics;

static Corpus random_corpus(std::size_t documents, std::size_t words) {
    Corpus corpus{documents, words, {0}, {}, {}};
    Stream random(7, 0, 0);
    for (std::size_t d = 0; d < documents; ++d) {
        for (std::size_t w = 0; w < words; ++w) {
            if (d % 5 == 4 || random.uniform() > 0.3) continue;  // every fifth document is empty
            corpus.word.push_back(static_cast<std::uint32_t>(w));
            corpus.count.push_back(static_cast<float>(1 + random.below(4)));
        }
        corpus.begin.push_back(corpus.word.size());
    }
    return corpus;
}

static Priors flat(std::size_t K, std::size_t words) {
    return {std::vector<float>(K, 0.1F), std::vector<float>(words, 0.01F)};
}

static double sum(std::vector<float> const& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

TEST(partition_meets_every_entry_once_and_steps_share_nothing) {
    for (std::size_t blocks : {1, 3, 8, 100}) {
        Partition const cut(random_corpus(40, 30), blocks);
        std::vector<int> met(cut.corpus.entries());
        for (std::size_t step = 0; step < cut.blocks(); ++step) {
            std::vector<std::size_t> owner(30, cut.blocks());
            for (std::size_t block = 0; block < cut.blocks(); ++block) {
                for (Run const& run : cut.cell(block, step)) {
                    CHECK(run.document >= cut.first_document(block) && run.document < cut.first_document(block + 1));
                    for (std::size_t e = run.begin; e < run.end; ++e) {
                        ++met[cut.source[e]];
                        CHECK(cut.word[e] == cut.corpus.word[cut.source[e]]);
                        CHECK(owner[cut.word[e]] == cut.blocks() || owner[cut.word[e]] == block);
                        owner[cut.word[e]] = block;
                    }
                }
            }
        }
        for (int times : met) CHECK(times == 1);
    }
}

TEST(collapsed_keeps_every_count_for_any_number_of_topics_and_threads) {
    for (std::size_t K : {1, 5, 64, 65, 130}) {
        std::vector<float> first;
        for (int threads : {1, 2, 4}) {
            Team team(threads);
            Collapsed model(random_corpus(60, 50), flat(K, 50), 3, 4);
            std::vector<float> topic(50 * K);
            Stream random(1, 1, 1);
            for (auto& t : topic) t = static_cast<float>(random.uniform());
            model.start(team, nullptr, topic.data());
            for (int sweep = 0; sweep < 12; ++sweep) model.sweep(team, true);
            double const tokens = sum(model.corpus().count);
            CHECK(std::abs(sum(model.word_topic()) - tokens) < 2e-3 * tokens);
            CHECK(std::abs(sum(model.document_topic()) - tokens) < 2e-3 * tokens);
            if (first.empty()) first = model.word_topic();
            CHECK(model.word_topic() == first);
        }
    }
}

TEST(gibbs_keeps_every_token_for_any_number_of_threads) {
    for (std::size_t K : {1, 5, 200}) {
        std::vector<std::uint32_t> first;
        for (int threads : {1, 2, 4}) {
            Team team(threads);
            Gibbs model(random_corpus(60, 50), flat(K, 50), 3, 4, nullptr);
            for (int sweep = 0; sweep < 8; ++sweep) model.sweep(team, true);
            CHECK(sum(model.word_topic()) == sum(model.corpus().count));
            if (first.empty()) first = model.assignments();
            CHECK(model.assignments() == first);
        }
    }
}

TEST(documents_fold_in_and_empty_ones_get_the_prior) {
    Corpus const corpus = random_corpus(20, 10);
    std::vector<double> phi(10 * 3, 0.1), alpha{0.2, 0.3, 0.5}, gamma(20 * 3, 1.0);
    Team team(2);
    FoldIn<double> const how{phi.data(), alpha.data(), 3, true, 50, 1e-6};
    fold_in(team, corpus, how, gamma.data());
    for (std::size_t k = 0; k < 3; ++k) CHECK(gamma[4 * 3 + k] == alpha[k]);
    auto const statistics = topic_statistics(team, corpus, how, gamma.data());
    CHECK(std::abs(std::accumulate(statistics.begin(), statistics.end(), 0.0) - sum(corpus.count)) < 1e-9);
    LeftToRight const estimate{.phi = phi.data(), .alpha = alpha.data(), .K = 3, .particles = 3, .seed = 1};
    for (double logs : estimate(team, corpus)) CHECK(logs <= 0);
}

TEST(digamma_is_that_of_the_tables) {
    double const euler = 0.57721566490153286;
    CHECK(std::abs(digamma(1.0) + euler) < 1e-13);
    CHECK(std::abs(digamma(0.5) + euler + 2 * std::log(2.0)) < 1e-13);
    CHECK(std::abs(digamma(10.0) - 2.2517525890667211) < 1e-13);
    CHECK(std::abs(digamma(1e-6) + 1e6 + euler) < 1e-5);
    CHECK(std::abs(digamma(1e9) - std::log(1e9)) < 1e-8);
}
