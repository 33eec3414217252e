// Queue engine: block tasks, for which several warps of a worker block come together: how they agree on one, and run
// it.
//
// A worker block has one candidate at a time. A warp offers to run block tasks when it has nothing else to do, or waits
// and the candidate may run on top of that. As soon as all warps of a team of the candidate's size have offered, one of
// them calls the team: it takes the candidate, and their offers, all of them at once, and goes on with the next block.
// Who has offered and is called runs the block; who withdraws before is not called. A team runs more blocks of its size
// as long as there are any, short ones of a large grid several in a row. Then it parts, after a moment in which another
// large grid may come, and calls teams of its own warps for smaller blocks.
//
// Where warps are missing for the candidate, narrower blocks may pass it over; not for ever, so that it runs in the
// end.
//
// On top of a wait only what is deeper may run. If some warp cannot join for that reason, it looks for a deeper
// candidate, which takes the other one's place. So the deepest block task of a worker block gets its team at last: all
// others end, or wait for something deeper still.
//
// Owns gang_state's candidate (with has_candidate, depth, warps and passed_over) and ready, team_state but for what
// wait() uses, and warp_state's team and called; divides wide tasks among the warps' deques.
#pragma once

#include "../join/completion.cuh"
#include "../deadline.cuh"
#include "find_entry.cuh"
#include "frame.cuh"
#include "../balance/steal_requests.cuh"
#include "../reserve.cuh"
#include "rendezvous.cuh"
#include "../balance/shared_state.cuh"
#include "../observe/trace.cuh"
#include "wait.cuh"

#if DYNPAR_ON_DEVICE

