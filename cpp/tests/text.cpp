// Text to counts: every header under the sanitizers. That the counts are right is tested from Python, against
// scikit-learn; here texts are odd, tables grow, and nothing is read out of bounds.
#include <span>
#include <string>
#include <string_view>

#include "core/text/arrow.hpp"
#include "core/text/counting.hpp"
#include "core/text/deobfuscate.hpp"
#include "core/text/hashed_counting.hpp"
#include "core/text/occurrences.hpp"
#include "core/text/tfidf.hpp"
#include "tests/check.hpp"

using namespace tallywise;
using namespace tallywise::text;

// ASCII and Latin letters suffice: facts about others come from the interpreter.
static Character describe(CodePoint c) {
    bool const upper = (c >= 'A' && c <= 'Z') || (c >= 0xC0 && c < 0xDF);
    bool const word = c < 0x80 ? detail::ascii_word(static_cast<unsigned char>(c)) : c >= 0xC0 && c < 0xD800;
    return {c, upper ? c + 32 : c, word, c < 0x80 && detail::ascii_space(static_cast<unsigned char>(c))};
}

static CharacterTable const& characters() {
    static CharacterTable const table(&describe);
    return table;
}

static std::shared_ptr<Analyzer> analyzer(Units units, std::size_t min_n, std::size_t max_n) {
    AnalyzerOptions options;
    options.units = units;
    options.min_n = min_n;
    options.max_n = max_n;
    return std::make_shared<Analyzer>(options, characters());
}

static Text utf8(std::string_view text) { return {text.data(), text.size(), Text::Form::utf8}; }

// "term:count term:count; next row ..."
static std::string shown(CountedRows const& rows, TermList const& terms, int threads) {
    Team team(threads);
    RowMatrix const matrix(rows, terms.size(), false);
    auto const indptr = matrix.indptr(team);
    std::vector<std::int32_t> indices(static_cast<std::size_t>(indptr.back()));
    std::vector<std::int64_t> data(indices.size());
    matrix.fill(team, indptr.data(), indices.data(), data.data(), false);
    std::string result;
    for (std::size_t r = 0; r + 1 < indptr.size(); ++r) {
        for (auto k = static_cast<std::size_t>(indptr[r]); k < static_cast<std::size_t>(indptr[r + 1]); ++k) {
            result += std::string(terms(static_cast<std::size_t>(indices[k]))) + ":" + std::to_string(data[k]) + " ";
        }
        result += ";";
    }
    return result;
}

static std::string counted(std::shared_ptr<Analyzer> const& how, std::vector<Text> const& texts, int threads = 2) {
    VocabularyCounter counter(how);
    counter.feed(texts, threads);
    Counted const result = counter.finish(threads);
    std::string const fitted = shown(result.rows, result.terms, threads);
    bool const words = how->options().units == Units::words;
    auto const vocabulary =
        std::make_shared<FixedLexicon>(result.terms, result.terms.size(), words, how->word_range().second);
    LookupCounter lookup(how, vocabulary, no_term);
    lookup.feed(texts, threads);
    CHECK(shown(lookup.finish(), result.terms, threads) == fitted);
    return fitted;
}

TEST(words_and_their_grams_are_counted) {
    CHECK(counted(analyzer(Units::words, 1, 1), {utf8("Bb a bb, cc"), utf8(""), utf8("cc")}) == "bb:2 cc:1 ;;cc:1 ;");
    CHECK(counted(analyzer(Units::words, 2, 3), {utf8("aa bb aa bb")}) == "aa bb:2 aa bb aa:1 bb aa:1 bb aa bb:1 ;");
    CHECK(counted(analyzer(Units::characters, 2, 2), {utf8("a  \n b")}) == " b:1 a :1 ;");
    CHECK(counted(analyzer(Units::characters_in_words, 3, 9), {utf8("ab")}) == " ab:1  ab :1 ab :1 ;");
}

