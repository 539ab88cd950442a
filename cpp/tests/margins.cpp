// Margins and ordered levels under the sanitizers, on data small enough to know the answer or to compare two solvers.
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/linear/online/least_mean_squares.hpp"
#include "core/linear/online/perceptrons.hpp"
#include "core/linear/ordinal/ordered_loss.hpp"
#include "core/linear/svm/margins.hpp"
#include "tests/check.hpp"

using namespace tallywise;
using namespace tallywise::linear;
using namespace tallywise::linear::online;
using namespace tallywise::linear::ordinal;
using namespace tallywise::linear::svm;

namespace {

struct Sample {
    std::vector<double> data, y, s;
    std::vector<std::int64_t> codes;
    Dense<double> X;
};

Sample sample(std::size_t n, std::size_t p, std::int64_t classes) {
    Sample made;
    SplitMix random{7};
    for (std::size_t i = 0; i < n; ++i) {
        double z = 0;
        for (std::size_t j = 0; j < p; ++j) {
            made.data.push_back(static_cast<double>(random.below(2001)) / 1000.0 - 1.0);
            z += (j % 2 == 0 ? 1.0 : -1.0) * made.data.back();
        }
        z += static_cast<double>(random.below(1000)) / 1000.0 - 0.5;
        made.codes.push_back(std::min<std::int64_t>(classes - 1, std::max<std::int64_t>(0, std::lround(z + 1))));
        made.y.push_back(z > 0 ? 1.0 : -1.0);
        made.s.push_back(1.0 + static_cast<double>(random.below(3)));
    }
    made.X = {made.data.data(), n, p, p};
    return made;
}

}  // namespace

TEST(narrow_methods_and_dual_descent_meet) {
    Sample const d = sample(120, 5, 2);
    std::vector<double> const q = squared_lengths(d.X, 1.0);
    DistinctRows const rows = DistinctRows::plain(d.s.data(), 120);
    auto const both = [&](auto loss) {
        using Loss = decltype(loss);
        Team team(2);
        NarrowProblem<Dense<double>, Loss> const narrow{{team, d.X, 1.0}, loss, d.y.data(), d.s.data(), false};
        Solution const found = solve_narrow(narrow, 1e-9, 100);
        DualDescent<Dense<double>, Loss, 1> wide(team, d.X, rows.order, loss, d.y.data(), d.s.data(), q.data(), 1,
                                                 {1e-7, 20000, 1.0, false, 1});
        while (!wide.done()) wide.advance(1 << 16);
        CHECK(std::abs(found.primal - wide.primal()) <= 1e-6 * found.primal);
        CHECK(found.dual <= found.primal + 1e-9);
    };
    for (auto const& name : MarginLosses::names()) {
        MarginLosses::visit("loss", name, [&]<class Loss>() { both(make_loss<Loss>(0.1)); });
    }
}

TEST(newton_steps_by_products_and_by_the_hessian_meet_on_any_threads) {
    Sample const d = sample(700, 9, 2);
    auto const both = [&](auto loss) {
        using Loss = decltype(loss);
        if constexpr (Loss::smoothness < infinity) {
            for (bool const free : {false, true}) {
                auto const solve = [&](bool whole, int threads) {
                    Team team(threads);
                    NarrowProblem<Dense<double>, Loss> const problem{
                        {team, d.X, 1.0}, loss, d.y.data(), d.s.data(), free};
                    return FiniteNewton<Dense<double>, Loss>(problem, whole).solve(1e-9, 100);
                };
                Solution const whole = solve(true, 1), products = solve(false, 1);
                CHECK(std::abs(whole.primal - products.primal) <= 1e-8 * whole.primal);
                CHECK(products.primal - products.dual <= 1e-9 * products.primal);
                CHECK(products.w == solve(false, 3).w);
            }
        }
    };
    for (auto const& name : MarginLosses::names()) {
        MarginLosses::visit("loss", name, [&]<class Loss>() { both(make_loss<Loss>(0.1)); });
    }
}

// Dual variables inside their pieces, after one step of all of them, and the dual objective before and after (to be
// made small).
template <class Rows, class Loss>
std::vector<double> stepped(Rows const& X, Sample const& d, Loss const& loss, int threads, double (&objective)[2]) {
    std::vector<double> const q = squared_lengths(X, 1.0);
    std::vector<double> b(X.lines), w(X.width + 1, 0.0);
    std::vector<std::uint32_t> rows;
    for (std::size_t i = 0; i < X.lines; ++i) {
        b[i] = 0.3 * d.y[i] * d.s[i] * 0.1;
        rows.push_back(static_cast<std::uint32_t>(i));
    }
    auto const weights = [&] {
        std::vector<double> made(X.width + 1, 0.0);
        for (std::size_t i = 0; i < X.lines; ++i) {
            X.axpy(i, b[i], made.data());
            made[X.width] += b[i];
        }
        return made;
    };
    auto const value = [&] {
        double total = 0.5 * dot(w.data(), w.data(), w.size());
        for (std::size_t i = 0; i < X.lines; ++i) total += weighted_conjugate(loss, d.s[i], d.y[i], -b[i]);
        return total;
    };
    w = weights();
    objective[0] = value();
    Team team(threads);
    FaceStep<Rows, Loss> face(team, {X, loss, d.y.data(), d.s.data(), q.data(), 1.0, 0.0, b, w}, rows);
    CHECK(face.take(0.0, 60) <= 62);
    objective[1] = value();
    std::vector<double> const made = weights();
    for (std::size_t j = 0; j < w.size(); ++j) CHECK(std::abs(w[j] - made[j]) <= 1e-9);
    for (std::size_t i = 0; i < X.lines; ++i) {
        double const a = -b[i] / d.s[i];
        CHECK(std::abs(a - loss.clip(d.y[i], a)) <= 1e-15);
    }
    return b;
}

