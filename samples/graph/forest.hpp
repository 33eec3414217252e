// A minimum spanning forest (Boruvka): in each round every component takes the lightest edge that leads out of it.
#pragma once

#include "kernels.hpp"

namespace graphs {

using edge_key = unsigned long long;

inline constexpr edge_key no_edge = ~edge_key{0};
inline constexpr unsigned component_bits = 22;
inline constexpr unsigned most_vertices_of_forest = 1u << component_bits;

/// An edge between two components, of both the same. Two components choose each other or form no ring, since keys are
/// equal only of edges between the same two.
DYNPAR_FUNCTION inline edge_key key_of(unsigned length, unsigned a, unsigned b) {
    const edge_key less = a < b ? a : b, greater = a < b ? b : a;
    return edge_key{length} << 2 * component_bits | less << component_bits | greater;
}

/// What all grids share.
struct forest {
    graph_view g;
    unsigned* component;  ///< of each vertex: a vertex of the same component, the same for all of them
    unsigned* joined_to;  ///< of each component: which it has become a part of, or itself
    edge_key* lightest;   ///< of each component
    unsigned long long weight;
    unsigned edges;
    unsigned has_changed;
};

/// The key of an edge; of one inside its component, none.
struct key_of_edge {
    const forest* f;
    unsigned first, component;
    DYNPAR_FUNCTION unsigned fetch(unsigned i) const { return f->component[f->g.neighbours[first + i]]; }
    DYNPAR_FUNCTION edge_key operator()(unsigned i, unsigned other) const {
        return other == component ? no_edge : key_of(f->g.weights[first + i], component, other);
    }
};

/// A thread for each vertex.
struct find_lightest {
    static constexpr const char* name = "find_lightest";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, forest* f) const {
        const unsigned i = dynpar::this_grid(block).thread_rank();
        const bool has_vertex = i < f->g.vertices;
        const unsigned first = has_vertex ? f->g.begin[i] : 0, edges = has_vertex ? f->g.begin[i + 1] - first : 0;
        const unsigned component = has_vertex ? f->component[i] : 0;
        dynpar::nested_reduce_into(block, edges, key_of_edge{f, first, component}, dynpar::smallest<edge_key>{},
                                   &f->lightest[component]);
    }
};

/// A thread for each vertex, of which those that name components act.
struct join_components {
    static constexpr const char* name = "join_components";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, forest* f) const {
        const unsigned i = dynpar::this_grid(block).thread_rank();
        if (i >= f->g.vertices || f->component[i] != i || f->lightest[i] == no_edge) return;
        const edge_key key = f->lightest[i];
        const auto greater = static_cast<unsigned>(key % most_vertices_of_forest);
        const auto less = static_cast<unsigned>(key >> component_bits) % most_vertices_of_forest;
        const unsigned other = i == less ? greater : less;
        if (i < other && f->lightest[other] == key) return;  // the other one joins this one
        f->joined_to[i] = other;
        dynpar::atomic_add(&f->weight, key >> 2 * component_bits);
        dynpar::atomic_add(&f->edges, 1u);
        f->has_changed = 1;
    }
};

/// A thread for each vertex finds the component that its own has become a part of.
struct name_components {
    static constexpr const char* name = "name_components";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, forest* f) const {
        const unsigned i = dynpar::this_grid(block).thread_rank();
        if (i >= f->g.vertices) return;
        unsigned component = f->component[i];
        while (f->joined_to[component] != component) component = f->joined_to[component];
        f->component[i] = component;
        f->lightest[i] = no_edge;
    }
};

/// One thread, after each round: begins the next one.
struct next_forest_round {
    static constexpr const char* name = "next_forest_round";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, forest* f) const {
        if (f->has_changed == 0) return;
        f->has_changed = 0;
        const dynpar::shape vertices = dynpar::shape_for(block, f->g.vertices, dynpar::at_most(256));
        block.launch(find_lightest{}, vertices, f);
        block.then(join_components{}, vertices, f);  // one after another
        block.then(name_components{}, vertices, f);
        block.then(*this, dynpar::shape(1, 1), f);
    }
};

}  // namespace graphs
