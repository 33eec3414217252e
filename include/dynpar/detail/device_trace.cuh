// What a traced run on a GPU writes down, and what the host makes of it. Kernels that are not traced know nothing of
// it.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

#include "../engine_options.hpp"
#include "../kernel.hpp"
#include "../shape.hpp"
#include "../status.hpp"
#include "../trace.hpp"
#include "device_clock.cuh"
#include "stable_sort.hpp"

namespace dynpar {
namespace detail {

/// A kernel's name, where the host can look it up by the key that records carry.
struct trace_name {
    static constexpr unsigned capacity = 96;
    unsigned long long key;  // 0: free
    unsigned length;
    char name[capacity];
};

/// A grid in the trace, as device code writes it. Times are %globaltimer's.
struct alignas(16) device_trace_record {
    static constexpr unsigned long long unused = ~0ull;
    unsigned long long name;  // the key of its kernel's name; 0: the run's first kernel; unused: no grid has this place
    unsigned long long launched;
    unsigned long long begun;  // atomicMin over the blocks
    unsigned long long ended;  // atomicMax over the blocks; 0: not ended
    unsigned parent;
    unsigned continues;
    unsigned stream;
    unsigned depth;
    unsigned processor;
    dynpar::status status;
    bool frees_scratch;  // by a tail launch of its own, which is a pending launch as well
    dynpar::shape shape;
};
// Two by two they are written as one.
static_assert(offsetof(device_trace_record, name) % 16 == 0 && offsetof(device_trace_record, begun) % 16 == 0);
static_assert(offsetof(device_trace_record, launched) == offsetof(device_trace_record, name) + 8);
static_assert(offsetof(device_trace_record, ended) == offsetof(device_trace_record, begun) + 8);

/// The trace of a run, in device memory.
struct device_trace {
    unsigned capacity;
    device_trace_record* records;
    unsigned long long wanted;  // grids that wanted a record
    unsigned runs;              // that have begun to write records here, one after another
    unsigned streams;
    unsigned deepest_wait;  // plus one
    unsigned long long live_bytes;
    unsigned long long most_live_bytes;
    static constexpr unsigned names_capacity = 256;
    trace_name names[names_capacity];

