// The sparse solver and conjugate gradients under the sanitizers, on a problem small enough to know.
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "check.hpp"
#include "core/linear/least_squares/ridge.hpp"
#include "core/linear/sparse_path.hpp"

using namespace tallywise;
using namespace tallywise::linear;
using namespace tallywise::linear::least_squares;

namespace {

// Columns (1, 0, 2, 0), (0, 0, 0, 0), (0, 3, 0, 1), and the same by rows.
std::vector<double> const by_column{1, 2, 3, 1}, by_row{1, 3, 2, 1};
std::vector<Index> const column_indices{0, 2, 1, 3}, row_indices{0, 2, 0, 2};
std::vector<std::int64_t> const column_starts{0, 2, 2, 4}, row_starts{0, 1, 2, 3, 4};
Sparse<double> const columns{by_column.data(), column_indices.data(), column_starts.data(), 3, 4};
Sparse<double> const rows{by_row.data(), row_indices.data(), row_starts.data(), 4, 3};
std::vector<double> const y{1, -1, 2, 0.5};

SparseProblem question(std::string const& loss, std::string const& penalty, double const* strengths,
                       std::size_t count) {
    SparseProblem problem{loss, penalty, {1e-10, 10000, true, 2}, nullptr, nullptr, nullptr, 0, nullptr, 0, {}};
    problem.y = y.data();
    problem.strengths = strengths;
    problem.count = count;
    return problem;
}

}  // namespace

TEST(lasso_without_an_intercept_is_soft_thresholding_where_columns_are_orthogonal) {
    Solution const found = coordinate_descent(columns, y.data(), nullptr, SquaredError{}, ElasticNet{0.5, 0.0},
                                              {1e-12, 1000, false, 1}, nullptr, 0.0);
    CHECK(std::abs(found.w[0] - (5 - 0.5) / 5) < 1e-9);
    CHECK(found.w[1] == 0);
    CHECK(std::abs(found.w[2] + (2.5 - 0.5) / 10) < 1e-9);
    CHECK(found.dual <= found.primal && found.primal - found.dual <= 1e-12 * found.primal);
}

// The products of columns are made once rounds over them have taken as long: from there on the answer is exact.
TEST(products_of_dense_and_sparse_columns_lead_to_the_same_optimum) {
    constexpr std::size_t n = 1100, p = 12;  // rows in blocks of 512, the last one short
    std::vector<double> X(n * p), target(n), weights(n, 1.0);
    std::vector<Index> indices;
    std::vector<std::int64_t> starts{0};
    std::uint32_t state = 5;
    auto const next = [&] { return static_cast<double>((state = state * 1664525u + 1013904223u) >> 16) / 65536 - 0.5; };
    for (std::size_t i = 0; i < n; ++i) {
        double const common = 3 * next();  // alike, so that many rounds are needed
        for (std::size_t j = 0; j < p; ++j) X[j * n + i] = j + 1 == p ? X[i] : common + next();
        target[i] = X[i] - 2 * X[3 * n + i] + next();
        weights[i] = i % 7 == 0 ? 0.0 : 1.0 + static_cast<double>(i % 3);
    }
    for (std::size_t j = 0; j < p; ++j) {
        for (std::size_t i = 0; i < n; ++i) indices.push_back(static_cast<Index>(i));
        starts.push_back(static_cast<std::int64_t>(indices.size()));
    }
    Dense<double> const dense{X.data(), p, n, n};
    Sparse<double> const sparse{X.data(), indices.data(), starts.data(), p, n};
    for (ElasticNet const penalty : {ElasticNet{3, 0}, ElasticNet{1, 2}}) {
        for (int threads : {1, 3}) {
            SolveOptions const options{1e-10, 10000, true, threads};
            auto const fit = [&](auto const& x) {
                return coordinate_descent(x, target.data(), weights.data(), SquaredError{}, penalty, options, nullptr,
                                          0.0);
            };
            Solution const one = fit(dense), other = fit(sparse);
            CHECK(std::abs(one.primal - other.primal) <= 1e-9 * other.primal);
            // Both are sums of 1,100 rounded terms: at the optimum either may come out above the other.
            CHECK(one.dual <= other.primal * (1 + 1e-14) && one.primal - one.dual <= 1e-10 * one.primal);
            // Rounds until the products are made, and then a few solves (with wrong products, hundreds of them).
            CHECK(one.iterations < 6 && other.iterations < 12);
        }
    }
}

