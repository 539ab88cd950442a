#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>

#include "bindings/texts.hpp"
#include "bindings/views.hpp"
#include "core/serve/front_coding.hpp"
#include "core/serve/rounding.hpp"
#include "core/serve/scorer.hpp"
#include "core/serve/weighed_rows.hpp"

namespace tallywise::bindings {

using namespace text;
using namespace serve;

namespace {

std::vector<double> copied(Vector<double> const& v) { return {v.data(), v.data() + v.shape(0)}; }

// Remembered rows and the arrays they lie in.
struct BoundMemory {
    std::unique_ptr<RowMemory> memory;
    std::vector<nb::object> owners;
};

std::shared_ptr<BoundMemory> make_memory(std::string const& kind, double number, Vector<std::int64_t> starts,
                                         Vector<std::int32_t> rows, Vector<double> values, Matrix<double> A) {
    if (starts.shape(0) < 1 || rows.shape(0) != values.shape(0)) {
        throw std::invalid_argument("The remembered rows are not sound");
    }
    RowMemory::Arrays const arrays{starts.data(), starts.shape(0) - 1, rows.data(), values.data(), values.shape(0),
                                   A.data(),      A.shape(0),          A.shape(1)};
    auto memory = without_gil([&] { return std::make_unique<RowMemory>(kind, number, arrays); });
    return std::make_shared<BoundMemory>(
        BoundMemory{std::move(memory), {nb::cast(starts), nb::cast(rows), nb::cast(values), nb::cast(A)}});
}

// Scores, without biases, of the rows of a sparse design.
auto memory_scores(BoundMemory const& bound, BoundDesign const& X, int threads) {
    std::size_t const n = lines(X.view), K = bound.memory->columns();
    std::vector<double> z(n * K, 0.0);
    visit(X.view, [&](auto const& x) {
        using View = std::remove_cvref_t<decltype(x)>;
        if constexpr (View::is_sparse && std::is_same_v<typename View::Value, double>) {
            nb::gil_scoped_release released;
            bound.memory->score_rows(x, z.data(), threads);
        } else {
            throw std::invalid_argument("Remembered rows take sparse float64 rows");
        }
    });
    return to_numpy(std::move(z), n, K);
}

nb::tuple memory_slopes(BoundMemory const& bound, Vector<std::int64_t> columns, Vector<double> values) {
    require(columns.size() == values.size(), "There must be a value per column.");
    require_range(columns, 0, bound.memory->terms(), "A column is not one of the remembered rows'.");
    std::vector<double> base(bound.memory->columns(), 0.0);
    auto slopes = bound.memory->slopes(columns.data(), values.data(), columns.shape(0), base.data());
    return nb::make_tuple(to_numpy(std::move(slopes)), to_numpy(std::move(base)));
}

// The features of a block, in the places given; `indices` may be empty.
void weigh_counts(BoundDesign const& X, Weighting const& weighting, Vector<std::int64_t> starts, std::size_t first,
                  MutableVector<Index> indices, MutableVector<double> data, int threads) {
    visit(X.view, [&](auto const& counts) {
        if constexpr (std::remove_cvref_t<decltype(counts)>::is_sparse) {
            bool const fits = starts.shape(0) == counts.lines + 1 && weighting.places.size() == counts.width;
            for (std::size_t i = 0; fits && i < counts.lines; ++i) {
                auto const last = starts(i) + static_cast<std::int64_t>(counts.length(i));
                if (starts(i) < 0 || last > static_cast<std::int64_t>(data.shape(0))) {
                    throw std::invalid_argument("There is no place for the features of a row");
                }
            }
            if (!fits || (indices.shape(0) != 0 && indices.shape(0) != data.shape(0))) {
                throw std::invalid_argument("Counts, scales and places do not fit");
            }
            nb::gil_scoped_release released;
            Team team(threads);
            weigh_block(team, counts, weighting,
                        {starts.data(), first, indices.shape(0) != 0 ? indices.data() : nullptr, data.data()});
        } else {
            throw std::invalid_argument("Counts are sparse");
        }
    });
}

// The scorer and what it looks into.
struct BoundScorer {
    std::unique_ptr<Scorer> scorer;
    nb::object W;
    std::shared_ptr<BoundMemory> memory;
};

View make_view(std::shared_ptr<Analyzer const> analyzer, std::shared_ptr<FixedLexicon const> vocabulary,
               std::uint32_t terms) {
    return {std::move(analyzer), std::move(vocabulary), terms};
}

// Pointers to W, which must have as many rows and columns as asked for.
template <class T>
bool take_weights(nb::handle W, std::size_t rows, std::size_t columns, Weights& weights) {
    Matrix<T> found;
    if (!nb::try_cast(W, found, false)) return false;
    if (found.shape(0) != rows || found.shape(1) != columns) {
        throw std::invalid_argument("The weights must have one row per term and one column per bias");
    }
    weights.values = found.data();
    return true;
}

// What one unit of the weights is: 2 to the exponent of its row, and the unit of its column.
struct WeightUnits {
    std::vector<double> columns;
    std::vector<float> rows;
};

WeightUnits make_units(Vector<double> columns, Vector<std::int8_t> exponents) {
    WeightUnits units{copied(columns), {}};
    units.rows.resize(exponents.shape(0));
    std::transform(exponents.data(), exponents.data() + exponents.shape(0), units.rows.begin(),
                   [](std::int8_t e) { return std::ldexp(1.0f, e); });
    return units;
}

BoundScorer make_scorer(std::vector<View> const& views, std::vector<Block> const& blocks, nb::object W,
                        WeightUnits const& units, Vector<double> b, Link const& link,
                        std::shared_ptr<BoundMemory> memory) {
    Weights weights{static_cast<double const*>(nullptr), units.columns, units.rows};
    std::size_t rows = 0;
    for (Block const& block : blocks) rows += block.weighting.places.size();
    if (!memory && !take_weights<double>(W, rows, b.shape(0), weights) &&
        !take_weights<std::int16_t>(W, rows, b.shape(0), weights) &&
        !take_weights<std::int8_t>(W, rows, b.shape(0), weights)) {
        throw std::invalid_argument("The weights are float64, int16 or int8");
    }
    RowMemory const* remembered = memory ? memory->memory.get() : nullptr;
    auto scorer = without_gil(
        [&] { return std::make_unique<Scorer>(views, blocks, std::move(weights), remembered, copied(b), link); });
    return {std::move(scorer), std::move(W), std::move(memory)};
}

// The texts of a list, or an error that names the first that is none.
Texts texts_of(nb::list const& items, Scorer const& scorer) {
    Texts texts = from_list(items, scorer.lowers());
    if (texts.first_other >= 0) {
        throw nb::type_error(("Row " + std::to_string(texts.first_other) + " is not a str.").c_str());
    }
    return texts;
}

auto rows_of(BoundScorer const& bound, Texts const& texts, bool probabilities, int threads) {
    Scorer const& scorer = *bound.scorer;
    std::size_t const width = probabilities ? scorer.classes() : scorer.columns();
    std::vector<double> out(texts.views.size() * width);
    {
        nb::gil_scoped_release released;
        scorer.rows(texts.views, probabilities, out.data(), threads);
    }
    return to_numpy(std::move(out), texts.views.size(), width);
}

auto rows(BoundScorer const& bound, nb::list const& items, bool probabilities, int threads) {
    return rows_of(bound, texts_of(items, *bound.scorer), probabilities, threads);
}

nb::object unknown_words_of(BoundScorer const& bound, Texts const& texts, int threads) {
    std::vector<double> out(texts.views.size());
    bool known = false;
    {
        nb::gil_scoped_release released;
        known = bound.scorer->unknown_words(texts.views, out.data(), threads);
    }
    return known ? nb::cast(to_numpy(std::move(out))) : nb::none();
}

nb::object unknown_words(BoundScorer const& bound, nb::list const& items, int threads) {
    return unknown_words_of(bound, texts_of(items, *bound.scorer), threads);
}

nb::tuple row(BoundScorer const& bound, nb::str const& text) {
    nb::list items;
    items.append(text);
    Features features;
    bound.scorer->read_sorted(from_list(items, bound.scorer->lowers()).views[0], features);
    std::vector<std::int64_t> columns(features.columns.begin(), features.columns.end());
    return nb::make_tuple(to_numpy(std::move(columns)), to_numpy(std::move(features.counts)),
                          to_numpy(std::move(features.values)));
}

nb::tuple rounded_rows(Matrix<double> W, bool centred) {
    auto rounded = round_rows(W.data(), W.shape(0), W.shape(1), centred);
    return nb::make_tuple(to_numpy(std::move(rounded.values), W.shape(0), W.shape(1)),
                          to_numpy(std::move(rounded.exponents)));
}

nb::tuple front_coded(Vector<std::uint8_t> bytes, Vector<std::int64_t> offsets) {
    auto coded = front_code({bytes.data(), bytes.shape(0)}, {offsets.data(), offsets.shape(0)});
    return nb::make_tuple(to_numpy(std::move(coded.shared)), to_numpy(std::move(coded.lengths)),
                          to_numpy(std::move(coded.rest)));
}

nb::tuple front_decoded(Vector<std::uint8_t> shared, Vector<std::uint8_t> lengths, Vector<std::uint8_t> rest,
                        std::size_t most) {
    auto terms = without_gil([&] {
        return front_decode({shared.data(), shared.shape(0)}, {lengths.data(), lengths.shape(0)},
                            {rest.data(), rest.shape(0)}, most);
    });
    return nb::make_tuple(to_numpy(std::move(terms.bytes)), to_numpy(std::move(terms.offsets)));
}

}  // namespace

void bind_scorer(nb::module_& m) {
    nb::class_<Weighting>(m, "Weighting", "How counts become features.")
        .def(nb::new_([](std::string const& tf, std::string const& norm, Vector<double> scales,
                         Vector<std::uint32_t> places) {
                 return Weighting(tf, norm, copied(scales), {places.data(), places.data() + places.shape(0)});
             }),
             nb::arg("tf"), nb::arg("norm"), nb::arg("scales"), nb::arg("places"));
    m.def("weigh_counts", &weigh_counts, nb::arg("X"), nb::arg("weighting"), nb::arg("starts"), nb::arg("first"),
          nb::arg("indices").noconvert(), nb::arg("data").noconvert(), nb::arg("threads"),
          "Write the features of rows of counts: from `starts` on, their columns moved by `first`.");
    nb::class_<Link>(m, "Link", "How scores become probabilities.")
        .def(nb::new_([](std::string const& kind, double scale, double shift, Vector<double> thresholds) {
                 return Link(kind, scale, shift, copied(thresholds));
             }),
             nb::arg("kind"), nb::arg("scale"), nb::arg("shift"), nb::arg("thresholds"));
    nb::class_<BoundMemory>(m, "RowMemory", "Remembered rows, by column, and what each says.")
        .def(nb::new_(&make_memory), nb::arg("kind"), nb::arg("number"), nb::arg("starts"), nb::arg("rows"),
             nb::arg("values"), nb::arg("A"))
        .def("scores", &memory_scores, nb::arg("X"), nb::arg("threads"),
             "Scores, without biases, of the rows of a sparse design.")
        .def(
            "slopes", &memory_slopes, nb::arg("columns"), nb::arg("values"),
            "What each remembered row adds to a score for one unit in common with the text, and what is there anyway.");
    nb::class_<View>(m, "View", "The terms of one analysis: of a vocabulary, or so many by hash.")
        .def(nb::new_(&make_view), nb::arg("analyzer"), nb::arg("vocabulary").none(), nb::arg("terms") = 0);
    nb::class_<Block>(m, "Block", "The terms of a view as features.")
        .def(nb::new_([](std::size_t view, Weighting const& weighting) { return Block{view, weighting}; }),
             nb::arg("view"), nb::arg("weighting"));
    nb::class_<WeightUnits>(m, "WeightUnits", "What one unit of whole weights is, by column and by row.")
        .def(nb::new_(&make_units), nb::arg("columns"), nb::arg("exponents"));
    nb::class_<BoundScorer>(m, "Scorer", "Texts to scores and probabilities.")
        .def(nb::new_(&make_scorer), nb::arg("views"), nb::arg("blocks"), nb::arg("W"), nb::arg("units"), nb::arg("b"),
             nb::arg("link"), nb::arg("memory").none() = nb::none())
        .def_prop_ro("classes", [](BoundScorer const& s) { return s.scorer->classes(); })
        .def("rows", &rows, nb::arg("texts"), nb::arg("probabilities"), nb::arg("threads"),
             "Scores, or probabilities, of a list of str.")
        .def("rows", &rows_of, nb::arg("texts"), nb::arg("probabilities"), nb::arg("threads"))
        .def("unknown_words", &unknown_words_of, nb::arg("texts"), nb::arg("threads"),
             nb::sig("def unknown_words(self, texts: Texts, threads: int) -> NDArray[numpy.float64] | None"))
        .def_prop_ro("lowers", [](BoundScorer const& s) { return s.scorer->lowers(); })
        .def("unknown_words", &unknown_words, nb::arg("texts"), nb::arg("threads"),
             nb::sig("def unknown_words(self, texts: list, threads: int) -> NDArray[numpy.float64] | None"),
             "Shares of words in no term; None without a vocabulary of words.")
        .def("row", &row, nb::arg("text"), "Columns, counts and weighted values of one text.");
    m.def("rounded_rows", &rounded_rows, nb::arg("W"), nb::arg("centred"),
          "Rows of weights as whole numbers of 8 bits, and the exponents of 2 that they are multiplied by.");
    m.def("front_coded", &front_coded, nb::arg("bytes"), nb::arg("offsets"),
          "A list of terms as what each shares with the one before, and the lengths and bytes of the rest.");
    m.def("front_decoded", &front_decoded, nb::arg("shared"), nb::arg("lengths"), nb::arg("rest"), nb::arg("most"),
          "Bytes and offsets of such a list, of at most so many bytes.");
}

}  // namespace tallywise::bindings
