// Threads live here and nowhere else.
//
// A Team exists for the length of one native call: no thread outlives it, so nothing is left to break when
// the process forks. Work is cut into chunks whose number depends on the data alone, never on the number of
// threads; a chunk writes only to its own slot and slots are combined in order. Hence the same bytes for any
// number of threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

namespace tallywise {

class Team {
  public:
    static constexpr int max_threads = 1024;

    explicit Team(int threads) : threads_(threads) {
        if (threads < 1 || threads > max_threads) {
            throw std::invalid_argument("The number of threads must be in [1, 1024]. Got " + std::to_string(threads) +
                                        ".");
        }
    }

    Team(Team const&) = delete;
    Team& operator=(Team const&) = delete;

    ~Team() {
        stop_.store(true);
        epoch_.fetch_add(1);
        epoch_.notify_all();
        for (auto& worker : workers_) worker.join();
    }

    int threads() const { return threads_; }

    // Calls f(chunk) once for each chunk in [0, chunks). If calls throw, the exception of the lowest chunk is
    // rethrown.
    template <class F>
    void each(std::size_t chunks, F&& f) {
        void* const context = const_cast<void*>(static_cast<void const*>(&f));
        if (threads_ == 1 || chunks <= 1) {
            for (std::size_t chunk = 0; chunk < chunks; ++chunk) call<std::remove_reference_t<F>>(context, chunk);
            return;
        }
        start_workers();
        job_ = call<std::remove_reference_t<F>>;
        context_ = context;
        chunks_ = chunks;
        error_ = nullptr;
        error_chunk_ = std::numeric_limits<std::size_t>::max();
        failed_.store(false, std::memory_order_relaxed);
        next_.store(0, std::memory_order_relaxed);
        busy_.store(static_cast<int>(workers_.size()), std::memory_order_relaxed);
        epoch_.fetch_add(1, std::memory_order_release);
        epoch_.notify_all();
        take_chunks();
        wait_until(busy_, [](int busy) { return busy == 0; });
        if (error_) std::rethrow_exception(error_);
    }

    // Calls f(begin, end, chunk) over [0, n) cut into pieces of `grain`.
    template <class F>
    void each_range(std::size_t n, std::size_t grain, F&& f) {
        each(count(n, grain), [&](std::size_t chunk) { f(chunk * grain, std::min(n, (chunk + 1) * grain), chunk); });
    }

    // Sums map(begin, end) over the pieces of [0, n), in order.
    template <class T, class F>
    T sum(std::size_t n, std::size_t grain, F&& map) {
        std::vector<T> parts(count(n, grain));
        each_range(n, grain,
                   [&](std::size_t begin, std::size_t end, std::size_t chunk) { parts[chunk] = map(begin, end); });
        T total{};
        for (T const& part : parts) total += part;
        return total;
    }

    static std::size_t count(std::size_t n, std::size_t grain) { return (n + grain - 1) / grain; }

  private:
    // One compiled copy of the work, whoever runs it: a copy inlined for the calling thread may contract other products
    // and sums into fused ones, and then its last bits differ from those of a worker.
#if defined(__clang__)
    template <class F>
    [[gnu::noinline]] static void call(void* context, std::size_t chunk) {
#else
    template <class F>
    [[gnu::noipa]] static void call(void* context, std::size_t chunk) {
#endif
        (*static_cast<F*>(context))(chunk);
    }

    // A solver comes back within microseconds, so look for a while before going to sleep.
    static constexpr int spins = 4000;

    template <class T, class Ready>
    static T wait_until(std::atomic<T>& value, Ready ready) {
        for (int spin = 0;; ++spin) {
            T seen = value.load(std::memory_order_acquire);
            if (ready(seen)) return seen;
            if (spin >= spins) value.wait(seen, std::memory_order_acquire);
        }
    }

    void start_workers() {
        if (!workers_.empty()) return;
        workers_.reserve(static_cast<std::size_t>(threads_ - 1));
        for (int k = 1; k < threads_; ++k) {
            try {
                workers_.emplace_back([this] { work(); });
            } catch (std::system_error const&) {
                break;  // the system has no more threads to give: the chunks are the same, only slower
            }
        }
    }

    void work() {
        std::uint64_t seen = 0;
        for (;;) {
            seen = wait_until(epoch_, [seen](std::uint64_t epoch) { return epoch != seen; });
            if (stop_.load()) return;
            take_chunks();
            if (busy_.fetch_sub(1, std::memory_order_acq_rel) == 1) busy_.notify_one();
        }
    }

    // Chunks are handed out in rising order, so all chunks below a failing one have begun and will finish:
    // the lowest failure is always found, whatever the number of threads.
    void take_chunks() {
        for (;;) {
            if (failed_.load(std::memory_order_relaxed)) return;
            std::size_t chunk = next_.fetch_add(1, std::memory_order_relaxed);
            if (chunk >= chunks_) return;
            try {
                job_(context_, chunk);
            } catch (...) {
                std::lock_guard lock(mutex_);
                failed_.store(true, std::memory_order_relaxed);
                if (chunk < error_chunk_) {
                    error_chunk_ = chunk;
                    error_ = std::current_exception();
                }
            }
        }
    }

    int threads_;
    std::vector<std::thread> workers_;
    void (*job_)(void*, std::size_t) = nullptr;
    void* context_ = nullptr;
    std::size_t chunks_ = 0;
    std::atomic<std::uint64_t> epoch_{0};
    std::atomic<std::size_t> next_{0};
    std::atomic<int> busy_{0};
    std::atomic<bool> stop_{false};
    std::atomic<bool> failed_{false};
    std::mutex mutex_;
    std::exception_ptr error_;
    std::size_t error_chunk_ = 0;
};

}  // namespace tallywise
