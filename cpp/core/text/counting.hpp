// Documents to rows of counts, many at a time.
//
// Each thread numbers terms for itself as it meets them and counts by those numbers; the numbers meet at the end, when
// the terms of all threads are put in order. Which thread read which document leaves no trace in the result: rows are
// in the order of documents, columns in the order of terms, and counts are whole numbers.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/base/interrupt.hpp"
#include "core/base/parallel.hpp"
#include "core/base/pool.hpp"
#include "core/text/analyzer.hpp"
#include "core/text/char_grams.hpp"
#include "core/text/coded_texts.hpp"
#include "core/text/gram_order.hpp"
#include "core/text/lexicon.hpp"
#include "core/text/rows.hpp"
#include "core/text/term_order.hpp"
#include "core/text/terms.hpp"

namespace tallywise::text {

// What the words of a text are made of, looked up once for each distinct word.
class WordMemo {
  public:
    static constexpr std::size_t longest = 64;  // bytes of a word that is worth remembering
    // What is remembered begins anew with the row after. Words are bounded as well as their parts, which unknown ones
    // have none of. A word takes 24 bytes, its slot in the table 16 at most, its end 8, its bytes up to 64, its count 8.
    static constexpr std::size_t most_ids = std::size_t{1} << 24;    // 64 MB
    static constexpr std::size_t most_words = std::size_t{1} << 18;  // 31 MB; years of mail have fewer distinct words

    void begin_row() {
        if (ids_.size() > most_ids || ends_.size() > most_words) *this = WordMemo();
        tally_.begin();
    }

    // Counts a word of the row; expand(ids) appends its parts to `ids` if it is new.
    template <class F>
    void add(Key const& key, F&& expand) {
        auto const fresh = static_cast<TermId>(ends_.size() - 1);
        TermId const word = words_.insert(key, fresh);
        if (word == fresh) {
            expand(ids_);
            ends_.push_back(ids_.size());
        }
        tally_.expect(ends_.size(), 1);
        tally_.add(word, 1);
    }

    // Whether the row has so many distinct words that the rest of them are not worth remembering. By the row alone, not
    // by what is remembered, so that terms are met in the same order whatever was read before.
    bool full() const { return tally_.row().size() >= most_words / 2; }
    std::size_t words() const { return words_.size(); }

    // How many parts there are below.
    std::size_t parts() const {
        std::size_t total = 0;
        for (Entry const& word : tally_.row()) total += ends_[word.id + std::size_t{1}] - ends_[word.id];
        return total;
    }

    // The parts of the words of the row, each word once: f(parts, count of the word).
    template <class F>
    void each(F&& f) const {
        for (Entry const& word : tally_.row()) {
            std::size_t const begin = ends_[word.id], end = ends_[word.id + std::size_t{1}];
            f(std::span(ids_).subspan(begin, end - begin), word.count);
        }
    }

  private:
    TermTable words_;
    std::vector<std::size_t> ends_{0};
    std::vector<TermId> ids_;
    RowTally tally_;
};

// An error with the number of the row that caused it.
struct BadDocument : std::invalid_argument {
    BadDocument(std::size_t row, std::exception const& cause)
        : std::invalid_argument("row " + std::to_string(row) + " cannot be read: " + cause.what() + ".") {}
};

// One thread's share: counts the lines it is given into a block of rows.
template <class Lexicon>
class LineCounter {
  public:
    // Terms that the lexicon does not know go to the column `unknown`, or nowhere.
    LineCounter(Analyzer const& analyzer, Lexicon& lexicon, TermId unknown)
        : analyzer_(analyzer), lexicon_(lexicon), unknown_(unknown) {}

    void count(Text const& text, RowBlock& block) {
        read(text, analyzer_.runs());
        block.add_row(count_line());
    }

    void read(Text const& text, Runs runs) { analyzer_.read(text, scratch_, runs, false); }
    // What was read last; another counter's may take its place, if that was read as this one's analysis would.
    Line& line() { return scratch_.line; }

    // The terms of the line, in the order in which they are met.
    std::span<Entry const> count_line() {
        tally_.begin();
        switch (analyzer_.options().units) {
            case Units::words:
                count_words();
                break;
            case Units::characters:
                count_characters_of_line();
                break;
            case Units::characters_in_words:
                count_characters_of_words();
                break;
        }
        return tally_.row();
    }

    // Appends the terms of a run between spaces, which was normalised before.
    void add_terms(Text const& run, std::vector<TermId>& ids) {
        read(run, analyzer_.runs());
        if (analyzer_.options().units == Units::words) {
            line_words(analyzer_, lexicon_, scratch_);
            ids.insert(ids.end(), scratch_.words.begin(), scratch_.words.end());
            return;
        }
        Line const& line = scratch_.line;
        each_run(line, line.between_spaces(),
                 [&](std::size_t begin, std::size_t end) { grams_of(line.bytes.data() + begin, end - begin, ids); });
    }

