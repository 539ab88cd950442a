// Which builds of the native module can this processor run? Built for the baseline, so that it loads
// everywhere.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

static std::vector<std::string> levels() {
    std::vector<std::string> result;
#if defined(__x86_64__)
    __builtin_cpu_init();
    // The whole level, lzcnt, movbe and f16c included: an emulated processor may have avx2 without them.
#if defined(__clang__) && __clang_major__ < 18  // knows no levels
    bool const v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
                    __builtin_cpu_supports("bmi2");
    bool const v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                    __builtin_cpu_supports("avx512vl");
#else
    bool const v3 = __builtin_cpu_supports("x86-64-v3");
    bool const v4 = __builtin_cpu_supports("x86-64-v4");
#endif
    if (v4) result.emplace_back("v4");
    if (v3) result.emplace_back("v3");
#endif
    result.emplace_back("baseline");
    return result;
}

NB_MODULE(_cpu, m) { m.def("levels", &levels, "The builds this processor can run, best first."); }
