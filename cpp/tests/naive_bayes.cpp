// Naive Bayes under sanitizers: bounds, exact sums, every event model through every kernel.
#include <cmath>
#include <vector>

#include "core/naive_bayes/log_probabilities.hpp"
#include "core/naive_bayes/naive_bayes.hpp"
#include "core/naive_bayes/scores.hpp"
#include "tests/check.hpp"

using namespace tallywise;
using namespace tallywise::naive_bayes;

namespace {

// Sums of a model with K classes, owned.
struct Model {
    std::vector<double> value, carry, totals;
    Statistics S;

    Model(std::size_t statistics, std::size_t K, std::size_t cells)
        : value(statistics * K * cells),
          carry(value.size()),
          totals(4 * K),
          S{value.data(), carry.data(), K * cells, cells, K, cells, totals.data()} {}
};

EventOptions options_of(std::string const& name, std::size_t features) {
    EventOptions options(name);
    for (std::size_t j = 0; j <= features; ++j) options.offsets.push_back(static_cast<std::int64_t>(4 * j));
    return options;
}

}  // namespace

TEST(pairs_hold_sums_and_products_that_doubles_do_not) {
    Pair const sum = two_sum(1e16, 1.0), product = two_product(1.0 + 0x1p-30, 1.0 + 0x1p-30);
    CHECK(sum.high == 1e16 && sum.low == 1.0);
    CHECK(product.high == 1.0 + 0x1p-29 && product.low == 0x1p-60);
    Pair const back = (Pair{1e16, 1.0} + Pair{0.25, 0}) - Pair{0.25, 0};
    CHECK(back.high == 1e16 && back.low == 1.0);
}

TEST(log_is_within_two_ulp_of_the_library) {
    for (double x = 1e-300; x < 1e300; x *= 1.37) {
        CHECK(std::abs(tallywise::log(x) - std::log(x)) <= 2.3e-16 * std::abs(std::log(x)));
    }
    CHECK(tallywise::log(1.0) == 0.0 && std::isinf(tallywise::log(0.0)) && std::isnan(tallywise::log(-1.0)));
}

TEST(every_event_model_learns_forgets_and_scores_in_bounds) {
    constexpr std::size_t n = 37, d = 5, K = 3;
    std::vector<double> dense(n * d);
    std::vector<std::int64_t> classes(n), labels(n);
    for (std::size_t k = 0; k < n * d; ++k) dense[k] = static_cast<double>((k * 7 + k / 3) % 4);
    for (std::size_t i = 0; i < n; ++i) classes[i] = static_cast<std::int64_t>(i % K);
    Design const X = Dense<double>{dense.data(), n, d, d};
    for (auto const& name : Events::names()) {
        Events::visit("event", name, [&]<class Event>() {
            Event const event(options_of(name, d));
            std::size_t const cells = name == "categorical" ? 4 * d : d;
            Model model(Event::statistics, K, cells);
            Team team(2);
            Batch const batch{&X, classes.data(), nullptr, true};
            learn(event, batch, 1.0, model.S, team);
            auto const learned = model.value;
            learn(event, batch, 1.0, model.S, team);
            learn(event, batch, -1.0, model.S, team);
            CHECK(model.value == learned);
            double const alpha = 0.5;
            Smoothing const smoothing(&alpha, 1, cells);
            std::vector<double> own(n), values(n * K), prior(K, 0.0);
            leave_one_out(event, batch, model.S, smoothing, Prior{PriorKind::documents, 0, nullptr},
                          HeldOut{labels.data(), own.data()}, team);
            for (double p : own) CHECK(p <= 0);
            Weights W = weights_of(event, model.S, smoothing);
            std::vector<double> theta(W.rows * W.stride()), b(W.columns);
            W.theta = theta.data();
            W.b = b.data();
            estimate<Event>(typename Event::Estimate(event, model.S, smoothing), model.S, W, team);
            score(event, X, W, prior.data(), Output::probability, values.data(), nullptr, team);
            for (std::size_t i = 0; i < n; ++i) {
                CHECK(std::abs(values[i * K] + values[i * K + 1] + values[i * K + 2] - 1) < 1e-14);
            }
            learn(event, batch, -1.0, model.S, team);
            for (double v : model.value) CHECK(v == 0);
            CHECK_THROWS(learn(event, batch, -1.0, model.S, team), "documents");
            classes[0] = 99;
            CHECK_THROWS(learn(event, batch, 1.0, model.S, team), "values");
            classes[0] = 0;
        });
    }
}

