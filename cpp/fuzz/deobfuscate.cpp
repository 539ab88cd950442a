// Look-alikes of documents of any form: each character comes from one of the document, in order; plain ASCII words
// without digits and signs stay as they are; the four forms of a text give one answer.
#include "core/text/deobfuscate.hpp"
#include "fuzz/input.hpp"

using namespace tallywise;
using namespace tallywise::text;
using namespace tallywise::fuzz;

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    Input in(data, size);
    Document const given = document(in, 1 << 12);
    Deobfuscator deobfuscate, again;
    std::vector<CodePoint> points;
    try {
        points = code_points_of(given.text);
    } catch (BadUtf8 const&) {
        bool refused = false;
        try {
            deobfuscate(given.text);
        } catch (BadUtf8 const&) {
            refused = true;
        }
        REQUIRE(refused);
        return 0;
    }
    std::vector<CodePoint> const plain = code_points_of(deobfuscate(given.text));
    auto const& origin = deobfuscate.origin();
    REQUIRE(origin.size() == plain.size() && plain.size() <= points.size());
    for (std::size_t k = 0; k < origin.size(); ++k) {
        REQUIRE(origin[k] < points.size() && (k == 0 || origin[k - 1] < origin[k]));
        REQUIRE(plain[k] < code_points);
        CodePoint const from = points[origin[k]];
        bool const letter = (from | 32) >= 'a' && (from | 32) <= 'z';
        if (from < 0x80 && letter) REQUIRE(plain[k] == from);
    }
    REQUIRE(code_points_of(again({points.data(), points.size(), Text::Form::four})) == plain);
    return 0;
}
