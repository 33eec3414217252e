// Queue engine: the layout of all state. What all warps of a run share lies in device memory, what the warps of a
// worker block use all the time in its shared memory. Declares the state and how to reach it; changes nothing but
// run_control::stop. Which header owns a field, and which others write it, is in tests/headers/state_writers.txt, a
// table that a test compares with the code.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "../../device_trace.cuh"
#include "../../failure_table.cuh"
#include "memory_order.cuh"
#include "../task/task.cuh"
#include "../tuning.cuh"

/// 1: a worker block's shared memory is found by its name, as everywhere in CUDA; 0: from compute capability 9.0 on by
/// its number, which is quicker. To be the same in all files of a program with relocatable device code.
#if !defined(DYNPAR_QUEUE_SHARED_BY_NAME)
#define DYNPAR_QUEUE_SHARED_BY_NAME 0
#endif

namespace dynpar {
namespace detail {
namespace queue {

inline constexpr unsigned all_lanes = 0xffffffffu;
inline constexpr unsigned unit_bytes = 64;    // of the arena
inline constexpr unsigned size_classes = 27;  // of pieces of the arena: 64 bytes, doubled 26 times: 4 GiB
inline constexpr unsigned piece_class = 2;    // of the cached pieces
static_assert(sizeof(grid_descriptor) < unit_bytes << piece_class);

// What every warp begins with, unless the arena is small.
inline constexpr unsigned units_at_first = tuning::nodes_at_first + (tuning::pieces_at_first << piece_class);
inline constexpr unsigned stack_of_wait = 1408;  // bytes of a thread's stack from one wait() to the next: an estimate
inline constexpr unsigned stack_by_default = 20 * 1024;  // bytes at most if no limit is given: ten worker blocks deep
// Bytes that a wait() must find free: for what runs on top of it, and the next wait().
inline constexpr unsigned stack_kept_free = 4096;

/// In the arena of an engine that traces, the descriptors of all grids in the trace come first, by number. They are
/// never released.
inline constexpr arena_index traced_descriptors = 1;
inline constexpr unsigned traced_descriptor_units = sizeof(grid_descriptor) / unit_bytes;

/// Continuations of a warp that are ready: less than a round before a round ends, and one for each of its lanes.
inline constexpr unsigned most_ready = 2 * warp_size;

/// The number of a run's first grid.
inline constexpr std::uint32_t first_trace_id = 0;

/// A kernel that has begun: after a fault it shows where to look.
struct begun_kernel {
    unsigned name_length;
    char name[trace_name::capacity];
};

/// What the warps of a run were doing when they learned that it was stopped, and how many tasks were in transit.
struct stopped_workers {
    unsigned searching;  // warps that had nothing to run
    unsigned running;    // warps between two tasks of their own
    unsigned waits;      // blocks in wait()
    unsigned donations;  // donated tasks that had not arrived
};

/// What a run tells the host. In pinned host memory.
struct run_result {
    // Written as it happens: after a fault there is nothing else to read. Blocks of several threads only.
    static constexpr unsigned most_kernels = 64;
    static constexpr unsigned most_begun = 256;
    begun_kernel kernels[most_kernels];
    // Each kernel and depth once, by first appearance: kernel << 16 | depth << 1 | 1; 0: no more.
    unsigned begun[most_begun];

    failure_table failures;  // its entries only if it counts failed calls
    unsigned long long grids;
    unsigned long long abandoned;    // grids that were launched and had not run when the run was stopped
    unsigned long long arena_bytes;  // the most that was taken out of the arena
    stopped_workers at_stop;         // of a run that was stopped
    unsigned deepest;
    unsigned deepest_wait;            // plus one
    unsigned shared_in_memory;        // blocks whose shared memory was in the arena
    unsigned stopped;                 // why, see stop_reason
    unsigned long long traced;        // grids that were to be in the trace
    unsigned long long trace_places;  // that were taken, used or not
    unsigned trace_run;               // as long as it is device_trace::runs, the trace is of this run
    unsigned finished;                // runs that have written this result
};

/// Why a run ended before all its grids were complete.
enum stop_reason : unsigned { not_stopped, no_memory, deadline_passed };

/// Numbers of grids in the trace, as a worker block takes them, in one word: which batch, and how many of it are used.
/// All threads of a worker block may add at once, so `used` may exceed the size of a batch.
struct trace_batch {
    static constexpr unsigned size = 64;
    static constexpr unsigned used_bits = 11;

