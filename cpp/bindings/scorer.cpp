#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings/texts.hpp"
#include "bindings/views.hpp"
#include "core/scorer.hpp"

namespace tallywise::bindings {
namespace {

std::vector<double> copied(Vector<double> const& v) { return {v.data(), v.data() + v.shape(0)}; }

// The scorer and the weights it looks into.
struct BoundScorer {
    std::unique_ptr<Scorer> scorer;
    Matrix<double> W;
};

BoundScorer make_scorer(std::shared_ptr<Analyzer const> analyzer, std::shared_ptr<FixedLexicon const> vocabulary,
                        Weighting const& weighting, Matrix<double> W, Vector<double> b, Link const& link) {
    if (W.shape(0) != vocabulary->size() || W.shape(1) != b.shape(0)) {
        throw std::invalid_argument("The weights have a row a term and a column a bias");
    }
    return {std::make_unique<Scorer>(std::move(analyzer), std::move(vocabulary), weighting, W.data(), copied(b), link),
            W};
}

auto rows(BoundScorer const& bound, nb::list const& items, bool probabilities, int threads) {
    Scorer const& scorer = *bound.scorer;
    Texts const texts = from_list(items, scorer.analyzer().options().lower);
    if (texts.first_other >= 0) {
        throw nb::type_error(("Row " + std::to_string(texts.first_other) + " is not a str.").c_str());
    }
    std::size_t const width = probabilities ? scorer.classes() : scorer.columns();
    std::vector<double> out(texts.views.size() * width);
    {
        nb::gil_scoped_release released;
        scorer.rows(texts.views, probabilities, out.data(), threads);
    }
    return to_numpy(std::move(out), texts.views.size(), width);
}

nb::tuple row(BoundScorer const& bound, nb::str const& text) {
    nb::list items;
    items.append(text);
    Features features;
    bound.scorer->read(from_list(items, bound.scorer->analyzer().options().lower).views[0], features);
    std::vector<std::int64_t> columns(features.columns.begin(), features.columns.end());
    return nb::make_tuple(to_numpy(std::move(columns)), to_numpy(std::move(features.counts)),
                          to_numpy(std::move(features.values)));
}

auto probabilities_of_counts(BoundScorer const& bound, Vector<std::int64_t> columns, Vector<double> counts) {
    Scorer const& scorer = *bound.scorer;
    Features features;
    for (std::size_t k = 0; k < columns.shape(0) && k < counts.shape(0); ++k) {
        if (columns(k) < 0 || static_cast<std::size_t>(columns(k)) >= scorer.terms()) {
            throw std::invalid_argument("There is no column " + std::to_string(columns(k)));
        }
        features.columns.push_back(static_cast<TermId>(columns(k)));
        features.counts.push_back(counts(k));
    }
    scorer.weigh(features);
    std::vector<double> z(scorer.columns()), p(scorer.classes());
    scorer.score(features, z.data());
    scorer.link()(z.data(), z.size(), p.data());
    return to_numpy(std::move(p), 1, scorer.classes());
}

}  // namespace

void bind_scorer(nb::module_& m) {
    nb::class_<Weighting>(m, "Weighting", "How counts become features.")
        .def(nb::new_([](std::string const& tf, std::string const& norm, Vector<double> scale) {
                 return Weighting(tf, norm, copied(scale));
             }),
             nb::arg("tf"), nb::arg("norm"), nb::arg("scale"));
    nb::class_<Link>(m, "Link", "How scores become probabilities.")
        .def(nb::new_([](std::string const& kind, double scale, double shift, Vector<double> thresholds) {
                 return Link(kind, scale, shift, copied(thresholds));
             }),
             nb::arg("kind"), nb::arg("scale"), nb::arg("shift"), nb::arg("thresholds"));
    nb::class_<BoundScorer>(m, "Scorer", "Texts to scores and probabilities.")
        .def(nb::new_(&make_scorer), nb::arg("analyzer"), nb::arg("vocabulary"), nb::arg("weighting"), nb::arg("W"),
             nb::arg("b"), nb::arg("link"))
        .def_prop_ro("classes", [](BoundScorer const& s) { return s.scorer->classes(); })
        .def("rows", &rows, nb::arg("texts"), nb::arg("probabilities"), nb::arg("threads"),
             "Scores, or probabilities, of a list of str.")
        .def("row", &row, nb::arg("text"), "Columns, counts and weighted values of one text.")
        .def("probabilities_of_counts", &probabilities_of_counts, nb::arg("columns"), nb::arg("counts"));
}

}  // namespace tallywise::bindings
