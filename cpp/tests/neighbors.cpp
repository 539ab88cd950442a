// Neighbour searches under sanitizers: every index against the plain scan, on data with ties, repeats and outliers.
#include <cmath>
#include <random>

#include "core/neighbors/index.hpp"
#include "core/neighbors/precomputed.hpp"
#include "core/neighbors/votes.hpp"
#include "tests/check.hpp"

using namespace tallywise;
using namespace tallywise::neighbors;

namespace {

template <class T>
std::vector<T> rows_of(std::size_t n, std::size_t d, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<T> values(n * d);
    for (T& x : values) x = static_cast<T>(static_cast<int>(random() % 5)) + (random() % 7 == 0 ? T(0.25) : T(0));
    for (std::size_t j = 0; j < d; ++j) values[j] = T(1000);  // one row far away
    return values;
}

Neighbours scan(std::unique_ptr<Rows> rows, Design const& Q, SearchSpec const& spec) {
    return ScanIndex(std::move(rows)).search(Q, spec);
}

template <class T>
void compare_dense(std::size_t n, std::size_t d, std::size_t k) {
    auto const X = rows_of<T>(n, d, 1), Q = rows_of<T>(37, d, 2);
    Dense<T> const x{X.data(), n, d, d};
    Design const q = Dense<T>{Q.data(), 37, d, d};
    std::vector<std::int64_t> groups(n), own(37);
    for (std::size_t i = 0; i < n; ++i) groups[i] = static_cast<std::int64_t>(i % 3);
    for (std::size_t i = 0; i < 37; ++i) own[i] = static_cast<std::int64_t>(i % 3);
    for (auto const& [metric, p] : {std::pair<std::string, double>{"euclidean", 2},
                                    {"manhattan", 1},
                                    {"chebyshev", 1},
                                    {"minkowski", 3},
                                    {"minkowski", 2.3},
                                    {"cosine", 2}}) {
        for (std::size_t const leaf : {0, 8}) {
            if (leaf > 0 && metric == "cosine") continue;
            for (SearchSpec spec : {SearchSpec{k, 0, nullptr, nullptr, 2}, SearchSpec{0, 2.5, nullptr, nullptr, 1},
                                    SearchSpec{k, 0, own.data(), groups.data(), 2}}) {
                auto const found = make_index(Design{x}, IndexOptions{metric, p, leaf, {}, {}, 2})->search(q, spec);
                auto const expected = scan(make_rows(x, metric, p), q, spec);
                CHECK(found.rows == expected.rows);
                CHECK(found.distances == expected.distances);
                CHECK(found.begin == expected.begin);
            }
        }
    }
}

}  // namespace

TEST(dense_indexes_find_what_the_scan_finds) {
    compare_dense<double>(700, 5, 4);
    compare_dense<float>(700, 5, 4);
    compare_dense<float>(90, 33, 20);
    compare_dense<double>(1, 3, 0);
}

TEST(codes_of_8_bits_let_every_neighbour_pass) {
    std::size_t const n = 1300, queries = 80;
    for (std::size_t const d : {1, 2, 7, 40}) {
        for (int const kind : {0, 1, 2, 3}) {
            std::mt19937 random(static_cast<unsigned>(10 * d) + static_cast<unsigned>(kind));
            std::normal_distribution<double> normal;
            std::vector<float> X((n + queries) * d);
            for (std::size_t i = 0; i < n + queries; ++i) {
                double const far = kind == 2 ? 100.0 * static_cast<double>(i % 9) : 0.0;  // tight clusters far apart
                for (std::size_t j = 0; j < d; ++j) {
                    double const x = normal(random);
                    X[i * d + j] = static_cast<float>(kind == 0   ? x
                                                      : kind == 1 ? x * x * x * x * x  // heavy tails
                                                      : kind == 2 ? far + 1e-3 * x
                                                                  : std::round(x));  // ties and repeats
                }
            }
            X[n * d] = 1e30f;  // a query far from everything
            Dense<float> const x{X.data(), n, d, d};
            Design const q = Dense<float>{X.data() + n * d, queries, d, d};
            for (SearchSpec const spec :
                 {SearchSpec{3, 0, nullptr, nullptr, 2}, SearchSpec{200, 0, nullptr, nullptr, 1},
                  SearchSpec{0, 1.5, nullptr, nullptr, 1}}) {
                auto const found = make_index(Design{x}, IndexOptions{})->search(q, spec);
                auto const expected = scan(make_rows(x, "euclidean", 2), q, spec);
                CHECK(found.rows == expected.rows);
                CHECK(found.distances == expected.distances);
                CHECK(found.begin == expected.begin);
            }
        }
    }
}

