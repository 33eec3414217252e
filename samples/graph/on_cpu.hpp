// The same searches on one thread of the CPU, for comparison.
#pragma once

#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "input.hpp"

namespace graphs {

/// The number of steps to each vertex; the greatest number where there is no way.
inline std::vector<unsigned> steps_from(const graph& g, vertex first) {
    std::vector<unsigned> steps(g.vertices(), ~0u);
    std::vector<vertex> frontier{first}, found;
    steps[first] = 0;
    for (unsigned step = 1; !frontier.empty(); ++step, frontier.swap(found)) {
        found.clear();
        for (const vertex from : frontier) {
            for (unsigned i = g.begin[from]; i < g.begin[from + 1]; ++i) {
                if (steps[g.neighbours[i]] != ~0u) continue;
                steps[g.neighbours[i]] = step;
                found.push_back(g.neighbours[i]);
            }
        }
    }
    return steps;
}

/// The length of the shortest way to each vertex, likewise (Dijkstra).
inline std::vector<unsigned> lengths_from(const graph& g, vertex first) {
    using entry = std::pair<unsigned, vertex>;
    std::vector<unsigned> lengths(g.vertices(), ~0u);
    std::priority_queue<entry, std::vector<entry>, std::greater<>> next;
    lengths[first] = 0;
    next.push({0, first});
    while (!next.empty()) {
        const auto [length, from] = next.top();
        next.pop();
        if (length != lengths[from]) continue;
        for (unsigned i = g.begin[from]; i < g.begin[from + 1]; ++i) {
            const unsigned way = length + g.weights[i];
            if (way >= lengths[g.neighbours[i]]) continue;
            lengths[g.neighbours[i]] = way;
            next.push({way, g.neighbours[i]});
        }
    }
    return lengths;
}

}  // namespace graphs