namespace dynpar {
namespace detail {
namespace queue {

__device__ void run_on_team(unsigned team);  // below

/// Bytes of the multiprocessor's shared memory for kernels, of each warp of a worker block.
__device__ inline unsigned shared_bytes_of_warp() { return engine().shared_bytes / warps_of_worker_block() / 16 * 16; }

/// Of a block's team, at least so many warps: so many that their part of the multiprocessor's shared memory is enough.
__device__ DYNPAR_NOINLINE inline unsigned team_warps_for_shared_memory(unsigned warps, unsigned bytes) {
    const unsigned all = warps_of_worker_block();
    const unsigned each = shared_bytes_of_warp();
    while (warps < all && warps * each < bytes) warps *= 2;
    return min(warps, all);
}
/// How many warps run such a block: enough for its threads, and for its shared memory.
__device__ inline unsigned team_warps_for(block_size size) {
    const unsigned all = warps_of_worker_block();
    const unsigned needed = rounded_up_warps((size.threads() + warp_size - 1) / warp_size);
    const unsigned warps = min(max(needed, least_team_warps(all)), all);
    const unsigned bytes = size.shared_bytes();
    return bytes == 0 ? warps : team_warps_for_shared_memory(warps, bytes);
}

/// The warps of this warp's team of that size, a bit for each; 0 if it has none.
__device__ inline unsigned warps_of_team(unsigned team_warps) {
    const unsigned all = warps_of_worker_block();
    if (team_warps == all) return all_lanes >> (warp_size - all);
    const unsigned first = warp_rank() / team_warps * team_warps;
    return first + team_warps <= all ? (all_lanes >> (warp_size - team_warps)) << first : 0;
}

/// Under the lock: what lies in the candidate's place is the candidate.
__device__ inline void show_candidate() {
    gang_state& gang = this_block().gang;
    store_relaxed_in_block(gang.depth, gang.candidate.info & info::depth_mask);
    store_relaxed_in_block(gang.warps, team_warps_for(gang.candidate.size));
    fence_in_block();
    store_relaxed_in_block(gang.has_candidate, 1u);
}
/// Under the lock: makes a task the candidate.
__device__ inline void put_candidate(const wide_task& task) {
    copy_task(this_block().gang.candidate, task);
    show_candidate();
}

/// Under the lock: puts up to so many blocks of the chunk, if it is one of block tasks, where the candidate lies. False
/// if there are none that are deeper than that.
__device__ inline bool take_of_chunk_for_candidate(int deeper_than, std::uint32_t most_blocks) {
    wide_task& task = this_block().gang.candidate;
    if (!take_of_chunk(deeper_than, true, most_blocks, task)) return false;
    const bool on_block = (task.info & info::width_mask) == info::on_block;
    // Perhaps the chunk was replaced meanwhile.
    if (on_block && static_cast<int>(task.info & info::depth_mask) > deeper_than) return true;
    if (!(on_block ? push_block_task(task) : push_here(task))) drop_task();
    return false;
}

/// Under the lock, with no candidate: makes one block that is deeper than that the candidate, from the worker block's
/// deque or its chunk. All in one: each call takes as long as a hundred instructions.
__device__ __noinline__ inline bool take_candidate(int deeper_than) {
    gang_state& gang = this_block().gang;
    if (has_block_tasks() && take_block_task(deeper_than, any_threads, gang.candidate)) {
        show_candidate();
        return true;
    }
    if (!take_of_chunk_for_candidate(deeper_than, 1)) return false;
    show_candidate();
    return true;
}
/// Under the lock: false if there is no candidate, and no block to make it.
__device__ inline bool has_or_takes_candidate() {
    return load_relaxed_in_block(this_block().gang.has_candidate) != 0 || take_candidate(-1);
}

/// One lane: makes a block the candidate. `deeper_than`: only of a grid that may run on top of what waits here.
__device__ __noinline__ inline void choose_candidate(int deeper_than) {
    gang_state& gang = this_block().gang;
    with_block_lock(gang.lock, [&] {
        const bool have = load_relaxed_in_block(gang.has_candidate) != 0;
        if (!have) {
            take_candidate(deeper_than);
            return;
        }
        if (static_cast<int>(load_relaxed_in_block(gang.depth)) > deeper_than) return;
        // Some warp cannot join the old candidate, so another takes its place.
        wide_task old;
        copy_task(old, gang.candidate);
        if (!take_candidate(deeper_than)) {
            copy_task(gang.candidate, old);
        } else if (!push_block_task(old)) {
            drop_task();
        }
    });
}

/// One lane: whether there is a block task that a warp may join on top of what waits at this depth.
__device__ inline bool block_task_wanted(int depth) {
    gang_state& gang = this_block().gang;
    const auto may_join = [&] {
        return load_relaxed_in_block(gang.has_candidate) != 0 &&
               static_cast<int>(load_relaxed_in_block(gang.depth)) > depth;
    };
    if (may_join()) return true;
    // A warp that waits asks often, and most of what its worker block has may not run on top of that: the lock is only
    // for what may.
    if (!has_block_work(depth)) return false;
    choose_candidate(depth);
    return may_join();
}

/// One lane: offers to run the candidate, if it may run on top of what waits here. Under the lock, so that an offer
/// that a caller sees is one that it may take, or is withdrawn, but not another.
__device__ __noinline__ inline bool offer_to_join() {
    gang_state& gang = this_block().gang;
    bool offers = false;
    with_block_lock(gang.lock, [&] {
        offers = load_relaxed_in_block(gang.has_candidate) != 0 &&
                 static_cast<int>(load_relaxed_in_block(gang.depth)) > this_warp().depth &&
                 warps_of_team(load_relaxed_in_block(gang.warps)) != 0;
        if (offers) fetch_or_relaxed(gang.ready, 1u << warp_rank());
    });
    return offers;
}

/// One lane of a warp that waits for nothing: offers to run any block.
__device__ inline void offer_when_idle() {
    fence_in_block();  // what it has read of its last call comes before the next one
    fetch_or_relaxed(this_block().gang.ready, 1u << warp_rank());
}

/// Under the lock: whether so many warps from that one on may all run a block of that depth. Some may have offered for
/// a deeper one, which is gone; as long as a warp's offer is there, what it waits for does not change.
__device__ inline bool may_all_run(unsigned first, unsigned warps, int depth) {
    for (unsigned warp = first; warp < first + warps; ++warp) {
        if (load_relaxed_in_block(warp_number(warp).depth) >= depth) return false;
    }
    return true;
}
/// Under the lock: takes the offers of these warps, all of them or none. Any may withdraw meanwhile.
__device__ inline bool take_offers(unsigned warps) {
    unsigned& offers = this_block().gang.ready;
    unsigned seen = load_relaxed_in_block(offers);
    while ((seen & warps) == warps) {
        const unsigned found = compare_exchange_relaxed(offers, seen, seen & ~warps);
        if (found == seen) return true;
        seen = found;
    }
    return false;
}

/// Of the warps that have offered, the first one of each complete team of that size.
__device__ inline unsigned complete_teams(unsigned ready, unsigned team_warps) {
    const unsigned all = warps_of_worker_block();
    if (team_warps == all) return ready == all_lanes >> (warp_size - all) ? 1u : 0u;
    for (unsigned n = 1; n < team_warps; n *= 2) ready &= ready >> n;
    return ready & all_lanes / ((1u << team_warps) - 1);  // at the multiples of the size
}

/// Under the lock: a narrower block has come before a candidate for so many warps.
__device__ inline void note_passed_over(unsigned warps) {
    gang_state& gang = this_block().gang;
    ++gang.passed_over;
    gang.passed_over_warps = max(gang.passed_over_warps, warps);
}

/// Under the lock, where warps are missing for the candidate: puts a narrower block in its place, for which there are
/// enough. False if there is none, or if that has happened too often. Otherwise a block that needs a warp with a long
/// task would keep all others waiting.
__device__ __noinline__ inline bool pass_over() {
    gang_state& gang = this_block().gang;
    const unsigned ready = load_relaxed_in_block(gang.ready);
    unsigned most = 0;  // warps of a complete team
    for (unsigned warps = least_team_warps(warps_of_worker_block()); warps < load_relaxed_in_block(gang.warps);
         warps *= 2) {
        if (complete_teams(ready, warps) != 0) most = warps;
    }
    wide_task task;
    if (most == 0 || load_relaxed_in_block(gang.narrowest) > most * warp_size ||
        gang.passed_over >= tuning::most_passed_over || !take_block_task(-1, most * warp_size, task))
        return false;
    const bool fits = team_warps_for(task.size) <= most;  // it may need more for its shared memory
    if (!push_block_task(fits ? gang.candidate : task)) drop_task();
    if (!fits) return false;
    note_passed_over(load_relaxed_in_block(gang.warps));
    put_candidate(task);
    return true;
}

/// Calls a warp, which can take one call and does so soon: it has offered, or waits for the team that it calls from.
__device__ inline void call_warp(unsigned warp, unsigned team) {
    DYNPAR_QUEUE_INVARIANT(load_relaxed_in_block(warp_number(warp).called) == 0);
    DYNPAR_QUEUE_INVARIANT((load_relaxed_in_block(this_block().gang.ready) >> warp & 1) == 0);
    store_relaxed_in_block(warp_number(warp).called, team + 1);
}

/// Under the lock: calls the team of so many warps that begins with that one, whose offers were taken, for a block.
__device__ inline void call_team(unsigned first, unsigned team_warps, const wide_task& block) {
    gang_state& gang = this_block().gang;
    const unsigned team = team_number(team_warps, first, warps_of_worker_block());
    if (team_warps >= gang.passed_over_warps) gang.passed_over = gang.passed_over_warps = 0;
    copy_task(team_of_number(team).next, block);
    fence_in_block();
    for (unsigned warp = first; warp < first + team_warps; ++warp) call_warp(warp, team);
}

/// Under the lock: calls all complete teams of the size for blocks of the chunk, if there is nothing else: they are
/// claimed all at once.
__device__ inline void call_teams_for_chunk() {
    gang_state& gang = this_block().gang;
    if (load_relaxed_in_block(gang.has_candidate) != 0 || has_block_tasks()) return;
    const open_grid_word seen = load_chunk();
    if (seen.left() <= 0 || seen.width() != info::on_block) return;
    const block_size size = size_of_chunk();
    const unsigned team_warps = team_warps_for(size);
    unsigned teams = complete_teams(load_relaxed_in_block(gang.ready), team_warps);
    fence_in_block();
    wide_task& task = gang.candidate;
    if (teams == 0 || !take_of_chunk_for_candidate(-1, static_cast<unsigned>(__popc(teams)))) return;
    if (task.size.bits == size.bits) {
        const int depth = static_cast<int>(task.info & info::depth_mask);
        const std::uint32_t end = task.last;
        for (; teams != 0 && task.first != end; teams &= teams - 1) {
            const unsigned first = static_cast<unsigned>(__ffs(static_cast<int>(teams))) - 1;
            const unsigned warps = (all_lanes >> (warp_size - team_warps)) << first;
            if (!may_all_run(first, team_warps, depth) || !take_offers(warps)) continue;
            task.last = task.first + 1;
            call_team(first, team_warps, task);
            ++task.first;
        }
        task.last = end;
    }
    // Some have withdrawn, or the chunk was replaced.
    if (task.first != task.last && !push_block_task(task)) drop_task();
}

/// One lane: calls teams that have offered for the candidate, and for what there is after it.
__device__ __noinline__ inline void call_teams() {
    gang_state& gang = this_block().gang;
    with_block_lock(gang.lock, [&] {
        call_teams_for_chunk();
        while (load_relaxed_in_block(gang.ready) != 0) {
            if (!has_or_takes_candidate()) return;
            const unsigned team_warps = load_relaxed_in_block(gang.warps);
            unsigned teams = complete_teams(load_relaxed_in_block(gang.ready), team_warps);
            fence_in_block();
            unsigned first = 0;
            if (teams == 0) {
                if (!pass_over()) return;
                continue;
            }
            const int depth = static_cast<int>(load_relaxed_in_block(gang.depth));
            for (; teams != 0; teams &= teams - 1) {
                first = static_cast<unsigned>(__ffs(static_cast<int>(teams))) - 1;
                const unsigned warps = (all_lanes >> (warp_size - team_warps)) << first;
                if (may_all_run(first, team_warps, depth) && take_offers(warps)) break;
            }
            if (teams == 0) return;
            call_team(first, team_warps, gang.candidate);
            store_relaxed_in_block(gang.has_candidate, 0u);
        }
    });
}

/// One lane that has offered: whether its team is called.
__device__ inline bool is_called() { return (load_relaxed_in_block(this_block().gang.ready) & 1u << warp_rank()) == 0; }
/// One lane: calls teams if one is complete, or if a block is there that is no candidate yet.
__device__ inline void call_teams_if_any() {
    gang_state& gang = this_block().gang;
    if (load_relaxed_in_block(gang.has_candidate) != 0) {
        // A narrower one may pass it over; to look for that on a long deque takes long, and keeps others from it.
        const unsigned warps = load_relaxed_in_block(gang.warps);
        const bool has_narrower = has_block_tasks() && load_relaxed_in_block(gang.narrowest) <= warps / 2 * warp_size;
        if (complete_teams(load_relaxed_in_block(gang.ready), warps) == 0 && !has_narrower) return;
    } else if (!has_block_work()) {
        return;
    }
    call_teams();
}
/// One lane that has offered: false if its team has been called: then this warp must run the block.
__device__ inline bool withdraw() {
    const unsigned mine = 1u << warp_rank();
    return (fetch_and_relaxed(this_block().gang.ready, ~mine) & mine) != 0;
}

/// All lanes of a warp that is called: runs the block with its team.
__device__ DYNPAR_NOINLINE inline void answer_call() {
    unsigned called = 0;
    if (lane_rank() == 0) {
        unsigned& mine = this_warp().called;
        while ((called = load_relaxed_in_block(mine)) == 0) {  // who calls has the lock
        }
        store_relaxed_in_block(mine, 0u);
        fence_in_block();
    }
    run_on_team(__shfl_sync(all_lanes, called, 0) - 1);
}

/// All lanes together: runs a block task if the other warps come soon. A warp with nothing better to do is patient: if
/// many came and left, they would hardly ever be there at the same time. While more and more come, one that waits stays
/// longer still; but not for ever, since what it alone may run can come to it meanwhile. It leaves when what it waits
/// for is complete.
__device__ inline bool try_block_task(unsigned patience, arena_index awaited) {
    bool called = false;
    // All have looked at the deques before one chooses a candidate, which may push.
    sync_warp();
    if (lane_rank() == 0 && block_task_wanted(this_warp().depth) && offer_to_join()) {
        int most = 0;
        for (unsigned polls = 0, until = patience; polls < until && !called; ++polls) {
            call_teams_if_any();
            called = is_called();
            if (!called) __nanosleep(50);
            if (this_warp().depth < 0) continue;
            if ((awaited != 0 && children_are_complete(awaited)) || run_stopped()) break;
            const int ready = __popc(load_relaxed_in_block(this_block().gang.ready));
            if (ready > most) {
                most = ready;
                until = polls + patience;
            }
        }
        if (!called) called = !withdraw();
    }
    if (!__shfl_sync(all_lanes, called, 0)) return false;
    answer_call();
    return true;
}

/// All warps of a team together, with no shared memory of the multiprocessor in use: a block's part of it.
struct shared_part {
    unsigned char* begin;
    unsigned bytes;

