#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <limits>

#include "bindings/views.hpp"
#include "core/spam/codec.hpp"
#include "core/spam/explain.hpp"
#include "core/spam/learner.hpp"
#include "core/spam/stream.hpp"

namespace tallywise::bindings {

using namespace spam;

namespace {

std::string_view seen(nb::bytes const& raw) { return {raw.c_str(), raw.size()}; }
nb::bytes given(std::string_view bytes) { return nb::bytes(bytes.data(), bytes.size()); }

Features features_of(nb::bytes const& raw, std::vector<std::string> const& trusted) {
    std::string_view const bytes = seen(raw);
    nb::gil_scoped_release released;
    return analyzed(clean(bytes, trusted));
}

std::vector<std::string_view> all_seen(std::vector<nb::bytes> const& raws) {
    std::vector<std::string_view> out;
    for (auto const& raw : raws) out.push_back(seen(raw));
    return out;
}

// A text in UTF-8 by Python's codecs; as it is where that fails, as a mail must always be read.
std::string to_utf8_by_python(std::string_view text, std::string_view charset) {
    nb::gil_scoped_acquire held;
    try {
        nb::object const found =
            nb::module_::import_("tallywise.reading.charsets").attr("as_utf8")(given(text), given(charset));
        return std::string(seen(nb::cast<nb::bytes>(found)));
    } catch (nb::python_error&) {
        return std::string(text);
    }
}

template <class Learner>
double judged(Learner const& self, nb::bytes const& raw, std::vector<std::string> const& trusted) {
    std::string_view const bytes = seen(raw);
    nb::gil_scoped_release released;
    return self.score(analyzed(clean(bytes, trusted))).total;
}

template <class Learner>
auto bind_learner(nb::module_& m, char const* name) {
    return nb::class_<Learner>(m, name)
        .def(nb::init<>())
        .def_prop_ro_static("rehearses", [](nb::handle) { return Learner::rehearses; })
        .def_prop_ro("learned", &Learner::learned)
        .def("first", [](Learner const& self) { return to_numpy(self.first()); })
        .def("second", [](Learner const& self) { return to_numpy(self.second()); })
        .def("state", [](Learner const& self) { return given(self.state()); })
        .def_prop_ro_static("state_bytes", [](nb::handle) { return Learner::state_bytes; })
        .def("checksum", [](Learner const& self) { return checksum(self.state()); })
        .def(
            "fill", [](Learner& self, std::size_t offset, nb::bytes const& piece) { self.fill(offset, seen(piece)); },
            nb::arg("offset"), nb::arg("piece"))
        .def("check", &Learner::check)
        .def("restore", [](Learner& self, nb::bytes const& state) { self.restore(seen(state)); })
        .def("count", &Learner::count, nb::arg("messages"), nb::arg("spam"))
        .def("score", [](Learner const& self, Features const& f) { return self.score(f).total; })
        .def("judge", &judged<Learner>, nb::arg("raw"), nb::arg("trusted"), "The score of a raw message.")
        .def("scores", [](Learner const& self, Features const& f) { return self.score(f).z; })
        .def(
            "learn", [](Learner& self, Features const& f, bool spam) { return self.learn(f, spam); },
            nb::arg("features"), nb::arg("spam"))
        .def("rehearse", &Learner::rehearse, nb::arg("features"), nb::arg("spam"))
        .def("take_back", &Learner::take_back, nb::arg("features"), nb::arg("spam"), nb::arg("errors"))
        .def(
            "explain",
            [](Learner const& self, nb::bytes const& raw, std::vector<std::string> const& trusted, std::size_t most) {
                return explain(self, clean(seen(raw), trusted), most);
            },
            nb::arg("raw"), nb::arg("trusted"), nb::arg("most") = std::numeric_limits<std::size_t>::max())
        .def(
            "replay",
            [](Learner& self, std::vector<nb::bytes> const& raws, std::vector<bool> const& labels, int threads) {
                auto const messages = all_seen(raws);
                nb::gil_scoped_release released;
                return replay(self, messages, labels, threads);
            },
            nb::arg("messages"), nb::arg("labels"), nb::arg("threads"));
}

}  // namespace

void bind_spam(nb::module_& m) {
    to_utf8 = to_utf8_by_python;
    nb::class_<Features>(m, "SpamFeatures")
        .def("encode", [](Features const& self) { return given(encode(self)); })
        .def_static("decode", [](nb::bytes const& code) { return decode(seen(code)); })
        .def("view", [](Features const& self, std::size_t v) { return to_numpy(Slots(self.at(v))); });
    nb::class_<Reason>(m, "SpamReason")
        .def_ro("view", &Reason::view)
        .def_prop_ro("field", [](Reason const& self) { return given(self.field); })
        .def_prop_ro("text", [](Reason const& self) { return given(self.text); })
        .def_ro("adds", &Reason::adds);
    m.def("spam_features", &features_of, nb::arg("raw"), nb::arg("trusted"));
    m.def("spam_header", [](nb::bytes const& raw, std::vector<std::string> const& trusted) {
        return given(clean(seen(raw), trusted).header);
    });
    m.def("spam_checksum", [](nb::bytes const& state) { return checksum(seen(state)); });
    m.def("spam_identity", [](nb::bytes const& raw) { return given(identity(seen(raw))); });
    nb::class_<Rehearsal>(m, "SpamRehearsal")
        .def(nb::init<>())
        .def_rw("run", &Rehearsal::run)
        .def("due", &Rehearsal::due, nb::arg("spam"));
    bind_learner<OnlineLearner>(m, "SpamLearner");
    bind_learner<CountLearner>(m, "SpamCounts");
}

}  // namespace tallywise::bindings