TEST(terms_of_few_documents_are_left_out) {
    for (auto const& [min_n, expected] :
         {std::pair{1, "aa:2 aa bb:1 bb:1 ;aa:1 aa bb:1 bb:1 ;;"}, std::pair{2, "aa bb:1 ;aa bb:1 ;;"}}) {
        VocabularyCounter counter(analyzer(Units::words, static_cast<std::size_t>(min_n), 3));
        counter.feed({utf8("aa aa bb"), utf8("cc aa bb"), utf8("dd dd dd")}, 2);
        CHECK(counter.rows() == 3);
        Counted const found = counter.finish(2, 2);
        CHECK(found.any && shown(found.rows, found.terms, 2) == expected);
    }
}

TEST(texts_of_every_form_and_length_are_read_inside_their_bounds) {
    std::string const words = "One two, THREE_4 \xC3\x84rger! \xED\xA0\x80 \xF0\x9F\x98\x80 five";
    for (Units const units : {Units::words, Units::characters, Units::characters_in_words}) {
        for (std::size_t n = 0; n < 150; ++n) {
            std::string ascii, mixed;
            for (std::size_t k = 0; ascii.size() < n; ++k) ascii += "aB c\n"[(k * 7 + n) % 5];
            std::vector<std::uint8_t> one(ascii.begin(), ascii.end());
            std::vector<std::uint16_t> two(ascii.begin(), ascii.end());
            std::vector<std::uint32_t> four(ascii.begin(), ascii.end());
            std::string const expected = counted(analyzer(units, 1, 2), {utf8(ascii)});
            CHECK(counted(analyzer(units, 1, 2), {{one.data(), n, Text::Form::one}}) == expected);
            CHECK(counted(analyzer(units, 1, 2), {{two.data(), n, Text::Form::two}}) == expected);
            CHECK(counted(analyzer(units, 1, 2), {{four.data(), n, Text::Form::four}}) == expected);
            while (mixed.size() < n) mixed += words;
            std::string const exact(mixed);  // no bytes to spare behind the text
            counted(analyzer(units, 1, 3), {utf8(exact)});
        }
    }
}

TEST(broken_utf8_is_refused_with_its_row) {
    auto const how = analyzer(Units::words, 1, 1);
    for (std::string_view const bad :
         {"\x80", "\xC3", "\xC0\x80", "\xE2\x82", "\xF5\x80\x80\x80", "\xF0\x80\x80\x80"}) {
        CHECK_THROWS(counted(how, {utf8("fine"), utf8(bad)}), "row 1 cannot be read: it is not valid UTF-8");
    }
}

TEST(tables_keep_terms_while_they_grow) {
    GrowingLexicon lexicon;
    PairTable pairs;
    auto const name = [](std::size_t k) { return std::string(k % 40, 'x') + std::to_string(k); };
    for (int turn = 0; turn < 2; ++turn) {
        for (std::uint32_t k = 0; k < 20000; ++k)
            CHECK(lexicon.word(Key::of(name(k))) == k && pairs.insert(k, 0, k + 1) == k + 1);
    }
    CHECK(lexicon.word(Key::of(std::string_view("x0\0", 3))) != lexicon.word(Key::of("x0")));
}

TEST(large_and_negative_counts_survive_in_a_block) {
    RowBlock block;
    std::vector<Entry> const row{{0, 1}, {1, 127}, {2, 128}, {3, -127}, {4, -128}, {5, 2000000000}};
    block.add_row(row);
    block.add_row({});
    block.add_row(row);
    std::size_t k = 0;
    block.each(2, 3, [&](TermId id, std::int32_t count) { CHECK(id == row[k].id && count == row[k++].count); });
    CHECK(k == row.size() && block.entries_of(1) == 0);
}

