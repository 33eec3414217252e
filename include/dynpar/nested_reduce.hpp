// Loops in a kernel's threads whose lengths differ, with a value each: what their iterations return, combined. As
// nested_for.hpp, whose rules hold here too.
//
//     unsigned heaviest = dynpar::nested_reduce(block, degree, weight_of{...}, dynpar::largest<unsigned>{});
//     dynpar::nested_reduce_into(block, degree, weight_of{...}, dynpar::sum<unsigned>{}, &total[i]);
#pragma once

#include <new>
#include <type_traits>
#include <utility>

#include "atomic.hpp"
#include "collectives.hpp"
#include "detail/nested_grids.hpp"
#include "detail/nested_iterations.hpp"
#include "monoids.hpp"
#include "nested_for_options.hpp"
#include "operators.hpp"
#include "platform.hpp"
#include "status.hpp"

namespace dynpar {

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

/// How a value in memory is combined with another one: by comparing and exchanging, if there is no operation for it.
template <class Monoid, class T>
DYNPAR_FUNCTION void combine_by_exchange(T* address, const T& value) {
    change_atomically(address, [&](const T& before) { return Monoid::combine(before, value); });
}
template <class Monoid>
struct atomic_combination {
    template <class T>
    static DYNPAR_FUNCTION void run(T* address, const T& value) {
        combine_by_exchange<Monoid>(address, value);
    }
};
template <class T>
struct atomic_combination<sum<T>> {
    static DYNPAR_FUNCTION void run(T* address, const T& value) {
        if constexpr (is_atomic_number<T>) {
            atomic_add(address, value);
        } else {
            combine_by_exchange<sum<T>>(address, value);
        }
    }
};
// Of the others most change nothing where many have the same memory, and a look costs less than an atomic operation.
template <class T>
struct atomic_combination<smallest<T>> {
    static DYNPAR_FUNCTION void run(T* address, const T& value) {
        if constexpr (is_atomic_number<T>) {
            if (value < load_relaxed(address)) atomic_min(address, value);
        } else {
            combine_by_exchange<smallest<T>>(address, value);
        }
    }
};
template <class T>
struct atomic_combination<largest<T>> {
    static DYNPAR_FUNCTION void run(T* address, const T& value) {
        if constexpr (is_atomic_number<T>) {
            if (load_relaxed(address) < value) atomic_max(address, value);
        } else {
            combine_by_exchange<largest<T>>(address, value);
        }
    }
};
template <class T>
struct atomic_combination<bits_of_all<T>> {
    static DYNPAR_FUNCTION void run(T* address, const T& value) {
        if constexpr (is_atomic_integer<T>) {
            if ((load_relaxed(address) & static_cast<T>(~value)) != 0) atomic_and(address, value);
        } else {
            combine_by_exchange<bits_of_all<T>>(address, value);
        }
    }
};
template <class T>
struct atomic_combination<bits_of_any<T>> {
    static DYNPAR_FUNCTION void run(T* address, const T& value) {
        if constexpr (is_atomic_integer<T>) {
            if ((value & static_cast<T>(~load_relaxed(address))) != 0) atomic_or(address, value);
        } else {
            combine_by_exchange<bits_of_any<T>>(address, value);
        }
    }
};

/// `*into` and a value, combined; if its own value is final nothing is written.
template <class Monoid, class T>
DYNPAR_FUNCTION void combine_into(T* into, const T& value) {
    if constexpr (has_final_value<Monoid>) {
        if (is_final<Monoid>(load_relaxed(into))) return;
    }
    atomic_combination<Monoid>::run(into, value);
}

/// Of `count` iterations from `begin` on every `step`th, beginning with `first`, combined.
template <class Monoid, class Count, class Block, class Body>
DYNPAR_FUNCTION DYNPAR_FORCEINLINE typename Monoid::value_type reduce_every(Block& block, unsigned step,
                                                                            nested_index<Count> begin,
                                                                            nested_index<Count> first,
                                                                            nested_index<Count> count,
                                                                            const Body& body) {
    using value = typename Monoid::value_type;
    using index = nested_index<Count>;
    value result = Monoid::identity();
    const auto run = [&](index i, const auto&... found) {
        if (!is_final<Monoid>(result))
            result = Monoid::combine(result, static_cast<value>(run_iteration<Count>(block, body, i, found...)));
    };
    const unsigned together = iterations_together<Count, Body> * step;
    for (index i = first; i < count && !is_final<Monoid>(result); i += together) {
        run_every<Count>(step, begin, i, count - i < together ? count : i + together, body, run);
        if (count - i <= together) break;
    }
    return result;
}

/// Of a thread's loop `count` iterations from `begin` on, run by all threads of its warp or block; each gets the value.
/// From time to time they ask each other whether it is known.
template <class Monoid, class Count, class Group, class Body>
DYNPAR_FUNCTION DYNPAR_FORCEINLINE typename Monoid::value_type reduce_together(const Group& group, unsigned rounds,
                                                                               nested_index<Count> begin,
                                                                               nested_index<Count> count,
                                                                               const Body& body) {
    using value = typename Monoid::value_type;
    using index = nested_index<Count>;
    const unsigned threads = group.num_threads(), rank = group.thread_rank();
    value result = Monoid::identity();
    if constexpr (has_final_value<Monoid>) {
        const index part = threads * rounds * iterations_together<Count, Body>;
        for (index first = 0; first < count; first += part) {
            const index of_part = count - first < part ? count - first : part;
            result = Monoid::combine(
                result, reduce_every<Monoid, Count>(group.block(), threads, begin + first, rank, of_part, body));
            if (dynpar::any(group, is_final<Monoid>(result)) || of_part == count - first) break;
        }
    } else {
        result = reduce_every<Monoid, Count>(group.block(), threads, begin, rank, count, body);
    }
    return dynpar::reduce(group, result, combine_by<Monoid>{});
}

/// The short loops of a warp's threads, from iteration `begin` on: each thread takes the next iteration, whose ever it
/// is, and gets what its own loop came to.
template <class Monoid, class Count, class Block, class Body>
DYNPAR_FUNCTION DYNPAR_FORCEINLINE typename Monoid::value_type reduce_short(const warp_group<Block>& warp,
                                                                            nested_index<Count> begin, unsigned count,
                                                                            const Body& body) {
    using value = typename Monoid::value_type;
    constexpr unsigned together = iterations_together<Count, Body>;
    const unsigned threads = warp.num_threads(), rank = warp.thread_rank();
    const iterations_of_warp<Block> few(warp, count);
    value result = Monoid::identity();
    for (unsigned first = 0; first < few.all(); first += together * threads) {
        struct {
            value of = Monoid::identity();
            unsigned before = 0;  // iterations of the same loop before this one
        } turns[together];
        run_together<Count, Body>(
            [&](unsigned k) {
                auto it = few.template at<Count>(first + k * threads, body);
                turns[k].before = it.is_there ? static_cast<unsigned>(it.i) : 0;
                it.i += begin;
                return it;
            },
            [&](unsigned k, const nested_iteration<Count, Body>& it, const auto&... found) {
                turns[k].of = static_cast<value>(run_iteration<Count>(warp.block(), it.body, it.i, found...));
            });
#if DYNPAR_ON_DEVICE
#pragma unroll
#endif
        for (unsigned k = 0; k < together; ++k) {
            const unsigned turn = first + k * threads, end = turn + threads;
            if (turn >= few.all()) break;
            // Each thread combines with those before it that have the same loop, and then has the loop up to its own.
            for (unsigned step = 1; step < threads; step *= 2) {
                const value of_earlier = dynpar::shuffle(warp, turns[k].of, rank < step ? rank : rank - step);
                if (rank >= step && turns[k].before >= step) turns[k].of = Monoid::combine(of_earlier, turns[k].of);
            }
            const unsigned last = few.end() < end ? few.end() : end;
            const bool has_part = few.begin() < last && last > turn;
            const value of_part = dynpar::shuffle(warp, turns[k].of, has_part ? last - 1 - turn : rank);
            if (has_part) result = Monoid::combine(result, of_part);
        }
    }
    return result;
}

/// What each thread's loop comes to.
template <class Monoid, class Count, class Block, class Body>
DYNPAR_FUNCTION DYNPAR_FORCEINLINE typename Monoid::value_type reduce_in_warp(Block& block, nested_index<Count> count,
                                                                              const Body& body, unsigned own) {
    using value = typename Monoid::value_type;
    using index = nested_index<Count>;
    const warp_group<Block> warp(block);
    value result = Monoid::identity();
    if constexpr (!runs_on_host<Block>::value) {
        const unsigned threads = warp.num_threads();
        if (threads > 1 && dynpar::any(warp, count > own)) {
            index begin = 0;  // of what is shared
            if constexpr (has_final_value<Monoid>) {
                // Often one of the first values is final: then the thread has nothing to share. The same number for
                // all.
                own = dynpar::shuffle(warp, own, 0);
                result = reduce_every<Monoid, Count>(block, 1, 0, 0, count < own ? count : own, body);
                begin = own;
                count = count <= own || is_final<Monoid>(result) ? 0 : count - own;
            }
            const bool is_for_all = count >= threads;
            result = Monoid::combine(
                result, reduce_short<Monoid, Count>(warp, begin, is_for_all ? 0 : static_cast<unsigned>(count), body));
            for (unsigned bits = dynpar::ballot(warp, is_for_all); bits != 0; bits &= bits - 1) {
                const unsigned owner = lowest_bit(bits);
                const Body theirs = dynpar::shuffle(warp, body, owner);
                const index of_owner = dynpar::shuffle(warp, count, owner);
                const value of_all = reduce_together<Monoid, Count>(warp, 1, begin, of_owner, theirs);
                if (warp.thread_rank() == owner) result = Monoid::combine(result, of_all);
            }
            warp.sync();
            return result;
        }
    }
    result = reduce_every<Monoid, Count>(block, 1, 0, 0, count, body);
    warp.sync();
    return result;
}

/// The same, where all threads of the block run what is very long. It has more than a warp, and memory.
template <class Monoid, class Count, class Block, class Body>
DYNPAR_FUNCTION DYNPAR_FORCEINLINE typename Monoid::value_type reduce_in_block(const block_group<Block>& sharing,
                                                                               const nested_memory<Body>& shared,
                                                                               nested_index<Count> count,
                                                                               const Body& body, unsigned own) {
    using value = typename Monoid::value_type;
    using index = nested_index<Count>;
    Block& block = sharing.block();
    const unsigned threads = block.num_threads(), rank = block.thread_rank();
    bool is_for_all = count / warp_threads > threads / 4;  // a warp would take long
    value result = reduce_in_warp<Monoid, Count>(block, is_for_all ? index{0} : count, body, own);
    new (shared.bodies + rank) Body(body);
    for (;;) {
        const unsigned owner = dynpar::reduce(sharing, is_for_all ? rank : threads, minimum{});
        if (owner == threads) return result;
        const index of_owner = dynpar::broadcast(sharing, count, owner);  // and the body is there
        constexpr unsigned rounds = 8;                                    // to ask each other costs two barriers
        const value of_all = reduce_together<Monoid, Count>(sharing, rounds, 0, of_owner, shared.bodies[owner]);
        if (rank == owner) result = of_all;
        is_for_all = is_for_all && rank != owner;
    }
}

/// Whether a block shares its loops as a whole, and not each warp its own.
template <class Block>
DYNPAR_FUNCTION bool reduces_in_block(const block_group<Block>& group) {
    return !runs_on_host<Block>::value && group.block().num_threads() > warp_threads && group.memory() != nullptr;
}

// ---- Into memory

/// The body of a loop whose value goes into memory, for a child grid.
template <class Body, class Monoid>
struct combined_body {
    Body body;
    typename Monoid::value_type* into;
};

/// The loop of one thread, combined by each warp of a block, which runs a piece.
template <class Count, class Body, class Monoid>
struct nested_range<Count, combined_body<Body, Monoid>> {
    combined_body<Body, Monoid> body;

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, nested_index<Count> count, unsigned piece) const {
        using index = nested_index<Count>;
        using value = typename Monoid::value_type;
        const nested_piece mine(block, count, piece);
        const value of_thread =
            reduce_every<Monoid, Count>(block, block.num_threads(), static_cast<index>(mine.begin), block.thread_rank(),
                                        static_cast<index>(mine.count), body.body);
        if constexpr (runs_on_host<Block>::value) {  // whose threads had better not wait for each other
            combine_into<Monoid>(body.into, of_thread);
        } else {
            const warp_group<Block> warp(block);
            const value of_warp = dynpar::reduce(warp, of_thread, combine_by<Monoid>{});
            if (warp.thread_rank() == 0) combine_into<Monoid>(body.into, of_warp);
        }
    }
};

