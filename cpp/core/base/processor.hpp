// What instruction sets a processor of x86-64 runs, from its own registers: compilers' functions for this know different
// features, or need a runtime that is not linked everywhere.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace tallywise {

// The registers that describe it, by leaf of CPUID, and the registers that the system saves.
struct Processor {
    std::uint32_t features = 0;         // leaf 1, ecx
    std::uint32_t structured = 0;       // leaf 7, ebx
    std::uint32_t extended = 0;         // leaf 0x80000001, ecx
    std::uint32_t saved_registers = 0;  // xcr0

    // Whole levels of the x86-64 psABI, not single features: an emulated processor may have AVX2 without MOVBE, and
    // compilers use all of a level.
    bool v3() const {
        // SSE3, SSSE3, FMA, CMPXCHG16B, SSE4.1, SSE4.2, MOVBE, POPCNT, OSXSAVE, AVX, F16C
        std::uint32_t const wanted = bits({0, 9, 12, 13, 19, 20, 22, 23, 27, 28, 29});
        // BMI1, AVX2, BMI2; LAHF, LZCNT; registers of SSE and AVX
        return has(features, wanted) && has(structured, bits({3, 5, 8})) && has(extended, bits({0, 5})) &&
               has(saved_registers, bits({1, 2}));
    }
    bool v4() const {
        // AVX512F, DQ, CD, BW, VL, and their registers
        return v3() && has(structured, bits({16, 17, 28, 30, 31})) && has(saved_registers, bits({5, 6, 7}));
    }

    // The builds that it can run, best first.
    std::vector<std::string> levels() const {
        std::vector<std::string> result;
        if (v4()) result.emplace_back("v4");
        if (v3()) result.emplace_back("v3");
        result.emplace_back("baseline");
        return result;
    }

    static Processor here() {
        Processor found;
#if defined(__x86_64__)
        unsigned a = 0, b = 0, c = 0, d = 0;
        if (__get_cpuid(1, &a, &b, &c, &d)) found.features = c;
        if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) found.structured = b;
        if (__get_cpuid(0x80000001, &a, &b, &c, &d)) found.extended = c;
        if (has(found.features, bits({27}))) {
            unsigned high = 0;
            asm volatile("xgetbv" : "=a"(found.saved_registers), "=d"(high) : "c"(0));
        }
#endif
        return found;
    }

  private:
    static constexpr std::uint32_t bits(std::initializer_list<int> which) {
        std::uint32_t all = 0;
        for (int const k : which) all |= std::uint32_t{1} << k;
        return all;
    }
    static constexpr bool has(std::uint32_t word, std::uint32_t wanted) { return (word & wanted) == wanted; }
};

}  // namespace tallywise
