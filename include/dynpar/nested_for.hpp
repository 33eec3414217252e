// Loops in a kernel's threads whose lengths differ: the threads of a warp or of a block share the iterations, and long
// loops go to child grids.
//
//     struct visit_neighbour {
//         const unsigned* neighbours;
//         DYNPAR_FUNCTION void operator()(unsigned i) const { visit(neighbours[i]); }
//     };
//     dynpar::nested_for(block, degree, visit_neighbour{graph.neighbours + begin});
//
// In place of `for (unsigned i = 0; i < degree; ++i)` in each thread, where a warp takes as long as the longest of 32
// loops, and in place of a child grid for each thread.
//
// Both functions are collective, as those of collectives.hpp: every thread of the warp or of the block makes the call,
// those with nothing to do with a count of 0, and none of them has returned.
#pragma once

#include <new>
#include <type_traits>
#include <utility>

#include "collectives.hpp"
#include "detail/value_calls.hpp"
#include "kernel.hpp"
#include "operators.hpp"
#include "platform.hpp"
#include "shape.hpp"
#include "status.hpp"

namespace dynpar {

/// Into how many child grids `nested_for` puts long loops.
enum class nested_grids : unsigned char {
    automatic,   ///< what suits the engine: `one_each` where a launch costs little, else `one_for_all`
    one_each,    ///< a grid for each loop
    one_for_all  ///< a grid for all long loops of the warp or block that makes the call, with a list of them in scratch
};

/// Which part of the work `nested_for` leaves to whom. The defaults suit the engine; none of them changes what a
/// program computes.
struct nested_for_options {
    /// A warp all of whose loops have at most so many iterations does not share them.
    unsigned own = 4;
    /// A loop of more iterations goes to a child grid; `all` keeps every loop in place. 0 is the engine's choice. On
    /// the queue engine: for each thread of the warp or block that shares 32, and 8 in a grid of less than 1024 blocks,
    /// which by itself would not fill a GPU; 64 at least. On the cdp engine, where a launch takes microseconds: 64 for
    /// each thread, and 1024 at least. On the host engine `all`.
    unsigned in_place = 0;
    /// Iterations of a block of a child grid. 0 is the engine's choice: 1024 on the queue engine, and 256 in a grid of
    /// less than 1024 blocks; 4096 on the cdp engine, 1024 on the host engine.
    unsigned piece = 0;
    /// The most threads of a child grid's block, which is moldable.
    unsigned threads = 256;
    /// How many child grids there are.
    nested_grids grids = nested_grids::automatic;

