// The families, and their sums on the CPU.
#pragma once

#include <cstddef>
#include <random>
#include <utility>
#include <vector>

#include "kernels.hpp"

namespace families {

/// Where the children of each parent begin, and where the last ones end. The parent with most has `longest`, the next
/// one half of that, the third a third; in an order drawn from the seed.
inline std::vector<unsigned> draw_families(unsigned parents, unsigned longest, unsigned seed) {
    std::vector<unsigned> children(parents);
    for (unsigned i = 0; i < parents; ++i) children[i] = longest / (i + 1);
    std::mt19937 random(seed);
    for (unsigned left = parents; left > 1; --left) std::swap(children[left - 1], children[random() % left]);
    std::vector<unsigned> begin{0};
    for (const unsigned count : children) begin.push_back(begin.back() + count);
    return begin;
}

inline std::vector<number> sums_on_cpu(const std::vector<unsigned>& begin) {
    std::vector<number> sums(begin.size() - 1);
    for (std::size_t i = 0; i < sums.size(); ++i)
        for (unsigned child = begin[i]; child < begin[i + 1]; ++child) sums[i] += work_of(child);
    return sums;
}

}  // namespace families
