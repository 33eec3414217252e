#include "machine.hpp"

#include <boost/context/detail/fcontext.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>

#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

// ---- ThreadSanitizer

namespace {
std::atomic<unsigned> races_reported{0};
}

extern "C" {
void __tsan_on_report(void*) { races_reported.fetch_add(1, std::memory_order_relaxed); }
const char* __tsan_default_options() { return "exitcode=0:report_thread_leaks=0:history_size=4"; }
// What may race:
// - pop_free() reads the link of a piece that another warp may have taken meanwhile, and written over. Then its
//   exchange fails, and what it has read is forgotten.
// - has_block_tasks_to_donate() looks at the only task of a worker block's deque without the lock; what it finds is
//   looked at again under the lock.
const char* __tsan_default_suppressions() { return "race:pop_free\nrace:has_block_tasks_to_donate\n"; }
}

namespace queue_parts {
unsigned races() { return races_reported.load(std::memory_order_relaxed); }
}  // namespace queue_parts

namespace simulated_gpu {

/// Words of a worker block's shared memory that hold data, and not a signal, though they are stored and loaded as
/// atomics: the chunk, but for the info word, which take_of_chunk() also looks at before it has claimed anything. A
/// load of one must come after the store of what it finds, as if they were plain memory. So each store also writes a
/// byte of its own, as plain memory, and each load reads that of the last store.
class data_words {
public:
    static constexpr std::size_t begin = offsetof(queue_parts::queue::block_state, gang);
    using gang = queue_parts::queue::gang_state;

    void will_load(std::size_t offset) {
        const int word = number_of(offset);
        if (word < 0) return;
        const unsigned stores = words_[word].stores.load(std::memory_order_relaxed);
        if (stores < most) static_cast<void>(*static_cast<volatile char*>(&words_[word].bytes[stores]));
    }
    void will_store(std::size_t offset) {
        const int word = number_of(offset);
        if (word < 0) return;
        const unsigned stores = words_[word].stores.load(std::memory_order_relaxed) + 1;
        if (stores < most) words_[word].bytes[stores] = 1;
    }
    void has_stored(std::size_t offset) {
        if (const int word = number_of(offset); word >= 0) words_[word].stores.fetch_add(1, std::memory_order_relaxed);
    }

private:
    static constexpr unsigned most = 1u << 14;  // stores that are followed
    static constexpr unsigned task_words = queue_parts::queue::task_words;

    static int number_of(std::size_t offset) {
        const std::size_t chunk = begin + offsetof(gang, chunk);
        const std::size_t info = offsetof(queue_parts::queue::wide_task, info);
        if (offset >= chunk && offset < chunk + sizeof(queue_parts::queue::wide_task)) {
            return offset != chunk + info ? static_cast<int>((offset - chunk) / 4) : -1;
        }
        if (offset == begin + offsetof(gang, chunk_end)) return task_words;
        if (offset == begin + offsetof(gang, chunk_is_counted)) return task_words + 1;
        if (offset == begin + offsetof(gang, batch_of)) return task_words + 2;
        return -1;
    }

    struct followed_word {
        std::atomic<unsigned> stores{0};
        char bytes[most] = {};
    };
    followed_word words_[task_words + 3];
};

constexpr std::size_t stack_bytes = std::size_t{256} << 10;

/// Warps that come to a barrier.
struct block {
    unsigned char* shared_memory = nullptr;
    std::size_t shared_bytes = 0;
    unsigned warps = 0;
    struct barrier_state {
        std::atomic<unsigned> arrived{0};
        std::atomic<unsigned> completed{0};
    };
    barrier_state barriers[16];  // the first is that of __syncthreads
    std::atomic<unsigned> says[2] = {};
    data_words data;