TEST(products_of_lines_are_those_of_single_ones_for_any_number_of_threads) {
    std::size_t const m = 13, n = 700;
    std::vector<double> x(m * n);
    for (std::size_t k = 0; k < x.size(); ++k) x[k] = std::sin(0.7 * static_cast<double>(k));
    auto const products = [&](int threads) {
        Team team(threads);
        return gram_of_lines(team, m, n, [&](std::size_t first, std::size_t count, LineBlock& block) {
            for (std::size_t k = 0; k < m; ++k) std::copy_n(x.data() + k * n + first, count, block.line(k));
        });
    };
    auto const G = products(1);
    CHECK(G == products(3));
    for (std::size_t k = 0; k < m; ++k) {
        for (std::size_t l = 0; l < m; ++l) {
            CHECK(std::abs(G[k * m + l] - dot(x.data() + k * n, x.data() + l * n, n)) < 1e-10);
        }
    }
}

TEST(paths_and_folds_run_for_every_loss_and_penalty) {
    std::vector<double> const strengths{2, 0.1, 0.5, 0.1, 2, 0.1, 0.5, 0.1};
    std::vector<double> const train{1, 1, 1, 0, 0, 1, 1, 1}, test{0, 0, 0, 1, 1, 0, 0, 0};
    std::vector<double> const labels{1, -1, 1, -1};
    auto const run = [&](std::string const& loss, std::string const& penalty, bool binary) {
        std::size_t points = 0;
        SparseProblem problem = question(loss, penalty, strengths.data(), 2);
        if (binary) problem.y = labels.data();
        problem.progress = [&] { ++points; };
        for (auto const& found : sparse_path(columns, problem)) CHECK(found.dual <= found.primal + 1e-12);
        CHECK(points == 2);
        problem.progress = {};
        for (double held : sparse_cross_validation(columns, problem, 2, train.data(), test.data())) CHECK(held >= 0);
    };
    for (auto const& loss : SmoothLosses::names()) {
        SmoothLosses::visit("loss", loss, [&]<class Loss>() {
            for (auto const& penalty : PenaltiesOf<Loss>::names()) run(loss, penalty, Loss::binary);
        });
    }
    SparseProblem const unknown = question("cubic", "elastic_net", strengths.data(), 2);
    CHECK_THROWS(sparse_path(columns, unknown), "Unknown loss 'cubic'");
}

TEST(ridge_by_conjugate_gradients_meets_the_normal_equations) {
    double const l2 = 0.7;
    for (bool fit_intercept : {false, true}) {
        auto const found = ridge(rows, columns, y.data(), nullptr, &l2, 1, {1e-14, 100, fit_intercept, 2});
        auto const& w = found[0].w;
        std::vector<double> r(4);
        for (std::size_t i = 0; i < 4; ++i) r[i] = rows.dot(i, w.data()) + found[0].b - y[i];
        for (std::size_t j = 0; j < 3; ++j) CHECK(std::abs(columns.dot(j, r.data()) + l2 * w[j]) < 1e-6);
        if (fit_intercept) CHECK(std::abs(r[0] + r[1] + r[2] + r[3]) < 1e-9);
    }
}

TEST(columns_whose_sum_overflows_when_squared_are_not_dropped) {
    // The sum is 1e155, its square beyond floating point; the sum of squares is 1e306.
    std::size_t const n = 10'000;
    std::vector<double> X(n), y(n);
    for (std::size_t i = 0; i < n; ++i) X[i] = i % 2 == 0 ? 2e151 : 0, y[i] = i % 2 == 0 ? 1 : 0;
    Dense<double> const large{X.data(), 1, n, n};
    Solution const found = coordinate_descent(large, y.data(), nullptr, SquaredError{}, ElasticNet{1e-3, 0.0},
                                              {1e-9, 1000, true, 1}, nullptr, 0.0);
    CHECK(std::abs(found.w[0] * 2e151 - 1) < 1e-6);
}
