// A random program as the host draws, writes down, shrinks and reads it: a tree of grids, and the settings of the
// engine that runs it.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "image.hpp"

namespace fuzz {

struct step_plan;

/// Grids that are alike, with all that comes from them.
struct grid_plan {
    fuzz::kernel kernel = kernel::bytes_4;
    std::uint32_t blocks[3] = {1, 1, 1};
    std::uint32_t threads[3] = {1, 1, 1};
    std::uint32_t moldable = 0;
    std::uint32_t writer = 0;  // modulo the threads that are left at the end
    std::vector<step_plan> steps;

    std::uint64_t block_count() const { return std::uint64_t{blocks[0]} * blocks[1] * blocks[2]; }
    std::uint64_t thread_count() const { return std::uint64_t{threads[0]} * threads[1] * threads[2]; }
};

/// One thing that a grid does. See `step`.
struct step_plan {
    action what = action::sync;
    std::uint32_t who = 0;
    std::uint32_t where = all;
    std::uint32_t items = 1;
    std::uint32_t stream = all;
    std::uint32_t event = 0;
    std::uint32_t low = 0, high = all;
    std::uint32_t words = 1;
    refusal which = refusal::no_blocks;
    std::uint32_t prepared = 0;
    std::vector<grid_plan> children;
};

/// What the engine is told. What an engine does not have it ignores.
struct engine_settings {
    std::uint64_t memory_bytes = std::uint64_t{64} << 20;
    std::uint32_t worker_blocks = 0;
    std::uint32_t block_threads = 0;
    std::uint32_t moldable_threads = 32;
    std::uint32_t shared_bytes = 16 * 1024;
    std::uint32_t sync_depth = 4;
    std::uint32_t nesting_depth = all;   // all: no limit
    std::uint32_t pending_launches = 0;  // 0: no limit
    std::uint32_t traced = 0;
    std::uint32_t schedule = 0;  // of the host engine, by number
    std::uint32_t schedule_seed = 0;

    friend bool operator==(const engine_settings& a, const engine_settings& b);
    friend bool operator!=(const engine_settings& a, const engine_settings& b) { return !(a == b); }
};

struct program {
    engine_settings settings;
    std::uint32_t salt = 1;
    std::uint32_t stamped = 0;  // whether grids note when they begin and end
    std::uint32_t reduced = 0;  // whether threads add to reducers
    grid_plan root;
};

void write(std::ostream& out, const program& p);
/// Throws std::runtime_error with a sentence.
program read(std::istream& in);

}  // namespace fuzz
