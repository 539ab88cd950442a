// A bounded cache of kernel rows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/kernels/gram.hpp"

namespace tallywise {

// Kernel rows of the working sets, least recently used out first.
template <class T>
class RowCache {
  public:
    RowCache(std::size_t capacity, std::size_t points)
        : capacity_(std::min(capacity, points)), length_(points), slot_of_(points, none) {}

    std::size_t capacity() const { return capacity_; }
    T const* row(std::size_t slot) const { return rows_[slot].data(); }

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
                           std::copy(from, from + (end - begin), rows_[places[first + r]].data() + begin);
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
        std::size_t filled = 0;
        for (std::size_t slot = 0; slot < owner_.size(); ++slot) {
            if (owner_[slot] == none || new_of[owner_[slot]] == none) continue;
            auto& row = rows_[slot];
            for (std::size_t k = 0; k < kept.size(); ++k) row[k] = row[kept[k]];
            row.resize(kept.size());
            row.shrink_to_fit();
            std::swap(rows_[filled], row);
            owner_[filled] = new_of[owner_[slot]];
            stamp_[filled] = stamp_[slot];
            ++filled;
        }
        rows_.resize(filled);
        owner_.resize(filled);
        stamp_.resize(filled);
        capacity_ = std::max(filled, std::min(capacity, kept.size()));
        length_ = kept.size();
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
            rows_.emplace_back(length_);
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

    std::size_t capacity_ = 0, length_ = 0;
    std::vector<std::vector<T>> rows_;
    Ids slot_of_, owner_;
    std::vector<std::uint32_t> stamp_;
    std::uint32_t now_ = 0;
};

}  // namespace tallywise
