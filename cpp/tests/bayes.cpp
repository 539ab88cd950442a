// Naive Bayes under sanitizers: bounds, exact sums, every event model through every kernel.
#include <cmath>
#include <vector>

#include "core/bayes/bayes.hpp"
#include "core/bayes/scores.hpp"
#include "tests/check.hpp"

using namespace tallywise;

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
            leave_one_out(event, batch, model.S, smoothing, Prior{PriorKind::documents, nullptr},
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
