// Gradient boosting of small trees on columns in bins.
//
// Minimises sum_i w_i l(y_i, z_i) over sums of trees z, one tree per score and round, grown leaf by leaf from the split
// of largest gain; a leaf adds -rate G / (H + l2). Given: bins, targets and first scores of the rows learned from and of
// rows held out. Ends when the held-out loss has not fallen for `patience` rounds, and gives back the rounds up to the
// least loss, with the held-out scores there. (Friedman 2001, Greedy function approximation, Annals of Statistics 29.)
//
// A histogram is summed by one thread in the order of the rows, so the bytes do not depend on the number of threads.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "core/base/interrupt.hpp"
#include "core/base/parallel.hpp"
#include "core/trees/forest.hpp"
#include "core/trees/losses.hpp"
#include "core/trees/split.hpp"

namespace tallywise::trees {

struct Rows {
    Bins X;
    double const *y, *weights, *base;  // base: first scores, (rows, outputs)
};

struct BoostProblem {
    std::string loss;
    std::size_t outputs = 1, leaves = 3;
    double rate = 0.3;
    SplitRule rule;
    int patience = 30, rounds = 2000, threads = 1;
};

struct Boosted {
    Forest forest;
    std::vector<double> held_out;  // scores of the rows held out
    double loss = 0;               // their mean loss
};

namespace detail {

struct Step {
    float g, h;
};

// Grows one tree at a time; what it needs from tree to tree stays allocated.
class Grower {
  public:
    Grower(Bins const& X, std::int32_t const* sizes, std::uint8_t const* ordered, BoostProblem const& problem,
           Team& team)
        : X_(X),
          sizes_(sizes),
          ordered_(ordered),
          problem_(problem),
          team_(team),
          starts_(X.columns + 1),
          rows_(X.rows),
          spare_(X.rows) {
        for (std::size_t j = 0; j < X.columns; ++j) {
            starts_[j + 1] = starts_[j] + static_cast<std::size_t>(sizes[j]);
            categories_ |= ordered[j] == 0;
        }
    }

    // Appends a tree to the forest and adds its leaves to the scores of the rows; false where no split gains.
    bool grow(Step const* steps, double* scores, Forest& forest) {
        steps_ = steps;
        std::iota(rows_.begin(), rows_.end(), 0);
        leaves_.clear();
        Sums all;
        for (std::size_t i = 0; i < X_.rows; ++i) all += {steps[i].g, steps[i].h, 1.0};
        std::size_t const first = forest.nodes();
        add_node(forest, all);
        leaves_.push_back({first, 0, X_.rows, all, {}, take_histogram()});
        build(leaves_[0]);
        find(leaves_[0]);
        while (leaves_.size() < problem_.leaves) {
            auto const best = std::max_element(leaves_.begin(), leaves_.end(), [](Leaf const& a, Leaf const& b) {
                return a.split.gain < b.split.gain;
            });
            if (best->split.feature < 0) break;
            divide(static_cast<std::size_t>(best - leaves_.begin()), forest);
        }
        for (Leaf& leaf : leaves_) {
            double const value = forest.value[leaf.node];
            for (std::size_t i = leaf.begin; i < leaf.end; ++i) {
                scores[static_cast<std::size_t>(rows_[i]) * problem_.outputs] += value;
            }
            if (!leaf.histogram.empty()) free_.push_back(std::move(leaf.histogram));
        }
        forest.roots.push_back(static_cast<std::int32_t>(first));
        return leaves_.size() > 1;
    }

  private:
    struct Leaf {
        std::size_t node, begin, end;
        Sums all;
        Split split;
        std::vector<Sums> histogram;
    };

    void add_node(Forest& forest, Sums const& all) const {
        forest.feature.push_back(-1);
        forest.cut.push_back(0);
        forest.left.push_back(0);
        forest.missing.push_back(0);
        forest.value.push_back(-problem_.rate * all.g / (all.h + problem_.rule.l2));
    }

    std::vector<Sums> take_histogram() {
        if (free_.empty()) return std::vector<Sums>(starts_.back());
        std::vector<Sums> found = std::move(free_.back());
        free_.pop_back();
        return found;
    }

    // Columns per chunk of work, so that a chunk has enough to do.
    std::size_t grain(std::size_t rows) const {
        return std::max<std::size_t>(1, 16384 / std::max<std::size_t>(rows, 1));
    }

