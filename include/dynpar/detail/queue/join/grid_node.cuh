// Queue engine: the node of a grid that something waits for, its continuations and memory, and what happens when it is
// complete. Owns grid nodes, and warp_state's small_nodes and `kept`; of a counter it writes the value that a new node
// or a continuation begins with.
#pragma once

#include <cstddef>

#include "../queues/ready_continuations.cuh"
#include "visible_tasks.cuh"

namespace dynpar {
namespace detail {
namespace queue {

/// A grid that has a continuation, memory, several blocks, or a block that waits. Other grids have no node: such a grid
/// is complete when it has returned and what it launched is complete, so its children count on the node that it counts
/// on itself.
struct alignas(64) grid_node {
    int counter;               // blocks not yet returned, and grids that count on this node
    arena_index parent;        // the node that this grid counts on; 0: the run's first grid
    kernel_key key;            // the first continuation if there is room for it, as for most; null: none
    lane_arguments arguments;  // the first continuation's
    std::uint32_t depth_and_flags;
    arena_index memory;         // pieces of the arena that belong to the grid, chained
    arena_index continuations;  // further ones, a grid_descriptor each, in the order in which they run
    arena_index added;          // those that the grid, or the continuation that runs now, has added; newest first
    std::uint32_t scratch[4];   // the first 16 bytes of scratch memory; of a grid in a stream: which stream

