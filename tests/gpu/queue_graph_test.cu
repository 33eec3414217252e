// A breadth-first search of a graph whose vertices differ widely in their numbers of edges, as one writes it first: a
// vertex with many edges launches a grid for them, of several blocks.
#include "queue_test.cuh"

#include <algorithm>
#include <cstdlib>
#include <random>

using namespace queue_test;

namespace {

using vertex = std::uint32_t;
constexpr vertex unseen = ~vertex{0};

/// Of each vertex its neighbours, one after another.
struct graph {
    std::vector<count_type> begin;
    std::vector<vertex> neighbours;

    vertex vertices() const { return static_cast<vertex>(begin.size() - 1); }
};

/// 2^scale vertices with 16 edges each on average, drawn by R-MAT (0.57, 0.19, 0.19, 0.05), in both directions.
graph draw_graph(unsigned scale) {
    std::mt19937_64 random(scale);
    const vertex vertices = vertex{1} << scale;
    std::vector<std::pair<vertex, vertex>> edges(std::size_t{16} << scale);
    for (auto& [from, to] : edges) {
        from = to = 0;
        std::uint64_t bits = random();
        for (unsigned i = 0; i < scale; ++i) {
            if (i % 8 == 7) bits = random();
            const std::uint64_t part = bits & 0xff;  // of 256: 146, 49, 48 and 13
            bits >>= 8;
            from = 2 * from + (part >= 195 ? 1 : 0);
            to = 2 * to + ((part >= 146 && part < 195) || part >= 243 ? 1 : 0);
        }
    }
    graph g;
    g.begin.assign(std::size_t{vertices} + 1, 0);
    for (const auto& [from, to] : edges) {
        ++g.begin[from + 1];
        ++g.begin[to + 1];
    }
    for (std::size_t i = 1; i < g.begin.size(); ++i) g.begin[i] += g.begin[i - 1];
    g.neighbours.resize(g.begin.back());
    std::vector<count_type> next(g.begin.begin(), g.begin.end() - 1);
    for (const auto& [from, to] : edges) {
        g.neighbours[next[from]++] = to;
        g.neighbours[next[to]++] = from;
    }
    return g;
}

/// The number of steps to each vertex, by the CPU.
std::vector<vertex> steps_from(const graph& g, vertex first) {
    std::vector<vertex> steps(g.vertices(), unseen);
    std::vector<vertex> frontier{first}, found;
    steps[first] = 0;
    for (vertex step = 1; !frontier.empty(); ++step, frontier.swap(found)) {
        found.clear();
        for (const vertex from : frontier) {
            for (count_type edge = g.begin[from]; edge < g.begin[from + 1]; ++edge) {
                if (steps[g.neighbours[edge]] != unseen) continue;
                steps[g.neighbours[edge]] = step;
                found.push_back(g.neighbours[edge]);
            }
        }
    }
    return steps;
}

/// What all grids of a step share, in the engine's memory.
struct search {
    const count_type* begin;
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
        const count_type edge =
            s->begin[from] + count_type{block.block_rank()} * block.num_threads() + block.thread_rank();
        if (edge < s->begin[from + 1]) s->visit(s->neighbours[edge]);
    }
};

struct visit_frontier {
    static constexpr const char* name = "visit_frontier";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, search* s) const {
        const unsigned i = block.block_rank() * block.num_threads() + block.thread_rank();
        if (i >= s->in_frontier) return;
        const vertex from = s->frontier[i];
        const count_type edges = s->begin[from + 1] - s->begin[from];
        if (edges > 16) {
            const auto blocks = static_cast<unsigned>((edges + s->threads - 1) / s->threads);
            block.launch(visit_neighbours{}, shape(blocks, s->threads), s, from);
        } else {
            for (count_type edge = s->begin[from]; edge < s->begin[from + 1]; ++edge) s->visit(s->neighbours[edge]);
        }
    }
};

/// DYNPAR_GRAPH_SCALE: the binary logarithm of the number of vertices, for a run at full size.
unsigned graph_scale() {
    const char* const text = std::getenv("DYNPAR_GRAPH_SCALE");
    return text != nullptr ? static_cast<unsigned>(std::atoi(text)) : 14;
}

TEST_CASE("a search of a graph, with a grid of several blocks for each vertex of many edges, finds every vertex") {
    const graph g = draw_graph(graph_scale());
    vertex first = 0;
    for (vertex v = 0; v < g.vertices(); ++v) {
        if (g.begin[v + 1] - g.begin[v] > g.begin[first + 1] - g.begin[first]) first = v;
    }
    const std::vector<vertex> expected = steps_from(g, first);
    for (const unsigned block_threads : {0u, 512u, 1024u}) {
        if (block_threads > DYNPAR_QUEUE_MOST_THREADS) continue;
        for (const unsigned threads : {1u, 32u, 64u, 256u}) {
            CAPTURE(block_threads);
            CAPTURE(threads);
            dynpar::queue_options options = with_deadline();
            options.block_threads = block_threads;
            dynpar::queue_engine engine(options);
            const auto begin = engine.make_buffer<count_type>(g.begin);
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