    /// For `in_place`: no loop goes to a child grid.
    static constexpr unsigned all = ~0u;
};

/// Shared memory that sharing by a whole block takes, in bytes for each thread, where loops have a body of this type:
/// `shape(blocks, at_most(256), bytes_per_thread(nested_for_bytes<Body>))`. None is needed by blocks of up to 32
/// threads.
template <class Body>
inline constexpr unsigned nested_for_bytes = static_cast<unsigned>(sizeof(Body)) + 12;

namespace detail {

/// Whether a launch of that block takes microseconds, so that there had better be few: a block type says so itself.
template <class Block, class = void>
inline constexpr bool has_costly_launches = false;
template <class Block>
inline constexpr bool has_costly_launches<Block, std::enable_if_t<Block::launches_are_costly>> = true;

/// Whether child grids had better be launched when the block's own iterations are done. Few blocks of a child begin
/// before the block that launches it returns or waits, unless its runtime costs microseconds: then they take as long to
/// begin.
template <class Block>
inline constexpr bool launches_last = !has_costly_launches<Block>;

/// What iterations are counted with.
template <class Count>
using nested_index = std::conditional_t<sizeof(Count) <= sizeof(unsigned), unsigned, unsigned long long>;

/// There are no iterations where the count is negative.
template <class Count>
DYNPAR_FUNCTION constexpr nested_index<Count> iterations_of(Count count) {
    if constexpr (std::is_signed_v<Count>) {
        if (count < 0) return 0;
    }
    return static_cast<nested_index<Count>>(count);
}

/// Whether a loop can have this body; if not, a sentence of the compiler, and nothing of the loop is compiled.
template <class Block, class Count, class Body>
DYNPAR_FUNCTION constexpr bool check_nested_body() {
    constexpr bool is_count = std::is_integral_v<Count> && !std::is_same_v<Count, bool>;
    constexpr bool is_copyable = std::is_trivially_copyable_v<Body>;
    constexpr bool is_aligned = alignof(Body) <= 16;
    constexpr bool is_body = std::is_invocable_v<const Body&, Count> || std::is_invocable_v<const Body&, Block&, Count>;
    static_assert(is_count, "dynpar: the count of a nested loop is an integer");
    static_assert(is_copyable,
                  "dynpar: the body of a nested loop must be a trivially copyable function object: other threads get a "
                  "copy of its bytes");
    static_assert(is_aligned, "dynpar: the body of a nested loop may be aligned to 16 bytes at most");
    static_assert(is_body || !is_count,
                  "dynpar: the body of a nested loop is called as body(i) or as body(block, i), and its call operator "
                  "must be const");
    return is_count && is_copyable && is_aligned && is_body;
}

/// One iteration.
template <class Count, class Block, class Body>
DYNPAR_FUNCTION decltype(auto) run_iteration(Block& block, const Body& body, nested_index<Count> i) {
    if constexpr (std::is_invocable_v<const Body&, Count>) {
        return call_function(body, static_cast<Count>(i));
    } else {
        return call_function(body, block, static_cast<Count>(i));
    }
}

/// Whether what launches is a function of its own, since it takes many registers and much code: on the queue engine,
/// and not on the cdp engine, whose kernels must not call what has more registers than they have. It gets the block by
/// value: a block that is known elsewhere would lie in memory.
template <class Block>
inline constexpr bool launches_apart = std::is_copy_constructible_v<Block>&& std::is_copy_assignable_v<Block>;
template <class Block>
struct block_and_launch {
    Block block;
    status done;
};

template <class Count, class Block, class Body>
DYNPAR_FUNCTION DYNPAR_NOINLINE block_and_launch<Block> run_body_apart(Block block, Body body, nested_index<Count> i) {
    call_function(body, block, static_cast<Count>(i));
    return {block, status::success};
}
/// One iteration of a loop that has no value. A body that takes the block launches, as a rule.
template <class Count, class Block, class Body>
DYNPAR_FUNCTION DYNPAR_FORCEINLINE void run_body(Block& block, const Body& body, nested_index<Count> i) {
    if constexpr (launches_apart<Block> && !std::is_invocable_v<const Body&, Count>) {
        block = run_body_apart<Count>(block, body, i).block;
    } else {
        run_iteration<Count>(block, body, i);
    }
}

/// Every `step`th number from `first` on, below `count`, which may be the greatest that there is.
template <class Index, class Function>
DYNPAR_FUNCTION void for_every(unsigned step, Index first, Index count, const Function& function) {
    for (Index i = first; i < count; i += step) {
        function(i);
        if (count - i <= step) return;
    }
}

// ---- Child grids

/// The loop of one thread, a piece for each block.
template <class Count, class Body>
struct nested_range {
    Body body;

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, nested_index<Count> count, unsigned piece) const {
        using index = nested_index<Count>;
        const index begin = index{block.block_rank()} * piece;
        const index rest = count - begin;
        for_every<index>(block.num_threads(), block.thread_rank(), rest < piece ? rest : piece,
                         [&](index i) { run_body<Count>(block, body, begin + i); });
    }
};
template <class Count, class Body>
struct named_after<nested_range<Count, Body>> {
    using type = Body;
};

/// A loop in a list.
template <class Body>
struct nested_item {
    unsigned long long end;  ///< iterations of all loops up to this one
    Body body;
};

/// The loops of a list, one after another, a piece for each block.
template <class Count, class Body>
struct nested_list {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, const nested_item<Body>* items, unsigned number,
                                    unsigned piece) const {
        using index = unsigned long long;
        const index begin = index{block.block_rank()} * piece, rest = items[number - 1].end - begin;
        unsigned at = 0;  // the first loop that ends behind the piece's begin
        for (unsigned above = number - 1; at < above;) {
            const unsigned middle = (at + above) / 2;
            if (items[middle].end > begin) {
                above = middle;
            } else {
                at = middle + 1;
            }
        }
        for_every<index>(block.num_threads(), block.thread_rank(), rest < piece ? rest : piece, [&](index i) {
            while (items[at].end <= begin + i) ++at;
            const index before = at == 0 ? 0 : items[at - 1].end;
            const Body body = items[at].body;
            run_body<Count>(block, body, static_cast<nested_index<Count>>(begin + i - before));
        });
    }
};
template <class Count, class Body>
struct named_after<nested_list<Count, Body>> {
    using type = Body;
};

