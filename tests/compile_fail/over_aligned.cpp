// A kernel and arguments that are aligned to more than 16 bytes, on the host engine and, under nvcc, on the others.
// With OVER_ALIGNED 0 the file is right.
#include <dynpar/dynpar.hpp>

#if OVER_ALIGNED == 1
#define ARGUMENT_ALIGNMENT 32
#else
#define ARGUMENT_ALIGNMENT 16
#endif
#if OVER_ALIGNED == 2
#define KERNEL_ALIGNMENT 32
#else
#define KERNEL_ALIGNMENT 16
#endif

struct alignas(ARGUMENT_ALIGNMENT) argument {
    int value;
};

struct alignas(KERNEL_ALIGNMENT) kernel {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, argument a, bool again) const {
        if (again) block.launch(*this, dynpar::shape(1, 1), a, false);
    }
};

template <class Engine>
void run() {
    Engine engine;
    engine.run(kernel{}, dynpar::shape(1, 1), argument{1}, true);
}

void use() {
    run<dynpar::host_engine>();
#if DYNPAR_HAS_QUEUE_ENGINE
    run<dynpar::queue_engine>();
#endif
#if DYNPAR_HAS_DEVICE_LAUNCH
    run<dynpar::cdp_engine>();
#endif
}
