// Models of anything: views, blocks, weights in 64, 16 or 8 bits, links and stored rows as a file could name them.
// Refused, or texts are scored; then every text has the same scores alone and among others, its features are in order,
// and its probabilities, where they are numbers, lie in [0, 1].
#include "core/serve/scorer.hpp"

#include <numeric>

#include "core/serve/rounding.hpp"
#include "core/text/term_order.hpp"
#include "fuzz/input.hpp"

using namespace tallywise;
using namespace tallywise::serve;
using namespace tallywise::text;
using namespace tallywise::fuzz;

namespace {

View view_of(Input& in) {
    auto const analyzer = std::make_shared<Analyzer>(analyzer_options(in), characters());
    if (in.flag()) return {analyzer, nullptr, in.among(0, 20)};
    TermList terms;
    std::size_t const n = in.among(0, 12);
    for (std::size_t j = 0; j < n; ++j) {
        auto const term = in.bytes(in.among(0, 20));
        terms.bytes.insert(terms.bytes.end(), term.begin(), term.end());
        terms.offsets.push_back(static_cast<std::int64_t>(terms.bytes.size()));
    }
    bool const split = analyzer->options().units == Units::words;
    return {analyzer, std::make_shared<FixedLexicon>(terms, terms.size(), split, analyzer->word_range().second), 0};
}

void run(Input& in) {
    bool const near = in.flag();
    auto const value = [&] { return near ? in.number<std::int8_t>() / 16.0 : in.number<double>(); };
    std::vector<View> views;
    for (std::size_t v = in.among(0, 3); v > 0; --v) views.push_back(view_of(in));
    std::vector<Block> blocks;
    std::size_t features = 0;
    for (std::size_t k = in.among(0, 3); k > 0; --k) {
        std::size_t const v = in.among(0, views.size());
        std::size_t terms = v < views.size() ? views[v].vocabulary ? views[v].vocabulary->size() : views[v].terms : 3;
        if (in.number() == 7) ++terms;
        std::vector<double> scale(terms);
        for (double& s : scale) s = value();
        static constexpr std::array tf = {"count", "presence", "log", "sqrt"};
        std::vector<std::uint32_t> places(terms);
        std::iota(places.begin(), places.end(), in.number() == 7 ? 1U : 0U);
        blocks.push_back({v, Weighting(tf[in.among(0, near ? 2 : 3)], in.flag() ? "l2" : "none", scale, places)});
        features += terms;
    }
    std::size_t const columns = in.among(0, 20);
    std::vector<double> b(columns);
    for (double& b_k : b) b_k = value();
    std::vector<double> real(features * columns);
    std::vector<std::int16_t> half(features * columns);
    std::vector<std::int8_t> byte(features * columns);
    Weights W{static_cast<double const*>(nullptr), {}, {}};
    switch (in.among(0, 3)) {
        case 0:
            for (double& w : real) w = value();
            W.values = real.data();
            break;
        case 1:
            for (auto& w : half) w = in.number<std::int16_t>();
            W = {half.data(), std::vector<double>(in.flag() ? columns : 1, value()), {}};
            break;
        case 2:
            for (auto& w : byte) w = in.number<std::int8_t>();
            W = {byte.data(), std::vector<double>(columns, value()), std::vector<float>(features, 0.25f)};
            break;
        default: {
            for (double& w : real) w = value();
            RoundedRows const rounded = round_rows(real.data(), features, columns, in.flag());
            byte = rounded.values;
            std::vector<float> units;
            for (auto const e : rounded.exponents) units.push_back(std::ldexp(1.0f, e));
            for (std::size_t k = 0; k < real.size(); ++k) {
                if (columns > 0 && near) REQUIRE(std::abs(byte[k]) <= 127);
            }
            W = {byte.data(), std::vector<double>(columns, 1.0), units};
        }
    }
    static constexpr std::array kinds = {"sigmoid", "softmax", "ordered", "sigmoids", "probit"};
    std::string_view const kind = kinds[in.among(0, near ? 3 : 4)];
    std::vector<double> thresholds;
    for (std::size_t k = in.among(0, 3); k > 0; --k) thresholds.push_back(value());
    if (near) std::sort(thresholds.begin(), thresholds.end());
    Link const link(kind, value(), value(), thresholds);
    Scorer const scorer(views, blocks, W, nullptr, b, link);

    std::vector<Document> documents;
    for (std::size_t k = in.among(1, 3); k > 0; --k) documents.push_back(document(in, 120));
    std::vector<Text> texts;
    for (Document const& d : documents) texts.push_back(d.text);
    std::size_t const K = scorer.classes();
    std::vector<double> z(texts.size() * columns), p(texts.size() * K), alone(columns), shares(texts.size());
    scorer.rows(texts, false, z.data(), 1);
    scorer.rows(texts, true, p.data(), 1);
    for (std::size_t i = 0; i < texts.size(); ++i) {
        scorer.rows({texts[i]}, false, alone.data(), 1);
        REQUIRE(std::memcmp(alone.data(), z.data() + i * columns, columns * sizeof(double)) == 0);
        for (std::size_t k = 0; k < K; ++k) {
            double const probability = p[i * K + k];
            if (near) REQUIRE(probability >= 0 && probability <= 1);
        }
        Features found;
        scorer.read_sorted(texts[i], found);
        for (std::size_t k = 0; k < found.columns.size(); ++k) {
            REQUIRE(found.columns[k] < features && (k == 0 || found.columns[k - 1] < found.columns[k]));
        }
    }
    if (scorer.unknown_words(texts, shares.data(), 1)) {
        for (double const share : shares) REQUIRE(share >= 0 && share <= 1);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    Input in(data, size);
    try {
        run(in);
    } catch (std::invalid_argument const&) {
    }
    return 0;
}
