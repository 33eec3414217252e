// The block: what an engine passes to a kernel, and everything that a kernel can ask of its engine.
#pragma once

#include <type_traits>
#include <utility>

#include "kernel.hpp"
#include "result.hpp"
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
// Every thread of every block of the grid calls it, each with its own block object. Each engine has its own block type.
// All of them have the members below, with the same meaning and the names of CUDA's cooperative groups.
//
// Position (`unsigned`, or `dimensions` for the members that have three components):
//     thread_rank()  num_threads()  thread_index()  dim_threads()     this thread in its block
//     block_rank()   num_blocks()   group_index()   dim_blocks()      this block in its grid
//     depth()                                                         nesting depth; 0 for a grid launched by the host
//     moldable_threads(at_most most)                                  what a moldable block would get: see `shape_for`
//
// Inside the block:
//     sync()
//         Barrier over all threads of the block that have not returned.
//     shared<T>(n)
//         T*: n elements of the block's shared memory, uninitialized, valid until the block returns; children must not
//         use it. All threads of a block make the same calls in the same order, and the same call returns the same
//         memory to all of them. The memory is part of the shape's `shared_bytes`, each call rounded up to 16 bytes;
//         when they are used up, nullptr and `shared_memory_exceeded`.
//     scratch<T>(n)
//         T*: n elements of global memory that belong to the grid: valid for the grid, its children and its
//         continuations, until the last continuation is complete. Each call returns new memory, to the calling thread
//         only; nullptr and `out_of_memory` if there is none.
//
// Nesting (each returns a status; a failure is also in the run's report):
//     launch(kernel, shape, args...)
//         A child grid. Asynchronous. The child sees what this thread wrote before the launch, and what the block wrote
//         before a sync() that this thread has passed. It is promised nothing else.
//     launch(stream, kernel, shape, args...)
//         The same, after everything that was given to the stream before.
//     then(kernel, shape, args...)
//         A continuation: a grid of this grid's depth that begins when this whole grid and everything launched from it
//         is complete, and sees everything they wrote. Several continuations of a grid run one after another, in the
//         order in which they were given.
//     wait()
//         Collective over the threads of the block that have not returned. Returns when every child that the block
//         launched is complete; the block then sees what they wrote.
//     spawn(kernel, args...)
//         A call of a kernel that returns a value (result.hpp), for the next one: nothing is launched yet.
//     spawn_range(count, kernel, args...)
//         The same for several calls: kernel(block, i, args...) for i from 0 to count - 1.
//     then(function, calls...), then(function, range), then(operation, first, range)
//         Launches the calls as children of one thread each, and adds a continuation that hands their values to the
//         function: each of them, or all as a `value_list`, or combined one after another from `first` on. In a kernel
//         that returns a `result`, what the function returns is the kernel's value: the kernel returns what `then` has
//         returned. The function may take the block before the values. If it returns nothing, `then` returns a status.
//     make_stream(), make_event()
//         A non-blocking stream, an event without timing: move-only, for this block only. `event.record(stream)`,
//         `stream.wait(event)`. They return a status, too; with what was moved from, `launch_failed`.
//
// A grid is complete when all its blocks have returned, and every grid launched from it and every continuation of it is
// complete.

namespace detail {

/// Stops the compilation with a sentence if `shared<T>` and `scratch<T>` cannot give memory for a `T`.
template <class T>
DYNPAR_FUNCTION constexpr void check_block_memory() {
    static_assert(std::is_trivially_destructible_v<T>, "dynpar: shared and scratch memory run no destructors");
    static_assert(alignof(T) <= 16, "dynpar: shared and scratch memory are aligned to 16 bytes");
}

struct probe_kernel {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block&) const {}
};

struct probe_value {
    template <class Block>
    DYNPAR_FUNCTION result<int> operator()(Block&) const {
        return 0;
    }
};
struct probe_values {
    template <class Block>
    DYNPAR_FUNCTION result<int> operator()(Block&, unsigned) const {
        return 0;
    }
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
        std::is_same_v<decltype(std::declval<const Block&>().depth()), unsigned> &&
        std::is_same_v<decltype(std::declval<const Block&>().moldable_threads(at_most(1))), unsigned>;
    constexpr bool memory = std::is_same_v<decltype(std::declval<Block&>().template shared<int>(1u)), int*> &&
                            std::is_same_v<decltype(std::declval<Block&>().template scratch<int>(1u)), int*>;
    constexpr bool nesting =
        std::is_same_v<decltype(std::declval<Block&>().sync()), void> &&
        std::is_same_v<decltype(std::declval<Block&>().wait()), status> &&
        std::is_same_v<decltype(std::declval<Block&>().launch(probe_kernel{}, shape{})), status> &&
        std::is_same_v<decltype(std::declval<Block&>().launch(std::declval<stream&>(), probe_kernel{}, shape{})),
                       status> &&
        std::is_same_v<decltype(std::declval<Block&>().then(probe_kernel{}, shape{})), status> &&
        std::is_same_v<decltype(std::declval<event&>().record(std::declval<stream&>())), status> &&
        std::is_same_v<decltype(std::declval<stream&>().wait(std::declval<event&>())), status>;
    constexpr bool values = !std::is_void_v<decltype(std::declval<Block&>().spawn(probe_value{}))> &&
                            !std::is_void_v<decltype(std::declval<Block&>().spawn_range(2u, probe_values{}))>;
    constexpr bool handles = !std::is_copy_constructible_v<stream> && std::is_move_constructible_v<stream> &&
                             !std::is_copy_constructible_v<event> && std::is_move_constructible_v<event>;
    return position && memory && nesting && values && handles;
}

}  // namespace detail
}  // namespace dynpar
