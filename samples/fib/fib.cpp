// Fibonacci numbers by the recursion that defines them, every call a grid of its own: what launches and joins cost.
#include <cstdint>
#include <cstdio>
#include <string>

#include <dynpar/dynpar.hpp>

#include "../command_line.hpp"
#include "../with_engine.hpp"
#include "kernels.hpp"

namespace {

template <class Engine>
void run(Engine& engine, int n, bool waits, const samples::command_line& command) {
    using namespace fibonacci;
    dynpar::buffer<number> result = engine.template make_buffer<number>({~number{0}});

    const dynpar::report report = waits ? engine.run(fib_wait{}, dynpar::shape(1, 1), result.data(), n)
                                        : engine.run(fib{}, dynpar::shape(1, 1), result.data(), n);

    const number found = result.value();
    const bool right = found == expected(n) && report.grids == grids(n, waits);
    char line[160];
    std::snprintf(line, sizeof line, "fib(%d) = %llu in %llu grids: %s  %.3f ms", n, found,
                  static_cast<unsigned long long>(report.grids), right ? "right" : "WRONG", engine.milliseconds());
    command.say(line);
    command.show_tree(report);
    if (!right) {
        throw samples::wrong_result("fib(" + std::to_string(n) + ") is " + std::to_string(expected(n)) + ", in " +
                                    std::to_string(grids(n, waits)) + " grids");
    }
}

}  // namespace

int main(int argc, char** argv) {
    samples::command_line command(
        "fib", "A Fibonacci number by recursion: every call is a grid of one thread, which launches two.");
    std::int64_t n = 12;
    bool waits = false;
    command.add_integer("--n", n, 0, 60, "which Fibonacci number");
    command.add_flag("--wait", waits,
                     "wait for the children instead of leaving the sum to a continuation (engines that can wait)");
    if (const auto status = command.parse(argc, argv)) return *status;
    return samples::with_engine(command, [&](auto& engine) {
        run(engine, static_cast<int>(n), waits, command);
        return samples::success;
    });
}
