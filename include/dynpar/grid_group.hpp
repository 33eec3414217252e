// The grid of the calling thread, with the names of CUDA's cooperative groups.
//
//     const unsigned i = dynpar::this_grid(block).thread_rank();  // one of so many things, a thread each
//
//     const auto grid = dynpar::this_grid(block);  // or some of them for each thread
//     for (auto k = grid.thread_rank(); k < count; k += grid.num_threads()) ...
#pragma once

#include "platform.hpp"

namespace dynpar {

/// All threads of the grid that a block belongs to. Made by `this_grid`. There is no barrier for them: what is to come
/// after the grid is a continuation's.
template <class Block>
class grid_group {
public:
    /// The grid of the calling thread.
    DYNPAR_FUNCTION explicit grid_group(const Block& of_block) : block_(&of_block) {}

    /// Of the calling thread in the grid: blocks in the order of their ranks, and in each its threads in theirs.
    DYNPAR_FUNCTION unsigned long long thread_rank() const {
        return static_cast<unsigned long long>(block_rank()) * block_->num_threads() + block_->thread_rank();
    }
    /// Threads of the grid. Of a moldable shape they are as many as the engine's width makes them.
    DYNPAR_FUNCTION unsigned long long num_threads() const {
        return static_cast<unsigned long long>(num_blocks()) * block_->num_threads();
    }
    DYNPAR_FUNCTION unsigned block_rank() const { return block_->block_rank(); }  ///< of the calling thread's block
    DYNPAR_FUNCTION unsigned num_blocks() const { return block_->num_blocks(); }  ///< of the grid

private:
    const Block* block_;
};

/// The grid of the calling thread.
template <class Block>
DYNPAR_FUNCTION grid_group<Block> this_grid(const Block& block) {
    return grid_group<Block>(block);
}

}  // namespace dynpar