/// The loops of a list: each thread combines what it runs of one loop.
template <class Count, class Body, class Monoid>
struct nested_list<Count, combined_body<Body, Monoid>> {
    using value = typename Monoid::value_type;
    using combined = combined_body<Body, Monoid>;

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, const nested_item<combined>* items, unsigned number,
                                    unsigned piece) const {
        using index = unsigned long long;
        const nested_items<combined> loops(items, number);
        const nested_piece mine(block, loops.all(), piece);
        unsigned owner = loops.owner_of(mine.begin);
        value result = Monoid::identity();
        value* into = nullptr;
        for_every<index>(block.num_threads(), block.thread_rank(), mine.count, [&](index i) {
            owner = loops.owner_of(mine.begin + i, owner);
            const combined& theirs = loops.body_of(owner);
            if (into != theirs.into) {
                if (into != nullptr) combine_into<Monoid>(into, result);
                into = theirs.into;
                result = Monoid::identity();
            }
            const auto of_loop = static_cast<nested_index<Count>>(mine.begin + i - loops.begin_of(owner));
            run_every<Count>(1, of_loop, 0, 1, theirs.body, [&](nested_index<Count> k, const auto&... found) {
                result =
                    Monoid::combine(result, static_cast<value>(run_iteration<Count>(block, theirs.body, k, found...)));
            });
        });
        if (into != nullptr) combine_into<Monoid>(into, result);
    }
};