TEST(rows_sort_whatever_their_length) {
    for (std::size_t n : {0, 1, 24, 25, 511, 512, 8191, 8192, 20000}) {
        for (std::size_t width : {1, 2, 1000, 1 << 20}) {
            std::vector<std::uint64_t> row, spare;
            for (std::size_t k = 0; k < n; ++k) row.push_back(packed(static_cast<TermId>(k * 2654435761u % width), 1));
            sort_by_column(row, spare, bits_of_columns(width));
            add_up(row);
            std::int64_t total = 0;
            for (std::size_t k = 0; k < row.size(); ++k) {
                CHECK(k == 0 || row[k - 1] >> 32 < row[k] >> 32);
                total += static_cast<std::int32_t>(row[k]);
            }
            CHECK(total == static_cast<std::int64_t>(n));
        }
    }
}

TEST(hashes_are_murmurs) {
    CHECK(murmur3("", 0) == 0);
    CHECK(static_cast<std::uint32_t>(murmur3("hello", 5)) == 0x248BFA47u);
    CHECK(static_cast<std::uint32_t>(murmur3("hello, world", 12)) == 0x149BBB7Fu);
    HashCounter counter(analyzer(Units::words, 1, 2), 3, true);
    counter.feed({utf8("aa bb aa"), utf8("")}, 2);
    CHECK(counter.finish().size() == 2);
    HashCounter odd(analyzer(Units::characters, 1, 1), 3, true);
    CHECK_THROWS(odd.feed({utf8("\xED\xA0\x80")}, 1), "surrogates not allowed");
}

TEST(spans_point_into_the_document) {
    auto const how = analyzer(Units::words, 1, 2);
    std::string const text = "\xC3\x84rger, no  more";
    auto const found = spans(*how, utf8(text), [](std::string_view term) { return term == "no more" ? 7 : -1; });
    CHECK(found.columns == std::vector<std::int64_t>{7} && found.begins[0] == 7 && found.ends[0] == 15);
}

TEST(look_alikes_become_letters) {
    Deobfuscator deobfuscate;
    std::string const text =
        "v1agra m0ney mp3 \xEF\xBD\x86ree p\xD0\xB0y a\xE2\x80\x8B"
        "b 1";
    Text const plain = deobfuscate(utf8(text));
    std::string result;
    for (std::size_t k = 0; k < plain.length; ++k)
        result += static_cast<char>(static_cast<std::uint32_t const*>(plain.data)[k]);
    CHECK(result == "viagra money mp3 free pay ab 1");
    CHECK(deobfuscate.origin().size() == plain.length && deobfuscate.origin().back() == 30);
}

TEST(foldings_replace_drop_and_keep) {
    auto const how = analyzer(Units::characters, 1, 1);
    how->set_foldings(std::make_shared<Foldings>(std::vector<CodePoint>{0xE4, 0x301}, std::vector<std::uint32_t>{2, 2},
                                                 std::vector<CodePoint>{'a', 'e'}, false));
    CHECK(counted(how, {utf8("\xC3\xA4\xCC\x81\xC3\xB6")}) == "a:1 e:1 \xC3\xB6:1 ;");
    CHECK_THROWS(Foldings({1}, {5}, {2}, false), "must rise and stay inside");
}

TEST(vocabularies_hold_what_no_analysis_gives) {
    TermList terms;
    std::string const all = "a a  b b c d";
    terms.bytes.assign(all.begin(), all.end());
    terms.offsets = {0, 1, 6, 6, 12};  // "a", " a  b" (never found), "", " b c d"
    terms.validate();
    FixedLexicon const lexicon(terms, terms.size(), true, 3);
    CHECK(lexicon.column("a") == 0 && lexicon.column("b c") == no_term && lexicon.column("zz") == no_term);
    terms.offsets = {0, 7, 6, 12};
    CHECK_THROWS(terms.validate(), "must rise");
}

