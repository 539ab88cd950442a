// Kernels, blocks of their matrices and the decomposition solver, under sanitizers.
#include <cmath>
#include <random>

#include "core/kernels/machines.hpp"
#include "tests/check.hpp"

using namespace tallywise;
using namespace tallywise::kernels;

namespace {

Kernel gaussian(double gamma) {
    Kernel kernel;
    kernel.push("gaussian", gamma, 0, 0);
    return kernel;
}

std::vector<double> noise(std::size_t n, unsigned seed, double zeros = 0) {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> uniform;
    std::vector<double> values(n);
    for (auto& v : values) v = uniform(random) < zeros ? 0.0 : normal(random);
    return values;
}

// Two classes that overlap, on n points of width 3; equal rows now and then.
struct Sample {
    std::vector<double> X;
    BoxProblem problem;
    Sample(std::size_t n, double zeros) : X(noise(3 * n, 1, zeros)) {
        for (std::size_t i = 0; i < n; ++i) {
            if (i % 17 == 5)
                std::copy_n(X.begin() + static_cast<std::ptrdiff_t>(3 * (i - 5)), 3,
                            X.begin() + static_cast<std::ptrdiff_t>(3 * i));
            bool const positive = X[3 * i] + 0.5 * X[3 * i + 1] + (i % 7 == 0 ? 1.0 : -0.1) > 0;
            problem.push(static_cast<std::uint32_t>(i), positive ? -1 : 1, positive ? 0 : -1, positive ? 1 : 0);
        }
    }
    Design design() const { return Dense<double>{X.data(), X.size() / 3, 3, 3}; }
};

}  // namespace

TEST(single_exp_is_within_three_ulp_of_the_library) {
    for (float x = -87.0F; x < 88.6F; x += 0.0137F) {
        double const expected = std::exp(static_cast<double>(x)), got = static_cast<double>(exp_single(x));
        CHECK(std::abs(got - expected) <= 3 * static_cast<double>(std::numeric_limits<float>::epsilon()) * expected);
    }
    CHECK(exp_single(0.0F) == 1.0F);
    CHECK(exp_single(-200.0F) == 0.0F);
    CHECK(std::isinf(exp_single(100.0F)));
    CHECK(std::isnan(exp_single(std::nanf(""))));
}

TEST(halvings_are_powers_of_a_half) {
    for (double x = 0; x < 1022; x += 0.0937) {
        double const expected = std::exp2(-x);
        CHECK(std::abs(kernels::detail::halvings(x) - expected) <= 4e-16 * expected);
        if (x > 125) continue;
        float const y = static_cast<float>(x);
        double const exact = std::exp2(-static_cast<double>(y));
        CHECK(std::abs(static_cast<double>(kernels::detail::halvings(y)) - exact) <= 3e-7 * exact);
    }
    CHECK(kernels::detail::halvings(0.0) == 1.0 && kernels::detail::halvings(0.0F) == 1.0F);
    CHECK(kernels::detail::halvings(1e300) == 0.0 && kernels::detail::halvings(1e30F) == 0.0F);
}

TEST(kernel_expressions_are_checked_and_evaluated) {
    Kernel kernel;
    CHECK_THROWS(kernel.push("sum", 0, 0, 0), "misses an operand");
    CHECK_THROWS(kernel.push("nonsense", 0, 0, 0), "Unknown kernel 'nonsense'");
    kernel.push("linear", 0, 0, 0);
    kernel.push("polynomial", 1, 1, 2);
    CHECK(!kernel.complete());
    kernel.push("product", 0, 0, 0);
    kernel.push("scale", 3, 0, 0);
    CHECK(kernel.complete());
    double s[] = {2, -1};
    double const vv[] = {5, 7};
    kernel.apply(s, 4.0, vv, 2);
    CHECK(s[0] == 3 * 2 * 9 && s[1] == 0);
}

TEST(tiles_agree_between_dense_sparse_and_single) {
    for (double zeros : {0.0, 0.8}) {
        std::size_t const n = 300, m = 130, width = 9;
        auto const A = noise(m * width, 2, zeros), B = noise(n * width, 3, zeros);
        Points const left(Dense<double>{A.data(), m, width, width}), right(Dense<double>{B.data(), n, width, width});
        CHECK(left.sparse() == (zeros > 0));
        std::vector<double> K(n * m);
        std::vector<float> K32(n * m);
        Team team(2);
        kernel_matrix(gaussian(0.3), left, right, team, K.data());
        kernel_matrix(gaussian(0.3), left, right, team, K32.data());
        for (std::size_t j = 0; j < n; ++j) {
            for (std::size_t i = 0; i < m; ++i) {
                double square = 0;
                for (std::size_t l = 0; l < width; ++l) square += std::pow(A[i * width + l] - B[j * width + l], 2);
                CHECK(std::abs(K[j * m + i] - std::exp(-0.3 * square)) < 1e-13);
                CHECK(std::abs(static_cast<double>(K32[j * m + i]) - std::exp(-0.3 * square)) < 1e-5);
            }
        }
    }
}