/// The options, with what the engine has chosen.
struct nested_plan {
    unsigned own, in_place, piece, threads;
    bool one_for_all;

    template <class Index>
    DYNPAR_FUNCTION bool is_large(Index count) const {
        return in_place != nested_for_options::all && count > in_place;
    }
    /// Of a child grid. One that would have too many blocks has a shape that no grid can have, and so it is refused.
    DYNPAR_FUNCTION shape shape_of(unsigned long long count) const {
        const unsigned long long blocks = (count - 1) / piece + 1;
        return shape(blocks > bounds::grid_blocks ? 0 : static_cast<unsigned>(blocks), at_most(threads));
    }
};

/// `sharing`: how many threads share their loops. Where a launch costs little, a grid of few blocks gives away more:
/// its blocks alone would not fill the GPU. In a grid of many blocks, loops of one piece stay where they are.
template <class Block>
DYNPAR_FUNCTION nested_plan plan_of(const Block& block, const nested_for_options& options, unsigned sharing) {
    constexpr unsigned greatest_piece = 1u << 31, many_blocks = 1024;
    nested_plan plan{options.own, options.in_place, options.piece, options.threads,
                     options.grids == nested_grids::one_for_all};
    if constexpr (runs_on_host<Block>::value) {
        if (plan.in_place == 0) plan.in_place = nested_for_options::all;
        if (plan.piece == 0) plan.piece = 1024;
    } else if constexpr (has_costly_launches<Block>) {
        if (options.grids == nested_grids::automatic) plan.one_for_all = true;
        if (plan.in_place == 0) plan.in_place = sharing < 16 ? 1024 : 64 * sharing;
        if (plan.piece == 0) plan.piece = 4096;
    } else {
        const bool is_large_grid = block.num_blocks() >= many_blocks;
        if (plan.in_place == 0) plan.in_place = sharing < 8 ? 64 : (is_large_grid ? 32 : 8) * sharing;
        if (plan.piece == 0) plan.piece = is_large_grid ? 1024 : 256;
    }
    if (plan.piece > greatest_piece) plan.piece = greatest_piece;
    return plan;
}

/// A child grid for the loop of the calling thread.
template <class Count, class Block, class Body>
DYNPAR_FUNCTION DYNPAR_FORCEINLINE status launch_range(Block& block, nested_index<Count> count, const Body& body,
                                                       const nested_plan& plan) {
    return block.launch(nested_range<Count, Body>{body}, plan.shape_of(count), count, plan.piece);
}

/// The place of the lowest bit that is set.
DYNPAR_FUNCTION inline unsigned lowest_bit(unsigned bits) {
#if DYNPAR_ON_DEVICE
    return static_cast<unsigned>(__ffs(static_cast<int>(bits))) - 1;
#else
    return static_cast<unsigned>(__builtin_ctz(bits));
#endif
}

/// A child grid for all loops of the warp that are large. The first thread writes the list, since a child sees what the
/// launching thread has written, and of others only what precedes a barrier of the block.
template <class Count, class Block, class Body>
DYNPAR_FUNCTION DYNPAR_FORCEINLINE status launch_list_of_warp(Block& block, nested_index<Count> count, bool is_large,
                                                              const Body& body, const nested_plan& plan) {
    const warp_group<Block> warp(block);
    const unsigned large = dynpar::ballot(warp, is_large);
    if ((large & (large - 1)) == 0) return is_large ? launch_range<Count>(block, count, body, plan) : status::success;
    const bool is_first = warp.thread_rank() == 0;
    const unsigned number = dynpar::count(warp, is_large);
    nested_item<Body>* const items = is_first ? block.template scratch<nested_item<Body>>(number) : nullptr;
    unsigned long long end = 0;
    unsigned at = 0;
    for (unsigned bits = large; bits != 0; bits &= bits - 1, ++at) {
        const unsigned rank = lowest_bit(bits);
        end += dynpar::shuffle(warp, count, rank);
        const Body of_rank = dynpar::shuffle(warp, body, rank);
        if (items != nullptr) new (items + at) nested_item<Body>{end, of_rank};
    }
    status done = status::out_of_memory;
    if (items != nullptr) {
        done = block.launch(nested_list<Count, Body>{}, plan.shape_of(end),
                            static_cast<const nested_item<Body>*>(items), number, plan.piece);
    }
    done = dynpar::shuffle(warp, done, 0);
    return is_large ? done : status::success;
}

