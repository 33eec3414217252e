// What a trace says on the whole: counts, latencies and durations by kernel and depth.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "trace.hpp"

namespace dynpar {

/// Some numbers, in short. All zero if there were none.
struct distribution {
    std::uint64_t median = 0;  ///< half of them are not greater
    std::uint64_t p95 = 0;     ///< 95 of 100 are not greater
    std::uint64_t most = 0;    ///< the greatest
    std::uint64_t total = 0;   ///< their sum
};

/// Grids of one kernel at one nesting depth.
struct grid_statistics {
    std::string kernel;       ///< the kernel's name
    std::uint32_t depth = 0;  ///< nesting depth
    std::uint64_t count = 0;  ///< grids that ran
    std::uint64_t lost = 0;   ///< launches that failed
    distribution latency;     ///< from launch to begin, in nanoseconds; of a continuation, from `then` to begin
    distribution duration;    ///< from begin to end of the grid itself, in nanoseconds
};

/// One entry for each kernel and depth, ordered by depth and then by kernel. Needs the target `dynpar::trace`.
std::vector<grid_statistics> statistics(const trace& t);

/// When each grid and all grids below it had ended, in nanoseconds since the run's start; without continuations, which
/// follow it. `grid_record::never` for grids that did not run. Needs the target `dynpar::trace`.
std::vector<std::uint64_t> nested_ends(const trace& t);

/// The statistics as a table for the terminal. Needs the target `dynpar::trace`.
void print_statistics(std::ostream& out, const trace& t);

/// "1.25 ms": nanoseconds for people.
std::string time_text(std::uint64_t nanoseconds);

}  // namespace dynpar
