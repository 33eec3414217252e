// What every engine can be told when it is made.
#pragma once

#include <cstddef>

#include "limits.hpp"

namespace dynpar {

/// Options that all engines have. An engine's own options extend them.
struct engine_options {
    dynpar::limits limits;  ///< what a run may use
    /// How many grids a run's trace has room for; 0: no trace, and no cost. The queue engine refuses more than
    /// 67108864.
    std::size_t trace_grids = 0;
    /// Show the progress of a run that takes more than a second, on standard error, and only if that is a terminal.
    bool progress = false;
    /// Threads that the blocks of moldable kernels get, if their shape allows; 0: what suits the engine, which is 1 on
    /// the host, a warp on the queue engine, and the most that there may be on the cdp engine.
    unsigned moldable_threads = 0;
};

}  // namespace dynpar