/// A child grid for all loops of the warp that are large, or one for each.
template <class Count, class Block, class Body>
DYNPAR_FUNCTION DYNPAR_FORCEINLINE status launch_of_warp(Block& block, nested_index<Count> count, bool is_large,
                                                         const Body& body, const nested_plan& plan) {
    if (plan.one_for_all) return launch_list_of_warp<Count>(block, count, is_large, body, plan);
    return is_large ? launch_range<Count>(block, count, body, plan) : status::success;
}

/// Loops of a list, and their iterations.
struct nested_sums {
    unsigned long long iterations;
    unsigned loops;
};
struct add_nested_sums {
    DYNPAR_FUNCTION nested_sums operator()(const nested_sums& a, const nested_sums& b) const {
        return {a.iterations + b.iterations, a.loops + b.loops};
    }
};

/// A child grid for all loops of the block that are large. Every thread gets what became of it.
template <class Count, class Block, class Body>
DYNPAR_FUNCTION DYNPAR_FORCEINLINE status launch_list_of_block(const block_group<Block>& group,
                                                               nested_index<Count> count, bool is_large,
                                                               const Body& body, const nested_plan& plan) {
    Block& block = group.block();
    const nested_sums mine{is_large ? count : 0ull, is_large ? 1u : 0u};
    const nested_sums up_to = dynpar::inclusive_scan(group, mine, add_nested_sums{});
    const bool is_last = block.thread_rank() == block.num_threads() - 1;
    nested_item<Body>* items = is_last ? block.template scratch<nested_item<Body>>(up_to.loops) : nullptr;
    items = dynpar::broadcast(group, items, block.num_threads() - 1);
    if (items == nullptr) return status::out_of_memory;
    if (is_large) new (items + up_to.loops - 1) nested_item<Body>{up_to.iterations, body};
    block.sync();  // so that the child sees it
    status done = status::success;
    if (is_last) {
        done = block.launch(nested_list<Count, Body>{}, plan.shape_of(up_to.iterations),
                            static_cast<const nested_item<Body>*>(items), up_to.loops, plan.piece);
    }
    return dynpar::broadcast(group, done, block.num_threads() - 1);
}

/// A child grid for all loops of the block that are large, or one for each. Every thread gets what became of its own.
template <class Count, class Block, class Body>
DYNPAR_FUNCTION DYNPAR_FORCEINLINE status launch_of_block(Block& block, void* memory, nested_index<Count> count,
                                                          bool is_large, const Body& body, const nested_plan& plan) {
    if (plan.one_for_all) {
        const block_group<Block> group(block, memory);
        const status of_list = launch_list_of_block<Count>(group, count, is_large, body, plan);
        return is_large ? of_list : status::success;
    }
    return is_large ? launch_range<Count>(block, count, body, plan) : status::success;
}

template <class Count, class Block, class Body>
DYNPAR_FUNCTION DYNPAR_NOINLINE block_and_launch<Block> launch_of_warp_apart(Block block, nested_index<Count> count,
                                                                             bool is_large, Body body,
                                                                             nested_plan plan) {
    const status done = launch_of_warp<Count>(block, count, is_large, body, plan);
    return {block, done};
}
template <class Count, class Block, class Body>
DYNPAR_FUNCTION DYNPAR_NOINLINE block_and_launch<Block> launch_of_block_apart(Block block, void* memory,
                                                                              nested_index<Count> count, bool is_large,
                                                                              Body body, nested_plan plan) {
    const status done = launch_of_block<Count>(block, memory, count, is_large, body, plan);
    return {block, done};
}

// ---- Sharing

