// What naive Bayes remembers: sums over rows, and nothing else. They add (learn, merge) and subtract (forget, leave
// one out); every parameter is a ratio of them.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tallywise::naive_bayes {

// Sums that can be undone. A double keeps 53 bits of a sum; a pair of doubles keeps 106, which is exact for integers,
// for single precision, and for any data whose sums fit in that many bits. Built without contraction of a * b + c
// (see CMakeLists.txt), which would change the roundings that these formulas measure.
constexpr double largest_count = 0x1p53;  // beyond it, a double skips integers

// high + low, |low| at most half a unit in the last place of high.
struct Pair {
    double high = 0, low = 0;
};

// a + b exactly (Knuth, The Art of Computer Programming 2, 4.2.2 theorem B).
inline Pair two_sum(double a, double b) {
    double const s = a + b, t = s - a;
    return {s, (a - (s - t)) + (b - t)};
}

// a * b exactly, but for underflow. Without a fused product: Dekker's splitting (Numer. Math. 18, 1971).
inline Pair two_product(double a, double b) {
    double const p = a * b;
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
    return {p, std::fma(a, b, -p)};
#else
    constexpr double split = 0x1p27 + 1;
    double const ca = split * a, cb = split * b;
    double const ah = ca - (ca - a), bh = cb - (cb - b), al = a - ah, bl = b - bh;
    return {p, ((ah * bh - p) + ah * bl + al * bh) + al * bl};
#endif
}

inline Pair operator+(Pair a, Pair b) {
    Pair const s = two_sum(a.high, b.high);
    return two_sum(s.high, s.low + (a.low + b.low));
}
inline Pair operator-(Pair a) { return {-a.high, -a.low}; }
inline Pair operator-(Pair a, Pair b) { return a + -b; }
inline Pair operator*(Pair a, Pair b) {
    Pair const p = two_product(a.high, b.high);
    return two_sum(p.high, p.low + (a.high * b.low + a.low * b.high));
}

// A view of sums kept by the caller. Planes are statistics (one for counts, two for x and x^2), rows are classes,
// columns are cells (features, or categories of features).
struct Statistics {
    double* value = nullptr;
    double* carry = nullptr;  // what a double could not hold; null while all is integer and needs none
    std::size_t plane = 0, row = 0;
    std::size_t classes = 0, cells = 0;
    double* totals = nullptr;  // four rows: documents of each class, their carry, tokens, their carry

    std::size_t at(std::size_t statistic, std::size_t c, std::size_t cell) const {
        return statistic * plane + c * row + cell;
    }
    Pair pair(std::size_t statistic, std::size_t c, std::size_t cell) const {
        std::size_t const k = at(statistic, c, cell);
        return {value[k], carry == nullptr ? 0.0 : carry[k]};
    }
    Pair documents(std::size_t c) const { return {totals[c], totals[classes + c]}; }
    Pair tokens(std::size_t c) const { return {totals[2 * classes + c], totals[3 * classes + c]}; }
    Pair all_tokens() const {
        Pair total;
        for (std::size_t c = 0; c < classes; ++c) total = total + tokens(c);
        return total;
    }
};

// alpha_j >= 0: one number for all cells, or one a cell.
struct Smoothing {
    double const* values = nullptr;
    bool each = false;
    double total = 0;  // over all cells
    bool has_zero = false;

    Smoothing(double const* alpha, std::size_t count, std::size_t cells) : values(alpha), each(count > 1 && cells > 1) {
        for (std::size_t j = 0; j < (each ? cells : 1); ++j) {
            total += alpha[j];
            has_zero |= alpha[j] == 0;
        }
        if (!each) total = alpha[0] * static_cast<double>(cells);
    }
    double operator()(std::size_t cell) const { return values[each ? cell : 0]; }
};

// What an event model asks of its sums and of X.
struct EventTraits {
    std::size_t statistics;  // numbers a class and cell
    bool reads_sparse;
    bool adds_repeats;  // may an entry of X come in parts that add up to it?
};

// What is set about an event model besides its smoothing; each event reads what concerns it.
struct EventOptions {
    explicit EventOptions(std::string const& event) : name(event) {}

    std::string name;
    bool binarize = true;    // bernoulli: x counts as present when above `threshold`; otherwise x is 0 or 1 already
    double threshold = 0;    // bernoulli
    bool normalize = false;  // complement
    bool shared = false;     // gaussian: one variance a feature for all classes
    std::vector<std::int64_t> offsets;  // categorical: the first cell of each feature, and their number at the end
};

}  // namespace tallywise::naive_bayes
