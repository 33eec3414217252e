// Quadratic Bezier curves as chains of straight lines: each curve gets as many points as it is bent.
#pragma once

#include <dynpar/dynpar.hpp>

namespace curves {

struct point {
    float x, y;
};

/// From the first point to the last one, drawn towards the middle one.
struct curve {
    point control[3];
};

inline constexpr unsigned most_lines = 4096;

/// How many lines: a chain of n lines is at most |a - 2b + c| / (4 n^2) away from its curve. The length is taken as
/// |x| + |y|, which is not less, and which a CPU and a GPU round alike: 2b is exact, so it does not matter whether a
/// compiler multiplies and subtracts in one step.
DYNPAR_FUNCTION inline unsigned lines_of(const curve& c, float tolerance) {
    const float x = c.control[0].x - 2 * c.control[1].x + c.control[2].x;
    const float y = c.control[0].y - 2 * c.control[1].y + c.control[2].y;
    const float square = ((x < 0 ? -x : x) + (y < 0 ? -y : y)) / (4 * tolerance);
    unsigned lines = 1;
    while (lines < most_lines && static_cast<float>(lines * lines) < square) lines *= 2;
    return lines;
}

/// Where the curve is at i / lines.
DYNPAR_FUNCTION inline point point_of(const curve& c, unsigned i, unsigned lines) {
    const float t = static_cast<float>(i) / static_cast<float>(lines), u = 1 - t;
    const float a = u * u, b = 2 * u * t, d = t * t;
    return {a * c.control[0].x + b * c.control[1].x + d * c.control[2].x,
            a * c.control[0].y + b * c.control[1].y + d * c.control[2].y};
}

/// What all threads share.
struct drawing {
    const curve* curves;
    unsigned count;
    float tolerance;
    point* points;     ///< of all chains; a chain's lie side by side
    unsigned* chains;  ///< of each curve: where its chain begins
    unsigned room;     ///< for so many points
    unsigned* used;    ///< how many there are, or would be if there were room; in memory of its own, as all count there
};

/// One point of a chain.
struct put_point {
    static constexpr const char* name = "put_point";
    drawing* d;
    unsigned which;
    unsigned begin_and_lines[2];
    DYNPAR_FUNCTION void operator()(unsigned i) const {
        d->points[begin_and_lines[0] + i] = point_of(d->curves[which], i, begin_and_lines[1]);
    }
};

/// A thread for each curve. A warp takes room for the chains of all its threads, which then share the points.
struct draw_curves {
    static constexpr const char* name = "draw_curves";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, drawing* d) const {
        const unsigned i = dynpar::this_grid(block).thread_rank();
        const bool has_curve = i < d->count;
        const unsigned lines = has_curve ? lines_of(d->curves[i], d->tolerance) : 0;
        unsigned points = has_curve ? lines + 1 : 0;

        const auto warp = dynpar::this_warp(block);
        const unsigned last = warp.num_threads() - 1;
        const unsigned up_to = dynpar::inclusive_scan(warp, points, dynpar::plus{});
        const unsigned first = warp.thread_rank() == last ? dynpar::atomic_add(d->used, up_to) : 0;
        const unsigned begin = dynpar::broadcast(warp, first, last) + up_to - points;
        if (has_curve) d->chains[i] = begin;
        if (begin > d->room || points > d->room - begin) points = 0;  // `used` says that there was no room
        dynpar::nested_for(block, points, put_point{d, i, {begin, lines}});
    }
};

}  // namespace curves
