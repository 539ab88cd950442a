// The registry of kernels of the form k(<u,v>, |u|^2, |v|^2), and the algebra over them.
//
// An entry maps an inner product and two squared norms to a kernel value; a Kernel is an expression over entries in
// postfix order (sums, products, scalings, normalisation). Values are computed for one u against many v at a time, so
// that an entry's formula is vectorised by the compiler around it.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/base/numeric.hpp"
#include "core/base/registry.hpp"

namespace tallywise::kernels {

// Up to three numbers; what they mean is said by the entry.
template <class T>
struct KernelParameters {
    T a = 0, b = 0, c = 0;
};

namespace detail {

inline double exponential(double x) { return exp(x); }
inline float exponential(float x) { return exp_single(x); }

// 2^-x for x >= 0: 2^-k by its bits, and 2^r, |r| <= 1/2, by a polynomial through its values at Chebyshev nodes and 1
// at 0 (relative error below 1e-17, and below 6e-9 in single precision). 0 where 2^-k is no normal number. What exp
// does for numbers above 0 and for large k is not needed: 0.6 of its time.
[[gnu::always_inline]] inline double halvings(double x) {
    constexpr double shifter = 0x1.8p52;  // adding it rounds to an integer and leaves that integer in the low bits
    double const y = x < 1023.0 ? -x : -1023.0;
    double const shifted = y + shifter;
    double const r = y - (shifted - shifter);
    double p = 0x1.e9d3fe3952179p-32;
    p = p * r + 0x1.e6063f7217bc6p-28;
    p = p * r + 0x1.b524fae627834p-24;
    p = p * r + 0x1.62bfd47773353p-20;
    p = p * r + 0x1.ffcbfc670dcd4p-17;
    p = p * r + 0x1.430913096fd9fp-13;
    p = p * r + 0x1.5d87fe78a5276p-10;
    p = p * r + 0x1.3b2ab6fba1ddap-7;
    p = p * r + 0x1.c6b08d704a0c2p-5;
    p = p * r + 0x1.ebfbdff82c598p-3;
    p = p * r + 0x1.62e42fefa39efp-1;
    p = p * r + 1.0;
    return p * std::bit_cast<double>((std::bit_cast<std::uint64_t>(shifted) + 1023) << 52);
}

[[gnu::always_inline]] inline float halvings(float x) {
    constexpr float shifter = 0x1.8p23F;
    float const y = x < 127.0F ? -x : -127.0F;
    float const shifted = y + shifter;
    float const r = y - (shifted - shifter);
    float p = 0x1.44138ap-13F;
    p = p * r + 0x1.5f0890p-10F;
    p = p * r + 0x1.3b2a54p-7F;
    p = p * r + 0x1.c6af6cp-5F;
    p = p * r + 0x1.ebfbe0p-3F;
    p = p * r + 0x1.62e430p-1F;
    p = p * r + 1.0F;
    return p * std::bit_cast<float>((std::bit_cast<std::uint32_t>(shifted) + 127) << 23);
}

// Degrees 0 to 3 without a call: the loop around is unswitched on q and vectorises.
template <class T>
T power(T z, T q) {
    if (q == T(0)) return T(1);
    if (q == T(1)) return z;
    if (q == T(2)) return z * z;
    if (q == T(3)) return z * z * z;
    return std::pow(z, q);
}

template <class T>
T squared_distance(T s, T uu, T vv) {
    T const square = uu + vv - 2 * s;
    return square > T(0) ? square : T(0);
}

}  // namespace detail

// An entry may say `euclidean`: it is a function of |u - v|^2, whose slope at 0 is at most its a. And `within_one`: its
// values are in [0, 1] and, for a given argument, right to 1e-6 in single precision.

// <u,v>
struct LinearKernel {
    static constexpr std::string_view name = "linear";
    template <class T>
    static T value(T s, T, T, KernelParameters<T> const&) {
        return s;
    }
};

// (a <u,v> + b)^c
struct PolynomialKernel {
    static constexpr std::string_view name = "polynomial";
    template <class T>
    static T value(T s, T, T, KernelParameters<T> const& p) {
        return detail::power(p.a * s + p.b, p.c);
    }
};

// 1 + s + s^2 + ... + s^c, s = a <u,v>
struct MonomialSumKernel {
    static constexpr std::string_view name = "monomial_sum";
    template <class T>
    static T value(T s, T, T, KernelParameters<T> const& p) {
        T const z = p.a * s;
        T total = 1;
        for (int k = 0; k < static_cast<int>(p.c); ++k) total = total * z + T(1);
        return total;
    }
};

// exp(-a |u - v|^2)
struct GaussianKernel {
    static constexpr std::string_view name = "gaussian";
    static constexpr bool euclidean = true, within_one = true;
    template <class T>
    static T value(T s, T uu, T vv, KernelParameters<T> const& p) {
        return detail::halvings(p.a * T(1.4426950408889634074) * detail::squared_distance(s, uu, vv));
    }
};

// (1 + a |u - v|^2 / c)^-c: Gaussians of every width; exp(-a |u - v|^2) as c grows
struct RationalQuadraticKernel {
    static constexpr std::string_view name = "rational_quadratic";
    static constexpr bool euclidean = true;
    template <class T>
    static T value(T s, T uu, T vv, KernelParameters<T> const& p) {
        return T(1) / detail::power(T(1) + p.a / p.c * detail::squared_distance(s, uu, vv), p.c);
    }
};

// tanh(a <u,v> + b): not positive semi-definite for every a, b
struct SigmoidKernel {
    static constexpr std::string_view name = "sigmoid";
    template <class T>
    static T value(T s, T, T, KernelParameters<T> const& p) {
        return T(1) - T(2) / (detail::exponential(2 * (p.a * s + p.b)) + T(1));
    }
};

// <u,v> / (|u| |v|), 0 where a norm is 0
struct CosineKernel {
    static constexpr std::string_view name = "cosine";
    template <class T>
    static T value(T s, T uu, T vv, KernelParameters<T> const&) {
        T const square = uu * vv;
        return square > T(0) ? s / std::sqrt(square) : T(0);
    }
};

using Kernels = Registry<LinearKernel, PolynomialKernel, MonomialSumKernel, GaussianKernel, RationalQuadraticKernel,
                         SigmoidKernel, CosineKernel>;

// An expression over entries. Besides their names it knows "sum", "product", "scale" (by a), "normalised", and, alone,
// "precomputed": a matrix that is given instead of computed (see gram.hpp).
class Kernel {
  public:
    // One step of a postfix expression: the name of an entry or combinator, and its numbers.
    void push(std::string_view name, double a, double b, double c) {
        Step step;
        step.parameters = {a, b, c};
        if (name == "sum" || name == "product") {
            step.kind = name == "sum" ? Kind::sum : Kind::product;
            require(2);
            --depth_;
        } else if (name == "scale" || name == "normalised") {
            step.kind = name == "scale" ? Kind::scale : Kind::normalised;
            require(1);
            if (name == "normalised") mark_operand();
        } else if (name == "precomputed") {
            if (!steps_.empty()) throw std::invalid_argument("A precomputed kernel stands alone.");
            step.kind = Kind::precomputed;
            ++depth_;
        } else {
            Kernels::visit("kernel", name, [&]<class Entry>() {
                step.single = &run<Entry, float>;
                step.twice = &run<Entry, double>;
                step.self_single = &run_self<Entry, float>;
                step.self_twice = &run_self<Entry, double>;
                step.euclidean = requires { Entry::euclidean; };
                step.within_one = requires { Entry::within_one; };
            });
            ++depth_;
        }
        if (steps_.size() == longest) throw std::invalid_argument("A kernel expression has at most 1000 steps.");
        steps_.push_back(step);
        deepest_ = std::max(deepest_, depth_ + 1);  // one more than are used: what stands alone has a neighbour
    }

