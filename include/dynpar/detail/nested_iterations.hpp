// Iterations of nested loops (nested_for.hpp): what a body is, and how its iterations are run, several together where
// it has a first step.
#pragma once

#include <new>
#include <type_traits>
#include <utility>

#include "../collectives.hpp"
#include "../operators.hpp"
#include "../platform.hpp"
#include "../status.hpp"
#include "value_calls.hpp"

namespace dynpar::detail {

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

// ---- Bodies

/// What a body's first step gives, where it has one: `fetch(i)`. A body that can be called without that has none: its
/// `fetch` is for something else.
template <class Body, class Count, class = void>
struct fetched {
    static constexpr bool exists = false;
    using type_or_void = void;
};
template <class Body, class Count>
struct fetched<Body, Count, std::void_t<decltype(std::declval<const Body&>().fetch(std::declval<Count>()))>> {
    using type = std::decay_t<decltype(std::declval<const Body&>().fetch(std::declval<Count>()))>;
    static constexpr bool exists = !std::is_void_v<type> && !std::is_invocable_v<const Body&, Count>;
    using type_or_void = std::conditional_t<exists, type, void>;
};

/// How a body can be called, with what its first step gives or without.
template <class Body, class Block, class Count, class = void>
struct body_calls {
    static constexpr bool alone = std::is_invocable_v<const Body&, Count>;
    static constexpr bool with_block = std::is_invocable_v<const Body&, Block&, Count>;
    static constexpr bool has_good_fetch = true;
};
template <class Body, class Block, class Count>
struct body_calls<Body, Block, Count, std::enable_if_t<fetched<Body, Count>::exists>> {
    using value = typename fetched<Body, Count>::type;
    static constexpr bool alone = std::is_invocable_v<const Body&, Count, const value&>;
    static constexpr bool with_block = std::is_invocable_v<const Body&, Block&, Count, const value&>;
    static constexpr bool has_good_fetch = std::is_trivially_copyable_v<value> && std::is_copy_assignable_v<value> &&
                                           std::is_default_constructible_v<value>;
};

/// Whether a loop can have this body; if not, a sentence of the compiler, and nothing of the loop is compiled.
template <class Block, class Count, class Body>
DYNPAR_FUNCTION constexpr bool check_nested_body() {
    using calls = body_calls<Body, Block, Count>;
    constexpr bool is_count = std::is_integral_v<Count> && !std::is_same_v<Count, bool>;
    constexpr bool is_copyable = std::is_trivially_copyable_v<Body>;
    constexpr bool is_aligned = alignof(Body) <= 16;
    constexpr bool is_body = calls::alone || calls::with_block;
    static_assert(is_count, "dynpar: the count of a nested loop is an integer");
    static_assert(is_copyable,
                  "dynpar: the body of a nested loop must be a trivially copyable function object: other threads get a "
                  "copy of its bytes");
    static_assert(is_aligned, "dynpar: the body of a nested loop may be aligned to 16 bytes at most");
    static_assert(is_body || !is_count,
                  "dynpar: the body of a nested loop is called as body(i) or as body(block, i), and where it has "
                  "fetch(i) with what that returns as well; its call operator must be const");
    static_assert(calls::has_good_fetch,
                  "dynpar: what the fetch(i) of a nested loop's body returns must be trivially copyable and "
                  "assignable, and have a default constructor");
    return is_count && is_copyable && is_aligned && is_body && calls::has_good_fetch;
}

/// One iteration, after its first step if it has one.
template <class Count, class Block, class Body, class... Fetched>
DYNPAR_FUNCTION decltype(auto) run_iteration(Block& block, const Body& body, nested_index<Count> i,
                                             const Fetched&... found) {
    if constexpr (body_calls<Body, Block, Count>::alone) {
        return call_function(body, static_cast<Count>(i), found...);
    } else {
        return call_function(body, block, static_cast<Count>(i), found...);
    }
}

/// Whether what launches is a function of its own, since it takes many registers and much code: on the queue engine,
/// and not on the cdp engine, whose kernels must not call what has more registers than they have.
template <class Block, class = void>
inline constexpr bool launches_apart = false;
template <class Block>
inline constexpr bool launches_apart<Block, std::void_t<typename Block::is_handed_over_by_value>> = true;

/// Calls a function object as a function of its own. It gets the block by value, and gives it back: a block whose
/// address is known elsewhere would lie in memory. Nobody else copies blocks: a copy that is not given back counts
/// children that the block knows nothing of.
class block_handover {
public:
    template <class Function, class Block, class... Args>
    static DYNPAR_FUNCTION DYNPAR_FORCEINLINE status call(const Function& function, Block& block, const Args&... args) {
        if constexpr (launches_apart<Block>) {
            const auto after = call_apart(function, block, args...);
            block = after.block;
            return after.result;
        } else {
            return function(block, args...);
        }
    }

private:
    template <class Block>
    struct block_and_result {
        Block block;
        status result;
    };
    template <class Function, class Block, class... Args>
    static DYNPAR_FUNCTION DYNPAR_NOINLINE block_and_result<Block> call_apart(Function function, Block block,
                                                                              Args... args) {
        const status result = function(block, args...);
        return {block, result};
    }
};

/// An iteration whose body takes the block.
template <class Count>
struct call_body {
    template <class Block, class Body, class... Fetched>
    DYNPAR_FUNCTION status operator()(Block& block, const Body& body, nested_index<Count> i,
                                      const Fetched&... found) const {
        call_function(body, block, static_cast<Count>(i), found...);
        return status::success;
    }
};
/// One iteration of a loop that has no value. A body that takes the block launches, as a rule.
template <class Count, class Block, class Body, class... Fetched>
DYNPAR_FUNCTION DYNPAR_FORCEINLINE void run_body(Block& block, const Body& body, nested_index<Count> i,
                                                 const Fetched&... found) {
    if constexpr (body_calls<Body, Block, Count>::alone) {
        run_iteration<Count>(block, body, i, found...);
    } else {
        block_handover::call(call_body<Count>{}, block, body, i, found...);
    }
}

// ---- Several together

/// How many iterations a thread runs together: as many as wait for memory at the same time. Each is in registers, its
/// body and what it has fetched: fewer where they are large.
template <class Body, class Fetched>
inline constexpr unsigned iterations_in_registers = sizeof(Body) + sizeof(Fetched) <= 24 ? 4 : 2;
template <class Body>
inline constexpr unsigned iterations_in_registers<Body, void> = 1;
template <class Count, class Body>
inline constexpr unsigned iterations_together =
    iterations_in_registers<Body, typename fetched<Body, Count>::type_or_void>;

/// An iteration that a thread may have to run.
template <class Count, class Body>
struct nested_iteration {
    Body body;
    nested_index<Count> i;
    bool is_there;
};

template <class Count, class Body, class Of, class Run, unsigned... Places>
DYNPAR_FUNCTION DYNPAR_FORCEINLINE void run_fetched(const Of& of, const Run& run,
                                                    std::integer_sequence<unsigned, Places...>) {
    using value = typename fetched<Body, Count>::type;
    const nested_iteration<Count, Body> them[] = {of(Places)...};
    struct {
        value of{};
    } found[sizeof...(Places)];
    ((them[Places].is_there
          ? static_cast<void>(found[Places].of = them[Places].body.fetch(static_cast<Count>(them[Places].i)))
          : static_cast<void>(0)),
     ...);
    ((them[Places].is_there ? static_cast<void>(run(Places, them[Places], found[Places].of)) : static_cast<void>(0)),
     ...);
}

/// The iterations `of(0)`, `of(1)`, ... of the calling thread, those that are there: first the first steps of all of
/// them, then `run(k, iteration, what its first step gave)`.
template <class Count, class Body, class Of, class Run>
DYNPAR_FUNCTION DYNPAR_FORCEINLINE void run_together(const Of& of, const Run& run) {
    if constexpr (fetched<Body, Count>::exists) {
        run_fetched<Count, Body>(of, run, std::make_integer_sequence<unsigned, iterations_together<Count, Body>>{});
    } else {
        const nested_iteration<Count, Body> it = of(0u);
        if (it.is_there) run(0u, it);
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

/// Of `count` iterations from `begin` on every `step`th, beginning with `first`, several together: `run(i, what its
/// first step gave)`.
template <class Count, class Body, class Run>
DYNPAR_FUNCTION DYNPAR_FORCEINLINE void run_every(unsigned step, nested_index<Count> begin, nested_index<Count> first,
                                                  nested_index<Count> count, const Body& body, const Run& run) {
    using index = nested_index<Count>;
    for_every<index>(iterations_together<Count, Body> * step, first, count, [&](index i) {
        run_together<Count, Body>(
            [&](unsigned k) {
                return nested_iteration<Count, Body>{body, begin + i + k * step, k * step < count - i};
            },
            [&](unsigned, const nested_iteration<Count, Body>& it, const auto&... found) { run(it.i, found...); });
    });
}

// ---- The end of a call

/// On the host engine the threads of the block meet, where each has run its own loop in place of a part of all. Not if
/// the block has no memory for what its threads share: then each warp has shared by itself.
template <class Block>
DYNPAR_FUNCTION void meet_on_host(const block_group<Block>& group) {
    if constexpr (runs_on_host<Block>::value) {
        if (group.memory() != nullptr) group.block().sync();
    }
}

/// Whether what was given in place of a block is all of its threads.
template <class Block>
inline constexpr bool is_block_group = false;
template <class Block>
inline constexpr bool is_block_group<block_group<Block>> = true;

// ---- Whose iteration

/// The place of the lowest bit that is set.
DYNPAR_FUNCTION inline unsigned lowest_bit(unsigned bits) {
#if DYNPAR_ON_DEVICE
    return static_cast<unsigned>(__ffs(static_cast<int>(bits))) - 1;
#else
    return static_cast<unsigned>(__builtin_ctz(bits));
#endif
}

/// The first of `count` numbers, which ascend, that is greater than `place`; the last one if none before it is.
template <class Number, class At>
DYNPAR_FUNCTION unsigned first_above(unsigned from, unsigned count, const Number& place, const At& at) {
    for (unsigned above = count - 1; from < above;) {
        const unsigned middle = (from + above) / 2;
        if (at(middle) > place) {
            above = middle;
        } else {
            from = middle + 1;
        }
    }
    return from;
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

/// The iterations of short loops of a warp's threads, one after another: each thread takes every 32nd of them.
template <class Block>
class iterations_of_warp {
public:
    /// Each thread gives how many it has.
    DYNPAR_FUNCTION iterations_of_warp(const warp_group<Block>& warp, unsigned mine)
        : warp_(warp), end_(dynpar::inclusive_scan(warp, mine, plus{})), begin_(end_ - mine) {
        all_ = dynpar::shuffle(warp, end_, warp.num_threads() - 1);
    }
    DYNPAR_FUNCTION unsigned all() const { return all_; }      ///< how many there are
    DYNPAR_FUNCTION unsigned begin() const { return begin_; }  ///< where those of the calling thread begin
    DYNPAR_FUNCTION unsigned end() const { return end_; }      ///< and end

    /// The one at `first` and the thread's rank, with the body of whose it is. All threads make the call.
    template <class Count, class Body>
    DYNPAR_FUNCTION DYNPAR_FORCEINLINE nested_iteration<Count, Body> at(unsigned first, const Body& body) const {
        if (first >= all_) return {body, 0, false};
        const unsigned place = first + warp_.thread_rank(), owner = owner_in_warp(warp_, end_, place);
        const unsigned begin = dynpar::shuffle(warp_, begin_, owner);
        return {dynpar::shuffle(warp_, body, owner), place - begin, place < all_};
    }

private:
    warp_group<Block> warp_;
    unsigned end_, begin_, all_ = 0;
};

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

}  // namespace dynpar::detail