    /// Where the name with this key is looked for, first to last.
    DYNPAR_FUNCTION static constexpr unsigned place_of_name(unsigned long long key, unsigned probe) {
        return static_cast<unsigned>((key / 8 + probe) % names_capacity);
    }
};

/// For an engine's constructor: throws `std::invalid_argument` if a trace is asked for that the program cannot give.
inline void check_traceable(const engine_options& options, const char* engine) {
#if DYNPAR_NO_TRACE
    if (options.trace_grids != 0) {
        throw std::invalid_argument(
            std::string("dynpar: the ") + engine +
            " engine cannot trace: this program was built with DYNPAR_NO_TRACE; build it without, or ask for no trace");
    }
#else
    static_cast<void>(options);
    static_cast<void>(engine);
#endif
}

/// Null if it found no room.
inline const trace_name* find_name(const device_trace& trace, unsigned long long key) {
    for (unsigned probe = 0; probe < device_trace::names_capacity; ++probe) {
        const trace_name& name = trace.names[device_trace::place_of_name(key, probe)];
        if (name.key == key) return &name;
        if (name.key == 0) break;
    }
    return nullptr;
}

/// Fills in the grids of a trace and how many are missing. `root`: the name of the run's first kernel.
inline void add_grids(trace& t, const device_trace& from, const std::vector<device_trace_record>& records,
                      engine_kind engine, const std::string& root, const run_clock& clock) {
    std::vector<grid_record>(records.size()).swap(t.grids);
    for (std::size_t i = 0; i < records.size(); ++i) {
        const device_trace_record& record = records[i];
        grid_record& grid = t.grids[i];
        grid.id = static_cast<std::uint32_t>(i);
        grid.parent = record.parent;
        grid.continues = record.continues;
        grid.stream = record.stream;
        grid.depth = record.depth;
        grid.processor = record.processor;
        grid.engine = engine;
        grid.status = record.status;
        grid.shape = record.shape;
        if (record.name == 0) {
            grid.kernel = root;
        } else if (const trace_name* const name = find_name(from, record.name)) {
            grid.kernel.assign(name->name, name->length);
        } else {
            grid.kernel = "(a kernel whose name found no room)";
        }
        grid.launched = i == 0 ? 0 : clock(record.launched);
        if (record.begun != grid_record::never) grid.begun = clock(record.begun);
        if (record.ended != 0) grid.ended = clock(record.ended);
    }
    t.clock_error = clock.error();
}

/// How many grids each of some grids continues, one after another.
inline std::vector<unsigned> places_in_chains(const std::vector<device_trace_record>& records,
                                              const std::vector<unsigned>& of) {
    constexpr unsigned unknown = grid_record::none;
    std::vector<unsigned> places(records.size(), unknown), chain;
    for (const unsigned last : of) {
        unsigned at = last;
        for (; at < records.size() && places[at] == unknown && chain.size() <= records.size();
             at = records[at].continues)
            chain.push_back(at);
        unsigned place = at >= records.size() || places[at] == unknown ? 0 : places[at] + 1;
        for (; !chain.empty(); chain.pop_back()) places[chain.back()] = place++;
    }
    return places;
}

/// The records of a trace whose places were taken by several at once: the first `most` grids in the order of their
/// launches, in which parents come before their children, and what is continued before what continues it, also where
/// the clock says the same of both. They name each other by their new places.
inline std::vector<device_trace_record> in_launch_order(const std::vector<device_trace_record>& records,
                                                        std::size_t most) {
    std::vector<unsigned> order;
    for (unsigned i = 0; i < records.size(); ++i) {
        if (records[i].name != device_trace_record::unused) order.push_back(i);
    }
    const std::vector<unsigned> chained = places_in_chains(records, order);
    stable_sort(order, [&](unsigned a, unsigned b) {
        if (records[a].launched != records[b].launched) return records[a].launched < records[b].launched;
        if (records[a].depth != records[b].depth) return records[a].depth < records[b].depth;
        return chained[a] != chained[b] ? chained[a] < chained[b] : a < b;
    });
    if (order.size() > most) order.resize(most);
    std::vector<unsigned> place_now(records.size(), grid_record::none);
    for (unsigned i = 0; i < order.size(); ++i) place_now[order[i]] = i;
    std::vector<device_trace_record> result(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
        device_trace_record& record = result[i];
        record = records[order[i]];
        record.parent = record.parent < records.size() ? place_now[record.parent] : grid_record::none;
        record.continues = record.continues < records.size() ? place_now[record.continues] : grid_record::none;
    }
    return result;
}

#if defined(__CUDACC__)

__device__ inline unsigned multiprocessor() {
#if defined(DYNPAR_SIMULATED_GPU)
    return simulated_gpu::multiprocessor();
#else
    unsigned number;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(number));
    return number;
#endif
}

/// What records carry for a name: where it lies.
__device__ inline unsigned long long name_key(text kernel) {
    return reinterpret_cast<unsigned long long>(kernel.begin);
}

/// Makes the name known to the host; its key.
__device__ inline unsigned long long keep_name(device_trace& trace, text kernel) {
    const unsigned long long key = name_key(kernel);
#pragma unroll 1
    for (unsigned probe = 0; probe < device_trace::names_capacity; ++probe) {
        trace_name& name = trace.names[device_trace::place_of_name(key, probe)];
        if (name.key == key) break;  // perhaps out of the first-level cache: a key that is there stays
        const unsigned long long found = atomicCAS(&name.key, 0ull, key);
        if (found == 0) {
            name.length = kernel.length < trace_name::capacity ? kernel.length : trace_name::capacity;
#pragma unroll 1
            for (unsigned i = 0; i < name.length; ++i) name.name[i] = kernel.begin[i];
        }
        if (found == 0 || found == key) break;
    }
    return key;
}

/// What is to be written down of one launch.
struct traced_launch {
    text kernel;
    unsigned parent;
    unsigned continues;
    unsigned stream;
    unsigned depth;
    dynpar::status status;
    dynpar::shape shape;
};

/// Writes the record of a launch. By address, and not inlined, for the same reason as `add_failure`: a kernel with 1024
/// threads must have room for its registers.
__device__ __noinline__ inline void write_launch(device_trace_record& record, unsigned long long name,
                                                 const traced_launch* launch) {
    record.name = name;
    record.begun = grid_record::never;
    record.ended = 0;
    record.parent = launch->parent;
    record.continues = launch->continues;
    record.stream = launch->stream;
    record.depth = launch->depth;
    record.processor = grid_record::none;
    record.status = launch->status;
    record.frees_scratch = false;
    record.shape = launch->shape;
    record.launched = device_nanoseconds();
}

/// Finds a place for a launch and writes its record; none if there was no room.
__device__ __noinline__ inline unsigned trace_launch(device_trace* trace, const traced_launch* launch) {
    const unsigned long long place =
        atomicAdd(&trace->wanted, 1ull);  // long on its way: meanwhile the name is looked up
    const unsigned long long name = keep_name(*trace, launch->kernel);
    if (place >= trace->capacity) return grid_record::none;
    write_launch(trace->records[place], name, launch);
    return static_cast<unsigned>(place);
}

__device__ inline void trace_memory_taken(device_trace& trace, unsigned long long bytes) {
    atomicMax(&trace.most_live_bytes, atomicAdd(&trace.live_bytes, bytes) + bytes);
}

__device__ inline void trace_memory_freed(device_trace& trace, unsigned long long bytes) {
    atomicAdd(&trace.live_bytes, 0 - bytes);
}

#endif

}  // namespace detail
}  // namespace dynpar
