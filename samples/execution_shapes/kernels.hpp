// The texts' sumMatrixOnGPU2D as a block kernel, and what it takes to check it where the matrices are.
#pragma once

#include <cstddef>

#include <dynpar/dynpar.hpp>

namespace execution_shapes {

/// The element of A, B and C = A + B at a place. Small integers, so that the sum is exact.
DYNPAR_FUNCTION inline float a_at(std::size_t i) { return static_cast<float>(i % 1021); }
DYNPAR_FUNCTION inline float b_at(std::size_t i) { return static_cast<float>(i % 509); }
DYNPAR_FUNCTION inline float c_at(std::size_t i) { return a_at(i) + b_at(i); }

/// C = A + B, a thread for each element, in blocks and grids of two dimensions.
struct sum_matrix_2d {
    static constexpr const char* name = "sumMatrixOnGPU2D";

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, const float* a, const float* b, float* c, unsigned nx,
                                    unsigned ny) const {
        const unsigned ix = block.group_index().x * block.dim_threads().x + block.thread_index().x;
        const unsigned iy = block.group_index().y * block.dim_threads().y + block.thread_index().y;
        const unsigned idx = iy * nx + ix;
        if (ix < nx && iy < ny) c[idx] = a[idx] + b[idx];
    }
};

/// Fills A and B. Any number of blocks and threads.
struct fill_matrices {
    static constexpr const char* name = "fill_matrices";

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, float* a, float* b, std::size_t count) const {
        const std::size_t threads = std::size_t{block.num_blocks()} * block.num_threads();
        for (std::size_t i = std::size_t{block.block_rank()} * block.num_threads() + block.thread_rank(); i < count;
             i += threads) {
            a[i] = a_at(i);
            b[i] = b_at(i);
        }
    }
};

/// Counts the elements of C that are not right, and poisons C for the next kernel.
struct check_and_poison {
    static constexpr const char* name = "check_and_poison";

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, float* c, std::size_t count, unsigned long long* wrong) const {
        const std::size_t threads = std::size_t{block.num_blocks()} * block.num_threads();
        unsigned long long mine = 0;
        for (std::size_t i = std::size_t{block.block_rank()} * block.num_threads() + block.thread_rank(); i < count;
             i += threads) {
            if (c[i] != c_at(i)) ++mine;
            c[i] = -1.0f;
        }
        if (mine != 0) dynpar::atomic_add(wrong, mine);
    }
};

}  // namespace execution_shapes
