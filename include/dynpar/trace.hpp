// Which grid launched which, and when each ran: one record a grid, and the tree of them as text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engine_kind.hpp"
#include "shape.hpp"
#include "status.hpp"

namespace dynpar {

/// One grid of a run. Times are nanoseconds since the run's start, by one clock for host and device.
struct grid_record {
    /// Stands for "no grid", "no stream" and "no processor".
    static constexpr std::uint32_t none = 0xffffffff;
    /// Stands for the time of what has not happened.
    static constexpr std::uint64_t never = 0xffffffffffffffff;

    std::uint32_t id = none;  ///< place of the record in `trace::grids`
    /// The grid that launched it; a continuation has the parent of the grid that it continues. None for the grid that
    /// the host launched; at a greater depth, none says that there was no room in the trace for the parent.
    std::uint32_t parent = none;
    std::uint32_t continues = none;  ///< the grid that it is a continuation of, if it was given to `then`
    std::uint32_t stream =
        none;                 ///< the number of the stream that it was given to, if any; streams are numbered by run
    std::uint32_t depth = 0;  ///< nesting depth
    /// What ran the grid's first block: the multiprocessor on a GPU, the worker on the host engine.
    std::uint32_t processor = none;
    engine_kind engine = engine_kind::automatic;      ///< the engine that ran it
    dynpar::status status = dynpar::status::success;  ///< of its launch; any other than success: the grid did not run
    dynpar::shape shape;                              ///< as launched
    std::string kernel;                               ///< the kernel's name
    std::uint64_t launched = 0;                       ///< when it was launched, or given to `then`
    std::uint64_t begun = never;                      ///< when its first block began
    std::uint64_t ended = never;                      ///< when its last block returned; its children may end later

    /// Whether it ran, and was not lost.
    bool ran() const { return status == dynpar::status::success; }
};

/// The grids of a run, in the order of their launches, lost ones among them. Empty unless the engine was asked to
/// trace.
struct trace {
    std::vector<grid_record> grids;  ///< by id
    std::uint64_t missing = 0;       ///< grids that were launched and for which there was no room in the trace
    std::string engine;              ///< "host", "cdp", "queue"
    std::string device;              ///< the GPU's name, or "CPU"
    std::uint64_t nanoseconds = 0;   ///< how long the run took, by the host's clock
    std::uint64_t clock_error = 0;   ///< how far device times may be off against host times, in nanoseconds
    /// What the program says of the run, each by a name, in its own order: "command", "date", "version", "options", ...
    /// No engine writes here. Saved traces keep it, and the page shows it.
    std::vector<std::pair<std::string, std::string>> about;
};

}  // namespace dynpar
