// Distances between a query and the rows of a dense design.
//
// Every search ends here: whatever shortcut found a candidate, its distance is computed by `reduced`, from direct
// differences in float64 and in one order of summation, so that all searches agree to the last bit. `reduced` is a
// cheap increasing function of the distance (the sum before its root); `finish` takes the root, `raise` undoes it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/registry.hpp"
#include "core/data/design.hpp"

namespace tallywise::neighbors {

// A norm is (sum_j term(|u_j - v_j|))^(1/p), or the largest term.

// sum_j |u_j - v_j|
struct Manhattan {
    static constexpr std::string_view name = "manhattan";
    static constexpr bool largest = false;
    static double p() { return 1; }
    static double term(double difference) { return difference; }
    static double finish(double reduced) { return reduced; }
    static double raise(double distance) { return distance; }
};

// sqrt(sum_j (u_j - v_j)^2)
struct Euclidean {
    static constexpr std::string_view name = "euclidean";
    static constexpr bool largest = false;
    static double p() { return 2; }
    static double term(double difference) { return difference * difference; }
    static double finish(double reduced) { return std::sqrt(reduced); }
    static double raise(double distance) { return distance * distance; }
};

// max_j |u_j - v_j|
struct Chebyshev {
    static constexpr std::string_view name = "chebyshev";
    static constexpr bool largest = true;
    static double p() { return std::numeric_limits<double>::infinity(); }
    static double term(double difference) { return difference; }
    static double finish(double reduced) { return reduced; }
    static double raise(double distance) { return distance; }
};

// (sum_j |u_j - v_j|^(N/2))^(2/N), the powers by products and one square root: p = 1.5, 2.5, 3, 3.5, 4
template <int N>
struct HalfPower {
    static constexpr bool largest = false;
    static double p() { return N / 2.0; }
    static double term(double difference) {
        double power = N % 2 ? std::sqrt(difference) : 1.0;
        for (int i = 0; i < N / 2; ++i) power *= difference;
        return power;
    }
    static double finish(double reduced) { return N == 6 ? std::cbrt(reduced) : std::pow(reduced, 2.0 / N); }
    static double raise(double distance) { return term(distance); }
};

// (sum_j |u_j - v_j|^p)^(1/p)
struct Minkowski {
    static constexpr std::string_view name = "minkowski";
    static constexpr bool largest = false;
    double exponent = 2;
    double p() const { return exponent; }
    double term(double difference) const { return std::pow(difference, exponent); }
    double finish(double reduced) const { return std::pow(reduced, 1 / exponent); }
    double raise(double distance) const { return std::pow(distance, exponent); }
};

// Not a norm of the difference: entries of the list for their names, computed in RowsOf below.
struct Cosine {  // 1 - <u, v> / (|u| |v|)
    static constexpr std::string_view name = "cosine";
};
struct Hamming {  // share of columns in which u and v differ
    static constexpr std::string_view name = "hamming";
};
struct Jaccard {  // 1 - |u and v| / |u or v| of the sets of columns that are not zero; 0 for two empty sets
    static constexpr std::string_view name = "jaccard";
};

using Metrics = Registry<Manhattan, Euclidean, Chebyshev, Minkowski, Cosine, Hamming, Jaccard>;

// f(norm) with the fastest type that computes the Minkowski norm p.
template <class F>
decltype(auto) visit_norm(double p, F&& f) {
    if (p == 1) return f(Manhattan{});
    if (p == 1.5) return f(HalfPower<3>{});
    if (p == 2) return f(Euclidean{});
    if (p == 2.5) return f(HalfPower<5>{});
    if (p == 3) return f(HalfPower<6>{});
    if (p == 3.5) return f(HalfPower<7>{});
    if (p == 4) return f(HalfPower<8>{});
    if (p == std::numeric_limits<double>::infinity()) return f(Chebyshev{});
    return f(Minkowski{p});
}

// Never inlined: a copy vectorised differently at another call would round differently.
template <class Norm, class T>
[[gnu::noinline]] double reduced_distance(Norm const norm, double const* u, T const* v, std::size_t d) {
    double total = 0;
    if constexpr (Norm::largest) {
#pragma omp simd reduction(max : total)
        for (std::size_t j = 0; j < d; ++j) total = std::max(total, std::abs(u[j] - static_cast<double>(v[j])));
    } else {
#pragma omp simd reduction(+ : total)
        for (std::size_t j = 0; j < d; ++j) total += norm.term(std::abs(u[j] - static_cast<double>(v[j])));
    }
    return total;
}

// Below this, half the squared difference of two unit vectors is rounding: the directions are the same.
inline constexpr double same_direction = 0x1p-100;

// 1 / |x|, or 0 for a row of zeros; scaled, so that entries near the ends of the range do not overflow.
template <class Values>
double inverse_norm(Values const* x, std::size_t n) {
    double top = 0;
    for (std::size_t j = 0; j < n; ++j) top = std::max(top, std::abs(static_cast<double>(x[j])));
    if (top == 0) return 0;
    double total = 0;
    for (std::size_t j = 0; j < n; ++j) total += (static_cast<double>(x[j]) / top) * (static_cast<double>(x[j]) / top);
    return 1 / std::sqrt(total) / top;
}

// The rows of a dense design under one metric.
class Rows {
  public:
    virtual ~Rows() = default;

