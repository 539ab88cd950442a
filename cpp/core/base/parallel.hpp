// Threads live here and nowhere else.
//
// A Team serves one native call. Work is cut into chunks whose number depends on the data alone, never on the number of
// threads; a chunk writes only to its own slot and slots are combined in order. Hence the same bytes for any number of
// threads.
//
// The calling thread waits for chunks that were taken, never for threads: a worker that the system has not run yet holds
// nothing up. (Waiting for all workers took 27.8 ms for 0.3 ms of work beside one busy thread; 0.4 ms this way.) A worker
// is therefore detached and shares ownership of the team's state. When the team is gone it finds nothing to do, touches
// nothing else and ends, so nothing is left to break when the process forks.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace tallywise {

class Team {
  public:
    static constexpr int max_threads = 1024;

    // Runs a worker on a thread of its own; throws std::system_error where the system has none to give.
    using Start = void (*)(std::function<void()>);
    static void start_thread(std::function<void()> worker) { std::thread(std::move(worker)).detach(); }

    explicit Team(int threads, Start start = start_thread) : threads_(threads), state_(std::make_shared<State>()) {
        if (threads < 1 || threads > max_threads) {
            throw std::invalid_argument("The number of threads must be in [1, 1024]. Got " + std::to_string(threads) +
                                        ".");
        }
        state_->start = start;
        state_->vacancies = threads - 1;
    }

    Team(Team const&) = delete;
    Team& operator=(Team const&) = delete;

    ~Team() {
        state_->stopped.store(true, std::memory_order_relaxed);
        state_->wake();
    }

    int threads() const { return threads_; }

    // Calls f(chunk) once for each chunk in [0, chunks). If calls throw, the exception of the lowest chunk is
    // rethrown. A call from inside a chunk runs its own chunks one after the other on the thread it is made from. Only
    // the thread that made the team, and its chunks, may call it.
    template <class F>
    void each(std::size_t chunks, F&& f) {
        void* const context = const_cast<void*>(static_cast<void const*>(&f));
        if (threads_ == 1 || chunks <= 1 || state_->running) {
            for (std::size_t chunk = 0; chunk < chunks; ++chunk) call<std::remove_reference_t<F>>(context, chunk);
            return;
        }
        State& state = *state_;
        state.running = true;
        state.job = call<std::remove_reference_t<F>>;
        state.context = context;
        state.chunks = chunks;
        state.error = nullptr;
        state.error_chunk = std::numeric_limits<std::size_t>::max();
        state.done.store(0, std::memory_order_relaxed);
        state.left.store(chunks, std::memory_order_release);  // from here on, workers may take chunks
        state.wake();
        hire(state_);
        state.take_chunks();
        wait_until(state.done, [chunks](std::size_t done) { return done == chunks; });
        state.running = false;
        if (state.error) std::rethrow_exception(state.error);
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

    // What workers share with the team. The fields of a job are written only while no chunk is taken, and read only by
    // a thread that has taken one: the team does not return before that chunk is done.
    struct State {
        Start start = nullptr;
        bool running = false;
        void (*job)(void*, std::size_t) = nullptr;
        void* context = nullptr;
        std::size_t chunks = 0;
        std::atomic<std::size_t> left{0};  // chunks that nobody has taken
        std::atomic<std::size_t> done{0};  // chunks that have ended, or that a failure has made needless
        std::atomic<std::uint64_t> epoch{0};
        std::atomic<int> vacancies{0};  // workers that may still be started
        std::atomic<bool> stopped{false};
        std::mutex mutex;
        std::exception_ptr error;
        std::size_t error_chunk = 0;

        void wake() {
            epoch.fetch_add(1, std::memory_order_release);
            epoch.notify_all();
        }

        // Chunks are handed out in rising order, so all chunks below a failing one have begun and will finish:
        // the lowest failure is always found, whatever the number of threads.
        void take_chunks() {
            for (std::size_t waiting = left.load(std::memory_order_relaxed); waiting > 0;) {
                if (!left.compare_exchange_weak(waiting, waiting - 1, std::memory_order_acq_rel)) continue;
                std::size_t const all = chunks;  // another job may be set up as soon as the chunk counts as done
                std::size_t ended = 1;
                try {
                    job(context, all - waiting);
                } catch (...) {
                    ended += left.exchange(0, std::memory_order_acq_rel);
                    keep_error(all - waiting);
                }
                if (done.fetch_add(ended, std::memory_order_acq_rel) + ended == all) done.notify_one();
                waiting = left.load(std::memory_order_relaxed);
            }
        }

        void keep_error(std::size_t chunk) {
            std::lock_guard lock(mutex);
            if (chunk > error_chunk) return;
            error_chunk = chunk;
            error = std::current_exception();
        }
    };

    // Starts one worker more. A worker that finds work starts the next, so that the calling thread pays for one and
    // short work for few.
    static void hire(std::shared_ptr<State> const& state) {
        if (state->vacancies.fetch_sub(1, std::memory_order_relaxed) <= 0) {
            state->vacancies.fetch_add(1, std::memory_order_relaxed);
            return;
        }
        try {
            state->start([state] { work(state); });
        } catch (std::system_error const&) {
            // The system has no more threads to give: the chunks are the same, only slower.
        }
    }

    static void work(std::shared_ptr<State> const& state) {
        std::uint64_t seen = state->epoch.load(std::memory_order_acquire);
        if (state->left.load(std::memory_order_relaxed) > 0) hire(state);
        while (!state->stopped.load(std::memory_order_relaxed)) {
            state->take_chunks();
            seen = wait_until(state->epoch, [seen](std::uint64_t epoch) { return epoch != seen; });
        }
    }

    int threads_;
    std::shared_ptr<State> state_;
};

}  // namespace tallywise
