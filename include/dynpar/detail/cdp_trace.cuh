// What traced kernels of the device runtime engine write down. Untraced kernels know nothing of it.
#pragma once

#include <cuda_runtime.h>

#include "../kernel.hpp"
#include "../shape.hpp"
#include "../status.hpp"
#include "../trace.hpp"
#include "failure_table.cuh"

namespace dynpar {
namespace detail {

/// A kernel's name, where the host can look it up by the hash that trace records carry.
struct cdp_name {
    static constexpr unsigned capacity = 96;
    unsigned long long hash;  // 0: free
    unsigned length;
    char name[capacity];
};

/// A grid in the trace, as device code writes it. Times are %globaltimer's.
struct cdp_trace_record {
    unsigned long long name_hash;  // 0: the run's first kernel
    unsigned long long launched;
    unsigned long long begun;      // atomicMin over the blocks
    unsigned long long ended;      // atomicMax over the blocks; 0: not ended
    unsigned parent;
    unsigned continues;
    unsigned stream;
    unsigned depth;
    unsigned processor;
    dynpar::status status;
    bool frees_scratch;  // by a tail launch of its own, which is a pending launch as well
    dynpar::shape shape;
};

/// The trace of a run, in device memory.
struct cdp_trace {
    unsigned capacity;
    cdp_trace_record* records;
    unsigned long long wanted;  // grids that wanted a record
    unsigned streams;
    unsigned deepest_wait;      // plus one
    unsigned long long live_bytes;
    unsigned long long most_live_bytes;
    static constexpr unsigned names_capacity = 256;
    cdp_name names[names_capacity];
};

#if defined(__CUDACC__)

/// Nanoseconds by the one clock of all multiprocessors.
__device__ inline unsigned long long device_nanoseconds() {
    unsigned long long time;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
    return time;
}

__device__ inline unsigned multiprocessor() {
    unsigned number;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(number));
    return number;
}

__device__ inline unsigned long long hash_of(text name) {
    unsigned long long hash = 0xcbf29ce484222325ull;
#pragma unroll 1
    for (unsigned i = 0; i < name.length; ++i) hash = mix(hash, static_cast<unsigned char>(name.begin[i]));
    return hash != 0 ? hash : 1;
}

/// Makes the name known to the host; its hash.
__device__ __noinline__ inline unsigned long long keep_name(cdp_trace& trace, text kernel) {
    const unsigned long long hash = hash_of(kernel);
#pragma unroll 1
    for (unsigned probe = 0; probe < cdp_trace::names_capacity; ++probe) {
        cdp_name& name = trace.names[(hash + probe) % cdp_trace::names_capacity];
        unsigned long long found = *static_cast<volatile unsigned long long*>(&name.hash);
        if (found == hash) break;
        found = atomicCAS(&name.hash, 0ull, hash);
        if (found == 0) {
            name.length = kernel.length < cdp_name::capacity ? kernel.length : cdp_name::capacity;
#pragma unroll 1
            for (unsigned i = 0; i < name.length; ++i) name.name[i] = kernel.begin[i];
        }
        if (found == 0 || found == hash) break;
    }
    return hash;
}

/// What is to be written down of one launch.
struct cdp_traced_launch {
    text kernel;
    unsigned parent;
    unsigned continues;
    unsigned stream;
    unsigned depth;
    dynpar::status status;
    dynpar::shape shape;
};

/// Writes the record of a launch; its place, or none if there was no room. By address, and not inlined, for the same reason as
/// `add_failure`: a kernel with 1024 threads must have room for its registers.
__device__ __noinline__ inline unsigned trace_launch(cdp_trace* trace, const cdp_traced_launch* launch) {
    const unsigned long long hash = keep_name(*trace, launch->kernel);
    const unsigned long long place = atomicAdd(&trace->wanted, 1ull);
    if (place >= trace->capacity) return grid_record::none;
    cdp_trace_record* const record = &trace->records[place];
    record->name_hash = hash;
    record->begun = grid_record::never;
    record->ended = 0;
    record->parent = launch->parent;
    record->continues = launch->continues;
    record->stream = launch->stream;
    record->depth = launch->depth;
    record->processor = grid_record::none;
    record->status = launch->status;
    record->frees_scratch = false;
    record->shape = launch->shape;
    record->launched = device_nanoseconds();
    return static_cast<unsigned>(place);
}

__device__ inline void trace_memory_taken(cdp_trace& trace, unsigned long long bytes) {
    atomicMax(&trace.most_live_bytes, atomicAdd(&trace.live_bytes, bytes) + bytes);
}

__device__ inline void trace_memory_freed(cdp_trace& trace, unsigned long long bytes) { atomicAdd(&trace.live_bytes, 0 - bytes); }

#endif

}  // namespace detail
}  // namespace dynpar