    void barrier() { barrier(0, warps); }
    void barrier(unsigned number, unsigned of_warps) {
        barrier_state& here = barriers[number];
        const unsigned before = here.completed.load(std::memory_order_relaxed);
        if (here.arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == of_warps) {
            here.arrived.store(0, std::memory_order_relaxed);
            here.completed.store(before + 1, std::memory_order_release);
        } else {
            while (here.completed.load(std::memory_order_acquire) == before) std::this_thread::yield();
        }
    }
};

struct warp {
    thread lanes[32];
    unsigned running = 32;
    void* host_context = nullptr;
    const std::function<void()>* function = nullptr;
    std::uint64_t random = 1;

    // What lanes do together: of two meetings, since one lane may be at the next already.
    struct {
        unsigned long long values[32];
        unsigned long long result;
    } meetings[2];
    unsigned arrived = 0;
    unsigned complete = 0;       // meetings
    unsigned attended[32] = {};  // by each lane
    unsigned barriers_or = 0;

#if defined(__SANITIZE_THREAD__)
    // Fibers of ThreadSanitizer, which are no more than vector clocks here: what this warp has done before its last
    // fence, and what was done before the stores that it has seen since. For words in device memory, and in shared.
    struct clocks {
        void* before_fence = __tsan_create_fiber(0);
        void* seen = __tsan_create_fiber(0);
        bool fenced = false;
        bool fresh = false;  // something has been seen since the last fence
        char to_fence = 0, from_fence = 0;
        ~clocks() {
            __tsan_destroy_fiber(before_fence);
            __tsan_destroy_fiber(seen);
        }
    };
    clocks device, shared;
#endif
};

namespace {

using boost::context::detail::transfer_t;

void arrived_from(transfer_t from) {
    auto* const who = static_cast<thread*>(from.data);
    (who != nullptr ? who->context : current->of_warp->host_context) = from.fctx;
}

void go_on(thread* next) {
    thread* const me = current;
    current = next;
    arrived_from(boost::context::detail::jump_fcontext(next->context, me));
}

thread* next_lane() {
    warp& w = *current->of_warp;
    unsigned lane = current->lane;
    do {
        lane = (lane + 1) % 32;
    } while (w.lanes[lane].ended);
    return &w.lanes[lane];
}

[[noreturn]] void fail(const char* why) {
    std::fprintf(stderr, "queue_parts: %s\n", why);
    std::abort();
}

void lane_main(transfer_t from) {
    arrived_from(from);
    warp& w = *current->of_warp;
    (*w.function)();
    current->ended = true;
    if (--w.running != 0) {
        go_on(next_lane());
    } else {
        boost::context::detail::jump_fcontext(w.host_context, nullptr);
    }
}

unsigned draw(unsigned bound) {
    std::uint64_t& x = current->of_warp->random;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return static_cast<unsigned>((x >> 33) % bound);
}

std::size_t offset_of(const void* place) {
    return static_cast<std::size_t>(static_cast<const unsigned char*>(place) - current->of_block->shared_memory);
}

}  // namespace

bool is_shared(const void* place) {
    const block& b = *current->of_block;
    const auto* const byte = static_cast<const unsigned char*>(place);
    return byte >= b.shared_memory && byte < b.shared_memory + b.shared_bytes;
}

// ---- Fences, and words that hold data

#if defined(__SANITIZE_THREAD__)
namespace {
// Not instrumented: what these functions read would count as the fiber's access.
#define QUEUE_PARTS_NOT_INSTRUMENTED __attribute__((no_sanitize("thread"), noinline))

QUEUE_PARTS_NOT_INSTRUMENTED void fence_for(warp::clocks& of) {
    void* const me = __tsan_get_current_fiber();
    if (of.fresh) {
        __tsan_switch_to_fiber(of.seen, __tsan_switch_to_fiber_no_sync);
        __tsan_release(&of.to_fence);
        __tsan_switch_to_fiber(me, __tsan_switch_to_fiber_no_sync);
        __tsan_acquire(&of.to_fence);
        of.fresh = false;
    }
    __tsan_release(&of.from_fence);
    __tsan_switch_to_fiber(of.before_fence, __tsan_switch_to_fiber_no_sync);
    __tsan_acquire(&of.from_fence);
    __tsan_switch_to_fiber(me, __tsan_switch_to_fiber_no_sync);
    of.fenced = true;
}
QUEUE_PARTS_NOT_INSTRUMENTED warp::clocks& clocks_for(const void* place) {
    const block& b = *current->of_block;
    const auto* const byte = static_cast<const unsigned char*>(place);
    const bool shared = byte >= b.shared_memory && byte < b.shared_memory + b.shared_bytes;
    return shared ? current->of_warp->shared : current->of_warp->device;
}
}  // namespace

void will_load(const void* place) {
    if (is_shared(place)) current->of_block->data.will_load(offset_of(place));
}
void has_stored(const void* place) {
    if (is_shared(place)) current->of_block->data.has_stored(offset_of(place));
}
QUEUE_PARTS_NOT_INSTRUMENTED void fence(scope among) {
    if (among == scope::device) fence_for(current->of_warp->device);
    fence_for(current->of_warp->shared);
}
QUEUE_PARTS_NOT_INSTRUMENTED void has_loaded(const void* place) {
    warp::clocks& of = clocks_for(place);
    void* const me = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(of.seen, __tsan_switch_to_fiber_no_sync);
    __tsan_acquire(const_cast<void*>(place));
    __tsan_switch_to_fiber(me, __tsan_switch_to_fiber_no_sync);
    of.fresh = true;
}
QUEUE_PARTS_NOT_INSTRUMENTED void will_store(const void* place) {
    if (is_shared(place)) current->of_block->data.will_store(offset_of(place));
    warp::clocks& of = clocks_for(place);
    if (!of.fenced) return;
    void* const me = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(of.before_fence, __tsan_switch_to_fiber_no_sync);
    __tsan_release(const_cast<void*>(place));
    __tsan_switch_to_fiber(me, __tsan_switch_to_fiber_no_sync);
}
#else
void fence(scope) { std::atomic_thread_fence(std::memory_order_acq_rel); }
void will_load(const void*) {}
void has_loaded(const void*) {}
void will_store(const void*) {}
void has_stored(const void*) {}
#endif

// ---- Who goes on

void switch_threads() {
    passes_left = 1 + static_cast<int>(draw(64));
    if (draw(64) == 0) {
        std::this_thread::sleep_for(std::chrono::microseconds(20));
    } else {
        std::this_thread::yield();
    }
}
void sleep(unsigned) { std::this_thread::yield(); }

meeting meet_lanes(unsigned mask, unsigned long long value, collective, source_line where) {
    warp& w = *current->of_warp;
    const unsigned lane = current->lane;
    if (__builtin_popcount(mask) == 1) {
        thread_local unsigned long long own_values[32], own_result;
        own_values[lane] = value;
        return {own_values, &own_result, true};
    }
    if (mask != 0xffffffffu || w.running != 32) {
        std::fprintf(stderr, "%s:%d: ", where.file, where.line);
        fail("some lanes only come together");
    }
    const unsigned number = w.attended[lane]++;
    auto& here = w.meetings[number % 2];
    here.values[lane] = value;
    if (++w.arrived == 32) {
        w.arrived = 0;
        ++w.complete;
        return {here.values, &here.result, true};
    }
    while (w.complete <= number) go_on(next_lane());
    return {here.values, &here.result, false};
}

void block_barrier() {
    const meeting all = meet_lanes(0xffffffffu, 0, collective::sync, {"", 0});
    if (all.is_last) current->of_block->barrier();
}
void barrier_of_warps(unsigned number, unsigned threads) {
    const meeting all = meet_lanes(0xffffffffu, 0, collective::sync, {"", 0});
    if (all.is_last) current->of_block->barrier(number, threads / 32);
}
bool block_barrier_or(bool says) {
    const meeting all = meet_lanes(0xffffffffu, says, collective::ballot, {"", 0});
    if (all.is_last) {
        block& b = *current->of_block;
        unsigned long long any = 0;
        for (unsigned lane = 0; lane < 32; ++lane) any |= all.values[lane];
        const unsigned number = current->of_warp->barriers_or++;
        b.says[number % 2].fetch_or(any != 0 ? 1 : 0, std::memory_order_relaxed);
        b.barrier();
        *all.result = b.says[number % 2].load(std::memory_order_relaxed);
        b.barrier();
        b.says[number % 2].store(0, std::memory_order_relaxed);
        b.barrier();
    }
    return *all.result != 0;
}

// A warp takes some hundred times as long here as on a GPU.
unsigned cycles() { return static_cast<unsigned>(nanoseconds() / 64); }
unsigned long long nanoseconds() {
    return static_cast<unsigned long long>(std::chrono::steady_clock::now().time_since_epoch().count());
}
unsigned long long grid_number() { return 0; }
unsigned multiprocessor() { return current->block_index.x; }
void trap() { fail("trap"); }
bool is_local(const void* place) {
    const auto* const byte = static_cast<const unsigned char*>(place);
    return byte >= current->stack && byte < current->stack + stack_bytes;
}
/// As if frames were as small as on a GPU.
std::size_t place_in_stack(const void* place) {
    return static_cast<std::size_t>(static_cast<const unsigned char*>(place) - current->stack) / 8;
}
void lock_for_host() {}
void unlock_for_host() {}

}  // namespace simulated_gpu

