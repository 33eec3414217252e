// Queue engine: what a traced run writes: the numbers of its grids, and when their blocks run.
//
// A number is a grid's place in engine_view::trace_records. Worker blocks take numbers in batches, since all would wait
// for a single counter. Owns gang_state::trace_batch, named and next_named, the lists of noted children (traced), and
// run_control::trace_batches; writes the records of the trace. Allocates nothing, and changes nothing that the
// scheduler reads.
#pragma once

#include "../memory/state.cuh"

#if DYNPAR_ON_DEVICE

namespace dynpar {
namespace detail {
namespace queue {

/// Whether the run is traced. With DYNPAR_NO_TRACE it is false at compile time.
__device__ inline bool is_traced_run() { return DYNPAR_NO_TRACE == 0 && engine().trace != nullptr; }

/// The place in the trace of the grid with this descriptor; none if it has none.
__device__ inline std::uint32_t trace_id_of(arena_index descriptor) {
    if (descriptor == 0) return dynpar::grid_record::none;
    if (descriptor < engine().arena_begin) return (descriptor - traced_descriptors) / traced_descriptor_units;
    return at<grid_descriptor>(descriptor)->trace_id;
}

/// One thread of a worker block, when a run begins: each worker block has a batch. The first worker block's begins with
/// one number used, by the first grid, and one of its threads makes the name of that grid's kernel known to the host.
__device__ inline void begin_trace(text first_kernel) {
    this_block().gang.trace_batch = trace_batch::word(blockIdx.x) + (blockIdx.x == 0 ? 1 : 0);
    this_block().gang.named[0] = static_cast<unsigned>(name_key(first_kernel));
    this_block().gang.next_named = 1;
}

/// For the one thread of a worker block that has found a whole batch used. When all batches are, the last one is given
/// again and again: a trace has no room for its numbers.
__device__ inline void take_trace_batch() {
    fetch_add_relaxed(engine().trace->wanted, static_cast<unsigned long long>(trace_batch::size));
    unsigned& batches = engine().control->trace_batches;
    unsigned taken = load_relaxed(batches);
    if (taken < trace_batch::most_batches) taken = fetch_add_relaxed(batches, 1u);
    store_relaxed_in_block(this_block().gang.trace_batch,
                           trace_batch::word(min(gridDim.x + taken, trace_batch::most_batches - 1)));
}

/// A number for a grid; none if the trace is full, or if the grid may have none: then it is only counted.
__device__ __noinline__ inline std::uint32_t take_trace_id(bool may_have_one) {
    device_trace& trace = *engine().trace;
    if (!may_have_one) {
        fetch_add_relaxed(trace.wanted, 1ull);
        return dynpar::grid_record::none;
    }
    unsigned& batch = this_block().gang.trace_batch;
    while (true) {
        // Another thread is taking the next batch.
        if (trace_batch::used(load_relaxed_in_block(batch)) > trace_batch::size) continue;
        const unsigned found = fetch_add_relaxed(batch, 1u);
        if (trace_batch::used(found) < trace_batch::size) {
            const std::uint32_t id = trace_batch::first(found) + trace_batch::used(found);
            return id < engine().trace_capacity ? id : dynpar::grid_record::none;
        }
        if (trace_batch::used(found) == trace_batch::size) take_trace_batch();
    }
}

/// A warp of a worker block, at the end of a run: marks the numbers that are left as unused.
__device__ inline void end_trace() {
    const unsigned batch = load_relaxed_in_block(this_block().gang.trace_batch);
    const unsigned used = min(trace_batch::used(batch), trace_batch::size);
    for (unsigned i = used + lane_rank(); i < trace_batch::size; i += warp_size) {
        const unsigned id = trace_batch::first(batch) + i;
        if (id < engine().trace_capacity) engine().trace_records[id].name = device_trace_record::unused;
    }
    if (lane_rank() == 0 && used != 0) fetch_add_relaxed(engine().trace->wanted, static_cast<unsigned long long>(used));
}

/// Whether a kernel's name is known to the host, as far as this worker block remembers.
__device__ inline bool is_named(text kernel) {
    bool named = false;
#pragma unroll
    for (unsigned& name : this_block().gang.named)
        named = named || load_relaxed_in_block(name) == static_cast<unsigned>(name_key(kernel));
    return named;
}
/// Makes it known unless it is.
__device__ inline unsigned long long keep_name_once(text kernel) {
    gang_state& gang = this_block().gang;
    if (!is_named(kernel)) {
        keep_name(*engine().trace, kernel);
        store_relaxed_in_block(gang.named[fetch_add_relaxed(gang.next_named, 1u) % gang_state::names_kept],
                               static_cast<unsigned>(name_key(kernel)));
    }
    return name_key(kernel);
}

/// One thread, in a traced run: a block of that grid has run from `begun` until now. It is not counted yet: from then
/// on the descriptor may be another grid's.
__device__ __noinline__ inline void stamp(arena_index descriptor, std::uint32_t task_info, std::uint32_t rank,
                                          unsigned long long begun) {
    const std::uint32_t id = trace_id_of(descriptor);
    if (id == dynpar::grid_record::none) return;
    device_trace_record& record = engine().trace_records[id];
    const unsigned long long ended = device_nanoseconds();
    if ((task_info & info::one_of_several) != 0) {
        fetch_min_relaxed(record.begun, begun);
        fetch_max_relaxed(record.ended, ended);
    } else {
        *reinterpret_cast<ulonglong2*>(&record.begun) = make_ulonglong2(begun, ended);
    }
    if (rank == 0) record.processor = multiprocessor();
}

/// One thread of a block: notes a child of one block that needs a descriptor for the trace only. Null if the launch
/// must take the general route; otherwise `descriptor` is the child's place in the trace, with nothing in it, or 0 if
/// there is none for it. Contains no call on its common path, so that next to nothing must be kept on the stack of a
/// single thread. `parent`: the descriptor of the block's grid.
__device__ inline traced_child* note_child(unsigned& count, traced_child* children, unsigned capacity, text kernel,
                                           arena_index parent, std::uint32_t depth, std::uint32_t threads,
                                           bool moldable, arena_index& descriptor) {
    unsigned& batch = this_block().gang.trace_batch;
    if (parent == 0 || parent >= engine().arena_begin || !is_named(kernel)) return nullptr;
    const unsigned number = fetch_add_relaxed(count, 1u);
    if (number >= capacity) return nullptr;
    traced_child& child = children[number];
    child.id = dynpar::grid_record::none;
    const unsigned found = fetch_add_relaxed(batch, 1u);
    if (trace_batch::used(found) >= trace_batch::size) {
        if (trace_batch::used(found) == trace_batch::size) take_trace_batch();
        return nullptr;
    }
    const std::uint32_t id = trace_batch::first(found) + trace_batch::used(found);
    descriptor = 0;
    if (id >= engine().trace_capacity) return &child;
    descriptor = traced_descriptors + id * traced_descriptor_units;
    device_trace_record& record = engine().trace_records[id];
    *reinterpret_cast<ulonglong2*>(&record.begun) = make_ulonglong2(dynpar::grid_record::never, 0);
    record.processor = dynpar::grid_record::none;
    record.parent = trace_id_of(parent);  // its continuations look for it
    child.name = name_key(kernel);
    child.id = id;
    child.depth = depth;
    child.threads = threads | (moldable ? traced_child::moldable : 0u);
    child.launched = device_nanoseconds();
    return &child;
}

/// The child is launched by another route, which counts it again.
__device__ inline void forget_child(traced_child& child) {
    fetch_add_relaxed(engine().trace->wanted, ~0ull);
    if (child.id == dynpar::grid_record::none) return;  // it was only counted
    engine().trace_records[child.id].name = device_trace_record::unused;
    child.id = dynpar::grid_record::none;
}

/// All lanes of a warp, while no thread notes any: writes what is noted.
__device__ __noinline__ inline void write_noted_children(unsigned& noted, const traced_child* children,
                                                         unsigned capacity) {
    const unsigned count = min(load_relaxed_in_block(noted), capacity);
    if (lane_rank() < count && children[lane_rank()].id != dynpar::grid_record::none) {
        const traced_child& child = children[lane_rank()];
        device_trace_record& record = engine().trace_records[child.id];
        *reinterpret_cast<ulonglong2*>(&record.name) = make_ulonglong2(child.name, child.launched);
        record.continues = record.stream = dynpar::grid_record::none;
        record.depth = child.depth;
        record.status = status::success;
        record.frees_scratch = false;
        shape s(1, child.threads & ~traced_child::moldable);
        s.moldable = (child.threads & traced_child::moldable) != 0;
        record.shape = s;
    }
    sync_warp();
    if (lane_rank() == 0) store_relaxed_in_block(noted, 0u);
    sync_warp();
}
template <class Children>
__device__ inline void write_noted_children(Children& traced) {
    write_noted_children(traced.count, traced.children, Children::capacity);
}
/// The same, if they are many.
template <class Children>
__device__ inline void write_if_many(Children& traced) {
    if (load_relaxed_in_block(traced.count) >= Children::many) write_noted_children(traced);
}

}  // namespace queue
}  // namespace detail
}  // namespace dynpar

#endif
