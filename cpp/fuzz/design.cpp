// A sparse matrix whose parts are anything is refused if, and only if, one of them is wrong; what is taken can be read,
// multiplied and transposed, and its transpose transposed is itself in rising order.
#include "core/data/design.hpp"

#include "fuzz/input.hpp"

using namespace tallywise;
using namespace tallywise::fuzz;

namespace {

template <class I>
bool sound(std::vector<I> const& indices, std::vector<I> const& indptr, std::size_t width, std::size_t entries) {
    if (indptr[0] != 0) return false;
    for (std::size_t k = 1; k < indptr.size(); ++k) {
        if (indptr[k] < indptr[k - 1]) return false;
    }
    if (static_cast<std::size_t>(indptr.back()) > entries) return false;
    for (std::size_t k = 0; k < static_cast<std::size_t>(indptr.back()); ++k) {
        if (indices[k] < 0 || static_cast<std::size_t>(indices[k]) >= width) return false;
    }
    return true;
}

template <class I, class T>
void one(Input& in) {
    std::size_t const width = in.among(0, 9), lines = in.among(0, 6), entries = in.among(0, 20);
    bool const near = in.flag();  // small numbers, most of which are sound
    std::vector<I> indices, indptr{static_cast<I>(near ? 0 : in.number<std::int8_t>())};
    for (std::size_t k = 0; k < entries; ++k) indices.push_back(near ? in.number<std::int8_t>() % 10 : in.number<I>());
    for (std::size_t k = 0; k < lines; ++k) {
        indptr.push_back(near ? indptr.back() + in.number<std::int8_t>() % 8 : in.number<I>());
    }
    std::vector<T> values;
    for (std::size_t k = 0; k < entries; ++k) values.push_back(near ? static_cast<T>(in.number()) : in.number<T>());

    bool const expected = sound(indices, indptr, width, entries);
    Validated found;
    try {
        found = validate_structure(indices.data(), indptr.data(), lines, width, entries);
        REQUIRE(expected);
    } catch (std::invalid_argument const&) {
        REQUIRE(!expected);
        return;
    }
    auto const n = static_cast<std::size_t>(indptr.back());
    std::vector<Index> const narrow(indices.begin(), indices.begin() + static_cast<std::ptrdiff_t>(n));
    std::vector<std::int64_t> const starts(indptr.begin(), indptr.end());
    Sparse<T> const X{values.data(), narrow.data(), starts.data(), lines, width};
    try {
        validate_values(X);
    } catch (std::invalid_argument const&) {
        bool finite = true;
        for (std::size_t k = 0; k < n; ++k) finite = finite && std::isfinite(static_cast<double>(values[k]));
        REQUIRE(!finite);
        return;
    }
    std::vector<double> w(width, 1.0);
    std::size_t read = 0;
    for (std::size_t line = 0; line < lines; ++line) {
        X.each(line, [](std::size_t) {}, [&](std::size_t j, T) { read += j < width; });
        double volatile z = X.dot(line, w.data());
        (void)z;
        X.axpy(line, 0.0, w.data());
        if (!found.sorted) continue;
        std::size_t inside = 0;
        X.each_between(line, 0, width / 2, [&](std::size_t j, T) { inside += j < width / 2; });
        X.each_between(line, width / 2, width, [&](std::size_t j, T) { inside += j >= width / 2; });
        REQUIRE(inside == X.length(line));
    }
    REQUIRE(read == n);
    auto const turned = transpose(X), back = transpose(turned.view());
    REQUIRE(back.data.size() == n && back.indptr == starts);
    if (found.sorted) REQUIRE(back.indices == narrow);
    bool const once = distinct(Design(X));
    if (found.sorted) REQUIRE(once);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    Input in(data, size);
    switch (in.among(0, 3)) {
        case 0:
            one<std::int32_t, double>(in);
            break;
        case 1:
            one<std::int64_t, double>(in);
            break;
        case 2:
            one<std::int32_t, float>(in);
            break;
        default:
            one<std::int64_t, std::int64_t>(in);
    }
    return 0;
}
