// The block: what an engine passes to a kernel, and everything that a kernel can ask of its engine.
//
// The interface of <dynpar/block.hpp> as a class, for the reference alone: no program includes this file. A test
// compiles it, and asks of it what the engines ask of their own block types.
#pragma once

#include <cstddef>

#include <dynpar/block.hpp>

/// What a kernel gets as its first argument, by reference. `Block` is the name of a template parameter and not of a
/// class: every engine has its own block type, and all of them have these members, with the same meaning and the names
/// of CUDA's cooperative groups.
///
/// Every thread of the block has a block object of its own. It cannot be copied.
///
/// Calls that can fail return a `dynpar::status`; a failure is in the report of the run as well.
class Block {
public:
    /// A stream, made by `make_stream`. Its type has no name that all engines share: write `auto`. Move-only, for the
    /// block that made it only; work that is in it when it is destroyed, or when its block has returned, still runs.
    class stream {
    public:
        /// Work given to this stream from now on begins after the work of the event's latest record is complete. An
        /// event that was never recorded delays nothing.
        template <class Event>
        dynpar::status wait(const Event& event);

        stream(stream&&) noexcept;
        stream& operator=(stream&&) noexcept;
    };

    /// An event, made by `make_event`, without timing. Its type has no name that all engines share: write `auto`.
    /// Move-only, for the block that made it only.
    class event {
    public:
        /// Records the event: it is complete once everything that was given to the stream before is.
        template <class Stream>
        dynpar::status record(const Stream& stream);

        event(event&&) noexcept;
        event& operator=(event&&) noexcept;
    };

    /// This thread in its block, from 0: x counts first, then y, then z.
    unsigned thread_rank() const;
    /// How many threads the block has. Of a moldable kernel the engine chooses it (`dynpar::at_most`).
    unsigned num_threads() const;
    /// This thread in its block, in three dimensions.
    dynpar::dimensions thread_index() const;
    /// How many threads the block has, in three dimensions.
    dynpar::dimensions dim_threads() const;
    /// This block in its grid, from 0: x counts first, then y, then z.
    unsigned block_rank() const;
    /// How many blocks the grid has.
    unsigned num_blocks() const;
    /// This block in its grid, in three dimensions.
    dynpar::dimensions group_index() const;
    /// How many blocks the grid has, in three dimensions.
    dynpar::dimensions dim_blocks() const;
    /// The nesting depth: 0 for a grid that the host launched, one more for a child, the same for a continuation.
    unsigned depth() const;
    /// The threads that a moldable block gets, of at most as many as `most` says: see `shape_for`.
    unsigned moldable_threads(dynpar::at_most most) const;

    /// Barrier over the threads of the block that have not returned. Each of them then sees what the others wrote
    /// before.
    void sync();

    /// `count` elements of the block's shared memory, uninitialized, valid until the block returns. Children and
    /// continuations must not use it.
    ///
    /// The threads of a block that have not returned make the same calls in the same order, and the same call returns
    /// the same memory to all of them. The memory is part of the shape's `shared_bytes`, each call rounded up to 16
    /// bytes. When they are used up: a null pointer, and `status::shared_memory_exceeded` in the report.
    ///
    /// `T` runs no destructors and is aligned to 16 bytes at most. In a template: `block.template shared<int>(n)`.
    template <class T>
    T* shared(std::size_t count);

    /// `count` elements of global memory that belong to the grid, uninitialized: valid for the grid, its children and
    /// its continuations, until the last continuation is complete. Each call returns new memory, to the calling thread
    /// only. If there is none: a null pointer, and `status::out_of_memory` in the report.
    ///
    /// `T` runs no destructors and is aligned to 16 bytes at most. In a template: `block.template scratch<int>(n)`.
    template <class T>
    T* scratch(std::size_t count);

    /// Launches a child grid, and does not wait for it. Every thread that calls this launches one.
    ///
    /// The child sees what this thread wrote to global memory before the launch, and what the block wrote before a
    /// `sync()` that this thread has passed. It is promised nothing else. The parent's grid is not complete before it.
    ///
    /// Kernel and arguments are copied; they are trivially copyable, and aligned to 16 bytes at most. A pointer to
    /// local or shared memory among the arguments is refused with `status::invalid_pointer`.
    template <class Kernel, class... Args>
    dynpar::status launch(Kernel kernel, const dynpar::shape& shape, Args... args);

    /// The same, after everything that was given to the stream before is complete, descendants included.
    template <class Kernel, class... Args>
    dynpar::status launch(const stream& stream, Kernel kernel, const dynpar::shape& shape, Args... args);

    /// Adds a continuation: a grid of this grid's depth that begins when this whole grid and everything launched from
    /// it is complete, and sees everything they wrote. Several continuations of a grid run one after another, in the
    /// order in which they were given. A continuation belongs to the grid: in a grid of several blocks let one give it.
    template <class Kernel, class... Args>
    dynpar::status then(Kernel kernel, const dynpar::shape& shape, Args... args);

    /// A call from `spawn`, or calls from `spawn_range`. Their types have no names that programs need: give what
    /// `spawn` returns to `then`.
    class call;

    /// A call of a kernel that returns a value (`dynpar::result`). It is launched by the `then` that it is given to, as
    /// a child of one thread: `kernel(block, args...)`. A call that is given to none is not launched, and the compiler
    /// warns.
    template <class Kernel, class... Args>
    call spawn(Kernel kernel, Args... args) const;
    /// Several calls: `kernel(block, i, args...)` for i from 0 to `count` - 1, as `unsigned`.
    template <class Kernel, class... Args>
    call spawn_range(unsigned count, Kernel kernel, Args... args) const;

    /// Launches the calls, and adds a continuation that hands their values to `function`, in the order of the calls.
    ///
    /// The function may take the block before the values, and call again. In a kernel that returns a `result`, the
    /// function returns the kernel's value, and the kernel returns what `then` has returned. If the function returns
    /// nothing, `then` returns a `status`.
    ///
    /// A call that is lost has no value: then `function` is not called, and `run` and `call` throw.
    template <class Function, class... Args>
    dynpar::status then(Function function, call first, Args... calls);
    /// The same for calls of `spawn_range`: the function gets one `dynpar::value_list`.
    template <class Function>
    dynpar::status then(Function function, call range);
    /// The same, and the values are combined one after another: `operation(operation(first, v0), v1)` and so on.
    template <class Operation, class First>
    dynpar::status then(Operation operation, First first, call range);

    /// Returns when every child that the block has launched is complete, with its descendants; every thread of the
    /// block then sees what they wrote. Collective over the threads of the block that have not returned.
    ///
    /// Nested deeper than `limits::sync_depth`: `status::sync_depth_exceeded`, at once. On the cdp engine:
    /// `status::not_supported`, unless it is built for CUDA's first device runtime.
    dynpar::status wait();

    /// A new stream of this block, which does not wait for others.
    stream make_stream();
    /// A new event of this block.
    event make_event();

    Block(const Block&) = delete;
    Block& operator=(const Block&) = delete;
};
