// The curves, and whether their chains are right.
#pragma once

#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

#include "kernels.hpp"

namespace curves {

/// Curves of very different size: most are small, few fill the picture.
inline std::vector<curve> draw(unsigned count, unsigned seed) {
    std::mt19937 random(seed);
    const auto number = [&] { return static_cast<float>(random() >> 8) / 16777216.0f; };
    std::vector<curve> drawn(count);
    for (curve& c : drawn) {
        const float size = std::ldexp(1.0f, -static_cast<int>(random() % 12));
        const point corner{number(), number()};
        for (point& p : c.control) p = {corner.x + size * number(), corner.y + size * number()};
    }
    return drawn;
}

inline unsigned long long points_of(const std::vector<curve>& drawn, float tolerance) {
    unsigned long long points = 0;
    for (const curve& c : drawn) points += lines_of(c, tolerance) + 1;
    return points;
}

/// Whether each curve has a chain of its own, and each point is where it belongs; compilers round differently.
inline bool are_right(const std::vector<curve>& drawn, float tolerance, const std::vector<unsigned>& chains,
                      const std::vector<point>& points) {
    std::vector<bool> is_taken(points.size());
    for (std::size_t i = 0; i < drawn.size(); ++i) {
        const unsigned lines = lines_of(drawn[i], tolerance);
        if (chains[i] >= points.size() || lines >= points.size() - chains[i]) return false;
        for (unsigned k = 0; k <= lines; ++k) {
            if (is_taken[chains[i] + k]) return false;
            is_taken[chains[i] + k] = true;
            const point expected = point_of(drawn[i], k, lines), found = points[chains[i] + k];
            if (!(std::abs(expected.x - found.x) < 1e-5f && std::abs(expected.y - found.y) < 1e-5f)) return false;
        }
    }
    return true;
}

}  // namespace curves
