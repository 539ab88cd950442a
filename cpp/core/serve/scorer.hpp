// One text to scores and probabilities, without Python: analysis, weighting, a linear rule, a link.
//
//     x_j = tf(c_j) scale_j / norm,   z = sum over blocks of x W + b,   p = link(z)
//
// where c_j counts the term of column j. A view is an analysis with its terms (words, characters); a block is a view
// with a weighting, normalised by itself, and has rows of W of its own, so that a sum of models over several views and
// weightings is one rule. Models that remember rows have those in the place of W (row_memory.hpp).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/interrupt.hpp"
#include "core/base/numeric.hpp"
#include "core/base/parallel.hpp"
#include "core/base/pool.hpp"
#include "core/base/prefetch.hpp"
#include "core/serve/link.hpp"
#include "core/serve/row_memory.hpp"
#include "core/serve/row_sums.hpp"
#include "core/serve/term_records.hpp"
#include "core/serve/weighting.hpp"
#include "core/text/analyzer.hpp"
#include "core/text/counting.hpp"
#include "core/text/hashed_counting.hpp"
#include "core/text/lexicon.hpp"

namespace tallywise::serve {

// The terms of one analysis. Without a vocabulary a term's column is its hash, and there are `terms` of them.
struct View {
    std::shared_ptr<text::Analyzer const> analyzer;
    std::shared_ptr<text::FixedLexicon const> vocabulary;
    std::size_t terms = 0;
};

// The terms of a view as features; the weighting has a place a term.
struct Block {
    std::size_t view = 0;
    Weighting weighting;
};

// Weights, feature-major, and what one unit of them is in each column of scores; no units for weights as they are.
// Where rows have units of their own, these are in `row_units`, one a feature, and multiply those of the column.
struct Weights {
    std::variant<double const*, std::int16_t const*, std::int8_t const*> values;
    std::vector<double> units;
    std::vector<float> row_units;
};

// The features of a text: rows of W, how often the term of each occurs, and its weighted value.
struct Features {
    std::vector<std::size_t> columns;
    std::vector<double> counts, values;

    void clear() {
        columns.clear();
        counts.clear();
        values.clear();
    }
};

class Scorer {
  public:
    // The weights have one row a feature: the terms of the first block, then those of the next. Null with a memory,
    // which takes one block. Real ones stay with the caller, whole ones are copied.
    Scorer(std::vector<View> views, std::vector<Block> blocks, Weights W, RowMemory const* memory,
           std::vector<double> b, Link link)
        : views_(std::move(views)),
          blocks_(std::move(blocks)),
          W_(std::move(W)),
          memory_(memory),
          b_(std::move(b)),
          link_(std::move(link)) {
        if (views_.empty() || blocks_.empty()) throw std::invalid_argument("A model needs a view and a block");
        for (Block const& block : blocks_) {
            if (block.view >= views_.size()) throw std::invalid_argument("A block names a view that is not there");
            starts_.push_back(features_);
            features_ += terms(views_[block.view]);
            if (block.weighting.places.size() != terms(views_[block.view])) {
                throw std::invalid_argument("There must be one scale per term");
            }
        }
        if (b_.empty() || (!link_.one_a_column() && b_.size() != 1)) {
            throw std::invalid_argument("The link does not fit the number of scores");
        }
        if (memory_ != nullptr &&
            (blocks_.size() != 1 || memory_->terms() != features_ || memory_->columns() != b_.size())) {
            throw std::invalid_argument("The remembered rows do not fit the terms or the scores");
        }
        if (memory_ == nullptr) require_finite();
        make_records();
        share_lines();
    }

    std::size_t columns() const { return b_.size(); }
    std::size_t classes() const { return link_.classes(b_.size()); }
    std::size_t features() const { return features_; }
    // Whether texts are lowered, in any view.
    bool lowers() const {
        return std::any_of(views_.begin(), views_.end(), [](View const& v) { return v.analyzer->options().lower; });
    }

