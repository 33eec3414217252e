// The texts' mathKernel1 to 4 and their warm-up as block kernels, and kernels whose branches are long enough to
// diverge.
//
// kernel(block, c, count) writes one float for each thread. `at(tid)` is what must be at place tid.
#pragma once

#include <dynpar/dynpar.hpp>

namespace divergence {

/// Threads in a warp, on all of NVIDIA's GPUs so far.
constexpr unsigned warp_size = 32;

/// Even threads one way, odd threads the other: both ways in every warp.
struct math_kernel1 {
    static constexpr const char* name = "mathKernel1";
    static constexpr float at(unsigned tid) { return tid % 2 == 0 ? 100.0f : 200.0f; }

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, float* c, unsigned count) const {
        const unsigned tid = dynpar::this_grid(block).thread_rank();
        float a = 0.0f;
        float b = 0.0f;
        if (tid % 2 == 0) {
            a = 100.0f;
        } else {
            b = 200.0f;
        }
        if (tid < count) c[tid] = a + b;  // as published there is no such check
    }
};

/// Even warps one way, odd warps the other: one way in each warp.
struct math_kernel2 {
    static constexpr const char* name = "mathKernel2";
    static constexpr float at(unsigned tid) { return tid / warp_size % 2 == 0 ? 100.0f : 200.0f; }

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, float* c, unsigned count) const {
        const unsigned tid = dynpar::this_grid(block).thread_rank();
        float a = 0.0f;
        float b = 0.0f;
        if ((tid / warp_size) % 2 == 0) {
            a = 100.0f;
        } else {
            b = 200.0f;
        }
        if (tid < count) c[tid] = a + b;
    }
};

/// The texts' warm-up: mathKernel2 by another name. Whoever runs first pays for what CUDA loads when it is needed.
struct warming_up : math_kernel2 {
    static constexpr const char* name = "warmingup";
};

/// mathKernel1 with two ifs in place of if and else.
struct math_kernel3 {
    static constexpr const char* name = "mathKernel3";
    static constexpr float at(unsigned tid) { return math_kernel1::at(tid); }

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, float* c, unsigned count) const {
        const unsigned tid = dynpar::this_grid(block).thread_rank();
        float a = 0.0f;
        float b = 0.0f;
        const bool even = tid % 2 == 0;
        if (even) a = 100.0f;
        if (!even) b = 200.0f;
        if (tid < count) c[tid] = a + b;
    }
};

/// mathKernel4 as published: WRONG. It is meant as mathKernel2 with a shift and a mask in place of division and
/// remainder. But == binds more tightly than &: `itid & 0x01 == 0` is `itid & (0x01 == 0)`, which is 0, and every
/// thread takes the second branch.
struct math_kernel4_published {
    static constexpr const char* name = "mathKernel4, as published";
    static constexpr float at(unsigned) { return 200.0f; }

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, float* c, unsigned count) const {
        const unsigned tid = dynpar::this_grid(block).thread_rank();
        float a = 0.0f;
        float b = 0.0f;
        const unsigned itid = tid >> 5;
        if (itid & (0x01 == 0)) {  // the parentheses are what C makes of the published line
            a = 100.0f;
        } else {
            b = 200.0f;
        }
        if (tid < count) c[tid] = a + b;
    }
};

/// mathKernel4 as meant.
struct math_kernel4 {
    static constexpr const char* name = "mathKernel4";
    static constexpr float at(unsigned tid) { return math_kernel2::at(tid); }

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, float* c, unsigned count) const {
        const unsigned tid = dynpar::this_grid(block).thread_rank();
        float a = 0.0f;
        float b = 0.0f;
        const unsigned itid = tid >> 5;
        if ((itid & 0x01) == 0) {
            a = 100.0f;
        } else {
            b = 200.0f;
        }
        if (tid < count) c[tid] = a + b;
    }
};

// ---- branches that the compiler cannot turn into selected values

/// The first way: `steps` multiply-adds in floating point.
DYNPAR_FUNCTION inline float multiply_and_add(unsigned steps) {
    float x = 0.0f;
    for (unsigned i = 0; i < steps; ++i) x = x * 0.5f + 1.0f;
    return x;
}

/// The other way: as many multiply-adds of integers. Another instruction, so that the two ways cannot be merged.
DYNPAR_FUNCTION inline float multiply_and_add_integers(unsigned steps) {
    unsigned x = 1;
    for (unsigned i = 0; i < steps; ++i) x = x * 1664525u + 1013904223u;
    return static_cast<float>(x >> 8);  // 24 bits: exact
}

/// How many threads of the calling thread's warp are at this place with it. The host engine knows no warps: 1.
DYNPAR_FUNCTION inline unsigned lanes_here() {
#if DYNPAR_ON_DEVICE
    return static_cast<unsigned>(__popc(__activemask()));
#else
    return 1;
#endif
}

/// Two long ways: one for the first `Granularity` threads of the grid, the other for the next, and so on. Writes for
/// each thread what it computed and how many lanes went its way together.
template <unsigned Granularity>
struct long_branches {
    static constexpr const char* name = Granularity == 1 ? "long branches, by thread" : "long branches, by warp";
    static constexpr bool first_way(unsigned tid) { return tid / Granularity % 2 == 0; }

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, float* c, unsigned* lanes, unsigned count, unsigned steps) const {
        const unsigned tid = dynpar::this_grid(block).thread_rank();
        float x;
        unsigned together;
        if (tid / Granularity % 2 == 0) {
            together = lanes_here();
            x = multiply_and_add(steps);
        } else {
            together = lanes_here();
            x = multiply_and_add_integers(steps);
        }
        if (tid < count) {
            c[tid] = x;
            lanes[tid] = together;
        }
    }
};

}  // namespace divergence
