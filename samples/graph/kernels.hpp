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

/// What all grids of a search share, in the engine's memory.
struct search {
    graph_view g;
    unsigned* distance;  ///< of each vertex
    unsigned* queued;    ///< for shortest ways: the round for which it was found last
};

/// The vertices whose neighbours are visited in a round. What is found in round r is r + 1 steps away.
using frontier_view = dynpar::frontier_view<unsigned>;

/// A neighbour, and how far it was when it was looked at.
struct neighbour {
    unsigned to, distance;
};

/// Breadth first: the first to find a vertex puts it into the next round.
struct visit_neighbour {
    static constexpr const char* name = "visit_neighbour";
    frontier_view frontier;
    const search* s;
    const unsigned* neighbours;  // of the vertex

    DYNPAR_FUNCTION visit_neighbour(frontier_view of, const search* in, unsigned from)
        : frontier(of), s(in), neighbours(in->g.neighbours + in->g.begin[from]) {}
    DYNPAR_FUNCTION neighbour fetch(unsigned i) const { return {neighbours[i], s->distance[neighbours[i]]}; }
    DYNPAR_FUNCTION void operator()(unsigned, const neighbour& n) const {
        if (n.distance != unseen) return;
        if (dynpar::atomic_cas(&s->distance[n.to], unseen, frontier.round() + 1) == unseen) frontier.add(n.to);
    }
};

/// Shortest ways: who finds a shorter way to a vertex puts it into the next round, where it is once.
struct shorten_way {
    static constexpr const char* name = "shorten_way";
    frontier_view frontier;
    const search* s;
    unsigned first, distance;

    DYNPAR_FUNCTION shorten_way(frontier_view of, const search* in, unsigned from)
        : frontier(of),
          s(in),
          first(in->g.begin[from]),
          distance(dynpar::atomic_load(&in->distance[from], dynpar::memory_order::relaxed)) {}
    DYNPAR_FUNCTION neighbour fetch(unsigned i) const {
        const unsigned to = s->g.neighbours[first + i];
        return {to, s->distance[to]};
    }
    DYNPAR_FUNCTION void operator()(unsigned i, const neighbour& n) const {
        const unsigned way = distance + s->g.weights[first + i], next = frontier.round() + 1;
        if (n.distance > way && dynpar::atomic_min(&s->distance[n.to], way) > way &&
            dynpar::atomic_exchange(&s->queued[n.to], next) != next)
            frontier.add(n.to);
    }
};

/// A thread for each vertex of the frontier.
template <class Visit>
struct visit_frontier {
    static constexpr const char* name = "visit_frontier";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, frontier_view frontier, const search* s) const {
        const unsigned* const item = frontier.item(block);
        const unsigned from = item != nullptr ? *item : 0, edges = s->g.begin[from + 1] - s->g.begin[from];
        dynpar::nested_for(block, item != nullptr ? edges : 0, Visit(frontier, s, from));
    }
};

/// A search in rounds, run with one thread.
template <class Visit>
using search_forward = dynpar::for_each_in<visit_frontier<Visit>>;

/// Whether a neighbour is in the frontier.
struct is_in_frontier {
    const search* s;
    const unsigned* neighbours;  // of the vertex
    unsigned round;
    DYNPAR_FUNCTION unsigned fetch(unsigned i) const { return s->distance[neighbours[i]]; }
    DYNPAR_FUNCTION bool operator()(unsigned, unsigned of_neighbour) const { return of_neighbour == round; }
};

/// Breadth first, the other way: a thread for each vertex that has not been found looks for one that is in the
/// frontier. If many are, one of the first neighbours is as a rule.
struct look_back {
    static constexpr const char* name = "look_back";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, frontier_view frontier, const search* s) const {
        const unsigned v = dynpar::this_grid(block).thread_rank(), round = frontier.round();
        const bool is_missing = v < s->g.vertices && s->distance[v] == unseen;
        const unsigned first = is_missing ? s->g.begin[v] : 0, end = is_missing ? s->g.begin[v + 1] : 0;
        const is_in_frontier looks_near{s, s->g.neighbours + first, round};
        if (dynpar::nested_reduce(block, end - first, looks_near, dynpar::whether_any{})) {
            s->distance[v] = round + 1;
            frontier.add(v);
        }
    }
};

/// A search breadth first whose rounds look back where that is less work, run with one thread.
struct search_both_ways {
    static constexpr const char* name = "search_both_ways";

    /// Whether the frontier has so many edges that it is less work to look at all vertices: few vertices have most of
    /// the edges, and those are found early.
    static DYNPAR_FUNCTION bool is_wide(unsigned vertices, unsigned before, unsigned now) {
        return now > vertices / (now > before ? 32 : 8);
    }

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, frontier_view frontier, const search* s) const {
        const unsigned before = frontier.size(), now = frontier.advance();
        if (now == 0) return;
        const dynpar::at_most width(256);
        if (is_wide(s->g.vertices, before, now)) {
            block.launch(look_back{}, dynpar::shape_for(block, s->g.vertices, width), frontier, s);
        } else {
            block.launch(visit_frontier<visit_neighbour>{}, frontier.shape(block, width), frontier, s);
        }
        block.then(*this, dynpar::shape(1, 1), frontier, s);
    }
};

}  // namespace graphs
