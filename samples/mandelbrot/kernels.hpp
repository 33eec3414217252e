// The Mandelbrot set by subdivision (Mariani and Silver): a square whose border has one escape time is filled with it,
// another one is divided into four. What is filled need not have that escape time: a part of the image that no border
// has met is missed. So the image is compared with the same subdivision on the CPU, and the pixels that differ from
// their escape times are counted.
#pragma once

#include <vector>

#include <dynpar/dynpar.hpp>

namespace mandelbrot {

using count = unsigned short;  // iterations
using number = unsigned long long;

inline constexpr unsigned most_iterations = 65535;

/// What is drawn, and how. In the engine's memory: launches carry its address.
struct image {
    float left;  ///< of the first pixel
    float top;
    float step;  ///< from a pixel to the next
    unsigned width;
    unsigned height;
    unsigned iterations;                                 ///< a point that has not escaped after so many is in the set
    unsigned smallest;                                   ///< a square whose side is no longer is not divided
    count* counts;                                       ///< row by row
    dynpar::reducer_view<dynpar::sum<number>> computed;  ///< pixels that were not filled; some count twice
};

/// Rounded before it is added to anything, as on a CPU: nvcc would make one instruction of both, with another result.
DYNPAR_FUNCTION inline float product(float a, float b) {
#if DYNPAR_ON_DEVICE && !defined(DYNPAR_SIMULATED_GPU)
    return __fmul_rn(a, b);
#else
    return a * b;
#endif
}

/// How many iterations it takes a pixel to escape.
DYNPAR_FUNCTION inline count escape_time(const image& in, unsigned column, unsigned row) {
    const float cx = in.left + product(static_cast<float>(column), in.step);
    const float cy = in.top - product(static_cast<float>(row), in.step);
    float x = 0;
    float y = 0;
    unsigned n = 0;
    for (; n < in.iterations; ++n) {
        const float xx = product(x, x);
        const float yy = product(y, y);
        if (xx + yy > 4) break;
        y = product(x + x, y) + cy;
        x = xx - yy + cx;
    }
    return static_cast<count>(n);
}

/// A square of the image whose side is a power of two, or what of it is in the image.
struct square {
    unsigned x;
    unsigned y;
    unsigned width;
    unsigned height;

    /// So many pixels, of which `border(i)` is one: around the square, from its upper left corner.
    DYNPAR_FUNCTION unsigned border_pixels() const {
        return width == 1 || height == 1 ? width * height : 2 * (width + height) - 4;
    }
    struct pixel {
        unsigned column;
        unsigned row;
    };
    DYNPAR_FUNCTION pixel border(unsigned i) const {
        if (width == 1) return {x, y + i};
        if (i < width) return {x + i, y};
        i -= width;
        if (i < width) return {x + i, y + height - 1};
        i -= width;
        return {i % 2 == 0 ? x : x + width - 1, y + 1 + i / 2};
    }
    DYNPAR_FUNCTION unsigned inner_pixels() const { return width * height - border_pixels(); }
    DYNPAR_FUNCTION pixel inner(unsigned i) const { return {x + 1 + i % (width - 2), y + 1 + i / (width - 2)}; }
};

/// The square of a block among several with that side, `across` of them in a row. Its width is 0 outside the image.
DYNPAR_FUNCTION inline square square_of(const image& in, unsigned x, unsigned y, unsigned side, unsigned across,
                                        unsigned rank) {
    x += rank % across * side;
    y += rank / across * side;
    if (x >= in.width || y >= in.height) return {x, y, 0, 0};
    return {x, y, in.width - x < side ? in.width - x : side, in.height - y < side ? in.height - y : side};
}

/// A block draws a square, or launches one grid for its four quarters. Any number of threads up to a warp.
struct draw {
    static constexpr const char* name = "draw";
    static constexpr unsigned max_threads = 32;
    const image* of;

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned x, unsigned y, unsigned side, unsigned across) const {
        const image in = *of;  // a copy, which stays in registers
        const square s = square_of(in, x, y, side, across, block.block_rank());
        if (s.width == 0) return;
        const auto warp = dynpar::this_warp(block);
        const unsigned rank = block.thread_rank();
        const unsigned step = block.num_threads();
        const bool is_divided = side > in.smallest;
        const auto compute = [&](square::pixel p) {
            const count c = escape_time(in, p.column, p.row);
            in.counts[p.row * in.width + p.column] = c;
            return c;
        };

        const count first = escape_time(in, s.x, s.y);
        bool is_one = true;
        unsigned begin = 0;
        // What is divided needs no more of its border than shows that it is not all the same.
        for (; begin < s.border_pixels() && (is_one || !is_divided); begin += step) {
            const bool same = begin + rank >= s.border_pixels() || compute(s.border(begin + rank)) == first;
            is_one = dynpar::all(warp, same) && is_one;
        }
        number computed = begin < s.border_pixels() ? begin : s.border_pixels();
        if (is_one) {
            for (unsigned i = rank; i < s.inner_pixels(); i += step) {
                const square::pixel p = s.inner(i);
                in.counts[p.row * in.width + p.column] = first;
            }
        } else if (is_divided) {
            if (rank == 0) block.launch(*this, dynpar::shape(4, dynpar::at_most(max_threads)), s.x, s.y, side / 2, 2u);
        } else {
            for (unsigned i = rank; i < s.inner_pixels(); i += step) compute(s.inner(i));
            computed += s.inner_pixels();
        }
        if (rank == 0) in.computed.add(block, computed);
    }
};

