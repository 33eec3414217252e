// An engine's memory for two or three warps of one lane, under the model checker. Each warp is a worker block of its
// own, or all are one worker block.
#pragma once

#include <dynpar/detail/queue/balance/steal_requests.cuh>
#include <dynpar/detail/queue/join/stream.cuh>

namespace dynpar::detail::queue::tuning {}

namespace model_checked {

/// The engine's parts, and its numbers.
namespace queue {
using namespace dynpar::detail::queue;
using namespace dynpar::detail::queue::tuning;
}  // namespace queue

constexpr unsigned most_warps = 3;
constexpr unsigned cells = 1;  // of each ring: every request has the same one
constexpr unsigned arena_units = 16;

/// What the warps share.
struct device_memory {
    alignas(128) queue::run_control control;
    queue::transfer_cell warp_cells[cells];
    queue::transfer_cell block_cells[cells];
    alignas(64) unsigned char arena[arena_units * queue::unit_bytes];
    unsigned data[8];  ///< what the tests' tasks write and read
    /// Of the one worker block; else each warp has its own, which the others do not know.
    alignas(128) unsigned char shared_memory[queue::state_bytes(most_warps * queue::warp_size)];
};
device_memory& device();

/// A program of that many warps, each a worker block. Before each run memory is as an engine finds it, then `before`
/// fills it in.
program worker_blocks(unsigned threads, std::function<void()> before, std::function<void(unsigned)> body,
                      std::function<void()> after = nullptr);
/// The same for warps of one worker block.
program warps_of_a_block(unsigned threads, std::function<void()> before, std::function<void(unsigned)> body,
                         std::function<void()> after = nullptr);
queue::gang_state& the_gang();

}  // namespace model_checked
