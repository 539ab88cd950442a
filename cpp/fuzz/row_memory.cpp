// Remembered rows with anything in their arrays: refused, or scored inside of them; what each word adds sums up to the
// score of a text.
#include "core/serve/row_memory.hpp"

#include <algorithm>

#include "fuzz/input.hpp"

using namespace tallywise;
using namespace tallywise::serve;
using namespace tallywise::fuzz;

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    Input in(data, size);
    bool const near = in.flag();
    auto const value = [&] { return near ? in.number<std::int8_t>() / 16.0 : in.number<double>(); };
    std::size_t const terms = in.among(0, 8), count = in.among(0, 6), columns = in.among(1, 3),
                      entries = in.among(0, 16);
    std::vector<std::int64_t> starts{near ? 0 : in.number<std::int8_t>()};
    for (std::size_t j = 0; j < terms; ++j) {
        starts.push_back(near ? starts.back() + static_cast<std::int64_t>(in.among(0, 3)) : in.number<std::int64_t>());
    }
    if (near) {
        for (auto& start : starts) start = std::min(start, static_cast<std::int64_t>(entries));
        if (terms > 0) starts.back() = static_cast<std::int64_t>(entries);
    }
    std::vector<std::int32_t> rows;
    std::vector<double> values, A;
    for (std::size_t e = 0; e < entries; ++e) {
        bool const first = std::find(starts.begin(), starts.end(), static_cast<std::int64_t>(e)) != starts.end();
        auto const next = static_cast<std::int32_t>(in.among(0, count));
        rows.push_back(!near ? in.number<std::int32_t>() : first || next == 0 ? next : rows.back() + next);
        values.push_back(value());
    }
    for (std::size_t e = 0; e < count * columns; ++e) A.push_back(value());
    bool const gaussian = in.flag();
    double const number = near ? in.number() / 8.0 : in.number<double>();
    std::unique_ptr<RowMemory> memory;
    try {
        memory = std::make_unique<RowMemory>(
            gaussian ? "gaussian" : "nearest", number,
            RowMemory::Arrays{starts.data(), terms, rows.data(), values.data(), entries, A.data(), count, columns});
    } catch (std::invalid_argument const&) {
        return 0;
    }
    REQUIRE(memory->terms() == terms && memory->columns() == columns);
    std::vector<std::int64_t> x_columns;
    std::vector<double> x;
    for (std::size_t j = 0; j < terms; ++j) {
        if (!in.flag()) continue;
        x_columns.push_back(static_cast<std::int64_t>(j));
        x.push_back(value());
    }
    RowMemory::Scratch scratch;
    std::vector<double> z(columns, 0.0), sum(columns, 0.0);
    memory->score(x_columns.data(), x.data(), x.size(), z.data(), scratch);
    std::vector<double> const slopes = memory->slopes(x_columns.data(), x.data(), x.size(), sum.data());
    REQUIRE(slopes.size() == count);
    double size_of_terms = 1;
    for (std::size_t k = 0; k < x.size(); ++k) {
        auto const j = static_cast<std::size_t>(x_columns[k]);
        for (auto e = static_cast<std::size_t>(starts[j]); e < static_cast<std::size_t>(starts[j + 1]); ++e) {
            auto const i = static_cast<std::size_t>(rows[e]);
            for (std::size_t c = 0; c < columns; ++c) {
                double const adds = slopes[i] * values[e] * x[k] * A[i * columns + c];
                sum[c] += adds;
                size_of_terms += std::abs(adds);
            }
        }
    }
    for (std::size_t c = 0; near && c < columns; ++c) {
        REQUIRE(std::abs(sum[c] - z[c]) <= 1e-9 * size_of_terms);
    }
    return 0;
}
