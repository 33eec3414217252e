// Keys to sort, drawn from a seed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "kernels.hpp"

namespace quicksort {

/// `pattern`: random, sorted, reversed, equal, or few: of so many `kinds`. The same in every run.
inline std::vector<key> make_keys(const std::string& pattern, std::size_t count, unsigned kinds, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<key> keys(count);
    for (key& k : keys) k = static_cast<key>(random());
    if (pattern == "sorted") std::sort(keys.begin(), keys.end());
    if (pattern == "reversed") std::sort(keys.begin(), keys.end(), std::greater<>());
    if (pattern == "equal") std::fill(keys.begin(), keys.end(), keys.empty() ? 0 : keys[0]);
    // Spread over all keys, the least and the greatest among them: what pads a leaf is one of them, too.
    if (pattern == "few") {
        const key step = kinds == 1 ? 0 : ~key{0} / (kinds - 1);
        for (key& k : keys) k = ~key{0} - k % kinds * step;
    }
    return keys;
}

}  // namespace quicksort