    // Features in rising order.
    void read_sorted(text::Text const& text, Features& features) const {
        auto const reader = take_reader();
        read(text, *reader);
        std::vector<std::pair<std::size_t, std::size_t>> order;  // columns, and where each was met
        std::vector<double> counts;
        for (BlockRow const& row : reader->rows) {
            for (text::Entry const& entry : row.entries) {
                order.emplace_back(starts_[row.block] + entry.id, order.size());
                counts.push_back(static_cast<double>(entry.count));
            }
        }
        std::sort(order.begin(), order.end());
        features.clear();
        for (auto const& [column, k] : order) {
            features.columns.push_back(column);
            features.counts.push_back(counts[k]);
            features.values.push_back(reader->values[k]);
        }
    }

    // Rows of scores, or of probabilities, of many texts; `out` has texts.size() rows.
    void rows(std::vector<text::Text> const& texts, bool probabilities, double* out, int threads) const {
        std::size_t const width = probabilities ? classes() : columns();
        in_rounds(texts.size(), threads, [&](std::size_t begin, std::size_t end) {
            auto const reader = take_reader();
            std::vector<double>& z = reader->z;
            for (std::size_t i = begin; i < end; ++i) {
                read(texts[i], *reader);
                score(*reader, probabilities ? z.data() : out + i * width);
                if (probabilities) link_(z.data(), columns(), out + i * width);
            }
        });
    }

    // The share of each text's words that are in no term; false where no view has a vocabulary of words.
    bool unknown_words(std::vector<text::Text> const& texts, double* out, int threads) const {
        auto const view = std::find_if(views_.begin(), views_.end(), [](View const& candidate) {
            return candidate.vocabulary && candidate.analyzer->options().units == text::Units::words;
        });
        if (view == views_.end()) return false;
        std::size_t const v = static_cast<std::size_t>(view - views_.begin());
        in_rounds(texts.size(), threads, [&](std::size_t begin, std::size_t end) {
            auto const reader = take_reader();
            auto& counter = std::get<text::LineCounter<text::FixedLexicon const>>(*reader->counters[v]);
            for (std::size_t i = begin; i < end; ++i) {
                counter.read(texts[i], view->analyzer->runs());
                counter.count_line();
                auto const [all, unknown] = counter.words_and_unknown();
                out[i] = all == 0 ? 0.0 : static_cast<double>(unknown) / static_cast<double>(all);
            }
        });
        return true;
    }

  private:
    using Counter = std::variant<text::LineCounter<text::FixedLexicon const>, text::HashedLines>;

    // What a text has of a block: its terms, in the order in which they are met. They lie with the counter.
    struct BlockRow {
        std::size_t block;
        std::span<text::Entry const> entries;
    };

    // What a thread needs to count a text; its tables are as large as the vocabulary, so it is kept for the next call.
    struct Reader {
        std::vector<std::unique_ptr<Counter>> counters;  // one a view
        RowMemory::Scratch scratch;
        std::vector<BlockRow> rows;             // of the text that was read last
        std::size_t size = 0;                   // how many terms they have
        std::vector<double> values;             // of these, and room for more
        std::vector<std::byte const*> weights;  // and their rows of weights
        std::vector<std::size_t> columns;
        std::vector<double> z;
    };

    // f(begin, end) over pieces of [0, n), with a look for Ctrl-C after every 4,096 texts.
    template <class F>
    static void in_rounds(std::size_t n, int threads, F&& f) {
        constexpr std::size_t round = 4096;
        Team team(threads);
        for (std::size_t first = 0; first < n; first += round) {
            if (first > 0) check_interrupt();
            team.each_range(std::min(round, n - first), 64,
                            [&](std::size_t begin, std::size_t end, std::size_t) { f(first + begin, first + end); });
        }
    }

    static std::size_t terms(View const& view) { return view.vocabulary ? view.vocabulary->size() : view.terms; }

