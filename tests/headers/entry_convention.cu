// Kernels that launch each other and themselves, in every order in which nvcc may come to them, by lanes, warps and
// teams, with values and continuations. See entry_convention.cmake.
#include <dynpar/engine/queue.cuh>

struct second;
struct first {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned levels) const;
};
struct third {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned long long* count) const {
        dynpar::atomic_add(count, 1ull);
        block.then(first{}, dynpar::shape(1, 64), 0u);
    }
};
struct second {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned levels, unsigned long long* count) const {
        if (levels != 0) block.launch(first{}, dynpar::shape(2, 32), levels - 1);
        block.launch(third{}, dynpar::shape(1, 1), count);
        block.then(second{}, dynpar::shape(1, dynpar::at_most(128)), 0u, count);
        block.wait();
    }
};
template <class Block>
DYNPAR_FUNCTION void first::operator()(Block& block, unsigned levels) const {
    if (levels != 0) block.launch(second{}, dynpar::shape(1, 1), levels - 1, static_cast<unsigned long long*>(nullptr));
    block.launch(first{}, dynpar::shape(3, 100), levels);
}

struct sum_of_tree {
    template <class Block>
    DYNPAR_FUNCTION dynpar::result<long> operator()(Block& block, int levels) const {
        if (levels == 0) return 1L;
        return block.then(dynpar::plus{}, block.spawn(*this, levels - 1), block.spawn(*this, levels - 1));
    }
};

long use(dynpar::queue_engine& engine, unsigned long long* count) {
    engine.run(third{}, dynpar::shape(1, 1), count);
    engine.run(first{}, dynpar::shape(1, 1), 3u);
    engine.run([count] __device__(auto& block) { block.launch(third{}, dynpar::shape(1, 1), count); },
               dynpar::shape(1, 32));
    return engine.call(sum_of_tree{}, 3);
}
