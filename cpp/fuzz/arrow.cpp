// Columns of strings in Arrow's memory whose codes, views and offsets are anything: read inside of their buffers, or
// refused. Of plain offsets only those that rise or fall are made, as the interface does not say how long their text
// is.
#include "core/text/arrow.hpp"

#include <array>

#include "fuzz/input.hpp"

using namespace tallywise;
using namespace tallywise::text::arrow;
using namespace tallywise::text;
using namespace tallywise::fuzz;

namespace {

// A column in memory of exactly its size.
struct Column {
    std::vector<std::uint8_t> valid, first, second, third;
    std::vector<std::int64_t> sizes;
    std::vector<void const*> buffers;
    ArrowArray array{};
    ArrowSchema schema{};
};

template <class Offset>
std::vector<std::uint8_t> offsets(Input& in, std::size_t rows, std::size_t most) {
    std::vector<Offset> found;
    for (std::size_t k = 0; k <= rows; ++k) {
        // Up to -1 and up to the end of the text: rising, falling and negative ones.
        found.push_back(static_cast<Offset>(in.among(0, most + 1)) - 1);
    }
    auto const* bytes = reinterpret_cast<std::uint8_t const*>(found.data());
    return {bytes, bytes + found.size() * sizeof(Offset)};
}

void fill(Input& in, Column& c, std::size_t rows) {
    std::size_t const offset = in.among(0, 3);
    c.array.offset = static_cast<std::int64_t>(offset);
    c.array.length = static_cast<std::int64_t>(rows);
    c.valid = in.bytes((rows + offset + 7) / 8);
    c.valid.resize((rows + offset + 7) / 8, 0xFF);
    c.array.null_count = in.flag() ? -1 : 0;
    c.second = in.bytes(in.among(0, 40));
    c.third = in.bytes(in.among(0, 40));
    std::size_t const most = std::min<std::size_t>(c.second.size(), 120);
    static constexpr std::array formats = {"u", "U", "vu"};
    c.schema.format = formats[in.among(0, 2)];
    std::string_view const format = c.schema.format;
    if (format == "vu") {
        c.first = in.bytes(16 * (rows + offset));
        c.first.resize(16 * (rows + offset));
        c.sizes = {static_cast<std::int64_t>(c.second.size()), static_cast<std::int64_t>(c.third.size())};
        c.buffers = {c.valid.data(), c.first.data(), c.second.data(), c.third.data(), c.sizes.data()};
    } else {
        c.first = format == "u" ? offsets<std::int32_t>(in, rows + offset, most)
                                : offsets<std::int64_t>(in, rows + offset, most);
        c.buffers = {c.valid.data(), c.first.data(), c.second.data()};
    }
    if (in.flag()) c.buffers[0] = nullptr;
    c.array.buffers = c.buffers.data();
    c.array.n_buffers = static_cast<std::int64_t>(c.buffers.size());
}

std::size_t sum_of(ArrowSchema const& schema, ArrowArray const& array) {
    std::size_t sum = 0;
    for (std::int64_t row = 0; row < array.length; ++row) {
        try {
            Text const text = arrow::text(schema, array, row);
            auto const* bytes = static_cast<unsigned char const*>(text.data);
            for (std::size_t k = 0; k < text.length; ++k) sum += bytes[k];
        } catch (std::invalid_argument const&) {
        }
    }
    return sum;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    Input in(data, size);
    Column texts;
    fill(in, texts, in.among(0, 12));
    REQUIRE(is_text(texts.schema));
    std::size_t sum = sum_of(texts.schema, texts.array);

    std::string const format(1, "cCsSiIlLgz"[in.among(0, 9)]);
    ArrowSchema schema{};
    schema.format = format.c_str();
    schema.dictionary = &texts.schema;
    std::size_t const width = 1u << (std::string_view("cCsSiIlLgz").find(format[0]) / 2 % 4), rows = in.among(0, 12);
    std::vector<std::uint8_t> codes = in.bytes(width * rows);
    codes.resize(width * rows);
    void const* buffers[] = {nullptr, codes.data()};
    ArrowArray column{};
    column.length = static_cast<std::int64_t>(rows);
    column.n_buffers = 2;
    column.buffers = buffers;
    column.dictionary = &texts.array;
    if (is_text(schema)) sum += sum_of(schema, column);
    REQUIRE(sum < size * 8192 + 1);  // each row has a piece of the input
    return 0;
}
