// Items of several sources, sorted and numbered: dealt into buckets in parallel by source, sorted and numbered in
// parallel by bucket. The order of equal items is whatever it is; they get the same number.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/large_array.hpp"
#include "core/parallel.hpp"

namespace tallywise {

template <class Item>
class SortedBuckets {
  public:
    // each(source, f) calls f(item) for the items of a source, the same ones whenever it is called; bucket_of(item)
    // rises with the item and is below `buckets`.
    template <class Each, class BucketOf, class Less>
    SortedBuckets(Team& team, std::size_t sources, std::size_t buckets, Each&& each, BucketOf&& bucket_of, Less&& less)
        : ends_(buckets + 1, 0) {
        std::vector<std::vector<std::size_t>> next(sources);  // by source and bucket
        team.each(sources, [&](std::size_t source) {
            next[source].assign(buckets, 0);
            each(source, [&](Item const& item) { ++next[source][bucket_of(item)]; });
        });
        std::size_t total = 0;
        for (std::size_t bucket = 0; bucket < buckets; ++bucket) {
            for (auto& counts : next) total += std::exchange(counts[bucket], total);
            ends_[bucket + 1] = total;
        }
        items_.resize(total);
        team.each(sources, [&](std::size_t source) {
            each(source, [&](Item const& item) { items_[next[source][bucket_of(item)]++] = item; });
        });
        team.each_range(buckets, grain, [&](std::size_t begin, std::size_t end, std::size_t) {
            for (std::size_t bucket = begin; bucket < end; ++bucket) {
                if (ends_[bucket + 1] - ends_[bucket] > 1) {
                    std::sort(items_.begin() + static_cast<long>(ends_[bucket]),
                              items_.begin() + static_cast<long>(ends_[bucket + 1]), less);
                }
            }
        });
    }

    // Numbers distinct items in order: first(item, number) for one of each, every(item, number) for all. Before that,
    // ready(distinct) says how many there are. Equal items are in one bucket.
    template <class Same, class Ready, class First, class Every>
    void number(Team& team, Same&& same, Ready&& ready, First&& first, Every&& every) const {
        std::size_t const buckets = ends_.size() - 1;
        std::vector<std::size_t> numbers(Team::count(buckets, grain) + 1, 0);
        auto const fresh = [&](std::size_t k, std::size_t begin) { return k == begin || !same(items_[k - 1], items_[k]); };
        team.each_range(buckets, grain, [&](std::size_t begin, std::size_t end, std::size_t chunk) {
            for (std::size_t k = ends_[begin]; k < ends_[end]; ++k) numbers[chunk + 1] += fresh(k, ends_[begin]);
        });
        for (std::size_t chunk = 1; chunk < numbers.size(); ++chunk) numbers[chunk] += numbers[chunk - 1];
        ready(numbers.back());
        team.each_range(buckets, grain, [&](std::size_t begin, std::size_t end, std::size_t chunk) {
            std::size_t number = numbers[chunk];
            for (std::size_t k = ends_[begin]; k < ends_[end]; ++k) {
                if (fresh(k, ends_[begin])) first(items_[k], number++);
                every(items_[k], number - 1);
            }
        });
    }

  private:
    static constexpr std::size_t grain = 256;

    LargeArray<Item> items_;
    std::vector<std::size_t> ends_;
};

}  // namespace tallywise
