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
/// next. Very many threads count in `in_found`: so it has memory of its own, and what they only read stays in caches.
struct search {
    graph_view g;
    unsigned* distance;  ///< of each vertex
    unsigned* queued;    ///< the round in which it was found last
    unsigned* frontier;
    unsigned* found;  ///< the frontier of the next round
    unsigned* in_found;
    unsigned in_frontier;
    unsigned round;
};

/// A neighbour, and how far it was when it was looked at.
struct neighbour {
    unsigned to, distance;
};

/// Breadth first: the first to find a vertex puts it into the next frontier.
struct visit_neighbour {
    static constexpr const char* name = "visit_neighbour";
    search* s;
    const unsigned* neighbours;  // of the vertex

    DYNPAR_FUNCTION visit_neighbour(search* in, unsigned from)
        : s(in), neighbours(in->g.neighbours + in->g.begin[from]) {}
    DYNPAR_FUNCTION neighbour fetch(unsigned i) const { return {neighbours[i], s->distance[neighbours[i]]}; }
    DYNPAR_FUNCTION void operator()(unsigned, const neighbour& n) const {
        if (n.distance == unseen && dynpar::atomic_cas(&s->distance[n.to], unseen, s->round) == unseen)
            s->found[dynpar::atomic_append(s->in_found)] = n.to;
    }
};

/// Shortest paths: who finds a shorter way to a vertex puts it into the next frontier, where it is once.
struct shorten_way {
    static constexpr const char* name = "shorten_way";
    search* s;
    unsigned first, distance;

    DYNPAR_FUNCTION shorten_way(search* in, unsigned from)
        : s(in),
          first(in->g.begin[from]),
          distance(dynpar::atomic_load(&in->distance[from], dynpar::memory_order::relaxed)) {}
    DYNPAR_FUNCTION neighbour fetch(unsigned i) const {
        const unsigned to = s->g.neighbours[first + i];
        return {to, s->distance[to]};
    }
    DYNPAR_FUNCTION void operator()(unsigned i, const neighbour& n) const {
        const unsigned way = distance + s->g.weights[first + i];
        if (n.distance > way && dynpar::atomic_min(&s->distance[n.to], way) > way &&
            dynpar::atomic_exchange(&s->queued[n.to], s->round) != s->round)
            s->found[dynpar::atomic_append(s->in_found)] = n.to;
    }
};

/// Whether a neighbour is in the frontier.
struct is_in_frontier {
    const search* s;
    const unsigned* neighbours;  // of the vertex
    DYNPAR_FUNCTION unsigned fetch(unsigned i) const { return s->distance[neighbours[i]]; }
    DYNPAR_FUNCTION bool operator()(unsigned, unsigned of_neighbour) const { return of_neighbour == s->round - 1; }
};

/// Breadth first, the other way: a thread for each vertex that has not been found looks for one that is in the
/// frontier. If many are, one of the first neighbours is as a rule.
struct look_back {
    static constexpr const char* name = "look_back";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, search* s) const {
        const unsigned v = block.block_rank() * block.num_threads() + block.thread_rank();
        const bool is_vertex = v < s->g.vertices;
        const unsigned distance = is_vertex ? s->distance[v] : 0;
        const unsigned first = is_vertex ? s->g.begin[v] : 0, end = is_vertex ? s->g.begin[v + 1] : 0;
        const unsigned edges = distance == unseen ? end - first : 0;
        if (dynpar::nested_reduce(block, edges, is_in_frontier{s, s->g.neighbours + first}, dynpar::whether_any{})) {
            s->distance[v] = s->round;
            s->found[dynpar::atomic_append(s->in_found)] = v;
        }
    }
};

/// A thread for each vertex of the frontier, if it is small with many warps.
template <class Visit>
struct visit_frontier {
    static constexpr const char* name = "visit_frontier";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, search* s) const {
        const unsigned i = dynpar::loop_of(block, s->in_frontier);
        const bool has_vertex = i < s->in_frontier;
        const unsigned from = s->frontier[has_vertex ? i : 0];
        const unsigned edges = s->g.begin[from + 1] - s->g.begin[from];
        dynpar::nested_for(block, has_vertex ? edges : 0, Visit(s, from));
    }
};

/// Whether a search may look back where that is less work.
enum class ways { forward, both };

/// One thread, after each round: begins the next one.
template <class Visit, ways Ways = ways::forward>
struct next_round {
    static constexpr const char* name = "next_round";

    /// Whether the frontier has so many edges that it is less work to look at all vertices: few vertices have most of
    /// the edges, and those are found early.
    static DYNPAR_FUNCTION bool is_wide(const search& s, unsigned before) {
        return s.in_frontier > s.g.vertices / (s.in_frontier > before ? 32 : 8);
    }

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, search* s) const {
        unsigned* const frontier = s->frontier;
        const unsigned before = s->in_frontier;
        s->frontier = s->found;
        s->found = frontier;
        s->in_frontier = *s->in_found;
        *s->in_found = 0;
        if (s->in_frontier == 0) return;
        ++s->round;
        const dynpar::at_most width(256);
        if (Ways == ways::both && is_wide(*s, before)) {
            block.launch(look_back{}, dynpar::shape_for(block, s->g.vertices, width), s);
        } else {
            block.launch(visit_frontier<Visit>{}, dynpar::shape_for_loops(block, s->in_frontier, width), s);
        }
        block.then(*this, dynpar::shape(1, 1), s);
    }
};

}  // namespace graphs
