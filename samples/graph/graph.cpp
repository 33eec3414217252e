// Searches of graphs on every engine, each compared with the CPU's.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include <dynpar/dynpar.hpp>

#include "../command_line.hpp"
#include "../graph_file.hpp"
#include "../with_engine.hpp"
#include "colouring.hpp"
#include "forest.hpp"
#include "input.hpp"
#include "kernels.hpp"
#include "on_cpu.hpp"

namespace {

using graphs::graph;
using graphs::vertex;

/// A graph in the memory of an engine.
struct graph_buffers {
    dynpar::buffer<unsigned> begin, neighbours, weights;

    template <class Engine>
    graph_buffers(Engine& engine, const graph& g)
        : begin(engine.template make_buffer<unsigned>(g.begin)),
          neighbours(engine.template make_buffer<unsigned>(std::max<std::size_t>(g.neighbours.size(), 1))),
          weights(engine.template make_buffer<unsigned>(std::max<std::size_t>(g.weights.size(), 1))) {
        if (g.neighbours.empty()) return;
        neighbours.copy_from(g.neighbours.data());
        weights.copy_from(g.weights.data());
    }
    graphs::graph_view view() const {
        return {static_cast<unsigned>(begin.size() - 1), begin.data(), neighbours.data(), weights.data()};
    }
};

void report_result(const char* name, const graph& g, const std::string& found, bool is_right,
                   const dynpar::report& report, double milliseconds, const samples::command_line& command) {
    char line[256];
    std::snprintf(line, sizeof line, "%-8s %u vertices, %zu edges: %s in %llu grids: %s  %.3f ms", name, g.vertices(),
                  g.neighbours.size() / 2, found.c_str(), static_cast<unsigned long long>(report.grids),
                  is_right ? "right" : "WRONG", milliseconds);
    command.say(line);
    command.show_tree(report);
    if (!is_right) throw samples::wrong_result(std::string(name) + ": the CPU finds something else");
}

/// From one vertex to all that can be reached.
template <class Engine, class Kernel>
void search_from(Engine& engine, const char* name, Kernel kernel, const graph& g, vertex first,
                 const std::vector<unsigned>& expected, const samples::command_line& command) {
    const graph_buffers there(engine, g);
    auto distance = engine.template make_buffer<unsigned>(g.vertices());
    auto queued = engine.template make_buffer<unsigned>(g.vertices());
    std::vector<unsigned> at_first(g.vertices(), graphs::unseen);
    at_first[first] = 0;
    distance.copy_from(at_first.data());
    queued.fill(0);
    const auto s = engine.template make_buffer<graphs::search>({{there.view(), distance.data(), queued.data()}});
    dynpar::frontier<unsigned> frontier(engine, g.vertices());
    frontier.begin_with({first});

    const dynpar::report report = engine.run(kernel, dynpar::shape(1, 1), frontier.view(), s.data());

    const std::vector<unsigned> distances = distance.to_vector();
    const auto reached = g.vertices() - std::count(distances.begin(), distances.end(), graphs::unseen);
    report_result(name, g, std::to_string(reached) + " reached in " + std::to_string(frontier.rounds()) + " rounds",
                  distances == expected, report, engine.milliseconds(), command);
}

/// The lightest edges that join all that is joined.
template <class Engine>
void span(Engine& engine, const graph& g, const samples::command_line& command) {
    using namespace graphs;
    const graph_buffers there(engine, g);
    std::vector<unsigned> itself(g.vertices());
    std::iota(itself.begin(), itself.end(), 0u);
    const auto component = engine.template make_buffer<unsigned>(itself);
    const auto joined_to = engine.template make_buffer<unsigned>(itself);
    auto lightest = engine.template make_buffer<edge_key>(g.vertices());
    lightest.fill(no_edge);
    const auto f = engine.template make_buffer<forest>(
        {forest{there.view(), component.data(), joined_to.data(), lightest.data(), 0, 0, 1}});

    const dynpar::report report = engine.run(next_forest_round{}, dynpar::shape(1, 1), f.data());

    const forest found = f.value();
    const forest_size expected = forest_of(g);
    report_result("forest", g, std::to_string(found.edges) + " chosen, of weight " + std::to_string(found.weight),
                  found.edges == expected.edges && found.weight == expected.weight, report, engine.milliseconds(),
                  command);
}

/// A colour for each vertex.
template <class Engine>
void colour(Engine& engine, const graph& g, const samples::command_line& command) {
    using namespace graphs;
    const graph_buffers there(engine, g);
    std::vector<unsigned> all(g.vertices());
    std::iota(all.begin(), all.end(), 0u);
    auto colours = engine.template make_buffer<unsigned>(g.vertices());
    colours.fill(no_colour);
    const auto c = engine.template make_buffer<colouring>({{there.view(), colours.data()}});
    dynpar::frontier<unsigned> waiting(engine, g.vertices());
    waiting.begin_with(all);

    const dynpar::report report = engine.run(colour_all{}, dynpar::shape(1, 1), waiting.view(), c.data());

    const std::vector<unsigned> found = colours.to_vector();
    const unsigned count = *std::max_element(found.begin(), found.end()) + 1;
    report_result("colours", g, std::to_string(count) + " in " + std::to_string(waiting.rounds()) + " rounds",
                  found == colours_of(g), report, engine.milliseconds(), command);
}

struct options {
    std::string input = "rmat";
    std::string search = "all";
    std::optional<std::string> file;
    std::int64_t scale = 10;
    std::int64_t side = 40;
    std::int64_t seed = 1;
    std::optional<std::int64_t> from;
};

// Throws `samples::graph_error`.
graph read_graph(const std::string& file) {
    samples::graph_file_limits limits;
    limits.most_edges = graphs::most_edges;
    limits.most_weight = graphs::most_weight;
    const samples::edge_list list = samples::read_edges(file, limits);
    std::vector<graphs::edge> edges;
    edges.reserve(list.edges.size());
    for (const samples::weighted_edge& e : list.edges) edges.push_back({e.from, e.to, e.weight});
    return graphs::make_graph(list.vertices, edges);
}

// Throws `samples::graph_error`.
graph graph_of(const options& o) {
    if (o.file) return read_graph(*o.file);
    if (o.input == "rmat") return graphs::draw_rmat(static_cast<unsigned>(o.scale), static_cast<unsigned>(o.seed));
    return graphs::draw_roads(static_cast<unsigned>(o.side), static_cast<unsigned>(o.seed));
}

}  // namespace