TEST(rows_are_weighed) {
    std::int32_t const indptr[] = {0, 2, 2, 3}, indices[] = {0, 1, 1};
    double data[] = {3, 2, 5};
    double const idf[] = {1, 2};
    Team team(2);
    weigh_rows(team, indptr, 3, indices, data, std::span<double const>(idf), Norm::l2);
    CHECK(data[0] == 0.6 && data[1] == 0.8 && data[2] == 1);
    std::int32_t const damaged[] = {1 << 29, 1, -5};  // as another thread may leave them
    double more[] = {3, 2, 5};
    weigh_rows(team, indptr, 3, damaged, more, std::span<double const>(idf), Norm::none);
    CHECK(more[0] == 0 && more[1] == 4 && more[2] == 0);
}

TEST(arrow_columns_are_read_in_place) {
    using namespace arrow;
    std::int32_t const offsets[] = {0, 2, 2, 5};
    std::uint8_t const valid[] = {0b101};
    void const* buffers[] = {valid, offsets, "abcde"};
    ArrowSchema schema{};
    schema.format = "u";
    ArrowArray array{};
    array.length = 3;
    array.null_count = 1;
    array.n_buffers = 3;
    array.buffers = buffers;
    CHECK(is_text(schema) && arrow::text(schema, array, 1).data == nullptr);
    Text const last = arrow::text(schema, array, 2);
    CHECK(std::string_view(static_cast<char const*>(last.data), last.length) == "cde");

    std::int32_t const view[] = {20, 0, 0x7FFFFFFE, 0};  // of a buffer whose number plus three is no int
    std::int64_t const sizes[] = {5};
    void const* view_buffers[] = {nullptr, view, "abcde", sizes};
    ArrowSchema viewed{};
    viewed.format = "vu";
    ArrowArray views{};
    views.length = 1;
    views.n_buffers = 4;
    views.buffers = view_buffers;
    CHECK_THROWS(arrow::text(viewed, views, 0), "points outside of its buffers");

    std::int8_t const codes[] = {2, 0, 9};
    void const* code_buffers[] = {nullptr, codes};
    ArrowSchema coded{};
    coded.format = "c";
    coded.dictionary = &schema;
    ArrowArray column{};
    column.length = 3;
    column.n_buffers = 2;
    column.buffers = code_buffers;
    column.dictionary = &array;
    CHECK(is_text(coded) && arrow::text(coded, column, 0).length == 3 && arrow::text(coded, column, 1).length == 2);
    CHECK_THROWS(arrow::text(coded, column, 2), "outside of its dictionary");
}

TEST(words_that_no_term_knows_are_not_remembered_without_bound) {
    WordMemo memo;
    std::string word;
    for (std::size_t k = 0; k < 1'000'000; ++k) {
        if (k % 1000 == 0) memo.begin_row();
        word = std::to_string(k);
        memo.add(Key::of(word), [](auto&) {});
        CHECK(memo.words() <= WordMemo::most_words + 1000);
    }
    memo.begin_row();
    for (std::size_t k = 0; !memo.full(); ++k) {
        word = std::to_string(k);
        memo.add(Key::of(word), [](auto&) {});
        CHECK(k < WordMemo::most_words);
    }
}

TEST(squeezing_spaces_leaves_no_marks_for_the_next_text) {
    Line line;
    line.clear(200, true);
    std::string const text(190, 'a');
    std::copy(text.begin(), text.end(), line.bytes.begin());
    for (int k = 0; k < 19; ++k) line.mark(0x3FF, 0x3FF, 10);
    for (std::size_t k = 20; k < 180; ++k) line.bytes[k] = ' ';
    for (auto* bits : {&line.inside, &line.solid})
        (*bits)[0] = 0xFFFFF, (*bits)[1] = 0, (*bits)[2] = std::uint64_t{0x3FF} << 52;
    squeeze_spaces(line);
    CHECK(line.size == 31);
    line.clear(10, true);
    for (auto const& bits : {line.inside, line.solid}) {
        for (std::uint64_t const word : bits) CHECK(word == 0);
    }
}