/// The grid that begins: squares with that side, all over the image.
inline unsigned across(const image& in, unsigned side) { return (in.width + side - 1) / side; }
inline dynpar::shape shape(const image& in, unsigned side) {
    return dynpar::shape(across(in, side) * ((in.height + side - 1) / side), dynpar::at_most(draw::max_threads));
}

// ---- On the CPU

inline std::vector<count> escape_times(const image& in) {
    std::vector<count> counts;
    counts.reserve(std::size_t{in.width} * in.height);
    for (unsigned row = 0; row < in.height; ++row)
        for (unsigned column = 0; column < in.width; ++column) counts.push_back(escape_time(in, column, row));
    return counts;
}

/// The image by the same subdivision, of escape times that are there. From squares of that side.
inline std::vector<count> subdivide_on_cpu(const image& in, unsigned side, const std::vector<count>& times) {
    std::vector<count> counts = times;
    struct todo {
        unsigned x, y, side;
    };
    std::vector<todo> squares;
    for (unsigned y = 0; y < in.height; y += side)
        for (unsigned x = 0; x < in.width; x += side) squares.push_back({x, y, side});
    while (!squares.empty()) {
        const todo t = squares.back();
        squares.pop_back();
        const square s = square_of(in, t.x, t.y, t.side, 1, 0);
        if (s.width == 0) continue;
        const auto at = [&](unsigned column, unsigned row) { return std::size_t{row} * in.width + column; };
        const count first = times[at(s.x, s.y)];
        bool is_one = true;
        for (unsigned column = s.x; column < s.x + s.width; ++column)
            is_one = is_one && times[at(column, s.y)] == first && times[at(column, s.y + s.height - 1)] == first;
        for (unsigned row = s.y; row < s.y + s.height; ++row)
            is_one = is_one && times[at(s.x, row)] == first && times[at(s.x + s.width - 1, row)] == first;
        if (is_one) {
            for (unsigned row = s.y; row < s.y + s.height; ++row)
                for (unsigned column = s.x; column < s.x + s.width; ++column) counts[at(column, row)] = first;
        } else if (t.side > in.smallest) {
            for (unsigned i = 0; i < 4; ++i)
                squares.push_back({t.x + i % 2 * (t.side / 2), t.y + i / 2 * (t.side / 2), t.side / 2});
        }
    }
    return counts;
}

}  // namespace mandelbrot
