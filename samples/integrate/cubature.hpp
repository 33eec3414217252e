// Adaptive cubature: a rule that estimates the integral over a cell, how far off it may be, and along which axis the
// cell should be halved. And functions over [0, 1]^D whose integrals are known.
//
// The rule is that of Genz and Malik ("An adaptive algorithm for numerical integration over an N-dimensional
// rectangular region", 1980): exact for polynomials of degree 7, with one of degree 5 in it.
#pragma once

#include <cmath>
#include <cstdint>

#include <dynpar/platform.hpp>

// nvcc unrolls the loops over axes, so that what they index lies in registers.
#if defined(__CUDA_ARCH__)
#define INTEGRATE_UNROLLED _Pragma("unroll")
#else
#define INTEGRATE_UNROLLED
#endif

namespace integrate {

inline constexpr unsigned most_dimensions = 3;
inline constexpr unsigned finest = 31;  // a side is halved so often at most
/// And so often at least: a peak between the points of the rule would not be seen in a larger cell.
template <unsigned D>
inline constexpr unsigned coarsest = D == 1 ? 6 : 3;
/// Peaks as narrow as this divided into 1 are seen then.
template <unsigned D>
inline constexpr unsigned sharpest = D == 1 ? 1000 : 50;

// ---- Functions

enum class function : unsigned {
    peak,  ///< the product of 1 / (1 + a^2 (x - m)^2): a peak as narrow as 1 / a, with long tails
    bell,  ///< the product of exp(-a^2 (x - m)^2): as narrow, without tails
    wave,  ///< the product of 1 + cos(a (x - m)): needs cells of the same size everywhere
};

/// What all cells have in common.
struct problem {
    function kind;
    double sharpness;              ///< a
    double middle;                 ///< m, the same along every axis
    double tolerance;              ///< a cell of volume v may be wrong by v times this
    double* sums;                  ///< of cells that are accepted, where they are added up: `counters` places
    unsigned long long* accepted;  ///< how many those are, likewise
};
inline constexpr unsigned counters = 1024;

DYNPAR_FUNCTION inline double factor_at(const problem& p, double x) {
    const double t = p.sharpness * (x - p.middle);
    if (p.kind == function::peak) return 1 / (1 + t * t);
    return p.kind == function::bell ? exp(-t * t) : 1 + cos(t);
}
/// The integral over [0, 1] of one factor.
inline double known_factor(const problem& p) {
    const double low = p.sharpness * p.middle;
    const double high = p.sharpness * (1 - p.middle);
    if (p.kind == function::peak) return (std::atan(high) + std::atan(low)) / p.sharpness;
    if (p.kind == function::bell) return std::sqrt(std::atan(1.0)) * (std::erf(high) + std::erf(low)) / p.sharpness;
    return 1 + (std::sin(high) + std::sin(low)) / p.sharpness;
}
inline double known_integral(const problem& p, unsigned dimensions) {
    double product = 1;
    for (unsigned axis = 0; axis < dimensions; ++axis) product *= known_factor(p);
    return product;
}

// ---- Cells

/// A part of [0, 1]^D: along each axis the side has been halved so often, and this is the `place`-th of the parts: 16
/// bytes.
struct cell {
    std::uint32_t place[most_dimensions];
    std::uint32_t halved;  ///< 5 bits for each axis
};
DYNPAR_FUNCTION inline unsigned times_halved(const cell& c, unsigned axis) { return c.halved >> 5 * axis & 31; }
DYNPAR_FUNCTION inline cell half_of(const cell& c, unsigned axis, unsigned which) {
    cell half = c;
    INTEGRATE_UNROLLED
    for (unsigned i = 0; i < most_dimensions; ++i) {  // an index that is not known would put the cell into memory
        if (i == axis) half.place[i] = 2 * half.place[i] + which;
    }
    half.halved += 1u << 5 * axis;
    return half;
}

// ---- The rule

struct estimate {
    double value;
    unsigned axis;     ///< along which the cell should be halved: the function varies most along it
    bool is_accepted;  ///< the value is good enough
};

template <unsigned D>
DYNPAR_FUNCTION estimate apply_rule(const problem& p, const cell& c) {
    static_assert(D >= 1 && D <= most_dimensions);
    // Distances of points from the middle, in halves of a side, and their weights: of the middle, of points on one
    // axis, near and far, of points on the diagonals of two axes, of points on those of all.
    constexpr double near = 0.35856858280031809199;  // sqrt(9 / 70)
    constexpr double far = 0.94868329805051379960;   // sqrt(9 / 10)
    constexpr double all = 0.68824720161168529772;   // sqrt(9 / 19)
    constexpr double n = D;
    constexpr double w1 = (12824 - 9120 * n + 400 * n * n) / 19683;
    constexpr double w2 = 980.0 / 6561;
    constexpr double w3 = (1820 - 400 * n) / 19683;
    constexpr double w4 = 200.0 / 19683;
    constexpr double w5 = 6859.0 / 19683 / (1u << D);
    constexpr double v1 = (729 - 950 * n + 50 * n * n) / 729;
    constexpr double v2 = 245.0 / 486;
    constexpr double v3 = (265 - 100 * n) / 1458;
    constexpr double v4 = 25.0 / 729;

    double middle[D];
    double half[D];
    double volume = 1;
    INTEGRATE_UNROLLED
    for (unsigned i = 0; i < D; ++i) {
        half[i] = 1.0 / (2ull << times_halved(c, i));
        middle[i] = (2.0 * c.place[i] + 1) * half[i];
        volume *= 2 * half[i];
    }
    // The function at the middle, moved along each axis by so many halves of a side.
    const auto at = [&](const double(&moved)[D]) {
        double product = 1;
        INTEGRATE_UNROLLED
        for (unsigned i = 0; i < D; ++i) product *= factor_at(p, middle[i] + moved[i] * half[i]);
        return product;
    };
    double moved[D] = {};
    const double f = at(moved);
    double s2 = 0, s3 = 0, s4 = 0, s5 = 0;
    double most = -1;
    unsigned axis = 0;
    bool is_too_large = false;
    INTEGRATE_UNROLLED
    for (unsigned i = 0; i < D; ++i) {
        double pairs[2];
        INTEGRATE_UNROLLED
        for (unsigned k = 0; k < 2; ++k) {
            const double distance = k == 0 ? near : far;
            moved[i] = distance;
            pairs[k] = at(moved);
            moved[i] = -distance;
            pairs[k] += at(moved);
        }
        moved[i] = 0;
        s2 += pairs[0];
        s3 += pairs[1];
        // The fourth difference; 7 is far^2 / near^2. A side that is too long comes first.
        double difference = fabs(pairs[0] - 2 * f - (pairs[1] - 2 * f) / 7);
        const unsigned halved = times_halved(c, i);
        if (halved < coarsest<D>) {
            is_too_large = true;
            difference = 1e300 / (1 + halved);
        }
        if (halved < finest && difference > most) {
            most = difference;
            axis = i;
        }
    }
    INTEGRATE_UNROLLED
    for (unsigned i = 0; i < D; ++i) {
        INTEGRATE_UNROLLED
        for (unsigned j = i + 1; j < D; ++j) {
            for (unsigned signs = 0; signs < 4; ++signs) {
                moved[i] = (signs & 1) != 0 ? far : -far;
                moved[j] = (signs & 2) != 0 ? far : -far;
                s4 += at(moved);
            }
            moved[i] = moved[j] = 0;
        }
    }
    for (unsigned signs = 0; signs < 1u << D; ++signs) {
        INTEGRATE_UNROLLED
        for (unsigned i = 0; i < D; ++i) moved[i] = (signs >> i & 1) != 0 ? all : -all;
        s5 += at(moved);
    }
    const double value = volume * (w1 * f + w2 * s2 + w3 * s3 + w4 * s4 + w5 * s5);
    const double coarse = volume * (v1 * f + v2 * s2 + v3 * s3 + v4 * s4);
    // A cell of which no side can be halved any more is good enough.
    const bool is_accepted = most < 0 || (!is_too_large && fabs(value - coarse) <= p.tolerance * volume);
    return {value, axis, is_accepted};
}

}  // namespace integrate