    static constexpr std::uint32_t scratch_taken = 1u << 24;
    static constexpr std::uint32_t in_stream = 1u << 25;
    static constexpr std::uint32_t continuing = 1u << 26;  // the first of `continuations` runs now
    // Of the inline continuation: the binary logarithm of its threads.
    static constexpr unsigned threads_shift = 27;
    static constexpr std::uint32_t threads_mask = 15u << threads_shift;
};
static_assert(sizeof(grid_node) == unit_bytes, "a node is one unit of the arena");
static_assert(offsetof(grid_node, counter) == 0, "see counter_of");

/// Comes before scratch memory. Larger memory begins with a cache line of its own.
struct alignas(16) memory_header {
    memory_link link;
};
DYNPAR_FUNCTION constexpr unsigned header_bytes(unsigned long long bytes) {
    return bytes + sizeof(memory_header) <= unit_bytes << piece_class ? sizeof(memory_header) : unit_bytes;
}

#if DYNPAR_ON_DEVICE

__device__ void advance_stream(arena_index stream);  // stream.cuh

/// The stream of a grid that is in one, in a node that no other thread knows.
__device__ inline void put_stream(arena_index grid, arena_index stream) { at<grid_node>(grid)->scratch[0] = stream; }

/// Fills in a node that no other thread knows: `key` and what stands before it in one store, likewise the rest.
__device__ inline void put_node(arena_index place, int counter, arena_index parent, std::uint32_t depth_and_flags,
                                arena_index memory) {
    uint4* words = at<uint4>(place);
    words[0] = make_uint4(static_cast<unsigned>(counter), parent, 0, 0);
    words[2] = make_uint4(depth_and_flags, memory, 0, 0);
}

/// A node for a grid with one block that runs or is about to; 0 if there is no memory.
__device__ inline arena_index make_node(arena_index parent, std::uint32_t depth) {
    const arena_index place = take_node();
    if (place != 0) put_node(place, 1, parent, depth, 0);
    return place;
}

/// Of a block wider than a lane: creates its node once, for the first of its threads that needs it. 0 if there is no
/// memory.
__device__ inline arena_index ensure_shared_node(arena_index& own, arena_index grid, std::uint32_t depth) {
    const arena_index there = load_relaxed(own);
    if (there != 0) return there;
    // Mostly all lanes of a warp come at once. If each made a node, all but one would give theirs back at once.
    return once_for_lanes_here<arena_index>(&own, [&]() -> arena_index {
        const arena_index mine = make_node(grid, depth);
        if (mine == 0) return 0;
        fence_in_block();
        const arena_index found = compare_exchange_relaxed(own, 0u, mine);
        if (found == 0) return mine;
        release(mine, 0);
        return found;
    });
}

/// Of the only block of a grid with a node, where that node will do: takes it as the block's own, unless another of its
/// threads has taken or made one. Returns the block's own.
__device__ inline arena_index use_own_grid(arena_index& own, arena_index grid) {
    const arena_index there = load_relaxed(own);
    if (there != 0) return there;
    between_accesses();
    const arena_index found = compare_exchange_relaxed(own, 0u, grid);
    return found != 0 ? found : grid;
}

// Small grids: 2 to 32 blocks of one thread are one task, which the lanes of a warp run in one round. Such a grid has
// no node at first: like any grid without one it counts once on its parent's node. Its return is subtracted by the lane
// of its first block, and what all its blocks have launched is added before. The first block that needs the grid's
// node, to continue the grid or for its memory, makes it, and says so in warp_state::small_nodes; so does the first
// block that returns while others of the round wait. Since all blocks are in this round, nothing that they have
// launched can be seen by others before then, and it is redirected to the node.

/// A block of a small grid: the grid's node, which it makes of what `take` takes if need be; 0 if there is no memory.
template <class Take>
__device__ inline arena_index small_node(arena_index parent, small_grid small, std::uint32_t depth, Take take) {
    arena_index& place = this_warp().small_nodes[small.first_lane()];
    const arena_index there = load_relaxed(place);
    if (there != 0) return there;
    const arena_index mine = take();
    if (mine == 0) return 0;
    put_node(mine, static_cast<int>(small.blocks()), parent, depth, 0);
    fence_in_block();
    const arena_index found = compare_exchange_relaxed(place, 0u, mine);
    if (found == 0) return mine;
    release(mine, 0);
    return found;
}
/// From within a block.
__device__ __noinline__ inline arena_index small_node(arena_index parent, small_grid small, std::uint32_t depth) {
    return small_node(parent, small, depth, [] { return take_node(); });
}
/// When blocks have returned: then others may be giving nodes back to the cache.
__device__ __noinline__ inline arena_index small_node_after_return(arena_index parent, small_grid small,
                                                                   std::uint32_t depth) {
    return small_node(parent, small, depth, [] { return allocate(0); });
}

/// A piece of the arena that is given back when the grid is complete; 0 if there is none. It begins with a memory_link.
__device__ __noinline__ inline arena_index allocate_for(arena_index grid, unsigned long long bytes) {
    const unsigned fits = size_class_of(bytes);
    const unsigned size_class = fits == node_cache::size_class ? fits : max(fits, piece_class);
    const arena_index piece = size_class == node_cache::size_class ? take_node()
                              : size_class == piece_class          ? take_piece()
                                                                   : allocate(size_class);
    if (piece == 0) return 0;
    memory_link* link = at<memory_link>(piece);
    link->size_class = size_class;
    link->next = exchange_relaxed(at<grid_node>(grid)->memory, piece);
    return piece;
}

/// Scratch memory; null if there is none.
__device__ inline void* allocate_scratch(arena_index grid, unsigned long long bytes) {
    const unsigned header = header_bytes(bytes);
    const arena_index piece = allocate_for(grid, bytes + header);
    return piece != 0 ? at<unsigned char>(piece) + header : nullptr;
}

__device__ __noinline__ inline void* scratch_of(arena_index node, unsigned long long bytes) {
    grid_node* of = at<grid_node>(node);
    if (bytes <= sizeof(of->scratch) &&
        (fetch_or_relaxed(of->depth_and_flags, grid_node::scratch_taken) & grid_node::scratch_taken) == 0) {
        return of->scratch;
    }
    return allocate_scratch(node, bytes);
}

/// A continuation that a node has room for: one block of one thread or of a power of two, and few arguments.
struct inline_continuation {
    kernel_key key;  // null: a node has no room for it
    std::uint32_t threads_log2;
    lane_arguments arguments;
};

/// For a node that has no continuation yet, and to which no other thread adds one.
__device__ inline void put_continuation(grid_node* node, const inline_continuation& inlined) {
    node->arguments = inlined.arguments;
    node->key = inlined.key;
    if (inlined.threads_log2 != 0)
        fetch_or_relaxed(node->depth_and_flags, inlined.threads_log2 << grid_node::threads_shift);
}

/// The same if nothing has been added yet. `lock`: of all threads that may add to this grid. False if something has.
__device__ __noinline__ inline bool add_inline_continuation(arena_index grid, const inline_continuation& inlined,
                                                            unsigned& lock) {
    grid_node* node = at<grid_node>(grid);
    bool is_first = false;
    with_block_lock(lock, [&] {
        const kernel_key key = load_relaxed(node->key);
        is_first = load_relaxed(node->added) == 0 && key == nullptr;
        if (is_first) put_continuation(node, inlined);
    });
    return is_first;
}

/// Adds a continuation that runs after all that this grid has added before, and before those that it already had when
/// it began. Any thread.
__device__ inline void add_continuation(arena_index grid, arena_index place) {
    at<grid_descriptor>(place)->link.next = exchange_relaxed(at<grid_node>(grid)->added, place);
}

/// A copy of a node, without its arguments and scratch memory.
struct node_view {
    arena_index parent;
    kernel_key key;
    std::uint32_t depth_and_flags;
    arena_index memory;
    arena_index continuations;
    arena_index added;