    std::size_t count() const { return count_; }
    std::size_t width() const { return width_; }
    double p() const { return p_; }  // of the norm; 0 where the metric is none

    // Brings a query, already float64, into the form that `reduced` takes.
    virtual void prepare(double*) const {}
    virtual double reduced(double const* query, std::size_t row) const = 0;
    virtual double finish(double reduced) const = 0;
    virtual double raise(double distance) const = 0;
    // Copies a row, in the form of a prepared query.
    virtual void copy(std::size_t row, double* to) const = 0;
    // Asks the processor to bring a row closer.
    virtual void prefetch(std::size_t row) const = 0;

  protected:
    Rows(std::size_t count, std::size_t width, double p) : count_(count), width_(width), p_(p) {}
    std::size_t count_, width_;
    double p_;
};

namespace detail {

template <class T>
class DenseRows : public Rows {
  public:
    DenseRows(Dense<T> const& X, double p) : Rows(X.lines, X.width, p), X_(X) {}
    void copy(std::size_t row, double* to) const override { std::copy(at(row), at(row) + width_, to); }
    void prefetch(std::size_t row) const override {
        auto const* begin = reinterpret_cast<char const*>(at(row));
        for (std::size_t k = 0; k < std::min<std::size_t>(width_ * sizeof(T), 4096); k += 64) {
            __builtin_prefetch(begin + k);
        }
    }

  protected:
    T const* at(std::size_t row) const { return X_.data + row * X_.stride; }
    Dense<T> X_;
};

template <class Norm, class T>
class NormRows final : public DenseRows<T> {
  public:
    NormRows(Norm norm, Dense<T> const& X) : DenseRows<T>(X, norm.p()), norm_(norm) {}
    double reduced(double const* query, std::size_t row) const override {
        return reduced_distance(norm_, query, this->at(row), this->width_);
    }
    double finish(double reduced) const override { return norm_.finish(reduced); }
    double raise(double distance) const override { return norm_.raise(distance); }

  private:
    Norm norm_;
};

// Half the squared difference of the unit vectors, which keeps its digits where 1 - <u, v> loses them. A row of zeros
// has no direction: it is at distance 1 from everything, itself included, as in scikit-learn.
template <class T>
class CosineRows final : public DenseRows<T> {
  public:
    explicit CosineRows(Dense<T> const& X) : DenseRows<T>(X, 0), inverse_(X.lines) {
        for (std::size_t row = 0; row < X.lines; ++row) inverse_[row] = inverse_norm(this->at(row), X.width);
    }
    void prepare(double* query) const override {
        double const inverse = inverse_norm(query, this->width_);
        for (std::size_t j = 0; j < this->width_; ++j) query[j] *= inverse;
    }
    void copy(std::size_t row, double* to) const override {
        T const* x = this->at(row);
        for (std::size_t j = 0; j < this->width_; ++j) to[j] = static_cast<double>(x[j]) * inverse_[row];
    }
    double reduced(double const* query, std::size_t row) const override {
        double const half = half_squared(query, this->at(row), inverse_[row], this->width_);
        // A unit vector is at half-squared difference 1/2 from zero, and zero at 0: neither can be told from the sum.
        if (inverse_[row] == 0 || query_is_zero(query)) return 1;
        return half < same_direction ? 0 : half;
    }
    double finish(double reduced) const override { return reduced; }
    double raise(double distance) const override { return distance; }