    __device__ explicit shared_part(const team_state& team) {
        const bool all = team.threads == blockDim.x;
        begin = kernels_shared_memory() + team.first_thread / warp_size * shared_bytes_of_warp();
        bytes = all ? engine().shared_bytes : team.threads / warp_size * shared_bytes_of_warp();
    }
};

/// The first thread of a team: shared memory for the block that is about to run. Out of line, since few need it.
__device__ __noinline__ inline arena_index find_shared_memory_of_team(team_state& team, unsigned bytes, bool in_use) {
    const shared_part part(team);
    arena_index borrowed = 0;
    team.shared_memory = find_shared_memory(bytes, part.begin, in_use ? 0 : part.bytes, borrowed);
    return borrowed;
}

/// All lanes of a team's warp whose block has a node of its own.
__device__ __noinline__ inline void point_all_to_own(team_state& team) {
    const warp_state& warp = this_warp();
    point_to_own<lane_task>(warp.lane_base, warp.lane_owner_end, team.current.grid, team.own);
    point_to_own<wide_task>(warp.wide_base, warp.wide_owner_end, team.current.grid, team.own);
    if (threadIdx.x - team.first_thread < warp_size) point_staged_to_own(team, team.current.grid, team.own);
}

/// The first thread of a team: counts the return of the blocks that have run, and the children of the last one. If that
/// makes a grid continue, the next block of this team is one of it.
__device__ __noinline__ inline void settle_any_block(team_state& team, std::uint32_t blocks) {
    const wide_task& task = team.current;
    team.keeps = 1;
    if (blocks > 1) add_to_team_batch(team, task.grid, 1 - static_cast<int>(blocks));
    if (team.own == 0 && !is_sole_owner(task.info)) {
        add_to_team_batch(team, task.grid, static_cast<int>(team.launched) - 1);
    } else {
        if (team.batch > 0) flush_team_batch(team);
        settle_wide<false>(task.grid, task.info, team.own, team.own_counts, static_cast<int>(team.launched));
    }
    team.keeps = 0;
}
__device__ inline void settle_blocks(team_state& team, std::uint32_t blocks) {
    const wide_task& task = team.current;
    if (team.own != 0 || is_sole_owner(task.info) || team.batch_of != task.grid) return settle_any_block(team, blocks);
    team.batch += static_cast<int>(team.launched) - static_cast<int>(blocks);
}

/// All warps of a team, none of which waits for anything: divides what one of them has on its deque of wide tasks among
/// all, as far as the others have room. Mostly that is the first warp: of a block's threads, one launches.
__device__ DYNPAR_NOINLINE inline void even_out() {
    const team_state& team = this_team();
    const unsigned first = team.first_thread / warp_size;
    const unsigned count = team.threads / warp_size;
    const unsigned rank = warp_rank() - first;
    warp_state& mine = this_warp();
    std::uint32_t steal_end = 0, tasks = 0;  // of the warp with this lane's number
    if (lane_rank() < count) {
        steal_end = warp_number(first + lane_rank()).wide_steal_end;
        tasks = warp_number(first + lane_rank()).wide_owner_end - steal_end;
    }
    const unsigned with_several = __ballot_sync(all_lanes, tasks > 1);
    sync_team();  // all have read the counters: from here on each changes its own
    if (with_several == 0) return;
    const unsigned from = static_cast<unsigned>(__ffs(static_cast<int>(with_several))) - 1;
    const std::uint32_t room =
        tuning::wide_deque_capacity - __reduce_max_sync(all_lanes, lane_rank() != from ? tasks : 0);
    steal_end = __shfl_sync(all_lanes, steal_end, from);
    tasks = __shfl_sync(all_lanes, tasks, from);
    // The oldest, to the others in turns.
    const std::uint32_t donated = min(tasks - (tasks + count - 1) / count, room * (count - 1));
    if (rank != from) {
        wide_task* const slots = engine().wide_deques +
                                 (static_cast<std::size_t>(worker_rank()) - rank + from) * tuning::wide_deque_capacity;
        const unsigned turn = (rank + count - from) % count - 1;  // among those who take
        std::uint32_t owner_end = mine.wide_owner_end;
        for (std::uint32_t n = turn; n < donated; n += count - 1, ++owner_end) {
            if (lane_rank() < task_words)
                word_of(slot<wide_task>(owner_end), lane_rank()) =
                    word_of(slots[(steal_end + n) % tuning::wide_deque_capacity], lane_rank());
        }
        sync_warp();
        if (lane_rank() == 0) mine.wide_owner_end = owner_end;
    }
    sync_warp();
    sync_team();
    if (rank == from && lane_rank() == 0) mine.wide_steal_end = steal_end + donated;
    sync_warp();
}

/// How many blocks of the chunk a team takes at once: its part of what is left, if its last ones were short and have
/// launched nothing; for of a block that launches, the children come first.
__device__ inline std::uint32_t blocks_of_run(const team_state& team, bool were_short, int left) {
    if (!were_short || team.launched != 0 || team.own != 0 || is_traced_run()) return 1;
    const std::uint32_t part = static_cast<std::uint32_t>(left) * team.threads / blockDim.x;
    return min(max(part, 1u), tuning::most_blocks_of_run);
}
/// The first thread of a team that waits for nothing: whether it may take blocks of the chunk: if nothing else comes
/// first, such as what continues on its own warp, and they are of the size of its last one.
__device__ inline bool may_take_of_chunk(const team_state& team) {
    const open_grid_word chunk = load_chunk();
    return chunk.left() > 0 && chunk.width() == info::on_block && size_of_chunk().bits == team.current.size.bits &&
           load_relaxed_in_block(team.staged) == 0 && load_relaxed_in_block(this_block().gang.has_candidate) == 0 &&
           !has_block_tasks() && has_no_tasks();
}
/// The same, if it may: takes a block of the chunk, or several. Without the lock, since a worker block's teams do this
/// at the same time. `were_short`: the last blocks.
__device__ __noinline__ inline bool take_blocks_of_chunk(team_state& team, bool were_short) {
    if (!take_of_chunk(-1, true, blocks_of_run(team, were_short, load_chunk().left()), team.next)) return false;
    if (team.next.size.bits == team.current.size.bits) {
        // Withheld returns of its own grid stay so: that is not complete before this block.
        if (team.batch > 0 || team.batch_of != team.next.grid) flush_team_batch(team);
        return true;
    }
    // The chunk was replaced meanwhile.
    if (!push_here(team.next)) drop_task();
    return false;
}

/// One thread of a team that waits for nothing: takes the newest block that its blocks have launched, if it is of its
/// size.
__device__ inline bool take_staged_block(team_state& team) {
    const unsigned staged = load_relaxed_in_block(team.staged);
    if (staged == 0) return false;
    wide_task& newest = staged_block(team, staged - 1);
    if (newest.size.bits != team.current.size.bits && team_warps_for(newest.size) != team.threads / warp_size)
        return false;
    copy_task(team.next, newest);
    team.next.last = newest.first + 1;
    // A grid that has continued may have several blocks.
    if (++newest.first == newest.last) store_relaxed_in_block(team.staged, staged - 1);
    // Others look for work there.
    if (staged > 1 && block_tasks_on_deque() < tuning::few_block_tasks) {
        if (team.batch > 0) flush_team_batch(team);
        push_staged(team, staged / 2);
    }
    return true;
}

/// The same, with nothing staged of its size: from the worker block, or from the open grids.
__device__ __noinline__ inline bool take_next_block(team_state& team, bool were_short) {
    gang_state& gang = this_block().gang;
    const unsigned team_warps = team.threads / warp_size;
    if (may_take_of_chunk(team) && take_blocks_of_chunk(team, were_short)) return true;
    if (team.batch != 0 && load_relaxed_in_block(team.staged) == 0) {
        // What comes next has nothing to do with what the team has run, for which others may be waiting.
        team.keeps = 1;
        flush_team_batch(team);
        team.keeps = 0;
    }
    if (take_staged_block(team)) return true;
    flush_team_batch(team);
    for (bool fetched = false;; fetched = true) {
        bool found = false, taken = false;
        if (fetched && may_take_of_chunk(team) && take_blocks_of_chunk(team, were_short)) return true;
        with_block_lock(gang.lock, [&] {
            found = has_or_takes_candidate();
            if (!found) return;
            const unsigned wanted = load_relaxed_in_block(gang.warps);
            if (wanted == team_warps) {
                copy_task(team.next, gang.candidate);
                store_relaxed_in_block(gang.has_candidate, 0u);
                taken = true;
            } else if (wanted > team_warps && gang.passed_over < tuning::most_passed_over &&
                       load_relaxed_in_block(gang.narrowest) <= team.threads &&
                       take_block_task(-1, team.threads, team.next)) {
                taken = team_warps_for(team.next.size) == team_warps;
                if (taken) {
                    note_passed_over(wanted);
                } else if (!push_block_task(team.next)) {
                    drop_task();
                }
            }
        });
        if (found || fetched || !fetch_chunk_for_block()) return taken;
    }
}

/// One thread of a team that waits for nothing: whether its warps have tasks of their own.
__device__ inline bool has_tasks_of_warps(const team_state& team) {
    const unsigned first = team.first_thread / warp_size;
    std::uint32_t tasks = 0;
#pragma unroll 1
    for (unsigned i = 0; i < team.threads / warp_size; ++i) {
        const warp_state& warp = warp_number(first + i);
        tasks |= (warp.lane_owner_end - warp.lane_steal_end) | (warp.wide_owner_end - warp.wide_steal_end) |
                 warp.ready | warp.spilled_lanes.head() | warp.spilled_wides.head();
    }
    return tasks != 0;
}

/// One thread of a team that has found no more blocks, and waits for nothing: stays for a moment, if the last one was
/// of a grid of several; for often another grid follows, and warps that part take several microseconds to come together
/// again. Until there is a block, which may be for others; false if none comes soon, or if there is something else.
__device__ DYNPAR_NOINLINE inline bool stay_for_more(const team_state& team) {
    gang_state& gang = this_block().gang;
    if ((team.current.info & info::one_of_several) == 0 || load_relaxed_in_block(team.staged) != 0 ||
        has_tasks_of_warps(team))
        return false;
    const team_search counts(team.threads / warp_size);
    for (unsigned poll = 0; poll < tuning::polls_of_team; ++poll) {
        poll_shared_state();
        if (load_relaxed_in_block(gang.over) != not_over || chunk_is_for_warps()) return false;
        if (load_relaxed_in_block(gang.has_candidate) != 0 || has_block_work()) return true;
        unsigned place;
        open_grid_word seen;
        if (block_task_is_open(place, seen) && fetch_chunk(place, seen)) return true;
        __nanosleep(tuning::poll_nanoseconds);
    }
    return false;
}

/// One thread of a team that parts: calls teams of its warps for smaller blocks, as many as there are. Blocks of
/// several sizes follow one another in many programs, and warps that have to find together again take several
/// microseconds.
__device__ __noinline__ inline void call_parts(const team_state& team) {
    gang_state& gang = this_block().gang;
    const unsigned all = warps_of_worker_block();
    const unsigned end = (team.first_thread + team.threads) / warp_size;
    with_block_lock(gang.lock, [&] {
        for (unsigned warp = team.first_thread / warp_size; warp < end;) {
            if (!has_or_takes_candidate()) return;
            const unsigned part_warps = load_relaxed_in_block(gang.warps);
            warp = (warp + part_warps - 1) / part_warps * part_warps;
            if (part_warps >= team.threads / warp_size || warp + part_warps > end) return;
            const unsigned part = team_number(part_warps, warp, all);
            copy_task(team_of_number(part).next, gang.candidate);
            store_relaxed_in_block(gang.has_candidate, 0u);
            for (const unsigned part_end = warp + part_warps; warp < part_end; ++warp) call_warp(warp, part);
        }
    });
}

/// The first thread of a team whose block waits, and has counted its children: calls teams of its warps, which are all
/// here, for the newest of the children that are staged, as many as there is room for. The others go to the worker
/// block's deque.
__device__ DYNPAR_NOINLINE inline void call_for_staged_children(team_state& team, bool stops) {
    const unsigned all = warps_of_worker_block();
    const unsigned end = (team.first_thread + team.threads) / warp_size;
    unsigned staged = load_relaxed_in_block(team.staged);
    for (unsigned warp = team.first_thread / warp_size; staged != team.staged_before && !stops; --staged) {
        const wide_task& newest = staged_block(team, staged - 1);
        const unsigned part_warps = team_warps_for(newest.size);
        warp = (warp + part_warps - 1) / part_warps * part_warps;
        if (warp + part_warps > end || newest.first + 1 != newest.last) break;
        const unsigned part = team_number(part_warps, warp, all);
        copy_task(team_of_number(part).next, newest);
        for (const unsigned part_end = warp + part_warps; warp < part_end; ++warp) call_warp(warp, part);
    }
    store_relaxed_in_block(team.staged, staged);
    if (staged != 0) push_staged(team, staged);
    team.staged_before = 0;
}
/// All lanes of a warp: for which team it is called, without having offered; the number plus one, or 0.
__device__ inline unsigned take_call() {
    const unsigned called = __shfl_sync(all_lanes, load_relaxed_in_block(this_warp().called), 0);
    if (called != 0 && lane_rank() == 0) store_relaxed_in_block(this_warp().called, 0u);
    return called;
}

/// What runs on a team below a block: some of its warps wait for something there. Kept in registers of the team's first
/// warp: of the task one word in each of the first lanes, and the rest in the first.
struct team_frame {
    std::uint32_t word = 0;
    arena_index own = 0;
    unsigned own_counts = counted::nothing, refused_shared = 0;
    unsigned char* shared_memory = nullptr;

