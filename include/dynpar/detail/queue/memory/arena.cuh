// Queue engine: memory for grid nodes, arguments, scratch and spilled tasks, allocated and released by any thread at
// any time. Owns run_control's arena_taken, free_lists and depots, the warps' caches and warp_state's free_nodes,
// free_pieces and spent; no other header changes them, except at the beginning and the end of a run.
#pragma once

#include "invariant.cuh"
#include "state.cuh"

#if DYNPAR_ON_DEVICE

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
    if (units <= 4 * warp_size && seen + units + plenty <= room) {
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

/// What is different about a warp's cache of nodes and its cache of pieces.
struct node_cache {
    static constexpr unsigned size_class = 0;
    static constexpr unsigned capacity = tuning::node_cache_capacity;
    static constexpr unsigned many = capacity - 8 * warp_size;
    static constexpr unsigned batch = tuning::node_batch;
    static constexpr unsigned batch_class = 5;            // 2 KiB: a link and the places of a batch
    static constexpr unsigned at_a_time = 2 * warp_size;  // from the arena
    static __device__ int& count() { return this_warp().free_nodes; }
    static __device__ arena_index* places() {
        return engine().free_nodes + static_cast<std::size_t>(worker_rank()) * capacity;
    }
    static __device__ unsigned long long& depot() { return engine().control->node_depot; }
};
struct piece_cache {
    static constexpr unsigned size_class = piece_class;
    static constexpr unsigned capacity = tuning::piece_cache_capacity;
    static constexpr unsigned many = capacity - 4 * warp_size;
    static constexpr unsigned batch = tuning::piece_batch;
    static constexpr unsigned batch_class = 3;  // 512 bytes
    static constexpr unsigned at_a_time = warp_size;
    static __device__ int& count() { return this_warp().free_pieces; }
    static __device__ arena_index* places() {
        return engine().free_pieces + static_cast<std::size_t>(worker_rank()) * capacity;
    }
    static __device__ unsigned long long& depot() { return engine().control->piece_depot; }
};
template <class Cache>
inline constexpr bool batch_fits = (1 + Cache::batch) * sizeof(arena_index) <= unit_bytes << Cache::batch_class;
static_assert(batch_fits<node_cache> && batch_fits<piece_cache>);

/// The last place to look for memory of that size: a batch in the depot. 0 if there is none.
template <class Cache>
__device__ __noinline__ arena_index break_up_batch() {
    run_control& control = *engine().control;
    const arena_index batch = pop_free(Cache::depot());
    if (batch == 0) return 0;
#pragma unroll 1
    for (unsigned i = 1; i < Cache::batch; ++i)
        push_free(control.free_lists[Cache::size_class][i % tuning::free_lists],
                  load_relaxed(at<arena_index>(batch)[1 + i]));
    const arena_index first = load_relaxed(at<arena_index>(batch)[1]);
    push_free(control.free_lists[Cache::batch_class][0], batch);
    return first;
}

__device__ inline arena_index find_memory(unsigned size_class) {
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
    if (size_class == node_cache::size_class) return break_up_batch<node_cache>();
    return size_class == piece_cache::size_class ? break_up_batch<piece_cache>() : 0;
}
/// At least 64 << size_class bytes; 0 if there is no memory left.
__device__ __noinline__ inline arena_index allocate(unsigned size_class) {
    const arena_index piece = find_memory(size_class);
    note_taken(piece);
    return piece;
}

__device__ __noinline__ inline void release(arena_index piece, unsigned size_class) {
    note_given_back(piece);
    push_free(engine().control->free_lists[size_class][worker_rank() % tuning::free_lists], piece);
}

// ---- Caches. Most tasks that join need a grid node, so each warp has a cache of free ones: all warps would contend
// for the head of a shared list. Likewise for pieces of 256 bytes: descriptors of grids that a task has no room for,
// arguments, scratch memory, and continuations that a node has no room for.

inline constexpr unsigned not_given_back = ~0u;  // in the place of a size class: a piece that belongs to the trace

/// From the warp's cache; 0 if that is empty. For single lanes, but not while others give back to this cache.
template <class Cache>
__device__ inline arena_index take_cached() {
    const int left = fetch_sub_relaxed(Cache::count(), 1);
    between_accesses();
    if (left > 0) {
        const arena_index piece = Cache::places()[left - 1];
        note_taken(piece);
        return piece;
    }
    fetch_add_relaxed(Cache::count(), 1);
    return 0;
}
/// Not while other lanes of this warp take from this cache.
template <class Cache>
__device__ inline void give_back(arena_index piece) {
    const int place = fetch_add_relaxed(Cache::count(), 1);
    between_accesses();
    if (place < static_cast<int>(Cache::capacity)) {
        note_given_back(piece);
        Cache::places()[place] = piece;
    } else {
        fetch_sub_relaxed(Cache::count(), 1);
        release(piece, Cache::size_class);
    }
}

__device__ inline arena_index take_cached_node() { return take_cached<node_cache>(); }
/// From the cache or the arena; 0 if there is no memory.
__device__ inline arena_index take_node() {
    const arena_index node = take_cached_node();
    return node != 0 ? node : allocate(0);
}
__device__ inline void give_back_node(arena_index node) { give_back<node_cache>(node); }

__device__ inline arena_index take_cached_piece() { return take_cached<piece_cache>(); }
/// From the cache or the arena; 0 if there is no memory. If the cache is empty, it is filled before each round from now
/// on.
__device__ __noinline__ inline arena_index take_piece() {
    const arena_index piece = take_cached_piece();
    if (piece != 0) return piece;
    store_relaxed_in_block(this_warp().uses_pieces, 1u);
    return allocate(piece_class);
}
__device__ __noinline__ inline void give_back_piece(arena_index piece) {
    if (this_warp().free_pieces > static_cast<int>(piece_cache::many))
        store_relaxed_in_block(this_warp().uses_pieces, 1u);
    give_back<piece_cache>(piece);
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
    for (unsigned i = lane; i < tuning::nodes_at_first; i += warp_size) node_cache::places()[i] = first + i;
    if (lane < tuning::pieces_at_first)
        piece_cache::places()[lane] = first + tuning::nodes_at_first + (lane << piece_class);
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
    const arena_index node = engine().arena_begin + worker_rank() * units_at_first + tuning::nodes_at_first - 1;
    note_taken(node);
    return node;
}
__device__ inline arena_index take_first_piece() {
    if (engine().arena_fresh == engine().arena_begin) return take_piece();
    --this_warp().free_pieces;
    const arena_index piece = engine().arena_begin + worker_rank() * units_at_first + tuning::nodes_at_first +
                              ((tuning::pieces_at_first - 1) << piece_class);
    note_taken(piece);
    return piece;
}

/// All lanes together: exchanges a batch with the depot, if the cache has fewer than a round may take or is nearly
/// full. If the depot is empty, memory comes from the arena; if there is none for a batch, nothing happens.
template <class Cache>
__device__ inline void exchange_batch() {
    const unsigned lane = lane_rank();
    const int have = Cache::count();
    sync_warp();  // all lanes have read it before one writes it
    arena_index* const cached = Cache::places();
    const bool few = have < static_cast<int>(warp_size);
    run_control& control = *engine().control;
    arena_index batch = 0;
    if (lane == 0) batch = few ? pop_free(Cache::depot()) : allocate(Cache::batch_class);
    batch = __shfl_sync(all_lanes, batch, 0);
    if (few && batch == 0) {
        constexpr unsigned units = 1u << Cache::size_class;
        constexpr unsigned fresh = Cache::at_a_time;
        arena_index first = 0;
        if (lane == 0) first = take_new(fresh * units);
        first = __shfl_sync(all_lanes, first, 0);
        if (first != 0) {
            for (unsigned i = lane; i < fresh; i += warp_size) cached[have + i] = first + i * units;
            if (lane == 0) Cache::count() = have + static_cast<int>(fresh);
        }
    } else if (few) {
        for (unsigned i = lane; i < Cache::batch; i += warp_size)
            cached[have + i] = load_relaxed(at<arena_index>(batch)[1 + i]);
        sync_warp();
        if (lane == 0) {
            push_free(control.free_lists[Cache::batch_class][worker_rank() % tuning::free_lists], batch);
            Cache::count() = have + static_cast<int>(Cache::batch);
        }
    } else if (batch != 0) {
        const unsigned kept = static_cast<unsigned>(have) - Cache::batch;
        for (unsigned i = lane; i < Cache::batch; i += warp_size)
            store_relaxed(at<arena_index>(batch)[1 + i], cached[kept + i]);
        fence();
        sync_warp();
        if (lane == 0) {
            push_free(Cache::depot(), batch);
            Cache::count() = static_cast<int>(kept);
        }
    }
    sync_warp();
}

inline namespace hot {
__device__ __noinline__ inline void exchange_nodes() { exchange_batch<node_cache>(); }
}  // namespace hot

__device__ __noinline__ inline void balance_pieces() {
    const int have = this_warp().free_pieces;
    if (have < static_cast<int>(warp_size) || have > static_cast<int>(piece_cache::many)) exchange_batch<piece_cache>();
}

/// All lanes together, before blocks run: enough cached nodes for each of 32 blocks, and not too many; likewise pieces,
/// if this warp needs any.
__device__ inline void balance_caches() {
    const int nodes = this_warp().free_nodes;
    if (nodes < static_cast<int>(warp_size) || nodes > static_cast<int>(node_cache::many)) exchange_nodes();
    if (this_warp().uses_pieces != 0) balance_pieces();
}

}  // namespace queue
}  // namespace detail
}  // namespace dynpar

#endif
