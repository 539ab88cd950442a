// Terms to numbers: a table of byte strings and a table of pairs of numbers, both open-addressed with linear probing.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tallywise {

static_assert(std::endian::native == std::endian::little, "keys of short terms rely on the order of bytes");

using TermId = std::uint32_t;
inline constexpr TermId no_term = 0xFFFFFFFF;

// 64-bit hashing by folded 128-bit products. The seed is drawn once a process, so that nobody can write a text whose
// words all collide; results never depend on it, because nothing is ever ordered by hash.
namespace hashing {

inline std::uint64_t fold(std::uint64_t a, std::uint64_t b) {
    __extension__ using Wide = unsigned __int128;
    Wide const product = static_cast<Wide>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

inline std::uint64_t draw() {
    std::random_device device;
    return (static_cast<std::uint64_t>(device()) << 32) | device() | 1;
}

inline std::uint64_t const seed_a = draw(), seed_b = draw();

inline std::uint64_t pair(std::uint64_t low, std::uint64_t high) { return fold(low ^ seed_a, high ^ seed_b); }

inline std::uint64_t load(char const* bytes) {
    std::uint64_t word;
    std::memcpy(&word, bytes, 8);
    return word;
}

inline std::uint64_t text(char const* bytes, std::size_t n) {
    std::uint64_t state = seed_a ^ n;
    std::size_t k = 0;
    for (; k + 16 <= n; k += 16) state = fold(load(bytes + k) ^ state, load(bytes + k + 8) ^ seed_b);
    char rest[16] = {};
    std::memcpy(rest, bytes + k, n - k);
    return fold(load(rest) ^ state, load(rest + 8) ^ seed_b);
}

}  // namespace hashing

// A term ready for lookup. Up to 16 bytes it is its own key, padded with zeros; beyond, the key is its hash.
struct Key {
    std::uint64_t low = 0, high = 0;
    std::uint64_t hash = 0;
    char const* bytes = nullptr;
    std::uint32_t length = 0;

    static constexpr std::uint32_t inline_bytes = 16;

    // Reads up to 16 bytes from `bytes` whatever the length: they must be readable.
    static Key padded(char const* bytes, std::size_t length) {
        if (length > inline_bytes) return full(bytes, length);
        auto const keep = [](std::size_t n) { return n >= 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << (8 * n)) - 1; };
        Key key;
        key.low = hashing::load(bytes) & keep(length);
        key.high = length > 8 ? hashing::load(bytes + 8) & keep(length - 8) : 0;
        key.hash = hashing::pair(key.low, key.high);
        key.bytes = bytes;
        key.length = static_cast<std::uint32_t>(length);
        return key;
    }

    static Key of(std::string_view term) {
        if (term.size() > inline_bytes) return full(term.data(), term.size());
        char room[inline_bytes] = {};
        std::copy(term.begin(), term.end(), room);
        Key key = padded(room, term.size());
        key.bytes = term.data();
        return key;
    }

  private:
    static Key full(char const* bytes, std::size_t length) {
        if (length > 0xFFFFFFFE) throw std::length_error("A term of more than 4 GB cannot be counted.");
        Key key;
        key.hash = key.low = hashing::text(bytes, length);
        key.bytes = bytes;
        key.length = static_cast<std::uint32_t>(length);
        return key;
    }
};

class TermTable {
  public:
    struct Slot {
        std::uint64_t key[2] = {0, 0};  // the term itself, or for long terms its hash and where its bytes begin
        std::uint32_t length = 0;
        TermId id = no_term;  // no_term: the slot is free
    };

    explicit TermTable(std::size_t expected = 0) { resize(slots_for(expected)); }

    std::size_t size() const { return size_; }
    void prefetch(Key const& key) const { __builtin_prefetch(&slots_[key.hash >> shift_]); }

    TermId find(Key const& key) const { return slots_[place(key)].id; }

    // The term's number; `fresh` if it has none yet.
    TermId insert(Key const& key, TermId fresh) {
        std::size_t k = place(key);
        if (slots_[k].id != no_term) return slots_[k].id;
        if (2 * (size_ + 1) > slots_.size()) {
            grow();
            k = place(key);
        }
        slots_[k] = {{key.low, key.high}, key.length, fresh};
        if (key.length > Key::inline_bytes) {
            slots_[k].key[1] = long_.size();
            long_.insert(long_.end(), key.bytes, key.bytes + key.length);
        }
        ++size_;
        return fresh;
    }

