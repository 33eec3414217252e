// Counts the ways to place N queens on a board of N by N: an uneven tree of grids of one thread.
#include <cstdint>
#include <cstdio>
#include <string>

#include <dynpar/dynpar.hpp>

#include "../command_line.hpp"
#include "../with_engine.hpp"
#include "kernels.hpp"

namespace {

template <class Engine>
void run(Engine& engine, int size, int serial_rows, const samples::command_line& command) {
    using namespace queens;
    dynpar::buffer<number> solutions = engine.template make_buffer<number>({0});

    const dynpar::report report =
        engine.run(place_queen{solutions.data()}, dynpar::shape(1, 1), empty_board(size, serial_rows));

    const number found = solutions.value();
    const bool right = found == expected(size);
    char line[160];
    std::snprintf(line, sizeof line, "%d queens: %llu solutions in %llu grids: %s  %.3f ms", size, found,
                  static_cast<unsigned long long>(report.grids), right ? "right" : "WRONG", engine.milliseconds());
    command.say(line);
    command.show_tree(report);
    if (!right)
        throw samples::wrong_result(std::to_string(size) + " queens have " + std::to_string(expected(size)) +
                                    " solutions");
}

}  // namespace

int main(int argc, char** argv) {
    samples::command_line command(
        "n_queens",
        "Counts the ways to place N queens so that none attacks another: every placement is a grid of one "
        "thread, which launches one for each place in the next row.");
    std::int64_t size = 8;
    std::int64_t serial_rows = 0;
    command.add_integer("--size", size, 1, queens::largest_board, "rows and columns of the board, and queens");
    command.add_integer("--serial-rows", serial_rows, 0, queens::most_serial_rows,
                        "as many rows at the end are left to one thread, without launches");
    if (const auto status = command.parse(argc, argv)) return *status;
    return samples::with_engine(command, [&](auto& engine) {
        run(engine, static_cast<int>(size), static_cast<int>(serial_rows), command);
        return samples::success;
    });
}
