// Tables of byte strings and of pairs of numbers, both open-addressed with linear probing.
#pragma once

#include <algorithm>
#include <array>
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

#include "core/base/large_array.hpp"
#include "core/base/prefetch.hpp"

namespace tallywise::text {

static_assert(std::endian::native == std::endian::little, "keys of short terms rely on the order of bytes");

using TermId = std::uint32_t;
inline constexpr TermId no_term = 0xFFFFFFFF;

// 64-bit hashing by mixed 128-bit products. The seed is drawn once a process, so that nobody can write a text whose
// words all collide; results never depend on it, because nothing is ever ordered by hash.
namespace hashing {

inline std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
    __extension__ using Wide = unsigned __int128;
    Wide const product = static_cast<Wide>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

inline std::uint64_t draw() {
    std::random_device device;
    return (static_cast<std::uint64_t>(device()) << 32) | device() | 1;
}

inline std::uint64_t const seed_a = draw(), seed_b = draw();

inline std::uint64_t pair(std::uint64_t low, std::uint64_t high) { return mix(low ^ seed_a, high ^ seed_b); }

inline std::uint64_t load(char const* bytes) {
    std::uint64_t word;
    std::memcpy(&word, bytes, 8);
    return word;
}

inline std::uint64_t text(char const* bytes, std::size_t n) {
    std::uint64_t state = seed_a ^ n;
    std::size_t k = 0;
    for (; k + 16 <= n; k += 16) state = mix(load(bytes + k) ^ state, load(bytes + k + 8) ^ seed_b);
    char rest[16] = {};
    std::memcpy(rest, bytes + k, n - k);
    return mix(load(rest) ^ state, load(rest + 8) ^ seed_b);
}

}  // namespace hashing

// A term ready for lookup. Up to 16 bytes it is its own key, padded with zeros; beyond, the key is its hash.
struct Key {
    std::uint64_t low = 0, high = 0;
    std::uint64_t hash = 0;
    char const* bytes = nullptr;
    std::uint32_t length = 0;

    static constexpr std::uint32_t inline_bytes = 16;

    // Masks that keep the first n of 16 bytes.
    static constexpr auto kept_bits = [] {
        std::array<std::array<std::uint64_t, 2>, inline_bytes + 1> masks{};
        for (unsigned n = 0; n <= inline_bytes; ++n) {
            for (unsigned k = 0; k < n; ++k) masks[n][k / 8] |= std::uint64_t{0xFF} << (8 * (k % 8));
        }
        return masks;
    }();

    // Reads up to 16 bytes from `bytes` whatever the length: they must be readable.
    [[gnu::always_inline]] static Key padded(char const* bytes, std::size_t length) {
        if (length > inline_bytes) [[unlikely]]
            return full(bytes, length);
        Key key;
        key.low = hashing::load(bytes) & kept_bits[length][0];
        key.high = hashing::load(bytes + 8) & kept_bits[length][1];
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
    [[gnu::noinline]] static Key full(char const* bytes, std::size_t length) {
        if (length > 0xFFFFFFFE) throw std::length_error("A term of more than 4 GB cannot be counted.");
        Key key;
        key.hash = key.low = hashing::text(bytes, length);
        key.bytes = bytes;
        key.length = static_cast<std::uint32_t>(length);
        return key;
    }
};

// Terms to numbers. A slot is a piece of the hash and the place of the term in a list in the order of arrival: slots
// are small, frequent terms lie together at the beginning of the list, and a new term is told by its slot alone.
class TermTable {
  public:
    struct Term {
        std::uint64_t key[2];  // the term itself, or for long ones its hash and where its bytes begin
        std::uint32_t length;
        TermId id;
    };

    explicit TermTable(std::size_t expected = 0) {
        resize(std::bit_ceil(std::max<std::size_t>(64, expected + expected / 2)));
        terms_.reserve(expected);
    }

    std::size_t size() const { return terms_.size(); }
    LargeArray<Term> const& terms() const { return terms_; }

    void prefetch(Key const& key) const { prefetch_line(&slots_[home(key)]); }
    // Once the slot has arrived: its term.
    void prefetch_term(Key const& key) const {
        std::uint32_t const place = slots_[home(key)].place;
        if (place != free_slot) prefetch_line(&terms_[place]);
    }

