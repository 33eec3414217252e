// Mistakes of a first program, one for each value of MISTAKE, on the engine ENGINE. With MISTAKE 0 the file is right.
#include <dynpar/dynpar.hpp>

#if __cplusplus >= 201703L

struct kernel {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned n, unsigned* result) const {
        *result = n;
        if (n == 0) return;
#if MISTAKE == 4
        block.launch(*this, n - 1, result);
#elif MISTAKE == 5
        block.then(*this, n - 1, result);
#else
        block.launch(*this, dynpar::shape(1, 1), n - 1, result);
#endif
    }
};

void use() {
    dynpar::ENGINE engine;
    auto result = engine.make_buffer<unsigned>(1);
#if MISTAKE == 1
    engine.run(kernel{}, dynpar::shape(1, 1), 3u, result);
#elif MISTAKE == 2
    engine.try_run(kernel{}, {1, 1}, 3u, result);
#elif MISTAKE == 3
    engine.run(kernel{}, 3u, result.data());
#else
    engine.run(kernel{}, {1, 1}, 3u, result.data());
#endif
}

#endif
