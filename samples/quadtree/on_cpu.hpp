// Points to build a quadtree of, and what is wrong with one.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "kernels.hpp"

namespace quadtree {

/// A number of 24 bits from 0 to less than 1, which is exact in a float.
inline float draw_float(std::mt19937& random) { return static_cast<float>(random() >> 8) / 16777216.0f; }

/// Points of the unit square, everywhere alike.
inline std::vector<point> draw_uniform(std::size_t count, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<point> points(count);
    for (point& p : points) {
        p.x = draw_float(random);
        p.y = draw_float(random);
    }
    return points;
}

/// Points that crowd around so many places, dense in their middle: large ones and small ones.
inline std::vector<point> draw_clusters(std::size_t count, unsigned clusters, unsigned seed) {
    std::mt19937 random(seed);
    const auto draw = [&] { return draw_float(random); };
    struct cluster {
        point middle;
        float radius;
    };
    std::vector<cluster> all(clusters);
    for (cluster& c : all) {
        c.radius = 0.1f * draw() * draw() + 0.0001f;
        c.middle.x = 0.2f + 0.6f * draw();
        c.middle.y = 0.2f + 0.6f * draw();
    }
    std::vector<point> points(count);
    for (point& p : points) {
        const cluster& c = all[random() % clusters];
        const float distance = c.radius * draw();
        const float angle = 6.2831853f * draw();
        p = {c.middle.x + distance * std::cos(angle), c.middle.y + distance * std::sin(angle)};
    }
    return points;
}

/// As many nodes as a tree of so many points can have: of each level's squares, not all can have too many points.
inline std::size_t most_nodes(std::size_t points, unsigned leaf, unsigned depth) {
    std::size_t nodes = 1;
    for (unsigned level = 0; level < depth; ++level)
        nodes += 4 * std::min(std::size_t{1} << 2 * level, points / (leaf + std::size_t{1}));
    return nodes;
}

inline float smallest_side(unsigned depth) { return 1.0f / static_cast<float>(1u << depth); }

/// What there is to say of a tree.
struct summary {
    std::size_t nodes = 0;
    std::size_t leaves = 0;
    unsigned depth = 0;
    unsigned most_in_leaf = 0;
};

/// A tree that a run has built, on the host.
struct built_tree {
    std::vector<point> points;
    std::vector<node> nodes;
    unsigned leaf;
    float smallest_side;
};

/// Compares a tree with what the CPU makes of the same points, square by square: the nodes' squares, how many points
/// each has, which are divided, and that the points of a leaf are those that lie in its square, each as often as it was
/// given. Returns what is wrong, nothing if nothing is.
class comparison {
public:
    comparison(const built_tree& found, std::vector<point> points) : found_(found), points_(std::move(points)) {}

    std::string run() {
        if (found_.nodes.empty() || found_.points.size() != points_.size()) return "there is no tree of these points";
        const std::string wrong = compare(0, root_of(static_cast<unsigned>(points_.size())), 0);
        if (!wrong.empty()) return wrong;
        if (summary_.nodes != found_.nodes.size()) {
            return "there are " + std::to_string(found_.nodes.size()) + " nodes, and the CPU makes " +
                   std::to_string(summary_.nodes);
        }
        return {};
    }
    const summary& facts() const { return summary_; }

private:
    static bool is_before(const point& a, const point& b) { return a.x < b.x || (a.x == b.x && a.y < b.y); }

    std::string compare(std::size_t index, const node& expected, unsigned depth) {
        const node& n = found_.nodes[index];
        const std::string which = "node " + std::to_string(index) + " in depth " + std::to_string(depth);
        ++summary_.nodes;
        summary_.depth = std::max(summary_.depth, depth);
        if (n.begin != expected.begin || n.count != expected.count) {
            return which + " has " + std::to_string(n.count) + " points from " + std::to_string(n.begin) +
                   " on, and the CPU gives it " + std::to_string(expected.count) + " from " +
                   std::to_string(expected.begin) + " on";
        }
        if (n.x != expected.x || n.y != expected.y || n.side != expected.side) return which + " is another square";
        const bool has_children = n.first_child != 0;
        const bool should_have = n.count > found_.leaf && n.side > found_.smallest_side;
        if (has_children != should_have) return which + (has_children ? " has children" : " has no children");
        return has_children ? compare_children(n, which, depth) : compare_leaf(n, which);
    }

    std::string compare_children(const node& n, const std::string& which, unsigned depth) {
        if (found_.nodes.size() < 4 || n.first_child > found_.nodes.size() - 4) return which + " has no such children";
        const float middle_x = n.x + n.side / 2;
        const float middle_y = n.y + n.side / 2;
        const auto begin = points_.begin() + n.begin;
        const auto end = begin + n.count;
        const auto upper = std::partition(begin, end, [&](const point& p) { return p.y < middle_y; });
        const auto is_left = [&](const point& p) { return p.x < middle_x; };
        const auto ends = {begin, std::partition(begin, upper, is_left), upper, std::partition(upper, end, is_left),
                           end};
        for (unsigned k = 0; k < 4; ++k) {
            const auto first = ends.begin()[k];
            const node expected{static_cast<unsigned>(first - points_.begin()),
                                static_cast<unsigned>(ends.begin()[k + 1] - first),
                                k % 2 == 0 ? n.x : middle_x,
                                k < 2 ? n.y : middle_y,
                                n.side / 2,
                                0};
            std::string wrong = compare(n.first_child + k, expected, depth + 1);
            if (!wrong.empty()) return wrong;
        }
        return {};
    }

    std::string compare_leaf(const node& n, const std::string& which) {
        ++summary_.leaves;
        summary_.most_in_leaf = std::max(summary_.most_in_leaf, n.count);
        const auto sorted = [&](const std::vector<point>& all) {
            std::vector<point> points(all.begin() + n.begin, all.begin() + n.begin + n.count);
            std::sort(points.begin(), points.end(), is_before);
            return points;
        };
        const std::vector<point> expected = sorted(points_);
        const std::vector<point> found = sorted(found_.points);
        const auto is_same = [](const point& a, const point& b) { return a.x == b.x && a.y == b.y; };
        return std::equal(expected.begin(), expected.end(), found.begin(), is_same)
                   ? std::string()
                   : which + " has other points than lie in its square";
    }

    const built_tree& found_;
    std::vector<point> points_;  // in the order of the squares that have been compared
    summary summary_;
};

}  // namespace quadtree
