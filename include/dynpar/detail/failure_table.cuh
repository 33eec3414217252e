// Failed calls of a run on a GPU, by kind, with exact counts: written by device code, read by the host when the run is over.
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

    unsigned long long key;    // 0: free; else a hash of all that follows but the count
    unsigned long long count;
    dynpar::operation operation;
    dynpar::status status;
    int cuda_code;
    unsigned depth;
    dynpar::shape shape;
    unsigned name_length;
    char name[name_capacity];
};

/// Lies in device memory, all bytes zero at the begin of a run. There is room for as many kinds of failure as anybody will read;
/// calls of further kinds are counted all the same.
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

/// Adds one failed call. Not inlined: a call that succeeds pays for a comparison and nothing else.
__device__ __noinline__ inline void add_failure(failure_table* table, operation o, status why, int cuda_code, const char* name,
                                                unsigned name_length, unsigned depth, const shape* s) {
    atomicAdd(&table->failed_calls, 1ull);
    if (o == operation::launch || o == operation::then) atomicAdd(&table->lost_launches, 1ull);

    unsigned long long key = 0xcbf29ce484222325ull;
    key = mix(key, static_cast<unsigned long long>(o) << 8 | static_cast<unsigned long long>(why));
    key = mix(key, static_cast<unsigned>(cuda_code));
    key = mix(key, depth);
    key = mix(key, s->blocks.x), key = mix(key, s->blocks.y), key = mix(key, s->blocks.z);
    key = mix(key, s->threads.x), key = mix(key, s->threads.y), key = mix(key, s->threads.z);
    key = mix(key, s->shared_bytes), key = mix(key, s->malleable);
    for (unsigned i = 0; i < name_length; ++i) key = mix(key, static_cast<unsigned char>(name[i]));
    if (key == 0) key = 1;

    for (unsigned probe = 0; probe < failure_table::capacity; ++probe) {
        failure_entry& entry = table->entries[(key + probe) % failure_table::capacity];
        const unsigned long long found = atomicCAS(&entry.key, 0ull, key);
        if (found == 0) {  // ours to describe; read when the run is over, so nobody needs to wait for it
            entry.operation = o;
            entry.status = why;
            entry.cuda_code = cuda_code;
            entry.depth = depth;
            entry.shape = *s;
            entry.name_length = name_length < failure_entry::name_capacity ? name_length : failure_entry::name_capacity;
            for (unsigned i = 0; i < entry.name_length; ++i) entry.name[i] = name[i];
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
        r.failures.push_back(std::move(f));
    }
}

}  // namespace detail
}  // namespace dynpar
