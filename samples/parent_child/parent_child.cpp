// A sum for each of many parents over its children, of which some have very many: in four forms.
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <dynpar/dynpar.hpp>

#include "../command_line.hpp"
#include "../with_engine.hpp"
#include "families.hpp"

namespace {

using namespace families;

template <form How, class Engine>
void run(Engine& engine, const char* name, const std::vector<unsigned>& begins, const std::vector<number>& expected,
         const samples::command_line& command) {
    const auto parents = static_cast<unsigned>(begins.size() - 1);
    const auto begin = engine.template make_buffer<unsigned>(begins);
    auto sums = engine.template make_buffer<number>(parents);
    sums.fill(0);

    const dynpar::report report =
        engine.run(visit_parents<How>{}, dynpar::shape_for(engine, parents, dynpar::at_most(256)),
                   family_view{parents, begin.data(), sums.data()});

    const bool is_right = sums.to_vector() == expected;
    char line[200];
    std::snprintf(line, sizeof line, "%-22s %u parents, %u children in %llu grids: %s  %.3f ms", name, parents,
                  begins.back(), static_cast<unsigned long long>(report.grids), is_right ? "right" : "WRONG",
                  engine.milliseconds());
    command.say(line);
    command.show_tree(report);
    if (!is_right) throw samples::wrong_result(std::string(name) + ": a sum is not the CPU's");
}

}  // namespace

int main(int argc, char** argv) {
    samples::command_line command(
        "parent_child",
        "Parents with very different numbers of children: by a loop in each parent's thread, by a child grid for each "
        "parent, by nested_for, and by nested_reduce. Each sum is compared with the CPU's.");
    std::int64_t parents = 500;
    std::int64_t longest = 3000;
    std::int64_t seed = 1;
    std::string how = "all";
    command.add_integer("--parents", parents, 1, 1 << 22, "how many parents");
    command.add_integer("--longest", longest, 0, 1 << 20,
                        "children of the parent with most; the next one has half of "
                        "that, the third a third, and so on");
    command.add_integer("--seed", seed, 0, 2147483647, "of the order of the parents");
    command.add_choice("--form", how, {"all", "loop", "launch", "nested_for", "nested_reduce"}, "how");
    if (const auto status = command.parse(argc, argv)) return *status;
    const std::vector<unsigned> begins =
        draw_families(static_cast<unsigned>(parents), static_cast<unsigned>(longest), static_cast<unsigned>(seed));
    const std::vector<number> expected = sums_on_cpu(begins);
    return samples::with_engine(command, [&](auto& engine) {
        const auto is_asked_for = [&](const char* name) { return how == "all" || how == name; };
        if (is_asked_for("loop")) run<form::loop>(engine, "loop", begins, expected, command);
        if (is_asked_for("launch")) run<form::launch>(engine, "launch", begins, expected, command);
        if (is_asked_for("nested_for")) run<form::share>(engine, "nested_for", begins, expected, command);
        if (is_asked_for("nested_reduce")) run<form::reduce>(engine, "nested_reduce", begins, expected, command);
        return samples::success;
    });
}