/// What the threads of a warp have written is seen by all of them.
template <class Block>
DYNPAR_FUNCTION void sync_warp(const warp_group<Block>& warp) {
#if DYNPAR_ON_DEVICE
    if (warp.num_threads() > 1) __syncwarp(lanes_of(warp.num_threads()));
#else
    static_cast<void>(warp);
#endif
}

/// How many of a warp's threads have an `end` of at most `place`: whose iteration that place is, since the numbers
/// ascend. All threads of the warp make the call, each with a place of its own.
template <class Block>
DYNPAR_FUNCTION unsigned owner_in_warp(const warp_group<Block>& warp, unsigned end, unsigned place) {
    const unsigned threads = warp.num_threads();
    unsigned owner = 0;
#if DYNPAR_ON_DEVICE
#pragma unroll
#endif
    for (unsigned step = warp_threads / 2; step != 0; step /= 2) {
        const unsigned probed = owner + step - 1;
        const unsigned there = dynpar::shuffle(warp, end, probed < threads ? probed : threads - 1);
        if (probed < threads && there <= place) owner += step;
    }
    return owner < threads ? owner : threads - 1;
}

/// Runs the loops of a warp's threads. Those with an iteration for every thread are run one after another by all
/// threads; of what is left, each thread takes the next iteration, whose ever it is. If no loop has more than `own`
/// iterations each thread runs its own.
template <class Count, class Block, class Body>
DYNPAR_FUNCTION DYNPAR_FORCEINLINE void share_in_warp(Block& block, nested_index<Count> count, const Body& body,
                                                      unsigned own) {
    using index = nested_index<Count>;
    if constexpr (runs_on_host<Block>::value) {
        for_every<index>(1, 0, count, [&](index i) { run_body<Count>(block, body, i); });
    } else {
        const warp_group<Block> warp(block);
        const unsigned threads = warp.num_threads(), rank = warp.thread_rank();
        const bool share = threads > 1 && dynpar::any(warp, count > own);
        const bool is_for_all = count >= threads;
        // One loop for both, since what a body does may be long: its own in one turn, or of all that are for all.
        for (unsigned bits = share ? dynpar::ballot(warp, is_for_all) : 1; bits != 0; bits &= bits - 1) {
            const unsigned owner = share ? lowest_bit(bits) : rank;
            const index of_owner = dynpar::shuffle(warp, count, owner);
            const Body theirs = dynpar::shuffle(warp, body, owner);
            for_every<index>(share ? threads : 1, share ? rank : 0, of_owner,
                             [&](index i) { run_body<Count>(block, theirs, i); });
        }
        const unsigned mine = is_for_all || !share ? 0 : static_cast<unsigned>(count);
        const unsigned end = share ? dynpar::inclusive_scan(warp, mine, plus{}) : 0;
        const unsigned all = dynpar::shuffle(warp, end, threads - 1);
        for (unsigned first = 0; first < all; first += threads) {
            const unsigned place = first + rank;
            const unsigned owner = owner_in_warp(warp, end, place);
            const unsigned begin = dynpar::shuffle(warp, end - mine, owner);
            const Body theirs = dynpar::shuffle(warp, body, owner);
            if (place < all) run_body<Count>(block, theirs, place - begin);
        }
        sync_warp(warp);
    }
}

/// Shared memory of a block whose threads share: `nested_for_bytes` for each of them.
template <class Body>
struct nested_memory {
    void* of_warps;  ///< 16 bytes for each warp, for collective calls
    unsigned* ends;  ///< of each thread: the iterations up to its own
    Body* bodies;    ///< of each thread

    DYNPAR_FUNCTION nested_memory(void* memory, unsigned threads) : of_warps(memory) {
        auto* const bytes = static_cast<unsigned char*>(memory);
        const unsigned words = (threads * 4 + 15) / 16 * 16;
        ends = reinterpret_cast<unsigned*>(bytes + words);
        bodies = reinterpret_cast<Body*>(bytes + 2 * words);
    }
};

