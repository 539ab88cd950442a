// What a search is asked and what it answers, whatever index runs it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/base/interrupt.hpp"
#include "core/base/parallel.hpp"
#include "core/data/design.hpp"

namespace tallywise::neighbors {

// The k nearest rows of each query, or (k = 0) all rows within `radius`. A row is left out where its group is the
// query's: a query's own row (leave-one-out), or the rows of its fold.
struct SearchSpec {
    std::size_t k = 0;
    double radius = 0;
    std::int64_t const* query_groups = nullptr;  // both null, or neither
    std::int64_t const* row_groups = nullptr;
    int threads = 1;
};

// Neighbours of a query in order of (distance, row). For k nearest the lists have length k; within a radius, query i
// has the entries [begin[i], begin[i + 1]).
struct Neighbours {
    std::vector<double> distances;
    std::vector<std::int64_t> rows;
    std::vector<std::int64_t> begin;
};

// The best so far of one query.
class Nearest {
  public:
    // p: the exponent under which reduced distances were summed. `finish` may map reduced distances that differ in
    // their last bits to one distance, so the limit lets through a little more than the worst kept, and a little of
    // the reduced distance is p times a little of the distance.
    Nearest(SearchSpec const& spec, double p, double raised_radius)
        : k_(spec.k),
          radius_(spec.radius),
          slack_(1 + 0x1p-40 * (std::isfinite(p) ? std::clamp(p, 1.0, 0x1p30) : 1.0)),
          limit_(spec.k > 0 ? std::numeric_limits<double>::infinity() : raised_radius * slack_) {
        if (k_ > 0) kept_.reserve(k_);
    }

    // No row with a larger reduced distance can enter.
    double limit() const { return limit_; }

    template <class Metric>
    void offer(Metric const& metric, double reduced, std::size_t row) {
        if (!(reduced <= limit_)) return;
        Entry const entry{metric.finish(reduced), static_cast<std::int64_t>(row), reduced};
        if (k_ == 0) {
            if (entry.distance <= radius_) kept_.push_back(entry);
            return;
        }
        if (kept_.size() == k_) {
            if (!(entry < kept_.front())) return;
            std::pop_heap(kept_.begin(), kept_.end());
            kept_.back() = entry;
        } else {
            kept_.push_back(entry);
        }
        std::push_heap(kept_.begin(), kept_.end());
        if (kept_.size() == k_) limit_ = kept_.front().reduced * slack_;
    }

    std::size_t size() const { return kept_.size(); }

    // Writes what was kept, in order; returns how many.
    std::size_t write(double* distances, std::int64_t* rows) {
        std::sort(kept_.begin(), kept_.end());
        for (std::size_t i = 0; i < kept_.size(); ++i) {
            distances[i] = kept_[i].distance;
            rows[i] = kept_[i].row;
        }
        return kept_.size();
    }

  private:
    struct Entry {
        double distance;
        std::int64_t row;
        double reduced;
        bool operator<(Entry const& other) const {
            return distance < other.distance || (distance == other.distance && row < other.row);
        }
    };
    std::size_t k_;
    double radius_, slack_, limit_;
    std::vector<Entry> kept_;  // a heap with the worst in front
};

// A structure over training rows that answers searches. Immutable; safe to search from many threads.
class NeighbourIndex {
  public:
    std::shared_ptr<void const> copy;  // of rows that the caller holds in another type

    virtual ~NeighbourIndex() = default;
    virtual Neighbours search(Design const& Q, SearchSpec const& spec) const = 0;
};

// Runs solve(begin, end, nearest) over blocks of `block` queries; nearest[i - begin] collects for query i.
template <class Make, class Solve>
Neighbours search_blocks(std::size_t queries, std::size_t block, SearchSpec const& spec, Make&& make, Solve&& solve) {
    Neighbours found;
    std::size_t const blocks = Team::count(queries, block);
    std::vector<Neighbours> parts(spec.k == 0 ? blocks : 0);
    if (spec.k > 0) {
        found.distances.assign(queries * spec.k, 0);
        found.rows.assign(queries * spec.k, 0);
    }
    auto const run = [&](std::size_t chunk) {
        std::size_t const begin = chunk * block, end = std::min(queries, begin + block);
        std::vector<Nearest> nearest;
        nearest.reserve(end - begin);
        for (std::size_t i = begin; i < end; ++i) nearest.push_back(make());
        solve(begin, end, nearest.data());
        for (std::size_t i = begin; i < end; ++i) {
            Nearest& kept = nearest[i - begin];
            if (spec.k > 0) {
                if (kept.write(&found.distances[i * spec.k], &found.rows[i * spec.k]) < spec.k) {
                    throw std::invalid_argument("A query has fewer than n_neighbors = " + std::to_string(spec.k) +
                                                " rows to choose from.");
                }
                continue;
            }
            Neighbours& part = parts[chunk];
            std::size_t const at = part.rows.size();
            part.begin.push_back(static_cast<std::int64_t>(kept.size()));
            part.distances.resize(at + kept.size());
            part.rows.resize(at + kept.size());
            kept.write(part.distances.data() + at, part.rows.data() + at);
        }
    };
    Team team(spec.threads);
    constexpr std::size_t round = 32;  // blocks between two looks for Ctrl-C
    for (std::size_t first = 0; first < blocks; first += round) {
        check_interrupt();
        team.each(std::min(round, blocks - first), [&](std::size_t chunk) { run(first + chunk); });
    }
    if (spec.k > 0) return found;
    found.begin.push_back(0);
    for (Neighbours const& part : parts) {
        for (std::int64_t const length : part.begin) found.begin.push_back(found.begin.back() + length);
        found.distances.insert(found.distances.end(), part.distances.begin(), part.distances.end());
        found.rows.insert(found.rows.end(), part.rows.begin(), part.rows.end());
    }
    return found;
}

// Whether the spec lets row be a neighbour of query.
inline bool allowed(SearchSpec const& spec, std::size_t query, std::size_t row) {
    return spec.row_groups == nullptr || spec.row_groups[row] != spec.query_groups[query];
}

}  // namespace tallywise::neighbors
