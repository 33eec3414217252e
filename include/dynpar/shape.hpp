// The shape of a grid: how many blocks of how many threads, with how much shared memory.
#pragma once

#include <string>

#include "dimensions.hpp"
#include "status.hpp"

namespace dynpar {

/// States that a kernel is right with any number of threads (it loops with stride `num_threads()`), so the engine may
/// choose the width of its blocks: at most this many threads.
struct at_most {
    unsigned threads;  ///< the most threads of a block
    /// For `shape(blocks, at_most(256))`.
    DYNPAR_FUNCTION constexpr explicit at_most(unsigned most_threads) : threads(most_threads) {}
};

/// The shape of a grid. Blocks and threads are each an integer or three of them:
/// `shape(16, 256)`, `shape({4, 4}, {16, 16})`, `shape(16, 256, 1024)` with 1024 bytes of shared memory a block,
/// `shape(16, at_most(256))` for a moldable kernel.
/// Any values are accepted here; whether a grid of that shape can exist is checked at the launch (`check`).
struct shape {
    dimensions blocks;          ///< blocks in the grid
    dimensions threads;         ///< threads in a block; if moldable, the most that there may be
    unsigned shared_bytes = 0;  ///< memory for `block.shared<T>(n)`, in bytes for each block
    bool moldable = false;      ///< the engine may give a block fewer threads (see `at_most`)

    /// One block of one thread.
    constexpr shape() = default;
    /// Blocks of exactly so many threads.
    DYNPAR_FUNCTION constexpr shape(dimensions grid, dimensions block, unsigned shared = 0)
        : blocks(grid), threads(block), shared_bytes(shared) {}
    /// Blocks of as many threads as the engine chooses, for a moldable kernel.
    DYNPAR_FUNCTION constexpr shape(dimensions grid, at_most block, unsigned shared = 0)
        : blocks(grid), threads(block.threads), shared_bytes(shared), moldable(true) {}

    /// Whether all members are the same.
    DYNPAR_FUNCTION friend constexpr bool operator==(const shape& a, const shape& b) {
        return a.blocks == b.blocks && a.threads == b.threads && a.shared_bytes == b.shared_bytes &&
               a.moldable == b.moldable;
    }
    /// Whether a member differs.
    DYNPAR_FUNCTION friend constexpr bool operator!=(const shape& a, const shape& b) { return !(a == b); }
};

/// CUDA's bounds for every grid (CUDA C++ Programming Guide, table "Technical Specifications per Compute
/// Capability"); the same on all engines, so that what runs on a CPU also runs on a GPU.
namespace bounds {
inline constexpr unsigned block_threads = 1024;        ///< threads in a block, and along its x and y
inline constexpr unsigned block_threads_z = 64;        ///< threads along z
inline constexpr unsigned grid_blocks_x = 2147483647;  ///< blocks along x
inline constexpr unsigned grid_blocks_yz = 65535;      ///< blocks along y and along z
// A rank has 32 bits, and so has the count of what is not complete: a grid's blocks, and the children that they launch.
inline constexpr unsigned long long grid_blocks = 2147483647;  ///< blocks in all: dynpar's own bound
inline constexpr unsigned shared_bytes = 227 * 1024;           ///< shared memory of a block (compute capability 9.0)
}  // namespace bounds

/// `invalid_configuration` if no grid can have that shape, else `success`. `most_threads` is what the kernel allows
/// (see `most_threads<Kernel>()`).
DYNPAR_FUNCTION constexpr status check(const shape& s, unsigned most_threads = bounds::block_threads) {
    const bool blocks_fit = s.blocks.x >= 1 && s.blocks.y >= 1 && s.blocks.z >= 1 &&
                            s.blocks.x <= bounds::grid_blocks_x && s.blocks.y <= bounds::grid_blocks_yz &&
                            s.blocks.z <= bounds::grid_blocks_yz && s.blocks.count() <= bounds::grid_blocks;
    const bool threads_fit = s.threads.x >= 1 && s.threads.y >= 1 && s.threads.z >= 1 &&
                             s.threads.x <= bounds::block_threads && s.threads.y <= bounds::block_threads &&
                             s.threads.z <= bounds::block_threads_z && s.threads.count() <= most_threads;
    const bool memory_fits = s.shared_bytes <= bounds::shared_bytes;
    return blocks_fit && threads_fit && memory_fits ? status::success : status::invalid_configuration;
}

/// The shape as in a launch: `<<<(4,4), 256, 1024 bytes>>>`.
inline std::string to_string(const shape& s) {
    const auto sizes = [](dimensions d) {
        if (d.z != 1) return "(" + std::to_string(d.x) + "," + std::to_string(d.y) + "," + std::to_string(d.z) + ")";
        if (d.y != 1) return "(" + std::to_string(d.x) + "," + std::to_string(d.y) + ")";
        return std::to_string(d.x);
    };
    std::string result = "<<<" + sizes(s.blocks) + ", " + (s.moldable ? "at most " : "") + sizes(s.threads);
    if (s.shared_bytes != 0) result += ", " + std::to_string(s.shared_bytes) + " bytes";
    return result + ">>>";
}

}  // namespace dynpar
