// The parts that every family stands on: numeric, parallel, registry, design.
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

#include "core/base/interrupt.hpp"
#include "core/base/parallel.hpp"
#include "core/base/processor.hpp"
#include "core/base/registry.hpp"
#include "core/base/relative_gap.hpp"
#include "core/data/design.hpp"
#include "core/data/equal_lines.hpp"
#include "tests/check.hpp"

using namespace tallywise;

TEST(exp_is_within_two_ulp_of_the_library) {
    for (double x = -708.0; x < 709.7; x += 0.037) {
        double const expected = std::exp(x), got = tallywise::exp(x);
        CHECK(std::abs(got - expected) <= 2 * std::numeric_limits<double>::epsilon() * expected);
    }
    double const inf = std::numeric_limits<double>::infinity();
    CHECK(tallywise::exp(0.0) == 1.0);
    CHECK(tallywise::exp(-inf) == 0.0);
    CHECK(tallywise::exp(-800.0) == 0.0);
    CHECK(tallywise::exp(inf) == inf);
    CHECK(tallywise::exp(710.0) == inf);
    CHECK(std::isnan(tallywise::exp(std::nan(""))));
}

TEST(log1p_softplus_and_sigmoid_keep_their_digits_near_and_far_from_0) {
    for (double x = 1e-300; x < 1e3; x *= 1.37) {
        CHECK(std::abs(tallywise::log1p(x) - std::log1p(x)) <= 4.5e-16 * std::log1p(x));
    }
    CHECK(tallywise::log1p(0.0) == 0.0);
    for (double z = -700; z < 700; z += 0.731) {
        double const soft = z > 0 ? z + std::log1p(std::exp(-z)) : std::log1p(std::exp(z));
        CHECK(std::abs(softplus(z) - soft) <= 1e-15 * soft);
        double const p = z > 0 ? 1 / (1 + std::exp(-z)) : std::exp(z) / (1 + std::exp(z));
        CHECK(std::abs(sigmoid(z) - p) <= 1e-15 * p);
    }
    double const inf = std::numeric_limits<double>::infinity();
    CHECK(softplus(inf) == inf && softplus(-inf) == 0 && sigmoid(inf) == 1 && sigmoid(-inf) == 0);
    CHECK(std::isnan(softplus(std::nan(""))) && std::isnan(sigmoid(std::nan(""))));
}

TEST(log_sum_exp_keeps_impossible_and_huge_scores) {
    double const inf = std::numeric_limits<double>::infinity();
    double const impossible[] = {-inf, -inf}, huge[] = {-1e300, -1e300};
    CHECK(log_sum_exp(impossible, 2) == -inf);
    CHECK(log_sum_exp(impossible, 0) == -inf);
    CHECK(log_sum_exp(huge, 2) == -1e300);
}

