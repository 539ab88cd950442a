// Linear support vector machines of labels.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "bindings/margins.hpp"
#include "core/linear/merged_columns.hpp"
#include "core/linear/svm/held_out.hpp"
#include "core/linear/svm/ratio_margins.hpp"

namespace tallywise::bindings {

using namespace linear;
using namespace linear::svm;

namespace {

// What codes stand for, where that is not a class each: a row of `sets` for every code, a column for every problem.
using Sets = std::optional<Matrix<std::uint8_t>>;

std::uint8_t const* sets_of(Sets const& sets, Vector<std::int64_t> const& codes, std::size_t problems) {
    if (!sets) return nullptr;
    require(sets->shape(1) == problems, "There must be a column of sets per problem.");
    require_range(codes, 0, sets->shape(0), "There must be a row of sets per code.");
    return sets->data();
}

using Start = std::optional<Vector<float>>;          // dual variables: of each fold, row and problem
using Blocks = std::optional<Vector<std::int64_t>>;  // where blocks of columns begin that have length 1 in a row

float const* start_of(Start const& start, std::size_t size) {
    if (!start) return nullptr;
    if (start->shape(0) != size) throw std::invalid_argument("There must be one dual variable a row and problem.");
    return start->data();
}

nb::tuple fit_classes(BoundDesign const& X, Vector<std::int64_t> const& codes, Vector<double> const& s,
                      Matrix<double> const& scale, MarginOptions const& options, Sets const& sets, Start const& start) {
    std::size_t const problems = scale.shape(0);
    require_weights(s, codes.size());
    MarginTargets const targets{problems,
                                s.data(),
                                nullptr,
                                codes.data(),
                                scale.data(),
                                sets_of(sets, codes, problems),
                                start_of(start, s.shape(0) * problems)};
    return fit<OfLabels>(X, targets, scale.shape(1) == 2 && s.shape(0) == codes.shape(0) ? s.shape(0) : 0, options);
}

RowFolds folds_of(Vector<std::int32_t> const& fold) {
    require_range(fold, -1, fold.size(), "A fold is -1, for none, or below the number of rows.");
    std::int32_t last = -1;
    for (std::size_t i = 0; i < fold.shape(0); ++i) last = std::max(last, fold.data()[i]);
    return {fold.data(), static_cast<std::size_t>(last + 1)};
}

// Labels and weights of all rows; `fold` is the number of entries that say the fold of a row.
MarginTargets targets_of(BoundDesign const& X, Vector<std::int64_t> const& codes, Vector<double> const& s,
                         Matrix<double> const& scale, std::size_t fold) {
    std::size_t const n = lines(X.view);
    if (codes.shape(0) != n || s.shape(0) != n || fold != n || scale.shape(1) != 2) {
        throw std::invalid_argument("X, y, the weights and the folds must have one length.");
    }
    require_weights(s, n);
    return {scale.shape(0), s.data(), nullptr, codes.data(), scale.data(), nullptr, nullptr};
}

Sparse<double> const& sparse_of(BoundDesign const& X) {
    auto const* rows = std::get_if<Sparse<double>>(&X.view);
    if (rows == nullptr) throw std::invalid_argument("X must be a CSR matrix of float64.");
    return *rows;
}

nb::tuple scores_and_variables(HeldOut&& found, std::size_t rows, std::size_t problems) {
    return nb::make_tuple(to_numpy(std::move(found.scores), rows, problems), to_numpy(std::move(found.variables)));
}

nb::tuple held_out(BoundDesign const& X, Vector<std::int64_t> const& codes, Vector<double> const& s,
                   Matrix<double> const& scale, Vector<std::int32_t> const& fold, MarginOptions const& options,
                   Sets const& sets, Blocks const& blocks, Start const& start) {
    MarginTargets targets = targets_of(X, codes, s, scale, fold.shape(0));
    targets.sets = sets_of(sets, codes, targets.count);
    Sparse<double> const& rows = sparse_of(X);
    RowFolds const folds = folds_of(fold);
    targets.start = start_of(start, folds.count * rows.lines * targets.count);
    bool const rising = !blocks || std::is_sorted(blocks->data(), blocks->data() + blocks->size());
    require(rising && (!blocks || (blocks->size() > 0 && (*blocks)(0) == 0)), "Blocks of columns rise from 0.");
    HeldOut found = [&] {
        nb::gil_scoped_release released;
        UnitBlocks const unit = blocks ? UnitBlocks{blocks->data(), blocks->shape(0)} : UnitBlocks{};
        return held_out_scores(rows, targets, folds, unit, options);
    }();
    return scores_and_variables(std::move(found), rows.lines, targets.count);
}

nb::tuple ratio_margins(BoundDesign const& X, Vector<std::int64_t> const& codes, Vector<double> const& s,
                        Matrix<double> const& scale, double share, MarginOptions const& options, Start const& start) {
    MarginTargets targets = targets_of(X, codes, s, scale, lines(X.view));
    Sparse<double> const& rows = sparse_of(X);
    targets.start = start_of(start, rows.lines * targets.count);
    std::size_t const p = rows.width, K = targets.count;
    std::vector<double> W(p * K), b(K);
    {
        nb::gil_scoped_release released;
        Team team(options.threads);
        RatioMargins(rows, targets, share, options)
            .solve(team, [&](std::size_t k, std::vector<double> const& u, auto const& solver) {
                for (std::size_t j = 0; j < p; ++j) W[j * K + k] = u[j];
                b[k] = solver.intercept();
            });
    }
    return nb::make_tuple(to_numpy(std::move(W), p, K), to_numpy(std::move(b)));
}

nb::tuple held_out_ratio_margins(BoundDesign const& X, Vector<std::int64_t> const& codes, Vector<double> const& s,
                                 Matrix<double> const& scale, double share, Vector<std::int32_t> const& fold,
                                 MarginOptions const& options, Start const& start) {
    MarginTargets targets = targets_of(X, codes, s, scale, fold.shape(0));
    Sparse<double> const& rows = sparse_of(X);
    RowFolds const folds = folds_of(fold);
    targets.start = start_of(start, folds.count * rows.lines * targets.count);
    HeldOut found = [&] {
        nb::gil_scoped_release released;
        return held_out_ratio_scores(rows, targets, share, folds, options);
    }();
    return scores_and_variables(std::move(found), rows.lines, targets.count);
}

// f(counts) for sparse counts of any type.
template <class F>
auto with_counts(BoundDesign const& X, F&& f) {
    return visit(X.view, [&](auto const& counts) -> std::invoke_result_t<F&, Sparse<double> const&> {
        if constexpr (std::remove_cvref_t<decltype(counts)>::is_sparse) {
            return f(counts);
        } else {
            throw std::invalid_argument("Counts are sparse");
        }
    });
}

nb::tuple column_sets(BoundDesign const& X, bool presence, int threads) {
    ColumnSets found = with_counts(X, [&](auto const& counts) {
        nb::gil_scoped_release released;
        Team team(threads);
        return ColumnMerger::find(team, counts, presence);
    });
    return nb::make_tuple(to_numpy(std::move(found.of)), to_numpy(std::move(found.led)),
                          to_numpy(std::vector<std::int32_t>(found.ends.begin(), found.ends.end())),
                          to_numpy(std::move(found.starts)));
}

void merge_columns(BoundDesign const& X, bool presence, Vector<std::int32_t> led, Vector<std::int32_t> ends,
                   Vector<std::int64_t> starts, MutableVector<Index> indices, MutableVector<double> data, int threads) {
    std::array<std::int32_t, ColumnMerger::tiers + 1> tiers{};
    std::size_t const n = lines(X.view), p = width(X.view);
    if (led.shape(0) != p || ends.shape(0) != tiers.size() || starts.shape(0) != n + 1 ||
        indices.shape(0) != data.shape(0) || starts(n) != static_cast<std::int64_t>(data.shape(0))) {
        throw std::invalid_argument("These sets are not of these columns");
    }
    require_starts(starts, data.shape(0), "These sets are not of these columns");
    require_range(led, -1, p, "These sets are not of these columns");
    std::copy_n(ends.data(), tiers.size(), tiers.begin());
    with_counts(X, [&](auto const& counts) {
        nb::gil_scoped_release released;
        Team team(threads);
        ColumnMerger::fill(team, counts, presence, led.data(), tiers, starts.data(), indices.data(), data.data());
    });
}

void share_out_weights(Vector<std::int32_t> of, Vector<double> share, Matrix<double> V, MutableMatrix<double> out,
                       int threads) {
    std::size_t const p = of.shape(0), sets = V.shape(0);
    bool const inside = std::all_of(of.data(), of.data() + p,
                                    [&](std::int32_t g) { return g < 0 || static_cast<std::size_t>(g) < sets; });
    if (!inside || share.shape(0) != p || out.shape(0) != p || out.shape(1) != V.shape(1)) {
        throw std::invalid_argument("These weights are not of these columns");
    }
    nb::gil_scoped_release released;
    Team team(threads);
    share_out(team, {of.data(), p}, share.data(), V.data(), V.shape(1), out.data());
}

nb::tuple crammer_singer(BoundDesign const& X, Vector<std::int64_t> const& codes, Vector<double> const& s,
                         std::size_t classes, MarginOptions const& options) {
    require(codes.size() == lines(X.view), "X and y must have one length.");
    require_weights(s, lines(X.view));
    require_range(codes, 0, classes, "y must hold positions of classes.");
    MarginSolution found;
    {
        nb::gil_scoped_release released;
        found = fit_crammer_singer(X.view, codes.data(), s.data(), classes, options);
    }
    return answer(std::move(found));
}

nb::tuple find_distinct_rows(BoundDesign const& X, Vector<std::int64_t> const& codes, Vector<double> const& s,
                             std::uint64_t seed) {
    require(codes.size() == lines(X.view), "X and y must have one length.");
    require_weights(s, lines(X.view));
    DistinctRows found;
    {
        nb::gil_scoped_release released;
        found = distinct_rows(X.view, codes.data(), s.data(), seed);
    }
    return nb::make_tuple(to_numpy(std::move(found.order)), to_numpy(std::move(found.s)));
}

nb::tuple hard_margin(BoundDesign const& X, Vector<double> const& y, MarginOptions const& options) {
    if (y.shape(0) != lines(X.view)) throw std::invalid_argument("X and y must have one length.");
    HardMargin found;
    {
        nb::gil_scoped_release released;
        found = fit_hard_margin(X.view, y.data(), options);
    }
    return nb::make_tuple(found.separable, to_numpy(std::move(found.w)), found.b,
                          to_numpy(std::move(found.combination)), found.primal, found.dual, found.iterations);
}

}  // namespace

void bind_margins(nb::module_& m) {
    nb::class_<MarginOptions>(m, "MarginOptions", "How a linear support vector machine is fitted.")
        .def(
            "__init__",
            [](MarginOptions* self, std::string loss, double epsilon, double intercept_scale, bool free_intercept,
               double tol, int max_iter, std::uint64_t seed, int threads, bool quick) {
                new (self) MarginOptions{std::move(loss), epsilon, intercept_scale, free_intercept, tol,
                                         max_iter,        seed,    threads,         quick};
            },
            nb::arg("loss"), nb::arg("epsilon"), nb::arg("intercept_scale"), nb::arg("free_intercept"), nb::arg("tol"),
            nb::arg("max_iter"), nb::arg("seed"), nb::arg("threads"), nb::arg("quick") = false);
    m.def("margin_classes", &fit_classes, nb::arg("X"), nb::arg("codes"), nb::arg("s"), nb::arg("scale"),
          nb::arg("options"), nb::arg("sets").none() = nb::none(), nb::arg("start") = nb::none(),
          "One class against the rest for each row of scale: (W, b, primal, dual, iterations).");
    m.def("held_out_margins", &held_out, nb::arg("X"), nb::arg("codes"), nb::arg("s"), nb::arg("scale"),
          nb::arg("fold"), nb::arg("options"), nb::arg("sets").none() = nb::none(), nb::arg("blocks") = nb::none(),
          nb::arg("start") = nb::none(),
          "The same, cross-validated: scores of each row by machines of the rows outside its fold, as a new text where "
          "blocks of columns have length 1; and dual variables to start from.");
    m.def("ratio_margins", &ratio_margins, nb::arg("X"), nb::arg("codes"), nb::arg("s"), nb::arg("scale"),
          nb::arg("share"), nb::arg("options"), nb::arg("start") = nb::none(),
          "Machines on columns scaled by log-count ratios, one class against the rest: (W, b), a column a machine.");
    m.def(
        "held_out_ratio_margins", &held_out_ratio_margins, nb::arg("X"), nb::arg("codes"), nb::arg("s"),
        nb::arg("scale"), nb::arg("share"), nb::arg("fold"), nb::arg("options"), nb::arg("start") = nb::none(),
        "The same, cross-validated: scores of each row by machines of the rows outside its fold, and dual variables.");
    m.def("column_sets", &column_sets, nb::arg("X"), nb::arg("presence"), nb::arg("threads"),
          "(of, led, ends, indptr): sets of columns that are the same in every row; rows are sorted.");
    m.def("merge_columns", &merge_columns, nb::arg("X"), nb::arg("presence"), nb::arg("led"), nb::arg("ends"),
          nb::arg("indptr"), nb::arg("indices").noconvert(), nb::arg("data").noconvert(), nb::arg("threads"),
          "Write the matrix that has one column for each set of `column_sets`.");
    m.def("share_out", &share_out_weights, nb::arg("of"), nb::arg("share"), nb::arg("V"), nb::arg("out").noconvert(),
          nb::arg("threads"), "Write the weights of columns from those of their sets.");
    m.def("margin_crammer_singer", &crammer_singer, nb::arg("X"), nb::arg("codes"), nb::arg("s"), nb::arg("classes"),
          nb::arg("options"), "All classes in one problem.");
    m.def(
        "distinct_rows", &find_distinct_rows, nb::arg("X"), nb::arg("codes"), nb::arg("s"), nb::arg("seed"),
        "(order, s): one of each set of equal rows, in an order that is not theirs, and weights that add up repeats.");
    m.def("hard_margin", &hard_margin, nb::arg("X"), nb::arg("y"), nb::arg("options"),
          "(separable, w, b, combination, primal, dual, iterations) of signs y.");
}

}  // namespace tallywise::bindings
