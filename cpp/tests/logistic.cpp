// The solvers of logistic regression under the sanitizers: on one problem they all come to the same optimum.
#include <cmath>
#include <cstdint>
#include <vector>

#include "check.hpp"
#include "core/linear/logistic/logistic.hpp"

using namespace tallywise;
using namespace tallywise::linear;
using namespace tallywise::linear::logistic;

namespace {

using View = Sparse<double>;

constexpr std::size_t n = 40, p = 13;

// A third of the entries, in no order; three classes that the first columns tell apart, in part.
struct Data {
    std::vector<double> data;
    std::vector<Index> indices;
    std::vector<std::int64_t> indptr{0}, y;
    std::vector<double> s;

    Data() {
        std::uint32_t state = 7;
        auto const next = [&] { return (state = state * 1664525u + 1013904223u) >> 16; };
        for (std::size_t i = 0; i < n; ++i) {
            y.push_back(static_cast<std::int64_t>(next() % 3));
            s.push_back(0.5 + 0.25 * (next() % 4));
            for (std::size_t j = p; j-- > 0;) {
                if (next() % 3 != 0) continue;
                data.push_back(0.01 * (next() % 200) - 1 + (static_cast<std::size_t>(y[i]) == j ? 0.5 : 0.0));
                indices.push_back(static_cast<Index>(j));
            }
            indptr.push_back(static_cast<std::int64_t>(indices.size()));
        }
    }

    View rows() const { return {data.data(), indices.data(), indptr.data(), n, p}; }
    Labels labels() const { return {y.data(), s.data(), n}; }
};

SolveOptions const tight{1e-11, 1000, true, 2};

}  // namespace

TEST(every_solver_of_logistic_regression_comes_to_the_same_optimum) {
    Data const given;
    View const rows = given.rows();
    OwnedSparse<double> const columns = transpose(rows);
    ElasticNet const ridge{0, 0.7};
    Team team(2);
    LaneDesign<View> const design(rows);
    std::vector<LaneSolution> found;
    auto const loss = [&] { return ProfiledLoss(team, Softmax{3}, given.labels(), true, nullptr); };
    ProfiledLoss F0 = loss(), F1 = loss(), F2 = loss(), F3 = loss();
    SampleProducts<View> products(team, rows, F0.stride());
    found.push_back(NewtonSamples<View, ProfiledLoss>(team, products, F0, ridge.l2).solve(tight, nullptr));
    found.push_back(NewtonFeatures<View, ProfiledLoss>(team, design, F1, ridge.l2).solve(tight, nullptr));
    found.push_back(NewtonCholesky<View, ProfiledLoss>(team, rows, F2, ridge).solve(tight, nullptr));
    found.push_back(LaneDescent<View, ProfiledLoss>(team, columns.view(), F3, ridge).solve(tight, nullptr));
    for (LaneSolution const& one : found) {
        CHECK(one.dual <= one.primal + 1e-12);
        CHECK(std::abs(one.primal - found[0].primal) <= 1e-9 * found[0].primal);
        for (std::size_t k = 0; k < one.w.size(); ++k) CHECK(std::abs(one.w[k] - found[0].w[k]) < 1e-4);
    }
}

TEST(intercepts_of_many_classes_need_no_table_of_pairs_of_classes) {
    Data const given;
    View const rows = given.rows();
    ElasticNet const ridge{0, 0.7};
    Team team(2);
    LaneDesign<View> const design(rows);
    for (ClassLoss const& kind : {ClassLoss(Softmax{3}), ClassLoss(BaselineSoftmax{2})}) {
        ProfiledLoss pairs(team, kind, given.labels(), true, nullptr);
        ProfiledLoss products(team, kind, given.labels(), true, nullptr, 1);
        auto const a = NewtonFeatures<View, ProfiledLoss>(team, design, pairs, ridge.l2).solve(tight, nullptr);
        auto const b = NewtonFeatures<View, ProfiledLoss>(team, design, products, ridge.l2).solve(tight, nullptr);
        CHECK(!pairs.offset_hessian().empty() && products.offset_hessian().empty());
        CHECK(b.dual <= b.primal + 1e-12 && b.primal - b.dual <= 1e-10 * b.primal);
        CHECK(std::abs(a.primal - b.primal) <= 1e-10 * a.primal);
        for (std::size_t k = 0; k < a.offsets.size(); ++k) CHECK(std::abs(a.offsets[k] - b.offsets[k]) < 1e-5);
    }
}

