// Small programs for the queue engine: the first to look at when the simulated GPU or the engine's basics have changed.
#include <dynpar/dynpar.hpp>

#include <doctest/doctest.h>

namespace {

struct tree {
    static constexpr const char* name = "tree";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned levels) const {
        if (levels == 1) return;
        for (int i = 0; i < 2; ++i) block.launch(*this, dynpar::shape(1, 1), levels - 1);
    }
};

TEST_CASE("a tree of grids of one thread") {
    for (const unsigned threads : {32u, 64u}) {
        for (const unsigned worker_blocks : {1u, 2u}) {
            dynpar::queue_options options;
            options.block_threads = threads;
            options.worker_blocks = worker_blocks;
            dynpar::queue_engine engine(options);
            CHECK(engine.run(tree{}, dynpar::shape(1, 1), 7u).grids == 127);
        }
    }
}

}  // namespace
