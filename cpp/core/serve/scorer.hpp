// One text to scores and probabilities, without Python: analysis, weighting, a linear rule, a link.
//
//     x_j = tf(c_j) scale_j / norm,   z = x W + b,   p = link(z)
//
// where c_j counts the term of column j. Models that remember rows have those in the place of W (row_memory.hpp).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/numeric.hpp"
#include "core/base/parallel.hpp"
#include "core/serve/row_memory.hpp"
#include "core/text/analyzer.hpp"
#include "core/text/counting.hpp"
#include "core/text/hashed_counting.hpp"
#include "core/text/lexicon.hpp"

namespace tallywise {

// tf is "count", "presence" or "log" (1 + log c); norm is "none" or "l2"; scale has an entry a column.
struct Weighting {
    enum class Tf { count, presence, log };

    Tf tf = Tf::count;
    bool unit_length = false;
    std::vector<double> scale;

    Weighting(std::string_view tf_name, std::string_view norm, std::vector<double> scales) : scale(std::move(scales)) {
        if (tf_name == "presence") {
            tf = Tf::presence;
        } else if (tf_name == "log") {
            tf = Tf::log;
        } else if (tf_name != "count") {
            throw std::invalid_argument("Unknown weighting '" + std::string(tf_name) + "'");
        }
        if (norm != "none" && norm != "l2") throw std::invalid_argument("Unknown norm '" + std::string(norm) + "'");
        unit_length = norm == "l2";
        for (double const s : scale) {
            if (!std::isfinite(s)) throw std::invalid_argument("A scale is not finite");
        }
    }

    double value(std::size_t j, double count) const {
        switch (tf) {
            case Tf::presence:
                return scale[j];
            case Tf::log:
                return scale[j] * (1.0 + std::log(count));
            default:
                return scale[j] * count;
        }
    }
};

// "sigmoid": one score, p = 1 / (1 + exp(-(scale z + shift))) for the second of two classes.
// "softmax": a score a class, p ~ exp(scale z).
// "ordered": one score, P(class <= k) = sigmoid(thresholds_k - z).
struct Link {
    enum class Kind { sigmoid, softmax, ordered };

    Kind kind = Kind::sigmoid;
    double scale = 1, shift = 0;
    std::vector<double> thresholds;

    Link(std::string_view name, double a, double b, std::vector<double> cuts)
        : scale(a), shift(b), thresholds(std::move(cuts)) {
        if (name == "softmax") {
            kind = Kind::softmax;
        } else if (name == "ordered") {
            kind = Kind::ordered;
        } else if (name != "sigmoid") {
            throw std::invalid_argument("Unknown link '" + std::string(name) + "'");
        }
        bool const rising = std::is_sorted(thresholds.begin(), thresholds.end());
        bool finite = std::isfinite(scale) && std::isfinite(shift);
        for (double const t : thresholds) finite = finite && std::isfinite(t);
        if (!finite || !rising || (kind == Kind::ordered && thresholds.empty())) {
            throw std::invalid_argument("A link needs finite numbers and rising thresholds");
        }
    }

    std::size_t classes(std::size_t columns) const {
        return kind == Kind::softmax ? columns : kind == Kind::sigmoid ? 2 : thresholds.size() + 1;
    }

    void operator()(double const* z, std::size_t columns, double* p) const {
        if (kind == Kind::sigmoid) {
            p[0] = sigmoid(-(scale * z[0] + shift));
            p[1] = sigmoid(scale * z[0] + shift);
        } else if (kind == Kind::ordered) {
            double below = 0;
            for (std::size_t k = 0; k < thresholds.size(); ++k) {
                double const next = sigmoid(thresholds[k] - z[0]);
                p[k] = std::max(next - below, 0.0);
                below = next;
            }
            p[thresholds.size()] = sigmoid(z[0] - thresholds.back());
        } else {
            double const top =
                scale * *(scale >= 0 ? std::max_element(z, z + columns) : std::min_element(z, z + columns));
            double total = 0;
            for (std::size_t k = 0; k < columns; ++k) total += p[k] = exp(scale * z[k] - top);
            for (std::size_t k = 0; k < columns; ++k) p[k] /= total;
        }
    }
};

// The features of a text: columns in rising order, how often each occurs, and its weighted value.
struct Features {
    std::vector<TermId> columns;
    std::vector<double> counts, values;
};

class Scorer {
  public:
    // Without a vocabulary a term's column is its hash, and there are as many as the weighting has scales. W is
    // feature-major, p x columns, and stays with the caller; null with a memory.
    Scorer(std::shared_ptr<Analyzer const> analyzer, std::shared_ptr<FixedLexicon const> vocabulary,
           Weighting weighting, double const* W, RowMemory const* memory, std::vector<double> b, Link link)
        : analyzer_(std::move(analyzer)),
          vocabulary_(std::move(vocabulary)),
          weighting_(std::move(weighting)),
          W_(W),
          memory_(memory),
          b_(std::move(b)),
          link_(std::move(link)) {
        std::size_t const p = terms();
        if (weighting_.scale.size() != p) throw std::invalid_argument("There must be one scale a term");
        if (b_.empty() || (link_.kind != Link::Kind::softmax && b_.size() != 1)) {
            throw std::invalid_argument("The link does not fit the number of scores");
        }
        if (memory_ != nullptr && (memory_->terms() != p || memory_->columns() != b_.size())) {
            throw std::invalid_argument("The remembered rows do not fit the terms or the scores");
        }
        for (std::size_t k = 0; memory_ == nullptr && k < p * b_.size(); ++k) {
            if (!std::isfinite(W[k])) throw std::invalid_argument("A weight is not finite");
        }
        for (double const b_k : b_) {
            if (!std::isfinite(b_k)) throw std::invalid_argument("A bias is not finite");
        }
    }

