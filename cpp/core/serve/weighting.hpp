// Counts to weights: tf(c_j) scale_j, before a row is divided by its length.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tallywise::serve {

// tf is "count", "presence" or "log" (1 + log c); norm is "none" or "l2"; the scale of column j is scales[places[j]].
struct Weighting {
    enum class Tf { count, presence, log };

    Tf tf = Tf::count;
    bool unit_length = false;
    std::vector<double> scales;
    std::vector<std::uint32_t> places;

    Weighting(std::string_view tf_name, std::string_view norm, std::vector<double> table,
              std::vector<std::uint32_t> places_of_columns)
        : scales(std::move(table)), places(std::move(places_of_columns)) {
        if (tf_name == "presence") {
            tf = Tf::presence;
        } else if (tf_name == "log") {
            tf = Tf::log;
        } else if (tf_name != "count") {
            throw std::invalid_argument("Unknown weighting '" + std::string(tf_name) + "'");
        }
        if (norm != "none" && norm != "l2") throw std::invalid_argument("Unknown norm '" + std::string(norm) + "'");
        unit_length = norm == "l2";
        for (double const s : scales) {
            if (!std::isfinite(s)) throw std::invalid_argument("A scale is not finite");
        }
        for (std::uint32_t const place : places) {
            if (place >= scales.size()) throw std::invalid_argument("A scale is not in its table");
        }
        for (std::size_t c = 1; c < usual_.size(); ++c) usual_[c] = computed(static_cast<std::int32_t>(c));
    }

    // What scale_j is multiplied by.
    double factor(std::int32_t count) const {
        auto const c = static_cast<std::size_t>(count);
        return c < usual_.size() ? usual_[c] : computed(count);
    }

    // The same of counts of any kind.
    double factor(double count) const {
        auto const c = static_cast<std::int32_t>(count > 0 && count < 64 ? count : 0);
        return c > 0 && c == count ? factor(c) : computed(count);
    }

  private:
    double computed(double count) const {
        if (tf == Tf::presence) return 1.0;
        return tf == Tf::log ? 1.0 + std::log(count) : count;
    }

    std::array<double, 64> usual_{};  // of counts up to 63: most of them are 1
};

}  // namespace tallywise::serve
