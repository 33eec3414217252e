// A grid that is fine where a field is steep: a cell whose corners do not tell what is between them is divided into
// four. Every cell is a kernel that returns a value, and `then` adds the values of four: how many cells there are, how
// deep they lie, and how large the error is.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include <dynpar/dynpar.hpp>

namespace adaptive_grid {

inline constexpr unsigned first_level = 4;  // the grid begins with 16 x 16 cells
inline constexpr unsigned deepest_level = 13;

/// One of many that make up the field.
struct vortex {
    double x;
    double y;
    double radius;
    double strength;
};

/// The field in the unit square, and what becomes of it. In the engine's memory.
struct problem {
    const vortex* vortices;
    unsigned count;
    double front;           ///< where a front crosses the lower edge
    double thickness;       ///< of it
    double tolerance;       ///< cells are divided while their error is estimated to be greater
    unsigned level;         ///< cells of this level are not divided: a pixel each
    float* values;          ///< of the image's pixels, row by row: what the cells say
    unsigned char* levels;  ///< of the pixels' cells
};

/// Rounded before it is added to anything, as on a CPU: nvcc would make one instruction of both, with another result.
DYNPAR_FUNCTION inline double product(double a, double b) {
#if DYNPAR_ON_DEVICE && !defined(DYNPAR_SIMULATED_GPU)
    return __dmul_rn(a, b);
#else
    return a * b;
#endif
}

/// Only operations that a GPU and a CPU round alike.
DYNPAR_FUNCTION inline double field(const problem& p, double x, double y) {
    const double across = (x - p.front - product(0.3, product(y, y))) / p.thickness;
    double sum = across / sqrt(1 + product(across, across));
    for (unsigned i = 0; i < p.count; ++i) {
        const vortex& v = p.vortices[i];
        const double dx = (x - v.x) / v.radius;
        const double dy = (y - v.y) / v.radius;
        const double d = 1 + product(dx, dx) + product(dy, dy);
        sum += v.strength / product(d, d);
    }
    return sum;
}

/// Cells of one level, a square of them with so many `across`: the argument of a call, 8 bytes.
struct cells {
    unsigned short x;  ///< of the first, in cells of that level
    unsigned short y;
    unsigned short level;
    unsigned short across;
};
inline constexpr cells first_cells{0, 0, first_level, 1 << first_level};

/// A cell with the field at its corners. In it the field is taken for what lies between them.
struct cell {
    unsigned level;
    unsigned x;
    unsigned y;
    double corners[4];  ///< lower left, lower right, upper left, upper right

    DYNPAR_FUNCTION double side() const { return 1.0 / (1u << level); }
    /// At a place in it, 0 to 1.
    DYNPAR_FUNCTION double at(double u, double v) const {
        const double lower = corners[0] + product(u, corners[1] - corners[0]);
        const double upper = corners[2] + product(u, corners[3] - corners[2]);
        return lower + product(v, upper - lower);
    }
    DYNPAR_FUNCTION double real(const problem& p, double u, double v) const {
        return field(p, product(x + u, side()), product(y + v, side()));
    }
};
DYNPAR_FUNCTION inline cell cell_of(const problem& p, const cells& among, unsigned index) {
    cell c{among.level, among.x + index % among.across, among.y + index / among.across, {}};
    for (unsigned i = 0; i < 4; ++i) c.corners[i] = c.real(p, i % 2, i / 2);
    return c;
}
DYNPAR_FUNCTION inline cells quarters_of(const cell& c) {
    return {static_cast<unsigned short>(2 * c.x), static_cast<unsigned short>(2 * c.y),
            static_cast<unsigned short>(c.level + 1), 2};
}

/// How far the field is from what the corners say, as five points tell: the middle, and those of the edges.
DYNPAR_FUNCTION inline double estimate_error(const problem& p, const cell& c) {
    constexpr double places[5][2] = {{0.5, 0.5}, {0.5, 0}, {0, 0.5}, {1, 0.5}, {0.5, 1}};
    double most = 0;
    for (const auto& place : places) {
        const double difference = fabs(c.real(p, place[0], place[1]) - c.at(place[0], place[1]));
        if (difference > most) most = difference;
    }
    return most;
}

/// The value of a cell: 16 bytes.
struct summary {
    double error;  ///< estimated, times the area: the mean over the unit square
    unsigned leaves;
    unsigned level;  ///< the deepest
};
struct add {
    DYNPAR_FUNCTION summary operator()(const summary& a, const summary& b) const {
        return {a.error + b.error, a.leaves + b.leaves, a.level < b.level ? b.level : a.level};
    }
};

/// The pixel's cell says what it is.
DYNPAR_FUNCTION inline void paint_pixel(const problem& p, const cell& c, unsigned i) {
    const unsigned pixels = 1u << (p.level - c.level);  // of a side
    const unsigned column = i % pixels;
    const unsigned row = i / pixels;
    const std::size_t at = std::size_t{c.y * pixels + row} << p.level | (c.x * pixels + column);
    p.values[at] = static_cast<float>(c.at((column + 0.5) / pixels, (row + 0.5) / pixels));
    p.levels[at] = static_cast<unsigned char>(c.level);
}
DYNPAR_FUNCTION inline unsigned pixels_of(const problem& p, const cell& c) { return 1u << 2 * (p.level - c.level); }

/// A leaf's pixels, where they are many. Any number of threads.
struct paint {
    static constexpr const char* name = "paint";
    const problem* of;

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, cells leaf) const {
        const cell c = cell_of(*of, leaf, 0);
        for (unsigned i = block.thread_rank(); i < pixels_of(*of, c); i += block.num_threads()) paint_pixel(*of, c, i);
    }
};

