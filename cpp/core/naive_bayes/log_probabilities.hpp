// Logarithms of the parameters, a row a class: what scikit-learn calls feature_log_prob_. Scores want them a row a cell
// (estimates.hpp); who asks for these alone does not wait for the other order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "core/base/numeric.hpp"
#include "core/base/parallel.hpp"
#include "core/naive_bayes/events.hpp"

namespace tallywise::naive_bayes {

namespace detail {

// What an event calls the logarithms of its parameters: theta, unless it says otherwise.
template <class Estimate>
void log_cells(Estimate const& parameters, std::size_t c, double const* n, double const* a, double const* total,
               std::size_t size, double* to, double* constant) {
    if constexpr (requires { parameters.log_cells(c, n, a, size, to); }) {
        parameters.log_cells(c, n, a, size, to);
    } else {
        parameters.class_cells(c, n, a, total, size, to, constant);
    }
}

}  // namespace detail

// Logarithms for counts, or for what the others have (where `sums_classes`), of 0, 1, 2 ...: a row a class. Nearly all
// counts of texts are among them, and to look one up takes a third of the time of a logarithm.
template <class Event>
class UsualLogarithms {
  public:
    static constexpr std::size_t size = 512;

    explicit UsualLogarithms(typename Event::Estimate const& parameters)
        : theta_(parameters.S.classes * size), known_(!parameters.alpha.each && !parameters.alpha.has_zero) {
        if (parameters.S.cells < 2 * size) known_ = false;
        std::vector<double> rising(size), zero(size, 0.0), a(size, parameters.alpha(0)), constant(size);
        std::iota(rising.begin(), rising.end(), 0.0);
        double const *n = rising.data(), *total = zero.data();
        if (Event::sums_classes) std::swap(n, total);
        for (std::size_t c = 0; known_ && c < parameters.S.classes; ++c) {
            detail::log_cells(parameters, c, n, a.data(), total, size, theta_.data() + c * size, constant.data());
        }
    }

    // Writes those of class c that are known, and the places of the others; gives the number of these.
    std::size_t look_up(std::size_t c, double const* n, double const* total, std::size_t count, double* to,
                        std::uint32_t* others) const {
        constexpr std::size_t block = 64;  // where all are known, nothing is left to be found in a second pass
        double const* const theta = theta_.data() + c * size;
        std::size_t unknown = 0;
        auto const sum = [&](std::size_t k) { return Event::sums_classes ? total[k] - n[k] : n[k]; };
        auto const place = [](double x) {
            return static_cast<std::int32_t>(x >= 0 && x < static_cast<double>(size) ? x : 0.0);
        };
        for (std::size_t first = 0; first < count; first += block) {
            std::size_t const last = std::min(count, first + block);
            int missing = known_ ? 0 : 1;
#pragma omp simd reduction(| : missing)
            for (std::size_t k = first; k < last; ++k) {
                double const x = sum(k);
                std::int32_t const at = place(x);
                to[k] = theta[at];
                missing |= static_cast<double>(at) != x;
            }
            for (std::size_t k = first; missing != 0 && k < last; ++k) {
                others[unknown] = static_cast<std::uint32_t>(k);
                unknown += !known_ || static_cast<double>(place(sum(k))) != sum(k);
            }
        }
        return unknown;
    }

  private:
    std::vector<double> theta_;
    bool known_;
};

// `out` has S.classes rows of S.cells.
template <class Event>
void log_probabilities(typename Event::Estimate const& parameters, Statistics const& S, double* out, Team& team) {
    constexpr std::size_t grain = 4096;  // cells a chunk
    std::size_t const K = S.classes;
    UsualLogarithms<Event> const usual(parameters);
    team.each_range(S.cells, grain, [&](std::size_t begin, std::size_t end, std::size_t) {
        std::size_t const size = end - begin;
        std::vector<double> total(size, 0.0), n(size), a(size), sums(size), theta(size), constant(size);
        std::vector<std::uint32_t> others(size + 1);
        for (std::size_t c = 0; Event::sums_classes && c < K; ++c) {
            axpy(1.0, S.value + S.at(0, c, begin), total.data(), size);
        }
        for (std::size_t c = 0; c < K; ++c) {
            double const* const counts = S.value + S.at(0, c, begin);
            double* const to = out + c * S.cells + begin;
            std::size_t const unknown = usual.look_up(c, counts, total.data(), size, to, others.data());
            for (std::size_t m = 0; m < unknown; ++m) {
                n[m] = counts[others[m]];
                a[m] = parameters.alpha(begin + others[m]);
                sums[m] = total[others[m]];
            }
            detail::log_cells(parameters, c, n.data(), a.data(), sums.data(), unknown, theta.data(), constant.data());
            for (std::size_t m = 0; m < unknown; ++m) to[others[m]] = theta[m];
        }
    });
}

}  // namespace tallywise::naive_bayes