TEST(a_rotation_changes_nothing_and_must_be_orthonormal) {
    std::size_t const n = 600, d = 20;
    auto const X = rows_of<float>(n, d, 3), Q = rows_of<float>(11, d, 4);
    Dense<float> const x{X.data(), n, d, d};
    Design const q = Dense<float>{Q.data(), 11, d, d};
    std::vector<double> axes(3 * d, 0.0), centre(d, 2.0);
    for (std::size_t r = 0; r < 3; ++r) axes[r * d + 2 * r] = 1;
    SearchSpec const spec{6, 0, nullptr, nullptr, 2};
    for (std::string const metric : {"euclidean", "cosine"}) {
        auto const found = make_index(Design{x}, IndexOptions{metric, 2, 0, centre, axes, 2})->search(q, spec);
        auto const expected = scan(make_rows(x, metric, 2), q, spec);
        CHECK(found.rows == expected.rows);
        CHECK(found.distances == expected.distances);
    }
    axes[0] = 2;
    CHECK_THROWS(make_index(Design{x}, IndexOptions{"euclidean", 2, 0, centre, axes, 1}), "orthonormal");
}

TEST(inverted_index_finds_what_the_scan_finds) {
    std::mt19937 random(5);
    std::size_t const n = 900, d = 80;
    OwnedSparse<double> X;
    X.width = d;
    for (std::size_t row = 0; row < n; ++row) {
        for (std::size_t j = 0; j < d; ++j) {
            if (row % 50 == 7 || random() % (2 + j) > 1) continue;  // some rows empty, late columns rare
            X.add(j, static_cast<double>(random() % 9) - (row % 2 ? 3.0 : 0.0));
        }
        X.end_line();
    }
    Design const x = X.view();
    for (std::string const metric : {"euclidean", "cosine"}) {
        for (SearchSpec const spec : {SearchSpec{5, 0, nullptr, nullptr, 2}, SearchSpec{0, 0.4, nullptr, nullptr, 2},
                                      SearchSpec{n, 0, nullptr, nullptr, 1}}) {
            auto const found = make_index(x, IndexOptions{metric, 2, 0, {}, {}, 2})->search(x, spec);
            auto const expected = SparseScanIndex(make_rows(X.view(), metric, 2), n, d).search(x, spec);
            CHECK(found.rows == expected.rows);
            CHECK(found.distances == expected.distances);
        }
    }
}

TEST(searches_refuse_what_they_cannot_answer) {
    std::vector<double> const X = {1, 2, 3, 4};
    Design const x = Dense<double>{X.data(), 2, 2, 2}, wide = Dense<double>{X.data(), 1, 4, 4};
    auto const index = make_index(x, IndexOptions{"manhattan", 1, 0, {}, {}, 1});
    CHECK_THROWS(index->search(wide, SearchSpec{1, 0, nullptr, nullptr, 1}), "of its width");
    CHECK_THROWS(index->search(x, SearchSpec{3, 0, nullptr, nullptr, 1}), "fewer than n_neighbors");
    CHECK_THROWS(make_index(x, IndexOptions{"minkowski", 0.5, 0, {}, {}, 1}), "at least 1");
    CHECK_THROWS(make_index(x, IndexOptions{"nearness", 2, 0, {}, {}, 1}), "Known: 'manhattan'");
    CHECK_THROWS(make_index(x, IndexOptions{"cosine", 2, 4, {}, {}, 1}), "Minkowski");
}

TEST(votes_of_every_k_are_those_of_each) {
    std::vector<double> const distances = {0.5, 1, 2, 4, 0, 0, 1, 3};
    std::vector<std::int64_t> const rows = {0, 1, 2, 3, 2, 3, 0, 1}, codes = {1, 0, 0, 1};
    std::vector<double> const y = {1, 2, 3, 4};
    NeighbourLists const even{distances.data(), rows.data(), 2, 4, false};
    NeighbourLists const near{distances.data(), rows.data(), 2, 4, true};
    CHECK((vote_curve(even, codes.data(), 2, 1) == std::vector<std::int64_t>{1, 0, 0, 0, 0, 0, 1, 0}));
    CHECK((vote_curve(near, codes.data(), 2, 2) == std::vector<std::int64_t>{1, 1, 1, 1, 0, 0, 0, 0}));
    CHECK((mean_curve(near, y.data(), 1)[7] == 3.5));
    CHECK((vote_shares(near, codes.data(), 2, 1)[2] == 0.5));
    CHECK_THROWS(require_below(rows.data(), 8, 3, "Row"), "Row 3 is not in [0, 3).");
}

TEST(an_index_of_more_rows_than_numbers_of_32_bits_tell_apart_is_refused) {
    double const none = 0;
    Dense<double> const X{&none, std::size_t{1} << 32, 0, 0};
    CHECK_THROWS(make_index(Design{X}, IndexOptions{}), "Fit a sample");
}
