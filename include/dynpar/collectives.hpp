// What the threads of a warp or of a block do together: votes, broadcasts, reductions, scans. On every engine.
//
//     auto warp = dynpar::this_warp(block);
//     int sum = dynpar::reduce(warp, x, dynpar::plus{});
//
//     auto all = dynpar::this_block(block, block.template shared<std::byte>(dynpar::collective_bytes));
//     int place = dynpar::exclusive_scan(all, x, dynpar::plus{}, 0);
//
// A call is collective: every thread of the group makes it, in the same order, and none of them has returned. The host
// engine says so if it is not (`deadlock_error`); a GPU hangs or gives anything. Values are trivially copyable. An
// operation need not be commutative: values are combined in the order of their threads' ranks. It has to be
// associative, and what is not quite that, as a sum in floating point, differs between engines and widths.
#pragma once

#include <cstddef>
#include <cstring>
#include <type_traits>

#include "operators.hpp"
#include "platform.hpp"

namespace dynpar {

/// Threads of a warp, on every engine.
inline constexpr unsigned warp_threads = 32;

/// Shared memory that `this_block` needs, in bytes, for values of up to 16 bytes. A block of one warp needs none.
inline constexpr unsigned collective_bytes = warp_threads * 16;  // 1024 threads are 32 warps

/// The threads of a block whose ranks, divided by 32, are equal: on a GPU those of a warp. Made by `this_warp`. Its
/// members have the names of CUDA's cooperative groups.
template <class Block>
class warp_group {
public:
    /// The warp of the calling thread.
    DYNPAR_FUNCTION explicit warp_group(Block& of_block) : block_(&of_block) {}

    DYNPAR_FUNCTION unsigned thread_rank() const { return block_->thread_rank() % warp_threads; }  ///< in the warp
    /// Threads of the warp: 32, or fewer in a block's last warp.
    DYNPAR_FUNCTION unsigned num_threads() const {
        const unsigned rest = block_->num_threads() - first();
        return rest < warp_threads ? rest : warp_threads;
    }
    /// This warp in the block, from 0.
    DYNPAR_FUNCTION unsigned meta_group_rank() const { return block_->thread_rank() / warp_threads; }
    /// Warps of the block.
    DYNPAR_FUNCTION unsigned meta_group_size() const {
        return (block_->num_threads() + warp_threads - 1) / warp_threads;
    }
    DYNPAR_FUNCTION Block& block() const { return *block_; }  ///< the block that the warp is a part of

    /// The rank in the block of the warp's first thread.
    DYNPAR_FUNCTION unsigned first() const { return block_->thread_rank() / warp_threads * warp_threads; }

    /// The warp's threads meet. What one wrote before, to the block's shared memory or to memory of the engine, the
    /// others see after it. Cheaper than the block's `sync()`, but for the warp alone, and none of its threads has
    /// returned.
    DYNPAR_FUNCTION void sync() const;

private:
    Block* block_;
};

/// All threads of a block, with shared memory for what they do together. Made by `this_block`.
template <class Block>
class block_group {
public:
    /// See `this_block`.
    DYNPAR_FUNCTION block_group(Block& of_block, void* shared_memory) : block_(&of_block), memory_(shared_memory) {}

