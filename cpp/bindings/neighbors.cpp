#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>

#include "bindings/views.hpp"
#include "core/neighbors/index.hpp"
#include "core/neighbors/precomputed.hpp"
#include "core/neighbors/votes.hpp"

namespace tallywise::bindings {

using namespace neighbors;

namespace {

// An index and the arrays that it looks into.
struct BoundIndex {
    std::unique_ptr<NeighbourIndex> index;
    std::size_t rows;
    std::vector<nb::object> owners;
};

using Groups = std::optional<Vector<std::int64_t>>;

SearchSpec make_spec(std::size_t queries, std::size_t rows, std::size_t k, double radius, Groups const& query_groups,
                     Groups const& row_groups, int threads) {
    if (!query_groups || !row_groups) return {k, radius, nullptr, nullptr, threads};
    if (query_groups->shape(0) != queries || row_groups->shape(0) != rows) {
        throw std::invalid_argument("There must be one group per query and one per training row.");
    }
    return {k, radius, query_groups->data(), row_groups->data(), threads};
}

nb::tuple to_arrays(Neighbours&& found, std::size_t queries, std::size_t k) {
    auto const n = k > 0 ? queries : 1, m = k > 0 ? k : found.rows.size();
    return nb::make_tuple(to_numpy(std::move(found.distances), n, m), to_numpy(std::move(found.rows), n, m),
                          to_numpy(std::move(found.begin)));
}

BoundIndex index(BoundDesign const& X, std::string const& metric, double p, std::size_t leaf,
                 std::optional<Vector<double>> const& centre, std::optional<Matrix<double>> const& axes, int threads) {
    IndexOptions options{metric, p, leaf, {}, {}, threads};
    if (centre) options.centre.assign(centre->data(), centre->data() + centre->size());
    if (axes) options.axes.assign(axes->data(), axes->data() + axes->size());
    return {without_gil([&] { return make_index(X.view, options); }), lines(X.view), X.owners};
}

nb::tuple search(BoundIndex const& self, BoundDesign const& Q, std::size_t k, double radius, Groups const& query_groups,
                 Groups const& row_groups, int threads) {
    SearchSpec const spec = make_spec(lines(Q.view), self.rows, k, radius, query_groups, row_groups, threads);
    return to_arrays(without_gil([&] { return self.index->search(Q.view, spec); }), lines(Q.view), k);
}

nb::tuple select(BoundDesign const& D, std::size_t k, double radius, Groups const& query_groups,
                 Groups const& row_groups, int threads) {
    SearchSpec const spec = make_spec(lines(D.view), width(D.view), k, radius, query_groups, row_groups, threads);
    return to_arrays(without_gil([&] { return select_nearest(D.view, spec); }), lines(D.view), k);
}

NeighbourLists make_lists(Matrix<double> const& distances, Matrix<std::int64_t> const& rows, bool by_distance,
                          std::size_t targets) {
    if (distances.shape(0) != rows.shape(0) || distances.shape(1) != rows.shape(1)) {
        throw std::invalid_argument("Distances and rows of neighbours have one shape.");
    }
    require_below(rows.data(), rows.size(), targets, "Row");
    return {distances.data(), rows.data(), rows.shape(0), rows.shape(1), by_distance};
}

auto votes(Matrix<double> const& distances, Matrix<std::int64_t> const& rows, bool by_distance,
           Vector<std::int64_t> const& codes, std::size_t classes, int threads) {
    NeighbourLists const lists = make_lists(distances, rows, by_distance, codes.shape(0));
    require_below(codes.data(), codes.shape(0), classes, "Class");
    return to_numpy(without_gil([&] { return vote_curve(lists, codes.data(), classes, threads); }), lists.n, lists.K);
}

auto shares(Matrix<double> const& distances, Matrix<std::int64_t> const& rows, bool by_distance,
            Vector<std::int64_t> const& codes, std::size_t classes, int threads) {
    NeighbourLists const lists = make_lists(distances, rows, by_distance, codes.shape(0));
    require_below(codes.data(), codes.shape(0), classes, "Class");
    return to_numpy(without_gil([&] { return vote_shares(lists, codes.data(), classes, threads); }), lists.n, classes);
}

auto means(Matrix<double> const& distances, Matrix<std::int64_t> const& rows, bool by_distance, Vector<double> const& y,
           int threads) {
    NeighbourLists const lists = make_lists(distances, rows, by_distance, y.shape(0));
    return to_numpy(without_gil([&] { return mean_curve(lists, y.data(), threads); }), lists.n, lists.K);
}

}  // namespace

void bind_neighbors(nb::module_& m) {
    nb::class_<BoundIndex>(m, "NeighborIndex", "A search structure over the rows of a design, for one metric.")
        .def("search", &search, nb::arg("queries"), nb::arg("k"), nb::arg("radius"), nb::arg("query_groups").none(),
             nb::arg("row_groups").none(), nb::arg("threads"),
             "(distances, rows, begin) of the k nearest rows of each query, or for k = 0 of those within the radius.");
    m.def("neighbor_index", &index, nb::arg("X"), nb::arg("metric"), nb::arg("p"), nb::arg("leaf"),
          nb::arg("centre").none(), nb::arg("axes").none(), nb::arg("threads"),
          "Index of the rows of X; leaf > 0 asks for a k-d tree, axes for a rotation.");
    m.def("select_nearest", &select, nb::arg("D"), nb::arg("k"), nb::arg("radius"), nb::arg("query_groups").none(),
          nb::arg("row_groups").none(), nb::arg("threads"), "As NeighborIndex.search, by a matrix of distances.");
    m.def("vote_curve", &votes, nb::arg("distances"), nb::arg("rows"), nb::arg("by_distance"), nb::arg("codes"),
          nb::arg("classes"), nb::arg("threads"), "Class by majority of the first 1, 2, ..., K neighbours.");
    m.def("vote_shares", &shares, nb::arg("distances"), nb::arg("rows"), nb::arg("by_distance"), nb::arg("codes"),
          nb::arg("classes"), nb::arg("threads"), "Share of each class in the vote of all K neighbours.");
    m.def("mean_curve", &means, nb::arg("distances"), nb::arg("rows"), nb::arg("by_distance"), nb::arg("y"),
          nb::arg("threads"), "Weighted mean of y over the first 1, 2, ..., K neighbours.");
    m.def("metric_names", &Metrics::names, "Metrics that an index knows.");
}

}  // namespace tallywise::bindings