TEST(team_sums_are_the_same_for_any_number_of_threads) {
    std::vector<double> x(100'003);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<double>(i)) * 1e8;
    auto sum = [&](int threads) {
        Team team(threads);
        double total = 0;
        for (int repeat = 0; repeat < 50; ++repeat) {
            total += team.sum<double>(x.size(), 1000, [&](std::size_t begin, std::size_t end) {
                return std::accumulate(x.begin() + static_cast<std::ptrdiff_t>(begin),
                                       x.begin() + static_cast<std::ptrdiff_t>(end), 0.0);
            });
        }
        return total;
    };
    double const one = sum(1);
    for (int threads : {2, 4, 8}) CHECK(sum(threads) == one);
}

TEST(team_rethrows_the_failure_of_the_lowest_chunk) {
    for (int threads : {1, 2, 8}) {
        Team team(threads);
        for (int repeat = 0; repeat < 20; ++repeat) {
            CHECK_THROWS(team.each(100,
                                   [](std::size_t chunk) {
                                       if (chunk >= 17)
                                           throw std::runtime_error("chunk " + std::to_string(chunk) + ";");
                                   }),
                         "chunk 17;");
        }
        std::size_t done = team.sum<std::size_t>(10, 1, [](std::size_t, std::size_t) { return std::size_t{1}; });
        CHECK(done == 10);
    }
    CHECK_THROWS(Team(0), "number of threads");
}

static std::vector<std::function<void()>>& unscheduled() {
    static std::vector<std::function<void()>> workers;
    return workers;
}

TEST(a_team_does_not_wait_for_workers_that_were_never_scheduled) {
    unscheduled().clear();
    std::size_t done = 0;
    {
        Team team(4, [](std::function<void()> worker) { unscheduled().push_back(std::move(worker)); });
        for (int repeat = 0; repeat < 10; ++repeat) team.each(100, [&](std::size_t) { ++done; });
        CHECK_THROWS(team.each(9,
                               [](std::size_t chunk) {
                                   if (chunk > 3) throw std::runtime_error("chunk 4");
                               }),
                     "chunk 4");
    }
    CHECK(done == 1000);
    CHECK(unscheduled().size() == 3);
    for (auto const& worker : unscheduled()) worker();  // long after the team: there is nothing left to do
}

TEST(a_worker_that_comes_late_takes_part_in_later_work) {
    for (int repeat = 0; repeat < 200; ++repeat) {
        Team team(3);
        std::vector<int> calls(64);
        for (int again = 0; again < 5; ++again) team.each(calls.size(), [&](std::size_t chunk) { ++calls[chunk]; });
        for (int count : calls) CHECK(count == 5);
    }
}

TEST(a_gap_of_what_is_no_number_is_infinite) {
    double const inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
    CHECK(relative_gap(2.0, 1.0) == 0.5 && relative_gap(0.0, 0.0) == 0.0 && relative_gap(1.0, 2.0) == 0.0);
    for (double bad : {inf, -inf, nan}) {
        CHECK(relative_gap(bad, 1.0) == inf && relative_gap(1.0, bad) == inf && relative_gap(bad, bad) == inf);
    }
}

TEST(more_lines_than_indices_of_32_bits_are_refused_when_transposed) {
    Sparse<double> X{nullptr, nullptr, nullptr, std::size_t{1} << 31, 3};
    CHECK_THROWS(transpose(X), "at most 2147483647 rows");
}

TEST(equal_lines_are_found_whatever_their_keys_are) {
    // Rows 0, 2, 5 are equal, so are 1 and 4, but for the order of entries and a stored zero; all keys collide.
    double const data[] = {1, 2, 3, 1, 2, 4, 0, 3, 2, 1};
    Index const indices[] = {0, 2, 1, 0, 2, 1, 0, 1, 2, 0};
    std::int64_t const indptr[] = {0, 2, 3, 5, 6, 8, 10};
    Sparse<double> const X{data, indices, indptr, 6, 3};
    for (std::uint64_t const factor : {std::uint64_t{0}, std::uint64_t{1}}) {
        std::vector<std::uint64_t> key(6);
        for (std::size_t i = 0; i < 6; ++i) key[i] = factor * content_key(X, i, 0, 7);
        std::vector<std::uint32_t> lines = {0, 1, 2, 3, 4, 5};
        auto const first = find_equal_lines(X, static_cast<double const*>(nullptr), key, lines);
        std::vector<std::uint32_t> same(6);
        for (std::size_t k = 0; k < 6; ++k) same[lines[k]] = lines[first[k]];
        CHECK(same == (std::vector<std::uint32_t>{0, 1, 0, 3, 1, 0}));
    }
}

TEST(a_level_is_run_only_by_a_processor_that_has_all_of_it) {
    Processor whole{0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0xFF};
    CHECK(whole.levels() == (std::vector<std::string>{"v4", "v3", "baseline"}));
    for (int const bit : {12, 22, 27, 28, 29}) {  // FMA, MOVBE, OSXSAVE, AVX, F16C
        Processor without = whole;
        without.features &= ~(std::uint32_t{1} << bit);
        CHECK(without.levels() == (std::vector<std::string>{"baseline"}));
    }
    Processor without_lzcnt = whole, without_avx512vl = whole, system_saves_no_wide_registers = whole;
    without_lzcnt.extended &= ~(std::uint32_t{1} << 5);
    without_avx512vl.structured &= ~(std::uint32_t{1} << 31);
    system_saves_no_wide_registers.saved_registers = 0x7;
    CHECK(!without_lzcnt.v3() && without_avx512vl.v3() && !without_avx512vl.v4());
    CHECK(system_saves_no_wide_registers.v3() && !system_saves_no_wide_registers.v4());
#if defined(__AVX512VL__)
    CHECK(Processor::here().v4());
#elif defined(__AVX2__)
    CHECK(Processor::here().v3());
#endif
}

struct Circle {
    static constexpr std::string_view name = "circle";
    static constexpr int corners = 0;
};
struct Square {
    static constexpr std::string_view name = "square";
    static constexpr int corners = 4;
};

TEST(a_team_may_be_called_from_inside_its_own_chunks) {
    for (int threads : {1, 2, 5}) {
        Team team(threads);
        std::vector<std::size_t> found(40);
        team.each(found.size(), [&](std::size_t chunk) {
            std::vector<std::size_t> inner(7);
            team.each(inner.size(), [&](std::size_t k) { inner[k] = chunk * k; });
            for (std::size_t k : inner) found[chunk] += k;
        });
        for (std::size_t chunk = 0; chunk < found.size(); ++chunk) CHECK(found[chunk] == 21 * chunk);
        CHECK(team.sum<std::size_t>(1000, 10, [](std::size_t begin, std::size_t end) { return end - begin; }) == 1000);
    }
}

TEST(registry_finds_by_name_and_lists_what_it_knows) {
    using Shapes = Registry<Circle, Square>;
    auto corners = [](std::string_view name) {
        return Shapes::visit("shape", name, []<class S>() { return S::corners; });
    };
    CHECK(corners("square") == 4);
    CHECK_THROWS(corners("heptagon"), "Unknown shape 'heptagon'. Known: 'circle', 'square'.");
}

TEST(validate_refuses_what_would_be_read_out_of_bounds) {
    int const indices[] = {0, 2, 1}, beyond[] = {0, 3, 1}, negative[] = {0, -1, 1}, twice[] = {1, 1, 0};
    int const indptr[] = {0, 2, 3}, falling[] = {0, 3, 2}, far[] = {0, 2, 9}, late[] = {1, 2, 3};
    auto check = [&](int const* j, int const* p) { return validate_structure(j, p, 2, 3, 3); };
    CHECK(check(indices, indptr).sorted);
    CHECK(!check(twice, indptr).sorted);
    CHECK_THROWS(check(beyond, indptr), "width 3 holds index 3 in line 0");
    CHECK_THROWS(check(negative, indptr), "holds index -1");
    CHECK_THROWS(check(indices, falling), "must not fall");
    CHECK_THROWS(check(indices, far), "beyond its 3 stored entries");
    CHECK_THROWS(check(indices, late), "must begin with 0");
    CHECK_THROWS(validate_structure(indices, indptr, 2, std::size_t{1} << 31, 3),
                 "at most 2147483647 rows and as many columns");
    std::int64_t const wraps[] = {0, (std::int64_t{1} << 32) + 1}, starts[] = {0, 2};
    CHECK_THROWS(validate_structure(wraps, starts, 1, 3, 2), "holds index 4294967297");
    double const bad[] = {1, std::nan(""), std::numeric_limits<double>::infinity()};
    CHECK_THROWS(validate(Dense<double>{bad, 1, 3, 3}), "contains NaN");
    CHECK_THROWS(validate(Dense<double>{bad + 2, 1, 1, 1}), "contains infinity");
}

TEST(transpose_exchanges_lines_and_width) {
    double const data[] = {1, 2, 3};
    Index const indices[] = {0, 2, 2};
    std::int64_t const indptr[] = {0, 2, 3};
    auto const T = transpose(Sparse<double>{data, indices, indptr, 2, 3});
    double const v[] = {10, 100};
    CHECK(T.view().lines == 3 && T.view().width == 2);
    CHECK(T.view().dot(0, v) == 10 && T.view().dot(1, v) == 0 && T.view().dot(2, v) == 320);
}

TEST(interrupt_throws_only_when_asked) {
    check_interrupt();
    interrupt_poll = [] { return true; };
    CHECK_THROWS(check_interrupt(), "interrupted");
    interrupt_poll = nullptr;
}
