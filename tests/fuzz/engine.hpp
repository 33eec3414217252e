// The engine that this build of the tool is about: its options, its traits, and how the host reaches its memory.
#pragma once

#include <dynpar/dynpar.hpp>

#include <cstring>
#include <type_traits>

#include "generator.hpp"
#include "model.hpp"
#include "program.hpp"

#if !defined(FUZZ_ENGINE_HOST) && !defined(FUZZ_ENGINE_QUEUE) && !defined(FUZZ_ENGINE_CDP)
#error "define FUZZ_ENGINE_HOST, FUZZ_ENGINE_QUEUE or FUZZ_ENGINE_CDP as 1"
#endif

namespace fuzz {

#if FUZZ_ENGINE_HOST
using engine_type = dynpar::host_engine;
using options_type = dynpar::host_options;
inline bool has_device() { return true; }
inline void copy_in(void* there, const void* host, std::size_t bytes) { std::memcpy(there, host, bytes); }
inline void copy_out(void* host, const void* there, std::size_t bytes) { std::memcpy(host, there, bytes); }
inline void clear(void* there, std::size_t bytes) { std::memset(there, 0, bytes); }
inline void finish_copies() {}
#else
#if FUZZ_ENGINE_QUEUE
using engine_type = dynpar::queue_engine;
using options_type = dynpar::queue_options;
#else
using engine_type = dynpar::cdp_engine;
using options_type = dynpar::cdp_options;
#endif
inline bool has_device() {
    int devices = 0;
    return cudaGetDeviceCount(&devices) == cudaSuccess && devices != 0;
}
inline void copy_in(void* there, const void* host, std::size_t bytes) {
    dynpar::check(cudaMemcpyAsync(there, host, bytes, cudaMemcpyHostToDevice, cudaStreamPerThread),
                  "copying a random program to the device");
}
inline void copy_out(void* host, const void* there, std::size_t bytes) {
    dynpar::check(cudaMemcpyAsync(host, there, bytes, cudaMemcpyDeviceToHost, cudaStreamPerThread),
                  "copying results of a random program to the host");
}
inline void clear(void* there, std::size_t bytes) {
    dynpar::check(cudaMemsetAsync(there, 0, bytes, cudaStreamPerThread), "clearing the counts of a random program");
}
/// Engines' streams do not wait for others.
inline void finish_copies() {
    dynpar::check(cudaStreamSynchronize(cudaStreamPerThread), "copying a random program to or from the device");
}
#endif

inline engine_traits traits_of_engine() {
    engine_traits t;
    t.name = engine_type::name;
#if FUZZ_ENGINE_HOST
    t.bounds_pending = true;
#elif FUZZ_ENGINE_QUEUE
    t.bounds_workers = true;
    t.may_run_out_of_memory = true;
    t.batch = 256;  // to make an engine takes as long as many a program
#if !DYNPAR_HAS_DEVICE_LAUNCH
    t.widest = 1024;
#endif
#else
    t.has_wait = false;
    t.may_run_out_of_memory = true;  // the device heap
    t.batch = 256;
    // A launch over the limit on pending ones may hang CUDA's device runtime for good, and it nests 24 deep.
    t.most_grids = 30000;
    t.most_depth = 20;
#endif
    return t;
}

inline options_type options_for(const engine_settings& settings) {
    options_type options;
    options.limits.sync_depth = settings.sync_depth;
    if (settings.nesting_depth != all) options.limits.nesting_depth = settings.nesting_depth;
    if (settings.traced != 0) options.trace_grids = 4096;
    options.moldable_threads = settings.moldable_threads;
#if FUZZ_ENGINE_HOST
    if (settings.pending_launches != 0) options.limits.pending_launches = settings.pending_launches;
#elif FUZZ_ENGINE_QUEUE
    // The kernels here take more of the stack for each wait() than the engine reckons with. Always the same: it is the
    // device's, and engines of other threads may be running.
    options.limits.stack_bytes = 8192 + most_sync_depth * std::size_t{3072};
    options.memory_bytes = settings.memory_bytes;
    options.worker_blocks = settings.worker_blocks;
    options.block_threads = settings.block_threads;
    options.shared_bytes = settings.shared_bytes;
    options.deadline_milliseconds = 20000;
#if defined(DYNPAR_SIMULATED_GPU) && DYNPAR_SIMULATED_GPU
    options.limits.stack_bytes = std::size_t{96} << 10;  // a CPU's frames are larger
    // And its steps slower: the simulation itself sees a run that gets nowhere.
    options.deadline_milliseconds = 600000;
#endif
#else
    options.limits.sync_depth.reset();
    options.limits.pending_launches = 65536;
    options.limits.heap_bytes = std::size_t{256} << 20;
#endif
    return options;
}

}  // namespace fuzz
