// Loops in a kernel's threads whose lengths differ: the threads of a warp or of a block share the iterations, and long
// loops go to child grids. With a value, they are in nested_reduce.hpp.
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
// The functions are collective, as those of collectives.hpp: every thread of the warp or of the block makes the call,
// those with nothing to do with a count of 0, and none of them has returned.
#pragma once

#include <new>
#include <type_traits>

#include "collectives.hpp"
#include "detail/nested_grids.hpp"
#include "detail/nested_iterations.hpp"
#include "nested_for_options.hpp"
#include "operators.hpp"
#include "platform.hpp"
#include "status.hpp"

namespace dynpar {

/// Shared memory that sharing by a whole block takes, in bytes for each thread, where loops have a body of this type:
/// `shape(blocks, at_most(256), bytes_per_thread(nested_for_bytes<Body>))`. None is needed by blocks of up to 32
/// threads.
template <class Body>
inline constexpr unsigned nested_for_bytes = static_cast<unsigned>(sizeof(Body)) + 12;

namespace detail {

/// Runs the loops of a warp's threads. Those with an iteration for every thread are run one after another by all
/// threads; of what is left, each thread takes the next iteration, whose ever it is. If no loop has more than `own`
/// iterations each thread runs its own.
template <class Count, class Block, class Body>
DYNPAR_FUNCTION DYNPAR_FORCEINLINE void share_in_warp(Block& block, nested_index<Count> count, const Body& body,
                                                      unsigned own) {
    using index = nested_index<Count>;
    const auto run = [&](const Body& theirs, index i, const auto&... found) {
        run_body<Count>(block, theirs, i, found...);
    };
    const warp_group<Block> warp(block);
    if constexpr (runs_on_host<Block>::value) {
        run_every<Count>(1, 0, 0, count, body, [&](index i, const auto&... found) { run(body, i, found...); });
    } else {
        const unsigned threads = warp.num_threads(), rank = warp.thread_rank();
        const bool share = threads > 1 && dynpar::any(warp, count > own);
        const bool is_for_all = count >= threads;
        // One loop for both, since what a body does may be long: its own in one turn, or of all that are for all.
        for (unsigned bits = share ? dynpar::ballot(warp, is_for_all) : 1; bits != 0; bits &= bits - 1) {
            const unsigned owner = share ? lowest_bit(bits) : rank;
            const index of_owner = dynpar::shuffle(warp, count, owner);
            const Body theirs = dynpar::shuffle(warp, body, owner);
            run_every<Count>(share ? threads : 1, 0, share ? rank : 0, of_owner, theirs,
                             [&](index i, const auto&... found) { run(theirs, i, found...); });
        }
        if (share) {
            const iterations_of_warp<Block> few(warp, is_for_all ? 0 : static_cast<unsigned>(count));
            for (unsigned first = 0; first < few.all(); first += iterations_together<Count, Body> * threads) {
                run_together<Count, Body>([&](unsigned k) { return few.template at<Count>(first + k * threads, body); },
                                          [&](unsigned, const nested_iteration<Count, Body>& it, const auto&... found) {
                                              run(it.body, it.i, found...);
                                          });
            }
        }
    }
    warp.sync();
}

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
        for (unsigned place = rank; place < all; place += iterations_together<Count, Body> * threads) {
            run_together<Count, Body>(
                [&](unsigned k) {
                    const unsigned at = place + k * threads;
                    if (at < all) owner = first_above(owner, threads, at, [&](unsigned i) { return shared.ends[i]; });
                    const unsigned begin = owner == 0 ? 0 : shared.ends[owner - 1];
                    return nested_iteration<Count, Body>{shared.bodies[owner], first + (at - begin), at < all};
                },
                [&](unsigned, const nested_iteration<Count, Body>& it, const auto&... found) {
                    run_body<Count>(block, it.body, it.i, found...);
                });
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
/// A body that waits for memory had better have a first step, `fetch(i)`, which only reads, and whose value it is
/// called with: `body(i, fetched)` or `body(block, i, fetched)`. A thread calls it for several iterations before it
/// runs the first of them, so that they wait together; so what is read there may be older than what earlier iterations
/// of the same thread have written. The value is trivially copyable and has a default constructor.
///
///     struct visit_neighbour {
///         const unsigned *neighbours, *distance;
///         struct neighbour {
///             unsigned vertex, distance;
///         };
///         DYNPAR_FUNCTION neighbour fetch(unsigned i) const { return {neighbours[i], distance[neighbours[i]]}; }
///         DYNPAR_FUNCTION void operator()(unsigned, const neighbour& n) const {
///             if (n.distance == unseen) visit(n.vertex);
///         }
///     };
///
/// When the call returns, the iterations that the warp has kept are done, and its threads see what they wrote. Those in
/// child grids are complete when children are: before a continuation of the grid (`then`), after `wait()`, and before
/// the grid is. With `nested_for_options::in_place = nested_for_options::all` all are done.
///
/// Returns `success`, or what the launch or the scratch memory for this thread's loop failed with: then its iterations
/// do not run, and the report says so.
template <class Block, class Count, class Body, std::enable_if_t<!detail::is_block_group<Block>, int> = 0>
DYNPAR_FUNCTION DYNPAR_FORCEINLINE status nested_for(Block& block, Count count, const Body& body,
                                                     const nested_for_options& options = {}) {
    auto& here = detail::engine_block(block);
    using block_type = std::remove_reference_t<decltype(here)>;
    if constexpr (detail::check_nested_body<block_type, Count, Body>()) {
        using index = detail::nested_index<Count>;
        const detail::nested_plan plan = detail::plan_of(here, options, warp_group<block_type>(here).num_threads());
        return detail::divide<detail::loops_of_warp, Count>(
            here, nullptr, detail::iterations_of(count), body, plan,
            [&](index few) { detail::share_in_warp<Count>(here, few, body, plan.own); });
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
        if (block.num_threads() <= warp_threads || group.memory() == nullptr || is_loop) {
            const status done = nested_for(block, count, body, options);
            detail::meet_on_host(group);
            return done;
        }
        const detail::nested_memory<Body> shared(group.memory(), block.num_threads());
        const block_group<Block> sharing(block, shared.of_warps);
        using index = detail::nested_index<Count>;
        return detail::divide<detail::loops_of_block, Count>(
            block, shared.of_warps, detail::iterations_of(count), body, plan,
            [&](index few) { detail::share_in_block<Count>(sharing, shared, few, body, plan.in_place > 1u << 20); });
    } else {
        return status::not_supported;
    }
}

}  // namespace dynpar
