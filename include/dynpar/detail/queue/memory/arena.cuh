// Queue engine: memory for records, arguments, scratch and spilled tasks, taken and given back by any thread at any time.
#pragma once

#include "state.cuh"

#if defined(__CUDACC__)

namespace dynpar {
namespace detail {
namespace queue {

// The arena is handed out from its begin to its end in pieces of 64 bytes, doubled as often as needed. What comes back goes to a
// list for its size. A list is a stack whose head holds a place and a count of all changes: a head that was read before others
// popped and pushed the same piece has an old count, so its exchange fails.

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
        const arena_index next_piece = load_relaxed(*at<arena_index>(static_cast<arena_index>(seen)));  // perhaps no longer a link:
        const unsigned long long next = ((seen >> 32) + 1) << 32 | next_piece;                  // then the exchange fails
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
/// What was taken only grows: were it taken back by who has found too little left, others might have taken behind it meanwhile, and the
/// next ones would be given what those have. So only what surely fits is added without a comparison. Should thousands do so at once where
/// little is left, they may take the rest of less than `plenty` in vain.
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

inline constexpr unsigned batch_class = 5;  // 2 KiB: a link and a batch of places
static_assert((1 + node_batch) * sizeof(arena_index) <= unit_bytes << batch_class);

/// At least 64 << size_class bytes; 0 if there is no memory left.
__device__ __noinline__ inline arena_index allocate(unsigned size_class) {
    if (size_class >= size_classes) return 0;
    run_control& control = *engine().control;
    if (const arena_index piece = pop_free(control.free_lists[size_class][worker_rank() % sublists]); piece != 0) return piece;
    if (const arena_index piece = take_new(1ull << size_class); piece != 0) return piece;
#pragma unroll 1
    for (unsigned list = 0; list < sublists; ++list) {
        if (const arena_index piece = pop_free(control.free_lists[size_class][list]); piece != 0) return piece;
    }
    if (size_class != 0) return 0;
    // The last place where free records may be: a batch that some warp has put aside.
    const arena_index batch = pop_free(control.node_depot);
    if (batch == 0) return 0;
#pragma unroll 1
    for (unsigned i = 1; i < node_batch; ++i) push_free(control.free_lists[0][i % sublists], load_relaxed(at<arena_index>(batch)[1 + i]));
    const arena_index first = load_relaxed(at<arena_index>(batch)[1]);
    push_free(control.free_lists[batch_class][0], batch);
    return first;
}

__device__ __noinline__ inline void release(arena_index piece, unsigned size_class) {
    push_free(engine().control->free_lists[size_class][worker_rank() % sublists], piece);
}

// ---- Records at hand. Most tasks that join need a record, so every warp keeps some of its own: a list that all share would be
// one address that all hammer.

__device__ inline arena_index* cached_nodes() {
    return engine().free_nodes + static_cast<std::size_t>(worker_rank()) * node_cache_capacity;
}

/// A record's place, 0 if there is none at hand. Lanes may call it on their own.
__device__ inline arena_index take_cached_node() {
    warp_state& warp = this_warp();
    const int left = fetch_sub_relaxed(warp.free_nodes, 1);
    if (left > 0) return cached_nodes()[left - 1];
    fetch_add_relaxed(warp.free_nodes, 1);
    return 0;
}
/// 0 if there is no memory.
__device__ inline arena_index take_node() {
    const arena_index node = take_cached_node();
    return node != 0 ? node : allocate(0);
}

/// Not while other lanes of this warp take records.
__device__ inline void give_back_node(arena_index node) {
    warp_state& warp = this_warp();
    const int place = fetch_add_relaxed(warp.free_nodes, 1);
    if (place < static_cast<int>(node_cache_capacity)) {
        cached_nodes()[place] = node;
    } else {
        fetch_sub_relaxed(warp.free_nodes, 1);
        release(node, 0);
    }
}

// ---- Pieces at hand, of one size: shapes and arguments of grids that do not fit into a task, and continuations that are not simple.

inline constexpr unsigned not_given_back = ~0u;  // in the place of a size class: of the trace

__device__ inline arena_index* cached_pieces() {
    return engine().free_pieces + static_cast<std::size_t>(worker_rank()) * piece_cache_capacity;
}

/// 0 if there is none at hand. Lanes may call it on their own, but not while others give back.
__device__ inline arena_index take_cached_piece() {
    warp_state& warp = this_warp();
    const int left = fetch_sub_relaxed(warp.free_pieces, 1);
    if (left > 0) return cached_pieces()[left - 1];
    fetch_add_relaxed(warp.free_pieces, 1);
    return 0;
}
/// 0 if there is no memory.
__device__ __noinline__ inline arena_index take_piece() {
    const arena_index piece = take_cached_piece();
    return piece != 0 ? piece : allocate(piece_class);
}

__device__ __noinline__ inline void give_back_piece(arena_index piece) {
    warp_state& warp = this_warp();
    const int place = fetch_add_relaxed(warp.free_pieces, 1);
    if (place < static_cast<int>(piece_cache_capacity)) {
        cached_pieces()[place] = piece;
    } else {
        fetch_sub_relaxed(warp.free_pieces, 1);
        release(piece, piece_class);
    }
}

/// The same for a piece that is not worth the time now: all that a grid continues with may be waiting.
__device__ inline void give_back_later(arena_index piece) {
    const arena_index before = exchange_relaxed(this_warp().spent, piece);
    if (before != 0) give_back_piece(before);
}
__device__ inline void give_back_spent() {
    const arena_index piece = this_warp().spent;
    this_warp().spent = 0;
    if (piece != 0) give_back_piece(piece);
}

/// All lanes together, of every warp, when a run begins: what is at hand from the first, so that not all ask for it at once.
__device__ inline void begin_with_memory() {
    if (engine().arena_fresh == engine().arena_begin) return;
    const unsigned lane = lane_rank();
    const arena_index first = engine().arena_begin + worker_rank() * units_at_first;
    for (unsigned i = lane; i < nodes_at_first; i += warp_size) cached_nodes()[i] = first + i;
    if (lane < pieces_at_first) cached_pieces()[lane] = first + nodes_at_first + (lane << piece_class);
    if (lane == 0) {
        this_warp().free_nodes = nodes_at_first;
        this_warp().free_pieces = pieces_at_first;
    }
}

/// One lane, when a run has just begun with memory: takes what it would take first, without a look at where it has put it.
__device__ inline arena_index take_first_node() {
    if (engine().arena_fresh == engine().arena_begin) return take_node();
    --this_warp().free_nodes;
    return engine().arena_begin + worker_rank() * units_at_first + nodes_at_first - 1;
}
__device__ inline arena_index take_first_piece() {
    if (engine().arena_fresh == engine().arena_begin) return take_piece();
    --this_warp().free_pieces;
    return engine().arena_begin + worker_rank() * units_at_first + nodes_at_first + ((pieces_at_first - 1) << piece_class);
}

inline namespace hot {
/// Fewer than a round may take, or nearly more than there is room for.
__device__ __noinline__ inline void exchange_with_depot() {
    warp_state& warp = this_warp();
    const unsigned lane = lane_rank();
    const int have = warp.free_nodes;
    __syncwarp();  // all have read it before one writes it
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
        for (unsigned i = lane; i < node_batch; i += warp_size) cached[have + i] = load_relaxed(at<arena_index>(batch)[1 + i]);
        __syncwarp();
        if (lane == 0) {
            push_free(control.free_lists[batch_class][worker_rank() % sublists], batch);
            warp.free_nodes = have + node_batch;
        }
    } else if (batch != 0) {
        const unsigned kept = static_cast<unsigned>(have) - node_batch;
        for (unsigned i = lane; i < node_batch; i += warp_size) store_relaxed(at<arena_index>(batch)[1 + i], cached[kept + i]);
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

/// All lanes together, before blocks run: enough records that each of 32 blocks finds one at hand, and not too many.
__device__ inline void balance_node_cache() {
    const int have = this_warp().free_nodes;
    if (have < static_cast<int>(warp_size) || have > static_cast<int>(node_cache_capacity - 8 * warp_size)) exchange_with_depot();
}

}  // namespace queue
}  // namespace detail
}  // namespace dynpar

#endif