    void require_finite() const {
        for (double const u : W_.units) {
            if (!std::isfinite(u)) throw std::invalid_argument("A unit of weights is not finite");
        }
        for (double const b_k : b_) {
            if (!std::isfinite(b_k)) throw std::invalid_argument("A bias is not finite");
        }
        for (float const u : W_.row_units) {
            if (!std::isfinite(u)) throw std::invalid_argument("A unit of weights is not finite");
        }
        auto const* const* plain = std::get_if<double const*>(&W_.values);
        if (!W_.row_units.empty() && (plain != nullptr || W_.row_units.size() != features_)) {
            throw std::invalid_argument("There must be one unit of weights a feature of whole weights, or none");
        }
        if ((plain == nullptr) != (W_.units.size() == b_.size())) {
            throw std::invalid_argument("Integer weights need one unit per score, and others none");
        }
        for (std::size_t k = 0; plain != nullptr && k < features_ * b_.size(); ++k) {
            if (!std::isfinite((*plain)[k])) throw std::invalid_argument("A weight is not finite");
        }
    }

    // Takes over the places of scales, the units of rows and whole weights, and leaves empty what they came in.
    void make_records() {
        std::size_t const K = b_.size();
        std::vector<std::size_t> blocks_of(views_.size(), 0), part_of;
        for (Block const& block : blocks_) part_of.push_back(blocks_of[block.view]++);
        own_units_ = !W_.row_units.empty();
        auto const fill = [&]<class T>(T const* weights) {
            bool const copied = !std::is_same_v<T, double>;
            for (std::size_t v = 0; v < views_.size(); ++v) {
                records_.emplace_back(blocks_of[v] == 0 ? 0 : terms(views_[v]),
                                      TermRecords::Shape{blocks_of[v], copied ? K * sizeof(T) : 0, own_units_});
            }
            for (std::size_t k = 0; k < blocks_.size(); ++k) {
                TermRecords& records = records_[blocks_[k].view];
                auto const places = std::exchange(blocks_[k].weighting.places, {});
                for (std::size_t j = 0; j < places.size(); ++j) {
                    std::size_t const feature = starts_[k] + j;
                    T const* const w = copied ? weights + feature * K : weights;
                    records.put(j, part_of[k], places[j], own_units_ ? W_.row_units[feature] : 1.0f,
                                reinterpret_cast<std::byte const*>(w));
                }
                parts_.push_back(records.parts(part_of[k]));
            }
        };
        std::visit(fill, W_.values);
        W_.row_units = {};
    }

    // A text is normalised once for all views that read it alike.
    void share_lines() {
        text::Analyzer const& first = *views_[0].analyzer;
        runs_ = first.runs();
        for (View const& view : views_) {
            bool const squeezes = view.analyzer->options().units == text::Units::characters;
            bool const alike = &view != &views_[0] && !squeezes && first.options().units != text::Units::characters &&
                               view.analyzer->shares_lines_with(first);
            shares_.push_back(alike);
            if (alike && view.analyzer->runs() != runs_) runs_ = text::Runs::both;
        }
    }

    Pool<Reader>::Lease take_reader() const {
        return readers_.take([&] { return new_reader(); });
    }

    std::unique_ptr<Reader> new_reader() const {
        auto reader = std::make_unique<Reader>();
        reader->z.resize(columns());
        for (View const& view : views_) {
            if (view.vocabulary) {
                reader->counters.push_back(
                    std::make_unique<Counter>(std::in_place_type<text::LineCounter<text::FixedLexicon const>>,
                                              *view.analyzer, *view.vocabulary, text::no_term));
            } else {
                reader->counters.push_back(
                    std::make_unique<Counter>(std::in_place_type<text::HashedLines>, *view.analyzer,
                                              static_cast<std::uint32_t>(view.terms), false, false));
            }
        }
        return reader;
    }

