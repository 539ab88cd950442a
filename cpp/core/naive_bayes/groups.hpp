// The rows of each class: rows of class c are order[start[c]] to order[start[c + 1] - 1], in rising order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tallywise::naive_bayes {

struct Groups {
    std::vector<std::size_t> order, start;

    Groups(std::int64_t const* classes, std::size_t n, std::size_t K) : order(n), start(K + 1, 0) {
        for (std::size_t i = 0; i < n; ++i) ++start[static_cast<std::size_t>(classes[i]) + 1];
        for (std::size_t c = 0; c < K; ++c) start[c + 1] += start[c];
        std::vector<std::size_t> next(start.begin(), start.end() - 1);
        for (std::size_t i = 0; i < n; ++i) order[next[static_cast<std::size_t>(classes[i])]++] = i;
    }
};

}  // namespace tallywise::naive_bayes