    DYNPAR_FUNCTION unsigned thread_rank() const { return block_->thread_rank(); }  ///< in the block
    DYNPAR_FUNCTION unsigned num_threads() const { return block_->num_threads(); }  ///< of the block
    DYNPAR_FUNCTION Block& block() const { return *block_; }                        ///< the block itself
    DYNPAR_FUNCTION void* memory() const { return memory_; }                        ///< what `this_block` was given
    DYNPAR_FUNCTION void sync() const { block_->sync(); }                           ///< as the block's

private:
    Block* block_;
    void* memory_;
};

/// The warp of the calling thread.
template <class Block>
DYNPAR_FUNCTION warp_group<Block> this_warp(Block& block) {
    return warp_group<Block>(block);
}

/// The whole block. `memory` is `collective_bytes` of its shared memory, aligned to 16 bytes as `shared` gives it; it
/// may be null if the block has no more than 32 threads. It can be used again after each call, also for something else.
template <class Block>
DYNPAR_FUNCTION block_group<Block> this_block(Block& block, void* memory) {
    return block_group<Block>(block, memory);
}

namespace detail {

/// A mask of a warp's first lanes. A block's threads are on the lanes of their ranks: a warp of one thread has no mask.
DYNPAR_FUNCTION constexpr unsigned lanes_of(unsigned threads) {
    return threads >= warp_threads ? 0xffffffffu : (1u << threads) - 1;
}

template <class T>
DYNPAR_FUNCTION constexpr void check_collective() {
    static_assert(std::is_trivially_copyable_v<T>, "dynpar: what threads hand each other must be trivially copyable");
}
template <class T>
DYNPAR_FUNCTION constexpr void check_block_collective() {
    check_collective<T>();
    static_assert(sizeof(T) <= 16 && alignof(T) <= 16,
                  "dynpar: what the threads of a block hand each other may have 16 bytes at most");
}

struct first_of_two {
    template <class T>
    DYNPAR_FUNCTION T operator()(const T& first, const T&) const {
        return first;
    }
};

/// What a reduction or a scan is given to combine values with; of what cannot do that a sentence of the compiler, and
/// in its place something that can, for there to be no further errors.
template <class T, class Op>
DYNPAR_FUNCTION constexpr decltype(auto) operation_of(const Op& op) {
    if constexpr (std::is_invocable_v<const Op&, T&, const T&>) {
        return (op);
    } else {
        static_assert(std::is_invocable_v<const Op&, T&, const T&>,
                      "dynpar: reduce and the scans of a warp or a block take an operation on two values such as "
                      "dynpar::plus{}, not a monoid such as dynpar::sum<T>{}");
        return first_of_two{};
    }
}

/// Whether a block is the host engine's, which says so.
template <class Block>
struct runs_on_host : std::false_type {};

// ---- The two things that engines do in ways of their own: all else is made of them.

/// The value of the thread with that rank in the warp.
template <class Block, class T>
DYNPAR_FUNCTION T shuffle(const warp_group<Block>& warp, const T& value, unsigned rank) {
    const unsigned threads = warp.num_threads();
    T result = value;
    if constexpr (runs_on_host<Block>::value) Block::check_rank(rank, threads);
    if (threads == 1) return result;
    if constexpr (runs_on_host<Block>::value) {
        const void* const values = warp.block().gather(warp.meta_group_rank(), threads, &value, sizeof(T));
        memcpy(static_cast<void*>(&result), static_cast<const std::byte*>(values) + rank * sizeof(T), sizeof(T));
    } else {
#if DYNPAR_ON_DEVICE
        unsigned words[(sizeof(T) + 3) / 4] = {};
        memcpy(words, &result, sizeof(T));
#pragma unroll
        for (unsigned& word : words) word = __shfl_sync(lanes_of(threads), word, static_cast<int>(rank));
        memcpy(static_cast<void*>(&result), words, sizeof(T));
#else
        static_cast<void>(rank);
#endif
    }
    return result;
}

/// A bit for each thread of the warp: what it says.
template <class Block>
DYNPAR_FUNCTION unsigned ballot(const warp_group<Block>& warp, bool says) {
    const unsigned threads = warp.num_threads();
    if (threads == 1) return says ? 1 : 0;
    unsigned result = 0;
    if constexpr (runs_on_host<Block>::value) {
        const auto* const all =
            static_cast<const bool*>(warp.block().gather(warp.meta_group_rank(), threads, &says, sizeof(says)));
        for (unsigned rank = 0; rank < threads; ++rank) result |= (all[rank] ? 1u : 0u) << rank;
    } else {
#if DYNPAR_ON_DEVICE
        result = __ballot_sync(lanes_of(threads), says);
#endif
    }
    return result;
}

/// The values of all threads, combined in as many steps as the number of threads has bits.
template <class Block, class T, class Op>
DYNPAR_FUNCTION T reduce_in_steps(const warp_group<Block>& warp, T value, const Op& operation) {
    const unsigned rank = warp.thread_rank(), threads = warp.num_threads();
    // After each step a thread has the values of twice as many threads, from its own on.
    for (unsigned step = 1; step < threads; step *= 2) {
        const bool there = rank + step < threads;
        const T further = detail::shuffle(warp, value, there ? rank + step : rank);
        if (there) value = operation(value, further);
    }
    return detail::shuffle(warp, value, 0);
}

#if DYNPAR_ON_DEVICE && __CUDA_ARCH__ >= 800
template <class Op, class... Ops>
inline constexpr bool is_any_of = (std::is_same_v<Op, Ops> || ...);
/// Whether the hardware combines such values in one instruction.
template <class Block, class T, class Op>
inline constexpr bool reduces_at_once = !runs_on_host<Block>::value && std::is_integral_v<T> && sizeof(T) <= 4 &&
                                        is_any_of<Op, plus, minimum, maximum, bit_and, bit_or, bit_xor>;

template <class Op, class T>
__device__ inline T reduce_at_once(unsigned lanes, T value) {
    using word = std::conditional_t<std::is_signed_v<T>, int, unsigned>;
    const auto as_word = static_cast<word>(value);
    const auto bits = static_cast<unsigned>(as_word);
    if constexpr (std::is_same_v<Op, minimum>) {
        return static_cast<T>(__reduce_min_sync(lanes, as_word));
    } else if constexpr (std::is_same_v<Op, maximum>) {
        return static_cast<T>(__reduce_max_sync(lanes, as_word));
    } else if constexpr (std::is_same_v<Op, plus>) {
        return static_cast<T>(__reduce_add_sync(lanes, bits));
    } else if constexpr (std::is_same_v<Op, bit_and>) {
        return static_cast<T>(__reduce_and_sync(lanes, bits));
    } else if constexpr (std::is_same_v<Op, bit_or>) {
        return static_cast<T>(__reduce_or_sync(lanes, bits));
    } else {
        return static_cast<T>(__reduce_xor_sync(lanes, bits));
    }
}
#else
template <class Block, class T, class Op>
inline constexpr bool reduces_at_once = false;

template <class Op, class T>
DYNPAR_FUNCTION T reduce_at_once(unsigned, T value) {
    return value;  // never called
}
#endif

/// Where the block's warps put a value each.
template <class T, class Block>
DYNPAR_FUNCTION T* room_for_warps(const block_group<Block>& group) {
    if constexpr (runs_on_host<Block>::value) Block::check_memory(group.memory());
    return static_cast<T*>(group.memory());
}

/// Values of a block's warps, one each, combined in their order by every thread; the first `count` of them.
template <class T, class Op>
DYNPAR_FUNCTION T combine(const T* of_warps, unsigned count, const Op& op) {
    T result = of_warps[0];
    for (unsigned i = 1; i < count; ++i) result = op(result, of_warps[i]);
    return result;
}

}  // namespace detail

template <class Block>
DYNPAR_FUNCTION void warp_group<Block>::sync() const {
    if constexpr (detail::runs_on_host<Block>::value) {
        static_cast<void>(detail::ballot(*this, true));
    } else {
#if DYNPAR_ON_DEVICE
        if (num_threads() > 1) __syncwarp(detail::lanes_of(num_threads()));
#endif
    }
}

// ---- Over a warp

/// A bit for each thread of the warp, the lowest for the first: whether it says yes.
template <class Block>
DYNPAR_FUNCTION unsigned ballot(const warp_group<Block>& warp, bool says) {
    return detail::ballot(warp, says);
}

/// The value of the thread with that rank in the warp; each thread may ask for another. `rank` is below
/// `num_threads()`.
template <class Block, class T>
DYNPAR_FUNCTION T shuffle(const warp_group<Block>& warp, const T& value, unsigned rank) {
    detail::check_collective<T>();
    return detail::shuffle(warp, value, rank);
}

/// How many threads say yes.
template <class Block>
DYNPAR_FUNCTION unsigned count(const warp_group<Block>& warp, bool says) {
    unsigned bits = detail::ballot(warp, says), result = 0;
#if DYNPAR_ON_DEVICE
    result = static_cast<unsigned>(__popc(bits));
#else
    for (; bits != 0; bits &= bits - 1) ++result;
#endif
    return result;
}

/// The value of one thread, for all of them. `rank` is the same for all threads, and below `num_threads()`.
template <class Block, class T>
DYNPAR_FUNCTION T broadcast(const warp_group<Block>& warp, const T& value, unsigned rank = 0) {
    return shuffle(warp, value, rank);
}

/// The values of all threads, combined; every thread gets the result. On a GPU from compute capability 8.0 on one
/// instruction for integers of up to 32 bits with `plus`, `minimum`, `maximum` and the three on bits.
template <class Block, class T, class Op>
DYNPAR_FUNCTION T reduce(const warp_group<Block>& warp, T value, const Op& op) {
    detail::check_collective<T>();
    const auto& operation = detail::operation_of<T>(op);
    if constexpr (detail::reduces_at_once<Block, T, Op>) {
        const unsigned threads = warp.num_threads();
        return threads == 1 ? value : detail::reduce_at_once<Op>(detail::lanes_of(threads), value);
    } else {
        return detail::reduce_in_steps(warp, value, operation);
    }
}

/// The values of all threads up to this one, its own among them, combined.
template <class Block, class T, class Op>
DYNPAR_FUNCTION T inclusive_scan(const warp_group<Block>& warp, T value, const Op& op) {
    detail::check_collective<T>();
    const auto& operation = detail::operation_of<T>(op);
    const unsigned rank = warp.thread_rank(), threads = warp.num_threads();
    for (unsigned step = 1; step < threads; step *= 2) {
        const bool there = rank >= step;
        const T before = detail::shuffle(warp, value, there ? rank - step : rank);
        if (there) value = operation(before, value);
    }
    return value;
}

/// `initial` and the values of all threads before this one, combined.
template <class Block, class T, class Op>
DYNPAR_FUNCTION T exclusive_scan(const warp_group<Block>& warp, const T& value, const Op& op,
                                 const std::common_type_t<T>& initial) {
    const auto& operation = detail::operation_of<T>(op);
    const unsigned rank = warp.thread_rank();
    const T before = detail::shuffle(warp, inclusive_scan(warp, value, operation), rank == 0 ? 0 : rank - 1);
    return rank == 0 ? initial : operation(initial, before);
}

// ---- Over a block: each warp by itself, then what the warps have found

/// The values of all threads, combined; every thread gets the result.
template <class Block, class T, class Op>
DYNPAR_FUNCTION T reduce(const block_group<Block>& group, const T& value, const Op& op) {
    detail::check_block_collective<T>();
    const auto& operation = detail::operation_of<T>(op);
    Block& block = group.block();
    const warp_group<Block> warp = this_warp(block);
    const T of_warp = reduce(warp, value, operation);
    if (warp.meta_group_size() == 1) return of_warp;
    T* const of_warps = detail::room_for_warps<T>(group);
    if (warp.thread_rank() == 0) of_warps[warp.meta_group_rank()] = of_warp;
    block.sync();
    const T result = detail::combine(of_warps, warp.meta_group_size(), operation);
    block.sync();
    return result;
}

/// The values of all threads up to this one, its own among them, combined.
template <class Block, class T, class Op>
DYNPAR_FUNCTION T inclusive_scan(const block_group<Block>& group, const T& value, const Op& op) {
    detail::check_block_collective<T>();
    const auto& operation = detail::operation_of<T>(op);
    Block& block = group.block();
    const warp_group<Block> warp = this_warp(block);
    T result = inclusive_scan(warp, value, operation);
    if (warp.meta_group_size() == 1) return result;
    T* const of_warps = detail::room_for_warps<T>(group);
    if (warp.thread_rank() == warp.num_threads() - 1) of_warps[warp.meta_group_rank()] = result;
    block.sync();
    if (warp.meta_group_rank() != 0)
        result = operation(detail::combine(of_warps, warp.meta_group_rank(), operation), result);
    block.sync();
    return result;
}

/// `initial` and the values of all threads before this one, combined.
template <class Block, class T, class Op>
DYNPAR_FUNCTION T exclusive_scan(const block_group<Block>& group, const T& value, const Op& op,
                                 const std::common_type_t<T>& initial) {
    detail::check_block_collective<T>();
    const auto& operation = detail::operation_of<T>(op);
    Block& block = group.block();
    const warp_group<Block> warp = this_warp(block);
    const unsigned rank = warp.thread_rank(), rank_of_warp = warp.meta_group_rank();
    const T up_to_here = inclusive_scan(warp, value, operation);
    const T before = detail::shuffle(warp, up_to_here, rank == 0 ? 0 : rank - 1);
    T result = initial;
    if (warp.meta_group_size() != 1) {
        T* const of_warps = detail::room_for_warps<T>(group);
        if (rank == warp.num_threads() - 1) of_warps[rank_of_warp] = up_to_here;
        block.sync();
        if (rank_of_warp != 0) result = operation(initial, detail::combine(of_warps, rank_of_warp, operation));
        block.sync();
    }
    return rank == 0 ? result : operation(result, before);
}

/// The value of one thread, for all of them. `rank` is the same for all threads, and below `num_threads()`.
template <class Block, class T>
DYNPAR_FUNCTION T broadcast(const block_group<Block>& group, const T& value, unsigned rank = 0) {
    detail::check_block_collective<T>();
    Block& block = group.block();
    const warp_group<Block> warp = this_warp(block);
    if constexpr (detail::runs_on_host<Block>::value) Block::check_rank(rank, group.num_threads());
    if (warp.meta_group_size() == 1) return detail::shuffle(warp, value, rank);
    T* const place = detail::room_for_warps<T>(group);
    if (block.thread_rank() == rank) *place = value;
    block.sync();
    const T result = *place;
    block.sync();
    return result;
}

/// How many threads say yes.
template <class Block>
DYNPAR_FUNCTION unsigned count(const block_group<Block>& group, bool says) {
    Block& block = group.block();
    const warp_group<Block> warp = this_warp(block);
    const unsigned of_warp = count(warp, says);
    if (warp.meta_group_size() == 1) return of_warp;
    unsigned* const of_warps = detail::room_for_warps<unsigned>(group);
    if (warp.thread_rank() == 0) of_warps[warp.meta_group_rank()] = of_warp;
    block.sync();
    const unsigned result = detail::combine(of_warps, warp.meta_group_size(), plus{});
    block.sync();
    return result;
}

// ---- Over either

/// Whether any thread says yes.
template <class Group>
DYNPAR_FUNCTION bool any(const Group& group, bool says) {
    return count(group, says) != 0;
}

/// Whether all threads say yes.
template <class Group>
DYNPAR_FUNCTION bool all(const Group& group, bool says) {
    return count(group, !says) == 0;
}

}  // namespace dynpar
