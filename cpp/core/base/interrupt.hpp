// Ctrl-C during a long native call. The core knows no Python: the bindings install the poll.
#pragma once

#include <atomic>
#include <chrono>
#include <exception>

namespace tallywise {

struct Interrupted : std::exception {
    char const* what() const noexcept override { return "interrupted"; }
};

// True when the user asked to stop. It takes Python's lock, which may take 5 ms while another thread is busy.
inline bool (*interrupt_poll)() = nullptr;

// Set on the threads of a Team, which do not ask for themselves: the calling thread says when to stop.
inline thread_local std::atomic<bool> const* told_to_stop = nullptr;

// Solvers call this as often as they like: the poll is asked twenty times a second.
inline void check_interrupt() {
    if (told_to_stop != nullptr) {
        if (told_to_stop->load(std::memory_order_relaxed)) throw Interrupted{};
        return;
    }
    if (interrupt_poll == nullptr) return;
    thread_local std::chrono::steady_clock::time_point next{};
    auto const now = std::chrono::steady_clock::now();
    if (now < next) return;
    bool const stop = interrupt_poll();
    next = std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
    if (stop) throw Interrupted{};
}

}  // namespace tallywise