    // Counts texts by the terms of their runs.
    void count(CodedTexts const& texts, RowBlock& block) {
        RunTerms const terms(texts, [&](Text const& run, auto& ids) { add_terms(run, ids); });
        RowTally runs;
        for (std::size_t i = 0; i < texts.rows(); ++i) {
            auto const row = texts.row(i);
            runs.begin();
            runs.expect(texts.runs.size(), row.size());
            for (TermId const run : row) runs.add(run, 1);
            std::size_t most = 0;
            for (Entry const& run : runs.row()) most += terms(run.id).size();
            tally_.begin();
            tally_.expect(lexicon_.size() + 1, most);
            for (Entry const& run : runs.row()) {
                for (TermId const term : terms(run.id)) tally_.add(term, run.count);
            }
            block.add_row(tally_.row());
        }
    }

    // How many words the line that was counted last has, and how many of these are in no term of the lexicon.
    std::pair<std::size_t, std::size_t> words_and_unknown() const {
        auto const& words = analyzer_.options().max_n == 1 ? scratch_.grams : scratch_.words;
        return {words.size(), static_cast<std::size_t>(std::count(words.begin(), words.end(), no_term))};
    }

  private:
    // `count` of each of these numbers, which the lexicon has given out.
    void add(std::span<TermId const> ids, std::int32_t count) {
        tally_.expect(lexicon_.size() + 1, ids.size());
        constexpr std::size_t ahead = 16;
        auto const prefetch = [&](std::size_t k) {
            if (lexicon_.counted(ids[k])) tally_.prefetch(ids[k]);
        };
        for (std::size_t k = 0; k < std::min(ahead, ids.size()); ++k) prefetch(k);
        for (std::size_t k = 0; k < ids.size(); ++k) {
            if (k + ahead < ids.size()) prefetch(k + ahead);
            TermId const column = lexicon_.counted(ids[k]) ? ids[k] : unknown_;
            if (column != no_term) tally_.add(column, count);
        }
    }

    void count_words() {
        word_grams(analyzer_, lexicon_, scratch_);
        add(scratch_.grams, 1);
    }

    void count_characters_of_line() {
        squeeze_spaces(scratch_.line);
        Line const& line = scratch_.line;
        AnalyzerOptions const& options = analyzer_.options();
        scratch_.grams.clear();
        each_gram(line.bytes.data(), line.size, line.ascii, options.min_n, options.max_n, starts_,
                  [&](std::size_t begin, std::size_t end) {
                      look_up(line.bytes.data() + begin, end - begin, scratch_.grams);
                      if (scratch_.grams.size() < Scratch::many) return;
                      add(scratch_.grams, 1);
                      scratch_.grams.clear();
                  });
        flush(scratch_.grams);
        add(scratch_.grams, 1);
    }

    // The n-grams of a word are always the same, so they are looked up once for each distinct word: for English text
    // and n from 3 to 5, one lookup in nine.
    void count_characters_of_words() {
        memo_.begin_row();
        Line const& line = scratch_.line;
        each_run(line, line.between_spaces(), [&](std::size_t begin, std::size_t end) {
            char const* const word = line.bytes.data() + begin;
            if (end - begin <= memo_.longest && !memo_.full()) {
                memo_.add(Key::padded(word, end - begin), [&](auto& ids) {
                    std::size_t const before = ids.size();
                    grams_of(word, end - begin, ids);
                    keep_columns(ids, before);
                });
            } else {
                scratch_.grams.clear();
                grams_of(word, end - begin, scratch_.grams);
                add(scratch_.grams, 1);
            }
        });
        tally_.expect(lexicon_.size() + 1, memo_.parts());
        constexpr std::size_t ahead = 16;
        memo_.each([&](std::span<TermId const> columns, std::int32_t count) {
            for (std::size_t k = 0; k < columns.size(); ++k) {
                if (k + ahead < columns.size()) tally_.prefetch(columns[k + ahead]);
                tally_.add(columns[k], count);
            }
        });
    }

    // Columns in the place of the numbers from `first` on, less those that are counted nowhere.
    void keep_columns(std::vector<TermId>& ids, std::size_t first) const {
        std::size_t kept = first;
        for (std::size_t k = first; k < ids.size(); ++k) {
            TermId const column = lexicon_.counted(ids[k]) ? ids[k] : unknown_;
            ids[kept] = column;
            kept += column != no_term;
        }
        ids.resize(kept);
    }

