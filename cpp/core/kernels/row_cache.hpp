// A bounded cache of kernel rows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "core/base/large_array.hpp"
#include "core/kernels/gram.hpp"

namespace tallywise::kernels {

// Memory for rows that a thread keeps from one cache to its next: the first touch of fresh pages took as long as the
// values that are written there (a fifth of the time on 22 columns).
class RowMemory {
  public:
    RowMemory() = default;
    explicit RowMemory(std::size_t bytes) : place_(LargeAllocator<std::byte>().allocate(bytes)), bytes_(bytes) {}
    RowMemory(RowMemory&& other) noexcept
        : place_(std::exchange(other.place_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
    RowMemory& operator=(RowMemory&& other) noexcept {
        std::swap(place_, other.place_);
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    ~RowMemory() {
        if (place_ != nullptr) LargeAllocator<std::byte>().deallocate(place_, bytes_);
    }

    std::byte* data() const { return place_; }
    std::size_t size() const { return bytes_; }

    // What this thread has kept, if it is large enough, or as much as asked for.
    static RowMemory take(std::size_t bytes) {
        RowMemory found = std::move(kept());
        return found.size() >= bytes ? std::move(found) : RowMemory(bytes);
    }

    static void give_back(RowMemory memory) {
        if (memory.size() > kept().size()) kept() = std::move(memory);
    }

    // At the end of a call, on the thread that made it; the others end with it.
    static void forget() { RowMemory const old = std::move(kept()); }

  private:
    static RowMemory& kept() {
        thread_local RowMemory memory;
        return memory;
    }

    std::byte* place_ = nullptr;
    std::size_t bytes_ = 0;
};

// Kernel rows of the working sets, least recently used out first.
template <class T>
class RowCache {
  public:
    RowCache(std::size_t capacity, std::size_t points)
        : capacity_(std::min(capacity, points)), stride_(stride_of(points)), slot_of_(points, none) {
        memory_ = RowMemory::take(capacity_ * stride_ * sizeof(T));
    }

    RowCache(RowCache const&) = delete;
    RowCache& operator=(RowCache const&) = delete;
    ~RowCache() { RowMemory::give_back(std::move(memory_)); }

    std::size_t capacity() const { return capacity_; }
    T const* row(std::size_t slot) const { return place(slot); }

    // The slots of these points (distinct, at most capacity), computing the rows that are missing.
    std::vector<std::uint32_t> fetch(std::span<std::uint32_t const> wanted, Gram<T> const& gram) {
        ++now_;
        Ids missing;
        for (auto p : wanted) {
            if (slot_of_[p] == none) {
                missing.push_back(p);
            } else {
                stamp_[slot_of_[p]] = now_;
            }
        }
        Ids places = make_room(missing.size());
        for (std::size_t k = 0; k < missing.size(); ++k) {
            if (owner_[places[k]] != none) slot_of_[owner_[places[k]]] = none;
            owner_[places[k]] = missing[k];
            slot_of_[missing[k]] = places[k];
            stamp_[places[k]] = now_;
        }
        gram.tiles(missing,
                   [&](std::size_t first, std::size_t count, std::size_t begin, std::size_t end, T const* tile) {
                       for (std::size_t r = 0; r < count; ++r) {
                           T const* from = tile + r * Gram<T>::chunk;
                           std::copy(from, from + (end - begin), place(places[first + r]) + begin);
                       }
                   });
        std::vector<std::uint32_t> slots(wanted.size());
        for (std::size_t k = 0; k < wanted.size(); ++k) slots[k] = slot_of_[wanted[k]];
        return slots;
    }

    // Keeps these points (rising), in rows and in columns.
    void compact(std::span<std::uint32_t const> kept, std::size_t capacity) {
        Ids new_of(slot_of_.size(), none);
        for (std::size_t k = 0; k < kept.size(); ++k) new_of[kept[k]] = static_cast<std::uint32_t>(k);
        std::size_t const stride = stride_of(kept.size());
        std::size_t filled = 0;
        for (std::size_t slot = 0; slot < owner_.size(); ++slot) {
            if (owner_[slot] == none || new_of[owner_[slot]] == none) continue;
            // No entry moves up, and none is written over before it has been read.
            T const* from = place(slot);
            T* to = place(0) + filled * stride;
            for (std::size_t k = 0; k < kept.size(); ++k) to[k] = from[kept[k]];
            owner_[filled] = new_of[owner_[slot]];
            stamp_[filled] = stamp_[slot];
            ++filled;
        }
        owner_.resize(filled);
        stamp_.resize(filled);
        stride_ = stride;
        capacity_ = std::max(filled, std::min(capacity, kept.size()));
        if (std::size_t const bytes = capacity_ * stride_ * sizeof(T); bytes > memory_.size()) {
            RowMemory larger(bytes);
            std::copy(memory_.data(), memory_.data() + filled * stride_ * sizeof(T), larger.data());
            memory_ = std::move(larger);
        }
        slot_of_.assign(kept.size(), none);
        for (std::size_t slot = 0; slot < filled; ++slot) slot_of_[owner_[slot]] = static_cast<std::uint32_t>(slot);
    }

  private:
    static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

    Ids make_room(std::size_t count) {
        Ids places;
        while (places.size() < count && owner_.size() < capacity_) {
            places.push_back(static_cast<std::uint32_t>(owner_.size()));
            owner_.push_back(none);
            stamp_.push_back(now_);
        }
        if (places.size() < count) {
            Ids order;
            for (std::size_t slot = 0; slot < owner_.size(); ++slot) {
                if (stamp_[slot] != now_) order.push_back(static_cast<std::uint32_t>(slot));
            }
            std::sort(order.begin(), order.end(),
                      [&](auto a, auto b) { return stamp_[a] != stamp_[b] ? stamp_[a] < stamp_[b] : a < b; });
            for (std::size_t k = 0; places.size() < count; ++k) places.push_back(order[k]);
        }
        return places;
    }

    // Rows begin at lines of cache.
    static std::size_t stride_of(std::size_t points) { return (points * sizeof(T) + 63) / 64 * (64 / sizeof(T)); }
    T* place(std::size_t slot) const { return reinterpret_cast<T*>(memory_.data()) + slot * stride_; }

    std::size_t capacity_ = 0, stride_ = 0;
    RowMemory memory_;
    Ids slot_of_, owner_;
    std::vector<std::uint32_t> stamp_;
    std::uint32_t now_ = 0;
};

}  // namespace tallywise::kernels