    static DYNPAR_FUNCTION constexpr unsigned word(unsigned batch) { return batch << used_bits; }
    static DYNPAR_FUNCTION constexpr unsigned used(unsigned word) { return word & ((1u << used_bits) - 1); }
    static DYNPAR_FUNCTION constexpr unsigned first(unsigned word) { return (word >> used_bits) * size; }
    static constexpr unsigned most_batches = 1u << (32 - used_bits);
    static constexpr std::size_t most_grids = std::size_t{size} * most_batches;
};

/// Why warps end.
enum over_reason : unsigned { not_over, run_is_complete, run_was_stopped };

/// Counters of steal requests and of donations for them, each in a cache line of its own.
struct request_counters {
    alignas(128) unsigned long long posted;   // requests, by idle warps or worker blocks
    alignas(128) int open;                    // requests that no donor has claimed; below zero for a moment
    alignas(128) unsigned long long donated;  // requests that were claimed; never more than were posted
};

/// What a run's reserve is to do.
enum reserve_course : unsigned { reserve_waits, reserve_is_called, reserve_ends };

/// Grids of many blocks, of which all worker blocks claim some.
inline constexpr unsigned open_grid_places = 3;

/// What all warps of a run share. The end of a run restores it for the next one.
struct run_control {
    unsigned lock;  // a run has the engine: see engine_lock.cuh
    unsigned lock_waiters;
    // What idle warps poll, in one sector of the second-level cache.
    alignas(128) unsigned done;                       // the first grid is complete
    unsigned stop;                                    // a stop_reason
    unsigned long long open_grids[open_grid_places];  // see open_grid_word
    request_counters warp_requests;
    request_counters block_requests;
    alignas(128) unsigned reserve;  // a reserve_course, which the reserve polls: see reserve.cuh
    // Worker blocks that have begun on each multiprocessor, if there is a reserve. On a GPU with more multiprocessors
    // some share a place, and the reserve is larger.
    static constexpr unsigned multiprocessors = 256;
    unsigned begun_on[multiprocessors];
    alignas(128) unsigned long long arena_taken;  // units of the arena, beyond those that the warps begin with
    // Heads: a place, and a count of changes in the upper half.
    alignas(128) unsigned long long free_lists[size_classes][tuning::free_lists];
    unsigned long long node_depot;  // of batches of free grid nodes
    unsigned long long piece_depot;
    alignas(128) unsigned stream_lock;
    unsigned long long first_places;  // see first_grid.cuh
    // Chunks of the first grid that were taken, not counting the first, or asked for in vain.
    unsigned first_chunks;
    unsigned blocks_left;  // worker blocks that have ended
    unsigned deepest;
    unsigned deepest_wait;      // plus one
    unsigned shared_in_memory;  // blocks whose shared memory was in the arena
    unsigned long long grids;
    unsigned long long abandoned;
    stopped_workers at_stop;
    // Donations without a task, or promised and never made: then transfer cells may differ from how the run found them.
    unsigned empty_donations;
    unsigned long long begun_at;  // by the device's clock, nanoseconds; only if there is a deadline
    unsigned trace_batches;       // that were taken, without the first one of each worker block
    unsigned begun_count;
    unsigned long long begun_kernels[run_result::most_kernels];  // where the name lies; 0: free
    unsigned long long begun_depths[run_result::most_kernels];   // a bit for each depth
};

/// A donation of up to 32 lane tasks or 16 wide tasks, from one warp to another or from one worker block to another; or
/// of a segment that a warp has spilled.
struct alignas(128) transfer_cell {
    static constexpr unsigned lane_tasks = 32;
    static constexpr unsigned wide_tasks = 16;
    static constexpr unsigned holds_wide = 1u << 31;
    static constexpr unsigned holds_segment = 1u << 30;  // its place in place of tasks

