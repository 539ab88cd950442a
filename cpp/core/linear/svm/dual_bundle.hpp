// Several problems on the same rows whose sweeps have parted (dual_descent.hpp), and which still pass over all rows
// together.
//
// Near the end a problem is busy with few rows of its own, and what costs is the pass over all rows that gives its
// exact gap: 60 of 100 parts of the time of 77 classes of short texts. One pass over X serves a register of problems.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/data/row_lanes.hpp"
#include "core/linear/svm/dual_descent.hpp"

namespace tallywise::linear::svm {

template <class Rows, class Loss>
class DualBundle {
    using Member = DualDescent<Rows, Loss, 1>;

  public:
    static constexpr std::size_t most = 8;

    DualBundle(Rows const& X, std::vector<std::uint32_t> const& order) : X_(X), order_(order) {}

    // At most `most` of them, which live as long as the bundle.
    void add(Member& member) { members_.push_back(&member); }

    static bool thin() { return false; }
    bool done() const {
        return std::all_of(members_.begin(), members_.end(), [](Member const* member) { return member->done(); });
    }

    // Works until done or until about `budget` entries of X have been read. What a member does depends neither on the
    // others nor on where the work is cut.
    void advance(std::size_t budget) {
        std::size_t spent = 0;
        while (!done() && spent < budget) {
            std::erase_if(members_, [](Member const* member) { return member->done(); });
            for (Member* member : members_) spent += member->sweep_until_pass();
            pass();
            spent += X_.nonzeros();
        }
    }

  private:
    void pass() {
        w_.resize(X_.width * most);
        std::array<double const*, most> sources;
        for (std::size_t m = 0; m < members_.size(); ++m) {
            members_[m]->begin_pass();
            sources[m] = members_[m]->weights();
        }
        for (std::size_t j = 0; j < X_.width; ++j) {
            for (std::size_t m = 0; m < members_.size(); ++m) w_[j * most + m] = sources[m][j];
        }
        std::array<double, most> z;
        each_row(X_, order_, [&](std::size_t i) {
            RowLanes<Rows, most>::dot(X_, i, w_.data(), z.data());
            for (std::size_t m = 0; m < members_.size(); ++m) members_[m]->take_score(i, z[m]);
        });
        for (Member* member : members_) member->end_pass();
    }

    Rows const& X_;
    std::vector<std::uint32_t> const& order_;
    std::vector<Member*> members_;
    std::vector<double> w_;
};

}  // namespace tallywise::linear::svm
