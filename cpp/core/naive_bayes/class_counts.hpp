// The whole numbers that a batch adds to one class, in 32 bits until all its rows are read: a table of sums of doubles
// with 130,000 cells, 1 MB, is more than most second-level caches keep beside X.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>

#include "core/base/large_array.hpp"
#include "core/data/readers.hpp"

namespace tallywise::naive_bayes {

class ClassCounts {
  public:
    explicit ClassCounts(std::size_t cells) : counts_(cells, 0) {}

    // Whether a stretch of entries of at most this amount each can be counted.
    static bool holds(double largest) { return largest * static_cast<double>(Reader::stretch) < most; }

    // What is counted from now on belongs to n sums, times a sign. Several counts may belong to the same sums: whole
    // numbers, whose order changes nothing.
    void start(double* sums, double sign, std::size_t n, std::mutex& lock) {
        lock_ = &lock;
        sums_ = sums;
        sign_ = sign;
        size_ = n;
    }

    // Before so much is added to the counts: no count is above what was added in all.
    void expect(double amount) {
        if (added_ + amount >= most) flush();
        added_ += amount;
    }

    std::int32_t* data() { return counts_.data(); }

    // Adds the counts to the sums and starts again from 0.
    void flush() {
        std::scoped_lock const held(*lock_);
        std::int32_t* const counts = counts_.data();
#pragma omp simd
        for (std::size_t k = 0; k < size_; ++k) {
            sums_[k] += sign_ * static_cast<double>(counts[k]);
            counts[k] = 0;
        }
        added_ = 0;
    }

  private:
    static constexpr double most = 0x1p31;

    LargeArray<std::int32_t> counts_;
    std::mutex* lock_ = nullptr;
    double* sums_ = nullptr;
    double sign_ = 1, added_ = 0;
    std::size_t size_ = 0;
};

}  // namespace tallywise::naive_bayes