TEST(steps_of_all_free_variables_lower_the_dual_objective_on_any_threads) {
    Sample const d = sample(150, 6, 2);
    OwnedSparse<double> rows;
    rows.width = 6;
    for (std::size_t i = 0; i < 150; ++i) {
        for (std::size_t j = 0; j < 6; ++j) rows.add(j, d.data[i * 6 + j]);
        rows.end_line();
    }
    for (auto const& name : MarginLosses::names()) {
        MarginLosses::visit("loss", name, [&]<class Loss>() {
            Loss const loss = make_loss<Loss>(0.1);
            double dense[2], sparse[2], again[2];
            stepped(d.X, d, loss, 1, dense);
            CHECK(dense[1] < dense[0]);
            auto const b = stepped(rows.view(), d, loss, 1, sparse);
            CHECK(b == stepped(rows.view(), d, loss, 3, again));
            CHECK(sparse[1] < sparse[0]);
        });
    }
}

TEST(free_intercepts_meet) {
    Sample const d = sample(100, 4, 2);
    Team team(1);
    InteriorPoint<Dense<double>, Hinge> narrow({{team, d.X, 1.0}, Hinge{}, d.y.data(), d.s.data(), true});
    Solution const found = narrow.solve(1e-9, 100);
    double const scale = multiplier_scale(d.X);
    std::vector<double> const q = squared_lengths(d.X, scale);
    DistinctRows const rows = DistinctRows::plain(d.s.data(), 100);
    DualDescent<Dense<double>, Hinge, 1> wide(team, d.X, rows.order, Hinge{}, d.y.data(), d.s.data(), q.data(), 1,
                                              {1e-5, 50000, scale, true, 1});
    while (!wide.done()) wide.advance(1 << 16);
    CHECK(std::abs(found.primal - wide.primal()) <= 1e-4 * found.primal);
}

TEST(nearest_point_solves_the_five_points) {
    std::vector<double> const data = {1, 3, 3, 3, 4, 4, 2, 1, 5, 2}, y = {1, 1, 1, -1, -1};
    Dense<double> const X{data.data(), 5, 2, 2};
    Team team(1);
    HardMargin const found = NearestPoint<Dense<double>>(team, X, y.data(), 1.0, true).solve(1e-9, 100);
    CHECK(found.separable);
    CHECK(std::abs(found.w[0] + 0.4) < 1e-9 && std::abs(found.w[1] - 1.2) < 1e-9 && std::abs(found.b + 1.4) < 1e-9);
    std::vector<double> const mixed = {1, -1, 1, -1, 1};
    CHECK(!NearestPoint<Dense<double>>(team, X, mixed.data(), 1.0, false).solve(1e-9, 100).separable);
}

TEST(gram_factors_survive_removals) {
    Sample const d = sample(12, 20, 2);
    auto const product = [&](std::size_t a, std::size_t b) {
        return dot(d.data.data() + a * 20, d.data.data() + b * 20, 20);
    };
    GramFactor factor;
    std::vector<std::size_t> members;
    for (std::size_t a = 0; a < 12; ++a) {
        std::vector<double> products;
        for (std::size_t b : members) products.push_back(product(a, b));
        CHECK(factor.append(products, product(a, a)));
        members.push_back(a);
        if (a % 3 == 2) {
            factor.remove(1);
            members.erase(members.begin() + 1);
        }
    }
    std::vector<double> x(members.size(), 1.0);
    factor.solve(x);
    for (std::size_t a = 0; a < members.size(); ++a) {
        double total = 0;
        for (std::size_t b = 0; b < members.size(); ++b) total += product(members[a], members[b]) * x[b];
        CHECK(std::abs(total - 1) < 1e-8);
    }
}

TEST(more_rows_than_numbers_of_32_bits_tell_apart_are_refused) {
    std::size_t const volatile rows = std::size_t{1} << 32;  // the compiler does not see that there are fewer
    double const none = 0;
    CHECK_THROWS(DistinctRows::plain(&none, rows), "at most 4294967294 rows");
}

