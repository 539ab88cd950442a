// Boosted trees.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>

#include "bindings/new_array.hpp"
#include "bindings/views.hpp"
#include "core/trees/booster.hpp"

namespace tallywise::bindings {
namespace {

using trees::Bins;
using trees::BoostProblem;
using trees::ForestView;

Bins to_bins(Matrix<std::uint8_t> const& X, Vector<std::int32_t> const& sizes, Vector<std::uint8_t> const& ordered) {
    require(sizes.size() == X.shape(0) && ordered.size() == X.shape(0), "There must be a size and a kind per column.");
    for (std::size_t j = 0; j < sizes.size(); ++j) {
        require(sizes(j) >= 1 && sizes(j) <= 256, "A column must have 1 to 256 bins.");
        std::uint8_t const* const column = X.data() + j * X.shape(1);
        require(std::all_of(column, column + X.shape(1), [&](std::uint8_t bin) { return bin < sizes(j); }),
                "A bin lies beyond those of its column.");
    }
    return {X.data(), X.shape(1), X.shape(0)};
}

trees::Rows to_rows(nb::tuple const& given, Vector<std::int32_t> const& sizes, Vector<std::uint8_t> const& ordered,
                    BoostProblem const& problem) {
    require(given.size() == 4, "Rows are (bins, targets, weights, first scores).");
    auto const X = nb::cast<Matrix<std::uint8_t>>(given[0]);
    auto const y = nb::cast<Vector<double>>(given[1]);
    auto const weights = nb::cast<Vector<double>>(given[2]);
    auto const base = nb::cast<Matrix<double>>(given[3]);
    Bins const bins = to_bins(X, sizes, ordered);
    require(y.size() == bins.rows && base.shape(0) == bins.rows && base.shape(1) == problem.outputs,
            "Bins, targets and first scores differ in their rows or outputs.");
    require_weights(weights, bins.rows);
    bool const classes = problem.loss == "softmax";
    require(std::all_of(
                y.data(), y.data() + y.size(),
                [&](double v) { return std::isfinite(v) && (!classes || (v >= 0 && v < double(problem.outputs))); }),
            "Targets must be finite, and classes positions among the outputs.");
    return {bins, y.data(), weights.data(), base.data()};
}

nb::dict boost(nb::tuple const& train, nb::tuple const& held, Vector<std::int32_t> const& sizes,
               Vector<std::uint8_t> const& ordered, BoostProblem const& problem) {
    trees::Rows const rows = to_rows(train, sizes, ordered, problem), out = to_rows(held, sizes, ordered, problem);
    trees::Boosted found = without_gil([&] { return trees::boost(rows, out, sizes.data(), ordered.data(), problem); });
    nb::dict made;
    made["feature"] = to_numpy(std::move(found.forest.feature));
    made["cut"] = to_numpy(std::move(found.forest.cut));
    made["left"] = to_numpy(std::move(found.forest.left));
    made["missing"] = to_numpy(std::move(found.forest.missing));
    made["value"] = to_numpy(std::move(found.forest.value));
    made["roots"] = to_numpy(std::move(found.forest.roots));
    made["sets"] = to_numpy(std::move(found.forest.sets));
    made["held_out"] = to_numpy(std::move(found.held_out), out.X.rows, problem.outputs);
    made["loss"] = found.loss;
    return made;
}

// A forest over arrays of NumPy, checked once.
struct BoundForest {
    Vector<std::int32_t> feature, cut, left, missing, roots, sizes;
    Vector<double> value;
    Vector<std::uint64_t> sets;
    Vector<std::uint8_t> ordered;
    ForestView view;

    BoundForest(nb::dict const& nodes, Vector<std::int32_t> sizes_, Vector<std::uint8_t> ordered_, std::size_t outputs)
        : feature(nb::cast<Vector<std::int32_t>>(nodes["feature"])),
          cut(nb::cast<Vector<std::int32_t>>(nodes["cut"])),
          left(nb::cast<Vector<std::int32_t>>(nodes["left"])),
          missing(nb::cast<Vector<std::int32_t>>(nodes["missing"])),
          roots(nb::cast<Vector<std::int32_t>>(nodes["roots"])),
          sizes(sizes_),
          value(nb::cast<Vector<double>>(nodes["value"])),
          sets(nb::cast<Vector<std::uint64_t>>(nodes["sets"])),
          ordered(ordered_),
          view{feature.data(), cut.data(),   left.data(),     missing.data(), value.data(), roots.data(),  sets.data(),
               feature.size(), roots.size(), sets.size() / 4, outputs,        sizes.data(), ordered.data()} {
        std::size_t const n = feature.size();
        require(cut.size() == n && left.size() == n && missing.size() == n && value.size() == n && outputs >= 1,
                "The nodes of the trees differ in number.");
        require(sizes.size() == ordered.size(), "There must be a size and a kind per column.");
        view.validate(sizes.size());
    }

    auto score(Matrix<std::uint8_t> const& X, int threads) const {
        Bins const bins = to_bins(X, sizes, ordered);
        auto out = new_array<double, 2>({bins.rows, view.outputs}, true);
        without_gil([&] {
            Team team(threads);
            trees::add_scores(view, bins, out.data(), team);
        });
        return out;
    }

    auto paths(Matrix<std::uint8_t> const& X, int threads) const {
        Bins const bins = to_bins(X, sizes, ordered);
        auto out = new_array<double, 3>({bins.rows, bins.columns, view.outputs}, true);
        without_gil([&] {
            Team team(threads);
            trees::add_paths(view, bins, out.data(), team);
        });
        return out;
    }
};

}  // namespace

void bind_trees(nb::module_& m) {
    m.def("tree_losses", &trees::Losses::names);
    nb::class_<BoostProblem>(m, "BoostProblem", "What boosting is asked, apart from the data.")
        .def(
            "__init__",
            [](BoostProblem* self, std::string const& loss, std::size_t outputs, std::size_t leaves, double rate,
               double l2, double least_rows, int rounds, int threads) {
                require(outputs >= 1 && leaves >= 2 && rate > 0 && l2 > 0 && least_rows >= 1,
                        "Outputs, leaves, rate, penalty and rows of a leaf must be positive.");
                new (self) BoostProblem{loss, outputs, leaves, rate, {l2, least_rows}, 30, rounds, threads};
            },
            nb::arg("loss"), nb::arg("outputs"), nb::arg("leaves"), nb::arg("rate"), nb::arg("l2") = 1.0,
            nb::arg("least_rows") = 5.0, nb::arg("rounds") = 2000, nb::arg("threads") = 1);
    m.def("boost_trees", &boost, nb::arg("train"), nb::arg("held"), nb::arg("sizes"), nb::arg("ordered"),
          nb::arg("problem"), "Trees, and scores of the rows held out at the round of their least loss.");
    nb::class_<BoundForest>(m, "Forest", "A sum of trees over columns in bins.")
        .def(nb::init<nb::dict const&, Vector<std::int32_t>, Vector<std::uint8_t>, std::size_t>(), nb::arg("nodes"),
             nb::arg("sizes"), nb::arg("ordered"), nb::arg("outputs"))
        .def("score", &BoundForest::score, nb::arg("X"), nb::arg("threads"), "Scores of rows.")
        .def("paths", &BoundForest::paths, nb::arg("X"), nb::arg("threads"),
             "What each column changes on the paths of rows.");
}

}  // namespace tallywise::bindings