    __device__ bool has_list() const { return (continuations | added) != 0; }
    /// Of the inline continuation.
    __device__ unsigned threads() const {
        return 1u << ((depth_and_flags & grid_node::threads_mask) >> grid_node::threads_shift);
    }
    __device__ bool continues_on_lane() const { return (depth_and_flags & grid_node::threads_mask) == 0; }
};
/// Reads a node as another multiprocessor may have left it, all at once: loads that wait for each other cost more than
/// anything else here.
__device__ inline node_view load_node(arena_index grid) {
    note_used(grid);
    const uint4 head = load_fresh(at<uint4>(grid));
    const uint4 tail = load_fresh(at<uint4>(grid) + 2);
    const auto key = reinterpret_cast<kernel_key>(static_cast<unsigned long long>(head.w) << 32 | head.z);
    return {head.y, key, tail.x, tail.y, tail.z, tail.w};
}
__device__ inline uint4 arguments_of(arena_index grid) { return load_fresh(at<uint4>(grid) + 1); }

/// A node's inline continuation as a task: here of one thread, below of several.
__device__ inline lane_task inline_lane_task(arena_index grid, const node_view& view, uint4 arguments) {
    lane_task task;
    task.key = view.key;
    task.grid = grid;
    task.info = (view.depth_and_flags & info::depth_mask) | info::owner;
    memcpy(&task.arguments, &arguments, sizeof(arguments));
    return task;
}
__device__ inline wide_task inline_wide_task(arena_index grid, const node_view& view, uint4 arguments) {
    wide_task task{};
    task.key = view.key;
    task.grid = grid;
    task.info = (view.depth_and_flags & info::depth_mask) | info::owner |
                (view.threads() <= warp_size ? info::on_warp : info::on_block);
    task.size = block_size(view.threads());
    task.last = 1;
    memcpy(&task.arguments, &arguments, sizeof(arguments));
    return task;
}

__device__ inline void release_piece(arena_index piece, unsigned size_class) {
    if (size_class == piece_class) {
        give_back_piece(piece);
    } else if (size_class == node_cache::size_class) {
        give_back_node(piece);
    } else if (size_class != not_given_back) {
        release(piece, size_class);
    }
}

inline namespace hot {
/// Begins the inline continuation of a grid. The view is passed in pieces: as a whole it would be passed on the stack.
__device__ __noinline__ inline void begin_inline_continuation(arena_index grid, arena_index parent, kernel_key key,
                                                              std::uint32_t depth_and_flags) {
    const node_view view{parent, key, depth_and_flags, 0, 0, 0};
    if (view.continues_on_lane() && put_ready(grid)) return;
    const uint4 arguments = arguments_of(grid);
    at<uint4>(grid)[0] = make_uint4(1, parent, 0, 0);
    bool pushed = false;
    if (view.continues_on_lane()) {
        const lane_task task = inline_lane_task(grid, view, arguments);
        pushed = push(task) || push_spilled(task);
    } else {
        store_relaxed(at<grid_node>(grid)->depth_and_flags, depth_and_flags & ~grid_node::threads_mask);
        pushed = push_here(inline_wide_task(grid, view, arguments));
    }
    if (!pushed) drop_task();
}
}  // namespace hot

/// The task of a continuation that is ready, when it begins.
__device__ inline lane_task begin_ready(arena_index grid) {
    const node_view view = load_node(grid);
    const uint4 arguments = arguments_of(grid);
    at<uint4>(grid)[0] = make_uint4(1, view.parent, 0, 0);
    return inline_lane_task(grid, view, arguments);
}
/// All lanes together, on top of a wait: moves all continuations that are ready to the deque. Those that may run here,
/// to the owner end; the others to the steal end. At the owner end they would lie above what may run.
__device__ __noinline__ inline void move_ready_to_deque() {
    using deque = own_deque<lane_task>;
    warp_state& warp = this_warp();
    const std::uint32_t count = warp.ready;
    for (std::uint32_t first = 0; first < count; first += warp_size) {
        const bool there = first + lane_rank() < count;
        lane_task task{};
        if (there) task = begin_ready(ready_place(first + lane_rank()));
        const bool may_run = there && is_deeper(task, warp.depth);
        const unsigned others = __ballot_sync(all_lanes, there && !may_run);
        const std::uint32_t steal_end = deque::steal_end();
        const std::uint32_t room = deque::capacity - (deque::owner_end() - steal_end);
        sync_warp();  // all have read the ends before one changes them
        const std::uint32_t before_me = static_cast<unsigned>(__popc(others & ((1u << lane_rank()) - 1)));
        if (there && !may_run && before_me < room) {
            copy_task(slot<lane_task>(steal_end - 1 - before_me), task);
        } else if (there && !may_run && !push_spilled(task)) {
            drop_task();
        }
        sync_warp();
        if (lane_rank() == 0) deque::steal_end() -= min(room, static_cast<unsigned>(__popc(others)));
        sync_warp();
        if (may_run && !push(task) && !push_spilled(task)) drop_task();
        sync_warp();
    }
    sync_warp();
    if (lane_rank() == 0) drop_ready(count);
    sync_warp();
}

/// Of a grid with a list of continuations, one of which may just have run: puts the list in order and begins the next
/// one; false if none is left. Gives back the one that has run.
__device__ __noinline__ inline bool continue_in_list(arena_index grid, node_view view) {
    grid_node* const node = at<grid_node>(grid);
    const arena_index ran = (view.depth_and_flags & grid_node::continuing) != 0 ? view.continuations : 0;
    arena_index continuations = view.continuations;
    unsigned class_of_ran = not_given_back;
    if (ran != 0) {
        const memory_link& link = at<grid_descriptor>(ran)->link;
        continuations = load_relaxed(link.next);
        class_of_ran = load_relaxed(link.size_class);
    }
    for (arena_index added = view.added; added != 0;) {  // the newest first
        arena_index& link = at<grid_descriptor>(added)->link.next;
        const arena_index before = load_relaxed(link);
        store_relaxed(link, continuations);
        continuations = added;
        added = before;
    }
    view.depth_and_flags &= ~grid_node::continuing;
    const bool from_list = view.key == nullptr && continuations != 0;
    store_relaxed(node->continuations, continuations);
    store_relaxed(node->added, 0u);
    store_relaxed(node->depth_and_flags, view.depth_and_flags | (from_list ? grid_node::continuing : 0u));
    if (from_list) {
        wide_task task;
        copy_fresh_task(task, at<grid_descriptor>(continuations)->task);
        store_relaxed(node->counter, static_cast<int>(task.last));
        if (!push_wide(task)) drop_task();
    } else if (view.key != nullptr) {
        begin_inline_continuation(grid, view.parent, view.key, view.depth_and_flags);
    }
    if (class_of_ran == piece_class) {
        give_back_later(ran);
    } else if (ran != 0) {
        release_piece(ran, class_of_ran);
    }
    return from_list || view.key != nullptr;
}

/// Begins the next continuation of a grid all of whose work is done; false if none is left.
__device__ inline bool begin_continuation(arena_index grid, const node_view& view) {
    if (view.has_list()) return continue_in_list(grid, view);
    if (view.key == nullptr) return false;
    begin_inline_continuation(grid, view.parent, view.key, view.depth_and_flags);
    return true;
}

__device__ __noinline__ inline void release_memory(arena_index piece) {
    while (piece != 0) {
        const memory_link* link = at<memory_link>(piece);
        const arena_index next = load_relaxed(link->next);
        const unsigned size_class = load_relaxed(link->size_class);
        release_piece(piece, size_class);
        piece = next;
    }
}

/// Gives back what a complete grid had.
__device__ inline void release_node(arena_index grid, const node_view& view) {
    if (view.memory != 0) release_memory(view.memory);
    const bool streamed = (view.depth_and_flags & grid_node::in_stream) != 0;
    const arena_index stream = streamed ? load_relaxed(at<grid_node>(grid)->scratch[0]) : 0;
    give_back_node(grid);
    if (streamed) advance_stream(stream);
}

/// The run's first grid is complete. Others see what the run has written when the persistent grid has ended. This
/// worker block learns of the end at once.
__device__ inline void end_run() {
    store_relaxed(engine().control->done, 1u);
    compare_exchange_relaxed(engine().control->reserve, static_cast<unsigned>(reserve_waits), reserve_ends);
    store_relaxed_in_block(this_block().gang.over, static_cast<unsigned>(run_is_complete));
}

/// Of a grid all of whose work is done, except for what add_to_counter() does itself: begins its next continuation, or
/// completes it, and so on upwards. The view in pieces, as above.
__device__ __noinline__ inline void continue_or_complete(arena_index grid, arena_index parent, kernel_key key,
                                                         std::uint32_t depth_and_flags, arena_index memory,
                                                         arena_index continuations, arena_index added) {
    node_view view{parent, key, depth_and_flags, memory, continuations, added};
    while (!begin_continuation(grid, view)) {
        if (view.parent == 0) return end_run();                 // its memory is not needed any more
        const int before = fetch_add_counter(view.parent, -1);  // takes long; release_node() runs meanwhile
        release_node(grid, view);
        if (before != 1) return;
        grid = view.parent;
        view = load_node(grid);
    }
}

/// Gives back what a complete grid had, out of line.
__device__ __noinline__ inline void release_complete(arena_index grid, std::uint32_t depth_and_flags,
                                                     arena_index memory) {
    release_node(grid, node_view{0, nullptr, depth_and_flags, memory, 0, 0});
}

/// After a grid is complete that was the last of its parent's work, and has one piece of memory besides its node: that
/// of its descriptor, as a rule. Continues there; others may wait for that, so the piece is given back afterwards.
__device__ __noinline__ inline void continue_and_release(arena_index grid, arena_index piece, arena_index parent,
                                                         arena_index above, kernel_key key,
                                                         std::uint32_t depth_and_flags_of_parent,
                                                         arena_index memory_of_parent, arena_index continuations,
                                                         arena_index added) {
    continue_or_complete(parent, above, key, depth_and_flags_of_parent, memory_of_parent, continuations, added);
    give_back_piece(piece);
    give_back_node(grid);
}
/// The same of a grid with more memory, which what continues may need; and of one in a stream, which goes on before.
__device__ __noinline__ inline void release_and_continue(arena_index grid, std::uint32_t depth_and_flags,
                                                         arena_index memory, arena_index parent) {
    release_complete(grid, depth_and_flags, memory);
    const node_view view = load_node(parent);
    continue_or_complete(parent, view.parent, view.key, view.depth_and_flags, view.memory, view.continuations,
                         view.added);
}

inline namespace hot {
/// Completes a grid. If it is the last of the run, all warps wait for this, and its memory is not needed any more.
__device__ __noinline__ inline void complete(arena_index grid, arena_index parent, std::uint32_t depth_and_flags,
                                             arena_index memory) {
    if (parent == 0) return end_run();
    if (fetch_add_counter(parent, -1) != 1) return release_complete(grid, depth_and_flags, memory);
    memory_link pieces{0, not_given_back};
    if (memory != 0) {
        const memory_link& link = *at<memory_link>(memory);
        pieces = {load_relaxed(link.next), load_relaxed(link.size_class)};
    }
    const node_view above = load_node(parent);
    if (above.parent == 0 && above.key == nullptr && !above.has_list()) return end_run();
    const bool has_piece_alone = memory != 0 && pieces.next == 0 && pieces.size_class == piece_class;
    if ((memory != 0 && !has_piece_alone) || (depth_and_flags & grid_node::in_stream) != 0)
        return release_and_continue(grid, depth_and_flags, memory, parent);
    if (memory != 0)
        return continue_and_release(grid, memory, parent, above.parent, above.key, above.depth_and_flags, above.memory,
                                    above.continuations, above.added);
    give_back_node(grid);
    continue_or_complete(parent, above.parent, above.key, above.depth_and_flags, above.memory, above.continuations,
                         above.added);
}
}  // namespace hot

/// As continue_or_complete(), for a grid with a list. Mostly one continuation has been added, and those before it have
/// run. If it is to be published, thousands of warps wait for it: so everything is read at once, and there is no call.
__device__ __noinline__ inline void continue_from_list(arena_index grid, arena_index parent, kernel_key key,
                                                       std::uint32_t depth_and_flags, arena_index memory,
                                                       arena_index continuations, arena_index added) {
    const bool has_run = (depth_and_flags & grid_node::continuing) != 0;
    if (key == nullptr && added != 0 && has_run == (continuations != 0)) {
        const grid_descriptor& next = *at<grid_descriptor>(added);
        open_grids_view open_grids;
        const arena_index after = load_relaxed(next.link.next);
        const std::uint32_t width = load_relaxed(next.task.info) & info::width_mask;
        const std::uint32_t blocks = load_relaxed(next.task.last);
        const bool has_descriptor = load_relaxed(next.task.descriptor) == added;
        memory_link ran{0, not_given_back};
        if (has_run) {
            const memory_link& of_ran = at<grid_descriptor>(continuations)->link;
            ran = {load_relaxed(of_ran.next), load_relaxed(of_ran.size_class)};
        }
        if (after == 0 && ran.next == 0 && has_descriptor && is_worth_publishing(width, blocks)) {
            at<uint4>(grid)[0] = make_uint4(blocks, parent, 0, 0);
            at<uint4>(grid)[2] = make_uint4(depth_and_flags | grid_node::continuing, memory, added, 0);
            const std::uint32_t kept = width == info::on_warp ? this_warp().keeps_first : 0;
            if (kept != 0) end_search();  // before a chunk is made large enough for this warp as well
            if (publish(added, width, blocks - kept, open_grids)) {
                if (kept != 0) this_warp().kept = added;
                if (ran.size_class == piece_class) {
                    give_back_later(continuations);
                } else if (has_run) {
                    release_piece(continuations, ran.size_class);
                }
                return;
            }
            store_relaxed(at<grid_node>(grid)->depth_and_flags, depth_and_flags);
            store_relaxed(at<grid_node>(grid)->continuations, continuations);
            store_relaxed(at<grid_node>(grid)->added, added);
        }
    }
    continue_or_complete(grid, parent, key, depth_and_flags, memory, continuations, added);
}

/// A node whose counter has become zero: its continuation begins or the grid is complete, and so on upwards. The view
/// in pieces, as above.
__device__ __noinline__ inline void continue_at_zero(arena_index grid, arena_index parent, kernel_key key,
                                                     std::uint32_t depth_and_flags, arena_index memory,
                                                     arena_index continuations, arena_index added) {
    if (key != nullptr && (continuations | added) == 0)
        return begin_inline_continuation(grid, parent, key, depth_and_flags);
    if (added != 0) return continue_from_list(grid, parent, key, depth_and_flags, memory, continuations, added);
    if (key == nullptr && continuations == 0) return complete(grid, parent, depth_and_flags, memory);
    continue_or_complete(grid, parent, key, depth_and_flags, memory, continuations, added);
}
__device__ inline void continue_at_zero(arena_index grid, const node_view& view) {
    continue_at_zero(grid, view.parent, view.key, view.depth_and_flags, view.memory, view.continuations, view.added);
}
/// The same for lanes, out of line.
__device__ __noinline__ inline void continue_at_zero(arena_index grid) { continue_at_zero(grid, load_node(grid)); }

inline namespace hot {
/// Adds to a node's counter. True if it becomes zero, and more is to be done than to note that the node's continuation
/// is ready. Nearly every join of lanes passes through here, and the addition waits for everything that the thread has
/// written. So there is no call here, and few values: registers that a function has to keep are written to the stack
/// first, which costs as much as any other write.
__device__ __noinline__ inline bool add_and_note_ready(arena_index grid, int change) {
    if (fetch_add_counter(grid, change) + change != 0) return false;
    const node_view view = load_node(grid);
    return view.key == nullptr || view.has_list() || !view.continues_on_lane() || !put_ready(grid);
}

/// Of a node without other work, by a thread that has read it: begins the continuation that lies in it, if that is one
/// of several threads and there is room for a task.
__device__ inline bool begin_wide_continuation(arena_index grid, const node_view& view, uint4 arguments) {
    if (view.key == nullptr || view.has_list() || view.continues_on_lane()) return false;
    wide_task* const place = view.threads() <= warp_size ? reserve<wide_task>() : reserve_kept_block();
    if (place == nullptr) return false;
    at<uint4>(grid)[0] = make_uint4(1, view.parent, 0, 0);
    store_relaxed(at<grid_node>(grid)->depth_and_flags, view.depth_and_flags & ~grid_node::threads_mask);
    copy_task(*place, inline_wide_task(grid, view, arguments));
    return true;
}

/// As one lane for a block of several threads: a node's counter has become zero. The continuation, which is mostly one
/// of several threads, begins or the grid is complete, and so on upwards. Everything is read at once, and there is no
/// call in the most frequent case.
__device__ __noinline__ inline void continue_as_wide(arena_index grid) {
    const node_view view = load_node(grid);
    const uint4 arguments = arguments_of(grid);
    if (!begin_wide_continuation(grid, view, arguments)) continue_at_zero(grid, view);
}

/// Likewise, of a grid whose only block has returned, and has launched nothing that others know of. Inlined only where
/// most joins of warps pass: elsewhere it would drive other code out of the instruction cache.
__device__ inline void finish_as_wide_inlined(arena_index grid) {
    const node_view view = load_node(grid);
    const uint4 arguments = arguments_of(grid);
    if (begin_wide_continuation(grid, view, arguments)) return;
    if (view.key != nullptr || view.has_list() || view.parent == 0) return continue_at_zero(grid, view);
    const int before = fetch_add_counter(view.parent, -1);  // takes long; release_node() runs meanwhile
    release_node(grid, view);
    if (before == 1) continue_as_wide(view.parent);
}
__device__ __noinline__ inline void finish_as_wide(arena_index grid) { finish_as_wide_inlined(grid); }
}  // namespace hot

/// Adds to a node's counter, as one lane for a block of several threads.
__device__ inline void add_to_counter_as_wide(arena_index grid, int change) {
    if (fetch_add_counter(grid, change) + change == 0) continue_as_wide(grid);
}

/// Adds to a node's counter; if that becomes zero, the continuation begins or the grid is complete, and so on upwards.
__device__ inline void add_to_counter(arena_index grid, int change) {
    if (add_and_note_ready(grid, change)) continue_at_zero(grid);
}

#endif

}  // namespace queue
}  // namespace detail
}  // namespace dynpar
