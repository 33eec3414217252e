// Colours for the vertices, so that no two neighbours have the same (Jones and Plassmann): in each round those vertices
// get one that come before all neighbours that have none, in an order drawn at random.
#pragma once

#include "kernels.hpp"

namespace graphs {

inline constexpr unsigned no_colour = ~0u;

/// Where a vertex comes in the order: the greater the earlier, and no two alike.
DYNPAR_FUNCTION inline unsigned long long rank_of(unsigned v) {
    unsigned drawn = v * 2654435761u;
    drawn = (drawn ^ drawn >> 15) * 2246822519u;
    return static_cast<unsigned long long>(drawn ^ drawn >> 13) << 32 | v;
}

/// What all grids share.
struct colouring {
    graph_view g;
    unsigned* colour;
    unsigned* waiting;  ///< vertices without a colour
    unsigned* still_waiting;
    unsigned* ready;             ///< those that get one in this round
    unsigned* in_still_waiting;  ///< counters, in memory of their own, as in `search`
    unsigned* in_ready;
    unsigned in_waiting;
    unsigned round;
};

/// Whether a neighbour has to get its colour first.
struct comes_first {
    const colouring* c;
    unsigned v, first;
    DYNPAR_FUNCTION unsigned fetch(unsigned i) const { return c->colour[c->g.neighbours[first + i]]; }
    DYNPAR_FUNCTION bool operator()(unsigned i, unsigned colour) const {
        return colour == no_colour && rank_of(c->g.neighbours[first + i]) > rank_of(v);
    }
};
/// A bit for the colour of a neighbour, if it is one of 64.
struct bit_of_colour {
    const colouring* c;
    unsigned first, least;
    DYNPAR_FUNCTION unsigned fetch(unsigned i) const { return c->colour[c->g.neighbours[first + i]]; }
    DYNPAR_FUNCTION unsigned long long operator()(unsigned, unsigned colour) const {
        return colour >= least && colour - least < 64 ? 1ull << (colour - least) : 0;
    }
};

/// A thread for each vertex that waits.
struct find_ready {
    static constexpr const char* name = "find_ready";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, colouring* c) const {
        const unsigned i = dynpar::loop_of(block, c->in_waiting);
        const bool has_vertex = i < c->in_waiting;
        const unsigned v = has_vertex ? c->waiting[i] : 0, first = c->g.begin[v];
        const unsigned edges = has_vertex ? c->g.begin[v + 1] - first : 0;
        const bool waits = dynpar::nested_reduce(block, edges, comes_first{c, v, first}, dynpar::whether_any{});
        if (!has_vertex) return;
        if (waits) {
            c->still_waiting[dynpar::atomic_append(c->in_still_waiting)] = v;
        } else {
            c->ready[dynpar::atomic_append(c->in_ready)] = v;
        }
    }
};

/// A thread for each vertex that gets a colour: the least that no neighbour has. No two of them are neighbours.
struct give_colours {
    static constexpr const char* name = "give_colours";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, colouring* c) const {
        const unsigned i = block.block_rank() * block.num_threads() + block.thread_rank();
        const bool has_vertex = i < *c->in_ready;
        const unsigned v = has_vertex ? c->ready[i] : 0;
        const unsigned first = c->g.begin[v], edges = has_vertex ? c->g.begin[v + 1] - first : 0;
        bool is_done = !has_vertex;
        // All threads of the warp take part as long as one has no colour.
        for (unsigned least = 0; dynpar::any(dynpar::this_warp(block), !is_done); least += 64) {
            const unsigned long long taken = dynpar::nested_reduce(
                block, is_done ? 0 : edges, bit_of_colour{c, first, least}, dynpar::bits_of_any<unsigned long long>{});
            if (is_done || taken == ~0ull) continue;
            unsigned colour = least;
            for (unsigned long long bits = taken; bits % 2 == 1; bits /= 2) ++colour;
            c->colour[v] = colour;
            is_done = true;
        }
    }
};

/// One thread, after each round: begins the next one.
struct next_colouring_round {
    static constexpr const char* name = "next_colouring_round";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, colouring* c) const {
        unsigned* const waiting = c->waiting;
        c->waiting = c->still_waiting;
        c->still_waiting = waiting;
        c->in_waiting = *c->in_still_waiting;
        *c->in_still_waiting = 0;
        *c->in_ready = 0;
        if (c->in_waiting == 0) return;
        ++c->round;
        block.launch(find_ready{}, dynpar::shape_for_loops(block, c->in_waiting, dynpar::at_most(256)), c);
        block.then(dynpar::counted_grid<give_colours>{}, dynpar::shape(1, 1), static_cast<const unsigned*>(c->in_ready),
                   c);
        block.then(*this, dynpar::shape(1, 1), c);
    }
};

}  // namespace graphs