    bool complete() const { return depth_ == 1; }
    bool precomputed() const { return steps_.size() == 1 && steps_[0].kind == Kind::precomputed; }

    bool within_one() const { return steps_.size() == 1 && steps_[0].within_one; }

    // The largest slope over |u - v|^2 within: what a rounding error in |u - v|^2 is multiplied by.
    double steepness() const {
        double largest = 0;
        for (auto const& step : steps_) largest = step.euclidean ? std::max(largest, step.parameters.a) : largest;
        return largest;
    }

    // s[i] = <u, v_i> in, k(u, v_i) out.
    template <class T>
    void apply(T* s, T uu, T const* vv, std::size_t n) const {
        if (precomputed()) return;
        if (steps_.size() == 1) return entry(steps_[0], s, uu, vv, n);
        Operands<T> operands(static_cast<std::size_t>(deepest_));
        for (std::size_t i = 0; i < n; i += piece) {
            evaluate(s + i, uu, vv + i, std::min(piece, n - i), operands);
        }
    }

    // k(v, v) from |v|^2.
    double self(double vv) const {
        double s = vv;
        apply(&s, vv, &vv, 1);
        return s;
    }

  private:
    static constexpr std::size_t piece = 128;
    static constexpr std::size_t longest = 1000;  // operands that wait for another take 2 KB each
    template <class T>
    using Run = void (*)(T*, T, T const*, std::size_t, KernelParameters<double> const&);
    template <class T>
    using SelfRun = void (*)(T*, std::size_t, KernelParameters<double> const&);
    enum class Kind { entry, sum, product, scale, normalised, precomputed };
    struct Step {
        Kind kind = Kind::entry;
        KernelParameters<double> parameters;
        Run<float> single = nullptr;
        Run<double> twice = nullptr;
        SelfRun<float> self_single = nullptr;
        SelfRun<double> self_twice = nullptr;
        bool euclidean = false, within_one = false;
        bool selves = false;  // part of an operand that is normalised: its k(u, u) and k(v, v) are needed as well
    };

