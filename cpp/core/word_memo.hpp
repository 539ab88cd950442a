// What the words of a text are made of, looked up once for each distinct word.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/rows.hpp"
#include "core/terms.hpp"

namespace tallywise {

class WordMemo {
  public:
    static constexpr std::size_t longest = 64;  // bytes of a word that is worth remembering

    void begin_row() {
        if (ids_.size() > most_ids) *this = WordMemo();
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

    // The parts of the words of the row, each word once: f(parts, count of the word).
    template <class F>
    void each(F&& f) const {
        for (Entry const& word : tally_.row()) {
            std::size_t const begin = ends_[word.id], end = ends_[word.id + std::size_t{1}];
            f(std::span(ids_).subspan(begin, end - begin), word.count);
        }
    }

  private:
    static constexpr std::size_t most_ids = std::size_t{1} << 24;  // 64 MB, then it begins anew

    TermTable words_;
    std::vector<std::size_t> ends_{0};
    std::vector<TermId> ids_;
    RowTally tally_;
};

}  // namespace tallywise
