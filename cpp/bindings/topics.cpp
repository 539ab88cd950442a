#include <nanobind/stl/optional.h>

#include <optional>
#include <string>

#include "bindings/views.hpp"
#include "core/base/interrupt.hpp"
#include "core/topics/collapsed.hpp"
#include "core/topics/fold_in.hpp"
#include "core/topics/gibbs.hpp"
#include "core/topics/left_to_right.hpp"
#include "core/topics/prior_fit.hpp"

namespace tallywise::bindings {

using namespace topics;

namespace {

Priors priors(Vector<float> const& alpha, Vector<float> const& beta) {
    return {{alpha.data(), alpha.data() + alpha.shape(0)}, {beta.data(), beta.data() + beta.shape(0)}};
}

void require_fit(bool fits, char const* what) {
    require(fits, (std::string("The shape of ") + what + " does not fit.").c_str());
}

// Sweeps until `sweeps` are done or Ctrl-C; the last one is measured. State is whole between sweeps.
template <class Model>
double run(Model& model, int sweeps, int threads) {
    nb::gil_scoped_release released;
    Team team(threads);
    double measure = 0;
    for (int sweep = 1; sweep <= sweeps; ++sweep) {
        check_interrupt();
        measure = model.sweep(team, sweep == sweeps);
    }
    return measure;
}

template <class Model>
void start(Model& self, std::optional<Matrix<float>> share, Matrix<float> topic, int threads) {
    require_fit(topic.shape(0) == self.corpus().words && topic.shape(1) == self.topics(), "topic");
    require_fit(!share || (share->shape(0) == self.corpus().documents && share->shape(1) == self.topics()), "share");
    nb::gil_scoped_release released;
    Team team(threads);
    self.start(team, share ? share->data() : nullptr, topic.data());
}

template <class Model>
auto learner(nb::module_& m, char const* name, char const* text) {
    return nb::class_<Model>(m, name, text)
        .def("start", &start<Model>, nb::arg("share").none(), nb::arg("topic"), nb::arg("threads"),
             "First topics of the entries, in proportion to share (documents x K, or None) times topic (words x K).")
        .def("run", &run<Model>, nb::arg("sweeps"), nb::arg("threads"),
             "Sweep over the corpus; the leave-one-out log predictive probability of the last sweep.")
        .def(
            "set_priors",
            [](Model& model, Vector<float> alpha, Vector<float> beta) {
                require_fit(alpha.shape(0) == model.topics() && beta.shape(0) == model.corpus().words, "the priors");
                model.set_priors(priors(alpha, beta));
            },
            nb::arg("alpha"), nb::arg("beta"))
        .def("word_topic",
             [](Model& model) { return to_numpy(model.word_topic(), model.corpus().words, model.topics()); })
        .def("document_topic",
             [](Model& model) { return to_numpy(model.document_topic(), model.corpus().documents, model.topics()); });
}

void construct_collapsed(Collapsed* self, BoundDesign const& X, Vector<float> alpha, Vector<float> beta,
                         std::uint64_t seed, std::size_t blocks) {
    require_fit(beta.shape(0) == width(X.view) && alpha.shape(0) > 0, "the priors");
    nb::gil_scoped_release released;
    new (self) Collapsed(read_corpus(X.view), priors(alpha, beta), seed, blocks);
}

void construct_gibbs(Gibbs* self, BoundDesign const& X, Vector<float> alpha, Vector<float> beta, std::uint64_t seed,
                     std::size_t blocks, std::optional<Vector<std::uint32_t>> z) {
    require_fit(beta.shape(0) == width(X.view) && alpha.shape(0) > 0, "the priors");
    Corpus corpus = read_corpus(X.view);
    std::size_t tokens = 0;
    for (float x : corpus.count) tokens += Gibbs::tokens(x);
    require_fit(!z || z->shape(0) == tokens, "z");
    for (std::size_t i = 0; z && i < tokens; ++i) require_fit(z->data()[i] < alpha.shape(0), "a topic in z");
    new (self) Gibbs(std::move(corpus), priors(alpha, beta), seed, blocks, z ? z->data() : nullptr);
}

auto bound_document_products(Corpus const& corpus, Vector<std::int64_t> chosen, int threads) {
    std::vector<std::size_t> rows;
    for (std::size_t i = 0; i < chosen.shape(0); ++i) {
        rows.push_back(static_cast<std::size_t>(chosen.data()[i]));
        require_fit(rows.back() < corpus.documents, "a document");
    }
    std::vector<float> result;
    {
        nb::gil_scoped_release released;
        Team team(threads);
        result = document_products(team, corpus, rows);
    }
    return to_numpy(std::move(result), corpus.documents, rows.size());
}

// What fold_in and topic_statistics have in common.
template <class T>
struct FoldInArguments {
    Matrix<T> phi;
    Vector<T> alpha;
    bool variational;
    int most_iterations;
    double tolerance;