int main(int argc, char** argv) {
    samples::command_line command("graph",
                                  "Searches a graph: the threads of a warp share the neighbours of their vertices, and "
                                  "vertices with very many get child grids. Every result is compared with the CPU's.");
    options o;
    command.add_choice(
        "--search", o.search, {"all", "bfs", "both", "sssp", "forest", "colours"},
        "breadth first; the same from both sides, where vertices that are missing look back if many are near; the "
        "shortest ways to each vertex, a minimum spanning forest, or colours that differ between neighbours");
    command.add_choice("--input", o.input, {"rmat", "roads"}, "what graph is drawn");
    command.add_integer("--scale", o.scale, 4, 22, "rmat: 2^scale vertices, with 16 edges each on average");
    command.add_integer("--side", o.side, 2, 4096, "roads: crossings along a side of the grid");
    command.add_integer("--seed", o.seed, 0, 2147483647, "of which the graph is drawn");
    command.add_file("--file", o.file, "a graph in the format Matrix Market, DIMACS or PACE", "one is drawn");
    command.add_integer("--from", o.from, 1, 1 << 30, "the vertex where the search begins", "the one with most edges");
    if (const auto status = command.parse(argc, argv)) return *status;
    graph g;
    vertex first = 0;
    try {
        try {
            g = graph_of(o);
        } catch (const samples::graph_error& error) {
            throw samples::input_error(error.what());
        }
        if (o.from && *o.from > g.vertices())
            throw samples::input_error("--from: " + std::to_string(*o.from) + " is no vertex; give 1 to " +
                                       std::to_string(g.vertices()));
        if (o.search == "forest" && g.vertices() > graphs::most_vertices_of_forest)
            throw samples::input_error("--search forest: the graph has " + std::to_string(g.vertices()) +
                                       " vertices; give one of at most " +
                                       std::to_string(graphs::most_vertices_of_forest));
        first = o.from ? static_cast<vertex>(*o.from - 1) : graphs::busiest(g);
    } catch (...) {
        return command.explain_exception();
    }
    return samples::with_engine(command, [&](auto& engine) {
        using namespace graphs;
        if (o.search == "all" || o.search == "bfs")
            search_from(engine, "bfs", search_forward<visit_neighbour>{}, g, first, steps_from(g, first), command);
        if (o.search == "all" || o.search == "both")
            search_from(engine, "both", search_both_ways{}, g, first, steps_from(g, first), command);
        if (o.search == "all" || o.search == "sssp")
            search_from(engine, "sssp", search_forward<shorten_way>{}, g, first, lengths_from(g, first), command);
        if ((o.search == "all" && g.vertices() <= most_vertices_of_forest) || o.search == "forest")
            span(engine, g, command);
        if (o.search == "all" || o.search == "colours") colour(engine, g, command);
        return samples::success;
    });
}
