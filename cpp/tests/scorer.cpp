// Linear rules and remembered rows under the sanitizers, against sums written out.
#include <cmath>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "check.hpp"
#include "core/serve/row_memory.hpp"
#include "core/serve/scorer.hpp"
#include "core/text/term_order.hpp"

using namespace tallywise;
using namespace tallywise::serve;
using namespace tallywise::text;

namespace {

// Rows (1, 0, 2), (0, 3, 0), (1, 1, 0) by column; two columns of what they say.
std::vector<std::int64_t> const starts{0, 2, 4, 5};
std::vector<std::int32_t> const rows{0, 2, 1, 2, 0};
std::vector<double> const values{1, 1, 3, 1, 2}, A{1, 0, 0, 1, -1, 2};
RowMemory::Arrays const arrays{starts.data(), 3, rows.data(), values.data(), 5, A.data(), 3, 2};
std::vector<std::int64_t> const columns{0, 1};
std::vector<double> const x{2, 0.5};

}  // namespace

namespace {

// Words and runs of two words in two blocks, characters in one; the last of the scales is used by nobody.
struct SmallModel {
    CharacterTable characters{[](CodePoint c) {
        bool const letter = c >= 'a' && c <= 'z';
        return Character(c, c, letter, c == ' ');
    }};
    std::vector<View> views;
    std::vector<Block> blocks;
    std::size_t features = 0;

    SmallModel() {
        add_view(Units::words, 2, {"ab", "ab cd", "cd", "ef cd"});
        add_view(Units::characters_in_words, 2, {" a", "b", "c", "ef"});
        add_block(0, "log", "l2");
        add_block(1, "presence", "none");
        add_block(0, "count", "none");
    }

    void add_view(Units units, std::size_t most, std::vector<std::string_view> const& terms) {
        AnalyzerOptions options;
        options.units = units;
        options.max_n = most;
        TermList list;
        for (auto const term : terms) {
            list.bytes.insert(list.bytes.end(), term.begin(), term.end());
            list.offsets.push_back(static_cast<std::int64_t>(list.bytes.size()));
        }
        auto const lexicon = std::make_shared<FixedLexicon>(list, list.size(), units == Units::words, most);
        views.push_back({std::make_shared<Analyzer>(options, characters), lexicon, 0});
    }

    void add_block(std::size_t view, char const* tf, char const* norm) {
        blocks.push_back({view, Weighting(tf, norm, {0.5, 1.25, 3.0, 9.0}, {2, 0, 1, 1})});
        features += 4;
    }
};

// Scores of a text are those of its features, whatever weights are stored in.
template <class T>
void check_scores(std::size_t columns, bool row_units) {
    SmallModel const model;
    std::vector<T> W(model.features * columns);
    for (std::size_t k = 0; k < W.size(); ++k) W[k] = static_cast<T>(static_cast<int>(37 * k % 101) - 50);
    std::vector<double> b(columns, 0.25), units;
    if (!std::is_same_v<T, double>) units.assign(columns, 0.5);
    std::vector<float> of_rows;
    for (std::size_t j = 0; row_units && j < model.features; ++j) of_rows.push_back(std::ldexp(1.0f, 3 - int(j % 5)));
    Link const link(columns == 1 ? "sigmoid" : "softmax", 1, 0, {});
    Scorer const scorer(model.views, model.blocks, {W.data(), units, of_rows}, nullptr, b, link);

    std::string_view const text = "ab cd cd ef cd xy ab";
    Text const read{text.data(), text.size(), Text::Form::utf8};
    std::vector<double> z(columns), wanted(b);
    scorer.rows({read}, false, z.data(), 1);
    Features found;
    scorer.read_sorted(read, found);
    CHECK(found.columns.size() == 12);
    for (std::size_t k = 0; k < found.columns.size(); ++k) {
        std::size_t const j = found.columns[k];
        double const x = found.values[k] * (row_units ? double{of_rows[j]} : 1.0) * (units.empty() ? 1.0 : 0.5);
        for (std::size_t c = 0; c < columns; ++c) wanted[c] += x * static_cast<double>(W[j * columns + c]);
    }
    for (std::size_t c = 0; c < columns; ++c) CHECK(std::abs(z[c] - wanted[c]) < 1e-12 * (1 + std::abs(wanted[c])));
}

}  // namespace

TEST(scores_are_sums_over_features_for_any_number_of_columns) {
    for (std::size_t columns = 1; columns <= 37; ++columns) {
        check_scores<double>(columns, false);
        check_scores<std::int16_t>(columns, false);
        check_scores<std::int8_t>(columns, true);
        check_scores<std::int16_t>(columns, true);
    }
}

TEST(scales_outside_of_their_table_and_units_of_real_weights_are_refused) {
    CHECK_THROWS(Weighting("count", "none", {1.0}, {1}), "not in its table");
    SmallModel const model;
    std::vector<double> const W(model.features, 1.0);
    Weights const weights{W.data(), {}, std::vector<float>(model.features, 1.0f)};
    CHECK_THROWS(Scorer(model.views, model.blocks, weights, nullptr, {0.0}, Link("sigmoid", 1, 0, {})),
                 "whole weights");
}

TEST(nearest_rows_speak_by_how_alike_they_are) {
    RowMemory const memory("nearest", 2, arrays);
    RowMemory::Scratch scratch;
    std::vector<double> z(2, 10.0);
    memory.score(columns.data(), x.data(), 2, z.data(), scratch);  // alike: 2, 1.5, 2.5
    CHECK(std::abs(z[0] - (10 + 2.5 * -1 + 2 * 1)) < 1e-15 && std::abs(z[1] - (10 + 2.5 * 2)) < 1e-15);
}

TEST(slopes_of_remembered_rows_add_up_to_their_scores) {
    for (char const* kind : {"nearest", "gaussian"}) {
        RowMemory const memory(kind, 1, arrays);
        RowMemory::Scratch scratch;
        std::vector<double> z(2, 0.0), base(2, 0.0);
        memory.score(columns.data(), x.data(), 2, z.data(), scratch);
        std::vector<double> const slope = memory.slopes(columns.data(), x.data(), 2, base.data());
        std::vector<double> const alike{2, 1.5, 2.5};
        for (std::size_t i = 0; i < 3; ++i) {
            for (std::size_t c = 0; c < 2; ++c) base[c] += slope[i] * alike[i] * A[i * 2 + c];
        }
        for (std::size_t c = 0; c < 2; ++c) CHECK(std::abs(base[c] - z[c]) < 1e-14);
    }
}

TEST(slopes_of_long_rows_that_are_alike_are_numbers) {
    RowMemory const memory("gaussian", 32, arrays);
    std::vector<double> const far{40, 10};
    std::vector<double> base(2, 0.0);
    for (double const slope : memory.slopes(columns.data(), far.data(), 2, base.data())) CHECK(std::isfinite(slope));
}

TEST(unsound_memories_are_refused) {
    RowMemory::Arrays outside = arrays;
    outside.count = 2;
    CHECK_THROWS(RowMemory("nearest", 1, outside), "not sound");
    CHECK_THROWS(RowMemory("nearest", 0, arrays), "positive");
    CHECK_THROWS(RowMemory("oracle", 1, arrays), "Unknown kind");
}