TEST(products_of_samples_are_those_of_the_matrix) {
    // Rows in any order, with columns of no row, of one, of many, and an entry in two parts.
    constexpr std::size_t n = 300, p = 500;
    OwnedSparse<double> given;
    given.width = p;
    std::vector<double> dense(n * p, 0.0);
    for (std::size_t i = 0; i < n; ++i) {
        auto const put = [&](std::size_t j, double x) {
            given.add(j, x);
            dense[i * p + j] += x;
        };
        for (std::size_t k = 0; k < 1 + i % 7; ++k) {
            put((i * 37 + k * k * 11) % (20 + 60 * k), 0.25 * static_cast<double>(1 + (i + k) % 5));
        }
        if (i % 3 == 0) put(p - 1 - i, 0.5);
        if (i % 50 == 1) put(i, 1.0), put(i, 0.5);
        given.end_line();
    }
    for (std::size_t const L : {std::size_t{1}, std::size_t{8}, std::size_t{40}}) {
        std::vector<double> M(n * L), W(p * L, 0.0), Z(n * L, 0.0);
        for (std::size_t k = 0; k < M.size(); ++k) M[k] = static_cast<double>(k * 7919 % 64) / 64 - 0.5;
        std::vector<float> const R(M.begin(), M.end());
        for (std::size_t i = 0; i < n; ++i) {
            for (std::size_t j = 0; j < p; ++j) {
                for (std::size_t k = 0; k < L; ++k) W[j * L + k] += dense[i * p + j] * M[i * L + k];
            }
        }
        for (std::size_t i = 0; i < n; ++i) {
            for (std::size_t j = 0; j < p; ++j) {
                for (std::size_t k = 0; k < L; ++k) Z[i * L + k] += dense[i * p + j] * W[j * L + k];
            }
        }
        std::vector<float> first;
        for (int const threads : {1, 3}) {
            Team team(threads);
            SampleProducts<View> products(team, given.view(), L);
            std::vector<double> w(p * L, 1.0), z(n * L, 1.0);
            std::vector<float> g(n * L, 1.0f);
            products.weights(team, M.data(), w.data());
            products.scores(team, w.data(), z.data());
            products.gram(team, R.data(), g.data());
            for (std::size_t k = 0; k < W.size(); ++k) CHECK(std::abs(w[k] - W[k]) < 1e-12);
            for (std::size_t k = 0; k < Z.size(); ++k) CHECK(std::abs(z[k] - Z[k]) < 1e-11);
            for (std::size_t k = 0; k < Z.size(); ++k) CHECK(std::abs(static_cast<double>(g[k]) - Z[k]) < 1e-3);
            if (first.empty()) first = g;
            CHECK(g == first);
        }
    }
}

TEST(what_is_reported_is_of_the_penalty_asked_for_however_early_it_ends) {
    // The first steps of several classes are taken under stronger penalties.
    Data const given;
    View const rows = given.rows();
    Team team(2);
    for (int const most : {0, 1, 2, 3, 50}) {
        ProfiledLoss F(team, Softmax{3}, given.labels(), true, nullptr);
        SampleProducts<View> products(team, rows, F.stride());
        LaneSolution const one =
            NewtonSamples<View, ProfiledLoss>(team, products, F, 1e-3).solve({1e-9, most, true, 2}, nullptr);
        double squares = 0;
        for (double const w : one.w) squares += w * w;
        ProfiledLoss at(team, Softmax{3}, given.labels(), true, nullptr);
        std::vector<double> Z(n * at.stride(), 0.0);
        products.scores(team, one.w.data(), Z.data());
        CHECK(std::abs(at.evaluate(Z.data()) + 0.5e-3 * squares - one.primal) <= 1e-9 * one.primal);
        CHECK(one.dual <= one.primal);
        if (most == 50) CHECK(one.relative_gap() <= 1e-9);
    }
}

TEST(two_classes_by_one_lane_are_two_classes_by_softmax) {
    Data given;
    for (auto& y : given.y) y = y == 2;
    View const rows = given.rows();
    LaneDesign<View> const design(rows);
    ElasticNet const ridge{0, 0.7};
    for (int threads : {1, 3}) {
        Team team(threads);
        ProfiledLoss F0(team, BinaryLogistic{}, given.labels(), true, nullptr);
        ProfiledLoss F1(team, BinaryLogistic{}, given.labels(), true, nullptr);
        ProfiledLoss F2(team, BaselineSoftmax{1}, given.labels(), true, nullptr);
        LaneSolution const one = NewtonCholesky<View, ProfiledLoss>(team, rows, F0, ridge).solve(tight, nullptr);
        LaneSolution const two = NewtonFeatures<View, ProfiledLoss>(team, design, F1, ridge.l2).solve(tight, nullptr);
        // The class at score 0 is the last one there: weights change their sign.
        LaneSolution const three = NewtonCholesky<View, ProfiledLoss>(team, rows, F2, ridge).solve(tight, nullptr);
        CHECK(std::abs(one.primal - two.primal) <= 1e-9 * one.primal);
        CHECK(std::abs(one.primal - three.primal) <= 1e-9 * one.primal);
        CHECK(one.dual <= one.primal + 1e-12 && one.primal - one.dual <= 1e-11 * one.primal);
        for (std::size_t j = 0; j < p; ++j) CHECK(std::abs(one.w[j] + three.w[j * padded(2)]) < 1e-6);
    }
}

TEST(sparse_weights_of_two_classes_leave_a_gap_that_is_a_bound) {
    Data given;
    for (auto& y : given.y) y = y == 2;
    View const rows = given.rows();
    OwnedSparse<double> const columns = transpose(rows);
    ElasticNet const lasso{1.0, 0.0};
    Team team(2);
    ProfiledLoss F0(team, BinaryLogistic{}, given.labels(), true, nullptr);
    ProfiledLoss F1(team, BinaryLogistic{}, given.labels(), true, nullptr);
    LaneSolution const best = LaneDescent<View, ProfiledLoss>(team, columns.view(), F0, lasso).solve(tight, nullptr);
    LaneSolution const rough =
        LaneDescent<View, ProfiledLoss>(team, columns.view(), F1, lasso).solve({1e-1, 1, true, 1}, nullptr);
    CHECK(rough.dual <= best.primal && best.dual <= rough.primal);
    CHECK(best.primal - best.dual <= 1e-10 * best.primal);
    std::size_t zeros = 0;
    for (double w : best.w) zeros += w == 0;
    CHECK(zeros > 0 && zeros < best.w.size());
}