    std::size_t columns() const { return b_.size(); }
    std::size_t classes() const { return link_.classes(b_.size()); }
    std::size_t terms() const { return vocabulary_ ? vocabulary_->size() : weighting_.scale.size(); }
    Analyzer const& analyzer() const { return *analyzer_; }
    Link const& link() const { return link_; }

    void read(Text const& text, Features& features) const {
        auto reader = take_reader();
        read(text, features, *reader);
        give_back(std::move(reader));
    }

    // Fills the values from columns and counts; columns rise and are below the number of terms.
    void weigh(Features& features) const {
        std::size_t const n = features.columns.size();
        features.values.resize(n);
        double squares = 0;
        for (std::size_t k = 0; k < n; ++k) {
            double const x = weighting_.value(features.columns[k], features.counts[k]);
            features.values[k] = x;
            squares += x * x;
        }
        if (!weighting_.unit_length || squares == 0) return;
        double const norm = std::sqrt(squares);
        for (double& x : features.values) x /= norm;
    }

    void score(Features const& features, double* z, RowMemory::Scratch& scratch) const {
        std::size_t const K = b_.size();
        std::copy(b_.begin(), b_.end(), z);
        if (memory_ != nullptr) {
            memory_->score(features.columns.data(), features.values.data(), features.columns.size(), z, scratch);
            return;
        }
        for (std::size_t k = 0; k < features.columns.size(); ++k) {
            axpy(features.values[k], W_ + features.columns[k] * K, z, K);
        }
    }

    // Rows of scores, or of probabilities, of many texts; `out` has texts.size() rows.
    void rows(std::vector<Text> const& texts, bool probabilities, double* out, int threads) const {
        std::size_t const width = probabilities ? classes() : columns();
        Team team(threads);
        team.each_range(texts.size(), 64, [&](std::size_t begin, std::size_t end, std::size_t) {
            auto reader = take_reader();
            Features features;
            std::vector<double> z(columns());
            for (std::size_t i = begin; i < end; ++i) {
                read(texts[i], features, *reader);
                score(features, probabilities ? z.data() : out + i * width, reader->scratch);
                if (probabilities) link_(z.data(), columns(), out + i * width);
            }
            give_back(std::move(reader));
        });
    }

  private:
    // What a thread needs to count a text; its tables are as large as the vocabulary, so it is kept for the next call.
    struct Reader {
        std::variant<LineCounter<FixedLexicon const>, HashedLines> counter;
        RowBlock block;
        std::vector<Entry> entries;
        RowMemory::Scratch scratch;
    };

    std::unique_ptr<Reader> take_reader() const {
        {
            std::lock_guard lock(mutex_);
            if (!readers_.empty()) {
                auto reader = std::move(readers_.back());
                readers_.pop_back();
                return reader;
            }
        }
        if (!vocabulary_) {
            auto const columns = static_cast<std::uint32_t>(terms());
            return std::unique_ptr<Reader>(new Reader{HashedLines(*analyzer_, columns, false, false), {}, {}, {}});
        }
        LineCounter<FixedLexicon const> known(*analyzer_, *vocabulary_, no_term);
        return std::unique_ptr<Reader>(new Reader{std::move(known), {}, {}, {}});
    }

    void give_back(std::unique_ptr<Reader> reader) const {
        std::lock_guard lock(mutex_);
        readers_.push_back(std::move(reader));
    }

    void read(Text const& text, Features& features, Reader& reader) const {
        reader.block.free();
        std::visit([&](auto& counter) { counter.count(text, reader.block); }, reader.counter);
        auto& entries = reader.entries;
        entries.clear();
        reader.block.each(0, 1, [&](TermId id, std::int32_t count) { entries.push_back({id, count}); });
        std::sort(entries.begin(), entries.end(), [](Entry const& a, Entry const& b) { return a.id < b.id; });
        features.columns.clear();
        features.counts.clear();
        for (Entry const& entry : entries) {
            features.columns.push_back(entry.id);
            features.counts.push_back(static_cast<double>(entry.count));
        }
        weigh(features);
    }

    std::shared_ptr<Analyzer const> analyzer_;
    std::shared_ptr<FixedLexicon const> vocabulary_;
    Weighting weighting_;
    double const* W_;
    RowMemory const* memory_;
    std::vector<double> b_;
    Link link_;
    mutable std::mutex mutex_;
    mutable std::vector<std::unique_ptr<Reader>> readers_;
};

}  // namespace tallywise
