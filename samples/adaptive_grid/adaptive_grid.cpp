// Refines a grid where a field is steep, and compares it with grids that are equally fine everywhere.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <dynpar/dynpar.hpp>

#include "../command_line.hpp"
#include "../picture.hpp"
#include "../with_engine.hpp"
#include "kernels.hpp"

namespace {

using namespace adaptive_grid;

struct options {
    std::int64_t vortices = 40;
    std::int64_t seed = 1;
    std::int64_t digits = 2;
    std::int64_t level = 9;
    std::optional<std::string> png;
};

// Without what an engine has to add.
problem problem_of(const options& o, const std::vector<vortex>& vortices) {
    problem p{};
    p.vortices = vortices.data();
    p.count = static_cast<unsigned>(vortices.size());
    p.front = 0.35;
    p.thickness = 0.008;
    p.tolerance = std::pow(10.0, -static_cast<double>(o.digits));
    p.level = static_cast<unsigned>(o.level);
    return p;
}

// The field in blue and red, and around each cell a line.
samples::picture picture_of(unsigned level, const std::vector<float>& values,
                            const std::vector<unsigned char>& levels) {
    const unsigned side = 1u << level;
    samples::picture p{side, side, {}};
    for (unsigned line = 0; line < side; ++line) {
        const unsigned row = side - 1 - line;  // the picture's first line is the upper edge
        for (unsigned column = 0; column < side; ++column) {
            const std::size_t at = std::size_t{row} * side + column;
            const unsigned cell = side >> levels[at];
            const bool is_edge = cell > 2 && (column % cell == 0 || row % cell == 0);
            const double t = std::clamp(static_cast<double>(values[at]) / 2, -1.0, 1.0);
            const double light = is_edge ? 0.6 : 1;
            for (const double part : {1 + std::min(0.0, t), 1 - std::fabs(t) * 0.8, 1 - std::max(0.0, t)})
                p.bytes.push_back(static_cast<unsigned char>(255 * light * part));
        }
    }
    return p;
}

template <class Engine>
void run(Engine& engine, const options& o, const samples::command_line& command) {
    const std::vector<vortex> vortices =
        draw_vortices(static_cast<unsigned>(o.vortices), static_cast<unsigned>(o.seed));
    const std::size_t pixels = std::size_t{1} << 2 * o.level;

    problem here = problem_of(o, vortices);
    std::vector<float> expected_values(pixels);
    std::vector<unsigned char> expected_levels(pixels);
    here.values = expected_values.data();
    here.levels = expected_levels.data();
    const summary expected = refine_on_cpu(here);

    dynpar::buffer<vortex> drawn = engine.template make_buffer<vortex>(std::max<std::size_t>(vortices.size(), 1));
    if (!vortices.empty()) drawn.copy_from(vortices.data());
    dynpar::buffer<float> values = engine.template make_buffer<float>(pixels);
    dynpar::buffer<unsigned char> levels = engine.template make_buffer<unsigned char>(pixels);
    levels.fill(0xff);
    problem there = here;
    there.vortices = drawn.data();
    there.values = values.data();
    there.levels = levels.data();
    const dynpar::buffer<problem> all = engine.template make_buffer<problem>({there});

    auto outcome = engine.try_call(begin{all.data()});
    if (!outcome.value) throw dynpar::launch_error(std::move(outcome.report));
    const summary found = *outcome.value;

    const std::vector<float> found_values = values.to_vector();
    const std::vector<unsigned char> found_levels = levels.to_vector();
    const bool right = found.leaves == expected.leaves && found.level == expected.level &&
                       found.error == expected.error && found_values == expected_values &&
                       found_levels == expected_levels;

    // The coarsest uniform grid that is as exact in the mean of squares, or the finest one.
    const std::vector<double> exact = exact_values(here);
    const difference adaptive = difference_of(found_values, exact);
    difference uniform{};
    unsigned uniform_level = first_level;
    for (; uniform_level <= here.level; ++uniform_level) {
        problem p = here;
        std::vector<float> uniform_values(pixels);
        std::vector<unsigned char> uniform_levels(pixels);
        p.values = uniform_values.data();
        p.levels = uniform_levels.data();
        const auto across = static_cast<unsigned short>(1u << uniform_level);
        for (unsigned i = 0; i < 1u << 2 * uniform_level; ++i) {
            const cell c = cell_of(p, {0, 0, static_cast<unsigned short>(uniform_level), across}, i);
            for (unsigned pixel = 0; pixel < pixels_of(p, c); ++pixel) paint_pixel(p, c, pixel);
        }
        uniform = difference_of(uniform_values, exact);
        if (uniform.root_mean_square <= adaptive.root_mean_square || uniform_level == here.level) break;
    }

    char line[200];
    std::snprintf(
        line, sizeof line, "adaptive: %u cells down to level %u, error %.2e at most, %.2e rms, %llu grids: %s  %.3f ms",
        found.leaves, found.level, adaptive.most, adaptive.root_mean_square,
        static_cast<unsigned long long>(outcome.report.grids), right ? "right" : "WRONG", engine.milliseconds());
    command.say(line);
    std::snprintf(line, sizeof line, "uniform:  %u cells of level %u, error %.2e at most, %.2e rms: %.1f times as many",
                  1u << 2 * uniform_level, uniform_level, uniform.most, uniform.root_mean_square,
                  std::pow(4.0, uniform_level) / found.leaves);
    command.say(line);
    command.show_tree(outcome.report);
    if (!right)
        throw samples::wrong_result("the CPU's grid has " + std::to_string(expected.leaves) + " cells down to level " +
                                    std::to_string(expected.level) + ", or other values in them");
    if (o.png) samples::write_png(*o.png, picture_of(here.level, found_values, found_levels));
}

}  // namespace

int main(int argc, char** argv) {
    samples::command_line command(
        "adaptive_grid",
        "Refines a grid over a field of vortices with a front: a cell is a thread that returns a value, and calls "
        "itself "
        "for its quarters where the corners do not tell what is between them. The grid is compared with the CPU's.");
    options o;
    command.add_integer("--vortices", o.vortices, 0, 1000, "that make up the field");
    command.add_integer("--seed", o.seed, 0, 2147483647, "they are drawn from it");
    command.add_integer("--digits", o.digits, 1, 6,
                        "a cell is divided while its error is estimated to be more than 10 to minus that");
    command.add_integer("--level", o.level, first_level, deepest_level,
                        "the deepest that there may be: its cells are pixels, 2 to that in a row");
    command.add_file("--png", o.png, "write the picture there, with the cells' edges", "none is written");
    if (const auto status = command.parse(argc, argv)) return *status;
    return samples::with_engine(command, [&](auto& engine) {
        if (o.png) samples::require_picture_file("--png", *o.png);
        run(engine, o, command);
        return samples::success;
    });
}
