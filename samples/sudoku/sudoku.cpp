// Finds all solutions of Sudoku puzzles, in three forms: how guesses are launched.
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <dynpar/detail/printable.hpp>
#include <dynpar/dynpar.hpp>

#include "../command_line.hpp"
#include "../with_engine.hpp"
#include "kernels.hpp"
#include "puzzles.hpp"

namespace {

// What a CPU looks at in a few seconds.
constexpr sudoku::number most_on_cpu = 5000000;

template <class Engine>
void run(Engine& engine, const std::vector<sudoku::board>& puzzles, const sudoku::findings& expected, const char* name,
         sudoku::form form, const samples::command_line& command) {
    using namespace sudoku;
    dynpar::buffer<findings> parts = engine.template make_buffer<findings>(counters);
    parts.fill({});
    dynpar::buffer<board> there = engine.template make_buffer<board>(puzzles);

    const dynpar::report report =
        engine.run(begin{parts.data(), there.data(), form}, dynpar::shape(static_cast<unsigned>(puzzles.size()), 1));

    findings found{};
    for (const findings& part : parts.to_vector()) {
        found.boards += part.boards;
        found.solutions += part.solutions;
        found.hashes += part.hashes;
    }
    const bool right = found.boards == expected.boards && found.solutions == expected.solutions &&
                       found.hashes == expected.hashes &&
                       (form == sudoku::form::blocks || report.grids == expected.boards + 1);
    char line[200];
    std::snprintf(line, sizeof line, "%-8s %zu puzzle%s: %llu boards, %llu solution%s in %llu grids: %s  %.3f ms", name,
                  puzzles.size(), puzzles.size() == 1 ? "" : "s", found.boards, found.solutions,
                  found.solutions == 1 ? "" : "s", static_cast<unsigned long long>(report.grids),
                  right ? "right" : "WRONG", engine.milliseconds());
    command.say(line);
    command.show_tree(report);
    if (!right)
        throw samples::wrong_result(std::string(name) + ": the CPU has " + std::to_string(expected.boards) +
                                    " boards and " + std::to_string(expected.solutions) + " solutions");
}

struct options {
    std::optional<std::string> file;
    std::optional<std::int64_t> puzzles;
    std::optional<std::int64_t> clues;
    std::optional<std::int64_t> seed;
    std::string form = "all";
};

// Throws `samples::input_error`.
std::vector<sudoku::board> puzzles_of(const options& o) {
    if (!o.file) {
        return sudoku::make_puzzles(static_cast<unsigned>(o.puzzles.value_or(1)),
                                    static_cast<unsigned>(o.clues.value_or(28)),
                                    static_cast<unsigned>(o.seed.value_or(1)));
    }
    if (o.puzzles || o.clues || o.seed)
        throw samples::input_error("--file: the puzzles are in the file; leave out --puzzles, --clues and --seed");
    try {
        return sudoku::read_puzzles(*o.file);
    } catch (const sudoku::puzzle_error& e) {
        throw samples::input_error(dynpar::detail::printable(e.what()));
    }
}

sudoku::findings search_on_cpu(const std::vector<sudoku::board>& puzzles) {
    sudoku::findings all{};
    for (const sudoku::board& puzzle : puzzles) {
        const sudoku::findings found = sudoku::search_on_cpu(puzzle, most_on_cpu - all.boards);
        all.boards += found.boards;
        all.solutions += found.solutions;
        all.hashes += found.hashes;
        if (all.boards > most_on_cpu)
            throw samples::input_error("there are more than " + std::to_string(most_on_cpu) +
                                       " boards to look at; give fewer puzzles, or puzzles with more clues");
    }
    return all;
}

}  // namespace

int main(int argc, char** argv) {
    samples::command_line command(
        "sudoku",
        "Finds all solutions of Sudoku puzzles: every guess is a thread, which places a digit and launches one for "
        "each "
        "digit of the cell that has the fewest left. What is found is compared with the CPU's.");
    options o;
    command.add_file("--file", o.file, "puzzles, one a line: 81 cells row by row, . for an empty one; # for a comment",
                     "puzzles are made");
    command.add_integer("--puzzles", o.puzzles, 1, 100000, "how many puzzles to make", "1");
    command.add_integer("--clues", o.clues, 17, 81, "digits of each; the fewer, the more solutions", "28");
    command.add_integer("--seed", o.seed, 0, 2147483647, "puzzles are drawn from it", "1");
    command.add_choice("--form", o.form, {"all", "child", "scratch", "blocks"},
                       "a grid for each guess, with the board as an argument or in its parent's scratch memory, or one "
                       "grid for all guesses of a cell");
    if (const auto status = command.parse(argc, argv)) return *status;
    std::vector<sudoku::board> puzzles;
    sudoku::findings expected{};
    try {
        puzzles = puzzles_of(o);
        expected = search_on_cpu(puzzles);
    } catch (...) {
        return command.explain_exception();
    }
    return samples::with_engine(command, [&](auto& engine) {
        using sudoku::form;
        for (const auto& [name, how] :
             {std::pair("child", form::child), std::pair("scratch", form::scratch), std::pair("blocks", form::blocks)})
            if (o.form == "all" || o.form == name) run(engine, puzzles, expected, name, how, command);
        return samples::success;
    });
}