TEST(sums_of_points_over_themselves_use_symmetry_and_agree) {
    for (double zeros : {0.0, 0.8}) {
        std::size_t const n = 1700, width = 9;
        auto const A = noise(n * width, 2, zeros), c = noise(n, 3);
        Points const points(Dense<double>{A.data(), n, width, width});
        Ids which;
        std::vector<double> coefficients;
        for (std::size_t i = 0; i < n; ++i) {
            if (i % 5 == 2) continue;
            which.push_back(static_cast<std::uint32_t>(i));
            coefficients.push_back(c[i]);
        }
        std::vector<double> plain(n, 1.0), own(n, 1.0), alone(n, 1.0);
        Team team(2), one(1);
        add_kernel_sums<double>(gaussian(0.3), points, which, coefficients, points, team, plain.data());
        add_own_kernel_sums<double>(gaussian(0.3), points, which, coefficients, team, own.data());
        add_own_kernel_sums<double>(gaussian(0.3), points, which, coefficients, one, alone.data());
        CHECK(own == alone);
        for (std::size_t i = 0; i < n; ++i) CHECK(std::abs(plain[i] - own[i]) < 1e-11);
    }
}

TEST(points_beyond_floating_point_are_refused) {
    double const X[] = {1e200, 1};
    Points const points(Dense<double>{X, 2, 1, 1});
    std::vector<double> K(4);
    Team team(1);
    CHECK_THROWS(kernel_matrix(gaussian(1), points, points, team, K.data()), "beyond floating point");
}

TEST(equal_lines_are_one_point) {
    double const X[] = {1, 2, 0.0, 3, 1, 2, -0.0, 3};
    auto const found = distinct_lines(Dense<double>{X, 4, 2, 2}, Points::everything(4));
    CHECK(found.lines.size() == 2);
    CHECK(found.point_of[0] == found.point_of[2] && found.point_of[1] == found.point_of[3]);
}

