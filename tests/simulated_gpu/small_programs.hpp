// What the tests of small programs on the simulated GPU have in common.
#pragma once

#include <dynpar/dynpar.hpp>

#include <cstddef>
#include <vector>

namespace small_programs {

using u64 = unsigned long long;

inline dynpar::queue_engine engine_of(unsigned block_threads, unsigned worker_blocks) {
    dynpar::queue_options options;
    options.block_threads = block_threads;
    options.worker_blocks = worker_blocks;
    options.memory_bytes = std::size_t{64} << 20;
    return dynpar::queue_engine(options);
}

template <class T>
dynpar::buffer<T> filled(const dynpar::queue_engine& engine, std::size_t count, T value) {
    dynpar::buffer<T> result = engine.make_buffer<T>(count);
    const std::vector<T> values(count, value);
    result.copy_from(values.data());
    return result;
}

/// What a program does that is drawn from a seed: the same number for the same question.
DYNPAR_FUNCTION constexpr unsigned drawn(unsigned seed, unsigned what) {
    unsigned x = seed * 0x9e3779b9u + what * 0x85ebca6bu;
    x = (x ^ x >> 15) * 0x2c1b3c6du;
    x = (x ^ x >> 12) * 0x297a2d39u;
    return x ^ x >> 15;
}

/// Counts blocks.
struct count_one {
    static constexpr const char* name = "count_one";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, u64* count) const {
        if (block.thread_rank() == 0) dynpar::atomic_add(count, u64{1});
    }
};

/// Settings of the simulated GPU that were changed are as before, in the end.
struct other_settings {
    const simulated_gpu::settings before = simulated_gpu::current_settings();
    ~other_settings() {
        const unsigned long long seed = simulated_gpu::current_settings().seed;
        simulated_gpu::current_settings() = before;
        simulated_gpu::current_settings().seed = seed;
    }
};

}  // namespace small_programs