/// One cell of several.
struct refine {
    static constexpr const char* name = "refine";
    const problem* of;

    template <class Block>
    DYNPAR_FUNCTION dynpar::result<summary> operator()(Block& block, unsigned index, cells among) const {
        const problem& p = *of;
        const cell c = cell_of(p, among, index);
        const double error = estimate_error(p, c);
        if (c.level < p.level && error > p.tolerance)
            return block.then(add{}, summary{}, block.spawn_range(4, *this, quarters_of(c)));
        if (pixels_of(p, c) <= 16) {
            for (unsigned i = 0; i < pixels_of(p, c); ++i) paint_pixel(p, c, i);
        } else {
            const cells leaf{static_cast<unsigned short>(c.x), static_cast<unsigned short>(c.y), among.level, 1};
            block.launch(paint{of}, dynpar::shape(1, dynpar::at_most(32)), leaf);
        }
        return summary{product(error, product(c.side(), c.side())), 1, c.level};
    }
};

/// All cells that the grid begins with: `engine.call(begin{...})`
struct begin {
    static constexpr const char* name = "begin";
    const problem* of;

    template <class Block>
    DYNPAR_FUNCTION dynpar::result<summary> operator()(Block& block) const {
        return block.then(add{}, summary{},
                          block.spawn_range(first_cells.across * first_cells.across, refine{of}, first_cells));
    }
};

// ---- On the CPU

/// Vortices of all sizes, drawn from a seed: the smaller, the more.
inline std::vector<vortex> draw_vortices(unsigned count, unsigned seed) {
    std::mt19937 random(seed);
    const auto draw = [&] { return random() / 4294967296.0; };
    std::vector<vortex> all;
    for (unsigned i = 0; i < count; ++i) {
        const double size = 0.012 + 0.1 * std::pow(draw(), 3);
        const double x = draw();
        const double y = draw();
        all.push_back({x, y, size, draw() < 0.5 ? -1.0 : 1.0});
    }
    return all;
}

inline summary refine_on_cpu(const problem& p, const cells& among = first_cells) {
    summary sum{};
    const unsigned count = among.across * among.across;
    for (unsigned i = 0; i < count; ++i) {
        const cell c = cell_of(p, among, i);
        const double error = estimate_error(p, c);
        if (c.level < p.level && error > p.tolerance) {
            sum = add{}(sum, refine_on_cpu(p, quarters_of(c)));
        } else {
            for (unsigned pixel = 0; pixel < pixels_of(p, c); ++pixel) paint_pixel(p, c, pixel);
            sum = add{}(sum, {product(error, product(c.side(), c.side())), 1, c.level});
        }
    }
    return sum;
}

/// How far an image is from the field, at the middle of each pixel.
struct difference {
    double most;
    double root_mean_square;
};
/// `exact`: the field there.
inline difference difference_of(const std::vector<float>& values, const std::vector<double>& exact) {
    difference d{};
    double sum = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
        const double error = std::fabs(static_cast<double>(values[i]) - exact[i]);
        d.most = std::fmax(d.most, error);
        sum += error * error;
    }
    d.root_mean_square = std::sqrt(sum / static_cast<double>(values.size()));
    return d;
}
inline std::vector<double> exact_values(const problem& p) {
    const unsigned side = 1u << p.level;
    std::vector<double> exact;
    for (unsigned row = 0; row < side; ++row)
        for (unsigned column = 0; column < side; ++column)
            exact.push_back(field(p, (column + 0.5) / side, (row + 0.5) / side));
    return exact;
}

}  // namespace adaptive_grid