    void build(Leaf& leaf) {
        std::size_t const rows = leaf.end - leaf.begin;
        team_.each_range(X_.columns, grain(rows), [&](std::size_t begin, std::size_t end, std::size_t) {
            for (std::size_t j = begin; j < end; ++j) {
                Sums* const bins = leaf.histogram.data() + starts_[j];
                std::fill_n(bins, sizes_[j], Sums{});
                std::uint8_t const* const column = X_.column(j);
                auto const add = [&](std::size_t row) { bins[column[row]] += {steps_[row].g, steps_[row].h, 1.0}; };
                if (rows == X_.rows) {
                    for (std::size_t row = 0; row < rows; ++row) add(row);
                } else {
                    for (std::size_t i = leaf.begin; i < leaf.end; ++i) add(static_cast<std::size_t>(rows_[i]));
                }
            }
        });
    }

    void find(Leaf& leaf) {
        leaf.split = {};
        if (leaf.all.n < 2 * problem_.rule.least_rows) return;
        double noise = 0;
        if (categories_) {
            for (std::size_t i = leaf.begin; i < leaf.end; ++i) {
                double const g = steps_[rows_[i]].g;
                noise += g * g;
            }
            noise /= std::max(leaf.all.h, 1e-300);
        }
        splits_.assign(X_.columns, {});
        team_.each_range(X_.columns, 32, [&](std::size_t begin, std::size_t end, std::size_t) {
            for (std::size_t j = begin; j < end; ++j) {
                Sums const* const bins = leaf.histogram.data() + starts_[j];
                auto const size = static_cast<std::size_t>(sizes_[j]);
                if (ordered_[j] != 0) {
                    split_ordered(bins, size, leaf.all, problem_.rule, splits_[j]);
                } else {
                    split_levels(bins, size, leaf.all, noise, problem_.rule, splits_[j]);
                }
                splits_[j].feature = splits_[j].gain > 1e-10 ? static_cast<std::int32_t>(j) : -1;
                if (splits_[j].feature < 0) splits_[j].gain = 0;
            }
        });
        for (Split const& split : splits_) {
            if (split.gain > leaf.split.gain) leaf.split = split;
        }
    }

    void divide(std::size_t which, Forest& forest) {
        Split const split = leaves_[which].split;
        std::size_t const node = leaves_[which].node, begin = leaves_[which].begin, end = leaves_[which].end;
        auto const j = static_cast<std::size_t>(split.feature);
        std::uint8_t const* const column = X_.column(j);
        bool const ordered = ordered_[j] != 0;
        std::size_t middle = begin, rest = 0;
        for (std::size_t i = begin; i < end; ++i) {
            std::int32_t const row = rows_[i];
            std::uint8_t const bin = column[row];
            bool const left = !ordered               ? (split.levels[bin / 64] >> (bin % 64) & 1) != 0
                              : bin == sizes_[j] - 1 ? split.missing_left
                                                     : bin <= split.cut;
            if (left) {
                rows_[middle++] = row;
            } else {
                spare_[rest++] = row;
            }
        }
        std::copy_n(spare_.begin(), rest, rows_.begin() + static_cast<std::ptrdiff_t>(middle));
        forest.feature[node] = split.feature;
        forest.left[node] = static_cast<std::int32_t>(forest.nodes());
        forest.missing[node] = split.missing_left ? 1 : 0;
        forest.cut[node] = split.cut;
        if (!ordered) {
            forest.cut[node] = static_cast<std::int32_t>(forest.sets.size() / 4);
            forest.sets.insert(forest.sets.end(), split.levels.begin(), split.levels.end());
        }
        Leaf left{forest.nodes(), begin, middle, split.left, {}, {}};
        Leaf right{forest.nodes() + 1, middle, end, leaves_[which].all - split.left, {}, {}};
        add_node(forest, left.all);
        add_node(forest, right.all);
        if (leaves_.size() + 1 < problem_.leaves) {  // the last two leaves are not divided
            Leaf& small = left.end - left.begin <= right.end - right.begin ? left : right;
            Leaf& large = &small == &left ? right : left;
            small.histogram = take_histogram();
            large.histogram = std::move(leaves_[which].histogram);
            build(small);
            for (std::size_t b = 0; b < large.histogram.size(); ++b) {
                large.histogram[b] = large.histogram[b] - small.histogram[b];
                if (large.histogram[b].n == 0) large.histogram[b] = {};  // no rows: what is left is rounding
            }
            find(small);
            find(large);
        } else {
            free_.push_back(std::move(leaves_[which].histogram));
        }
        leaves_[which] = std::move(left);
        leaves_.push_back(std::move(right));
    }