/// Runs the loops of a block's threads. Each thread takes the next iteration, whose ever it is.
template <class Count, class Block, class Body>
DYNPAR_FUNCTION DYNPAR_FORCEINLINE void share_in_block(const block_group<Block>& group,
                                                       const nested_memory<Body>& shared, nested_index<Count> count,
                                                       const Body& body, bool may_be_long) {
    using index = nested_index<Count>;
    constexpr unsigned part = 1u << 20;  // of a loop at a time: 1024 of them can be added up
    Block& block = group.block();
    const unsigned threads = block.num_threads(), rank = block.thread_rank();
    new (shared.bodies + rank) Body(body);
    for (index first = 0, left = count;; first += part) {
        const unsigned mine = left < part ? static_cast<unsigned>(left) : part;
        left -= mine;
        shared.ends[rank] = dynpar::inclusive_scan(group, mine, plus{});
        block.sync();
        const unsigned all = shared.ends[threads - 1];
        unsigned owner = 0;  // never falls, as the places rise
        for (unsigned place = rank; place < all; place += threads) {
            for (unsigned above = threads - 1; owner < above;) {
                const unsigned middle = (owner + above) / 2;
                if (shared.ends[middle] > place) {
                    above = middle;
                } else {
                    owner = middle + 1;
                }
            }
            const unsigned begin = owner == 0 ? 0 : shared.ends[owner - 1];
            const Body theirs = shared.bodies[owner];
            run_body<Count>(block, theirs, first + (place - begin));
        }
        block.sync();  // what was run is seen, and the memory is free
        if (!may_be_long || !dynpar::any(group, left != 0)) return;
    }
}

}  // namespace detail

/// `for (i = 0; i < count; ++i) body(i)` in every thread of the block, each with a count and a body of its own: the
/// iterations are shared among the threads of a warp, and long loops go to child grids. No shared memory is needed, and
/// the warps of a block need not keep step.
///
/// Each iteration runs once, in any thread of the warp or in a child grid. The body is a trivially copyable function
/// object that is called as `body(i)`, or as `body(block, i)` with the block of the thread that runs it; it is marked
/// DYNPAR_FUNCTION, and makes no collective calls. What it captured is copied, at most as much as a launch may have for
/// arguments; pointers in it are to global memory.
///
/// When the call returns, the iterations that the warp has kept are done, and its threads see what they wrote. Those in
/// child grids are complete when children are: before a continuation of the grid (`then`), after `wait()`, and before
/// the grid is. With `nested_for_options::in_place = nested_for_options::all` all are done.
///
/// Returns `success`, or what the launch or the scratch memory for this thread's loop failed with: then its iterations
/// do not run, and the report says so.
template <class Block, class Count, class Body>
DYNPAR_FUNCTION DYNPAR_FORCEINLINE status nested_for(Block& block, Count count, const Body& body,
                                                     const nested_for_options& options = {}) {
    auto& here = detail::engine_block(block);
    using block_type = std::remove_reference_t<decltype(here)>;
    if constexpr (detail::check_nested_body<block_type, Count, Body>()) {
        const detail::nested_index<Count> iterations = detail::iterations_of(count);
        const warp_group<block_type> warp(here);
        const detail::nested_plan plan = detail::plan_of(here, options, warp.num_threads());
        const bool is_large = plan.is_large(iterations);
        const bool has_large =
            plan.one_for_all ? plan.in_place != nested_for_options::all && any(warp, is_large) : is_large;
        status done = status::success;
        const auto launch_large = [&] {
            if (!has_large) return;
            if constexpr (detail::launches_apart<block_type>) {
                const auto after = detail::launch_of_warp_apart<Count>(here, iterations, is_large, body, plan);
                here = after.block;
                done = after.done;
            } else {
                done = detail::launch_of_warp<Count>(here, iterations, is_large, body, plan);
            }
        };
        if constexpr (!detail::launches_last<block_type>) launch_large();
        detail::share_in_warp<Count>(here, is_large ? 0 : iterations, body, plan.own);
        if constexpr (detail::launches_last<block_type>) launch_large();
        return done;
    } else {
        return status::not_supported;
    }
}

