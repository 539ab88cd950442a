// What a model knows of a term, side by side: for each block of a view, the place of its scale in the block's table,
// the unit of its weights and the weights. Terms of a text lie anywhere in a model that is larger than the caches, and
// each place to look at is a wait for memory.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/base/large_array.hpp"
#include "core/base/prefetch.hpp"

namespace tallywise::serve {

class TermRecords {
  public:
    // What there is of each block: a row of weights of so many bytes, 0 where they lie elsewhere; units of rows or not.
    struct Shape {
        std::size_t blocks = 1, row_bytes = 0;
        bool units = false;
    };

    TermRecords(std::size_t terms, Shape shape) : shape_(shape), weights_(shape.units ? 8 : 4) {
        part_ = rounded(weights_ + shape.row_bytes, 4);
        // No more lines of the cache than a record must touch.
        std::size_t const size = part_ * shape.blocks;
        stride_ = size <= 32 ? std::bit_ceil(size) : rounded(size, 32);
        bytes_.resize(terms * stride_);
    }

    void put(std::size_t term, std::size_t block, std::uint32_t place, float unit, std::byte const* weights) {
        std::byte* const part = bytes_.data() + term * stride_ + block * part_;
        std::memcpy(part, &place, 4);
        if (shape_.units) std::memcpy(part + 4, &unit, 4);
        std::copy_n(weights, shape_.row_bytes, part + weights_);
    }

    // The part of a block, of all terms.
    class Parts {
      public:
        std::byte const* operator[](std::size_t term) const { return first_ + term * stride_; }
        std::size_t weights() const { return weights_; }
        void prefetch(std::size_t term) const {
            for (std::size_t byte = 0; byte < part_; byte += 64) prefetch_line((*this)[term] + byte);
        }

      private:
        friend class TermRecords;
        std::byte const* first_;
        std::size_t stride_, part_, weights_;
    };

    static std::uint32_t place(std::byte const* part) { return read<std::uint32_t>(part); }
    // Before a row of weights, where these have units.
    static float unit(std::byte const* weights) { return read<float>(weights - 4); }

    Parts parts(std::size_t block) const {
        Parts parts;
        parts.first_ = bytes_.size() == 0 ? nullptr : bytes_.data() + block * part_;  // a view may have no terms
        parts.stride_ = stride_;
        parts.part_ = part_;
        parts.weights_ = weights_;
        return parts;
    }

  private:
    template <class T>
    static T read(std::byte const* from) {
        T value;
        std::memcpy(&value, from, sizeof value);
        return value;
    }

    static std::size_t rounded(std::size_t n, std::size_t unit) { return (n + unit - 1) / unit * unit; }

    Shape shape_;
    std::size_t weights_, part_ = 0, stride_ = 0;
    LargeArray<std::byte> bytes_;
};

}  // namespace tallywise::serve
