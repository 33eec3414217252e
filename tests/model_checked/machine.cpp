#include "machine.hpp"

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

namespace queue = model_checked::queue;

/// What only one warp knows.
struct own_memory {
    simulated_gpu::thread thread;
    alignas(128) unsigned char shared_memory[queue::state_bytes(queue::warp_size) + 128];
};
own_memory own[model_checked::most_warps];

queue::lane_task lane_deques[model_checked::most_warps * queue::lane_deque_capacity];
queue::wide_task wide_deques[model_checked::most_warps * queue::wide_deque_capacity];
queue::wide_task block_deques[model_checked::most_warps * queue::block_deque_capacity];
queue::arena_index ready_continuations[model_checked::most_warps * queue::most_ready];
queue::arena_index free_nodes[model_checked::most_warps * queue::node_cache_capacity];
queue::arena_index free_pieces[model_checked::most_warps * queue::piece_cache_capacity];
model_checked::device_memory the_device;

}  // namespace

namespace model_checked {

device_memory& device() { return the_device; }

queue::gang_state& the_gang() { return reinterpret_cast<queue::block_state*>(the_device.shared_memory)->gang; }

namespace {

void choose_warp(unsigned warp) {
    simulated_gpu::current = &own[warp].thread;
    simulated_gpu::passes_left = INT_MAX;
}

void begin_engine(unsigned warps, bool one_block) {
    std::memset(static_cast<void*>(&the_device), 0, sizeof(the_device));
    queue::engine_view view{};
    view.control = &the_device.control;
    view.arena = the_device.arena;
    view.arena_begin = view.arena_fresh = 1;
    view.arena_units = arena_units;
    view.lane_deques = lane_deques;
    view.wide_deques = wide_deques;
    view.block_deques = block_deques;
    view.ready_continuations = ready_continuations;
    view.free_nodes = free_nodes;
    view.free_pieces = free_pieces;
    view.warp_cells = the_device.warp_cells;
    view.block_cells = the_device.block_cells;
    view.cell_mask = cells - 1;
    view.worker_blocks = one_block ? 1 : warps;
    view.block_threads = (one_block ? warps : 1) * queue::warp_size;
    view.moldable_threads = queue::warp_size;
    view.sync_depth = 24;
    view.nesting_depth = 1000;
    for (unsigned warp = 0; warp < warps; ++warp) {
        own_memory& mine = own[warp];
        unsigned char* const shared_memory = one_block ? the_device.shared_memory : mine.shared_memory;
        mine.thread.index = {one_block ? warp * queue::warp_size : 0, 0, 0};
        mine.thread.block_index = {one_block ? 0 : warp, 0, 0};
        mine.thread.block_size = dim3(view.block_threads);
        mine.thread.grid_size = dim3(one_block ? 1 : warps);
        mine.thread.shared_memory = shared_memory;
        if (!one_block) std::memset(shared_memory, 0, sizeof(mine.shared_memory));
        auto& block = *reinterpret_cast<queue::block_state*>(shared_memory);
        block.engine = view;
        block.gang.searching = one_block ? warps : 1;
        auto& state =
            reinterpret_cast<queue::warp_state*>(shared_memory + sizeof(queue::block_state))[one_block ? warp : 0];
        state.depth = -1;
        state.searches = 1;
    }
    set_region(&the_device, sizeof(the_device));
}

program make_program(bool one_block, unsigned threads, std::function<void()> before, std::function<void(unsigned)> body,
                     std::function<void()> after) {
    program result;
    result.threads = threads;
    result.one_block = one_block;
    result.before = [=] {
        begin_engine(threads, one_block);
        before();
    };
    result.body = std::move(body);
    result.after = std::move(after);
    result.goes_on = choose_warp;
    return result;
}

}  // namespace

program worker_blocks(unsigned threads, std::function<void()> before, std::function<void(unsigned)> body,
                      std::function<void()> after) {
    return make_program(false, threads, std::move(before), std::move(body), std::move(after));
}
program warps_of_a_block(unsigned threads, std::function<void()> before, std::function<void(unsigned)> body,
                         std::function<void()> after) {
    return make_program(true, threads, std::move(before), std::move(body), std::move(after));
}

}  // namespace model_checked

// What lanes do together, where there is one lane.
namespace simulated_gpu {

namespace {
[[noreturn]] void not_modelled(const char* what) {
    std::fprintf(stderr, "model_checked: %s is not modelled\n", what);
    std::abort();
}
}  // namespace

void switch_threads() { passes_left = INT_MAX; }
void sleep(unsigned) { model_checked::wait_a_little(); }
meeting meet_lanes(unsigned, unsigned long long value, collective what, source_line) {
    static unsigned long long values[32], result;
    for (unsigned lane = 0; lane < 32; ++lane) values[lane] = lane == 0 || what == collective::shuffle ? value : 0;
    return {values, &result, true};
}
void block_barrier() {}
bool block_barrier_or(bool says) { return says; }
void barrier_of_warps(unsigned, unsigned) {}
unsigned cycles() { return 0; }
unsigned long long nanoseconds() { return 0; }
unsigned long long grid_number() { return 0; }
unsigned multiprocessor() { return 0; }
void trap() { not_modelled("trap"); }
bool is_local(const void*) { not_modelled("a thread's stack"); }
bool is_shared(const void*) { not_modelled("shared memory"); }
std::size_t place_in_stack(const void*) { not_modelled("a thread's stack"); }

}  // namespace simulated_gpu