/// The same, shared among all threads of a block: `nested_for(this_block(block, memory), count, body)`, where the
/// memory is `nested_for_bytes<Body>` of the block's shared memory for each thread, aligned to 16 bytes as `shared`
/// gives it. It may be null if the block has no more than 32 threads; in a wider block without memory each warp shares
/// by itself. It can be used again after the call. All that is long in the block is one child grid where launches take
/// long.
template <class Block, class Count, class Body>
DYNPAR_FUNCTION DYNPAR_FORCEINLINE status nested_for(const block_group<Block>& group, Count count, const Body& body,
                                                     const nested_for_options& options = {}) {
    Block& block = group.block();
    if constexpr (detail::check_nested_body<Block, Count, Body>()) {
        const detail::nested_plan plan = detail::plan_of(block, options, block.num_threads());
        const bool is_loop = detail::runs_on_host<Block>::value && plan.in_place == nested_for_options::all;
        if (block.num_threads() <= warp_threads || group.memory() == nullptr || is_loop)
            return nested_for(block, count, body, options);
        const detail::nested_index<Count> iterations = detail::iterations_of(count);
        const detail::nested_memory<Body> shared(group.memory(), block.num_threads());
        const block_group<Block> sharing(block, shared.of_warps);
        const bool is_large = plan.is_large(iterations);
        const bool has_large =
            plan.one_for_all ? plan.in_place != nested_for_options::all && any(sharing, is_large) : is_large;
        status done = status::success;
        const auto launch_large = [&] {
            if (!has_large) return;
            if constexpr (detail::launches_apart<Block>) {
                const auto after =
                    detail::launch_of_block_apart<Count>(block, shared.of_warps, iterations, is_large, body, plan);
                block = after.block;
                done = after.done;
            } else {
                done = detail::launch_of_block<Count>(block, shared.of_warps, iterations, is_large, body, plan);
            }
        };
        if constexpr (!detail::launches_last<Block>) launch_large();
        detail::share_in_block<Count>(sharing, shared, is_large ? 0 : iterations, body, plan.in_place > 1u << 20);
        if constexpr (detail::launches_last<Block>) launch_large();
        return done;
    } else {
        return status::not_supported;
    }
}

namespace detail {

template <class Monoid, class = void>
inline constexpr bool has_final_value = false;
template <class Monoid>
inline constexpr bool has_final_value<
    Monoid, std::void_t<decltype(Monoid::is_final(std::declval<const typename Monoid::value_type&>()))>> = true;

/// Whether the value stays the same, whatever it is combined with.
template <class Monoid, class T>
DYNPAR_FUNCTION bool is_final(const T& value) {
    if constexpr (has_final_value<Monoid>) return Monoid::is_final(value);
    return false;
}

template <class Monoid>
struct combine_by {
    template <class T>
    DYNPAR_FUNCTION T operator()(const T& a, const T& b) const {
        return Monoid::combine(a, b);
    }
};

/// Every `step`th iteration from `first` on, combined.
template <class Monoid, class Count, class Block, class Body>
DYNPAR_FUNCTION DYNPAR_FORCEINLINE typename Monoid::value_type reduce_every(Block& block, unsigned step,
                                                                            nested_index<Count> first,
                                                                            nested_index<Count> count,
                                                                            const Body& body) {
    using value = typename Monoid::value_type;
    value result = Monoid::identity();
    for (nested_index<Count> i = first; i < count && !is_final<Monoid>(result); i += step) {
        result = Monoid::combine(result, static_cast<value>(run_iteration<Count>(block, body, i)));
        if (count - i <= step) break;
    }
    return result;
}

/// The loop of a thread, run by all threads of its warp or block; each gets the value. From time to time they ask each
/// other whether it is known.
template <class Monoid, class Count, class Group, class Body>
DYNPAR_FUNCTION DYNPAR_FORCEINLINE typename Monoid::value_type reduce_together(const Group& group, unsigned rounds,
                                                                               nested_index<Count> count,
                                                                               const Body& body) {
    using value = typename Monoid::value_type;
    using index = nested_index<Count>;
    const unsigned threads = group.num_threads(), rank = group.thread_rank();
    value result = Monoid::identity();
    if constexpr (has_final_value<Monoid>) {
        const index part = threads * rounds;
        for (index first = 0; first < count; first += part) {
            const index end = count - first < part ? count : first + part;
            if (end - first > rank) {
                result = Monoid::combine(result,
                                         reduce_every<Monoid, Count>(group.block(), threads, first + rank, end, body));
            }
            if (dynpar::any(group, is_final<Monoid>(result)) || end == count) break;
        }
    } else {
        result = reduce_every<Monoid, Count>(group.block(), threads, rank, count, body);
    }
    return dynpar::reduce(group, result, combine_by<Monoid>{});
}

}  // namespace detail

