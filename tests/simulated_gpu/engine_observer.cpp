// What the queue engine has in shared memory, for the simulated GPU: whether a run makes progress, and what is printed
// of one that does not.
#include <dynpar/dynpar.hpp>

#include <cstdio>
#include <typeinfo>

namespace {

namespace queue = dynpar::detail::queue;

const queue::block_state& block_of(const unsigned char* shared_memory) {
    return *reinterpret_cast<const queue::block_state*>(shared_memory);
}
const queue::warp_state& warp_of(const unsigned char* shared_memory, unsigned warp) {
    return reinterpret_cast<const queue::warp_state*>(shared_memory + sizeof(queue::block_state))[warp];
}

const queue::team_state& team_of(const unsigned char* shared_memory, unsigned team, unsigned warps) {
    return reinterpret_cast<const queue::team_state*>(shared_memory + queue::offset_of_teams(warps))[team];
}

/// What changes when a task begins or is handed on, and not when a warp only looks for one.
unsigned long long progress(const unsigned char* shared_memory, unsigned threads) {
    unsigned long long sum = 0xcbf29ce484222325ull;
    const auto add = [&sum](unsigned long long value) { sum = (sum ^ value) * 0x100000001b3ull; };
    const queue::gang_state& gang = block_of(shared_memory).gang;
    add(gang.steal_end);
    add(gang.owner_end);
    add(gang.spilled);
    add(gang.chunk_left);
    add(gang.batch);
    for (unsigned i = 0; i < queue::team_states(threads / queue::warp_size); ++i)
        add(team_of(shared_memory, i, threads / queue::warp_size).own);
    for (unsigned i = 0; i < threads / queue::warp_size; ++i) {
        const queue::warp_state& warp = warp_of(shared_memory, i);
        add(warp.lane_steal_end);
        add(warp.lane_owner_end);
        add(warp.wide_steal_end);
        add(warp.wide_owner_end);
        add(warp.spilled_lanes.head() + warp.spilled_lanes.count());
        add(warp.ready);
        add(warp.spilled_wides.head() + warp.spilled_wides.count());
        add(warp.level);
        add(warp.team);
        add(warp.own);
        add(warp.grids);
        add(static_cast<unsigned>(warp.batch));
    }
    return sum;
}

const char* in_arena(const queue::engine_view& engine, queue::arena_index place, char (&text)[64]) {
    if (place == 0) return "none";
    if (place >= engine.arena_units) {
        std::snprintf(text, sizeof(text), "%u, which is no place", place);
        return text;
    }
    const auto& record =
        *reinterpret_cast<const queue::grid_node*>(engine.arena + std::size_t{place} * queue::unit_bytes);
    std::snprintf(text, sizeof(text), "%u (pending %d, parent %u)", place, record.counter, record.parent);
    return text;
}

void print_block(const unsigned char* shared_memory, unsigned threads) {
    const queue::engine_view& engine = block_of(shared_memory).engine;
    const queue::gang_state& gang = block_of(shared_memory).gang;
    const auto* const control = engine.control;
    char text[64];
    std::fprintf(stderr, "  run: done %u, stop %u, board", control->done, control->stop);
    for (const unsigned long long word : control->open_grids) {
        const queue::open_grid_word seen(word);
        std::fprintf(stderr, " %d/%u", word == 0 ? 0 : seen.left(), seen.width() >> queue::info::width_shift);
    }
    for (const auto* requests : {&control->warp_requests, &control->block_requests}) {
        std::fprintf(stderr, ", requests: %llu posted, %d open, %llu donated", requests->posted, requests->open,
                     requests->donated);
    }
    std::fprintf(stderr, "\n  gang: stack %u, spilled %u, candidate %u of %u warps at depth %u, ready %x, lock %u,",
                 gang.owner_end - gang.steal_end, gang.spilled, gang.has_candidate, gang.warps, gang.depth, gang.ready,
                 gang.lock);
    std::fprintf(stderr, " ticket %u (%llu)\n", gang.has_request, gang.request);
    for (unsigned i = 1; i < queue::team_states(threads / queue::warp_size); ++i) {
        const queue::team_state& team = team_of(shared_memory, i, threads / queue::warp_size);
        if (team.current.key == nullptr) continue;
        std::fprintf(stderr, "  team %u: arrived %x of %x, own %s, launched %u\n", i, team.arrived, team.warps(),
                     in_arena(engine, team.own, text), team.launched);
    }
    std::fprintf(
        stderr, "  share: lock %u, left %d, size %u, read %u, counted %u, returns %x of %u, searching %u, over %u\n",
        gang.chunk_lock, gang.chunk_left == 0 ? 0 : queue::open_grid_word(gang.chunk_left).left(), gang.chunk_size,
        gang.chunk_read, gang.chunk_is_counted, gang.batch, gang.batch_of, gang.searching, gang.over);
}

void print_warp(const unsigned char* shared_memory, unsigned number) {
    const queue::engine_view& engine = block_of(shared_memory).engine;
    const queue::warp_state& warp = warp_of(shared_memory, number);
    char own[64], awaited[64], batch[64];
    std::fprintf(stderr,
                 "    lane tasks %u (spilled %u, ready %u), wide tasks %u (spilled %u), level %u, team %u, called %u, "
                 "waits at depth %d "
                 "for %s, own %s,",
                 warp.lane_owner_end - warp.lane_steal_end, warp.spilled_lanes.head(), warp.ready,
                 warp.wide_owner_end - warp.wide_steal_end, warp.spilled_wides.head(), warp.level, warp.team,
                 warp.called, warp.depth, in_arena(engine, warp.awaited, awaited), in_arena(engine, warp.own, own));
    std::fprintf(stderr, " deferred %d of %s, ticket %u (%llu), searches %u, free records %d, grids %llu\n", warp.batch,
                 warp.batch != 0 ? in_arena(engine, warp.batch_of, batch) : "none", warp.has_request, warp.request,
                 warp.searches, warp.free_nodes, warp.grids);
}

[[maybe_unused]] const bool is_observed = [] {
    simulated_gpu::the_observer() = {&typeid(queue::engine_view), &progress, &print_block, &print_warp};
    return true;
}();

}  // namespace
