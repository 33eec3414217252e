// Child grids of nested loops (nested_for.hpp): which loops get one, and how it is launched.
#pragma once

#include <new>
#include <type_traits>

#include "../collectives.hpp"
#include "../kernel.hpp"
#include "../nested_for_options.hpp"
#include "../platform.hpp"
#include "../shape.hpp"
#include "../status.hpp"
#include "nested_iterations.hpp"

namespace dynpar::detail {

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

// ---- Kernels

/// The part of a loop, or of the loops of a list, that a block of a child grid runs.
struct nested_piece {
    unsigned long long begin, count;

    template <class Block>
    DYNPAR_FUNCTION nested_piece(const Block& block, unsigned long long all, unsigned piece)
        : begin(static_cast<unsigned long long>(block.block_rank()) * piece),
          count(all - begin < piece ? all - begin : piece) {}
};

/// The loop of one thread, a piece for each block.
template <class Count, class Body>
struct nested_range {
    Body body;

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, nested_index<Count> count, unsigned piece) const {
        using index = nested_index<Count>;
        const nested_piece mine(block, count, piece);
        run_every<Count>(block.num_threads(), static_cast<index>(mine.begin), block.thread_rank(),
                         static_cast<index>(mine.count), body,
                         [&](index i, const auto&... found) { run_body<Count>(block, body, i, found...); });
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

/// The loops of a list, one after another.
template <class Body>
class nested_items {
public:
    DYNPAR_FUNCTION nested_items(const nested_item<Body>* items, unsigned number) : items_(items), number_(number) {}

    DYNPAR_FUNCTION unsigned long long all() const { return items_[number_ - 1].end; }  ///< iterations
    /// The first loop that ends behind a place.
    DYNPAR_FUNCTION unsigned owner_of(unsigned long long place) const {
        return first_above(0, number_, place, [this](unsigned i) { return items_[i].end; });
    }
    /// The same where an earlier place's is `owner`.
    DYNPAR_FUNCTION unsigned owner_of(unsigned long long place, unsigned owner) const {
        while (items_[owner].end <= place) ++owner;
        return owner;
    }
    DYNPAR_FUNCTION unsigned long long begin_of(unsigned owner) const { return owner == 0 ? 0 : items_[owner - 1].end; }
    DYNPAR_FUNCTION const Body& body_of(unsigned owner) const { return items_[owner].body; }

private:
    const nested_item<Body>* items_;
    unsigned number_;
};

/// The loops of a list, a piece for each block.
template <class Count, class Body>
struct nested_list {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, const nested_item<Body>* items, unsigned number,
                                    unsigned piece) const {
        using index = unsigned long long;
        const nested_items<Body> loops(items, number);
        const nested_piece mine(block, loops.all(), piece);
        const unsigned threads = block.num_threads();
        unsigned owner = loops.owner_of(mine.begin);
        for_every<index>(iterations_together<Count, Body> * threads, block.thread_rank(), mine.count, [&](index i) {
            run_together<Count, Body>(
                [&](unsigned k) {
                    const bool is_there = k * threads < mine.count - i;
                    const index place = mine.begin + i + k * threads;
                    if (is_there) owner = loops.owner_of(place, owner);
                    const auto of_loop = static_cast<nested_index<Count>>(place - loops.begin_of(owner));
                    return nested_iteration<Count, Body>{loops.body_of(owner), of_loop, is_there};
                },
                [&](unsigned, const nested_iteration<Count, Body>& it, const auto&... found) {
                    run_body<Count>(block, it.body, it.i, found...);
                });
        });
    }
};
template <class Count, class Body>
struct named_after<nested_list<Count, Body>> {
    using type = Body;
};

/// Iterations of several loops: the greatest number that there is if they are more, which no grid can have.
DYNPAR_FUNCTION constexpr unsigned long long add_iterations(unsigned long long a, unsigned long long b) {
    return b <= ~0ull - a ? a + b : ~0ull;
}

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
/// its blocks alone would not fill the GPU. One that fills it more than once keeps what takes a warp 64 turns.
template <class Block>
DYNPAR_FUNCTION nested_plan plan_of(const Block& block, const nested_for_options& options, unsigned sharing) {
    constexpr unsigned greatest_piece = 1u << 31, many_blocks = 1024, very_many_blocks = 2560;
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
        const unsigned blocks = block.num_blocks();
        const unsigned turns = blocks >= very_many_blocks ? 64 : blocks >= many_blocks ? 32 : 8;
        if (plan.in_place == 0) plan.in_place = sharing < 8 ? 64 : turns * sharing;
        if (plan.piece == 0) plan.piece = turns * warp_threads;
    }
    if (plan.piece > greatest_piece) plan.piece = greatest_piece;
    if (plan.threads == 0) plan.threads = nested_for_options{}.threads;
    if (plan.threads > bounds::block_threads) plan.threads = bounds::block_threads;
    return plan;
}

