// Every analyzer against a slow twin: the terms of a document and how often
// each occurs, counted with a new vocabulary, with that vocabulary once more,
// and by hash; the places of terms lie in the document.
#include <map>
#include <numeric>

#include "core/text/counting.hpp"
#include "core/text/hashed_counting.hpp"
#include "core/text/occurrences.hpp"
#include "fuzz/input.hpp"

using namespace tallywise;
using namespace tallywise::text;
using namespace tallywise::fuzz;
using Counts = std::map<std::string, std::int64_t>;

static std::string joined(std::vector<CodePoint> const& characters, std::size_t begin, std::size_t end) {
    std::string out;
    char room[4];
    for (std::size_t k = begin; k < end; ++k) out.append(room, encode(characters[k], room));
    return out;
}

// What a document is after lower case and foldings.
static std::vector<CodePoint> normal(std::vector<CodePoint> const& given, bool lower, Foldings const* folds) {
    std::vector<CodePoint> lowered, out;
    for (CodePoint const c : given) {
        if (!lower) {
            lowered.push_back(c);
        } else if (c == dotted_capital_i) {
            lowered.insert(lowered.end(), {'i', 0x307});
        } else {
            lowered.push_back(describe(c).lower(c));
        }
    }
    if (folds == nullptr) return lowered;
    for (CodePoint const c : lowered) {
        if (c < 0x80) {
            out.push_back(c);
        } else {
            folds->each(c, [&](CodePoint part) { out.push_back(part); });
        }
    }
    return out;
}

static Counts words(std::vector<CodePoint> const& text, AnalyzerOptions const& options) {
    std::vector<std::string> tokens;
    for (std::size_t k = 0; k < text.size();) {
        std::size_t end = k;
        while (end < text.size() && describe(text[end]).word()) ++end;
        bool const mark = end == k && options.marks && !describe(text[k]).space();
        if (mark) end = k + 1;
        if (end > k && (options.marks || end - k >= options.least)) tokens.push_back(joined(text, k, end));
        k = std::max(end, k + 1);
    }
    std::erase_if(tokens, [&](std::string const& token) {
        return std::find(options.stop_words.begin(), options.stop_words.end(), token) != options.stop_words.end();
    });
    Counts counts;
    for (std::size_t n = options.min_n; n <= options.max_n; ++n) {
        for (std::size_t k = 0; k + n <= tokens.size(); ++k) {
            std::string term = tokens[k];
            for (std::size_t j = k + 1; j < k + n; ++j) term += " " + tokens[j];
            ++counts[term];
        }
    }
    return counts;
}

static void grams(std::vector<CodePoint> const& text, AnalyzerOptions const& options, Counts& counts) {
    for (std::size_t n = options.min_n; n <= options.max_n; ++n) {
        for (std::size_t k = 0; k + n <= text.size(); ++k) ++counts[joined(text, k, k + n)];
    }
}

static Counts characters_of(std::vector<CodePoint> const& text, AnalyzerOptions const& options) {
    Counts counts;
    std::vector<CodePoint> kept, word;
    auto const space = [&](std::size_t k) { return describe(text[k]).space(); };
    if (options.units == Units::characters) {
        for (std::size_t k = 0; k < text.size();) {
            std::size_t end = k;
            while (end < text.size() && space(end)) ++end;
            kept.push_back(end - k > 1 ? ' ' : text[k]);
            k = std::max(end, k + 1);
        }
        grams(kept, options, counts);
        return counts;
    }
    for (std::size_t k = 0; k < text.size(); ++k) {
        if (space(k)) continue;
        word = {' '};
        for (; k < text.size() && !space(k); ++k) word.push_back(text[k]);
        word.push_back(' ');
        if (word.size() < options.min_n) {
            ++counts[joined(word, 0, word.size())];
        } else {
            grams(word, options, counts);
        }
    }
    return counts;
}

static Counts read(CountedRows const& rows, TermList const& terms) {
    Team team(1);
    RowMatrix const matrix(rows, terms.size(), false);
    auto const indptr = matrix.indptr(team);
    std::vector<std::int32_t> indices(static_cast<std::size_t>(indptr.back()));
    std::vector<std::int64_t> data(indices.size());
    matrix.fill(team, indptr.data(), indices.data(), data.data(), false);
    Counts counts;
    for (std::size_t k = 0; k < indices.size(); ++k) {
        counts[std::string(terms(static_cast<std::size_t>(indices[k])))] = data[k];
    }
    REQUIRE(counts.size() == indices.size());
    return counts;
}

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    Input in(data, size);
    AnalyzerOptions const options = analyzer_options(in);
    auto const how = std::make_shared<Analyzer>(options, characters());
    std::shared_ptr<Foldings const> folds;
    if (in.flag()) how->set_foldings(folds = foldings(in.flag()));
    bool const ordered = in.flag() && in.one_in(128);
    Document const given = document(in, 400);

    std::vector<CodePoint> points;
    bool sound = true;
    try {
        points = code_points_of(given.text);
    } catch (BadUtf8 const&) {
        sound = false;
    }
    if (sound && options.deobfuscate) {
        Deobfuscator plain;
        points = code_points_of(plain(given.text));
    }
    points = normal(points, options.lower, folds.get());
    bool const split = options.units == Units::words;
    Counts const counts = split ? words(points, options) : characters_of(points, options);

    // With a vocabulary of just these terms.
    TermList terms;
    for (auto const& [term, count] : counts) {
        terms.bytes.insert(terms.bytes.end(), term.begin(), term.end());
        terms.offsets.push_back(static_cast<std::int64_t>(terms.bytes.size()));
    }
    auto const vocabulary = std::make_shared<FixedLexicon>(terms, terms.size(), split, how->word_range().second);
    LookupCounter lookup(how, vocabulary, no_term);
    try {
        lookup.feed({given.text}, 1);
        REQUIRE(sound);
    } catch (BadDocument const&) {
        REQUIRE(!sound);
        return 0;
    }
    REQUIRE(read(lookup.finish(), terms) == counts);
    if (ordered) {  // putting a new vocabulary in order takes tables that are large beside one document
        VocabularyCounter counter(how);
        counter.feed({given.text}, 1);
        Counted const found = counter.finish(1);
        REQUIRE(found.terms.size() == counts.size() && read(found.rows, found.terms) == counts);
        REQUIRE(found.terms.bytes == terms.bytes && found.terms.offsets == terms.offsets);
    }

    std::int64_t const total = std::accumulate(counts.begin(), counts.end(), std::int64_t{0},
                                               [](auto s, auto const& c) { return s + c.second; });
    HashedLines hashed(*how, 16, false, false);
    hashed.read(given.text, how->runs());
    std::int64_t of_hashes = 0;
    for (Entry const& entry : hashed.count_line()) {
        REQUIRE(entry.id < 16);
        of_hashes += entry.count;
    }
    REQUIRE(of_hashes == total);

    Spans const places = spans(*how, given.text, [](std::string_view) { return 0; });
    REQUIRE(static_cast<std::int64_t>(places.begins.size()) == total);
    std::size_t const characters_given = code_points_of(given.text).size();
    for (std::size_t k = 0; k < places.begins.size(); ++k) {
        REQUIRE(places.begins[k] >= 0 && places.begins[k] < places.ends[k]);
        REQUIRE(static_cast<std::size_t>(places.ends[k]) <= characters_given);
    }
    return 0;
}
