// Lists of terms: what was coded comes back; codes that are anything are refused, or give a list that is sound; a
// vocabulary is made of any list, and knows its own terms.
#include "core/serve/front_coding.hpp"

#include "core/text/lexicon.hpp"
#include "core/text/term_order.hpp"
#include "fuzz/input.hpp"

using namespace tallywise;
using namespace tallywise::serve;
using namespace tallywise::text;
using namespace tallywise::fuzz;

static void look_up(PlainTerms const& plain, bool split, std::size_t max_n) {
    TermList terms;
    terms.bytes = plain.bytes;
    terms.offsets = plain.offsets;
    terms.validate();
    FixedLexicon const lexicon(terms, terms.size(), split, max_n);
    REQUIRE(lexicon.size() == terms.size());
    for (std::size_t j = 0; j < terms.size(); ++j) {
        std::string_view const term = terms(j);
        bool const one_word = !split || term.find(' ') == std::string_view::npos;
        TermId const column = lexicon.column(term);
        REQUIRE(column == no_term || terms(column) == term);
        if (one_word && (split || term.find(' ') == std::string_view::npos)) REQUIRE(column != no_term);
    }
    (void)lexicon.column("never there");
}

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    Input in(data, size);
    bool const split = in.flag();
    std::size_t const max_n = in.among(1, 4);
    if (in.flag()) {
        auto const shared = in.bytes(in.among(0, 20)), lengths = in.bytes(in.among(0, 24)), rest = in.bytes(1000);
        std::size_t const most = 32 * (shared.size() + lengths.size() + rest.size());
        try {
            PlainTerms const plain = front_decode(shared, lengths, rest, most);
            REQUIRE(plain.bytes.size() <= most && plain.offsets.size() == shared.size() + 1);
            look_up(plain, split, max_n);
        } catch (std::invalid_argument const&) {
        }
        return 0;
    }
    std::size_t const terms = in.among(0, 12);
    std::vector<std::int64_t> offsets{in.flag() ? 0 : in.number<std::int8_t>()};
    for (std::size_t j = 0; j < terms; ++j) offsets.push_back(offsets.back() + in.number<std::int8_t>() % 40);
    auto const bytes = in.bytes(2000);
    try {
        FrontCoded const coded = front_code(bytes, offsets);
        PlainTerms const plain = front_decode(coded.shared, coded.lengths, coded.rest, bytes.size());
        REQUIRE(plain.offsets == offsets);
        REQUIRE(std::equal(plain.bytes.begin(), plain.bytes.end(), bytes.begin()));
        look_up(plain, split, max_n);
    } catch (std::invalid_argument const&) {
    }
    return 0;
}
