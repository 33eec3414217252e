// Colours for the vertices, so that no two neighbours have the same (Jones and Plassmann): each vertex gets one when
// all neighbours have that come before it, in an order drawn at random. So the colours are always the same, whoever is
// first.
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
};

/// The colours that neighbours have, of `colours_together` that follow each other: a bit each. The highest bit says
/// that the vertex has to wait, and then nobody asks for the others.
struct taken_colours : dynpar::bits_of_any<unsigned long long> {
    static constexpr value_type has_to_wait = 1ull << 63;
    static DYNPAR_FUNCTION constexpr bool is_final(value_type taken) { return taken >= has_to_wait; }
};
inline constexpr unsigned colours_together = 63;

/// What a neighbour adds to them.
struct colour_of_neighbour {
    const colouring* c;
    unsigned v, first, least;
    DYNPAR_FUNCTION unsigned fetch(unsigned i) const {
        return dynpar::atomic_load(c->colour + c->g.neighbours[first + i], dynpar::memory_order::relaxed);
    }
    DYNPAR_FUNCTION unsigned long long operator()(unsigned i, unsigned colour) const {
        if (colour == no_colour)
            return rank_of(c->g.neighbours[first + i]) > rank_of(v) ? taken_colours::has_to_wait : 0;
        return colour >= least && colour - least < colours_together ? 1ull << (colour - least) : 0;
    }
};

/// A thread for each vertex of the frontier, which waits: gives it the least colour that no neighbour has, or lets it
/// wait for the next round.
struct colour_vertices {
    static constexpr const char* name = "colour_vertices";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, frontier_view waiting, const colouring* c) const {
        const unsigned* const item = waiting.item(block);
        const unsigned v = item != nullptr ? *item : 0, first = c->g.begin[v];
        const unsigned edges = item != nullptr ? c->g.begin[v + 1] - first : 0;
        bool is_done = item == nullptr;
        // All threads of the warp take part as long as one has no colour.
        for (unsigned least = 0; dynpar::any(dynpar::this_warp(block), !is_done); least += colours_together) {
            const unsigned long long taken = dynpar::nested_reduce(
                block, is_done ? 0 : edges, colour_of_neighbour{c, v, first, least}, taken_colours{});
            if (is_done || taken == taken_colours::has_to_wait - 1) continue;
            if (taken_colours::is_final(taken)) {
                waiting.add(v);
            } else {
                unsigned colour = least;
                for (unsigned long long bits = taken; bits % 2 == 1; bits /= 2) ++colour;
                dynpar::atomic_store(c->colour + v, colour, dynpar::memory_order::relaxed);
            }
            is_done = true;
        }
    }
};

/// All vertices wait at first; run with one thread.
using colour_all = dynpar::for_each_in<colour_vertices>;

}  // namespace graphs
