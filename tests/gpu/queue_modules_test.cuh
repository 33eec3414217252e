// What the two files of the test of modules share: a kernel that both run, with the same name in both.
#pragma once

#include "queue_test.cuh"

namespace queue_modules_test {

using queue_test::count_type;

/// Counts its leaves, which are blocks of a lane, of a warp and of a team.
struct shared_tree {
    static constexpr const char* name = "shared_tree";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned levels, count_type* leaves) const {
        if (block.thread_rank() != 0) return;
        if (levels == 0) dynpar::atomic_add(leaves, count_type{1});
        for (const unsigned threads : {1u, 32u, 64u})
            if (levels != 0) block.launch(*this, dynpar::shape(1, threads), levels - 1, leaves);
    }
};

/// An inline function, of which the linker keeps one for both files.
inline count_type leaves_of_shared_tree(dynpar::queue_engine& engine, unsigned levels) {
    auto leaves = queue_test::filled<count_type>(engine, 1, 0);
    engine.run(shared_tree{}, dynpar::shape(1, 1), levels, leaves.data());
    return leaves.value();
}

/// Runs the kernels of the other file: one that it alone has, and the shared one.
count_type leaves_of_other_file(dynpar::queue_engine& engine, unsigned levels);

}  // namespace queue_modules_test