    // Flattened, because a call left in the loop keeps it from being vectorised (5x on the exponential).
    template <class Entry, class T>
    [[gnu::flatten]] static void run(T* s, T uu, T const* vv, std::size_t n, KernelParameters<double> const& given) {
        KernelParameters<T> const p{static_cast<T>(given.a), static_cast<T>(given.b), static_cast<T>(given.c)};
#pragma omp simd
        for (std::size_t i = 0; i < n; ++i) s[i] = Entry::value(s[i], uu, vv[i], p);
    }

    // |v|^2 in, k(v, v) out.
    template <class Entry, class T>
    [[gnu::flatten]] static void run_self(T* s, std::size_t n, KernelParameters<double> const& given) {
        KernelParameters<T> const p{static_cast<T>(given.a), static_cast<T>(given.b), static_cast<T>(given.c)};
#pragma omp simd
        for (std::size_t i = 0; i < n; ++i) s[i] = Entry::value(s[i], s[i], s[i], p);
    }

    template <class T>
    static void self_entry(Step const& step, T* s, std::size_t n) {
        if constexpr (std::is_same_v<T, float>) {
            step.self_single(s, n, step.parameters);
        } else {
            step.self_twice(s, n, step.parameters);
        }
    }

    template <class T>
    static void entry(Step const& step, T* s, T uu, T const* vv, std::size_t n) {
        if constexpr (std::is_same_v<T, float>) {
            step.single(s, uu, vv, n, step.parameters);
        } else {
            step.twice(s, uu, vv, n, step.parameters);
        }
    }

    void require(int operands) const {
        if (depth_ < operands) throw std::invalid_argument("A kernel expression misses an operand.");
    }

    // Marks the steps of the operand that ends here.
    void mark_operand() {
        int wanted = 1;
        for (std::size_t k = steps_.size(); wanted > 0;) {
            Step& step = steps_[--k];
            step.selves = true;
            wanted += step.kind == Kind::sum || step.kind == Kind::product ? 1 : step.kind == Kind::entry ? -1 : 0;
        }
    }

    // Values of operands that are complete: k(u, v_i), and where they are needed k(u, u) and k(v_i, v_i).
    template <class T>
    struct Operands {
        explicit Operands(std::size_t count) : values(2 * piece * count), left(count) {}
        T* cross(std::size_t k) { return values.data() + 2 * piece * k; }
        T* right(std::size_t k) { return cross(k) + piece; }

        std::vector<T> values, left;
    };

    // A postfix expression is evaluated from left to right, so that neither nesting nor length costs more than its steps.
    template <class T>
    void evaluate(T* s, T uu, T const* vv, std::size_t n, Operands<T>& operands) const {
        std::size_t top = 0;  // operands so far
        for (Step const& step : steps_) {
            if (step.kind == Kind::entry) {
                T* const cross = operands.cross(top);
                std::copy(s, s + n, cross);
                entry(step, cross, uu, vv, n);
                if (step.selves) {
                    operands.left[top] = uu;
                    self_entry(step, &operands.left[top], 1);
                    std::copy(vv, vv + n, operands.right(top));
                    self_entry(step, operands.right(top), n);
                }
                ++top;
                continue;
            }
            top -= step.kind == Kind::sum || step.kind == Kind::product;
            combine(step, operands, top - 1, n);
        }
        std::copy(operands.cross(0), operands.cross(0) + n, s);
    }

    // Operand `at` with the one behind it, or alone.
    template <class T>
    static void combine(Step const& step, Operands<T>& operands, std::size_t at, std::size_t n) {
        auto const each = [&](auto&& f) {
            for (std::size_t i = 0; i < n; ++i) f(operands.cross(at)[i], operands.cross(at + 1)[i]);
            if (!step.selves) return;
            for (std::size_t i = 0; i < n; ++i) f(operands.right(at)[i], operands.right(at + 1)[i]);
            f(operands.left[at], operands.left[at + 1]);
        };
        if (step.kind == Kind::sum) {
            each([](T& a, T b) { a += b; });
        } else if (step.kind == Kind::product) {
            each([](T& a, T b) { a *= b; });
        } else if (step.kind == Kind::scale) {
            each([by = static_cast<T>(step.parameters.a)](T& a, T) { a *= by; });
        } else {
            auto const normalise = [](T& value, T square) { value = square > T(0) ? value / std::sqrt(square) : T(0); };
            T& left = operands.left[at];
            for (std::size_t i = 0; i < n; ++i) {
                T& right = operands.right(at)[i];
                normalise(operands.cross(at)[i], left * right);
                normalise(right, right * right);
            }
            normalise(left, left * left);
        }
    }

    std::vector<Step> steps_;
    int depth_ = 0, deepest_ = 0;
};

}  // namespace tallywise::kernels