template <class Count, class Body, class Monoid>
struct named_after<nested_range<Count, combined_body<Body, Monoid>>> {
    using type = Body;
};
template <class Count, class Body, class Monoid>
struct named_after<nested_list<Count, combined_body<Body, Monoid>>> {
    using type = Body;
};

}  // namespace detail

/// What `body(i)` returns in every thread of the block, for each i below the thread's `count`, combined by the monoid
/// (monoids.hpp); of no iterations the identity. Each thread gets the value of its own loop, and all iterations are
/// done when the call returns: there are no child grids, so a very long loop takes long (`nested_reduce_into`). The
/// threads of a warp share the iterations; if no loop has more than `options.own` each thread runs its own.
///
/// The body is as for `nested_for`, with a value, and may have a first step. A monoid may have a function
/// `static bool is_final(value)`: no iteration need be run after a value for which it is true, and few are.
///
///     const bool is_near = dynpar::nested_reduce(block, degree, is_at_home{...}, dynpar::whether_any{});
template <class Block, class Count, class Body, class Monoid, std::enable_if_t<!detail::is_block_group<Block>, int> = 0>
DYNPAR_FUNCTION DYNPAR_FORCEINLINE typename Monoid::value_type nested_reduce(Block& block, Count count,
                                                                             const Body& body, Monoid,
                                                                             const nested_for_options& options = {}) {
    auto& here = detail::engine_block(block);
    using block_type = std::remove_reference_t<decltype(here)>;
    if constexpr (detail::check_nested_body<block_type, Count, Body>()) {
        return detail::reduce_in_warp<Monoid, Count>(here, detail::iterations_of(count), body, options.own);
    } else {
        return Monoid::identity();
    }
}

