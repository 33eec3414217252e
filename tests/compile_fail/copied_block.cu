// Blocks that are copied, one way for each value of COPIED: a copy counts children that the block knows nothing of.
// With COPIED 0 the file is right.
#include <dynpar/dynpar.hpp>

#if COPIED == 1
#define BLOCK_OF_KERNEL Block
#else
#define BLOCK_OF_KERNEL Block&
#endif
#if COPIED == 2
#define BLOCK_OF_FUNCTION Block
#else
#define BLOCK_OF_FUNCTION Block&
#endif

struct child {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block&, int* place) const {
        dynpar::atomic_add(place, 1);
    }
};

template <class Block>
DYNPAR_FUNCTION void launch_child(BLOCK_OF_FUNCTION block, int* place) {
    block.launch(child{}, dynpar::shape(1, 1), place);
}

struct parent {
    template <class Block>
    DYNPAR_FUNCTION void operator()(BLOCK_OF_KERNEL block, int* place) const {
        launch_child<Block>(block, place);
    }
};

int main() {
    dynpar::queue_engine engine;
    const auto place = engine.make_buffer<int>({0});
    engine.run(parent{}, dynpar::shape(1, 1), place.data());
}