namespace queue_parts {

namespace {

/// The lanes' stacks of a warp: as they are, since to clear them takes longer than most tests.
class lane_stacks {
public:
    lane_stacks() {
        const std::lock_guard<std::mutex> guard(mutex());
        if (free().empty()) free().emplace_back(new unsigned char[32 * simulated_gpu::stack_bytes]);
        stacks_ = std::move(free().back());
        free().pop_back();
    }
    ~lane_stacks() {
        const std::lock_guard<std::mutex> guard(mutex());
        free().push_back(std::move(stacks_));
    }
    lane_stacks(const lane_stacks&) = delete;
    lane_stacks& operator=(const lane_stacks&) = delete;
    unsigned char* of_lane(unsigned lane) const { return stacks_.get() + lane * simulated_gpu::stack_bytes; }

private:
    using stacks = std::unique_ptr<unsigned char[]>;
    static std::vector<stacks>& free() {
        static std::vector<stacks> all;
        return all;
    }
    static std::mutex& mutex() {
        static std::mutex one;
        return one;
    }
    stacks stacks_;
};

}  // namespace

struct machine::memory {
    std::vector<unsigned char> everything;
    std::atomic<unsigned> runs{0};
};

machine::machine(const machine_size& size) : size_(size), memory_(std::make_unique<memory>()) {
    memory& m = *memory_;
    const unsigned warps = size.worker_blocks * size.warps;
    // Twice: how much there is, and where.
    const auto lay_out = [&](unsigned char* begin) {
        unsigned char* end = begin;
        const auto place = [&end](auto*& where, std::size_t count) {
            end += (128 - reinterpret_cast<std::uintptr_t>(end) % 128) % 128;
            where = reinterpret_cast<std::remove_reference_t<decltype(where)>>(end);
            end += count * sizeof(*where);
        };
        place(view.control, 1);
        place(view.failures, 1);
        place(view.result, 1);
        place(view.arena, std::size_t{size.arena_units} * queue::unit_bytes);
        place(view.lane_deques, std::size_t{warps} * queue::lane_deque_capacity);
        place(view.wide_deques, std::size_t{warps} * queue::wide_deque_capacity);
        place(view.block_deques, std::size_t{size.worker_blocks} * queue::block_deque_capacity);
        place(view.ready_continuations, std::size_t{warps} * queue::most_ready);
        place(view.free_nodes, std::size_t{warps} * queue::node_cache_capacity);
        place(view.free_pieces, std::size_t{warps} * queue::piece_cache_capacity);
        place(view.warp_cells, size.cells);
        place(view.block_cells, size.cells);
        return static_cast<std::size_t>(end - begin);
    };
    m.everything.resize(lay_out(nullptr) + 128);
    lay_out(m.everything.data());
    view.arena_begin = 1;
    view.arena_fresh = 1 + (size.begins_with_memory ? warps * queue::units_at_first : 0);
    view.arena_units = size.arena_units;
    view.cell_mask = size.cells - 1;
    while (1u << view.cell_shift < size.cells) ++view.cell_shift;
    view.worker_blocks = size.worker_blocks;
    view.block_threads = size.warps * queue::warp_size;
    view.moldable_threads = queue::warp_size;
    view.sync_depth = 24;
    view.nesting_depth = 1000;
    view.stack_bytes = simulated_gpu::stack_bytes / 8;
    view.shared_bytes = shared_for_kernels;
}
machine::~machine() = default;

queue::arena_index machine::take(unsigned units) {
    const auto place = static_cast<queue::arena_index>(view.arena_fresh + control().arena_taken);
    control().arena_taken += units;
    return place;
}

void machine::run(const std::function<void()>& thread_function) {
    run_blocks(thread_function, [this](unsigned char* shared_memory) {
        auto& block = *reinterpret_cast<queue::block_state*>(shared_memory);
        auto* const warps = reinterpret_cast<queue::warp_state*>(shared_memory + sizeof(queue::block_state));
        block.engine = view;
        static queue::known_kernels kernels;
        block.kernels_of_module = &kernels;
        block.gang.searching = size_.warps;
        auto& all = reinterpret_cast<queue::team_state*>(shared_memory + queue::offset_of_teams(size_.warps))[1];
        all.threads = size_.warps * queue::warp_size;
        for (unsigned w = 0; w < size_.warps; ++w) {
            warps[w].depth = -1;
            warps[w].searches = 1;
        }
    });
}
void machine::run_grid(const std::function<void()>& thread_function) {
    run_blocks(thread_function, [](unsigned char*) {});
}

void machine::run_blocks(const std::function<void()>& thread_function,
                         const std::function<void(unsigned char*)>& set_up) {
    const unsigned run = ++memory_->runs;
    const std::size_t bytes = queue::state_bytes(size_.warps * queue::warp_size) + shared_for_kernels;
    struct alignas(128) sector {
        unsigned char bytes[128];
    };
    std::vector<std::vector<sector>> shared(size_.worker_blocks, std::vector<sector>((bytes + 127) / 128));
    std::vector<std::unique_ptr<simulated_gpu::block>> blocks;
    for (auto& of_block : shared) {
        blocks.push_back(std::make_unique<simulated_gpu::block>());
        blocks.back()->shared_memory = of_block[0].bytes;
        blocks.back()->shared_bytes = bytes;
        blocks.back()->warps = size_.warps;
        set_up(of_block[0].bytes);
    }
    const auto run_warp = [&](unsigned number) {
        const lane_stacks stacks;
        simulated_gpu::warp warp;
        warp.function = &thread_function;
        warp.random = (number + 1) * 0x9e3779b97f4a7c15ull + run;
        for (unsigned lane = 0; lane < 32; ++lane) {
            simulated_gpu::thread& t = warp.lanes[lane];
            t.index.x = number % size_.warps * 32 + lane;
            t.block_index.x = number / size_.warps;
            t.block_size = dim3(size_.warps * 32);
            t.grid_size = dim3(size_.worker_blocks);
            t.of_block = blocks[t.block_index.x].get();
            t.shared_memory = t.of_block->shared_memory;
            t.lane = lane;
            t.of_warp = &warp;
            t.stack = stacks.of_lane(lane);
            t.context = boost::context::detail::make_fcontext(t.stack + simulated_gpu::stack_bytes,
                                                              simulated_gpu::stack_bytes, simulated_gpu::lane_main);
        }
        simulated_gpu::current = &warp.lanes[0];
        boost::context::detail::jump_fcontext(warp.lanes[0].context, nullptr);
        simulated_gpu::current = nullptr;
    };
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < size_.worker_blocks * size_.warps; ++i) threads.emplace_back(run_warp, i);
    for (std::thread& thread : threads) thread.join();
}

}  // namespace queue_parts