    std::uint32_t turn;   // 2 n: empty, for the n-th time; 2 n + 1: full
    std::uint32_t count;  // of tasks, and whether they are wide
    alignas(16) unsigned char tasks[lane_tasks * sizeof(lane_task)];

    DYNPAR_FUNCTION arena_index& segment() { return *reinterpret_cast<arena_index*>(tasks); }
};

/// All that device code must know of the engine: sizes, limits and places.
struct engine_view {
    run_control* control;
    failure_table* failures;
    run_result* result;
    device_trace* trace;  // null: the run is not traced
    device_trace_record* trace_records;
    unsigned trace_capacity;
    arena_index arena_begin;  // the first place that is handed out
    arena_index arena_fresh;  // the first that no warp begins with
    unsigned char* arena;
    unsigned long long arena_units;
    lane_task* lane_deques;
    wide_task* wide_deques;
    wide_task* block_deques;
    arena_index* ready_continuations;
    arena_index* free_nodes;
    arena_index* free_pieces;
    transfer_cell* warp_cells;
    transfer_cell* block_cells;
    unsigned cell_mask;         // transfer cells - 1, as many for warps as for worker blocks
    unsigned cell_shift;        // the binary logarithm of their number
    unsigned worker_blocks;     // without the reserve: see reserve.cuh
    unsigned block_threads;     // of a worker block
    unsigned moldable_threads;  // what a moldable kernel gets, if its shape allows
    unsigned sync_depth;
    unsigned nesting_depth;
    unsigned stack_bytes;                     // of a thread
    unsigned shared_bytes;                    // for kernels, of a worker block
    unsigned long long deadline_nanoseconds;  // 0: none
    bool replayed;                            // the run is part of a graph
    bool attended;                            // the host wants news of the run now and then, or there is a deadline
    bool locked;                              // the run holds the engine's lock: see engine_lock.cuh
};

/// A grid of whose trace record only the times of its blocks are written. Other threads wait for a thread that
/// launches, so the rest is noted here, and all lanes of a warp write it, for several such grids at a time, when the
/// launching block has returned.
struct alignas(16) traced_child {
    unsigned long long name;
    unsigned long long launched;
    std::uint32_t id;  // none: launched in another way, or the trace is full
    std::uint32_t depth;
    std::uint32_t threads;  // as the shape has them, and whether it is moldable
    static constexpr std::uint32_t moldable = 1u << 31;
};
template <unsigned Capacity>
struct traced_children {
    static constexpr unsigned capacity = Capacity;
    static constexpr unsigned many = Capacity * 3 / 4;  // then they are written
    unsigned count;  // may exceed the capacity: a thread that finds no room writes a whole record
    traced_child children[Capacity];
};

/// What is known of a wide block's own node, and of its grid's: flags, which its threads set.
struct counted {
    static constexpr unsigned nothing = 0;  ///< it is new
    /// It counts the block itself, and children that other warps may see.
    static constexpr unsigned block_and_visible_children = 1;
    /// The block has waited: what it launched before is complete, and what it launches counts on this node from the
    /// beginning. What lies among that on the deques has come from elsewhere, and may count on the block's grid.
    static constexpr unsigned has_waited = 2;
    /// Of its grid, one of its threads has asked for a continuation: the first goes into the grid's node, if that has
    /// room for it, and what follows into the node's list.
    static constexpr unsigned continues = 4;
};

/// Tasks that did not fit on a deque: a chain of segments in the arena (task_deque.cuh). In one word the segment at its
/// head, the upper half, and how many tasks that has, so that lanes can push without a lock; of each of the others the
/// segment itself says how many. Lanes that found the head full may have counted beyond.
struct spilled_tasks {
    unsigned long long bits;

