// Perceptrons of several classes, each against the rest: which of them go side by side, and on which thread.
//
// A group reads a row of X once for all its classes. Classes come to their ends at different passes (20 newsgroups:
// after 5 to 20), and those that are left move together. All see the rows in one order, so that no class depends on its
// company, and groups may be as many as there are threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/interrupt.hpp"
#include "core/base/parallel.hpp"
#include "core/linear/distinct_rows.hpp"
#include "core/linear/online/perceptron.hpp"

namespace tallywise::linear::online {

template <class Rows>
class Perceptrons {
  public:
    // data.s holds the weights of the rows in `order`.
    Perceptrons(Rows const& X, PerceptronRows const& data, PerceptronOrder order, PerceptronOptions const& options)
        : X_(X), data_(data), order_(std::move(order)), options_(options), team_(options.threads) {}

    // One class against the rest for each state; the second class for a single one.
    void fit(std::span<PerceptronState> states) {
        std::vector<PerceptronClass> classes(states.size());
        for (std::size_t k = 0; k < states.size(); ++k) {
            classes[k].code = static_cast<std::int64_t>(states.size() == 1 ? 1 : k);
            classes[k].factor = data_.factor + 2 * k;
            classes[k].state = std::move(states[k]);
            classes[k].state.epochs = 0;
        }
        alone_ = states.size() == 1;
        form(std::move(classes));
        for (int done = 0; live() > 0;) {
            check_interrupt();
            int const epochs = std::min(between(), std::max(done / 4, 1));
            team_.each(groups_.size(),
                       [&](std::size_t g) { std::visit([&](auto& group) { group->advance(epochs); }, groups_[g]); });
            done += epochs;
            if (live() > 0 && cost(live()) < cost_) form(part());
        }
        for (PerceptronClass& one : part()) {
            states[static_cast<std::size_t>(alone_ ? 0 : one.code)] = std::move(one.state);
        }
    }

  private:
    template <std::size_t L>
    using Group = std::unique_ptr<Perceptron<Rows, L>>;

    // Passes between two looks at the keyboard.
    int between() const {
        return static_cast<int>(std::clamp<std::size_t>((std::size_t{1} << 26) / (X_.nonzeros() + 1), 1, 1000));
    }
    std::size_t live() const {
        std::size_t total = 0;
        for (auto const& group : groups_) total += std::visit([](auto const& some) { return some->live(); }, group);
        return total;
    }
    // Groups of some classes, as even as they can be: one or more a thread, of 12 classes at most.
    std::size_t groups_of(std::size_t classes) const {
        auto const threads = static_cast<std::size_t>(std::max(team_.threads(), 1));
        std::size_t const rounds = (classes + 12 * threads - 1) / (12 * threads);
        return std::min(rounds * threads, classes);
    }
    // Registers of lanes that a pass of all classes takes.
    std::size_t cost(std::size_t classes) const {
        std::size_t const groups = groups_of(classes), largest = (classes + groups - 1) / groups;
        return groups * ((largest + 3) / 4);
    }

    // The classes of all groups; those that are done stay behind.
    std::vector<PerceptronClass> part() {
        std::vector<PerceptronClass> classes = std::move(done_);
        for (auto& group : groups_) {
            std::visit(
                [&](auto& some) {
                    if (some->live() > 0) order_ = some->order();  // the others have stopped on the way
                    std::ranges::move(some->part(), std::back_inserter(classes));
                },
                group);
        }
        groups_.clear();
        return classes;
    }

    void form(std::vector<PerceptronClass> classes) {
        auto const middle =
            std::stable_partition(classes.begin(), classes.end(), [](auto const& one) { return !one.over; });
        done_.assign(std::make_move_iterator(middle), std::make_move_iterator(classes.end()));
        classes.erase(middle, classes.end());
        cost_ = cost(classes.size());
        groups_.resize(groups_of(classes.size()));
        team_.each(groups_.size(), [&](std::size_t g) {
            std::vector<PerceptronClass> some;
            for (std::size_t k = g; k < classes.size(); k += groups_.size()) some.push_back(std::move(classes[k]));
            if (alone_) {
                groups_[g] = make<1>(std::move(some));
            } else if (some.size() <= 4) {
                groups_[g] = make<4>(std::move(some));
            } else if (some.size() <= 8) {
                groups_[g] = make<8>(std::move(some));
            } else {
                groups_[g] = make<12>(std::move(some));
            }
        });
    }
    template <std::size_t L>
    Group<L> make(std::vector<PerceptronClass> classes) const {
        return std::make_unique<Perceptron<Rows, L>>(X_, data_, order_, options_, std::move(classes));
    }

    Rows const& X_;
    PerceptronRows data_;
    PerceptronOrder order_;
    PerceptronOptions options_;
    Team team_;
    std::vector<std::variant<Group<1>, Group<4>, Group<8>, Group<12>>> groups_;
    std::vector<PerceptronClass> done_;
    std::size_t cost_ = 0;
    bool alone_ = false;
};

inline void fit_perceptrons(Design const& X, PerceptronRows data, PerceptronOptions const& options,
                            std::vector<PerceptronState>& states) {
    visit_real(X, [&](auto const& view) {
        std::vector<double> weights(data.s, data.s + view.lines);
        for (std::size_t i = 0; i < view.lines; ++i) weights[i] = data.held[i] != 0 ? 0.0 : weights[i];
        DistinctRows const rows = options.shuffle ? DistinctRows::of(view, data.codes, weights.data(), options.seed)
                                                  : DistinctRows::plain(weights.data(), view.lines);
        data.s = rows.s.data();
        std::uint64_t const stream = SplitMix{options.seed}.next();  // what hashes the rows does not shuffle them too
        Perceptrons<std::remove_cvref_t<decltype(view)>>(view, data, {rows.order, {stream}}, options)
            .fit(std::span(states));
        return 0;
    });
}

}  // namespace tallywise::linear::online
