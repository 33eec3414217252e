// Fibonacci numbers by the recursion that defines them, every call a grid of its own: what launches and joins cost.
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

#include <dynpar/dynpar.hpp>

#include "../command_line.hpp"
#include "../with_engine.hpp"
#include "kernels.hpp"

namespace {

enum class form { then, wait, value };

template <class Engine>
void run(Engine& engine, int n, form how, const samples::command_line& command) {
    using namespace fibonacci;
    number found = ~number{0};
    dynpar::report report;
    if (how == form::value) {
        auto outcome = engine.try_call(fib_value{}, n);
        if (!outcome.value) throw dynpar::launch_error(std::move(outcome.report));
        found = *outcome.value;
        report = std::move(outcome.report);
    } else {
        const dynpar::buffer<number> result = engine.template make_buffer<number>({found});
        report = how == form::wait ? engine.run(fib_wait{}, dynpar::shape(1, 1), result.data(), n)
                                   : engine.run(fib{}, dynpar::shape(1, 1), result.data(), n);
        found = result.value();
    }

    const bool waits = how == form::wait;
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
    bool returns = false;
    command.add_integer("--n", n, 0, 60, "which Fibonacci number");
    command.add_flag("--wait", waits,
                     "wait for the children instead of leaving the sum to a continuation (engines that can wait)");
    command.add_flag("--value", returns, "calls that return values, which then() combines");
    if (const auto status = command.parse(argc, argv)) return *status;
    const form how = waits ? form::wait : returns ? form::value : form::then;
    return samples::with_engine(command, [&](auto& engine) {
        if (waits && returns) throw samples::input_error("--wait and --value are two forms of one recursion; give one");
        run(engine, static_cast<int>(n), how, command);
        return samples::success;
    });
}