    spilled_tasks() = default;
    DYNPAR_FUNCTION constexpr explicit spilled_tasks(unsigned long long all) : bits(all) {}
    DYNPAR_FUNCTION constexpr spilled_tasks(arena_index head, std::uint32_t count)
        : bits(static_cast<unsigned long long>(head) << 32 | count) {}
    DYNPAR_FUNCTION constexpr arena_index head() const { return static_cast<arena_index>(bits >> 32); }
    DYNPAR_FUNCTION constexpr std::uint32_t count() const { return static_cast<std::uint32_t>(bits); }
};

/// The state of a warp, in shared memory.
struct warp_state {
    // The two deques are rings of a fixed capacity in device memory. Ends are counters; a slot is a counter modulo
    // capacity.
    std::uint32_t lane_steal_end, lane_owner_end;
    std::uint32_t wide_steal_end, wide_owner_end;
    spilled_tasks spilled_lanes, spilled_wides;
    std::uint32_t ready;  // see ready_continuations.cuh
    unsigned lock;        // of the chains of segments and the batch, among the lanes

    // The frame: what runs here now. frame.cuh and nested_step() save it and restore it when another one begins on
    // top.
    std::uint32_t lane_base, wide_base;  // the tasks that it has launched lie from here to the owner end
    int depth;                           // of the deepest block that waits in it; -1: nothing waits
    unsigned stack_begin;                // where its threads' stacks began: see stack_place
    unsigned level;                      // frames below
    arena_index awaited;                 // a node that it waits for
    arena_index own;                     // the wide block's own node, once it needs one
    unsigned own_counts;                 // see counted
    // Calls of shared() that were refused, by any of its threads: see wide_block::is_first_refused.
    unsigned refused_shared;
    unsigned char* shared_memory;  // of the wide block
    wide_task current;             // the wide block's task
    unsigned long long begun_at;   // when it began, in a traced run
    // What a traced run notes of children of blocks on this warp, and in others the staged blocks of a team that it is
    // in: see staged_blocks.cuh.
    union {
        traced_children<8> traced;
        wide_task staged[traced_children<8>::capacity * sizeof(traced_child) / sizeof(wide_task)];
    };
    // Of the small grids whose blocks the lanes run: the node of each that has got one, in the place of the lane that
    // runs its first block. See small_node().
    arena_index small_nodes[warp_size];

    // In the cache. A depth-first walk takes hundreds of nodes on its way down and gives them back on its way up.
    int free_nodes;
    int free_pieces;       // likewise, of 256 bytes
    unsigned uses_pieces;  // its cache has been found empty, or nearly full

    // The warp batch: the change of one node's counter that this warp withholds. See join_counter.cuh.
    arena_index batch_of;
    int batch;

    unsigned keeps_first;  // if a grid continues now, this warp runs its first block
    arena_index kept;      // the descriptor of that grid; 0: none
    arena_index spent;     // a piece of 256 bytes, to be given back when there is time
    unsigned searches;     // it has nothing to run, and is counted in gang_state::searching
    unsigned looked_at;    // the step of work() after which it looked for requests last

    unsigned team;    // that it runs a block with: the number of a team_state
    unsigned turns;   // the next vote of its team of each size, a byte each: see rendezvous.cuh
    unsigned called;  // a team_state's number plus one: its team begins a block; 0: it has not been called

    unsigned long long request;
    unsigned has_request;
    unsigned deepest;
    unsigned deepest_wait;  // plus one
    unsigned long long grids;
};

/// Kernels whose begin a worker block has reported to the host, and at which depths.
struct noted_kernels {
    static constexpr unsigned capacity = 4;
    unsigned names[capacity];      // where the names lie, the lower half
    unsigned depths[capacity][2];  // a bit for each depth
    unsigned next;                 // to be replaced

