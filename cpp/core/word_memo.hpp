// What the words of a text are made of, looked up once for each distinct word.
#pragma once

#include <cstddef>
#include <cstdint>
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
        row_.entries.clear();
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
        tally_.add(word, 1, row_);
    }

    // f(part, count) over the parts of the words of the row, each word once.
    template <class F>
    void each(F&& f) const {
        for (Entry const& word : row_.entries) {
            for (std::size_t k = ends_[word.id]; k < ends_[word.id + std::size_t{1}]; ++k) f(ids_[k], word.count);
        }
    }

  private:
    static constexpr std::size_t most_ids = std::size_t{1} << 24;  // 64 MB, then it begins anew

    TermTable words_;
    std::vector<std::size_t> ends_{0};
    std::vector<TermId> ids_;
    RowTally tally_;
    RowBlock row_;
};

}  // namespace tallywise
