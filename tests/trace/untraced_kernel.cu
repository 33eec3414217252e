// A kernel that uses all of a block that the trace knows of: launches, continuations, scratch memory, streams. See
// untraced_kernel.cmake.
#include <dynpar/engine/cdp.cuh>

struct everything {
    static constexpr const char* name = "everything";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, int level) const {
        int* const memory = block.template scratch<int>(4);
        if (level == 0 || memory == nullptr) return;
        auto stream = block.make_stream();
        block.launch(stream, *this, dynpar::shape(2, 32), level - 1);
        block.launch(*this, dynpar::shape(1, 32), level - 1);
        block.then(*this, dynpar::shape(1, 32), level - 1);
    }
};

dynpar::report run(dynpar::cdp_engine& engine) { return engine.run(everything{}, dynpar::shape(1, 32), 3); }