    static DYNPAR_FUNCTION unsigned key(text kernel) {
        return static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(kernel.begin));
    }
};

inline constexpr unsigned vote_turns = 3;

/// What a team does after a block: runs the next; parts, since it has found none; parts though there may be one.
enum class team_course : unsigned { runs_next, parts, leaves };

/// Warps that run blocks together: of each power of two of a worker block's warps those that begin at a multiple of it,
/// and all of them. So a warp is in one team of each size, and of two teams that have a warp in common one contains the
/// other. A block of one may wait, and on top of it a block of the other run: so each team has a state of its own, and
/// saves only that when it begins a block.
struct team_state {
    wide_task current;        // the block that its warps run together
    wide_task next;           // what they run next
    arena_index own;          // the block's own node, once it needs one
    unsigned own_counts;      // see counted
    unsigned refused_shared;  // as in warp_state
    unsigned launched;
    unsigned char* shared_memory;
    team_course course;
    unsigned leaves;       // it is not to run the next block
    unsigned end_of_wait;  // of one that is refused: its first thread; of another: 1 if the run is to stop
    unsigned arrived;      // a bit for each warp that is ready to end a wait
    unsigned interrupted;  // the block that its run of blocks ends with, plus one: see run_as_team()
    // Which warps they are. Never changes during a run.
    unsigned first_thread;
    unsigned threads;
    // Votes of its threads, in turns: see rendezvous.cuh.
    unsigned votes[vote_turns], other_votes[vote_turns];
    // What its blocks have launched for teams and no other warp sees yet: see staged_blocks.cuh.
    unsigned staged;
    unsigned staged_before;  // the block that runs
    unsigned keeps;          // what continues now is staged: its thread counts a block's return
    // The team's batch: as a warp's, of the returns of its blocks. See join_counter.cuh.
    arena_index batch_of;
    int batch;

    /// Its warps, a bit for each.
    __device__ unsigned warps() const {
        return all_lanes >> (warp_size - threads / warp_size) << first_thread / warp_size;
    }
};
static_assert(sizeof(team_state) % sizeof(uint4) == 0);

/// What the warps of a worker block need to find out which of them run a block together.
struct gang_state {
    unsigned lock;  // of the deque, the candidate, and offers to join
    // Of the deque of block tasks, a ring of a fixed capacity in device memory.
    std::uint32_t steal_end, owner_end;
    arena_index spilled;  // segments of tasks that did not fit
    // Of all tasks that have come to the deque since it was empty: threads of the narrowest, depth of the deepest. 0
    // and the greatest depth if that is not known.
    unsigned narrowest;
    unsigned deepest;
    // The candidate: the block that the first team of warps will run that has nothing else to do.
    unsigned has_candidate;
    unsigned depth;              // of the candidate
    unsigned warps;              // that it takes
    unsigned ready;              // a bit for each warp that has offered to run it
    unsigned passed_over;        // how often another has taken the place of a wider candidate
    unsigned passed_over_warps;  // that the widest of those takes
    unsigned has_request;
    unsigned exchanges;  // a warp exchanges block tasks with other worker blocks: see as_exchanger()
    unsigned long long request;
    wide_task candidate;
    unsigned scout;          // the idle warp that looks for block tasks elsewhere, its number plus one; 0: none
    unsigned looks_to_skip;  // by a warp that exchanges: see exchange_block_tasks_now_and_then
    unsigned had_several;    // tasks on the deque, when one last looked
    unsigned knows_reserve;  // it has been called, or there is none: see reserve.cuh

    // The chunk that this worker block has claimed of an open grid, for its warps: see block_chunk.cuh.
    unsigned chunk_lock;  // of the lane that fetches the next one
    // What runs its blocks, and how many are left: the lower half of an open_grid_word.
    std::uint32_t chunk_left;
    std::uint32_t chunk_end;  // the number of the block after them
    std::uint32_t chunk_size;
    std::uint32_t chunk_read;   // blocks whose claimants have read what they need
    unsigned chunk_is_counted;  // the returns of its blocks are counted in `batch`
    unsigned chunk_is_part;     // its task is a part of a grid's, and may end before the grid
    unsigned batch;             // the block batch, of returns of blocks of one grid: see block_batch
    arena_index batch_of;       // that grid's node
    unsigned searching;         // warps that have nothing to run, or have not begun
    unsigned first_chunks;      // of the first grid, as long as some may be left to take; else 0
    std::uint32_t first_chunk_blocks;
    wide_task chunk;

    unsigned trace_batch;  // a trace_batch::word
    static constexpr unsigned names_kept = 4;
    // The last names that this worker block has written to the trace: the lower halves of their addresses.
    unsigned named[names_kept];
    unsigned next_named;  // to be replaced
    noted_kernels noted;

    // What one idle warp has read for all: thousands of warps that poll one place of device memory wait for each other.
    unsigned read_at;                            // by the multiprocessor's clock
    unsigned over;                               // why idle warps end; 0: they do not
    std::uint32_t open_grids[open_grid_places];  // lower halves

