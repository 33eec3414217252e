// Queue engine: the numbers that speed depends on and correctness does not, each with what was measured or why it was
// chosen. All of it was measured on an H200; where nothing is said, nearby values took as long.
#pragma once

#include <cstdint>

namespace dynpar {
namespace detail {
namespace queue {

// Tests of full deques make these small. They are powers of two; the reserve is at most half of the wide deque.
#if !defined(DYNPAR_QUEUE_LANE_DEQUE)
#define DYNPAR_QUEUE_LANE_DEQUE 2048
#endif
#if !defined(DYNPAR_QUEUE_WIDE_DEQUE)
#define DYNPAR_QUEUE_WIDE_DEQUE 512
#endif
#if !defined(DYNPAR_QUEUE_DEQUE_RESERVE)
#define DYNPAR_QUEUE_DEQUE_RESERVE 256
#endif
#if !defined(DYNPAR_QUEUE_BLOCK_DEQUE)
#define DYNPAR_QUEUE_BLOCK_DEQUE 512
#endif
#if !defined(DYNPAR_QUEUE_MANY_BLOCK_TASKS)
#define DYNPAR_QUEUE_MANY_BLOCK_TASKS 32
#endif
// As a size class of the arena: 16 KiB. A segment must fit into an empty deque.
#if !defined(DYNPAR_QUEUE_SEGMENT_CLASS)
#define DYNPAR_QUEUE_SEGMENT_CLASS 8
#endif

// Lists of free pieces of one size.
#if !defined(DYNPAR_QUEUE_FREE_LISTS)
#define DYNPAR_QUEUE_FREE_LISTS 64
#endif

namespace tuning {

// ---- queues

// Tasks on a warp's deques, and on a worker block's; more than that spills.
inline constexpr unsigned lane_deque_capacity = DYNPAR_QUEUE_LANE_DEQUE;
inline constexpr unsigned wide_deque_capacity = DYNPAR_QUEUE_WIDE_DEQUE;
inline constexpr unsigned block_deque_capacity = DYNPAR_QUEUE_BLOCK_DEQUE;
// Slots of the wide deque that a round finds free.
inline constexpr unsigned deque_reserve = DYNPAR_QUEUE_DEQUE_RESERVE;
inline constexpr unsigned segment_class = DYNPAR_QUEUE_SEGMENT_CLASS;
// A grid is published from so many rounds on, as a part of the number of worker blocks: below that donations are
// enough. Of blocks that take a whole worker block a few are many.
inline constexpr unsigned publish_from_part = 8;
inline constexpr unsigned publish_block_tasks_from_part = 32;

// ---- balance

// The part of its oldest tasks that a donor gives. Each of the oldest wide tasks may root a whole tree: with a half of
// them a tree of grids takes one and a half times as long as with an eighth.
inline constexpr std::uint32_t donated_lane_tasks_part = 2;
inline constexpr std::uint32_t donated_wide_tasks_part = 8;
inline constexpr std::uint32_t donated_block_tasks_part = 4;
// Donations of one warp or worker block in a row.
inline constexpr unsigned donations_at_a_time = 4;
// Looks for donations and requests that a warp skips after one that found neither: a look takes as long as a
// short task.
inline constexpr unsigned looks_to_skip = 3;
// A chunk is at most so many rounds of the worker block, and at most one part in so many of what is left for each
// worker block. Larger chunks are faster where blocks do next to nothing, and slower where they differ.
inline constexpr unsigned chunk_rounds = 2;
inline constexpr unsigned chunk_part = 2;

// ---- search

// How often an idle warp polls before it looks at everything else: where it has a request open; before it posts one,
// when it begins; and after blocks of a chunk, since more may follow. Thousands of warps that post requests at once
// wait for each other longer than many a grid takes; but without a request there is no donation, and the later the
// others post theirs, the longer a tree takes that begins on one warp.
inline constexpr unsigned polls_with_request = 200;
inline constexpr unsigned polls_at_first = 12;
inline constexpr unsigned polls_after_chunk = 60;
inline constexpr unsigned poll_nanoseconds = 60;
// How often a team polls for more blocks before it parts.
inline constexpr unsigned polls_of_team = 60;
// One warp of a worker block at a time reads the shared state, this often.
inline constexpr unsigned cycles_between_polls_of_shared_state = 300;

// ---- reserve

// The reserve is called by a warp that has taken so many steps, each in less than so many cycles, and has so many tasks
// left. Recursions of grids of a warp take 5 to 13 thousand cycles a grid, the merges of cilksort hundreds of
// thousands. Smaller runs are over before more warps have got anything.
inline constexpr unsigned reserve_from_steps = 32;
inline constexpr unsigned reserve_step_cycles = 20000;
inline constexpr std::uint32_t reserve_least_tasks = 4;
// Or by one that has run a block in less than so many cycles, and sees so many of a grid left for each warp that runs.
inline constexpr std::uint32_t reserve_least_blocks = 10;
// Or by a team of so many threads or more.
inline constexpr unsigned reserve_least_team_threads = 128;
// How long it waits: about a millisecond; and between two looks, at least and at most, or a part of what it has waited.
// If all looked all the time, the rest of the run would be 5 % slower.
inline constexpr unsigned reserve_waits_cycles = 1 << 21;
inline constexpr unsigned reserve_poll_nanoseconds = 250;
inline constexpr unsigned reserve_most_poll_nanoseconds = 8000;
inline constexpr unsigned reserve_looks_part = 64;

// ---- execute

// Looking for open requests costs a trip to the second-level cache. At first every warp has one, so the first steps all
// look. Later every eighth does, and any after a long time, since tasks may be long and few.
inline constexpr unsigned serve_first_steps = 64;
inline constexpr unsigned serve_every = 8;
inline constexpr unsigned serve_after_cycles = 1 << 15;
// Between two looks whether the run is to stop: some 130 microseconds. A power of two.
inline constexpr unsigned stop_after_cycles = 1 << 18;
// Wide tasks in a row, and block tasks in a row, before a warp looks at everything else. What is saved and restored
// around a step costs a fifth of a short wide task; coming together costs a worker block more than most tasks.
inline constexpr unsigned wide_tasks_in_a_row = 8;
inline constexpr unsigned block_tasks_in_a_row = 64;
// Blocks of a chunk that a team takes at once, at most, if they are so short: between two of them is a barrier, and no
// more. They cannot be given to others, so they must not be many, and not long.
inline constexpr std::uint32_t most_blocks_of_run = 16;
inline constexpr unsigned cycles_of_short_block = 1 << 15;
// How often a warp in a wait looks whether there is something new, before its next step. It finds that its children are
// complete by a look, which takes half a microsecond; a step takes several.
inline constexpr unsigned looks_in_wait = 8;
// With so many block tasks on its worker block's deque, a warp hands over no more before it has run one with others, or
// has waited for them for so many polls: on its own deque they are donated to all, by more warps than on that one.
inline constexpr std::uint32_t many_block_tasks = DYNPAR_QUEUE_MANY_BLOCK_TASKS;
inline constexpr unsigned polls_for_team = 64;
// What block tasks launch for single warps may pile up to so many tasks a warp.
inline constexpr std::uint32_t tasks_piled_up = 32;

// Narrower blocks that may run before a candidate for which warps are missing. Without a bound it might wait for ever.
inline constexpr unsigned most_passed_over = 256;
// A team gives half of its staged blocks to the worker block's deque when that has fewer than so many: one would stay
// there, and no other worker block would get any.
inline constexpr std::uint32_t few_block_tasks = 2;

// ---- memory

// Free grid nodes and free pieces of 256 bytes that a warp caches at most, and nodes that it exchanges with the depot
// at a time: a depth-first walk takes hundreds on its way down and releases them on its way up.
inline constexpr unsigned node_cache_capacity = 2048;
inline constexpr unsigned piece_cache_capacity = 512;
inline constexpr unsigned node_batch = 511;
inline constexpr unsigned piece_batch = 127;
// What every warp begins with, unless the arena is small.
inline constexpr unsigned nodes_at_first = 64;
inline constexpr unsigned pieces_at_first = 4;
// Lists of free pieces of one size: warps that use one list wait for each other.
inline constexpr unsigned free_lists = DYNPAR_QUEUE_FREE_LISTS;

}  // namespace tuning
}  // namespace queue
}  // namespace detail
}  // namespace dynpar
