// The same searches on one thread of the CPU, for comparison.
#pragma once

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <utility>
#include <vector>

#include "colouring.hpp"
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

/// The weight of a minimum spanning forest, and how many edges it has (Kruskal).
struct forest_size {
    unsigned long long weight;
    unsigned edges;
};
inline forest_size forest_of(const graph& g) {
    std::vector<edge> edges;
    for (vertex from = 0; from < g.vertices(); ++from)
        for (unsigned i = g.begin[from]; i < g.begin[from + 1]; ++i)
            if (from < g.neighbours[i]) edges.push_back({from, g.neighbours[i], g.weights[i]});
    std::sort(edges.begin(), edges.end(), [](const edge& a, const edge& b) { return a.length < b.length; });
    std::vector<vertex> above(g.vertices());
    std::iota(above.begin(), above.end(), vertex{0});
    const auto root_of = [&](vertex v) {
        while (above[v] != v) v = above[v] = above[above[v]];
        return v;
    };
    forest_size size{};
    for (const edge& e : edges) {
        const vertex from = root_of(e.from), to = root_of(e.to);
        if (from == to) continue;
        above[from] = to;
        size.weight += e.length;
        ++size.edges;
    }
    return size;
}

/// The colours that the vertices get one after another, in the order of their ranks: each the least that is free.
inline std::vector<unsigned> colours_of(const graph& g) {
    std::vector<vertex> order(g.vertices());
    std::iota(order.begin(), order.end(), vertex{0});
    std::sort(order.begin(), order.end(), [](vertex a, vertex b) { return rank_of(a) > rank_of(b); });
    std::vector<unsigned> colours(g.vertices(), no_colour), taken_by;
    for (const vertex v : order) {
        for (unsigned i = g.begin[v]; i < g.begin[v + 1]; ++i) {
            const unsigned colour = colours[g.neighbours[i]];
            if (colour == no_colour) continue;
            if (colour >= taken_by.size()) taken_by.resize(colour + 1, no_colour);
            taken_by[colour] = v;
        }
        unsigned colour = 0;
        while (colour < taken_by.size() && taken_by[colour] == v) ++colour;
        colours[v] = colour;
    }
    return colours;
}

}  // namespace graphs
