// Searches of a graph: what each vertex has to do is as long as its list of neighbours, which differ widely, so threads
// share their lists (`nested_for`).
#pragma once

#include <dynpar/dynpar.hpp>

namespace graphs {

inline constexpr unsigned unseen = ~0u;

/// A graph in an engine's memory.
struct graph_view {
    unsigned vertices;
    const unsigned* begin;
    const unsigned* neighbours;
    const unsigned* weights;
};

/// What all grids of a search share, in the engine's memory. The frontier are the vertices whose neighbours are visited
/// next.
struct search {
    graph_view g;
    unsigned* distance;  ///< of each vertex
    unsigned* queued;    ///< the round in which it was found last
    unsigned* frontier;
    unsigned* found;  ///< the frontier of the next round
    unsigned in_frontier;
    unsigned in_found;
    unsigned round;
};

/// Breadth first: the first to find a vertex puts it into the next frontier.
struct visit_neighbour {
    static constexpr const char* name = "visit_neighbour";
    search* s;
    const unsigned* neighbours;  // of the vertex

    DYNPAR_FUNCTION visit_neighbour(search* in, unsigned from)
        : s(in), neighbours(in->g.neighbours + in->g.begin[from]) {}
    DYNPAR_FUNCTION void operator()(unsigned i) const {
        const unsigned to = neighbours[i];
        if (s->distance[to] == unseen && dynpar::atomic_cas(&s->distance[to], unseen, s->round) == unseen)
            s->found[dynpar::atomic_append(&s->in_found)] = to;
    }
};

/// Shortest paths: who finds a shorter way to a vertex puts it into the next frontier, where it is once.
struct shorten_way {
    static constexpr const char* name = "shorten_way";
    search* s;
    unsigned first, distance;

    DYNPAR_FUNCTION shorten_way(search* in, unsigned from)
        : s(in), first(in->g.begin[from]), distance(dynpar::atomic_load(&in->distance[from])) {}
    DYNPAR_FUNCTION void operator()(unsigned i) const {
        const unsigned to = s->g.neighbours[first + i], way = distance + s->g.weights[first + i];
        if (s->distance[to] > way && dynpar::atomic_min(&s->distance[to], way) > way &&
            dynpar::atomic_exchange(&s->queued[to], s->round) != s->round)
            s->found[dynpar::atomic_append(&s->in_found)] = to;
    }
};

/// A thread for each vertex of the frontier.
template <class Visit>
struct visit_frontier {
    static constexpr const char* name = "visit_frontier";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, search* s) const {
        const unsigned i = block.block_rank() * block.num_threads() + block.thread_rank();
        const bool has_vertex = i < s->in_frontier;
        const unsigned from = has_vertex ? s->frontier[i] : s->frontier[0];
        const unsigned edges = s->g.begin[from + 1] - s->g.begin[from];
        dynpar::nested_for(block, has_vertex ? edges : 0, Visit(s, from));
    }
};

/// One thread, after each round: begins the next one.
template <class Visit>
struct next_round {
    static constexpr const char* name = "next_round";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, search* s) const {
        unsigned* const frontier = s->frontier;
        s->frontier = s->found;
        s->found = frontier;
        s->in_frontier = s->in_found;
        s->in_found = 0;
        if (s->in_frontier == 0) return;
        ++s->round;
        block.launch(visit_frontier<Visit>{}, dynpar::shape_for(block, s->in_frontier, dynpar::at_most(256)), s);
        block.then(*this, dynpar::shape(1, 1), s);
    }
};

}  // namespace graphs
