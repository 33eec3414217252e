// Adaptive cubature: a cell whose estimate is not good enough is halved, each half in a child of one thread. The sums
// of accepted cells go up the tree by continuations, always in the same order, or are added atomically.
#pragma once

#include <cstdint>
#include <vector>

#include <dynpar/dynpar.hpp>

#include "cubature.hpp"

namespace integrate {

/// The sum of a cell that was halved.
struct add_halves {
    static constexpr const char* name = "add_halves";

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block&, const double* halves, double* sum) const {
        *sum = halves[0] + halves[1];
    }
};

/// Joined: the result is the same in every run, bit by bit, whatever runs first. A launch carries 32 bytes: where the
/// problem is, the cell, where the sum goes.
template <unsigned D>
struct integrate_then {
    static constexpr const char* name = "integrate_then";
    const problem* of;

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, cell c, double* sum) const {
        const estimate e = apply_rule<D>(*of, c);
        if (e.is_accepted) {
            *sum = e.value;
            return;
        }
        double* halves = block.template scratch<double>(2);
        if (halves == nullptr) return;  // no memory: the run's report says so
        const dynpar::shape one(1, 1);
        block.then(add_halves{}, one, static_cast<const double*>(halves), sum);
        block.launch(*this, one, half_of(c, e.axis, 0), halves);
        block.launch(*this, one, half_of(c, e.axis, 1), halves + 1);
    }
};

/// Without joins: accepted cells are added where others are added, too, in any order. The last digits differ from run
/// to run.
template <unsigned D>
struct integrate_add {
    static constexpr const char* name = "integrate_add";
    const problem* of;

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, cell c) const {
        const estimate e = apply_rule<D>(*of, c);
        if (e.is_accepted) {
            const unsigned mixed = (c.place[0] * 31 + c.place[1]) * 31 + c.place[2] + c.halved;
            const unsigned at = mixed * 2654435769u >> 22;
            static_assert(counters == 1u << 10);
            dynpar::atomic_add(of->sums + at, e.value);
            dynpar::atomic_add(of->accepted + at, 1);
            return;
        }
        const dynpar::shape one(1, 1);
        block.launch(*this, one, half_of(c, e.axis, 0));
        block.launch(*this, one, half_of(c, e.axis, 1));
    }
};

/// Begins, in one form or the other: the device code of an engine is compiled for each kernel that the host runs.
template <unsigned D>
struct begin {
    static constexpr const char* name = "begin";
    const problem* of;
    bool joins;

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, double* sum) const {
        const dynpar::shape one(1, 1);
        if (joins) {
            block.launch(integrate_then<D>{of}, one, cell{}, sum);
        } else {
            block.launch(integrate_add<D>{of}, one, cell{});
        }
    }
};

/// How many cells there were, by the grids of a run, of which the first only begins. Where halves are joined, a cell
/// that was halved is two grids.
inline unsigned long long cells_of(unsigned long long grids, bool joins) {
    return joins ? (2 * (grids - 1) + 1) / 3 : grids - 1;
}
inline unsigned long long grids_of(unsigned long long cells, bool joins) {
    return 1 + (joins ? (3 * cells - 1) / 2 : cells);
}

// ---- On the CPU

struct findings {
    double sum;
    unsigned long long cells;
};

/// One thread, in the same order as the continuations. Gives up where there are more cells than `most`.
template <unsigned D>
double integrate_on_cpu(const problem& p, const cell& c, unsigned long long most, unsigned long long& cells) {
    if (++cells > most) return 0;
    const estimate e = apply_rule<D>(p, c);
    if (e.is_accepted) return e.value;
    const double first = integrate_on_cpu<D>(p, half_of(c, e.axis, 0), most, cells);
    return first + integrate_on_cpu<D>(p, half_of(c, e.axis, 1), most, cells);
}
template <unsigned D>
findings integrate_on_cpu(const problem& p, unsigned long long most = ~0ull) {
    findings found{0, 0};
    found.sum = integrate_on_cpu<D>(p, cell{}, most, found.cells);
    return found;
}

/// With a peak at 0.3, and a tolerance as a part of the integral that is known.
template <unsigned D>
problem make_problem(function kind, double sharpness, double tolerance) {
    problem p{kind, sharpness, 0.3, 0, nullptr, nullptr};
    p.tolerance = tolerance * known_integral(p, D);
    return p;
}

}  // namespace integrate