    void grams_of(char const* word, std::size_t size, std::vector<TermId>& ids) {
        AnalyzerOptions const& options = analyzer_.options();
        padded_.each(word, size, scratch_.line.ascii, options.min_n, options.max_n,
                     [&](std::size_t begin, std::size_t end) { look_up(padded_.bytes() + begin, end - begin, ids); });
        flush(ids);
    }

    // Numbers are appended to `ids` a block of keys later, when the prefetched slots have arrived.
    void look_up(char const* bytes, std::size_t length, std::vector<TermId>& ids) {
        Key& key = scratch_.keys[scratch_.pending++];
        key = Key::padded(bytes, length);
        lexicon_.prefetch(key);
        if (scratch_.pending == Scratch::block) flush(ids);
    }

    void flush(std::vector<TermId>& ids) {
        text::look_up(lexicon_, std::span<Key const>(scratch_.keys).first(scratch_.pending), ids);
        scratch_.pending = 0;
    }

    Analyzer const& analyzer_;
    Lexicon& lexicon_;
    TermId unknown_;
    Scratch scratch_;
    RowTally tally_;
    std::vector<std::size_t> starts_;
    PaddedWord padded_;
    WordMemo memo_;
};

// Cuts documents into chunks of about `chunk_bytes` and hands each to a free worker; blocks come back in order.
// make() gives a new worker with count(text, block); workers live as long as the pool, and so do their lexicons.
template <class Worker>
class CountingPool {
  public:
    static constexpr std::size_t chunk_bytes = std::size_t{1} << 18, chunks_at_once = 256;

    template <class Make, class Block>
    void count(std::vector<Text> const& texts, int threads, Make&& make, std::vector<Block>& blocks) {
        std::vector<std::size_t> cuts{0};
        for (std::size_t i = 0, bytes = 0; i < texts.size(); ++i) {
            bytes += texts[i].bytes() + 64;
            if (bytes >= chunk_bytes || i + 1 == texts.size()) {
                cuts.push_back(i + 1);
                bytes = 0;
            }
        }
        Team team(threads);
        std::size_t const chunks = cuts.size() - 1, first_block = blocks.size();
        blocks.resize(first_block + chunks);
        for (std::size_t begin = 0; begin < chunks; begin += chunks_at_once) {
            check_interrupt();
            team.each(std::min(chunks_at_once, chunks - begin), [&](std::size_t k) {
                std::size_t const chunk = begin + k;
                auto const worker = pool_.take(make);
                Block& block = blocks[first_block + chunk];
                block.worker = worker.number();
                for (std::size_t i = cuts[chunk]; i < cuts[chunk + 1]; ++i) {
                    try {
                        worker->count(texts[i], block);
                    } catch (BadText const& error) {
                        throw BadDocument(rows_ + i, error);
                    }
                }
            });
        }
        rows_ += texts.size();
    }

    // A block for each part of the texts, in their order.
    template <class Make, class Block>
    void count(std::vector<CodedTexts const*> const& parts, int threads, Make&& make, std::vector<Block>& blocks) {
        Team team(threads);
        std::size_t const first_block = blocks.size();
        blocks.resize(first_block + parts.size());
        team.each(parts.size(), [&](std::size_t k) {
            auto const worker = pool_.take(make);
            blocks[first_block + k].worker = worker.number();
            worker->count(*parts[k], blocks[first_block + k]);
        });
        for (CodedTexts const* part : parts) rows_ += part->rows();
    }

    std::size_t rows() const { return rows_; }
    std::vector<std::unique_ptr<Worker>> const& workers() const { return pool_.objects(); }
    void clear() { pool_.clear(); }

  private:
    Pool<Worker> pool_;
    std::size_t rows_ = 0;
};

struct Counted {
    TermList terms;
    CountedRows rows;
    bool any = false;  // was there a term before those of too few documents were left out?
};

// Counts documents fed to it in any number of portions, then orders what it has met.
class VocabularyCounter {
  public:
    explicit VocabularyCounter(std::shared_ptr<Analyzer const> analyzer) : analyzer_(std::move(analyzer)) {}

    // Texts, or parts of texts that were read before.
    template <class T = Text>
    void feed(std::vector<T> const& texts, int threads) {
        if (has_grams()) {
            readers_.count(texts, threads, [&] { return std::make_unique<Reader>(*analyzer_); }, words_);
        } else {
            pool_.count(texts, threads, [&] { return std::make_unique<Worker>(*analyzer_); }, blocks_);
        }
    }

    std::size_t rows() const { return has_grams() ? readers_.rows() : pool_.rows(); }

