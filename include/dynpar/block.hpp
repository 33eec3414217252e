// The block: what a kernel is handed, and all that it may ask of the engine that runs it.
#pragma once

#include <type_traits>
#include <utility>

#include "kernel.hpp"
#include "shape.hpp"
#include "status.hpp"

namespace dynpar {

// A kernel is a trivially copyable function object:
//
//     struct my_kernel {
//         template <class Block>
//         DYNPAR_FUNCTION void operator()(Block& block, int n) const;
//     };
//
// Every thread of every block of the grid calls it, each with a block object of its own. Engines have a block type each; all
// have the members below, named as in CUDA's cooperative groups, with the same meaning.
//
// Position (unsigned, or `dimensions` where three of them):
//     thread_rank()  num_threads()  thread_index()  dim_threads()     this thread in its block
//     block_rank()   num_blocks()   group_index()   dim_blocks()      this block in its grid
//     depth()                                                         nesting depth; 0 for a grid launched by the host
//
// Inside the block:
//     sync()             barrier over all threads of the block that have not returned.
//     shared<T>(n)       T*: n elements of memory of the block, uninitialized, gone when the block returns, not for children. All
//                        threads of a block must make the same calls in the same order; the same call gives all the same memory.
//                        Comes out of the shape's `shared_bytes` (each call rounded up to 16 bytes); beyond that nullptr and
//                        `shared_memory_exceeded`.
//     scratch<T>(n)      T*: n elements of global memory that belong to this grid: valid for it, its children and its continuations
//                        until the last continuation has run. Each call gives new memory, to the calling thread alone; nullptr
//                        and `out_of_memory` if there is none.
//
// Nesting (each returns a status; a failure is also in the run's report):
//     launch(kernel, shape, args...)           a child grid. Asynchronous. It sees what this thread wrote before, and what the
//                                              block wrote before a sync() that this thread has passed; it is promised no more.
//     launch(stream, kernel, shape, args...)   the same, after all that was given to the stream before.
//     then(kernel, shape, args...)             a continuation: a grid of this grid's depth that begins when this whole grid and all
//                                              that was launched from it is complete, and sees all they wrote. Several run one after
//                                              another, in the order given.
//     wait()                                   collective over the threads of the block that have not returned: returns when every
//                                              child that the block launched is complete, and the block sees what they wrote.
//     make_stream(), make_event()              a non-blocking stream, an event without timing: move-only, for this block alone.
//                                              `event.record(stream)`, `stream.wait(event)`.
//
// A grid is complete when all its blocks have returned and every grid launched from it and every continuation is complete.

namespace detail {

struct probe_kernel {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block&) const {}
};

/// Compiles only if `Block` has the whole interface above. Engines check their block type with it.
template <class Block>
constexpr bool is_block() {
    using stream = decltype(std::declval<Block&>().make_stream());
    using event = decltype(std::declval<Block&>().make_event());
    constexpr bool position =
        std::is_same_v<decltype(std::declval<const Block&>().thread_rank()), unsigned> &&
        std::is_same_v<decltype(std::declval<const Block&>().num_threads()), unsigned> &&
        std::is_same_v<decltype(std::declval<const Block&>().thread_index()), dimensions> &&
        std::is_same_v<decltype(std::declval<const Block&>().dim_threads()), dimensions> &&
        std::is_same_v<decltype(std::declval<const Block&>().block_rank()), unsigned> &&
        std::is_same_v<decltype(std::declval<const Block&>().num_blocks()), unsigned> &&
        std::is_same_v<decltype(std::declval<const Block&>().group_index()), dimensions> &&
        std::is_same_v<decltype(std::declval<const Block&>().dim_blocks()), dimensions> &&
        std::is_same_v<decltype(std::declval<const Block&>().depth()), unsigned>;
    constexpr bool memory = std::is_same_v<decltype(std::declval<Block&>().template shared<int>(1u)), int*> &&
                            std::is_same_v<decltype(std::declval<Block&>().template scratch<int>(1u)), int*>;
    constexpr bool nesting =
        std::is_same_v<decltype(std::declval<Block&>().sync()), void> &&
        std::is_same_v<decltype(std::declval<Block&>().wait()), status> &&
        std::is_same_v<decltype(std::declval<Block&>().launch(probe_kernel{}, shape{})), status> &&
        std::is_same_v<decltype(std::declval<Block&>().launch(std::declval<stream&>(), probe_kernel{}, shape{})), status> &&
        std::is_same_v<decltype(std::declval<Block&>().then(probe_kernel{}, shape{})), status> &&
        std::is_same_v<decltype(std::declval<event&>().record(std::declval<stream&>())), status> &&
        std::is_same_v<decltype(std::declval<stream&>().wait(std::declval<event&>())), status>;
    constexpr bool handles = !std::is_copy_constructible_v<stream> && std::is_move_constructible_v<stream> &&
                             !std::is_copy_constructible_v<event> && std::is_move_constructible_v<event>;
    return position && memory && nesting && handles;
}

}  // namespace detail
}  // namespace dynpar
