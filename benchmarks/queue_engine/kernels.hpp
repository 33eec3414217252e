// The kernels of the benchmark that do nothing but launch; those that work are the samples'.
#pragma once

#include <cstdint>

#include <dynpar/dynpar.hpp>

namespace queue_benchmark {

/// A binary tree of grids of one block, of exactly so many threads.
template <unsigned Threads>
struct empty_tree {
    static constexpr const char* name = "empty_tree";

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, int levels) const {
        if (block.thread_rank() != 0 || levels == 0) return;
        block.launch(*this, dynpar::shape(1, Threads), levels - 1);
        block.launch(*this, dynpar::shape(1, Threads), levels - 1);
    }
};

/// One thread that launches many blocks of exactly so many threads, each a grid.
template <unsigned Threads>
struct launch_many {
    static constexpr const char* name = "launch_many";

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, int children) const {
        for (int i = 0; i < children; ++i) block.launch(empty_tree<Threads>{}, dynpar::shape(1, Threads), 0);
    }
};

inline constexpr int children_of_one = 4096;

constexpr std::uint64_t grids_of_tree(int levels) { return (std::uint64_t{2} << levels) - 1; }

}  // namespace queue_benchmark