/// The same in a whole block, all of whose threads run what is very long: `nested_reduce(this_block(block, memory),
/// count, body, monoid)`, with memory as for `nested_for`. The monoid's values have 16 bytes at most.
template <class Block, class Count, class Body, class Monoid>
DYNPAR_FUNCTION DYNPAR_FORCEINLINE typename Monoid::value_type nested_reduce(const block_group<Block>& group,
                                                                             Count count, const Body& body,
                                                                             Monoid monoid,
                                                                             const nested_for_options& options = {}) {
    if constexpr (detail::check_nested_body<Block, Count, Body>()) {
        if (!detail::reduces_in_block(group)) {
            const auto result = nested_reduce(group.block(), count, body, monoid, options);
            detail::meet_on_host(group);
            return result;
        }
        const detail::nested_memory<Body> shared(group.memory(), group.num_threads());
        return detail::reduce_in_block<Monoid, Count>(block_group<Block>(group.block(), shared.of_warps), shared,
                                                      detail::iterations_of(count), body, options.own);
    } else {
        return Monoid::identity();
    }
}

/// `*into` of each thread and what its loop comes to, combined: `nested_reduce` for loops of any length, since long
/// ones go to child grids, and with them their share of the value. The memory holds a value from the beginning, for
/// instance the identity, and is changed by atomic operations: it is global memory, several threads may have the same,
/// and the value is an arithmetic type or another trivially copyable one, of 4 or 8 bytes and aligned to them. A thread
/// without iterations needs no memory.
///
/// When the call returns, what the warp has kept is combined, and its threads see it. What is in child grids is when
/// children are complete: before a continuation of the grid (`then`), after `wait()`. Returns what `nested_for` does.
///
///     dynpar::nested_reduce_into(block, children, value_of_child{first}, dynpar::sum<unsigned>{}, &sums[i]);
template <class Block, class Count, class Body, class Monoid, std::enable_if_t<!detail::is_block_group<Block>, int> = 0>
DYNPAR_FUNCTION DYNPAR_FORCEINLINE status nested_reduce_into(Block& block, Count count, const Body& body, Monoid,
                                                             typename Monoid::value_type* into,
                                                             const nested_for_options& options = {}) {
    auto& here = detail::engine_block(block);
    using block_type = std::remove_reference_t<decltype(here)>;
    using value = typename Monoid::value_type;
    static_assert(
        detail::is_atomic<value>,
        "dynpar: what nested_reduce_into combines must be trivially copyable, of 4 or 8 bytes, and aligned to them");
    if constexpr (detail::check_nested_body<block_type, Count, Body>() && detail::is_atomic<value>) {
        using index = detail::nested_index<Count>;
        const warp_group<block_type> warp(here);
        const detail::nested_plan plan = detail::plan_of(here, options, warp.num_threads());
        const detail::combined_body<Body, Monoid> combined{body, into};
        return detail::divide<detail::loops_of_warp, Count>(
            here, nullptr, detail::iterations_of(count), combined, plan, [&](index few) {
                const value of_loop = detail::reduce_in_warp<Monoid, Count>(here, few, body, plan.own);
                if (few != 0) detail::combine_into<Monoid>(into, of_loop);
                warp.sync();
            });
    } else {
        return status::not_supported;
    }
}

