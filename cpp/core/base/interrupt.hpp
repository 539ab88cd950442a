// Ctrl-C during a long native call. The core knows no Python: the bindings install the poll.
#pragma once

#include <exception>

namespace tallywise {

struct Interrupted : std::exception {
    char const* what() const noexcept override { return "interrupted"; }
};

// True when the user asked to stop. Python answers only its main thread; on others the poll is harmless.
inline bool (*interrupt_poll)() = nullptr;

inline bool interrupted() { return interrupt_poll != nullptr && interrupt_poll(); }

// Solvers call this once per outer iteration (every few milliseconds of work).
inline void check_interrupt() {
    if (interrupted()) throw Interrupted{};
}

}  // namespace tallywise
