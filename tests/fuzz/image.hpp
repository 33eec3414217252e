// A random program as device code reads it: the grids by class, what each does step by step, and what has to be
// complete before.
//
// Grids that are launched by the same step are alike: one `node` stands for all of them. A grid is known by its `base`,
// the first of its slots. It has a slot for each of its blocks, and behind them lie the slots of all that comes from
// it: first its children in the order of the steps, then its continuations. So what a continuation has to find complete
// is one range: from its grid's base to its own.
#pragma once

#include <dynpar/platform.hpp>

#include <cstdint>

namespace fuzz {

inline constexpr std::uint32_t all = 0xffffffff;  // every thread, or every block

/// The kernels. They differ in the bytes of their arguments and in how many registers they take.
enum class kernel : std::uint32_t {
    bytes_4,
    bytes_8,
    bytes_16,  // one of the arguments is a pointer
    bytes_20,
    bytes_28,
    bytes_32,
    bytes_48,
    bytes_100,
    bytes_200,
    state_12,   // arguments and a kernel object with state
    most_64,    // at most 64 threads
    registers,  // many live values
    direct,     // launches inline, as a kernel written by hand does
    count
};
inline constexpr unsigned kernels = static_cast<unsigned>(kernel::count);

/// Programs that can run at a time, and how many slots each may have: a program's slots are numbered from a multiple of
/// that.
inline constexpr std::uint32_t most_programs = 64;
inline constexpr std::uint32_t slots_of_program = 1u << 22;

inline constexpr unsigned streams_of_block = 4;
inline constexpr std::uint32_t own_stream =
    streams_of_block;  // one that is made for this launch and destroyed after it
inline constexpr unsigned events_of_block = 3;
inline constexpr unsigned scratch_of_block = 2;

enum class action : std::uint32_t {
    launch,
    then,
    wait,
    sync,
    exchange,  // through shared memory
    leave,     // some threads return
    scratch,
    refuse,  // a call that has to fail
    record,
    await,  // stream.wait(event)
    call,   // of kernels with values, which a continuation gets
    loop,   // a nested loop in each thread
    count
};

/// The calls that have to fail.
enum class refusal : std::uint32_t {
    no_blocks,
    no_threads,
    too_many_threads,
    too_deep_block,
    too_many_blocks,
    too_much_shared,
    over_kernel_bound,  // more threads than the kernel says it can have
    over_worker,  // a block wider than the engine's worker blocks; where there is none as narrow: too_many_threads
    then_no_blocks,
    then_too_many_threads,
    local_pointer,
    shared_pointer,
    then_local_pointer,
    shared_memory,   // more than the shape has
    scratch_memory,  // more than any device has
    count
};

/// A range of slots that has to be complete: relative to the base of the launching grid, for each of its blocks
/// `stride` further.
struct need {
    std::uint32_t offset;
    std::uint32_t stride;
    std::uint32_t count;
};

/// One thing that a grid does.
struct step {
    action what;
    std::uint32_t who;       // thread; all: the threads that have not returned share the items
    std::uint32_t where;     // block
    std::uint32_t items;     // how many times a block does it
    std::uint32_t child;     // the first node of the children
    std::uint32_t variants;  // item j launches node child + j % variants
    std::uint32_t stream;    // all: none
    std::uint32_t event;
    std::uint32_t low;  // leave: threads from `low` to `high` stay
    std::uint32_t high;
    std::uint32_t words;   // exchange, scratch
    std::uint32_t number;  // of a block's scratch memory
    refusal which;
    std::uint32_t prepared;  // the whole block writes what the children read, and a barrier comes before the launches
    std::uint32_t results;   // scratch: the children's node whose results lie in it, behind the words; 0: none
    std::uint32_t expected;  // the status
    // call: the value is `value` + `value_of_slot` times the calling block's slot. `items`: trees of calls, one or two.
    // `words`: levels. `number`: slots from the base that are complete when the continuation begins.
    std::uint64_t value, value_of_slot;
    // loop: iterations of all threads of a block. `words`: of a long loop, at most. `number`: of one that stays in
    // place, at most. `items`: of a block of a child grid.
    std::uint32_t iterations;
};

/// A class of grids that are alike.
struct node {
    fuzz::kernel kernel;
    std::uint32_t blocks[3];
    std::uint32_t threads[3];
    std::uint32_t shared_bytes;
    std::uint32_t moldable;
    std::uint32_t block_count;
    std::uint32_t thread_count;  // the most, if moldable
    std::uint32_t depth;
    std::uint32_t first_step, steps;
    std::uint32_t first_need, needs;
    std::uint32_t after_earlier;  // comes after the earlier items of its step
    std::uint32_t size;           // slots of such a grid, with all that comes from it
    std::uint32_t offset;         // of the first one's base, from its parent's
    std::uint32_t each;           // how many a block of the parent launches
    std::uint32_t variant, variants;
    std::uint32_t launched_by;  // step
    std::uint32_t from_block;   // of the parent; all: any
    std::uint32_t writer;       // the thread that writes the block's value
    // The parent's scratch memory, where it is read: of how many blocks, from which one on; all: of the one that has
    // launched.
    std::uint32_t scratch_blocks, scratch_first, scratch_number, scratch_words;
    std::uint32_t writes_result;
    std::uint32_t results,
        results_each;  // a continuation: the node whose results it finds in the scratch memory, per block
    std::uint32_t uses_streams;
    std::uint32_t loops;  // how many steps are
};

/// What a launching thread leaves in global memory for the child.
struct note {
    std::uint32_t node;
    std::uint32_t parent;  // base
    std::uint32_t block;   // by which the ranges go on
    std::uint32_t check;
};

/// Where a block's scratch memory is, for children and continuations.
struct scratch_entry {
    std::uint32_t* memory;
    std::uint32_t check;
    std::uint32_t unused;
};

/// What device code finds to be wrong.
enum class mistake : std::uint32_t {
    bad_base,
    argument,
    state,
    note_unseen,
    position,
    depth,
    width,
    incomplete_value,
    incomplete_count,
    wait_status,
    after_wait_value,
    after_wait_count,
    launch_status,
    refused_status,
    shared_null,
    shared_value,
    live_value,
    scratch_null,
    scratch_unseen,
    scratch_value,
    scratch_result,
    stream_status,
    call_status,
    call_value,
    call_early,
    loop_status,
    count
};
inline constexpr unsigned mistakes = static_cast<unsigned>(mistake::count);

struct mistake_detail {
    std::uint32_t what, node, base, block, thread, found, expected;
};
struct mistake_log {
    static constexpr unsigned room = 8;
    std::uint32_t counts[mistakes];
    std::uint32_t used;
    std::uint32_t clock;
    std::uint32_t answers;  // continuations that have got the values of calls
    mistake_detail details[room];
};

/// Breaks of interpreter, engine or model that the tool has to find.
enum class mutant : std::uint32_t {
    none,
    dropped_launch,
    launch_twice,
    lost_stream_order,
    early_continuation,
    continuations_swapped,
    depth_off_by_one,
    argument_byte_changed,
    child_reads_before_write,
    scratch_reused_early,
    wait_skipped,
    event_ignored,
    block_run_twice,
    block_dropped,
    thread_dropped,
    barrier_skipped,
    shared_calls_overlap,
    refusal_not_told,
    refused_call_not_counted,
    report_count_off,
    lost_count_off,
    nesting_off_by_one,
    value_not_reduced,
    call_value_off,
    call_not_answered,
    iteration_dropped,
    count
};
inline constexpr unsigned mutants = static_cast<unsigned>(mutant::count);

/// All that device code knows of a program.
struct context {
    const fuzz::node* nodes;
    const fuzz::step* steps;
    const fuzz::need* needs;
    std::uint32_t* counts;
    std::uint32_t* values;
    fuzz::note* notes;
    scratch_entry* scratch;
    std::uint32_t* begins;
    std::uint32_t* ends;
    mistake_log* log;
    std::uint32_t node_count;
    std::uint32_t first;  // slot; the pointers to what each slot has are such that slots' numbers are their indices
    std::uint32_t slots;
    std::uint32_t salt;
    std::uint32_t stamped;
    std::uint32_t reduced;
    alignas(8) unsigned char reducers[3][8];  // views, see `reducers` in interpreter.hpp
    std::uint32_t widest;
    fuzz::mutant mutant;
    std::uint32_t target;  // of the mutant: a step, or a node
    std::uint32_t table[64];
};

/// What the threads of a block add to its count, together. Of its nested loops each iteration adds one, wherever it
/// runs, and the first thread as much less: so a block is complete when its loops are.
inline constexpr std::uint32_t one_run = 0x10000;

DYNPAR_FUNCTION inline std::uint32_t mix(std::uint32_t a, std::uint32_t b) {
    std::uint32_t x = a * 2654435761u + b * 2246822519u + 0x9e3779b9u;
    x ^= x >> 15;
    x *= 2246822519u;
    return x ^ (x >> 13);
}

/// How many iterations a thread's loop has: few, or now and then many.
DYNPAR_FUNCTION inline std::uint32_t iterations_of(std::uint32_t salt, std::uint32_t index, const step& s,
                                                   std::uint32_t thread) {
    const std::uint32_t drawn = mix(mix(salt, index), thread + 5);
    return drawn % 16 == 0 ? (drawn >> 8) % (s.words + 1) : (drawn >> 8) % 7;
}

DYNPAR_FUNCTION inline std::uint32_t check_of(const note& n, std::uint32_t base, std::uint32_t salt) {
    return mix(mix(base, n.node), mix(n.parent, n.block) ^ salt);
}

}  // namespace fuzz
