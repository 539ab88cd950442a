#include "core/naive_bayes/naive_bayes.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <tuple>

#include "bindings/new_array.hpp"
#include "bindings/views.hpp"
#include "core/naive_bayes/log_probabilities.hpp"
#include "core/naive_bayes/scores.hpp"

namespace tallywise::bindings {

using namespace naive_bayes;

namespace {

using Table = nb::ndarray<double const, nb::ndim<3>, nb::device::cpu>;
using Weighted = std::optional<Vector<double>>;

struct BoundPrior {
    PriorKind kind;
    double smoothing;
    Vector<double> logarithms;
};

// The sums of an estimator, as views of arrays that it owns. Only `learn` writes to them, and asks first.
struct BoundStatistics {
    Statistics view;
    std::vector<nb::object> owners;

    BoundStatistics(Table const& value, std::optional<Table> const& carry, Matrix<double> const& totals)
        : view{const_cast<double*>(value.data()),
               carry ? const_cast<double*>(carry->data()) : nullptr,
               strided(value, 0),
               strided(value, 1),
               value.shape(1),
               value.shape(2),
               const_cast<double*>(totals.data())},
          owners{nb::find(value), nb::find(totals)} {
        if (carry) owners.push_back(nb::find(*carry));
        bool const alike = !carry || (carry->stride(0) == value.stride(0) && carry->stride(1) == value.stride(1));
        if (value.stride(2) != 1 || !alike || totals.shape(0) != 4 || totals.shape(1) != value.shape(1)) {
            throw std::invalid_argument(
                "Sums are (statistics, classes, cells) with their carry alike, totals (4, classes).");
        }
    }
    // Views of read-only arrays serve everything but learning.
    void require_writable() const {
        for (nb::object const& owner : owners) {
            require(nb::cast<bool>(owner.attr("flags").attr("writeable")),
                    "Sums that are learned into must be writable.");
        }
    }
    static std::size_t strided(Table const& table, std::size_t axis) {
        return static_cast<std::size_t>(table.stride(axis));
    }
};

// f(event) for the model that the options name.
template <class F>
auto with_event(EventOptions const& options, F&& f) {
    return Events::visit("event model", options.name, [&]<class Event>() { return f(Event(options)); });
}

EventTraits event_traits(std::string const& name) {
    return Events::visit("event model", name, []<class Event>() {
        return EventTraits{Event::statistics, Event::reads_sparse, Event::adds_repeats};
    });
}

Batch to_batch(BoundDesign const& X, Vector<std::int64_t> const& classes, Weighted const& weights, std::size_t known) {
    require(classes.size() == lines(X.view) && (!weights || weights->size() == classes.size()),
            "X, y and sample_weight differ in length.");
    require_range(classes, 0, known, "y must hold positions of classes.");
    return {.X = &X.view,
            .classes = classes.data(),
            .weights = weights ? weights->data() : nullptr,
            .sorted = X.validated.sorted};
}

void require_smoothing(Vector<double> const& alpha, Statistics const& S) {
    require(alpha.size() == 1 || alpha.size() == S.cells, "There must be one alpha, or one per cell.");
}

Weights to_weights(Matrix<double> const& theta, Vector<double> const& b, std::size_t classes) {
    Weights W{const_cast<double*>(theta.data()), const_cast<double*>(b.data()), theta.shape(0), b.size(), classes, 1};
    W.parameters = theta.shape(1) / W.padded();
    require(classes > 0 && W.parameters > 0 && theta.shape(1) == W.parameters * W.padded(),
            "Weights are not of these classes.");
    return W;
}

// What a team of threads would share of a design, by the classes that each entry is read for.
std::size_t work(BoundDesign const& X, std::size_t classes = 1) {
    std::size_t const entries = visit(X.view, [](auto const& x) { return x.nonzeros(); });
    return entries * Team::count(classes, Weights::register_size);
}

std::tuple<bool, bool, double> bound_inspect(EventOptions const& options, BoundDesign const& X, Weighted const& weights,
                                             int threads) {
    return with_event(options, [&](auto const& event) {
        nb::gil_scoped_release released;
        Team team(worthwhile(work(X) / 8, threads));
        require(!weights || weights->size() == lines(X.view), "X and sample_weight differ in length.");
        auto const found = inspect(event, {.X = &X.view, .weights = weights ? weights->data() : nullptr}, team);
        return std::tuple(found.negative, found.integral, found.largest);
    });
}

void bound_learn(EventOptions const& options, BoundDesign const& X, Vector<std::int64_t> const& classes,
                 Weighted const& weights, double largest, bool forget, BoundStatistics const& sums, int threads) {
    Batch batch = to_batch(X, classes, weights, sums.view.classes);
    sums.require_writable();
    batch.largest = largest;
    with_event(options, [&](auto const& event) {
        nb::gil_scoped_release released;
        Team team(worthwhile(work(X), threads));
        learn(event, batch, forget ? -1.0 : 1.0, sums.view, team);
    });
}

auto bound_estimate(EventOptions const& options, BoundStatistics const& sums, Vector<double> const& alpha,
                    int threads) {
    return with_event(options, [&]<class Event>(Event const& event) {
        Statistics const& S = sums.view;
        require_smoothing(alpha, S);
        Smoothing const smoothing(alpha.data(), alpha.size(), S.cells);
        Weights W = weights_of(event, S, smoothing);
        std::vector<double> b(W.columns);
        auto theta = new_array<double, 2>({W.rows, W.stride()});
        W.theta = theta.data();
        W.b = b.data();
        {
            nb::gil_scoped_release released;
            Team team(worthwhile(W.rows * W.stride() / Weights::register_size, threads));
            estimate<Event>(typename Event::Estimate(event, S, smoothing), S, W, team);
        }
        return nb::make_tuple(std::move(theta), to_numpy(std::move(b)));
    });
}

auto bound_log_probabilities(EventOptions const& options, BoundStatistics const& sums, Vector<double> const& alpha,
                             int threads) {
    Statistics const& S = sums.view;
    require_smoothing(alpha, S);
    auto table = new_array<double, 2>({S.classes, S.cells});
    with_event(options, [&]<class Event>(Event const& event) {
        if constexpr (Event::from_counts) {
            Smoothing const smoothing(alpha.data(), alpha.size(), S.cells);
            nb::gil_scoped_release released;
            Team team(worthwhile(S.classes * S.cells / Weights::register_size, threads));
            log_probabilities<Event>(typename Event::Estimate(event, S, smoothing), S, table.data(), team);
        } else {
            throw std::invalid_argument("This event model has no table of log probabilities.");
        }
    });
    return table;
}

double variance_floor(BoundStatistics const& sums, double alpha) {
    return Gaussian::Estimate(Gaussian(EventOptions("gaussian")), sums.view, {&alpha, 1, sums.view.cells}).epsilon;
}

auto bound_narrow(Matrix<double> const& theta, Vector<double> const& b, std::size_t classes, int threads) {
    auto single = new_array<float, 2>({theta.shape(0), SingleWeights::padded(classes)});
    double largest = 0;
    {
        nb::gil_scoped_release released;
        Team team(threads);
        largest = narrow(to_weights(theta, b, classes), single.data(), team);
    }
    return nb::make_tuple(std::move(single), largest);
}

auto bound_labels(EventOptions const& options, BoundDesign const& X, Matrix<double> const& theta,
                  Vector<double> const& b, Vector<double> const& prior,
                  std::optional<std::tuple<Matrix<float>, double>> const& narrowed, int threads) {
    std::vector<std::int64_t> labels(lines(X.view)), impossible;
    SingleWeights single;
    if (narrowed) {
        auto const& [values, largest] = *narrowed;
        single = {const_cast<float*>(values.data()), values.shape(1), largest};
        if (values.shape(0) != theta.shape(0) || values.shape(1) != SingleWeights::padded(prior.size())) {
            throw std::invalid_argument("The weights in single precision differ in shape.");
        }
    }
    with_event(options, [&](auto const& event) {
        nb::gil_scoped_release released;
        Team team(worthwhile(work(X, prior.size()), threads));
        Weights const W = to_weights(theta, b, prior.size());
        impossible = label(event, X.view, W, single, prior.data(), labels.data(), team);
    });
    return std::tuple(to_numpy(std::move(labels)), to_numpy(std::move(impossible)));
}

auto bound_scores(EventOptions const& options, BoundDesign const& X, Matrix<double> const& theta,
                  Vector<double> const& b, Vector<double> const& prior, Output output, int threads) {
    auto values = new_array<double, 2>({lines(X.view), prior.size()});
    std::vector<std::int64_t> impossible;
    with_event(options, [&](auto const& event) {
        nb::gil_scoped_release released;
        Team team(worthwhile(work(X, prior.size()), threads));
        Weights const W = to_weights(theta, b, prior.size());
        impossible = score(event, X.view, W, prior.data(), output, values.data(), nullptr, team);
    });
    return nb::make_tuple(std::move(values), to_numpy(std::move(impossible)));
}

auto bound_leave_one_out(EventOptions const& options, BoundDesign const& X, Vector<std::int64_t> const& classes,
                         BoundStatistics const& sums, Vector<double> const& alpha, BoundPrior const& prior,
                         int threads) {
    Batch const batch = to_batch(X, classes, {}, sums.view.classes);
    require_smoothing(alpha, sums.view);
    require(prior.kind != PriorKind::fixed || prior.logarithms.size() == sums.view.classes,
            "There must be one prior per class.");
    std::vector<std::int64_t> labels(classes.size());
    std::vector<double> own(classes.size());
    with_event(options, [&](auto const& event) {
        nb::gil_scoped_release released;
        Team team(threads);
        Smoothing const smoothing(alpha.data(), alpha.size(), sums.view.cells);
        leave_one_out(event, batch, sums.view, smoothing, Prior{prior.kind, prior.smoothing, prior.logarithms.data()},
                      HeldOut{labels.data(), own.data()}, team);
    });
    return std::tuple(to_numpy(std::move(labels)), to_numpy(std::move(own)));
}

}  // namespace

void bind_naive_bayes(nb::module_& m) {
    nb::exception<NeverLearned>(m, "NeverLearned", PyExc_ValueError);
    m.def("events", &Events::names, "Names of the event models.");
    nb::class_<EventTraits>(m, "EventTraits", "What an event model asks of its sums and of X.")
        .def_ro("statistics", &EventTraits::statistics)
        .def_ro("reads_sparse", &EventTraits::reads_sparse)
        .def_ro("adds_repeats", &EventTraits::adds_repeats);
    m.def("event_traits", &event_traits, nb::arg("name"));
    nb::enum_<Output>(m, "Output")
        .value("joint", Output::joint)
        .value("log_probability", Output::log_probability)
        .value("probability", Output::probability);
    nb::enum_<PriorKind>(m, "PriorKind")
        .value("documents", PriorKind::documents)
        .value("tokens", PriorKind::tokens)
        .value("fixed", PriorKind::fixed);
    nb::class_<BoundPrior>(m, "Prior", "Shares of documents or tokens, smoothed, or given logarithms.")
        .def(nb::init<PriorKind, double, Vector<double>>(), nb::arg("kind"), nb::arg("smoothing"),
             nb::arg("logarithms"));
    nb::class_<EventOptions>(m, "EventOptions", "An event model by name, and what is set about it.")
        .def(nb::init<std::string>(), nb::arg("name"))
        .def_rw("binarize", &EventOptions::binarize)
        .def_rw("threshold", &EventOptions::threshold)
        .def_rw("normalize", &EventOptions::normalize)
        .def_rw("shared", &EventOptions::shared)
        .def_rw("offsets", &EventOptions::offsets);
    nb::class_<BoundStatistics>(m, "Statistics", "Sums over rows, as a view of the caller's arrays.")
        .def(nb::init<Table const&, std::optional<Table> const&, Matrix<double> const&>(), nb::arg("value"),
             nb::arg("carry").none(), nb::arg("totals"));
    m.def(
        "zero_sums",
        [](std::size_t statistics, std::size_t classes, std::size_t cells) {
            return new_array<double, 3>({statistics, classes, cells}, true);
        },
        nb::arg("statistics"), nb::arg("classes"), nb::arg("cells"), "A table of sums of nothing.");
    m.def("inspect_batch", &bound_inspect, nb::arg("options"), nb::arg("X"), nb::arg("weights").none(),
          nb::arg("threads"),
          "Whether anything is negative that must not be, whether all that will be added is integer, and the largest "
          "of it.");
    m.def("learn", &bound_learn, nb::arg("options"), nb::arg("X"), nb::arg("classes"), nb::arg("weights").none(),
          nb::arg("largest"), nb::arg("forget"), nb::arg("sums"), nb::arg("threads"),
          "Add rows to the sums, or take them out again.");
    m.def("estimate", &bound_estimate, nb::arg("options"), nb::arg("sums"), nb::arg("alpha"), nb::arg("threads"),
          "Weights (one row per cell, classes padded to fours) and constants of the scores.");
    m.def("log_probabilities", &bound_log_probabilities, nb::arg("options"), nb::arg("sums"), nb::arg("alpha"),
          nb::arg("threads"), "Logarithms of the parameters, one row per class, of the event models for counts.");
    m.def("variance_floor", &variance_floor, nb::arg("sums"), nb::arg("alpha"),
          "What a Gaussian model adds to all variances: alpha times the largest of any feature.");
    m.def("narrow", &bound_narrow, nb::arg("theta"), nb::arg("b"), nb::arg("classes"), nb::arg("threads"),
          "Weights in single precision, and the size of the largest.");
    m.def("labels", &bound_labels, nb::arg("options"), nb::arg("X"), nb::arg("theta"), nb::arg("b"), nb::arg("prior"),
          nb::arg("narrowed").none(), nb::arg("threads"),
          "The best class of each row, and the rows that have none; `narrowed` weights make it faster, not different.");
    m.def("scores", &bound_scores, nb::arg("options"), nb::arg("X"), nb::arg("theta"), nb::arg("b"), nb::arg("prior"),
          nb::arg("output"), nb::arg("threads"), "Scores or probabilities of each row, and the rows that have none.");
    m.def("leave_one_out", &bound_leave_one_out, nb::arg("options"), nb::arg("X"), nb::arg("classes"), nb::arg("sums"),
          nb::arg("alpha"), nb::arg("prior"), nb::arg("threads"),
          "Each row's best class without it (-1: none), and the log probability of its own.");
}

}  // namespace tallywise::bindings