/// The same in a whole block: `nested_reduce_into(this_block(block, memory), count, body, monoid, into)`, with memory
/// as for `nested_for`.
template <class Block, class Count, class Body, class Monoid>
DYNPAR_FUNCTION DYNPAR_FORCEINLINE status nested_reduce_into(const block_group<Block>& group, Count count,
                                                             const Body& body, Monoid monoid,
                                                             typename Monoid::value_type* into,
                                                             const nested_for_options& options = {}) {
    using value = typename Monoid::value_type;
    static_assert(
        detail::is_atomic<value>,
        "dynpar: what nested_reduce_into combines must be trivially copyable, of 4 or 8 bytes, and aligned to them");
    if constexpr (detail::check_nested_body<Block, Count, Body>() && detail::is_atomic<value>) {
        if (!detail::reduces_in_block(group)) {
            const status done = nested_reduce_into(group.block(), count, body, monoid, into, options);
            detail::meet_on_host(group);
            return done;
        }
        using index = detail::nested_index<Count>;
        const detail::nested_plan plan = detail::plan_of(group.block(), options, group.num_threads());
        const detail::nested_memory<Body> shared(group.memory(), group.num_threads());
        const block_group<Block> sharing(group.block(), shared.of_warps);
        const detail::combined_body<Body, Monoid> combined{body, into};
        return detail::divide<detail::loops_of_block, Count>(
            group.block(), shared.of_warps, detail::iterations_of(count), combined, plan, [&](index few) {
                const value of_loop = detail::reduce_in_block<Monoid, Count>(sharing, shared, few, body, plan.own);
                if (few != 0) detail::combine_into<Monoid>(into, of_loop);
                group.block().sync();
            });
    } else {
        return status::not_supported;
    }
}

namespace detail {

template <class T, class = void>
inline constexpr bool has_value_type = false;
template <class T>
inline constexpr bool has_value_type<T, std::void_t<typename T::value_type>> = true;
template <class T>
using if_no_value_type = std::enable_if_t<!has_value_type<T>, int>;

template <class Result, class Operation>
DYNPAR_FUNCTION Result explain_wrong_monoid() {
    static_assert(has_value_type<Operation>,
                  "dynpar: nested_reduce and nested_reduce_into take a monoid such as dynpar::sum<T>{}, which has an "
                  "identity, not an operation such as dynpar::plus{}");
    return Result{};
}

}  // namespace detail

/// With anything but a monoid: a sentence of the compiler.
template <class Place, class Count, class Body, class Operation, detail::if_no_value_type<Operation> = 0>
DYNPAR_FUNCTION unsigned nested_reduce(const Place&, const Count&, const Body&, const Operation&,
                                       const nested_for_options& = {}) {
    return detail::explain_wrong_monoid<unsigned, Operation>();
}
/// With anything but a monoid: a sentence of the compiler.
template <class Place, class Count, class Body, class Operation, class T, detail::if_no_value_type<Operation> = 0>
DYNPAR_FUNCTION status nested_reduce_into(const Place&, const Count&, const Body&, const Operation&, T*,
                                          const nested_for_options& = {}) {
    return detail::explain_wrong_monoid<status, Operation>();
}

}  // namespace dynpar