    FoldIn<T> view(BoundDesign const& X) const {
        require_fit(phi.shape(0) == width(X.view) && phi.shape(1) == alpha.shape(0), "phi");
        return {phi.data(), alpha.data(), alpha.shape(0), variational, most_iterations, tolerance};
    }
};

template <class T>
void bind_fold_in(nb::module_& m, char const* name) {
    using Arguments = FoldInArguments<T>;
    nb::class_<Arguments>(m, name, "Topics to fold documents into.")
        .def(
            "__init__",
            [](Arguments* self, Matrix<T> phi, Vector<T> alpha, bool variational, int most_iterations,
               double tolerance) { new (self) Arguments{phi, alpha, variational, most_iterations, tolerance}; },
            nb::arg("phi"), nb::arg("alpha"), nb::arg("variational"), nb::arg("most_iterations"), nb::arg("tolerance"))
        .def(
            "fold_in",
            [](Arguments const& self, BoundDesign const& X, MutableMatrix<T> gamma, int threads) {
                FoldIn<T> const how = self.view(X);
                require_fit(gamma.shape(0) == lines(X.view) && gamma.shape(1) == how.K, "gamma");
                nb::gil_scoped_release released;
                Team team(threads);
                return fold_in(team, read_corpus(X.view), how, gamma.data());
            },
            nb::arg("X"), nb::arg("gamma"), nb::arg("threads"),
            "Moves gamma (documents x K) to its fixed point; the iterations that this took.")
        .def(
            "statistics",
            [](Arguments const& self, BoundDesign const& X, Matrix<T> gamma, int threads) {
                FoldIn<T> const how = self.view(X);
                require_fit(gamma.shape(0) == lines(X.view) && gamma.shape(1) == how.K, "gamma");
                std::vector<T> result;
                {
                    nb::gil_scoped_release released;
                    Team team(threads);
                    result = topic_statistics(team, read_corpus(X.view), how, gamma.data());
                }
                return to_numpy(std::move(result), width(X.view), how.K);
            },
            nb::arg("X"), nb::arg("gamma"), nb::arg("threads"), "Expected counts of words in topics, words x K.");
}

auto bound_log_likelihoods(BoundDesign const& X, Matrix<double> weight, Matrix<double> phi, int threads) {
    require_fit(phi.shape(0) == width(X.view), "phi");
    require_fit(weight.shape(0) == lines(X.view) && weight.shape(1) == phi.shape(1), "weight");
    std::vector<double> result;
    {
        nb::gil_scoped_release released;
        Team team(threads);
        result = log_likelihoods(team, read_corpus(X.view), weight.data(), phi.data(), phi.shape(1));
    }
    return to_numpy(std::move(result));
}

auto bound_left_to_right(BoundDesign const& X, Matrix<double> phi, Vector<double> alpha, std::size_t particles,
                         std::uint64_t seed, int threads) {
    require_fit(phi.shape(0) == width(X.view) && phi.shape(1) == alpha.shape(0) && particles > 0, "phi");
    std::vector<double> result;
    {
        nb::gil_scoped_release released;
        Team team(threads);
        LeftToRight const estimate{
            .phi = phi.data(), .alpha = alpha.data(), .K = alpha.shape(0), .particles = particles, .seed = seed};
        result = estimate(team, read_corpus(X.view));
    }
    return to_numpy(std::move(result));
}

auto bound_prior_sums(Matrix<float> counts, Vector<double> alpha, bool expected, int threads) {
    require_fit(counts.shape(1) == alpha.shape(0), "alpha");
    std::vector<double> result;
    {
        nb::gil_scoped_release released;
        Team team(threads);
        result =
            prior_sums(team, counts.data(), counts.shape(0), {alpha.data(), alpha.data() + alpha.shape(0)}, expected);
    }
    return to_numpy(std::move(result));
}

}  // namespace

void bind_topics(nb::module_& m) {
    learner<Collapsed>(m, "CollapsedTopics", "Collapsed variational inference (CVB0).")
        .def("__init__", &construct_collapsed, nb::arg("X"), nb::arg("alpha"), nb::arg("beta"), nb::arg("seed"),
             nb::arg("blocks") = 0);
    learner<Gibbs>(m, "GibbsTopics", "Collapsed Gibbs sampling (SparseLDA).")
        .def("__init__", &construct_gibbs, nb::arg("X"), nb::arg("alpha"), nb::arg("beta"), nb::arg("seed"),
             nb::arg("blocks") = 0, nb::arg("z").none() = nb::none())
        .def("assignments", [](Gibbs const& model) { return to_numpy(model.assignments()); });
    nb::class_<Corpus>(m, "Documents", "Counts of words by document.")
        .def(
            "__init__", [](Corpus* self, BoundDesign const& X) { new (self) Corpus(read_corpus(X.view)); },
            nb::arg("X"))
        .def("products", &bound_document_products, nb::arg("chosen"), nb::arg("threads"),
             "Scalar products of every document with the chosen ones.");
    bind_fold_in<float>(m, "FoldFloat");
    bind_fold_in<double>(m, "FoldDouble");
    m.def("topic_log_likelihoods", &bound_log_likelihoods, nb::arg("X"), nb::arg("weight"), nb::arg("phi"),
          nb::arg("threads"), "For each document, sum of x_w log sum_k weight_k phi_wk.");
    m.def("left_to_right", &bound_left_to_right, nb::arg("X"), nb::arg("phi"), nb::arg("alpha"), nb::arg("particles"),
          nb::arg("seed"), nb::arg("threads"), "Left-to-right log probability of each document.");
    m.def("prior_sums", &bound_prior_sums, nb::arg("counts"), nb::arg("alpha"), nb::arg("expected"), nb::arg("threads"),
          "Numerators and, last, the denominator of Minka's fixed point for a Dirichlet prior of counts.");
}

}  // namespace tallywise::bindings
