// Texts as runs of characters between white space, each a number: what is read of a corpus in one place and counted in
// another, or later.
//
// A run is normalised (lower case, no markup) and holds whole words and marks, so n-grams of words and of characters in
// words can be counted from the numbers: the terms of each distinct run are found once. On 20 Newsgroups, numbers by
// falling frequency in bytes of seven bits, compressed by zlib, take 19 % of the text and the runs themselves 6 %.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <stdexcept>
#include <vector>

#include "core/text/analyzer.hpp"
#include "core/text/lexicon.hpp"
#include "core/text/term_order.hpp"
#include "core/text/tokens.hpp"

namespace tallywise::text {

struct CodedTexts {
    TermList runs;                   // each once
    std::vector<std::uint32_t> ids;  // of the runs of all texts, in their order
    std::vector<std::int64_t> ends;  // of each text

    std::size_t rows() const { return ends.size(); }
    std::span<std::uint32_t const> row(std::size_t i) const {
        auto const begin = static_cast<std::size_t>(i == 0 ? 0 : ends[i - 1]);
        return std::span(ids).subspan(begin, static_cast<std::size_t>(ends[i]) - begin);
    }
    Text run(std::size_t r) const {
        auto const term = runs(r);
        return {term.data(), term.size(), Text::Form::utf8};
    }

    void validate() const {
        runs.validate();
        bool const known = std::all_of(ids.begin(), ids.end(), [n = runs.size()](auto id) { return id < n; });
        bool const whole = std::is_sorted(ends.begin(), ends.end()) && (ends.empty() || ends.front() >= 0) &&
                           (ends.empty() ? 0 : ends.back()) == static_cast<std::int64_t>(ids.size());
        if (!known || !whole) throw std::invalid_argument("These are no texts by numbers of their runs.");
    }
};

// Reads texts; runs get numbers by how often they come, the most frequent first.
class RunReader {
  public:
    explicit RunReader(std::shared_ptr<Analyzer const> analyzer) : analyzer_(std::move(analyzer)) {}

    void feed(std::vector<Text> const& texts) {
        for (Text const& text : texts) {
            analyzer_->read(text, scratch_, Runs::between_spaces, false);
            Line const& line = scratch_.line;
            each_run(line, line.between_spaces(), [&](std::size_t begin, std::size_t end) {
                ids_.push_back(lexicon_.word(Key::padded(line.bytes.data() + begin, end - begin)));
            });
            ends_.push_back(static_cast<std::int64_t>(ids_.size()));
        }
    }

    // The reader is empty afterwards.
    CodedTexts finish() {
        std::size_t const n = lexicon_.size();
        std::vector<std::size_t> counts(n, 0);
        for (TermId const id : ids_) ++counts[id];
        std::vector<std::uint32_t> order(n), place(n);
        std::iota(order.begin(), order.end(), 0U);
        std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return counts[a] > counts[b]; });
        CodedTexts found;
        auto const& terms = lexicon_.words().terms();  // in the order of their numbers
        for (std::size_t rank = 0; rank < n; ++rank) {
            place[order[rank]] = static_cast<std::uint32_t>(rank);
            auto const text = lexicon_.words().text(terms[order[rank]]);
            found.runs.bytes.insert(found.runs.bytes.end(), text.begin(), text.end());
            found.runs.offsets.push_back(static_cast<std::int64_t>(found.runs.bytes.size()));
        }
        found.ids.reserve(ids_.size());
        for (TermId const id : ids_) found.ids.push_back(place[id]);
        found.ends = std::move(ends_);
        *this = RunReader(analyzer_);
        return found;
    }

  private:
    std::shared_ptr<Analyzer const> analyzer_;
    GrowingLexicon lexicon_;
    Scratch scratch_;
    std::vector<TermId> ids_;
    std::vector<std::int64_t> ends_;
};

// The terms of each run, found once.
struct RunTerms {
    std::vector<TermId> terms;
    std::vector<std::size_t> ends{0};

    // terms_of(text, terms) appends those of a run.
    template <class F>
    RunTerms(CodedTexts const& texts, F&& terms_of) {
        for (std::size_t r = 0; r < texts.runs.size(); ++r) {
            terms_of(texts.run(r), terms);
            ends.push_back(terms.size());
        }
    }

    std::span<TermId const> operator()(std::size_t run) const {
        return std::span(terms).subspan(ends[run], ends[run + 1] - ends[run]);
    }
};

}  // namespace tallywise::text
