// Options of the queue engine.
#pragma once

#include <cstddef>

#include "../../../engine_options.hpp"

namespace dynpar {

/// Options of the queue engine.
struct queue_options : engine_options {
    /// Threads of a worker block: the widest block that can run. A multiple of 32, at most 1024; 0: 512, or what the
    /// run's first grid needs if that is more. With 1024 twice as many warps work on a multiprocessor, from the start:
    /// lane tasks that join are slower then (docs/tuning.md).
    unsigned block_threads = 0;
    /// How many worker blocks; 0: enough for 512 threads on every multiprocessor, and as many in reserve, for runs of
    /// many short grids of a warp, or of 128 threads and more (docs/queue-engine.md).
    unsigned worker_blocks = 0;
    /// Device memory in bytes for grids that are alive, their arguments and their scratch memory; 0:
    /// `limits::heap_bytes`, and where that is not given 4 GiB, or a quarter of what is free if that is less. Over it a
    /// run ends with `launch_error`.
    std::size_t memory_bytes = 0;
    /// Shared memory in bytes of a worker block, for `block.shared`; a block that needs more has it in device memory.
    /// More than a multiprocessor has is refused.
    unsigned shared_bytes = 16 * 1024;
    /// A run that takes longer is stopped, in milliseconds; 0: none. A kernel that never returns cannot be stopped.
    unsigned long long deadline_milliseconds = 0;
};

}  // namespace dynpar