    // The terms of at least so many documents in order, and the rows by their columns. The counter is empty afterwards.
    Counted finish(int threads, std::size_t least = 1) {
        Team team(threads);
        if (has_grams()) {
            WordOrder const order(lexicons(readers_), team);
            auto const [min_n, max_n] = analyzer_->word_range();
            bool const any = std::any_of(words_.begin(), words_.end(), [min = min_n](WordBlock const& block) {
                std::size_t begin = 0;
                return std::any_of(block.ends.begin(), block.ends.end(),
                                   [&](std::size_t end) { return end - std::exchange(begin, end) >= min; });
            });
            GramOrder const grams(order, std::move(words_), {min_n, max_n, least}, team);
            return {grams.terms(), grams.rows(), any};
        }
        for (auto const& worker : pool_.workers()) worker->counter.reset();
        auto [terms, ranks] = [&] {
            WordOrder const order(lexicons(pool_), team);
            return std::pair(order.terms(), order.ranks());
        }();
        pool_.clear();  // before the matrix is made: both at once would be the peak of memory
        Counted result{std::move(terms), {std::move(blocks_), std::move(ranks)}};
        result.any = result.terms.size() > 0;
        if (least > 1) keep_frequent(result, least);
        return result;
    }

  private:
    struct Worker {
        explicit Worker(Analyzer const& analyzer)
            : counter(std::make_unique<LineCounter<GrowingLexicon>>(analyzer, lexicon, no_term)) {}
        template <class T>
        void count(T const& texts, RowBlock& block) {
            counter->count(texts, block);
        }

        GrowingLexicon lexicon;
        std::unique_ptr<LineCounter<GrowingLexicon>> counter;
    };

    // Reads words in their order, for n-grams of them.
    struct Reader {
        explicit Reader(Analyzer const& how) : analyzer(how) {}
        void count(Text const& text, WordBlock& block) {
            analyzer.read(text, scratch);
            line_words(analyzer, lexicon, scratch);
            block.words.insert(block.words.end(), scratch.words.begin(), scratch.words.end());
            block.ends.push_back(block.words.size());
        }
        void count(CodedTexts const& texts, WordBlock& block) {
            RunTerms const words(texts, [&](Text const& run, auto& ids) {
                analyzer.read(run, scratch);
                line_words(analyzer, lexicon, scratch);
                ids.insert(ids.end(), scratch.words.begin(), scratch.words.end());
            });
            for (std::size_t i = 0; i < texts.rows(); ++i) {
                for (auto const run : texts.row(i)) {
                    auto const found = words(run);
                    block.words.insert(block.words.end(), found.begin(), found.end());
                }
                block.ends.push_back(block.words.size());
            }
        }

        Analyzer const& analyzer;
        GrowingLexicon lexicon;
        Scratch scratch;
    };

    bool has_grams() const { return analyzer_->word_range().second > 1; }

    template <class Pool>
    static std::vector<GrowingLexicon const*> lexicons(Pool const& pool) {
        std::vector<GrowingLexicon const*> result;
        for (auto const& worker : pool.workers()) result.push_back(&worker->lexicon);
        return result;
    }

    static void keep_frequent(Counted& counted, std::size_t least) {
        TermList kept;
        std::vector<std::int64_t> target = counted.rows.sums(counted.terms.size(), true);
        for (std::size_t j = 0; j < target.size(); ++j) {
            if (static_cast<std::size_t>(target[j]) < least) {
                target[j] = -1;
                continue;
            }
            target[j] = static_cast<std::int64_t>(kept.size());
            std::string_view const term = counted.terms(j);
            kept.bytes.insert(kept.bytes.end(), term.begin(), term.end());
            kept.offsets.push_back(static_cast<std::int64_t>(kept.bytes.size()));
        }
        counted.rows.retarget(target.data(), target.size());
        counted.terms = std::move(kept);
    }

    std::shared_ptr<Analyzer const> analyzer_;
    CountingPool<Worker> pool_;
    CountingPool<Reader> readers_;
    std::vector<RowBlock> blocks_;
    std::vector<WordBlock> words_;
};

// Counts the terms of a vocabulary; others go to the column `unknown`, or nowhere.
class LookupCounter {
  public:
    LookupCounter(std::shared_ptr<Analyzer const> analyzer, std::shared_ptr<FixedLexicon const> vocabulary,
                  TermId unknown)
        : analyzer_(std::move(analyzer)), vocabulary_(std::move(vocabulary)), unknown_(unknown) {}

    void feed(std::vector<Text> const& texts, int threads) {
        pool_.count(
            texts, threads, [&] { return std::make_unique<Worker>(*analyzer_, *vocabulary_, unknown_); }, blocks_);
    }

    CountedRows finish() { return {std::move(blocks_), {}}; }

  private:
    using Worker = LineCounter<FixedLexicon const>;

    std::shared_ptr<Analyzer const> analyzer_;
    std::shared_ptr<FixedLexicon const> vocabulary_;
    TermId unknown_;
    CountingPool<Worker> pool_;
    std::vector<RowBlock> blocks_;
};

}  // namespace tallywise::text