    TermId find(Key const& key) const {
        std::uint32_t const place = slots_[slot_of(key)].place;
        return place == free_slot ? no_term : terms_[place].id;
    }

    // The term's number; `fresh` if it has none yet.
    TermId insert(Key const& key, TermId fresh) {
        std::size_t const k = slot_of(key);
        if (slots_[k].place != free_slot) [[likely]]
            return terms_[slots_[k].place].id;
        add(key, k, fresh);
        return fresh;
    }

    // The bytes of a term of this table; valid until the next insert.
    std::string_view text(Term const& term) const {
        if (term.length > Key::inline_bytes) return {long_.data() + term.key[1], term.length};
        return {reinterpret_cast<char const*>(term.key), term.length};
    }

  private:
    static constexpr std::uint32_t free_slot = 0xFFFFFFFF;

    struct Slot {
        std::uint32_t piece = 0;  // the high half of the hash
        std::uint32_t place = free_slot;
    };

    static std::uint32_t piece(Key const& key) { return static_cast<std::uint32_t>(key.hash >> 32); }
    std::size_t home(Key const& key) const { return piece(key) >> shift_; }

    [[gnu::always_inline]] std::size_t slot_of(Key const& key) const {
        std::uint32_t const wanted = piece(key);
        for (std::size_t k = home(key);; k = (k + 1) & (slots_.size() - 1)) {
            Slot const slot = slots_[k];
            if (slot.place == free_slot || (slot.piece == wanted && is(terms_[slot.place], key))) return k;
        }
    }

    [[gnu::noinline]] void add(Key const& key, std::size_t k, TermId fresh) {
        if (3 * (terms_.size() + 1) > 2 * slots_.size()) {
            grow();
            k = slot_of(key);
        }
        slots_[k] = {piece(key), static_cast<std::uint32_t>(terms_.size())};
        terms_.push_back({{key.low, key.high}, key.length, fresh});
        if (key.length > Key::inline_bytes) {
            terms_.back().key[1] = long_.size();
            long_.insert(long_.end(), key.bytes, key.bytes + key.length);
        }
    }

    bool is(Term const& term, Key const& key) const {
        if (term.key[0] != key.low || term.length != key.length) return false;
        if (key.length <= Key::inline_bytes) [[likely]]
            return term.key[1] == key.high;
        return is_long(term, key);
    }

    [[gnu::noinline]] bool is_long(Term const& term, Key const& key) const {
        return std::memcmp(long_.data() + term.key[1], key.bytes, key.length) == 0;
    }

    void resize(std::size_t slots) {
        if (slots > std::size_t{1} << 32) throw std::length_error("More than 2,863,311,530 distinct terms.");
        slots_.assign(slots, Slot{});
        shift_ = 32 - std::countr_zero(slots);
    }

    void grow() {
        LargeArray<Slot> const old = std::move(slots_);
        resize(2 * old.size());
        for (Slot const slot : old) {
            if (slot.place == free_slot) continue;
            std::size_t k = slot.piece >> shift_;
            while (slots_[k].place != free_slot) k = (k + 1) & (slots_.size() - 1);
            slots_[k] = slot;
        }
    }

    LargeArray<Slot> slots_;
    LargeArray<Term> terms_;
    std::vector<char> long_;
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
    void prefetch(TermId first, TermId second) const { prefetch_line(&slots_[hash(first, second) >> shift_]); }
    TermId find(TermId first, TermId second) const { return slots_[place(first, second)].id; }

    TermId insert(TermId first, TermId second, TermId fresh) {
        std::size_t k = place(first, second);
        if (slots_[k].id != no_term) return slots_[k].id;
        if (3 * (size_ + 1) > 2 * slots_.size()) {
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
        LargeArray<Slot> const old = std::move(slots_);
        resize(2 * old.size());
        for (Slot const& slot : old) {
            if (slot.id != no_term) slots_[place(slot.first, slot.second)] = slot;
        }
    }

    LargeArray<Slot> slots_;
    std::size_t size_ = 0;
    int shift_ = 0;
};

}  // namespace tallywise::text
