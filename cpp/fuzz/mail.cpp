// A message of any bytes through the filter: cleaned within its bounds, one identity with CR LF and with LF, its
// features in order and the same from the journal; learned, taken back and explained. Codes of features that are
// anything are refused, or give features that are sound.
#include "core/spam/codec.hpp"
#include "core/spam/explain.hpp"
#include "core/spam/learner.hpp"
#include "fuzz/input.hpp"

using namespace tallywise;
using namespace tallywise::spam;

namespace {

void require_sound(spam::Features const& features) {
    for (auto const& view : features) {
        for (std::size_t k = 0; k < view.size(); ++k) {
            REQUIRE(view[k] < slots && (k == 0 || view[k - 1] < view[k]));
        }
    }
}

// CR LF for each LF that has no CR before it.
std::string with_returns(std::string_view raw) {
    std::string out;
    for (std::size_t k = 0; k < raw.size(); ++k) {
        if (raw[k] == '\n' && (k == 0 || raw[k - 1] != '\r')) out.push_back('\r');
        out.push_back(raw[k]);
    }
    return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    fuzz::Input in(data, size);
    static OnlineLearner learner;
    static CountLearner counts;
    if (in.flag()) {
        std::string const code = in.text(size);
        try {
            spam::Features const features = decode(code);
            require_sound(features);
            auto const again = decode(encode(features));
            for (std::size_t v = 0; v < views; ++v) REQUIRE(again[v] == features[v]);
        } catch (std::invalid_argument const&) {
        }
        return 0;
    }
    bool const spam = in.flag(), explained = in.flag() && in.one_in(128);  // an explanation has tables of its own
    std::vector<std::string> trusted;
    if (in.flag()) trusted.push_back(in.text(8));
    std::string const raw = in.text(size);
    CleanMessage const message = clean(raw, trusted);
    REQUIRE(message.header.size() <= CleanMessage::most_header && message.body.size() <= CleanMessage::most_body);
    REQUIRE(identity(raw).size() <= raw.size() + 1);
    REQUIRE(identity(with_returns(raw)) == identity(raw));
    spam::Features const features = analyzed(message);
    require_sound(features);
    auto const again = decode(encode(features));
    for (std::size_t v = 0; v < views; ++v) REQUIRE(again[v] == features[v]);

    double const of_counts = counts.score(features).total;
    learner.learn(features, spam);
    learner.rehearse(features, spam);
    auto const errors = counts.learn(features, spam);
    counts.take_back(features, spam, errors);
    REQUIRE(counts.score(features).total == of_counts);
    if (!explained) return 0;
    double sum = 0, size_of_terms = 1;
    for (Reason const& reason : explain(learner, message)) {
        sum += reason.adds;
        size_of_terms += std::abs(reason.adds);
    }
    REQUIRE(std::abs(sum - learner.score(features).total) <= 1e-9 * size_of_terms);
    return 0;
}