/// What `body(i)` returns in every thread of the block, for each i below the thread's `count`, combined by the monoid
/// (monoids.hpp); of no iterations the identity. Each thread gets the value of its own loop, and all iterations are
/// done when the call returns: there are no child grids. `options.own` says which loops a thread runs by itself; longer
/// ones are run by all threads of the warp, one after another.
///
/// A monoid may have a function `static bool is_final(value)`: no iteration need be run after a value for which it is
/// true, and few are.
///
///     const bool is_near = dynpar::nested_reduce(block, degree, is_at_home{...}, dynpar::whether_any{});
template <class Block, class Count, class Body, class Monoid>
DYNPAR_FUNCTION DYNPAR_FORCEINLINE typename Monoid::value_type nested_reduce(Block& block, Count count,
                                                                             const Body& body, Monoid,
                                                                             const nested_for_options& options = {}) {
    auto& here = detail::engine_block(block);
    using block_type = std::remove_reference_t<decltype(here)>;
    using value = typename Monoid::value_type;
    using index = detail::nested_index<Count>;
    value result = Monoid::identity();
    if constexpr (detail::check_nested_body<block_type, Count, Body>()) {
        const index iterations = detail::iterations_of(count);
        if constexpr (detail::runs_on_host<block_type>::value) {
            result = detail::reduce_every<Monoid, Count>(here, 1, 0, iterations, body);
        } else {
            const warp_group<block_type> warp(here);
            const bool is_long = warp.num_threads() > 1 && iterations > options.own;
            if (!is_long) result = detail::reduce_every<Monoid, Count>(here, 1, 0, iterations, body);
            for (unsigned bits = dynpar::ballot(warp, is_long); bits != 0; bits &= bits - 1) {
                const unsigned owner = detail::lowest_bit(bits);
                const Body theirs = dynpar::shuffle(warp, body, owner);
                const index of_owner = dynpar::shuffle(warp, iterations, owner);
                const value of_all = detail::reduce_together<Monoid, Count>(warp, 1, of_owner, theirs);
                if (warp.thread_rank() == owner) result = of_all;
            }
        }
    }
    return result;
}

/// The same in a whole block, all of whose threads run what is very long: `nested_reduce(this_block(block, memory),
/// count, body, monoid)`, with memory as for `nested_for`. The monoid's values have 16 bytes at most.
template <class Block, class Count, class Body, class Monoid>
DYNPAR_FUNCTION DYNPAR_FORCEINLINE typename Monoid::value_type nested_reduce(const block_group<Block>& group,
                                                                             Count count, const Body& body,
                                                                             Monoid monoid,
                                                                             const nested_for_options& options = {}) {
    using value = typename Monoid::value_type;
    using index = detail::nested_index<Count>;
    Block& block = group.block();
    if constexpr (detail::runs_on_host<Block>::value || !detail::check_nested_body<Block, Count, Body>()) {
        return nested_reduce(block, count, body, monoid, options);
    } else {
        const unsigned threads = block.num_threads(), rank = block.thread_rank();
        if (threads <= warp_threads || group.memory() == nullptr)
            return nested_reduce(block, count, body, monoid, options);
        const index iterations = detail::iterations_of(count);
        bool is_for_all = iterations / warp_threads > threads / 4;  // a warp would take long
        value result = nested_reduce(block, is_for_all ? Count{0} : count, body, monoid, options);
        const detail::nested_memory<Body> shared(group.memory(), threads);
        const block_group<Block> sharing(block, shared.of_warps);
        new (shared.bodies + rank) Body(body);
        for (;;) {
            const unsigned owner = dynpar::reduce(sharing, is_for_all ? rank : threads, minimum{});
            if (owner == threads) return result;
            const index of_owner = dynpar::broadcast(sharing, iterations, owner);  // and the body is there
            constexpr unsigned rounds = 8;  // to ask each other costs two barriers
            const value of_all =
                detail::reduce_together<Monoid, Count>(sharing, rounds, of_owner, shared.bodies[owner]);
            if (rank == owner) result = of_all;
            is_for_all = is_for_all && rank != owner;
        }
    }
}

}  // namespace dynpar
