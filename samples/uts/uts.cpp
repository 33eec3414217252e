// Counts the nodes of an unbalanced tree, in three forms: how children are launched.
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <dynpar/dynpar.hpp>

#include "../command_line.hpp"
#include "../with_engine.hpp"
#include "kernels.hpp"

namespace {

// What a CPU counts in a quarter of a minute.
constexpr uts::number most_on_cpu = 100000000;

struct wanted {
    uts::tree tree;
    std::string name;
    uts::number nodes;
};

template <class Engine>
void run(Engine& engine, const wanted& w, const char* name, uts::form form, const samples::command_line& command) {
    using namespace uts;
    dynpar::buffer<number> counts = engine.template make_buffer<number>(counters);
    counts.fill(0);
    tree t = w.tree;
    t.counts = counts.data();
    dynpar::buffer<tree> there = engine.template make_buffer<tree>({t});

    const dynpar::report report = engine.run(begin{there.data(), form}, dynpar::shape(1, 1), root_of(t));

    number found = 0;
    for (const number part : counts.to_vector()) found += part;
    const bool right = found == w.nodes && (form == uts::form::blocks || report.grids == w.nodes + 1);
    char line[200];
    std::snprintf(line, sizeof line, "%-8s %s: %llu nodes in %llu grids: %s  %.3f ms", name, w.name.c_str(), found,
                  static_cast<unsigned long long>(report.grids), right ? "right" : "WRONG", engine.milliseconds());
    command.say(line);
    command.show_tree(report);
    if (!right)
        throw samples::wrong_result(std::string(name) + ": " + w.name + " has " + std::to_string(w.nodes) +
                                    " nodes, each a " + (form == uts::form::blocks ? "block" : "grid"));
}

struct options {
    std::string known = "none";
    std::string kind = "geometric";
    std::string form = "all";
    std::int64_t seed = 19;
    std::int64_t mean = 4;
    std::int64_t depth = 6;
    std::int64_t root_children = 200;
    std::int64_t children = 4;
    std::int64_t millionths = 200000;
};

// Throws `samples::input_error`.
wanted tree_of(const options& o) {
    for (const uts::known_tree& known : uts::known_trees())
        if (known.name == o.known) return {known.of, known.name, known.nodes};
    wanted w{};
    const auto given = [](std::int64_t value) { return static_cast<unsigned>(value); };
    if (o.kind == "geometric") {
        w.tree = uts::geometric_tree(given(o.mean), given(o.depth), given(o.seed));
    } else {
        if (o.children * o.millionths >= 1000000)
            throw samples::input_error("--millionths: with --children " + std::to_string(o.children) +
                                       " the tree may never end; give less than " +
                                       std::to_string((1000000 + o.children - 1) / o.children));
        w.tree = uts::binomial_tree(given(o.root_children), given(o.children), given(o.millionths), given(o.seed));
    }
    const uts::tree_size size = uts::count_on_cpu(w.tree, most_on_cpu);
    if (size.nodes > most_on_cpu)
        throw samples::input_error("the tree has more than " + std::to_string(most_on_cpu) +
                                   " nodes; give another --seed, or a smaller --depth");
    if (size.depth > uts::deepest)
        throw samples::input_error("the tree is deeper than " + std::to_string(uts::deepest) + "; give another --seed");
    w.name = o.kind + ", " + std::to_string(size.leaves) + " leaves, depth " + std::to_string(size.depth);
    w.nodes = size.nodes;
    return w;
}

}  // namespace

int main(int argc, char** argv) {
    samples::command_line command(
        "uts",
        "Unbalanced tree search: counts the nodes of a tree in which a node's state, a SHA-1 digest, says how many "
        "children it has. Every node is a thread; the count is compared with the CPU's, or with the published one.");
    options o;
    command.add_choice(
        "--known", o.known, {"none", "T1", "T1L", "T3", "T3L"},
        "a tree of the benchmark UTS, of 4 million nodes or of 100 million (L), in place of one that the "
        "options below describe");
    command.add_choice("--kind", o.kind, {"geometric", "binomial"}, "how numbers of children are drawn");
    command.add_integer("--seed", o.seed, 0, 2147483647, "the root's state is made of it");
    command.add_integer("--mean", o.mean, 1, 50, "geometric: children of a node on average");
    command.add_integer("--depth", o.depth, 0, 1000, "geometric: nodes so deep have no children");
    command.add_integer("--root-children", o.root_children, 1, uts::most_root_children, "binomial: of the root");
    command.add_integer("--children", o.children, 1, uts::most_children, "binomial: of each other node that has any");
    command.add_integer("--millionths", o.millionths, 0, 1000000,
                        "binomial: the probability that a node has children, in millionths");
    command.add_choice("--form", o.form, {"all", "child", "scratch", "blocks"},
                       "a grid for each child, with its parent's state as an argument or in its parent's scratch "
                       "memory, or one grid for all children of a node");
    if (const auto status = command.parse(argc, argv)) return *status;
    std::optional<wanted> w;
    try {
        w = tree_of(o);
    } catch (...) {
        return command.explain_exception();
    }
    return samples::with_engine(command, [&](auto& engine) {
        using uts::form;
        for (const auto& [name, how] :
             {std::pair("child", form::child), std::pair("scratch", form::scratch), std::pair("blocks", form::blocks)})
            if (o.form == "all" || o.form == name) run(engine, *w, name, how, command);
        return samples::success;
    });
}
