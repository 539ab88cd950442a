// Where the terms of a document are in it, as characters of the document: what a verdict can point at.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/analyzer.hpp"
#include "core/occurrences.hpp"

namespace tallywise {

struct Spans {
    std::vector<std::int64_t> columns, begins, ends;
};

// column_of(term) gives a column, or a negative number for terms to leave out.
template <class F>
Spans spans(Analyzer const& analyzer, Text const& text, F&& column_of) {
    Spans result;
    Scratch scratch;
    analyzer.read(text, scratch, true);
    Occurrences(analyzer).each(scratch, [&](Occurrence const& term) {
        std::int64_t const column = column_of(std::string_view(term.bytes, term.length));
        if (column < 0) return;
        result.columns.push_back(column);
        result.begins.push_back(scratch.line.origin[term.begin]);
        result.ends.push_back(scratch.line.origin[term.end - 1] + std::int64_t{1});
    });
    return result;
}

}  // namespace tallywise
