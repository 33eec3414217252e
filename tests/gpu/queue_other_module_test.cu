// The other file of the test of modules. Its kernels are others, so that the places of functions differ.
#include "queue_modules_test.cuh"

using queue_modules_test::count_type;

namespace {

/// Its name is that of a kernel of the first file.
struct local_tree {
    static constexpr const char* name = "local_tree";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned levels, count_type* leaves) const {
        if (block.thread_rank() != 0) return;
        if (levels == 0) dynpar::atomic_add(leaves, count_type{1000});
        for (unsigned i = 0; i < 2 && levels != 0; ++i)
            block.launch(queue_modules_test::shared_tree{}, dynpar::shape(1, 32), levels - 1, leaves);
    }
};

}  // namespace

count_type queue_modules_test::leaves_of_other_file(dynpar::queue_engine& engine, unsigned levels) {
    auto leaves = queue_test::filled<count_type>(engine, 1, 0);
    engine.run(local_tree{}, dynpar::shape(1, 64), levels, leaves.data());
    engine.run(shared_tree{}, dynpar::shape(1, 32), levels, leaves.data());
    return leaves.value();
}