/// A child grid for the loop of the calling thread.
template <class Count, class Block, class Body>
DYNPAR_FUNCTION DYNPAR_FORCEINLINE status launch_range(Block& block, nested_index<Count> count, const Body& body,
                                                       const nested_plan& plan) {
    return block.launch(nested_range<Count, Body>{body}, plan.shape_of(count), count, plan.piece);
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
        end = add_iterations(end, dynpar::shuffle(warp, count, rank));
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

/// Loops of a list, and their iterations.
struct nested_sums {
    unsigned long long iterations;
    unsigned loops;
};
struct add_nested_sums {
    DYNPAR_FUNCTION nested_sums operator()(const nested_sums& a, const nested_sums& b) const {
        return {add_iterations(a.iterations, b.iterations), a.loops + b.loops};
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

// ---- Dividing

/// The loops of the threads of a warp: whether one of them is large, and their child grids.
template <class Count>
struct loops_of_warp {
    template <class Block>
    static DYNPAR_FUNCTION DYNPAR_FORCEINLINE bool any(Block& block, void*, bool is_large) {
        return dynpar::any(warp_group<Block>(block), is_large);
    }
    template <class Block, class Body>
    static DYNPAR_FUNCTION DYNPAR_FORCEINLINE status launch_list(Block& block, void*, nested_index<Count> count,
                                                                 bool is_large, const Body& body,
                                                                 const nested_plan& plan) {
        return launch_list_of_warp<Count>(block, count, is_large, body, plan);
    }
};
/// The same for a block; `memory` is what its threads share.
template <class Count>
struct loops_of_block {
    template <class Block>
    static DYNPAR_FUNCTION DYNPAR_FORCEINLINE bool any(Block& block, void* memory, bool is_large) {
        return dynpar::any(block_group<Block>(block, memory), is_large);
    }
    template <class Block, class Body>
    static DYNPAR_FUNCTION DYNPAR_FORCEINLINE status launch_list(Block& block, void* memory, nested_index<Count> count,
                                                                 bool is_large, const Body& body,
                                                                 const nested_plan& plan) {
        const status of_list =
            launch_list_of_block<Count>(block_group<Block>(block, memory), count, is_large, body, plan);
        return is_large ? of_list : status::success;
    }
};

/// A child grid for all large loops of a warp or block, or one for each. Every thread gets what became of its own.
template <class Count, template <class> class Loops>
struct launch_large {
    template <class Block, class Body>
    DYNPAR_FUNCTION DYNPAR_FORCEINLINE status operator()(Block& block, void* memory, nested_index<Count> count,
                                                         bool is_large, const Body& body,
                                                         const nested_plan& plan) const {
        if (plan.one_for_all) return Loops<Count>::launch_list(block, memory, count, is_large, body, plan);
        return is_large ? launch_range<Count>(block, count, body, plan) : status::success;
    }
};

/// Gives the large loops of a warp or block to child grids, and the others to `run(count)`, with a count of 0 for a
/// thread whose loop is large.
template <template <class> class Loops, class Count, class Block, class Body, class Run>
DYNPAR_FUNCTION DYNPAR_FORCEINLINE status divide(Block& block, void* memory, nested_index<Count> count,
                                                 const Body& body, const nested_plan& plan, const Run& run) {
    const bool is_large = plan.is_large(count);
    const bool has_large = plan.one_for_all
                               ? plan.in_place != nested_for_options::all && Loops<Count>::any(block, memory, is_large)
                               : is_large;
    status done = status::success;
    const auto launch = [&] {
        if (has_large)
            done = block_handover::call(launch_large<Count, Loops>{}, block, memory, count, is_large, body, plan);
    };
    if constexpr (!launches_last<Block>) launch();
    run(is_large ? 0 : count);
    if constexpr (launches_last<Block>) launch();
    return done;
}

}  // namespace dynpar::detail
