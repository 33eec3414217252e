// Finds a smallest vertex cover of a graph: as few vertices as possible, of which each edge has one at least.
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include <dynpar/detail/printable.hpp>
#include <dynpar/dynpar.hpp>

#include "../command_line.hpp"
#include "../graph_file.hpp"
#include "../with_engine.hpp"
#include "graph.hpp"
#include "search.hpp"
#include "serial.hpp"

namespace {

using namespace vertex_cover;

struct options {
    std::optional<std::string> file;
    std::string kind = "random";
    std::optional<std::int64_t> vertices;
    std::optional<std::int64_t> per_mille;
    std::optional<std::int64_t> parts;
    std::optional<std::int64_t> seed;
    bool complement = false;
    std::int64_t cpu_nodes = 2000000;
    bool print = false;
};

struct task {
    graph of;
    std::string name;
};

// Throws `samples::graph_error`.
graph read_graph(const std::string& file) {
    samples::graph_file_limits limits;
    limits.most_vertices = most_vertices;
    limits.most_edges = most_vertices * (most_vertices - 1);  // each may be there in both directions
    limits.has_loops = false;
    const samples::edge_list list = samples::read_edges(file, limits);
    std::vector<edge> edges;
    edges.reserve(list.edges.size());
    for (const samples::weighted_edge& e : list.edges) edges.emplace_back(e.from, e.to);
    return graph_of(list.vertices, edges);
}

// Throws `samples::input_error`.
task task_of(const options& o) {
    task t;
    if (o.file) {
        if (o.vertices || o.per_mille || o.parts || o.seed)
            throw samples::input_error(
                "--file: the graph is in the file; leave out --vertices, --per-mille, --parts and --seed");
        try {
            t.of = read_graph(*o.file);
        } catch (const samples::graph_error& e) {
            throw samples::input_error(dynpar::detail::printable(e.what()));
        }
        t.name = dynpar::detail::printable(*o.file);
    } else {
        t.name = o.kind;
        const auto vertices = static_cast<unsigned>(o.vertices.value_or(60));
        const auto parts = static_cast<unsigned>(o.parts.value_or(1));
        const auto per_mille = static_cast<unsigned>(o.per_mille.value_or(t.name == "grid" ? 1000 : 100));
        if (vertices * parts > most_vertices)
            throw samples::input_error("--parts: " + std::to_string(parts) + " of " + std::to_string(vertices) +
                                       " vertices are too many; give " + std::to_string(most_vertices / vertices) +
                                       " at most");
        if (t.name == "tree" && o.per_mille)
            throw samples::input_error("--per-mille: a tree has an edge for each vertex but one; leave it out");
        std::vector<graph> all;
        for (unsigned i = 0; i < parts; ++i) {
            const unsigned seed = static_cast<unsigned>(o.seed.value_or(1)) + i;
            all.push_back(t.name == "tree"    ? tree_graph(vertices, seed)
                          : t.name == "grid"  ? grid_graph(vertices, per_mille, seed)
                          : t.name == "p-hat" ? p_hat_graph(vertices, per_mille, seed)
                                              : random_graph(vertices, per_mille, seed));
        }
        t.of = union_of(all);
    }
    if (o.complement) {
        t.of = complement_of(t.of);
        t.name = "complement of " + t.name;
    }
    t.name += ", " + std::to_string(t.of.vertices()) + " vertices, " + std::to_string(t.of.edges()) + " edges";
    return t;
}

template <class Engine>
void run(Engine& engine, const task& t, const cpu_result& expected, const options& o,
         const samples::command_line& command) {
    search_on<Engine> search(engine, t.of, greedy_cover(t.of));
    const dynpar::report report = engine.run(visit{}, search.shape(), search.root());

    const vertex_set cover = search.cover();
    const bool right = is_cover(t.of, cover) && (expected.is_smallest ? cover.size() == expected.cover.size()
                                                                      : cover.size() <= expected.cover.size());
    const number nodes = search.nodes();
    char line[300];
    std::snprintf(line, sizeof line,
                  "%s: a cover of %zu, %llu nodes (%llu split) in %llu grids: %s  %.3f ms, %.4g nodes/s",
                  t.name.c_str(), cover.size(), nodes, search.splits(), static_cast<unsigned long long>(report.grids),
                  !right                 ? "WRONG"
                  : expected.is_smallest ? "right"
                                         : "no cover is known to be smaller",
                  engine.milliseconds(), static_cast<double>(nodes) / (engine.milliseconds() * 1e-3));
    command.say(line);
    if (o.print) {
        std::string vertices = "cover:";
        for (const unsigned v : cover) vertices += " " + std::to_string(v + 1);
        command.say(vertices);
    }
    command.show_tree(report);
    if (!right) throw samples::wrong_result("the CPU has a cover of " + std::to_string(expected.cover.size()));
}

}  // namespace

int main(int argc, char** argv) {
    samples::command_line command(
        "vertex_cover",
        "Finds a smallest set of vertices of a graph that has an end of each edge. A node of the search is a block, "
        "which takes a vertex and launches a child that leaves it out; a graph that falls into two parts is solved as "
        "a "
        "sum. The result is compared with the CPU's.");
    options o;
    command.add_file("--file", o.file, "a graph in the format DIMACS, PACE or Matrix Market", "a graph is made");
    command.add_choice("--kind", o.kind, {"random", "p-hat", "grid", "tree"}, "the graph to make");
    command.add_integer("--vertices", o.vertices, 1, most_vertices, "of it, or of each part", "60");
    command.add_integer("--per-mille", o.per_mille, 0, 1000, "of the edges that there could be, so many are there",
                        "100, of a grid 1000");
    command.add_integer("--parts", o.parts, 1, most_vertices, "so many of them side by side", "1");
    command.add_integer("--seed", o.seed, 0, 2147483647, "it is drawn from that", "1");
    command.add_flag("--complement", o.complement, "an edge where there is none, and none where there is one");
    command.add_integer("--cpu-nodes", o.cpu_nodes, 0, 1000000000,
                        "the CPU looks at so many nodes at most; if it is not done then, only the cover is checked");
    command.add_flag("--print", o.print, "print the cover: vertices from 1");
    if (const auto status = command.parse(argc, argv)) return *status;
    task t;
    cpu_result expected{};
    try {
        t = task_of(o);
        expected = solve_on_cpu(t.of, static_cast<std::uint64_t>(o.cpu_nodes));
    } catch (...) {
        return command.explain_exception();
    }
    return samples::with_engine(command, [&](auto& engine) {
        run(engine, t, expected, o, command);
        return samples::success;
    });
}
