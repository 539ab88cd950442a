// Remembered rows under the sanitizers, against sums written out.
#include <cmath>
#include <cstdint>
#include <vector>

#include "check.hpp"
#include "core/serve/row_memory.hpp"

using namespace tallywise;

namespace {

// Rows (1, 0, 2), (0, 3, 0), (1, 1, 0) by column; two columns of what they say.
std::vector<std::int64_t> const starts{0, 2, 4, 5};
std::vector<std::int32_t> const rows{0, 2, 1, 2, 0};
std::vector<double> const values{1, 1, 3, 1, 2}, A{1, 0, 0, 1, -1, 2};
RowMemory::Arrays const arrays{starts.data(), 3, rows.data(), values.data(), 5, A.data(), 3, 2};
std::vector<std::int64_t> const columns{0, 1};
std::vector<double> const x{2, 0.5};

}  // namespace

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
