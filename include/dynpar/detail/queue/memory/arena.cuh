// Queue engine: memory for grid nodes, arguments, scratch and spilled tasks, allocated and released by any thread at
// any time. Owns run_control's arena_taken, free_lists and node_depot, the warps' caches and warp_state's free_nodes,
// free_pieces and spent; no other header changes them, except at the beginning and the end of a run.
#pragma once

#include "state.cuh"

#if defined(__CUDACC__)

namespace dynpar {
namespace detail {
namespace queue {

// The arena is handed out from front to back in pieces of 64 bytes times a power of two. A released piece goes to the
// free list of its size. Such a list is a linked stack; its head holds a place and a count of all changes. If others
// pop and push the same piece after a thread has read the head, the count it read is outdated, so its exchange fails.

__device__ inline unsigned size_class_of(unsigned long long bytes) {
    const unsigned long long units = (bytes + unit_bytes - 1) / unit_bytes;
    return units <= 1 ? 0 : 64 - static_cast<unsigned>(__clzll(static_cast<long long>(units - 1)));
}

__device__ inline void push_free(unsigned long long& head, arena_index piece) {
    unsigned long long seen = load_relaxed(head);
    while (true) {
        store_relaxed(*at<arena_index>(piece), static_cast<arena_index>(seen));
        fence();
        const unsigned long long next = ((seen >> 32) + 1) << 32 | piece;
        const unsigned long long found = compare_exchange_relaxed(head, seen, next);
        if (found == seen) return;
        seen = found;
    }
}

__device__ inline arena_index pop_free(unsigned long long& head) {
    unsigned long long seen = load_relaxed(head);
    while (static_cast<arena_index>(seen) != 0) {
        fence();
        // Perhaps this is no longer a link: then the exchange fails.
        const arena_index next_piece = load_relaxed(*at<arena_index>(static_cast<arena_index>(seen)));
        const unsigned long long next = ((seen >> 32) + 1) << 32 | next_piece;
        const unsigned long long found = compare_exchange_relaxed(head, seen, next);
        if (found == seen) {
            fence();
            return static_cast<arena_index>(seen);
        }
        seen = found;
    }
    return 0;
}

/// Memory that was never used before; 0 if there is none left.
///
/// The count of units taken only grows. A thread that adds to it and finds too little left cannot subtract again:
/// others might have taken units beyond it meanwhile, and theirs would be handed out a second time. So only requests
/// that surely fit are added without a comparison. If thousands of threads add at once when little is left, they may
/// waste the remainder, which is less than `plenty`.
__device__ inline arena_index take_new(unsigned long long units) {
    constexpr unsigned long long plenty = 1 << 16;
    unsigned long long& taken = engine().control->arena_taken;
    const unsigned long long room = engine().arena_units - engine().arena_fresh;
    unsigned long long seen = load_relaxed(taken);
    if (units <= 2 * warp_size && seen + units + plenty <= room) {
        seen = fetch_add_relaxed(taken, units);
        return seen + units <= room ? static_cast<arena_index>(engine().arena_fresh + seen) : 0;
    }
    while (seen + units <= room) {
        const unsigned long long found = compare_exchange_relaxed(taken, seen, seen + units);
        if (found == seen) return static_cast<arena_index>(engine().arena_fresh + seen);
        seen = found;
    }
    return 0;
}

inline constexpr unsigned batch_class = 5;  // 2 KiB: a link and the places of a batch
static_assert((1 + tuning::node_batch) * sizeof(arena_index) <= unit_bytes << batch_class);

/// At least 64 << size_class bytes; 0 if there is no memory left.
__device__ __noinline__ inline arena_index allocate(unsigned size_class) {
    if (size_class >= size_classes) return 0;
    run_control& control = *engine().control;
    if (const arena_index piece = pop_free(control.free_lists[size_class][worker_rank() % tuning::free_lists]);
        piece != 0)
        return piece;
    if (const arena_index piece = take_new(1ull << size_class); piece != 0) return piece;
#pragma unroll 1
    for (unsigned list = 0; list < tuning::free_lists; ++list) {
        if (const arena_index piece = pop_free(control.free_lists[size_class][list]); piece != 0) return piece;
    }
    if (size_class != 0) return 0;
    // The last place to look for free nodes: a batch in the depot.
    const arena_index batch = pop_free(control.node_depot);
    if (batch == 0) return 0;
#pragma unroll 1
    for (unsigned i = 1; i < tuning::node_batch; ++i)
        push_free(control.free_lists[0][i % tuning::free_lists], load_relaxed(at<arena_index>(batch)[1 + i]));
    const arena_index first = load_relaxed(at<arena_index>(batch)[1]);
    push_free(control.free_lists[batch_class][0], batch);
    return first;
}

__device__ __noinline__ inline void release(arena_index piece, unsigned size_class) {
    push_free(engine().control->free_lists[size_class][worker_rank() % tuning::free_lists], piece);
}

// ---- Cached nodes. Most tasks that join need a grid node, so each warp has a cache of free ones: all warps would
// contend for the head of a shared list.

__device__ inline arena_index* cached_nodes() {
    return engine().free_nodes + static_cast<std::size_t>(worker_rank()) * tuning::node_cache_capacity;
}

/// A node from the warp's cache; 0 if that is empty. For single lanes.
__device__ inline arena_index take_cached_node() {
    warp_state& warp = this_warp();
    const int left = fetch_sub_relaxed(warp.free_nodes, 1);
    if (left > 0) return cached_nodes()[left - 1];
    fetch_add_relaxed(warp.free_nodes, 1);
    return 0;
}
/// From the cache or the arena; 0 if there is no memory.
__device__ inline arena_index take_node() {
    const arena_index node = take_cached_node();
    return node != 0 ? node : allocate(0);
}

/// Not while other lanes of this warp take nodes.
__device__ inline void give_back_node(arena_index node) {
    warp_state& warp = this_warp();
    const int place = fetch_add_relaxed(warp.free_nodes, 1);
    if (place < static_cast<int>(tuning::node_cache_capacity)) {
        cached_nodes()[place] = node;
    } else {
        fetch_sub_relaxed(warp.free_nodes, 1);
        release(node, 0);
    }
}

// ---- Cached pieces, of one size: descriptors of grids that a task has no room for, and of continuations that a node
// has no room for.

inline constexpr unsigned not_given_back = ~0u;  // in the place of a size class: a piece that belongs to the trace

__device__ inline arena_index* cached_pieces() {
    return engine().free_pieces + static_cast<std::size_t>(worker_rank()) * tuning::piece_cache_capacity;
}

/// A piece from the warp's cache; 0 if that is empty. For single lanes, but not while others give pieces back.
__device__ inline arena_index take_cached_piece() {
    warp_state& warp = this_warp();
    const int left = fetch_sub_relaxed(warp.free_pieces, 1);
    if (left > 0) return cached_pieces()[left - 1];
    fetch_add_relaxed(warp.free_pieces, 1);
    return 0;
}
/// From the cache or the arena; 0 if there is no memory.
__device__ __noinline__ inline arena_index take_piece() {
    const arena_index piece = take_cached_piece();
    return piece != 0 ? piece : allocate(piece_class);
}

__device__ __noinline__ inline void give_back_piece(arena_index piece) {
    warp_state& warp = this_warp();
    const int place = fetch_add_relaxed(warp.free_pieces, 1);
    if (place < static_cast<int>(tuning::piece_cache_capacity)) {
        cached_pieces()[place] = piece;
    } else {
        fetch_sub_relaxed(warp.free_pieces, 1);
        release(piece, piece_class);
    }
}

/// Keeps a piece, to give it back when there is time: all other warps may be waiting for what this one does next. The
/// piece of the call before is given back now.
__device__ inline void give_back_later(arena_index piece) {
    const arena_index before = exchange_relaxed(this_warp().spent, piece);
    if (before != 0) give_back_piece(before);
}
__device__ inline void give_back_spent() {
    const arena_index piece = this_warp().spent;
    this_warp().spent = 0;
    if (piece != 0) give_back_piece(piece);
}

/// All lanes of every warp, when a run begins: fills the cache, so that the warps do not all ask for memory at once.
__device__ inline void begin_with_memory() {
    if (engine().arena_fresh == engine().arena_begin) return;
    const unsigned lane = lane_rank();
    const arena_index first = engine().arena_begin + worker_rank() * units_at_first;
    for (unsigned i = lane; i < tuning::nodes_at_first; i += warp_size) cached_nodes()[i] = first + i;
    if (lane < tuning::pieces_at_first) cached_pieces()[lane] = first + tuning::nodes_at_first + (lane << piece_class);
    if (lane == 0) {
        this_warp().free_nodes = tuning::nodes_at_first;
        this_warp().free_pieces = tuning::pieces_at_first;
    }
}

/// One lane, when the run has just begun: takes what take_node() or take_piece() would, and computes its place instead
/// of reading it from the cache.
__device__ inline arena_index take_first_node() {
    if (engine().arena_fresh == engine().arena_begin) return take_node();
    --this_warp().free_nodes;
    return engine().arena_begin + worker_rank() * units_at_first + tuning::nodes_at_first - 1;
}
__device__ inline arena_index take_first_piece() {
    if (engine().arena_fresh == engine().arena_begin) return take_piece();
    --this_warp().free_pieces;
    return engine().arena_begin + worker_rank() * units_at_first + tuning::nodes_at_first +
           ((tuning::pieces_at_first - 1) << piece_class);
}

inline namespace hot {
/// Exchanges a batch with the depot, if the cache has fewer nodes than a round may take or is nearly full. If the depot
/// is empty, nodes come from the arena; if there is no memory for a batch, nothing happens.
__device__ __noinline__ inline void exchange_with_depot() {
    warp_state& warp = this_warp();
    const unsigned lane = lane_rank();
    const int have = warp.free_nodes;
    __syncwarp();  // all lanes have read it before one writes it
    arena_index* const cached = cached_nodes();
    const bool few = have < static_cast<int>(warp_size);
    run_control& control = *engine().control;
    arena_index batch = 0;
    if (lane == 0) batch = few ? pop_free(control.node_depot) : allocate(batch_class);
    batch = __shfl_sync(all_lanes, batch, 0);
    if (few && batch == 0) {
        arena_index first = 0;
        if (lane == 0) first = take_new(2 * warp_size);
        first = __shfl_sync(all_lanes, first, 0);
        if (first != 0) {
            cached[have + lane] = first + lane;
            cached[have + warp_size + lane] = first + warp_size + lane;
            if (lane == 0) warp.free_nodes = have + 2 * warp_size;
        }
    } else if (few) {
        for (unsigned i = lane; i < tuning::node_batch; i += warp_size)
            cached[have + i] = load_relaxed(at<arena_index>(batch)[1 + i]);
        __syncwarp();
        if (lane == 0) {
            push_free(control.free_lists[batch_class][worker_rank() % tuning::free_lists], batch);
            warp.free_nodes = have + tuning::node_batch;
        }
    } else if (batch != 0) {
        const unsigned kept = static_cast<unsigned>(have) - tuning::node_batch;
        for (unsigned i = lane; i < tuning::node_batch; i += warp_size)
            store_relaxed(at<arena_index>(batch)[1 + i], cached[kept + i]);
        fence();
        __syncwarp();
        if (lane == 0) {
            push_free(control.node_depot, batch);
            warp.free_nodes = static_cast<int>(kept);
        }
    }
    __syncwarp();
}
}  // namespace hot

/// All lanes together, before blocks run: enough cached nodes for each of 32 blocks, and not too many.
__device__ inline void balance_node_cache() {
    const int have = this_warp().free_nodes;
    if (have < static_cast<int>(warp_size) || have > static_cast<int>(tuning::node_cache_capacity - 8 * warp_size))
        exchange_with_depot();
}

}  // namespace queue
}  // namespace detail
}  // namespace dynpar

#endif
