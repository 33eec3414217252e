// The groups of rows of the benchmark of programs, and what it is asked for. Plain C++.
#pragma once

#include "../queue_engine/table.hpp"

namespace program_benchmark {

struct options {
    queue_benchmark::options table;
    double seconds = 30;    ///< a run of the queue engine that takes longer is given up
    bool is_quick = false;  ///< without what takes the CPU half a minute
};

/// Who does the work, beside the queue engine, CDP2 and a flat kernel.
namespace by {
inline constexpr const char* one_core = "CPU, one core";
inline constexpr const char* all_cores = "CPU, all cores";
}  // namespace by

// ---- A file each.

void measure_vertex_cover(queue_benchmark::table& nodes, const options& o);
/// `seconds`: a run of the queue engine that takes longer is given up.
void measure_mandelbrot(queue_benchmark::table& pixels, double seconds);

// ---- Names of works.

namespace work {
inline constexpr const char* cover_p_hat_200 = "vertex cover, p-hat, 200 vertices";
inline constexpr const char* cover_p_hat_300 = "vertex cover, p-hat, 300 vertices";
inline constexpr const char* cover_grid = "vertex cover, grid, 256 vertices";
inline constexpr const char* cover_random = "vertex cover, random, 150 vertices";
inline constexpr const char* cover_parts = "vertex cover, 30 parts of 60 vertices";
inline constexpr const char* mandelbrot = "Mandelbrot set, 4096 x 4096, 512 iterations";
inline constexpr const char* all[] = {cover_p_hat_200, cover_p_hat_300, cover_grid,
                                      cover_random,    cover_parts,     mandelbrot};
}  // namespace work

}  // namespace program_benchmark