  private:
    [[gnu::noinline]] static double half_squared(double const* u, T const* v, double scale, std::size_t d) {
        double total = 0;
#pragma omp simd reduction(+ : total)
        for (std::size_t j = 0; j < d; ++j) {
            double const difference = u[j] - static_cast<double>(v[j]) * scale;
            total += difference * difference;
        }
        return total / 2;
    }
    bool query_is_zero(double const* query) const {
        return std::all_of(query, query + this->width_, [](double x) { return x == 0; });
    }
    std::vector<double> inverse_;
};

template <class T>
class HammingRows final : public DenseRows<T> {
  public:
    explicit HammingRows(Dense<T> const& X) : DenseRows<T>(X, 0) {}
    double reduced(double const* query, std::size_t row) const override {
        T const* x = this->at(row);
        std::size_t differ = 0;
        for (std::size_t j = 0; j < this->width_; ++j) differ += query[j] != static_cast<double>(x[j]);
        return static_cast<double>(differ) / static_cast<double>(this->width_);
    }
    double finish(double reduced) const override { return reduced; }
    double raise(double distance) const override { return distance; }
};

template <class T>
class JaccardRows final : public DenseRows<T> {
  public:
    explicit JaccardRows(Dense<T> const& X) : DenseRows<T>(X, 0) {}
    double reduced(double const* query, std::size_t row) const override {
        T const* x = this->at(row);
        std::size_t both = 0, either = 0;
        for (std::size_t j = 0; j < this->width_; ++j) {
            bool const u = query[j] != 0, v = x[j] != T(0);
            both += u && v;
            either += u || v;
        }
        return either == 0 ? 0 : static_cast<double>(either - both) / static_cast<double>(either);
    }
    double finish(double reduced) const override { return reduced; }
    double raise(double distance) const override { return distance; }
};

}  // namespace detail

// What `norm(norm)`, or the maker of Cosine, Hamming or Jaccard, makes for a metric by name. `p` counts for minkowski
// alone.
template <class Made, class Norm, class... Others>
std::unique_ptr<Made> make_by_metric(std::string_view metric, double p, Norm&& norm, Others&&... others) {
    struct Makers : std::remove_reference_t<Others>... {
        using std::remove_reference_t<Others>::operator()...;
    };
    Makers const other{others...};
    return Metrics::visit("metric", metric, [&]<class M>() -> std::unique_ptr<Made> {
        if constexpr (std::is_invocable_v<Makers const&, M>) {
            return other(M{});
        } else if constexpr (std::is_same_v<M, Minkowski>) {
            if (!(p >= 1)) {
                throw std::invalid_argument("The 'p' of the Minkowski metric must be at least 1. Got " +
                                            std::to_string(p) + ".");
            }
            return visit_norm(p, norm);
        } else {
            return norm(M{});
        }
    });
}

template <class T>
std::unique_ptr<Rows> make_rows(Dense<T> const& X, std::string_view metric, double p) {
    using Made = std::unique_ptr<Rows>;
    return make_by_metric<Rows>(
        metric, p, [&](auto norm) -> Made { return std::make_unique<detail::NormRows<decltype(norm), T>>(norm, X); },
        [&](Cosine) -> Made { return std::make_unique<detail::CosineRows<T>>(X); },
        [&](Hamming) -> Made { return std::make_unique<detail::HammingRows<T>>(X); },
        [&](Jaccard) -> Made { return std::make_unique<detail::JaccardRows<T>>(X); });
}

}  // namespace tallywise::neighbors
