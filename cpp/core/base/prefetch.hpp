// Asks for memory that is read soon.
#pragma once

namespace tallywise {

// GCC takes a function that does nothing but this for one without effect, and leaves out calls of it that it does not
// inline: of lookups of pairs of words, all were. The empty assembly is an effect, and no instruction.
[[gnu::always_inline]] inline void prefetch_line(void const* place) {
    __builtin_prefetch(place);
    asm volatile("");
}

}  // namespace tallywise
