// Draws many Bezier curves as chains of lines, of which each has as many points as its curve needs.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <dynpar/dynpar.hpp>

#include "../command_line.hpp"
#include "../with_engine.hpp"
#include "curves.hpp"

int main(int argc, char** argv) {
    samples::command_line command(
        "bezier",
        "Draws quadratic Bezier curves as chains of lines: a thread for each curve finds how "
        "many points it needs, and threads share them. Each point is compared with the CPU's.");
    std::int64_t count = 2000;
    std::int64_t seed = 1;
    std::int64_t digits = 4;
    command.add_integer("--curves", count, 1, 1 << 22, "how many curves");
    command.add_integer("--seed", seed, 0, 2147483647, "of which they are drawn");
    command.add_integer("--digits", digits, 1, 6, "lines are at most 10 to the minus so much away from their curve");
    if (const auto status = command.parse(argc, argv)) return *status;
    using namespace curves;
    const auto tolerance = static_cast<float>(std::pow(10.0, -static_cast<double>(digits)));
    const std::vector<curve> drawn = draw(static_cast<unsigned>(count), static_cast<unsigned>(seed));
    return samples::with_engine(command, [&](auto& engine) {
        const unsigned long long points = points_of(drawn, tolerance);
        if (points > 0x7fffffff)
            throw samples::input_error("--curves: they need " + std::to_string(points) + " points; give fewer curves");
        const auto there = engine.template make_buffer<curve>(drawn);
        const auto chains = engine.template make_buffer<unsigned>(drawn.size());
        const auto places = engine.template make_buffer<point>(static_cast<std::size_t>(points));
        const auto room = static_cast<unsigned>(points);
        const auto used = engine.template make_buffer<unsigned>({0u});
        const auto shared =
            engine.template make_buffer<drawing>({drawing{there.data(), static_cast<unsigned>(drawn.size()), tolerance,
                                                          places.data(), chains.data(), room, used.data()}});

        const dynpar::report report =
            engine.run(draw_curves{}, dynpar::shape_for(engine, drawn.size(), dynpar::at_most(256)), shared.data());

        const bool is_right =
            used.value() == room && are_right(drawn, tolerance, chains.to_vector(), places.to_vector());
        char line[200];
        std::snprintf(line, sizeof line, "%zu curves, %u points in %llu grids: %s  %.3f ms", drawn.size(), room,
                      static_cast<unsigned long long>(report.grids), is_right ? "right" : "WRONG",
                      engine.milliseconds());
        command.say(line);
        command.show_tree(report);
        if (!is_right) throw samples::wrong_result("a point is not where the CPU puts it");
        return samples::success;
    });
}
