// Slots of a message in few bytes: the gaps of the ascending slots, Rice-coded (Rice, 1971), about 11 bits a slot.
//
// A view is its count (32 bits), k (5 bits), then a gap d as d >> k ones, a zero and the low k bits of d; k is about
// log2 of the mean gap, where a geometric distribution has its shortest code.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "core/spam/features.hpp"

namespace tallywise::spam {

class BitWriter {
  public:
    // The low `bits` of a value, at most 32; the others must be 0.
    void put(std::uint32_t value, unsigned bits) {
        waiting_ |= std::uint64_t{value} << used_;
        for (used_ += bits; used_ >= 8; used_ -= 8, waiting_ >>= 8) out_.push_back(static_cast<char>(waiting_ & 0xFF));
    }

    std::string finish() {
        if (used_ > 0) out_.push_back(static_cast<char>(waiting_ & 0xFF));
        return std::move(out_);
    }

  private:
    std::string out_;
    std::uint64_t waiting_ = 0;
    unsigned used_ = 0;
};

class BitReader {
  public:
    explicit BitReader(std::string_view bytes) : bytes_(bytes) {}

    std::uint32_t take(unsigned bits) {
        while (there_ < bits) {
            if (place_ == bytes_.size()) throw std::invalid_argument("The features of a message are cut short");
            waiting_ |= std::uint64_t{static_cast<unsigned char>(bytes_[place_++])} << there_;
            there_ += 8;
        }
        auto const value = static_cast<std::uint32_t>(waiting_ & ((std::uint64_t{1} << bits) - 1));
        waiting_ >>= bits;
        there_ -= bits;
        return value;
    }

  private:
    std::string_view bytes_;
    std::size_t place_ = 0;
    std::uint64_t waiting_ = 0;
    unsigned there_ = 0;
};

inline std::string encode(Features const& features) {
    BitWriter writer;
    for (auto const& view : features) {
        auto const n = static_cast<std::uint32_t>(view.size());
        unsigned const k = n == 0 ? 0 : static_cast<unsigned>(std::bit_width(slots / n)) - 1;
        writer.put(n, 32);
        writer.put(k, 5);
        std::uint32_t next = 0;
        for (auto const slot : view) {
            std::uint32_t const gap = slot - next;
            for (std::uint32_t q = gap >> k; q > 0; --q) writer.put(1, 1);
            writer.put(0, 1);
            writer.put(gap & ((1u << k) - 1), k);
            next = slot + 1;
        }
    }
    return writer.finish();
}

inline Features decode(std::string_view bytes) {
    BitReader reader(bytes);
    Features features;
    for (auto& view : features) {
        std::uint32_t const n = reader.take(32);
        unsigned const k = reader.take(5);
        if (n > slots || k > slot_bits) throw std::invalid_argument("The features of a message are damaged");
        std::uint64_t next = 0;
        for (std::uint32_t j = 0; j < n; ++j) {
            std::uint64_t gap = 0;
            while (reader.take(1)) gap += std::uint64_t{1} << k;
            next += gap + reader.take(k);
            if (next >= slots) throw std::invalid_argument("The features of a message are damaged");
            view.push_back(static_cast<std::uint32_t>(next++));
        }
    }
    return features;
}

}  // namespace tallywise::spam