    // f(slot) for every term, in no meaningful order.
    template <class F>
    void each(F&& f) const {
        for (Slot const& slot : slots_) {
            if (slot.id != no_term) f(slot);
        }
    }

    // The bytes of a slot's term; valid until the next insert.
    std::string_view term(Slot const& slot) const {
        if (slot.length > Key::inline_bytes) return {long_.data() + slot.key[1], slot.length};
        return {reinterpret_cast<char const*>(slot.key), slot.length};
    }

    void clear() { *this = TermTable(); }

  private:
    static std::size_t slots_for(std::size_t terms) { return std::bit_ceil(std::max<std::size_t>(64, 2 * terms + 1)); }

    std::size_t place(Key const& key) const {
        std::size_t const mask = slots_.size() - 1;
        for (std::size_t k = key.hash >> shift_;; k = (k + 1) & mask) {
            Slot const& slot = slots_[k];
            if (slot.id == no_term) return k;
            if (slot.key[0] != key.low || slot.length != key.length) continue;
            if (key.length <= Key::inline_bytes ? slot.key[1] == key.high
                                                : std::memcmp(long_.data() + slot.key[1], key.bytes, key.length) == 0) {
                return k;
            }
        }
    }

    void resize(std::size_t slots) {
        slots_.assign(slots, Slot{});
        shift_ = 64 - std::countr_zero(slots);
    }

    void grow() {
        std::vector<Slot> const old = std::move(slots_);
        resize(2 * old.size());
        for (Slot const& slot : old) {
            if (slot.id == no_term) continue;
            std::uint64_t const hash =
                slot.length > Key::inline_bytes ? slot.key[0] : hashing::pair(slot.key[0], slot.key[1]);
            std::size_t k = hash >> shift_;
            while (slots_[k].id != no_term) k = (k + 1) & (slots_.size() - 1);
            slots_[k] = slot;
        }
    }

    std::vector<Slot> slots_;
    std::vector<char> long_;
    std::size_t size_ = 0;
    int shift_ = 0;
};

// Pairs of numbers to numbers: an n-gram is its first n-1 words, already numbered, and its last word.
class PairTable {
  public:
    struct Slot {
        TermId first = 0, second = 0;
        TermId id = no_term;
    };

    explicit PairTable(std::size_t expected = 0) { resize(std::bit_ceil(std::max<std::size_t>(64, 2 * expected + 1))); }

    std::size_t size() const { return size_; }
    void prefetch(TermId first, TermId second) const { __builtin_prefetch(&slots_[hash(first, second) >> shift_]); }
    TermId find(TermId first, TermId second) const { return slots_[place(first, second)].id; }

    TermId insert(TermId first, TermId second, TermId fresh) {
        std::size_t k = place(first, second);
        if (slots_[k].id != no_term) return slots_[k].id;
        if (2 * (size_ + 1) > slots_.size()) {
            grow();
            k = place(first, second);
        }
        slots_[k] = {first, second, fresh};
        ++size_;
        return fresh;
    }

    template <class F>
    void each(F&& f) const {
        for (Slot const& slot : slots_) {
            if (slot.id != no_term) f(slot);
        }
    }

  private:
    static std::uint64_t hash(TermId first, TermId second) {
        return hashing::pair((static_cast<std::uint64_t>(first) << 32) | second, 0);
    }

    std::size_t place(TermId first, TermId second) const {
        std::size_t const mask = slots_.size() - 1;
        for (std::size_t k = hash(first, second) >> shift_;; k = (k + 1) & mask) {
            Slot const& slot = slots_[k];
            if (slot.id == no_term || (slot.first == first && slot.second == second)) return k;
        }
    }

    void resize(std::size_t slots) {
        slots_.assign(slots, Slot{});
        shift_ = 64 - std::countr_zero(slots);
    }

    void grow() {
        std::vector<Slot> const old = std::move(slots_);
        resize(2 * old.size());
        for (Slot const& slot : old) {
            if (slot.id != no_term) slots_[place(slot.first, slot.second)] = slot;
        }
    }

    std::vector<Slot> slots_;
    std::size_t size_ = 0;
    int shift_ = 0;
};

}  // namespace tallywise
