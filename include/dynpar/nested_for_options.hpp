// Which part of nested loops is left to whom: the options of `nested_for` and `nested_reduce_into`.
#pragma once

#include "platform.hpp"

namespace dynpar {

/// Into how many child grids `nested_for` puts long loops.
enum class nested_grids : unsigned char {
    automatic,   ///< what suits the engine: `one_each` where a launch costs little, else `one_for_all`
    one_each,    ///< a grid for each loop
    one_for_all  ///< a grid for all long loops of the warp or block that makes the call, with a list of them in scratch
};

/// Which part of the work `nested_for` leaves to whom. The defaults suit the engine; none of them changes what a
/// program computes. All threads of a warp, or of a block that shares, give the same.
struct nested_for_options {
    /// A warp all of whose loops have at most so many iterations does not share them.
    unsigned own = 4;
    /// A loop of more iterations goes to a child grid; `all` keeps every loop in place. 0 is the engine's choice. On
    /// the queue engine for each thread of the warp or block that shares: 8 in a grid of less than 1024 blocks, which
    /// by itself would not fill a GPU, 64 in one of 2560 and more, else 32; but 64 for a loop at least. On the cdp
    /// engine, where a launch takes microseconds: 64 for each thread, and 1024 at least. On the host engine `all`.
    unsigned in_place = 0;
    /// Iterations of a block of a child grid. 0 is the engine's choice: on the queue engine 256, 2048 or 1024, for
    /// grids as above; 4096 on the cdp engine, 1024 on the host engine.
    unsigned piece = 0;
    /// The most threads of a child grid's block, which is moldable; 0 is 256, and more than 1024 are 1024.
    unsigned threads = 256;
    /// How many child grids there are.
    nested_grids grids = nested_grids::automatic;

    /// For `in_place`: no loop goes to a child grid.
    static constexpr unsigned all = ~0u;
};

}  // namespace dynpar
