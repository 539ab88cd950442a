// Texts of tables, read natively, and verdicts on them as lines.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "bindings/texts.hpp"
#include "bindings/views.hpp"
#include "core/reading/csv_reader.hpp"
#include "core/reading/jsonl_reader.hpp"
#include "core/serve/answers.hpp"

namespace tallywise::bindings {

using namespace text;
using namespace reading;
using namespace serve;

namespace {

// A block, and the bytes that its texts lie in.
struct BoundBlock {
    TextBlock block;
    std::vector<nb::bytes> data;
};

using Reader = std::variant<CsvReader, JsonlReader>;

Reader csv_reader(char delimiter, bool quoted, std::size_t text, std::size_t longest) {
    return CsvReader({delimiter, quoted, text, longest}, interpreter_characters());
}

Reader jsonl_reader(nb::bytes const& text, std::size_t longest) {
    return JsonlReader({std::string(text.c_str(), text.size()), longest}, interpreter_characters());
}

nb::tuple read(Reader const& reader, nb::bytes const& data, std::size_t position, std::uint64_t lines, bool last,
               BoundBlock& bound) {
    bound.data.push_back(data);
    std::string_view const all(data.c_str(), data.size());
    if (position > all.size()) throw std::invalid_argument("The position is behind the data.");
    ReadSoFar now;
    {
        nb::gil_scoped_release released;
        now =
            std::visit([&](auto const& r) { return r.read(all, {position, lines, false}, last, bound.block); }, reader);
    }
    return nb::make_tuple(now.position, now.lines, now.odd);
}

void append(BoundBlock& bound, nb::bytes const& text, std::uint64_t line) {
    bound.block.blank += is_blank({text.c_str(), text.size()}, interpreter_characters());
    bound.block.add_own(std::string(text.c_str(), text.size()), line);
}

// Halves of surrogate pairs are written as other characters are.
nb::object python_text(Text const& text) {
    auto const* const bytes = static_cast<char const*>(text.data);
    PyObject* const made = PyUnicode_DecodeUTF8(bytes, static_cast<Py_ssize_t>(text.length), "surrogatepass");
    if (made == nullptr) throw nb::python_error();
    return nb::steal(made);
}

nb::list texts_of(BoundBlock const& bound, std::size_t first, std::size_t most) {
    nb::list found;
    auto const& texts = bound.block.texts;
    for (std::size_t i = first; i < texts.size() && i - first < most; ++i) found.append(python_text(texts[i]));
    return found;
}

// Texts as scorers take them; where they lower, capital sigmas as Python lowers them.
Texts readable(BoundBlock const& bound, bool lower) {
    Texts texts;
    texts.views = bound.block.texts;
    for (Text& text : texts.views) {
        if (!lower || !has_capital_sigma(text)) continue;
        texts.owners.push_back(with_small_sigmas(python_text(text)));
        text = view_of(texts.owners.back());
    }
    return texts;
}

nb::bytes lines(BoundBlock const& bound, AnswerStyle const& style, Vector<std::int64_t> verdicts,
                Vector<double> probabilities, std::optional<Vector<double>> unknown, int threads) {
    std::size_t const n = bound.block.texts.size();
    if (verdicts.shape(0) != n || probabilities.shape(0) != n || (unknown && unknown->shape(0) != n)) {
        throw std::invalid_argument("There must be one verdict per text.");
    }
    for (std::size_t i = 0; i < n; ++i) {
        if (verdicts.data()[i] < 0 || static_cast<std::size_t>(verdicts.data()[i]) >= style.labels.size()) {
            throw std::invalid_argument("A verdict has no label.");
        }
    }
    Answers const answers{bound.block.texts,
                          bound.block.lines,
                          {verdicts.data(), n},
                          {probabilities.data(), n},
                          unknown ? std::span<double const>(unknown->data(), n) : std::span<double const>()};
    std::string all;
    {
        nb::gil_scoped_release released;
        all = answer_lines(answers, style, interpreter_characters(), threads);
    }
    return nb::bytes(all.data(), all.size());
}

}  // namespace

void bind_reading(nb::module_& m) {
    nb::class_<BoundBlock>(m, "TextBlock", "Texts of a file, and the lines that their records end on.")
        .def(nb::init<>())
        .def("__len__", [](BoundBlock const& b) { return b.block.texts.size(); })
        .def_prop_ro("blank", [](BoundBlock const& b) { return b.block.blank; })
        .def("append", &append, nb::arg("text"), nb::arg("line"), "Put in a text, as UTF-8, that was read elsewhere.")
        .def("texts", &texts_of, nb::arg("first") = 0, nb::arg("most") = SIZE_MAX, "Some texts as a list of str.")
        .def("readable", &readable, nb::arg("lower"), nb::keep_alive<0, 1>(), "The texts for a scorer.")
        .def("lines", &lines, nb::arg("style"), nb::arg("verdicts"), nb::arg("probabilities"),
             nb::arg("unknown").none(), nb::arg("threads"), "Verdicts on the texts, a line of UTF-8 each.");
    nb::class_<AnswerStyle>(m, "AnswerStyle", "How verdicts are written.")
        .def(
            "__init__",
            [](AnswerStyle* self, std::vector<nb::bytes> const& labels, std::optional<nb::bytes> const& source) {
                AnswerStyle style{{}, source.has_value(), source ? std::string(source->c_str(), source->size()) : ""};
                for (nb::bytes const& label : labels) style.labels.emplace_back(label.c_str(), label.size());
                new (self) AnswerStyle(std::move(style));
            },
            nb::arg("labels"), nb::arg("source").none());
    nb::class_<Reader>(m, "TextReader", "A reader of tables: see cpp/core/reading.")
        .def_static("csv", &csv_reader, nb::arg("delimiter"), nb::arg("quoted"), nb::arg("text"), nb::arg("longest"))
        .def_static("jsonl", &jsonl_reader, nb::arg("text"), nb::arg("longest"))
        .def("read", &read, nb::arg("data"), nb::arg("position"), nb::arg("lines"), nb::arg("last"), nb::arg("block"),
             "(position, lines, odd) behind the records of the data that were read into the block.");
}

}  // namespace tallywise::bindings