TEST(machines_reach_the_same_optimum_with_any_cache_and_start) {
    for (std::size_t n : {150U, 900U, 4300U}) {
        double best = 0;
        for (std::size_t cache : {20'000U, 200'000'000U}) {
            if (n > 4000 && cache < 1'000'000) cache = 1'000'000;
            Sample const sample(n, 0.1);
            std::vector<MachineTask> tasks(1);
            tasks[0].problem = sample.problem;
            MachineOptions options;
            options.cache_bytes = cache;
            options.tol = 1e-4;
            Team team(2);
            auto const result = solve_machines(gaussian(0.5), sample.design(), tasks, options, team)[0];
            CHECK(result.ended == Ended::converged);
            CHECK(result.primal - result.dual <= 1e-4 * result.primal && result.primal >= result.dual - 1e-9);
            double sum = 0;
            for (std::size_t t = 0; t < result.beta.size(); ++t) {
                sum += result.beta[t];
                CHECK(result.beta[t] >= sample.problem.lower[t] && result.beta[t] <= sample.problem.upper[t]);
            }
            CHECK(std::abs(sum) < 1e-9);
            if (best != 0) CHECK(std::abs(result.dual - best) <= 1e-4 * best);
            best = result.dual;
        }
    }
}

TEST(values_made_in_passing_lead_to_the_optimum_of_kept_rows) {
    // Constant columns leave distances as they are, and make rows dear enough to be kept.
    Sample const sample(5000, 0);
    std::size_t const n = 5000, constant = 30;
    std::vector<double> wide;
    for (std::size_t i = 0; i < n; ++i) {
        wide.insert(wide.end(), sample.X.begin() + static_cast<std::ptrdiff_t>(3 * i),
                    sample.X.begin() + static_cast<std::ptrdiff_t>(3 * i + 3));
        wide.insert(wide.end(), constant, 0.5);
    }
    auto solve = [&](Design const& X, int threads) {
        std::vector<MachineTask> tasks(1);
        tasks[0].problem = sample.problem;
        Team team(threads);
        return solve_machines(gaussian(0.5), X, tasks, {}, team)[0];
    };
    auto const passing = solve(sample.design(), 1), again = solve(sample.design(), 3);
    auto const kept = solve(Dense<double>{wide.data(), n, 3 + constant, 3 + constant}, 2);
    CHECK(passing.ended == Ended::converged && passing.beta == again.beta && passing.f == again.f);
    CHECK(passing.primal - passing.dual <= 1e-3 * passing.primal);
    CHECK(std::abs(passing.dual - kept.dual) <= 1e-3 * kept.dual);
}

TEST(held_out_scores_are_those_of_a_machine_without_the_fold) {
    Sample const sample(400, 0.1);
    std::vector<MachineTask> tasks(1);
    tasks[0].problem = sample.problem;
    Team team(2);
    auto const fitted = solve_machines(gaussian(0.5), sample.design(), tasks, {}, team, 4)[0];
    for (std::int64_t k = 0; k < 4; ++k) {
        std::vector<MachineTask> without(1);
        without[0].problem = sample.problem;
        for (std::size_t t = 0; t < 400; ++t) {
            if (fitted.fold[t] == k) without[0].problem.lower[t] = without[0].problem.upper[t] = 0;
        }
        auto const slow = solve_machines(gaussian(0.5), sample.design(), without, {}, team)[0];
        for (std::size_t t = 0; t < 400; ++t) {
            if (fitted.fold[t] == k) CHECK(std::abs(fitted.held_out[t] - slow.f[t] - slow.intercept) < 0.05);
        }
    }
    CHECK(fitted.fold[5] == fitted.fold[0]);  // equal points are held out together
}

TEST(several_machines_share_one_matrix_or_their_points) {
    Sample const sample(300, 0.1);
    std::vector<double> duals[2];
    for (std::size_t share : {0U, 1U}) {
        std::vector<MachineTask> tasks(3);
        for (std::size_t k = 0; k < 3; ++k) {
            for (std::size_t t = k * 50; t < k * 50 + 200; ++t) {
                tasks[k].problem.push(sample.problem.point[t], sample.problem.linear[t], sample.problem.lower[t],
                                      sample.problem.upper[t]);
            }
        }
        MachineOptions options;
        options.cache_bytes = share ? 200'000'000 : 100'000;
        Team team(2);
        for (auto const& r : solve_machines(gaussian(0.5), sample.design(), tasks, options, team)) {
            duals[share].push_back(r.dual);
        }
    }
    for (std::size_t k = 0; k < 3; ++k) CHECK(std::abs(duals[0][k] - duals[1][k]) < 1e-3 * duals[0][k]);
    std::vector<MachineTask> wrong(1);
    wrong[0].problem.push(300, 0, 0, 1);
    Team team(1);
    CHECK_THROWS(solve_machines(gaussian(1), sample.design(), wrong, {}, team), "does not have");
}

TEST(more_points_than_numbers_of_32_bits_tell_apart_are_refused) {
    CHECK_THROWS(Points::everything(std::size_t{1} << 32), "Got 4294967296");
}

TEST(a_line_repeated_many_times_is_one_point) {
    std::vector<double> X(2 * 300, 1.5);
    X[300] = 2;
    auto const found = distinct_lines(Dense<double>{X.data(), 300, 2, 2}, Points::everything(300));
    CHECK(found.lines == (Ids{0, 150}));
}

TEST(nested_normalisation_costs_its_steps_and_changes_nothing) {
    Kernel once, often;
    for (Kernel* kernel : {&once, &often}) {
        kernel->push("polynomial", 1, 1, 2);
        kernel->push("linear", 0, 0, 0);
        kernel->push("sum", 0, 0, 0);
        for (int k = 0; k < (kernel == &once ? 1 : 900); ++k) kernel->push("normalised", 0, 0, 0);
    }
    std::vector<double> s(200), vv(200);
    for (std::size_t i = 0; i < s.size(); ++i) s[i] = 0.1 * static_cast<double>(i), vv[i] = 5 + s[i];
    std::vector<double> a = s, b = s;
    once.apply(a.data(), 4.0, vv.data(), a.size());
    often.apply(b.data(), 4.0, vv.data(), b.size());
    for (std::size_t i = 0; i < s.size(); ++i) {
        double const k = (s[i] + 1) * (s[i] + 1) + s[i], own = (vv[i] + 1) * (vv[i] + 1) + vv[i];
        CHECK(std::abs(a[i] - k / std::sqrt(29 * own)) < 1e-13);
        CHECK(std::abs(a[i] - b[i]) < 1e-12);
    }
    CHECK(std::abs(often.self(3.0) - 1) < 1e-12);
}

TEST(sums_of_hundreds_of_kernels_need_no_stack) {
    Kernel kernel;
    for (int k = 0; k < 500; ++k) kernel.push("linear", 0, 0, 0);
    for (int k = 0; k < 499; ++k) kernel.push("sum", 0, 0, 0);
    double s = 2, vv = 1;
    kernel.apply(&s, 1.0, &vv, 1);
    CHECK(s == 1000);
}
