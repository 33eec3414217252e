// Failed calls of a run on a GPU, by kind, with exact counts: written by device code, read by the host when the run is
// over.
#pragma once

#include <cuda_runtime.h>

#include <string>

#include "../kernel.hpp"
#include "../platform.hpp"
#include "../report.hpp"

namespace dynpar {
namespace detail {

/// Calls that failed alike. Device code cannot hand a string to the host by its address, so the characters are here.
struct failure_entry {
    static constexpr unsigned name_capacity = 96;

    unsigned long long key;  // 0: free; else a hash of everything below except the count
    unsigned long long count;
    dynpar::operation operation;
    dynpar::status status;
    int cuda_code;
    unsigned depth;
    dynpar::shape shape;
    unsigned most_threads;  // in a block of the kernel that was to run; not in the key: the kernel's name is
    unsigned name_length;
    char name[name_capacity];
};

/// Lies in device memory, all bytes zero at the begin of a run. There is room for as many kinds of failure as anybody
/// will read; calls of further kinds are counted all the same.
struct failure_table {
    static constexpr unsigned capacity = 256;

    unsigned long long failed_calls;   // of every kind
    unsigned long long lost_launches;  // launch and then
    failure_entry entries[capacity];
};

#if defined(__CUDACC__)

__device__ inline unsigned long long mix(unsigned long long hash, unsigned long long value) {
    return (hash ^ value) * 0x100000001b3ull + (hash >> 29);
}

__device__ inline unsigned long long hash_of(text name) {
    unsigned long long hash = 0xcbf29ce484222325ull;
#pragma unroll 1
    for (unsigned i = 0; i < name.length; ++i) hash = mix(hash, static_cast<unsigned char>(name.begin[i]));
    return hash != 0 ? hash : 1;
}

/// What is to be written down of one failed call.
struct failed_call {
    dynpar::operation operation;
    dynpar::status status;
    int cuda_code;
    text kernel;
    unsigned depth;
    dynpar::shape shape;
    unsigned most_threads = bounds::block_threads;  // in a block of a kernel that was to run
};

/// Adds one failed call. Not inlined: a call that succeeds pays for a comparison and nothing else. Its loops are not
/// unrolled: every kernel that can fail must have room for this function's registers, also one with 1024 threads.
__device__ __noinline__ inline void add_failure(failure_table* table, const failed_call* call) {
    atomicAdd(&table->failed_calls, 1ull);
    if (call->operation == operation::launch || call->operation == operation::then)
        atomicAdd(&table->lost_launches, 1ull);

    unsigned long long key = 0xcbf29ce484222325ull;
    key = mix(key, static_cast<unsigned>(call->operation) << 8 | static_cast<unsigned>(call->status));
    key = mix(key, static_cast<unsigned>(call->cuda_code));
    key =
        mix(key, static_cast<unsigned long long>(call->depth) << 2 | static_cast<unsigned>(call->shape.moldable) << 1 |
                     static_cast<unsigned>(call->shape.shared_per_thread));
    static_assert(sizeof(shape) == 8 * sizeof(unsigned), "three blocks, three threads, shared bytes, and two flags");
    const unsigned* const sizes = &call->shape.blocks.x;
#pragma unroll 1
    for (unsigned i = 0; i < 7; ++i) key = mix(key, sizes[i]);
#pragma unroll 1
    for (unsigned i = 0; i < call->kernel.length; ++i)
        key = mix(key, static_cast<unsigned char>(call->kernel.begin[i]));
    if (key == 0) key = 1;

#pragma unroll 1
    for (unsigned probe = 0; probe < failure_table::capacity; ++probe) {
        failure_entry& entry = table->entries[(key + probe) % failure_table::capacity];
        const unsigned long long found = atomicCAS(&entry.key, 0ull, key);
        if (found == 0) {  // ours to describe; read when the run is over, so no thread waits for it
            entry.operation = call->operation;
            entry.status = call->status;
            entry.cuda_code = call->cuda_code;
            entry.depth = call->depth;
            // A word at a time: copied at once, all of them need registers at once, and sm_75 has none to spare.
            unsigned* const kept = &entry.shape.blocks.x;
#pragma unroll 1
            for (unsigned i = 0; i < sizeof(shape) / sizeof(unsigned); ++i) kept[i] = sizes[i];
            entry.most_threads = call->most_threads;
            const unsigned length = call->kernel.length;
            entry.name_length = length < failure_entry::name_capacity ? length : failure_entry::name_capacity;
#pragma unroll 1
            for (unsigned i = 0; i < entry.name_length; ++i) entry.name[i] = call->kernel.begin[i];
        }
        if (found == 0 || found == key) {
            atomicAdd(&entry.count, 1ull);
            return;
        }
    }
}

#endif

/// Puts what the table holds into the report.
inline void add_to_report(const failure_table& table, report& r) {
    r.failed_calls += table.failed_calls;
    r.lost_launches += table.lost_launches;
    for (const failure_entry& entry : table.entries) {
        if (entry.key == 0) continue;
        failure f;
        f.operation = entry.operation;
        f.status = entry.status;
        f.kernel.assign(entry.name, entry.name_length);
        f.depth = entry.depth;
        f.shape = entry.shape;
        f.cuda_code = entry.cuda_code;
        f.count = entry.count;
        f.note = note_on_bound(f.status, f.shape, entry.most_threads);
        r.failures.push_back(std::move(f));
    }
}

}  // namespace detail
}  // namespace dynpar