    // Terms come in the order in which the text has them, which is the same whoever reads it.
    void read(text::Text const& text, Reader& reader) const {
        reader.rows.clear();
        reader.size = 0;
        auto const line = [&](std::size_t v) -> text::Line& {
            return std::visit([](auto& counter) -> text::Line& { return counter.line(); }, *reader.counters[v]);
        };
        for (std::size_t v = 0; v < views_.size(); ++v) {
            if (shares_[v]) {
                std::swap(line(0), line(v));
            } else {
                text::Runs const runs = v == 0 ? runs_ : views_[v].analyzer->runs();
                std::visit([&](auto& counter) { counter.read(text, runs); }, *reader.counters[v]);
            }
            auto const row = std::visit([](auto& counter) { return counter.count_line(); }, *reader.counters[v]);
            if (shares_[v]) std::swap(line(0), line(v));
            for (std::size_t k = 0; k < blocks_.size(); ++k) {
                if (blocks_[k].view != v) continue;
                reader.rows.push_back({k, row});
                weigh(k, row, reader);
            }
        }
    }

    void weigh(std::size_t k, std::span<text::Entry const> row, Reader& reader) const {
        Weighting const& weighting = blocks_[k].weighting;
        TermRecords::Parts const parts = parts_[k];
        std::size_t const before = reader.size, n = row.size();
        reader.size += n;
        if (reader.values.size() < reader.size) {
            reader.values.resize(2 * reader.size);
            reader.weights.resize(2 * reader.size);
        }
        double* const x = reader.values.data() + before;
        std::byte const** const weights = reader.weights.data() + before;
        double const* const scales = weighting.scales.data();
        double squares = 0;
        constexpr std::size_t ahead = 16;
        for (std::size_t i = 0; i < std::min(ahead, n); ++i) parts.prefetch(row[i].id);
        for (std::size_t i = 0; i < n; ++i) {
            if (i + ahead < n) parts.prefetch(row[i + ahead].id);
            std::byte const* const part = parts[row[i].id];
            x[i] = scales[TermRecords::place(part)] * weighting.factor(row[i].count);
            weights[i] = part + parts.weights();
            squares += x[i] * x[i];
        }
        if (!weighting.unit_length || squares == 0) return;
        double const inverse = 1.0 / std::sqrt(squares);
        for (std::size_t i = 0; i < n; ++i) x[i] *= inverse;
    }

    // Weights that are in no record.
    void find_weights(double const* W, Reader& reader) const {
        std::byte const** next = reader.weights.data();
        for (BlockRow const& row : reader.rows) {
            for (text::Entry const& entry : row.entries) {
                double const* const w = W + (starts_[row.block] + entry.id) * b_.size();
                prefetch_line(w);
                *next++ = reinterpret_cast<std::byte const*>(w);
            }
        }
    }

    void score(Reader& reader, double* z) const {
        if (memory_ != nullptr) {
            reader.columns.clear();
            for (text::Entry const& entry : reader.rows[0].entries) reader.columns.push_back(entry.id);
            std::copy(b_.begin(), b_.end(), z);
            memory_->score(reader.columns.data(), reader.values.data(), reader.columns.size(), z, reader.scratch);
            return;
        }
        if (auto const* const* real = std::get_if<double const*>(&W_.values)) find_weights(*real, reader);
        for (std::size_t k = 0; own_units_ && k < reader.size; ++k) {
            reader.values[k] *= double{TermRecords::unit(reader.weights[k])};
        }
        std::visit(
            [&]<class T>(T const*) {
                add_rows<T>(reader.values.data(), reader.weights.data(), reader.size, b_.size(), z);
            },
            W_.values);
        for (std::size_t c = 0; c < b_.size(); ++c) z[c] = (W_.units.empty() ? z[c] : z[c] * W_.units[c]) + b_[c];
    }

    std::vector<View> views_;
    std::vector<Block> blocks_;
    std::vector<std::size_t> starts_;  // the first feature of each block
    std::size_t features_ = 0;
    std::vector<TermRecords> records_;       // one a view
    std::vector<TermRecords::Parts> parts_;  // one a block
    bool own_units_ = false;                 // whether rows of weights have units of their own
    Weights W_;
    RowMemory const* memory_;
    std::vector<double> b_;
    Link link_;
    text::Runs runs_ = text::Runs::words;  // how the first view reads a text
    std::vector<bool> shares_;             // whether a view takes the first one's line
    mutable Pool<Reader> readers_;
};

}  // namespace tallywise::serve
