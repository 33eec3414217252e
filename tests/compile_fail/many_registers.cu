// A kernel for the queue engine that takes more than 128 registers.
#include <dynpar/dynpar.hpp>

// Every thread holds 160 numbers at once.
struct wide_kernel {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, const float* in, float* out) const {
        constexpr int n = 160;
        float v[n];
#pragma unroll
        for (int i = 0; i < n; ++i) v[i] = in[i * 32 + block.thread_rank()];
        for (int round = 0; round < 10; ++round) {
#pragma unroll
            for (int i = 0; i < n; ++i) v[i] = v[i] * v[(i * 7 + 3) % n] + v[(i + 1) % n];
        }
#pragma unroll
        for (int i = 0; i < n; ++i) out[i * 32 + block.thread_rank()] = v[i];
    }
};

void use() {
    dynpar::queue_engine engine;
    auto in = engine.make_buffer<float>(160 * 32);
    engine.run(wide_kernel{}, dynpar::shape(1, 32), in.data(), in.data());
}
