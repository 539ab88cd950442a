#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "bindings/texts.hpp"
#include "bindings/views.hpp"
#include "core/text/counting.hpp"
#include "core/text/hashed_counting.hpp"
#include "core/text/occurrences.hpp"
#include "core/text/tfidf.hpp"

namespace tallywise::bindings {

using namespace text;

namespace {

std::shared_ptr<Analyzer> make_analyzer(std::string const& units, bool lower, std::size_t least, std::size_t min_n,
                                        std::size_t max_n, bool deobfuscate, std::vector<nb::bytes> const& stop_words,
                                        bool marks, bool strip_markup) {
    AnalyzerOptions options{Units::words, lower, least, marks, min_n, max_n, deobfuscate, {}, strip_markup};
    if (units != "word") options.units = units == "char" ? Units::characters : Units::characters_in_words;
    for (nb::bytes const& word : stop_words) options.stop_words.emplace_back(word.c_str(), word.size());
    return std::make_shared<Analyzer>(std::move(options), interpreter_characters());
}

template <class Index, class Value>
void fill(CountedRows const& rows, std::size_t width, bool merging, Vector<std::int64_t> indptr,
          MutableVector<Index> indices, MutableVector<Value> data, bool binary, int threads) {
    require(indptr.size() == rows.size() + 1 && indices.size() == data.size(),
            "There must be a start per row and one more, and a column per value.");
    require_starts(indptr, data.size(), "The starts of rows must rise from 0 to the number of values.");
    nb::gil_scoped_release released;
    Team team(threads);
    RowMatrix(rows, width, merging).fill(team, indptr.data(), indices.data(), data.data(), binary);
}

template <class Index, class... Values>
void def_fill(nb::class_<CountedRows>& rows) {
    (rows.def("fill", &fill<Index, Values>, nb::arg("width"), nb::arg("merging"), nb::arg("indptr"),
              nb::arg("indices").noconvert(), nb::arg("data").noconvert(), nb::arg("binary"), nb::arg("threads")),
     ...);
}

std::shared_ptr<FixedLexicon> make_vocabulary(Vector<std::uint8_t> bytes, Vector<std::int64_t> offsets, bool words,
                                              std::size_t max_n) {
    TermList terms;
    terms.bytes.assign(bytes.data(), bytes.data() + bytes.shape(0));
    terms.offsets.assign(offsets.data(), offsets.data() + offsets.shape(0));
    nb::gil_scoped_release released;
    terms.validate();
    return std::make_shared<FixedLexicon>(terms, terms.size(), words, max_n);
}

std::unique_ptr<CodedTexts> coded_texts(Vector<std::uint8_t> bytes, Vector<std::int64_t> offsets,
                                        Vector<std::uint32_t> ids, Vector<std::int64_t> ends) {
    auto texts = std::make_unique<CodedTexts>();
    texts->runs.bytes.assign(bytes.data(), bytes.data() + bytes.shape(0));
    texts->runs.offsets.assign(offsets.data(), offsets.data() + offsets.shape(0));
    texts->ids.assign(ids.data(), ids.data() + ids.shape(0));
    texts->ends.assign(ends.data(), ends.data() + ends.shape(0));
    texts->validate();
    return texts;
}

auto to_numpy(Spans&& spans) {
    return nb::make_tuple(bindings::to_numpy(std::move(spans.columns)), bindings::to_numpy(std::move(spans.begins)),
                          bindings::to_numpy(std::move(spans.ends)));
}

auto vocabulary_spans(Analyzer const& analyzer, Texts const& texts, FixedLexicon const& vocabulary) {
    return to_numpy(spans(analyzer, texts.views.at(0), [&](std::string_view term) {
        TermId const column = vocabulary.column(term);
        return column == no_term ? std::int64_t{-1} : std::int64_t{column};
    }));
}

auto hashed_spans(Analyzer const& analyzer, Texts const& texts, std::uint32_t columns) {
    return to_numpy(spans(analyzer, texts.views.at(0), [&](std::string_view term) {
        return std::int64_t{HashedTerm(term.data(), term.size(), columns).column};
    }));
}

template <class Index, class Value>
void weigh(Vector<Index> indptr, Vector<Index> indices, MutableVector<Value> data, std::optional<Vector<Value>> idf,
           std::string const& norm, int threads) {
    Norm const kind = norm == "l1" ? Norm::l1 : norm == "l2" ? Norm::l2 : Norm::none;
    std::span<Value const> const weights(idf ? idf->data() : nullptr, idf ? idf->shape(0) : 0);
    // A copy, which no other thread can change after it was looked at.
    std::vector<Index> const starts(indptr.data(), indptr.data() + indptr.shape(0));
    std::size_t const stored = std::min(indices.shape(0), data.shape(0));
    if (starts.empty() || starts.front() < 0 || static_cast<std::size_t>(starts.back()) > stored ||
        !std::ranges::is_sorted(starts)) {
        throw std::invalid_argument(
            "The indptr of a sparse matrix must rise from 0 and end within its stored entries.");
    }
    nb::gil_scoped_release released;
    Team team(threads);
    weigh_rows(team, starts.data(), starts.size() - 1, indices.data(), data.data(), weights, kind);
}

template <class Index, class... Values>
void def_weigh_rows(nb::module_& m) {
    (m.def("weigh_rows", &weigh<Index, Values>, nb::arg("indptr").noconvert(), nb::arg("indices").noconvert(),
           nb::arg("data").noconvert(), nb::arg("idf").none(), nb::arg("norm"), nb::arg("threads")),
     ...);
}

nb::object deobfuscate(nb::str const& text) {
    Deobfuscator deobfuscator;
    Text const plain = deobfuscator(view_of(text));
    return nb::steal(PyUnicode_FromKindAndData(4, plain.data, static_cast<Py_ssize_t>(plain.length)));
}

nb::object strip_markup(nb::str const& text) {
    Text const raw = view_of(text);
    if (!MarkupStripper::may_have(raw)) return nb::borrow(text);
    MarkupStripper stripper;
    Text const plain = stripper(raw);
    return nb::steal(PyUnicode_FromKindAndData(4, plain.data, static_cast<Py_ssize_t>(plain.length)));
}

nb::list decode_terms(Vector<std::uint8_t> bytes, Vector<std::int64_t> offsets) {
    require_starts(offsets, bytes.size(), "The offsets of terms must rise from 0 to the number of their bytes.");
    nb::list result;
    for (std::size_t j = 0; j + 1 < offsets.shape(0); ++j) {
        auto const* begin = reinterpret_cast<char const*>(bytes.data()) + offsets(j);
        PyObject* term = PyUnicode_DecodeUTF8(begin, offsets(j + 1) - offsets(j), "surrogatepass");
        if (term == nullptr) throw nb::python_error();
        result.append(nb::steal(term));
    }
    return result;
}

}  // namespace

void bind_text(nb::module_& m) {
    nb::class_<Texts>(m, "Texts", "Documents where they lie.")
        .def_static("from_list", &from_list, nb::arg("items"), nb::arg("lower"),
                    "Strings that will be lowered (or not)")
        .def_static("from_arrow", &from_arrow, nb::arg("column"), nb::arg("lower"),
                    "A column with Arrow's C interface; None where it does not hold strings.")
        .def_ro("first_other", &Texts::first_other)
        .def_ro("ascii", &Texts::ascii)
        .def("__len__", [](Texts const& texts) { return texts.views.size(); });

    nb::class_<Analyzer>(m, "Analyzer", "How a document is cut into terms.")
        .def(nb::new_(&make_analyzer), nb::arg("units"), nb::arg("lower"), nb::arg("least"), nb::arg("min_n"),
             nb::arg("max_n"), nb::arg("deobfuscate"), nb::arg("stop_words"), nb::arg("marks") = false,
             nb::arg("strip_markup") = false)
        .def("set_foldings", &Analyzer::set_foldings, nb::arg("foldings"));
    nb::class_<Foldings>(m, "Foldings", "What replaces accented characters.")
        .def(nb::init<std::vector<CodePoint> const&, std::vector<std::uint32_t> const&, std::vector<CodePoint>, bool>(),
             nb::arg("origins"), nb::arg("ends"), nb::arg("replacements"), nb::arg("only_these"));

    nb::class_<CountedRows> rows(m, "CountedRows", "Documents counted, by column; filled into a CSR matrix.");
    rows.def("__len__", &CountedRows::size)
        .def(
            "sums", [](CountedRows const& r, std::size_t width, bool d) { return to_numpy(r.sums(width, d)); },
            nb::arg("width"), nb::arg("documents"))
        .def(
            "retarget", [](CountedRows& r, Vector<std::int64_t> t) { r.retarget(t.data(), t.shape(0)); },
            nb::arg("target"))
        .def(
            "indptr",
            [](CountedRows const& r, std::size_t width, bool merging, int threads) {
                Team team(threads);
                return to_numpy(RowMatrix(r, width, merging).indptr(team));
            },
            nb::arg("width"), nb::arg("merging"), nb::arg("threads"));
    def_fill<std::int32_t, std::int32_t, std::int64_t, float, double>(rows);
    def_fill<std::int64_t, std::int32_t, std::int64_t, float, double>(rows);

    nb::class_<CodedTexts>(m, "CodedTexts", "Texts as numbers of their runs between spaces.")
        .def(nb::new_(&coded_texts), nb::arg("bytes"), nb::arg("offsets"), nb::arg("ids"), nb::arg("ends"))
        .def("__len__", &CodedTexts::rows);
    nb::class_<RunReader>(m, "RunReader", "Reads texts as numbers of their runs between spaces.")
        .def(nb::init<std::shared_ptr<Analyzer const>>(), nb::arg("analyzer"))
        .def(
            "feed", [](RunReader& reader, Texts const& texts) { reader.feed(texts.views); }, nb::arg("texts"),
            nb::call_guard<nb::gil_scoped_release>())
        .def(
            "finish",
            [](RunReader& reader) {
                CodedTexts found = reader.finish();
                return nb::make_tuple(to_numpy(std::move(found.runs.bytes)), to_numpy(std::move(found.runs.offsets)),
                                      to_numpy(std::move(found.ids)), to_numpy(std::move(found.ends)));
            },
            "Bytes and offsets of the runs, the runs of all texts by number, and where each text ends.");

    nb::class_<VocabularyCounter>(m, "VocabularyCounter", "Counts documents and gathers their vocabulary.")
        .def(nb::init<std::shared_ptr<Analyzer const>>(), nb::arg("analyzer"))
        .def(
            "feed", [](VocabularyCounter& c, Texts const& texts, int threads) { c.feed(texts.views, threads); },
            nb::arg("texts"), nb::arg("threads"), nb::call_guard<nb::gil_scoped_release>())
        .def(
            "feed_coded",
            [](VocabularyCounter& c, std::vector<CodedTexts const*> const& parts, int threads) {
                c.feed(parts, threads);
            },
            nb::arg("parts"), nb::arg("threads"), nb::call_guard<nb::gil_scoped_release>())
        .def(
            "finish",
            [](VocabularyCounter& counter, int threads, std::size_t least) {
                Counted counted = [&] {
                    nb::gil_scoped_release released;
                    return counter.finish(threads, least);
                }();
                return nb::make_tuple(to_numpy(std::move(counted.terms.bytes)),
                                      to_numpy(std::move(counted.terms.offsets)), std::move(counted.rows), counted.any);
            },
            nb::arg("threads"), nb::arg("least"),
            "Terms of at least so many documents, their rows, and whether there was any term at all.")
        .def("__len__", &VocabularyCounter::rows);

    nb::class_<FixedLexicon>(m, "Vocabulary", "Terms ready for lookup: n-grams of words, or of characters.")
        .def(nb::new_(&make_vocabulary), nb::arg("bytes"), nb::arg("offsets"), nb::arg("words"), nb::arg("max_n"));
    nb::class_<LookupCounter>(m, "LookupCounter", "Counts the terms of a vocabulary.")
        .def(nb::new_([](std::shared_ptr<Analyzer const> a, std::shared_ptr<FixedLexicon const> v, std::int64_t u) {
                 require(u >= -1 && u < std::int64_t{no_term}, "The column of unknown terms is -1, or a column.");
                 return std::make_unique<LookupCounter>(a, v, static_cast<TermId>(u));
             }),
             nb::arg("analyzer"), nb::arg("vocabulary"), nb::arg("unknown"),
             "`unknown` is the column of other terms, or -1.")
        .def(
            "feed", [](LookupCounter& c, Texts const& texts, int threads) { c.feed(texts.views, threads); },
            nb::arg("texts"), nb::arg("threads"), nb::call_guard<nb::gil_scoped_release>())
        .def("finish", &LookupCounter::finish);

    nb::class_<HashCounter>(m, "HashCounter", "Counts terms by their hash.")
        .def(nb::init<std::shared_ptr<Analyzer const>, std::uint32_t, bool>(), nb::arg("analyzer"), nb::arg("columns"),
             nb::arg("alternate"))
        .def(
            "feed", [](HashCounter& c, Texts const& texts, int threads) { c.feed(texts.views, threads); },
            nb::arg("texts"), nb::arg("threads"), nb::call_guard<nb::gil_scoped_release>())
        .def("finish", &HashCounter::finish);

    m.def("vocabulary_spans", &vocabulary_spans, nb::arg("analyzer"), nb::arg("texts"), nb::arg("vocabulary"),
          "Column, first character and end of each term of the first text.");
    m.def("hashed_spans", &hashed_spans, nb::arg("analyzer"), nb::arg("texts"), nb::arg("columns"));
    def_weigh_rows<std::int32_t, float, double>(m);
    def_weigh_rows<std::int64_t, float, double>(m);
    m.def("deobfuscate", &deobfuscate, nb::arg("text"), nb::sig("def deobfuscate(text: str) -> str"));
    m.def("strip_markup", &strip_markup, nb::arg("text"), nb::sig("def strip_markup(text: str) -> str"));
    m.def("decode_terms", &decode_terms, nb::arg("bytes"), nb::arg("offsets"));
}

}  // namespace tallywise::bindings