namespace {

// Rows of distinct columns in rising order, with counts that are small, but for some.
struct CountedRows {
    std::vector<std::int64_t> counts, starts{0}, classes;
    std::vector<Index> columns;
    std::size_t width;

    CountedRows(std::size_t n, std::size_t d, std::size_t K, std::int64_t large) : width(d) {
        for (std::size_t i = 0; i < n; ++i) {
            for (std::size_t j = i % 7; j < d; j += 7 + (i * j) % 5) {
                columns.push_back(static_cast<Index>(j));
                counts.push_back(counts.size() % 3 == 0 ? large : static_cast<std::int64_t>(j % 4 + 1));
            }
            starts.push_back(static_cast<std::int64_t>(counts.size()));
            classes.push_back(static_cast<std::int64_t>(i * i % K));
        }
    }
    Design design() const {
        return Sparse<std::int64_t>{counts.data(), columns.data(), starts.data(), starts.size() - 1, width};
    }
};

}  // namespace

TEST(whole_counts_of_many_rows_are_the_sums_one_by_one) {
    for (std::size_t const K : {2, 9}) {
        for (std::int64_t const large : {std::int64_t{3}, std::int64_t{8'000'000}, std::int64_t{1} << 34}) {
            CountedRows const rows(1500, 800, K, large);
            Model model(1, K, rows.width);
            model.S.carry = nullptr;
            Design const X = rows.design();
            for (bool const sorted : {true, false}) {
                Batch const batch{&X, rows.classes.data(), nullptr, sorted, static_cast<double>(large)};
                std::vector<double> expected(K * rows.width), tokens(K);
                for (std::size_t i = 0; i < rows.classes.size(); ++i) {
                    auto const c = static_cast<std::size_t>(rows.classes[i]);
                    for (auto k = static_cast<std::size_t>(rows.starts[i]);
                         k < static_cast<std::size_t>(rows.starts[i + 1]); ++k) {
                        expected[c * rows.width + static_cast<std::size_t>(rows.columns[k])] +=
                            static_cast<double>(rows.counts[k]);
                        tokens[c] += static_cast<double>(rows.counts[k]);
                    }
                }
                Team team(2);
                Multinomial const event(options_of("multinomial", 0));
                learn(event, batch, 1.0, model.S, team);
                CHECK(model.value == expected);
                for (std::size_t c = 0; c < K; ++c) CHECK(model.S.tokens(c).high == tokens[c]);
                learn(event, batch, -1.0, model.S, team);
                for (double const v : model.value) CHECK(v == 0);
            }
        }
    }
}

TEST(log_probabilities_by_class_are_those_of_the_scores) {
    constexpr std::size_t K = 3;
    for (std::int64_t const large : {3, 70'000}) {
        CountedRows const rows(300, 5000, K, large);
        std::vector<double> each(rows.width);
        for (std::size_t j = 0; j < each.size(); ++j) each[j] = 0.1 + static_cast<double>(j % 5);
        auto const check = [&]<class Event>(std::string const& name, Smoothing const& alpha) {
            Event const event(options_of(name, 0));
            Model model(1, K, rows.width);
            model.S.carry = nullptr;
            Design const X = rows.design();
            Team team(2);
            learn(event, {&X, rows.classes.data(), nullptr, true, static_cast<double>(large)}, 1.0, model.S, team);
            model.value[rows.width + 17] += 0.25;  // no whole number
            Weights W = weights_of(event, model.S, alpha);
            std::vector<double> theta(W.rows * W.stride()), b(W.columns), found(K * rows.width);
            W.theta = theta.data();
            W.b = b.data();
            typename Event::Estimate const parameters(event, model.S, alpha);
            estimate<Event>(parameters, model.S, W, team);
            log_probabilities<Event>(parameters, model.S, found.data(), team);
            for (std::size_t c = 0; c < K; ++c) {
                for (std::size_t j = 0; j < rows.width; ++j) {
                    double const n = model.value[c * rows.width + j], a = alpha(j);
                    double const share = std::log((n + a) / (model.S.documents(c).high + 2 * a));
                    double const value = found[c * rows.width + j];
                    CHECK(name == "bernoulli" ? std::abs(value - share) < 1e-13 : value == theta[j * W.stride() + c]);
                }
            }
        };
        for (Smoothing const& alpha :
             {Smoothing(each.data(), 1, rows.width), Smoothing(each.data(), 5000, rows.width)}) {
            check.operator()<Multinomial>("multinomial", alpha);
            check.operator()<Complement>("complement", alpha);
            check.operator()<Poisson>("poisson", alpha);
            check.operator()<Bernoulli>("bernoulli", alpha);
        }
    }
}
