// What a model knows of a term, side by side: for each block of a view, the place of its scale in the block's table, the
// unit of its weights and the weights. Terms of a text lie anywhere in a model that is larger than the caches, and each
// place to look at is a wait for memory.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/base/large_array.hpp"

namespace tallywise {

class TermRecords {
  public:
    // What there is of each block: a row of weights of so many bytes, 0 where they lie elsewhere; units of rows or not.
    struct Shape {
        std::size_t blocks = 1, row_bytes = 0, alignment = 1;
        bool units = false;
    };

    TermRecords(std::size_t terms, Shape shape) : shape_(shape), weights_(shape.units ? 8 : 4) {
        std::size_t const step = std::max<std::size_t>(4, shape.alignment);
        weights_ = rounded(weights_, shape.alignment);
        part_ = rounded(weights_ + shape.row_bytes, step);
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

    void prefetch(std::size_t term) const {
        std::byte const* const record = bytes_.data() + term * stride_;
        for (std::size_t byte = 0; byte < stride_; byte += 64) __builtin_prefetch(record + byte);
    }

    // The part of a block, of all terms.
    class Parts {
      public:
        std::uint32_t place(std::size_t term) const { return read<std::uint32_t>(term, 0); }
        float unit(std::size_t term) const { return read<float>(term, 4); }
        void const* weights(std::size_t term) const { return first_ + term * stride_ + weights_; }

      private:
        friend class TermRecords;
        Parts(std::byte const* first, std::size_t stride, std::size_t weights)
            : first_(first), stride_(stride), weights_(weights) {}

        template <class T>
        T read(std::size_t term, std::size_t offset) const {
            T value;
            std::memcpy(&value, first_ + term * stride_ + offset, sizeof value);
            return value;
        }

        std::byte const* first_;
        std::size_t stride_, weights_;
    };

    Parts parts(std::size_t block) const { return {bytes_.data() + block * part_, stride_, weights_}; }

  private:
    static std::size_t rounded(std::size_t n, std::size_t unit) { return (n + unit - 1) / unit * unit; }

    Shape shape_;
    std::size_t weights_, part_ = 0, stride_ = 0;
    LargeArray<std::byte> bytes_;
};

}  // namespace tallywise