    Bins X_;
    std::int32_t const* sizes_;
    std::uint8_t const* ordered_;
    BoostProblem const& problem_;
    Team& team_;
    std::vector<std::size_t> starts_;
    std::vector<std::int32_t> rows_, spare_;
    std::vector<Leaf> leaves_;
    std::vector<std::vector<Sums>> free_;
    std::vector<Split> splits_;
    Step const* steps_ = nullptr;
    bool categories_ = false;
};

inline void keep_trees(Forest& forest, std::size_t trees) {
    if (trees >= forest.roots.size()) return;
    auto const nodes = static_cast<std::size_t>(forest.roots[trees]);
    forest.roots.resize(trees);
    for (auto* part : {&forest.feature, &forest.cut, &forest.left, &forest.missing}) part->resize(nodes);
    forest.value.resize(nodes);
}

template <class Loss>
double mean_loss(Rows const& rows, std::vector<double> const& z, std::size_t K, Team& team) {
    struct Total {
        double loss = 0, weight = 0;
        Total& operator+=(Total const& other) {
            loss += other.loss, weight += other.weight;
            return *this;
        }
    };
    Total const total = team.sum<Total>(rows.X.rows, row_grain, [&](std::size_t begin, std::size_t end) {
        Total part;
        for (std::size_t i = begin; i < end; ++i) {
            part += {rows.weights[i] * Loss::value(rows.y[i], z.data() + i * K, K), rows.weights[i]};
        }
        return part;
    });
    return total.loss / std::max(total.weight, 1e-300);
}

template <class Loss>
Boosted boost_by(Rows const& train, Rows const& held, std::int32_t const* sizes, std::uint8_t const* ordered,
                 BoostProblem const& problem) {
    Team team(problem.threads);
    std::size_t const n = train.X.rows, K = problem.outputs;
    Boosted found;
    Forest& forest = found.forest;
    forest.outputs = K;
    std::vector<double> z(train.base, train.base + n * K), held_z(held.base, held.base + held.X.rows * K);
    std::vector<Step> steps(n * K);
    Grower grower(train.X, sizes, ordered, problem, team);
    found.held_out = held_z;
    found.loss = mean_loss<Loss>(held, held_z, K, team);
    std::size_t kept = 0;
    int waited = 0;
    for (int round = 0; round < problem.rounds && waited < problem.patience; ++round, ++waited) {
        check_interrupt();
        team.each_range(n, row_grain, [&](std::size_t begin, std::size_t end, std::size_t) {
            std::vector<Slope> slopes(K);
            for (std::size_t i = begin; i < end; ++i) {
                Loss::slopes(train.y[i], z.data() + i * K, K, slopes.data());
                for (std::size_t k = 0; k < K; ++k) {
                    steps[k * n + i] = {static_cast<float>(train.weights[i] * slopes[k].gradient),
                                        static_cast<float>(train.weights[i] * slopes[k].curvature)};
                }
            }
        });
        std::size_t const first = forest.roots.size();
        bool split = false;
        for (std::size_t k = 0; k < K; ++k) split |= grower.grow(steps.data() + k * n, z.data() + k, forest);
        if (!split) break;
        ForestView const view{forest.feature.data(),
                              forest.cut.data(),
                              forest.left.data(),
                              forest.missing.data(),
                              forest.value.data(),
                              forest.roots.data() + first,
                              forest.sets.data(),
                              forest.nodes(),
                              K,
                              forest.sets.size() / 4,
                              K,
                              sizes,
                              ordered};
        add_scores(view, held.X, held_z.data(), team);
        double const loss = mean_loss<Loss>(held, held_z, K, team);
        if (loss < found.loss) {
            found.loss = loss;
            found.held_out = held_z;
            kept = forest.roots.size();
            waited = -1;
        }
    }
    keep_trees(forest, kept);
    return found;
}

}  // namespace detail

inline Boosted boost(Rows const& train, Rows const& held, std::int32_t const* sizes, std::uint8_t const* ordered,
                     BoostProblem const& problem) {
    return Losses::visit("loss of trees", problem.loss,
                         [&]<class Loss>() { return detail::boost_by<Loss>(train, held, sizes, ordered, problem); });
}

}  // namespace tallywise::trees
