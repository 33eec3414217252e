// Which grid launched which: one record a grid, and the tree of them as text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "shape.hpp"

namespace dynpar {

/// One grid of a run.
struct grid_record {
    /// Stands for "no grid": the parent of the grid that the host launched.
    static constexpr std::uint32_t none = 0xffffffff;

    std::uint32_t id = none;         ///< place of the record in `trace::grids`
    std::uint32_t parent = none;     ///< the grid that launched it
    std::uint32_t continues = none;  ///< the grid that it is a continuation of, if it was given to `then`
    std::uint32_t depth = 0;         ///< nesting depth
    bool lost = false;               ///< the launch failed: the grid did not run
    dynpar::shape shape;             ///< as launched
    std::string kernel;              ///< the kernel's name
};

/// The grids of a run, in the order of their launches, lost ones among them. Empty unless the engine was asked to trace.
struct trace {
    std::vector<grid_record> grids;
    std::uint64_t missing = 0;  ///< grids that ran and for which there was no room in the trace
};

/// Writes the nesting tree, one line for each group of siblings that are alike all the way down:
///
///     nested_hello_world <<<2, 8>>>
///     └─ nested_hello_world <<<1, 4>>>  x 2
///        └─ ...
void print_tree(std::ostream& out, const trace& nesting);

}  // namespace dynpar

#include "detail/trace_tree.hpp"