TEST(distinct_rows_forget_order_and_repeats) {
    std::vector<double> const data = {1, 2, 0, 3, 1, 2, 5, 5, 1, 2}, s = {1, 2, 3, 0, 4};
    std::vector<std::int64_t> const codes = {0, 1, 0, 1, 1};
    Dense<double> const X{data.data(), 5, 2, 2};
    DistinctRows const rows = DistinctRows::of(X, codes.data(), s.data(), 3);
    CHECK(rows.order.size() == 3);
    CHECK(rows.s == (std::vector<double>{4, 2, 0, 0, 4}));
    std::vector<double> const other = {1, 2, 1, 2, 0, 3}, weights = {4, 4, 2};
    std::vector<std::int64_t> const labels = {1, 0, 1};
    Dense<double> const Y{other.data(), 3, 2, 2};
    DistinctRows const again = DistinctRows::of(Y, labels.data(), weights.data(), 3);
    CHECK(again.order.size() == 3);
    for (std::size_t k = 0; k < 3; ++k) {
        std::size_t const a = rows.order[k], b = again.order[k];
        CHECK(codes[a] == labels[b] && X.data[2 * a] == Y.data[2 * b] && rows.s[a] == again.s[b]);
    }
}

TEST(crammer_singer_closes_its_gap_both_ways) {
    Sample const d = sample(90, 4, 3);
    CrammerSinger<Dense<double>> solver(d.X, d.codes.data(), d.s.data(), 3, {1e-6, 10000, 1.0, false, 0});
    solver.solve();
    CHECK(solver.primal() - solver.dual() <= 1e-6 * solver.primal());
    Team team(2);
    InteriorClasses<Dense<double>> narrow(team, d.X, d.codes.data(), d.s.data(), 3, 1.0);
    narrow.solve(1e-10, 100);
    CHECK(narrow.primal() - narrow.dual() <= 1e-10 * narrow.primal());
    CHECK(std::abs(narrow.primal() - solver.primal()) <= 1e-6 * solver.primal());
}

TEST(ordinal_fits_certify_themselves) {
    Sample const d = sample(200, 4, 3);
    for (char const* link : {"logit", "probit", "cloglog"}) {
        for (ElasticNet const penalty : {ElasticNet{0, 0}, ElasticNet{0, 1}, ElasticNet{2, 0}, ElasticNet{1, 1}}) {
            LaneSolution const found =
                fit_ordinal(d.X, {d.codes.data(), d.s.data(), 200, 3},
                            {ordinal_link(link), 3, penalty, {1e-8, 100, true, 2}}, false, penalty.l1 == 0);
            CHECK(found.primal - found.dual <= 1e-8 * found.primal);
            CHECK(found.offsets[0] < found.offsets[1]);
        }
    }
}

TEST(perceptrons_of_two_orders_agree) {
    Sample const d = sample(80, 3, 3);
    Sample turned = d;
    for (std::size_t i = 0; i < 80; ++i) {
        std::copy_n(d.data.begin() + static_cast<std::ptrdiff_t>(3 * i), 3,
                    turned.data.begin() + static_cast<std::ptrdiff_t>(3 * (79 - i)));
        turned.codes[79 - i] = d.codes[i];
        turned.s[79 - i] = d.s[i];
    }
    turned.X.data = turned.data.data();
    std::vector<std::uint8_t> const none(80, 0);
    std::vector<double> const factor(6, 1.0);
    PerceptronOptions options;
    options.threads = 2;
    options.max_iter = 5;
    auto const fitted = [&](Sample const& rows, std::uint64_t seed) {
        std::vector<PerceptronState> states(3);
        for (auto& state : states) state.w.assign(3, 0.0);
        options.seed = seed;
        fit_perceptrons(rows.X, {rows.codes.data(), rows.s.data(), none.data(), factor.data()}, options, states);
        for (auto const& state : states) CHECK(state.epochs > 0 && state.epochs <= 5);
        return states;
    };
    auto const same = [](auto const& a, auto const& b) {
        for (std::size_t k = 0; k < 3; ++k) {
            if (a[k].w != b[k].w || a[k].b != b[k].b || a[k].mistakes != b[k].mistakes) return false;
        }
        return true;
    };
    CHECK(same(fitted(d, 1), fitted(turned, 1)));
    options.shuffle = false;  // rows as they stand: here the order counts
    CHECK(!same(fitted(d, 1), fitted(turned, 1)));
}

TEST(least_mean_squares_walks_downhill_and_tells_divergence) {
    Sample const d = sample(50, 3, 2);
    std::vector<double> const start(3, 0.0);
    for (bool stochastic : {false, true}) {
        Descent const found =
            descend_squares(d.X, d.y.data(), d.s.data(), start.data(), {stochastic, 0, 1e-9, 200, 10, 0, 2});
        CHECK(found.losses.back() < found.losses.front());
        CHECK(!found.diverged);
        CHECK(descend_squares(d.X, d.y.data(), d.s.data(), start.data(), {stochastic, 100, 1e-9, 200, 10, 0, 1})
                  .diverged);
    }
}