    /// All lanes of the team's first warp, before it makes the next block the current one.
    __device__ void keep(team_state& team) {
        if (lane_rank() < task_words) word = word_of(team.current, lane_rank());
        own = team.own;
        own_counts = team.own_counts;
        refused_shared = team.refused_shared;
        shared_memory = team.shared_memory;
        sync_warp();
    }
    /// All lanes of the team's first warp.
    __device__ void restore(team_state& team) const {
        if (lane_rank() < task_words) word_of(team.current, lane_rank()) = word;
        if (lane_rank() != 0) return;
        team.own = own;
        team.own_counts = own_counts;
        team.refused_shared = refused_shared;
        team.shared_memory = shared_memory;
        team.launched = 0;
        team.leaves = 0;
    }
};

/// All lanes of a team's first warp: makes the next block the current one. Returns memory that is to be given back.
__device__ inline arena_index begin_next_block(team_state& team, bool nested) {
    arena_index borrowed = 0;
    DYNPAR_QUEUE_INVARIANT(!nested || team.next.first + 1 == team.next.last);  // what waits here goes on after one
    if (lane_rank() < task_words) word_of(team.current, lane_rank()) = word_of(team.next, lane_rank());
    sync_warp();
    if (lane_rank() == 0) {
        if (const unsigned bytes = team.current.size.shared_bytes(); bytes != 0)
            borrowed = find_shared_memory_of_team(team, bytes, nested);
        team.own = 0;
        team.own_counts = counted::nothing;
        team.refused_shared = 0;
        team.launched = 0;
        team.leaves = 0;
        team.staged_before = load_relaxed_in_block(team.staged);
    }
    sync_warp();
    return borrowed;
}

/// One warp of a team in a traced run: writes what the trace needs. The last, since it has least to do.
__device__ inline bool is_tracing_warp(const team_state& team) {
    return is_traced_run() && threadIdx.x - team.first_thread == team.threads - warp_size;
}
/// All warps of a team together, before they run blocks of the current task.
__device__ inline void begin_current_task(team_state& team) {
    warp_state& warp = this_warp();
    const wide_task& task = team.current;
    if (is_traced_run()) {  // the clock is read before the others begin the kernel, and launch
        if (is_tracing_warp(team)) warp.begun_at = device_nanoseconds();
        sync_warp();
        sync_team();
    }
    if (lane_rank() == 0) {
        deque_bases::begin();
        if (threadIdx.x == team.first_thread && task.first == 0) ++warp.grids;
        warp.deepest = max(warp.deepest, task.info & info::depth_mask);
    }
    sync_warp();
}
/// All warps of a team together, after blocks of the current task, the last of which has launched so many children in
/// this thread: to the point where one thread may settle them. `in_a_row`: blocks that have run one after another.
__device__ inline void end_current_task(team_state& team, unsigned launched, std::uint32_t in_a_row) {
    warp_state& warp = this_warp();
    const wide_task& task = team.current;
    const unsigned sum = __reduce_add_sync(all_lanes, launched);
    const std::uint32_t piled_up =
        warp.lane_owner_end - warp.lane_steal_end + warp.wide_owner_end - warp.wide_steal_end + warp.ready;
    if (lane_rank() == 0) {
        if (sum != 0) fetch_add_relaxed(team.launched, sum);
        // Coming together costs more than most tasks; but what blocks launch for single warps must not pile up.
        if (piled_up > tuning::tasks_piled_up || in_a_row >= tuning::block_tasks_in_a_row)
            store_relaxed_in_block(team.leaves, 1u);
    }
    if (team.own != 0 && (team.own_counts & counted::has_waited) == 0) point_all_to_own(team);
    if (is_tracing_warp(team)) stamp(task.descriptor, task.info, task.first, warp.begun_at);
    sync_warp();
    sync_team();
#if !DYNPAR_NO_TRACE
    if (is_traced_run()) write_if_many(warp.traced);
#endif
}

/// The first thread of a team whose blocks are settled: gives back those of the task that have not run.
__device__ DYNPAR_NOINLINE inline void give_back_blocks(team_state& team, std::uint32_t ran) {
    team.current.first += ran;
    if (!push_here(team.current)) drop_task();
}

/// One thread of a team that ends: what it has withheld and staged.
__device__ inline void hand_over_all(team_state& team) {
    if (team.batch != 0) flush_team_batch(team);
    if (const unsigned staged = load_relaxed_in_block(team.staged); staged != 0) push_staged(team, staged);
}
/// One thread of a team that waits for nothing, whose block is settled: what the team does now. Writes into
/// team_state::next what it runs. `blocks`: how many it has run of its last task, beginning at that time, in cycles;
/// `in_a_row`: of all its tasks.
__device__ inline team_course choose_course(team_state& team, std::uint32_t blocks, std::uint32_t in_a_row,
                                            unsigned begun_at, unsigned& stop_seen_at) {
    bool leaves = load_relaxed_in_block(team.leaves) != 0;
    const unsigned now = cycles_now();
    if (now - stop_seen_at > tuning::stop_after_cycles) {
        stop_seen_at = now;
        leaves = is_to_stop() || leaves;
    }
    const bool were_short = now - begun_at < blocks * tuning::cycles_of_short_block;
    if (in_a_row >= tuning::reserve_from_steps && in_a_row - blocks < tuning::reserve_from_steps)
        call_reserve_for_team(team.threads, (now - begun_at) / blocks);
    if (!leaves && (take_staged_block(team) || take_next_block(team, were_short) ||
                    (stay_for_more(team) && take_next_block(team, were_short))))
        return team_course::runs_next;
    hand_over_all(team);
    return leaves ? team_course::leaves : team_course::parts;
}

/// All warps of a team, each having been called: runs the block for which they were called, and then more of its size,
/// unless some of them wait for something. Between two blocks the first warp settles one and chooses the next; the
/// others wait at one barrier. What that costs bounds how many blocks a second run.
__device__ DYNPAR_NOINLINE inline void run_as_team() {
    warp_state& warp = this_warp();
    team_state& team = this_team();
    const bool in_first = threadIdx.x - team.first_thread < warp_size;
    const bool is_first = threadIdx.x == team.first_thread;
    unsigned stop_seen_at = cycles_now();
    flush_all();
    const bool nested = any_of_team(warp.level != 0);
    team_frame outer;
    if (in_first && nested) outer.keep(team);
    const block_frame<true> frame;
    if (lane_rank() == 0) ++warp.level;
    arena_index borrowed = in_first ? begin_next_block(team, nested) : 0;
    sync_warp();
    sync_team();
    team_course course;
    for (std::uint32_t in_a_row = 0;;) {
        const unsigned begun_at = cycles_now();
        begin_current_task(team);
        // Blocks of the task, one after another, until one leaves something to do, which it notes in
        // team_state::interrupted. A warp may have begun the next block before another has read there that this one
        // leaves nothing. So what is noted is the block's number, and what it says of a later one does not count.
        //
        // Here and not in a function, which would save all registers that an entry does not keep, for each task.
        const wide_task& task = team.current;
        const wide_entry entry = find_entry<wide_entry>(task.key);
        sync_warp();  // all begin the kernel together, also where some had to ask
        const std::uint32_t first = task.first;
        std::uint32_t block = first;
        unsigned launched = 0;
        for (bool is_last = false; !is_last;) {
            launched = 0;
            if (threadIdx.x - team.first_thread < task.size.threads()) {
                DYNPAR_QUEUE_WIDE_ENTRY
                launched = entry(block, false);
            }
            ++block;
            is_last = block == task.last;
            // What only the first thread does between two blocks: it counts children and nodes, and looks at the clock.
            // A wait that is refused has moved the children's number to the team.
            if (!is_last && (launched != 0 || load_relaxed_in_block(team.launched) != 0 ||
                             load_relaxed_in_block(team.own) != 0 || load_relaxed_in_block(team.refused_shared) != 0 ||
                             (is_first && cycles_now() - begun_at > tuning::stop_after_cycles)))
                store_relaxed_in_block(team.interrupted, block);
            if (const arrival why = team_rendezvous(returned); why != returned)
                launched = stay_in_block<on_team>(why, task.grid, task.info & info::depth_mask, launched);
            is_last = is_last || load_relaxed_in_block(team.interrupted) == block;
        }
        const std::uint32_t blocks = block - first;  // the task may be the next one soon
        in_a_row += blocks;
        end_current_task(team, launched, in_a_row);
        if (in_first) {
            if (is_first) {
                return_shared_memory(team.current.size.shared_bytes(), borrowed);
                settle_blocks(team, blocks);
                if (blocks != team.current.last - team.current.first) give_back_blocks(team, blocks);
            }
            sync_warp();
            if (nested) {  // one block, and then what waits here goes on
                if (is_first) {
                    hand_over_all(team);
                    team.course = team_course::leaves;
                }
                sync_warp();
                outer.restore(team);
            } else {
                exchange_block_tasks_now_and_then();
                if (is_first) team.course = choose_course(team, blocks, in_a_row, begun_at, stop_seen_at);
            }
            sync_warp();
            if (team.course == team_course::runs_next) borrowed = begin_next_block(team, false);
        }
        // Children run only behind this barrier, when they are counted.
        sync_team();
        course = team.course;
        if (course != team_course::runs_next) break;
    }
    if (lane_rank() == 0) --warp.level;
    sync_warp();
    if (nested) {
        DYNPAR_QUEUE_INVARIANT(load_relaxed_in_block(team.staged) == 0 && team.batch == 0);  // no other would come back
        frame.end();
        return;
    }
    even_out();
    if (course != team_course::parts) return;
    if (is_first) call_parts(team);
    sync_warp();
    sync_team();
}

/// All lanes of a warp that is called.
__device__ DYNPAR_NOINLINE inline void run_on_team(unsigned number) {
    warp_state& warp = this_warp();
    const unsigned outer = warp.team;
    while (true) {
        sync_warp();
        if (lane_rank() == 0) warp.team = number;
        sync_warp();
        run_as_team();
        const unsigned called = take_call();
        if (called == 0) break;
        number = called - 1;
    }
    if (lane_rank() == 0) warp.team = outer;
    sync_warp();
}

}  // namespace queue
}  // namespace detail
}  // namespace dynpar

#endif