    // The addresses of the functions in which blocks wait, once a block has waited: see way_to_wait.
    unsigned long long ways_to_wait[3];
};

/// Where kernels are entered, by their keys: a hash table, in which a key lies where it is looked for first or in the
/// next place that was free. A program with more kernels asks for those that have no place each time.
struct alignas(16) known_kernel {
    unsigned long long key;                    // addresses; 0: no kernel
    unsigned long long lane, wide_lane, wide;  // 0: about to be written
};
struct known_kernels {
    static constexpr unsigned capacity = 13;
    known_kernel all[capacity];
};

/// The beginning of a worker block's shared memory. The states of its warps follow, then those of its teams, then what
/// `block.shared` gives to kernels. All in all it should be small: with more than 15 KiB in worker blocks of 512
/// threads, beside the 16 KiB for kernels, CUDA makes 64 KiB of the first-level cache shared memory instead of 32.
struct block_state {
    engine_view engine;
    gang_state gang;
    known_kernels kernels;
    known_kernels* kernels_of_module;
};

/// A power of two, at least as many.
DYNPAR_FUNCTION constexpr unsigned rounded_up_warps(unsigned warps) {
    unsigned below = warps - 1;
    below |= below >> 1;
    below |= below >> 2;
    below |= below >> 4;
    return below + 1;
}
/// CUDA gives a block 16 barriers, and each team has its own: so there are at most 15 teams, which the smallest are as
/// large as they must be for.
inline constexpr unsigned most_teams = 16;
DYNPAR_FUNCTION constexpr unsigned least_team_warps(unsigned all_warps) {
    return all_warps <= most_teams ? 2 : 2 * rounded_up_warps(all_warps) / most_teams;
}
/// The number of the team of that many of a worker block's warps to which one of them belongs: 1 is all, 2 and 3 the
/// halves, and so on, as in a heap.
DYNPAR_FUNCTION constexpr unsigned team_number(unsigned team_warps, unsigned warp, unsigned all_warps) {
    return team_warps == all_warps ? 1 : rounded_up_warps(all_warps) / team_warps + warp / team_warps;
}
/// States of teams, 0 being none's.
DYNPAR_FUNCTION constexpr unsigned team_states(unsigned all_warps) {
    const unsigned rounded = rounded_up_warps(all_warps);
    return rounded < 2 ? 2 : rounded < most_teams ? rounded : most_teams;
}
DYNPAR_FUNCTION constexpr unsigned offset_of_teams(unsigned all_warps) {
    return static_cast<unsigned>(sizeof(block_state) + all_warps * sizeof(warp_state));
}
DYNPAR_FUNCTION constexpr unsigned state_bytes(unsigned block_threads) {
    const unsigned warps = block_threads / warp_size;
    return static_cast<unsigned>((offset_of_teams(warps) + team_states(warps) * sizeof(team_state) + 15) / 16 * 16);
}
static_assert(state_bytes(512) <= 15 * 1024);

#if DYNPAR_ON_DEVICE

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
// CUDA has these from compute capability 8.0 on, as instructions. These stand-ins have the same names, and are for all
// lanes.
template <class T, class Combine>
__device__ inline T reduce_by_shuffles(T value, Combine combine) {
    for (unsigned distance = warp_size / 2; distance != 0; distance /= 2) {
        value = combine(value, __shfl_xor_sync(all_lanes, value, distance));
    }
    return value;
}
template <class T>
__device__ inline T __reduce_add_sync(unsigned, T value) {
    return reduce_by_shuffles(value, [](T a, T b) { return a + b; });
}
template <class T>
__device__ inline T __reduce_min_sync(unsigned, T value) {
    return reduce_by_shuffles(value, [](T a, T b) { return a < b ? a : b; });
}
template <class T>
__device__ inline T __reduce_max_sync(unsigned, T value) {
    return reduce_by_shuffles(value, [](T a, T b) { return a < b ? b : a; });
}
template <class T>
__device__ inline T __reduce_or_sync(unsigned, T value) {
    return reduce_by_shuffles(value, [](T a, T b) { return a | b; });
}
#endif

#if !defined(DYNPAR_SIMULATED_GPU)
extern __shared__ __align__(16) unsigned char shared_memory_of_grid[];
#endif

/// Where a block's shared memory begins from compute capability 9.0 on, if its kernel has no variables there: behind
/// what CUDA keeps for itself.
inline constexpr unsigned first_shared_byte = 1024;

/// A worker block's shared memory. By number where that is known: the address of a variable has the block's place in
/// its cluster in it, so each function that uses one first reads that, and waits for it as long as for what it reads
/// then.
__device__ inline unsigned char* worker_memory() {
#if defined(DYNPAR_SIMULATED_GPU)
    return simulated_gpu::dynamic_shared_memory();
#elif !DYNPAR_QUEUE_SHARED_BY_NAME && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    return static_cast<unsigned char*>(__cvta_shared_to_generic(first_shared_byte));
#else
    return shared_memory_of_grid;
#endif
}
/// Whether it is there: no kernel of the program has variables in shared memory, and there are no clusters.
__device__ inline bool has_worker_memory() {
#if defined(DYNPAR_SIMULATED_GPU)
    return true;
#else
    return worker_memory() == shared_memory_of_grid;
#endif
}

// Of a whole program ptxas lays out functions in the order of their mangled names. What most grids pass through is in
// the inline namespace `hot`, so that it lies together in the instruction cache: a tree of warps that join takes 51 ms
// that way, and 60 ms if it is scattered. (Where it compiles them one by one, it does not.)

__device__ inline block_state& this_block() { return *reinterpret_cast<block_state*>(worker_memory()); }
__device__ inline const engine_view& engine() { return this_block().engine; }
__device__ inline warp_state& this_warp() {
    return reinterpret_cast<warp_state*>(worker_memory() + sizeof(block_state))[threadIdx.x / warp_size];
}
__device__ inline unsigned warp_rank() { return threadIdx.x / warp_size; }
__device__ inline unsigned warps_of_worker_block() { return blockDim.x / warp_size; }
__device__ inline warp_state& warp_number(unsigned warp) {
    return reinterpret_cast<warp_state*>(worker_memory() + sizeof(block_state))[warp];
}
__device__ inline team_state& team_of_number(unsigned team) {
    return reinterpret_cast<team_state*>(worker_memory() + offset_of_teams(warps_of_worker_block()))[team];
}
/// For a thread of a block that a team runs.
__device__ inline team_state& this_team() {
    const unsigned number = this_warp().team;
    return team_of_number(number);
}
__device__ inline bool is_last_warp() { return threadIdx.x / warp_size == blockDim.x / warp_size - 1; }
__device__ inline unsigned lane_rank() { return threadIdx.x % warp_size; }
__device__ inline unsigned worker_rank() { return blockIdx.x * (blockDim.x / warp_size) + threadIdx.x / warp_size; }

/// A task word by word, one in each of the first lanes.
__device__ inline std::uint32_t& word_of(wide_task& task, unsigned number) {
    return reinterpret_cast<std::uint32_t*>(&task)[number];
}
template <std::size_t Offset>
__device__ inline std::uint32_t field_of_words(std::uint32_t word) {
    return __shfl_sync(all_lanes, word, Offset / sizeof(std::uint32_t));
}

template <class T>
__device__ inline T* at(arena_index place) {
    return reinterpret_cast<T*>(engine().arena + static_cast<unsigned long long>(place) * unit_bytes);
}

/// Ends the run early. The first reason stays.
__device__ inline void stop_run(stop_reason why) {
    compare_exchange_relaxed(engine().control->stop, static_cast<unsigned>(not_stopped), why);
}
/// One thread that has a task and no memory to keep it. The run stops; what is dropped has not begun.
__device__ inline void drop_task() {
    stop_run(no_memory);
    fetch_add_relaxed(engine().control->abandoned, 1ull);
}
__device__ inline bool run_stopped() { return load_relaxed(engine().control->stop) != not_stopped; }

#endif

}  // namespace queue
}  // namespace detail
}  // namespace dynpar
