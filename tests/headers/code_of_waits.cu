// A kernel that waits if WAITS is 1. See code_of_waits.cmake.
#include <dynpar/engine/queue.cuh>

struct launches_itself {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned n) const {
        if (n != 0) block.launch(*this, dynpar::shape(1, 1), n - 1);
#if WAITS
        block.wait();
#endif
    }
};

int main() {
    dynpar::queue_engine engine;
    engine.run(launches_itself{}, dynpar::shape(1, 1), 3u);
}
