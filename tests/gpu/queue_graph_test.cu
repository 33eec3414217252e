// A breadth-first search of a graph whose vertices differ widely in their numbers of edges, as one writes it first: a
// vertex with many edges launches a grid for them, of several blocks.
#include "../../samples/graph/input.hpp"
#include "../../samples/graph/on_cpu.hpp"
#include "queue_test.cuh"

#include <algorithm>
#include <cstdlib>

using namespace queue_test;

namespace {

using graphs::graph;
using graphs::vertex;
constexpr vertex unseen = ~vertex{0};

/// What all grids of a step share, in the engine's memory.
struct search {
    const unsigned* begin;
    const vertex* neighbours;
    vertex* steps;
    vertex* frontier;
    vertex* found;
    unsigned in_frontier;
    unsigned in_found;
    vertex step;
    unsigned threads;  // of a child's blocks

    DYNPAR_FUNCTION void visit(vertex to) {
        if (dynpar::atomic_cas(steps + to, unseen, step) == unseen) found[dynpar::atomic_add(&in_found, 1u)] = to;
    }
};

struct visit_neighbours {
    static constexpr const char* name = "visit_neighbours";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, search* s, vertex from) const {
        const unsigned edge = s->begin[from] + dynpar::this_grid(block).thread_rank();
        if (edge < s->begin[from + 1]) s->visit(s->neighbours[edge]);
    }
};

struct visit_frontier {
    static constexpr const char* name = "visit_frontier";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, search* s) const {
        const unsigned i = dynpar::this_grid(block).thread_rank();
        if (i >= s->in_frontier) return;
        const vertex from = s->frontier[i];
        const unsigned edges = s->begin[from + 1] - s->begin[from];
        if (edges > 16) {
            const unsigned blocks = (edges + s->threads - 1) / s->threads;
            block.launch(visit_neighbours{}, shape(blocks, s->threads), s, from);
        } else {
            for (unsigned edge = s->begin[from]; edge < s->begin[from + 1]; ++edge) s->visit(s->neighbours[edge]);
        }
    }
};

/// DYNPAR_GRAPH_SCALE: the binary logarithm of the number of vertices, for a run at full size.
unsigned graph_scale() {
    const char* const text = std::getenv("DYNPAR_GRAPH_SCALE");
    return text != nullptr ? static_cast<unsigned>(std::atoi(text)) : 14;
}

TEST_CASE("a search of a graph, with a grid of several blocks for each vertex of many edges, finds every vertex") {
    const graph g = graphs::draw_rmat(graph_scale(), graph_scale());
    const vertex first = graphs::busiest(g);
    const std::vector<vertex> expected = graphs::steps_from(g, first);
    for (const unsigned block_threads : {0u, 512u, 1024u}) {
        if (block_threads > DYNPAR_QUEUE_MOST_THREADS) continue;
        for (const unsigned threads : {1u, 32u, 64u, 256u}) {
            CAPTURE(block_threads);
            CAPTURE(threads);
            dynpar::queue_options options = with_deadline();
            options.block_threads = block_threads;
            dynpar::queue_engine engine(options);
            const auto begin = engine.make_buffer<unsigned>(g.begin);
            const auto neighbours = engine.make_buffer<vertex>(g.neighbours);
            auto steps = filled(engine, g.vertices(), unseen);
            const auto frontier = filled(engine, g.vertices(), first), found = filled(engine, g.vertices(), first);
            const vertex none = 0;
            dynpar::check(cudaMemcpy(steps.data() + first, &none, sizeof(none), cudaMemcpyHostToDevice),
                          "marking the first vertex");
            search s{begin.data(), neighbours.data(), steps.data(), frontier.data(), found.data(), 1, 0, 1, threads};
            auto shared = engine.make_buffer<search>(1);
            for (; s.in_frontier != 0; ++s.step) {
                s.in_found = 0;
                shared.copy_from(&s);
                engine.run(visit_frontier{}, shape((s.in_frontier + 255) / 256, 256), shared.data());
                s.in_frontier = shared.value().in_found;
                std::swap(s.frontier, s.found);
            }
            const std::vector<vertex> reached = steps.to_vector();
            CHECK(reached == expected);
        }
    }
}

}  // namespace
