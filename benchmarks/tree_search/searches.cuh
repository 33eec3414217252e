// What the searches by hand search: the samples' trees.
#pragma once

#include "../../samples/integrate/cubature.hpp"
#include "../../samples/sudoku/board.hpp"
#include "../../samples/uts/kernels.hpp"
#include "by_hand.cuh"

namespace by_hand {

/// A node of an unbalanced tree that has children: 24 bytes.
struct uts_search {
    struct node {
        uts::digest state;
        unsigned depth_and_children;  ///< the number of children has 12 bits
    };
    uts::tree of;

    DYNPAR_FUNCTION static unsigned children(const node& n) { return n.depth_and_children & 0xfff; }
    DYNPAR_FUNCTION node make(const uts::digest& state, unsigned depth) const {
        return {state, depth << 12 | uts::children_of(of, state, depth)};
    }
    DYNPAR_FUNCTION bool visit(const node& parent, unsigned index, node& child, tally& mine) const {
        child = make(uts::child_state<uts::sha1_code::unrolled>(parent.state, index),
                     (parent.depth_and_children >> 12) + 1);
        ++mine.nodes;
        return children(child) != 0;
    }
    /// The root is visited by the host.
    node root() const { return make(uts::root_state(of), 0); }
};

/// A Sudoku board with an empty cell, and what may be there: 48 bytes.
struct sudoku_search {
    struct node {
        sudoku::board before;
        std::uint16_t cell;
        std::uint16_t digits;
    };

    DYNPAR_FUNCTION static unsigned children(const node& n) { return sudoku::count_bits(n.digits); }
    DYNPAR_FUNCTION static node make(const sudoku::board& b) {
        const sudoku::choice next = sudoku::next_choice(b);
        return {b, static_cast<std::uint16_t>(next.cell), static_cast<std::uint16_t>(next.digits)};
    }
    DYNPAR_FUNCTION bool visit(const node& parent, unsigned index, node& child, tally& mine) const {
        sudoku::board b = parent.before;
        sudoku::put(b, parent.cell, sudoku::digit_of(parent.digits, index));
        child = make(b);
        ++mine.nodes;
        if (child.cell == sudoku::cells) {
            ++mine.found;
            mine.hashes += sudoku::hash(b);
        }
        return child.digits != 0;
    }
};

/// A cell that must be halved: 20 bytes. Sums are added in a register of each thread.
template <unsigned D>
struct integral_search {
    struct node {
        integrate::cell whole;
        unsigned axis;
    };
    integrate::problem of;

    DYNPAR_FUNCTION static unsigned children(const node&) { return 2; }
    DYNPAR_FUNCTION bool visit(const node& parent, unsigned index, node& child, tally& mine) const {
        child.whole = integrate::half_of(parent.whole, parent.axis, index);
        const integrate::estimate e = integrate::apply_rule<D>(of, child.whole);
        child.axis = e.axis;
        ++mine.nodes;
        if (e.is_accepted) {
            ++mine.found;
            mine.sum += e.value;
        }
        return !e.is_accepted;
    }
    /// The whole is visited by the host: it is always halved.
    node root() const { return {integrate::cell{}, integrate::apply_rule<D>(of, integrate::cell{}).axis}; }
};

}  // namespace by_hand
