// What a run needed of each limit: the smallest values that would have been enough.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "platform.hpp"

namespace dynpar {

/// What a run needed. A value that was not counted is empty: the device runtime engine counts pending launches and
/// memory only in a run whose trace had room for every grid, since an untraced kernel carries no counters; the queue
/// engine has no limit on pending launches and does not count them. For a run that lost launches it is what the run
/// used before it ended.
struct run_needs {
    std::uint64_t nesting_depth = 0;          ///< the deepest grid: as `limits::nesting_depth` just enough
    std::optional<std::uint64_t> sync_depth;  ///< the deepest `wait()`, plus one: as `limits::sync_depth` just enough
    /// The most launches pending at once: as `limits::pending_launches` just enough.
    std::optional<std::uint64_t> pending_launches;
    /// The most memory that grids held at once, in bytes. On the device runtime it is device heap (scratch, and 16
    /// bytes for a grid of several blocks), on the host engine scratch and the engine's own records of grids, on the
    /// queue engine all that was taken of its memory for grids, including its warps' caches (a traced run takes more
    /// than an untraced one).
    std::optional<std::uint64_t> live_bytes;
};

/// One line: "needed: nesting depth 8, synchronization depth 9, 2048 pending launches, 1.2 MiB live memory".
inline std::string describe(const run_needs& needs) {
    std::string line = "needed: nesting depth " + std::to_string(needs.nesting_depth);
    if (needs.sync_depth) line += ", synchronization depth " + std::to_string(*needs.sync_depth);
    if (needs.pending_launches) {
        line += ", " + std::to_string(*needs.pending_launches) +
                (*needs.pending_launches == 1 ? " pending launch" : " pending launches");
    }
    if (needs.live_bytes) line += ", " + std::to_string(*needs.live_bytes) + " bytes of live memory";
    return line;
}

/// What is enough for both runs.
inline run_needs greatest(const run_needs& a, const run_needs& b) {
    const auto greater = [](std::optional<std::uint64_t> x, std::optional<std::uint64_t> y) { return x < y ? y : x; };
    run_needs both;
    both.nesting_depth = a.nesting_depth < b.nesting_depth ? b.nesting_depth : a.nesting_depth;
    both.sync_depth = greater(a.sync_depth, b.sync_depth);
    both.pending_launches = greater(a.pending_launches, b.pending_launches);
    both.live_bytes = greater(a.live_bytes, b.live_bytes);
    return both;
}

}  // namespace dynpar
