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

/// Shared memory of a moldable kernel: so many bytes for each thread that a block then has, rounded up to 16 bytes for
/// the block. Each call of `block.shared` takes a multiple of 16, so for several calls give 16 bytes more for each.
struct bytes_per_thread {
    unsigned bytes;  ///< for each thread
    /// `bytes_per_thread(8)`
    DYNPAR_FUNCTION constexpr explicit bytes_per_thread(unsigned of_each) : bytes(of_each) {}
};

/// The shape of a grid. Blocks and threads are each an integer or three of them:
/// `shape(16, 256)`, `shape({4, 4}, {16, 16})`, `shape(16, 256, 1024)` with 1024 bytes of shared memory a block,
/// `shape(16, at_most(256))` for a moldable kernel, `shape(16, at_most(256), bytes_per_thread(8))` with as much shared
/// memory as the block that it gets needs.
/// Any values are accepted here; whether a grid of that shape can exist is checked at the launch (`check`).
struct shape {
    dimensions blocks;          ///< blocks in the grid
    dimensions threads;         ///< threads in a block; if moldable, the most that there may be
    unsigned shared_bytes = 0;  ///< memory for `block.shared<T>(n)`, in bytes for each block
    bool moldable = false;      ///< the engine may give a block fewer threads (see `at_most`)
    /// `shared_bytes` is for the most threads, and a block with fewer has less (see `bytes_per_thread`).
    bool shared_per_thread = false;

    /// One block of one thread.
    constexpr shape() = default;
    /// Blocks of exactly so many threads.
    DYNPAR_FUNCTION constexpr shape(dimensions grid, dimensions block, unsigned shared = 0)
        : blocks(grid), threads(block), shared_bytes(shared) {}
    /// Blocks of as many threads as the engine chooses, for a moldable kernel.
    DYNPAR_FUNCTION constexpr shape(dimensions grid, at_most block, unsigned shared = 0)
        : blocks(grid), threads(block.threads), shared_bytes(shared), moldable(true) {}
    /// A moldable shape whose blocks have shared memory for the threads that they get.
    DYNPAR_FUNCTION constexpr shape(dimensions grid, at_most block, bytes_per_thread shared)
        : blocks(grid), threads(block.threads), moldable(true), shared_per_thread(true) {
        const unsigned long long bytes = 1ull * shared.bytes * block.threads;
        shared_bytes = bytes > 0xffffffffu ? 0xffffffffu : static_cast<unsigned>(bytes);
    }

    /// Whether all members are the same.
    DYNPAR_FUNCTION friend constexpr bool operator==(const shape& a, const shape& b) {
        return a.blocks == b.blocks && a.threads == b.threads && a.shared_bytes == b.shared_bytes &&
               a.moldable == b.moldable && a.shared_per_thread == b.shared_per_thread;
    }
    /// Whether a member differs.
    DYNPAR_FUNCTION friend constexpr bool operator!=(const shape& a, const shape& b) { return !(a == b); }
};

/// The shared memory of a block of that shape, in bytes, if the engine gives it so many threads.
DYNPAR_FUNCTION constexpr unsigned shared_bytes_of(const shape& s, unsigned threads) {
    return s.shared_per_thread ? (s.shared_bytes / s.threads.x * threads + 15) / 16 * 16 : s.shared_bytes;
}

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
/// Of `shape_for`: the number of the last thread of the last block has 32 bits, too.
inline constexpr unsigned items = 0xffffffffu - block_threads + 1;
}  // namespace bounds

/// A shape for `items` things, a thread each, in blocks of a width that suits the engine, and at most as wide as
/// `most` says; `where` is the block that launches, or the engine that runs. Blocks are not moldable: a thread's number
/// is `this_grid(block).thread_rank()`, and some of the last block's are `items` or greater. For no items, and for more
/// than 2^32 - 1024 (`bounds::items`), whose numbers have no room, it is a shape that no grid can have: of 0 blocks,
/// and of 2^32 - 1.
#if defined(__NVCC__)
#pragma nv_exec_check_disable  // an engine is asked by the host alone
#endif
template <class Where>
DYNPAR_FUNCTION shape shape_for(const Where& where, unsigned long long items, at_most most, unsigned shared = 0) {
    const unsigned widest = most.threads < bounds::block_threads ? most.threads : bounds::block_threads;
    unsigned threads = where.moldable_threads(at_most(widest));
    if (items < threads) threads = items == 0 ? 1 : static_cast<unsigned>(items);
    if (items > bounds::items) return shape(0xffffffffu, threads, shared);  // too many, and looks it in a report
    const unsigned long long blocks = threads == 0 ? 0 : (items + threads - 1) / threads;
    return shape(static_cast<unsigned>(blocks), threads, shared);
}

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
    if (s.shared_per_thread) {
        result += ", " + std::to_string(s.threads.x == 0 ? 0 : s.shared_bytes / s.threads.x) + " bytes a thread";
    } else if (s.shared_bytes != 0) {
        result += ", " + std::to_string(s.shared_bytes) + " bytes";
    }
    return result + ">>>";
}

}  // namespace dynpar
