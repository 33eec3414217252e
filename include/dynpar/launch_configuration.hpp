// The launch configuration: how large a grid is, and where that was written. Stream and kernel are not part of it.
#pragma once

#include "dimensions.hpp"
#include "shape.hpp"
#include "source_place.hpp"

namespace dynpar {

/// Grid, block and shared memory of a launch of a plain `__global__` kernel, and the line that it was written on:
/// `launch_configuration(16, 256)`, or in the call itself `launch(stream, {{4, 4}, {16, 16}, 1024}, kernel, args...)`.
/// Any values are accepted here; CUDA checks at the launch whether such a grid can exist.
struct launch_configuration {
    dimensions grid;                    ///< blocks in the grid
    dimensions block;                   ///< threads in a block
    unsigned shared_bytes = 0;          ///< dynamic shared memory of a block, in bytes
    const char* kernel_name = nullptr;  ///< for error messages; nullptr: not named
    source_place place;                 ///< where the configuration was written

    /// Blocks, threads of a block, and dynamic shared memory of a block in bytes. `written` is the caller's place.
    DYNPAR_FUNCTION constexpr launch_configuration(dimensions grid_size, dimensions block_size, unsigned shared = 0,
                                                   source_place written = DYNPAR_HERE)
        : grid(grid_size), block(block_size), shared_bytes(shared), place(written) {}

    /// The same configuration for a kernel of this name: `launch_configuration(1, 32).named("child")`. A program
    /// cannot learn the name of a `__global__` function from the compiler. `name` is a string literal, or text that
    /// lives as long as the configuration.
    DYNPAR_FUNCTION constexpr launch_configuration named(const char* name) const {
        launch_configuration copy = *this;
        copy.kernel_name = name;
        return copy;
    }

    /// Grid and block as the core writes them.
    DYNPAR_FUNCTION constexpr dynpar::shape shape() const { return dynpar::shape(grid, block, shared_bytes); }
};

}  // namespace dynpar
