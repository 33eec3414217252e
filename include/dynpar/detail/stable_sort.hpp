// Sorting without <algorithm>: each of nvcc's passes reads every header, and that one is long.
#pragma once

#include <cstddef>
#include <vector>

namespace dynpar {
namespace detail {

/// Sorts numbers, most often of what is to be in order; of equal ones the first stays first. `before(a, b)`: whether a
/// comes before b. A merge sort: runs of 1, 2, 4 ... in order become runs of twice as many.
template <class Before>
void stable_sort(std::vector<unsigned>& numbers, const Before& before) {
    std::vector<unsigned> merged(numbers.size());
    const std::size_t size = numbers.size();
    for (std::size_t run = 1; run < size; run *= 2) {
        for (std::size_t begin = 0; begin < size; begin += 2 * run) {
            const std::size_t middle = size - begin < run ? size : begin + run;
            const std::size_t end = size - middle < run ? size : middle + run;
            std::size_t left = begin, right = middle;
            for (std::size_t to = begin; to != end; ++to) {
                const bool takes_right = right != end && (left == middle || before(numbers[right], numbers[left]));
                merged[to] = numbers[takes_right ? right++ : left++];
            }
        }
        numbers.swap(merged);
    }
}

}  // namespace detail
}  // namespace dynpar
