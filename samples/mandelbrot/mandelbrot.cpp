// Draws the Mandelbrot set by subdivision: a square whose border has one colour is filled, others are divided.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include <dynpar/dynpar.hpp>

#include "../command_line.hpp"
#include "../picture.hpp"
#include "../with_engine.hpp"
#include "kernels.hpp"

namespace {

using namespace mandelbrot;

struct view {
    const char* name;
    double x;  // of the middle
    double y;
    double width;
};
constexpr view views[] = {{"whole", -0.75, 0, 3.2},
                          {"seahorses", -0.7453, 0.1127, 0.0065},
                          {"antenna", -1.76, 0, 0.12},
                          {"spirals", 0.275, 0.006, 0.02}};

struct options {
    std::string view = "whole";
    std::int64_t width = 512;
    std::int64_t height = 512;
    std::int64_t iterations = 512;
    std::int64_t side = 128;
    std::int64_t smallest = 16;
    std::optional<std::string> png;
};

// Without what an engine has to add.
image image_of(const options& o, dynpar::reducer_view<dynpar::sum<number>> computed) {
    view v = views[0];
    for (const view& known : views)
        if (known.name == o.view) v = known;
    const double step = v.width / static_cast<double>(o.width);
    return {static_cast<float>(v.x - step * static_cast<double>(o.width - 1) / 2),
            static_cast<float>(v.y + step * static_cast<double>(o.height - 1) / 2),
            static_cast<float>(step),
            static_cast<unsigned>(o.width),
            static_cast<unsigned>(o.height),
            static_cast<unsigned>(o.iterations),
            static_cast<unsigned>(o.smallest),
            nullptr,
            computed};
}

samples::picture picture_of(const image& in, const std::vector<count>& counts) {
    samples::picture p{in.width, in.height, {}};
    for (const count c : counts) {
        const double t = std::log2(1.0 + c);
        for (const double shift : {0.0, 0.6, 1.2}) {
            const double light = c >= in.iterations ? 0 : 127.5 - 127.5 * std::cos(0.9 * t + shift);
            p.bytes.push_back(static_cast<unsigned char>(light));
        }
    }
    return p;
}

template <class Engine>
void run(Engine& engine, const options& o, const samples::command_line& command) {
    const auto side = static_cast<unsigned>(o.side);
    auto computed = engine.template make_reducer<dynpar::sum<number>>();
    image in = image_of(o, computed.view());
    const std::vector<count> times = escape_times(in);
    const std::vector<count> expected = subdivide_on_cpu(in, side, times);
    dynpar::buffer<count> counts = engine.template make_buffer<count>(times.size());
    counts.fill(0);
    in.counts = counts.data();
    const dynpar::buffer<image> there = engine.template make_buffer<image>({in});

    const dynpar::report report = engine.run(draw{there.data()}, shape(in, side), 0u, 0u, side, across(in, side));

    const std::vector<count> found = counts.to_vector();
    std::size_t wrong = 0;
    std::size_t missed = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
        wrong += found[i] != expected[i] ? 1 : 0;
        missed += found[i] != times[i] ? 1 : 0;
    }
    char line[300];
    std::snprintf(line, sizeof line,
                  "%s, %u x %u, %u iterations: %.1f %% of the pixels computed, %zu not their escape times, %llu grids: "
                  "%s  %.3f ms",
                  o.view.c_str(), in.width, in.height, in.iterations,
                  100 * static_cast<double>(computed.value()) / static_cast<double>(found.size()), missed,
                  static_cast<unsigned long long>(report.grids), wrong == 0 ? "right" : "WRONG", engine.milliseconds());
    command.say(line);
    command.show_tree(report);
    if (wrong != 0)
        throw samples::wrong_result(std::to_string(wrong) + " pixels are not those of the same subdivision on the CPU");
    if (o.png) samples::write_png(*o.png, picture_of(in, found));
}

}  // namespace

int main(int argc, char** argv) {
    samples::command_line command(
        "mandelbrot",
        "Draws the Mandelbrot set: a square whose border has one escape time is filled with it, another one is divided "
        "into four, which one grid of four blocks draws. The image is compared with the same subdivision on the CPU.");
    options o;
    command.add_choice("--view", o.view, {"whole", "seahorses", "antenna", "spirals"}, "what to draw");
    command.add_integer("--width", o.width, 1, 16384, "pixels in a row");
    command.add_integer("--height", o.height, 1, 16384, "rows");
    command.add_integer("--iterations", o.iterations, 1, most_iterations, "after so many a point is in the set");
    command.add_integer("--side", o.side, 1, 4096, "of the squares to begin with, in pixels");
    command.add_integer("--smallest", o.smallest, 1, 4096, "a square whose side is no longer is not divided");
    command.add_file("--png", o.png, "write the picture there", "none is written");
    if (const auto status = command.parse(argc, argv)) return *status;
    return samples::with_engine(command, [&](auto& engine) {
        if ((o.side & (o.side - 1)) != 0)
            throw samples::input_error("--side: " + std::to_string(o.side) + " is no power of two; give " +
                                       std::to_string(1 << static_cast<int>(std::log2(o.side))));
        if (o.png) samples::require_picture_file("--png", *o.png);
        run(engine, o, command);
        return samples::success;
    });
}
