// The simulated GPU: multiprocessors, blocks, warps, and which thread goes on next.
#include <boost/context/detail/fcontext.hpp>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>
#include <unwind.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace simulated_gpu {
namespace {

constexpr unsigned lanes_of_warp = 32;
constexpr std::size_t stack_bytes = std::size_t{4} << 20;
constexpr std::size_t guard_bytes = 4096;
constexpr std::size_t stack_scale = 32;  // what a frame takes here, by what it takes on a GPU
constexpr unsigned nanoseconds_of_pass = 10;
constexpr unsigned long long first_nanosecond = 1000000;  // no GPU's clock says 0
constexpr unsigned at_a_time = 256;                       // threads that a GPU runs while one does a pass here, about
constexpr unsigned long long steps_until_fair = 5000000;
constexpr unsigned steps_of_slice = 5000;  // after which the host looks what there is to do

/// xorshift64*.
struct random_numbers {
    unsigned long long state;
    explicit random_numbers(unsigned long long seed) : state(seed * 0x9e3779b97f4a7c15ull + 0x2545f4914f6cdd1dull) {
        if (state == 0) state = 1;
        for (int i = 0; i < 4; ++i) next();
    }
    unsigned next() {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        return static_cast<unsigned>(state * 0x2545f4914f6cdd1dull >> 32);
    }
    unsigned below(unsigned bound) {
        return static_cast<unsigned>(static_cast<unsigned long long>(next()) * bound >> 32);
    }
};

/// Where the lanes of one mask meet. Two buffers in turns: a lane may come to the next meeting before the others have
/// read what came of this one, and no further.
struct meeting_place {
    unsigned mask = 0;
    unsigned arrived = 0;
    unsigned leaving = 0;  // lanes that have met, and have not read what the others brought
    unsigned turn = 0;
    collective what = collective::sync;
    source_line where{nullptr, 0};
    unsigned long long values[2][lanes_of_warp];
    unsigned long long results[2];
};

struct running_grid;

}  // namespace

struct warp {
    thread* lanes[lanes_of_warp] = {};
    unsigned ready = 0;     // lanes that can go on
    unsigned place = 0;     // in the machine's list of those that can; only if any lane is ready
    unsigned lane = 0;      // that ran last
    unsigned in_a_row = 0;  // how often it was chosen
    unsigned number = 0;    // in its block
    unsigned priority = 0;
    unsigned long long sleeps_until = 0;
    block* of_block = nullptr;
    std::vector<std::unique_ptr<meeting_place>> places;
};

struct block {
    running_grid* grid = nullptr;
    unsigned multiprocessor = 0;
    unsigned rank = 0;
    unsigned threads = 0, ended = 0;
    struct barrier {
        unsigned arrived = 0;
        bool says = false, said = false;
        std::vector<thread*> waiting;
    };
    barrier barriers[16];  // the first is that of __syncthreads
    std::unique_ptr<unsigned char[]> memory;
    unsigned char* shared_memory = nullptr;
    std::vector<warp> warps;
    std::vector<thread> lanes;
};

namespace {

struct running_grid {
    launch_parameters what;
    std::function<void()> when_over;
    unsigned long long number = 0;
    std::vector<unsigned> to_begin;  // blocks, the next one last
    unsigned running = 0;
};

struct multiprocessor_state {
    unsigned threads = 0, blocks = 0;
    std::size_t shared_bytes = 0;
};

const char* name_of(lane_order order) {
    switch (order) {
        case lane_order::drawn: return "drawn";
        case lane_order::in_step: return "in_step";
        case lane_order::free: return "free";
        case lane_order::free_ascending: return "free_ascending";
        case lane_order::free_descending: return "free_descending";
    }
    return "";
}
const char* name_of(warp_order order) {
    switch (order) {
        case warp_order::drawn: return "drawn";
        case warp_order::uniform: return "uniform";
        case warp_order::starved: return "starved";
        case warp_order::priorities: return "priorities";
    }
    return "";
}
const char* name_of(collective what) {
    switch (what) {
        case collective::sync: return "__syncwarp";
        case collective::shuffle: return "a shuffle";
        case collective::ballot: return "a vote";
        case collective::reduce: return "a reduction";
    }
    return "";
}

class machine {
public:
    void begin(launch_parameters what, std::function<void()> when_over) {
        auto grid = std::make_unique<running_grid>();
        grid->what = std::move(what);
        grid->when_over = std::move(when_over);
        grid->number = ++grids_begun_;
        if (running_.empty()) draw_strategy();
        for (unsigned rank = grid->what.blocks; rank-- > 0;) grid->to_begin.push_back(rank);
        if (current_settings().blocks_in_any_order) {
            for (std::size_t i = grid->to_begin.size(); i > 1; --i) {
                std::swap(grid->to_begin[i - 1], grid->to_begin[random_.below(static_cast<unsigned>(i))]);
            }
        }
        running_.push_back(std::move(grid));
        stalled_since_ = grid_begun_at_ = steps_;
    }

    bool run(const std::function<bool()>& is_over, unsigned long long most_steps) {
        if (current != nullptr) fail("the device waits for itself");
        const unsigned long long begun = steps_;
        while (!is_over()) {
            if (error_ != cudaSuccess) return false;
            if (most_steps != 0 && steps_ - begun >= most_steps) return false;
            begin_blocks();
            if (runnable_.empty()) {
                if (live_blocks_.empty() && running_.empty()) return false;
                if (live_blocks_.empty()) fail("a block does not fit on a multiprocessor");
                fail("every thread waits for another");
            }
            host_attends_at_ =
                steps_ + (most_steps != 0 ? std::min<unsigned long long>(most_steps, steps_of_slice) : steps_of_slice);
            go_on(choose());
            if (failed_thread_ != nullptr) print_failure();
            end_blocks();
            look_for_progress();
            if (steps_ - grid_begun_at_ > current_settings().most_steps)
                fail("a grid takes more steps than SIMULATED_GPU_STEPS");
        }
        return true;
    }

    // ---- Called by the threads of the device

    void switch_threads() {
        if (current == nullptr) {
            passes_left = 1 << 30;
            return;
        }
        count_passes();
        go_on(choose());
    }

    void sleep(unsigned nanoseconds) {
        if (current == nullptr) return;
        warp& w = *current->of_warp;
        // As long as the others take for what they do meanwhile on a GPU: all at the same time, and the lanes of a warp
        // as one. Who sleeps looks at device memory then, which takes there many times as long as most of what is a
        // pass here.
        constexpr unsigned looks = 8;
        const unsigned passes =
            looks * nanoseconds / nanoseconds_of_pass * (lanes_ == lane_order::in_step ? 1 : lanes_of_warp);
        if (w.ready == 1u << current->lane) w.sleeps_until = clock_ + 1 + passes * runnable_.size();
        w.in_a_row += 8;
        if (warps_ == warp_order::priorities) w.priority = next_lowest_--;
        count_passes();
        go_on(choose());
    }

    meeting meet(unsigned mask, unsigned long long value, collective what, source_line where) {
        warp& w = *current->of_warp;
        const unsigned bit = 1u << current->lane;
        meeting_place& place = place_of(w, mask);
        if ((mask & bit) == 0) fail("a lane meets others and is not in the mask");
        if (place.arrived == 0) {
            place.what = what;
            place.where = where;
        } else if (place.what != what || place.where.line != where.line || place.where.file != where.file) {
            std::string text = std::string("lanes of a warp meet at different places: ") + name_of(place.what) +
                               " at " + place.where.file + ":" + std::to_string(place.where.line) + ", and lane " +
                               std::to_string(current->lane) + " at " + name_of(what) + " at " + where.file + ":" +
                               std::to_string(where.line);
            fail(text.c_str());
        }
        const unsigned turn = place.turn;
        place.values[turn][current->lane] = value;
        place.arrived |= bit;
        const bool is_last = place.arrived == mask;
        if (is_last) {
            place.arrived = 0;
            place.turn ^= 1;
            place.leaving = mask & ~bit;
            make_ready(w, mask & ~bit);
        } else {
            block_current();
            place.leaving &= ~bit;
        }
        return {place.values[turn], &place.results[turn], is_last};
    }

    /// `threads`: 0: all that have not ended.
    void barrier(unsigned number, unsigned threads) {
        block& b = *current->of_block;
        if (number >= std::size(b.barriers) || threads % lanes_of_warp != 0 || threads > b.threads)
            fail("a barrier that there is not");
        block::barrier& here = b.barriers[number];
        if (++here.arrived < (threads == 0 ? b.threads - b.ended : threads)) {
            here.waiting.push_back(current);
            block_current();
            return;
        }
        here.arrived = 0;
        here.said = here.says;
        here.says = false;
        std::vector<thread*> waiting;
        waiting.swap(here.waiting);
        for (thread* const t : waiting) make_ready(*t->of_warp, 1u << t->lane);
        may_switch();
    }

    bool barrier_or(unsigned number, unsigned threads, bool says) {
        block::barrier& here = current->of_block->barriers[number];
        here.says = here.says || says;
        barrier(number, threads);
        return here.said;
    }

    unsigned long long clock() const {
        return counts_passes() ? clock_ + static_cast<unsigned>(quantum_ - std::max(passes_left, 0)) : clock_;
    }
    void host_looks_at_clock() { clock_ += at_a_time; }

    [[noreturn]] void break_down(cudaError_t why) {
        error_ = why;
        leave_for_host();
    }
    cudaError_t error() const { return error_; }

    bool is_on_stack(const void* place) const {
        const auto* byte = static_cast<const unsigned char*>(place);
        return current != nullptr && byte >= current->stack && byte < current->stack + stack_bytes;
    }

    [[noreturn]] void fail(const char* why);  // prints where all threads are, and ends the process

    unsigned that_fit(unsigned threads, std::size_t bytes) const {
        const settings& device = current_settings();
        unsigned blocks =
            std::min(device.blocks, device.threads / ((threads + lanes_of_warp - 1) / lanes_of_warp * lanes_of_warp));
        if (bytes != 0) blocks = std::min(blocks, static_cast<unsigned>(device.shared_bytes / bytes));
        return blocks;
    }

private:
    // ---- Blocks

    void begin_blocks() {
        multiprocessors_.resize(current_settings().multiprocessors);
        for (auto& grid : running_) {
            while (!grid->to_begin.empty()) {
                // The first at once, the others when the lot falls on them, or nothing else goes on.
                const bool late = current_settings().blocks_start_late && !runnable_.empty() && random_.below(4) == 0;
                if (late) break;
                const unsigned first = random_.below(current_settings().multiprocessors);
                unsigned best = current_settings().multiprocessors;
                for (unsigned i = 0;
                     i < current_settings().multiprocessors && best == current_settings().multiprocessors; ++i) {
                    const unsigned m = (first + i) % current_settings().multiprocessors;
                    if (has_room(multiprocessors_[m], grid->what)) best = m;
                }
                if (best == current_settings().multiprocessors) break;
                const unsigned rank = grid->to_begin.back();
                grid->to_begin.pop_back();
                begin_block(*grid, rank, best);
            }
        }
    }

    static bool has_room(const multiprocessor_state& m, const launch_parameters& what) {
        const settings& device = current_settings();
        return m.blocks < device.blocks && m.threads + what.threads <= device.threads &&
               m.shared_bytes + what.shared_bytes <= device.shared_bytes;
    }

    void begin_block(running_grid& grid, unsigned rank, unsigned on) {
        auto fresh = std::make_unique<block>();
        block& b = *fresh;
        b.grid = &grid;
        b.multiprocessor = on;
        b.rank = rank;
        b.threads = grid.what.threads;
        // Of its own size, so that AddressSanitizer sees what goes beyond it; and never zero.
        constexpr std::size_t alignment = 1024;
        b.memory.reset(new unsigned char[grid.what.shared_bytes + alignment]);
        const auto address = reinterpret_cast<std::uintptr_t>(b.memory.get());
        b.shared_memory = b.memory.get() + (alignment - address % alignment) % alignment;
        std::memset(b.shared_memory, 0xa5, grid.what.shared_bytes);
        b.warps = std::vector<warp>((b.threads + lanes_of_warp - 1) / lanes_of_warp);
        b.lanes.resize(b.threads);
        for (unsigned i = 0; i < b.threads; ++i) {
            thread& t = b.lanes[i];
            warp& w = b.warps[i / lanes_of_warp];
            t.index = uint3{i, 0, 0};
            t.block_index = uint3{rank, 0, 0};
            t.block_size = dim3(b.threads);
            t.grid_size = dim3(grid.what.blocks);
            t.shared_memory = b.shared_memory;
            t.lane = i % lanes_of_warp;
            t.of_warp = &w;
            t.of_block = &b;
            t.stack = take_stack();
            t.context = boost::context::detail::make_fcontext(t.stack + stack_bytes, stack_bytes - guard_bytes,
                                                              &machine::thread_main);
            w.lanes[t.lane] = &t;
            w.of_block = &b;
            w.number = i / lanes_of_warp;
        }
        for (warp& w : b.warps) {
            w.priority = random_.next() | 1u << 31;
            unsigned lanes = 0;
            for (unsigned lane = 0; lane < lanes_of_warp; ++lane) {
                if (w.lanes[lane] != nullptr) lanes |= 1u << lane;
            }
            make_ready(w, lanes);
        }
        multiprocessor_state& m = multiprocessors_[on];
        m.threads += grid.what.threads;
        m.shared_bytes += grid.what.shared_bytes;
        ++m.blocks;
        ++grid.running;
        live_blocks_.push_back(std::move(fresh));
    }

    void end_blocks() {
        if (!a_block_has_ended_) return;
        a_block_has_ended_ = false;
        stalled_since_ = steps_;
        starved_ = last_ = nullptr;  // perhaps of a block that is gone
        for (auto at = live_blocks_.begin(); at != live_blocks_.end();) {
            block& b = **at;
            if (b.ended != b.threads) {
                ++at;
                continue;
            }
            for (thread& t : b.lanes) free_stacks_.push_back(t.stack);
            multiprocessor_state& m = multiprocessors_[b.multiprocessor];
            m.threads -= b.threads;
            m.shared_bytes -= b.grid->what.shared_bytes;
            --m.blocks;
            --b.grid->running;
            at = live_blocks_.erase(at);
        }
        for (std::size_t i = 0; i < running_.size();) {
            if (running_[i]->running != 0 || !running_[i]->to_begin.empty()) {
                ++i;
                continue;
            }
            const auto over = std::move(running_[i]);
            running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
            over->when_over();
        }
    }

    unsigned char* take_stack() {
        if (!free_stacks_.empty()) {
            unsigned char* const stack = free_stacks_.back();
            free_stacks_.pop_back();
#if defined(__SANITIZE_ADDRESS__)
            __asan_unpoison_memory_region(stack + guard_bytes, stack_bytes - guard_bytes);
#endif
            return stack;
        }
        void* const memory =
            mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED || mprotect(memory, guard_bytes, PROT_NONE) != 0)
            fail("there is no memory for a thread's stack");
        return static_cast<unsigned char*>(memory);
    }

    // ---- Threads

    static void thread_main(boost::context::detail::transfer_t from) {
        machine& m = the_machine();
        m.arrived_from(from);
        if (m.collecting_ != nullptr) m.leave_for_host();  // it has not begun
        const thread* const me = current;
        me->of_block->grid->what.thread_function();
        m.end_thread();
    }

    [[noreturn]] void end_thread() {
        block& b = *current->of_block;
        warp& w = *current->of_warp;
        for (const auto& place : w.places) {
            if (place->arrived != 0 && (place->mask >> current->lane & 1) != 0)
                fail("a lane ends and others wait for it");
        }
        current->ended = true;
        take_out(w, 1u << current->lane);
        if (++b.ended == b.threads) {
            a_block_has_ended_ = true;
            leave_for_host();
        }
        if (b.barriers[0].arrived != 0 && b.barriers[0].arrived == b.threads - b.ended)
            fail("a thread ends and others wait for it at a barrier");
        if (runnable_.empty()) leave_for_host();
        go_on(choose());
        std::abort();
    }

    [[noreturn]] void leave_for_host() {
        go_on(nullptr);
        std::abort();
    }

    /// Time goes on by what a thread has done since it was chosen. Where lanes are in step it is the first one's that
    /// counts.
    bool counts_passes() const { return current != nullptr && (lanes_ != lane_order::in_step || current->lane == 0); }
    void count_passes() {
        if (counts_passes()) clock_ += static_cast<unsigned>(quantum_ - std::min(passes_left, quantum_));
    }

    /// Not of the warp's other lanes: those that are in `lanes` and were not.
    void make_ready(warp& w, unsigned lanes) {
        if (lanes == 0) return;
        if (w.ready == 0) {
            w.place = static_cast<unsigned>(runnable_.size());
            runnable_.push_back(&w);
        }
        w.ready |= lanes;
        w.sleeps_until = 0;
    }
    void take_out(warp& w, unsigned lanes) {
        w.ready &= ~lanes;
        if (w.ready != 0) return;
        runnable_.back()->place = w.place;
        runnable_[w.place] = runnable_.back();
        runnable_.pop_back();
    }

    void block_current() {
        take_out(*current->of_warp, 1u << current->lane);
        count_passes();
        go_on(runnable_.empty() ? nullptr : choose());
    }

    meeting_place& place_of(warp& w, unsigned mask) {
        for (const auto& place : w.places) {
            if (place->mask == mask) return *place;
        }
        for (const auto& place : w.places) {  // of those with other masks one that nobody is at
            if ((place->arrived | place->leaving) == 0 && w.places.size() > 8) {
                place->mask = mask;
                return *place;
            }
        }
        w.places.push_back(std::make_unique<meeting_place>());
        w.places.back()->mask = mask;
        return *w.places.back();
    }

    // ---- Who goes on

    /// At a grid's begin, where no other is running.
    void draw_strategy() {
        const settings& wanted = current_settings();
        random_ = random_numbers(wanted.seed * 1000003 + grids_begun_);
        lanes_ = wanted.lanes != lane_order::drawn ? wanted.lanes : static_cast<lane_order>(1 + random_.below(4));
        warps_ = wanted.warps != warp_order::drawn ? wanted.warps : static_cast<warp_order>(1 + random_.below(3));
        static constexpr unsigned averages[] = {2, 6, 20, 60};
        passes_per_switch_ = wanted.passes_per_switch != 0 ? wanted.passes_per_switch : averages[random_.below(4)];
        starved_ = nullptr;
        starved_until_ = 0;
        next_lowest_ = (1u << 31) - 1;
        changes_at_ = clock_;
    }

    /// Warps that must come together, and come and go, may never do so where turns are unfair for ever: no GPU is that.
    void be_fair() {
        starved_ = nullptr;
        if (current_settings().warps == warp_order::drawn) warps_ = warp_order::uniform;
        if (current_settings().lanes == lane_order::drawn) lanes_ = lane_order::in_step;
    }

    /// Null: the host.
    thread* choose() {
        if (++steps_ - grid_begun_at_ == steps_until_fair) be_fair();
        quantum_ = static_cast<int>(1 + random_.below(2 * passes_per_switch_ - 1));
        passes_left = quantum_;
        if (steps_ >= host_attends_at_ && current != nullptr) return nullptr;
        warp* chosen = nullptr;
        for (unsigned tries = 0; chosen == nullptr; ++tries) {
            warp* const candidate = choose_warp();
            if (tries < 256 && runnable_.size() > 1) {
                if (candidate->sleeps_until > clock_) {
                    clock_ += 64;
                    if (warps_ == warp_order::priorities) candidate->priority = next_lowest_--;
                    continue;
                }
                if (candidate == starved_ && tries < 16) continue;
            }
            chosen = candidate;
        }
        return choose_lane(*chosen);
    }

    warp* choose_warp() {
        const auto drawn = [this] { return runnable_[random_.below(static_cast<unsigned>(runnable_.size()))]; };
        if (warps_ == warp_order::uniform) return drawn();
        if (warps_ == warp_order::starved) {
            if (clock_ >= starved_until_) {
                starved_ = drawn();
                starved_until_ = clock_ + (1ull << (6 + random_.below(13)));
            }
            return drawn();
        }
        // Priorities that change at random moments; whoever spins long loses its own.
        if (clock_ >= changes_at_) {
            drawn()->priority = random_.next() | (random_.below(2) << 31);
            if (last_ != nullptr) last_->priority = next_lowest_--;
            changes_at_ = clock_ + 1 + random_.below(random_.below(8) == 0 ? 20000 : 400);
        }
        if (random_.below(64) == 0) return drawn();
        warp* best = runnable_[0];
        for (warp* w : runnable_) {
            if (w->priority > best->priority) best = w;
        }
        last_ = best;
        return best;
    }

    thread* choose_lane(warp& w) {
        unsigned lane = 0;
        const unsigned ready = w.ready;
        if ((ready & (ready - 1)) == 0) {
            lane = static_cast<unsigned>(__builtin_ctz(ready));
        } else if (lanes_ == lane_order::in_step) {
            // Nearly in step: a lane goes on until it waits for the others. The first one last, as it is mostly the one
            // that writes what all have read. One that spins may be waiting for another.
            constexpr unsigned most_in_a_row = 400;
            const bool again = (ready >> w.lane & 1) != 0 && w.in_a_row < most_in_a_row;
            // After one that spins the next one below it, and so on around: the last of several may hold a lock.
            const unsigned below = w.in_a_row < most_in_a_row ? 0 : ready & ((1u << w.lane) - 1);
            lane = again ? w.lane : 31 - static_cast<unsigned>(__builtin_clz(below != 0 ? below : ready));
            w.in_a_row = again ? w.in_a_row + 1 : 0;
        } else {
            const bool in_order = lanes_ != lane_order::free && random_.below(8) != 0;
            if (in_order) {
                lane = static_cast<unsigned>(lanes_ == lane_order::free_ascending ? __builtin_ctz(ready)
                                                                                  : 31 - __builtin_clz(ready));
            } else {
                const unsigned shift = random_.below(32);
                const unsigned turned = shift == 0 ? ready : ready >> shift | ready << (32 - shift);
                lane = (static_cast<unsigned>(__builtin_ctz(turned)) + shift) % 32;
            }
        }
        w.lane = lane;
        return w.lanes[lane];
    }

    /// From whoever runs to another, or the host (null).
    void go_on(thread* next) {
        thread* const me = current;
        if (next == me) return;
        current = next;
        void* const to = next != nullptr ? next->context : host_context_;
#if defined(__SANITIZE_ADDRESS__)
        void* fake_stack = nullptr;
        __sanitizer_start_switch_fiber(me != nullptr && me->ended ? nullptr : &fake_stack,
                                       next != nullptr ? next->stack : host_stack_,
                                       next != nullptr ? stack_bytes : host_stack_bytes_);
#endif
        const boost::context::detail::transfer_t from = boost::context::detail::jump_fcontext(to, me);
#if defined(__SANITIZE_ADDRESS__)
        fake_stack_ = fake_stack;
#endif
        arrived_from(from);
        if (collecting_ != nullptr && me != nullptr) {
            collect_frames();
            go_on(nullptr);
        }
    }

    /// What is to be done first on the other side.
    void arrived_from(boost::context::detail::transfer_t from) {
        auto* const who = static_cast<thread*>(from.data);
        (who != nullptr ? who->context : host_context_) = from.fctx;
#if defined(__SANITIZE_ADDRESS__)
        const void* stack = nullptr;
        std::size_t bytes = 0;
        __sanitizer_finish_switch_fiber(std::exchange(fake_stack_, nullptr), &stack, &bytes);
        if (who == nullptr) {
            host_stack_ = stack;
            host_stack_bytes_ = bytes;
        }
#endif
    }

    // ---- Progress, and what is printed without any

    static bool is_observed(const block& b) {
        const std::type_info* const first = b.grid->what.first_parameter;
        return first != nullptr && the_observer().first_parameter != nullptr &&
               *first == *the_observer().first_parameter;
    }

    void look_for_progress() {
        if (the_observer().progress == nullptr) return;
        unsigned long long now = live_blocks_.size();
        bool observes = false;
        for (const auto& b : live_blocks_) {
            if (!is_observed(*b)) continue;
            observes = true;
            now = now * 0x100000001b3ull + the_observer().progress(b->shared_memory, b->threads);
        }
        if (now != progress_ || !observes) {
            progress_ = now;
            stalled_since_ = steps_;
        }
        if (steps_ - stalled_since_ > current_settings().most_stalled)
            fail("nothing has happened for SIMULATED_GPU_STALLED steps");
    }

    static _Unwind_Reason_Code add_frame(_Unwind_Context* context, void* frames) {
        auto& list = *static_cast<std::vector<void*>*>(frames);
        const auto address = _Unwind_GetIP(context);
        if (address == 0 || list.size() == 48) return _URC_END_OF_STACK;
        list.push_back(reinterpret_cast<void*>(address - 1));
        return _URC_NO_REASON;
    }
    void collect_frames() { _Unwind_Backtrace(&add_frame, collecting_); }

    [[noreturn]] void print_failure();

    random_numbers random_{1};
    lane_order lanes_ = lane_order::free;
    warp_order warps_ = warp_order::uniform;
    unsigned passes_per_switch_ = 8;
    int quantum_ = 1;
    unsigned long long clock_ = 1;            // passes of may_switch()
    unsigned long long steps_ = 0;            // switches
    unsigned long long host_attends_at_ = 0;  // in steps
    unsigned long long grid_begun_at_ = 0;    // in steps, the youngest
    unsigned long long stalled_since_ = 0;    // in steps
    unsigned long long progress_ = 0;
    unsigned long long starved_until_ = 0;
    unsigned long long changes_at_ = 0;
    warp* starved_ = nullptr;
    warp* last_ = nullptr;
    unsigned next_lowest_ = 0;
    std::vector<warp*> runnable_;
    std::vector<multiprocessor_state> multiprocessors_;
    std::vector<std::unique_ptr<running_grid>> running_;
    std::list<std::unique_ptr<block>> live_blocks_;
    std::vector<unsigned char*> free_stacks_;
    unsigned long long grids_begun_ = 0;
    bool a_block_has_ended_ = false;
    cudaError_t error_ = cudaSuccess;
    void* host_context_ = nullptr;
    std::vector<void*>* collecting_ = nullptr;
    std::string failed_why_;
    const thread* failed_thread_ = nullptr;  // null: it was not a thread's step
    std::vector<void*> failed_frames_;
#if defined(__SANITIZE_ADDRESS__)
    void* fake_stack_ = nullptr;
    const void* host_stack_ = nullptr;
    std::size_t host_stack_bytes_ = 0;
#endif

public:
    static machine& the_machine() {
        static machine* const only = new machine;  // never destroyed: engines may be static
        return *only;
    }
};

/// "function at file:line" of addresses, inlined functions first.
std::map<void*, std::string> describe_addresses(const std::vector<void*>& addresses) {
    std::map<void*, std::string> described;
    for (void* const each : addresses) described[each];
    char program[4096];
    const ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
    if (length <= 0) return described;
    program[length] = '\0';
    std::string command = std::string("addr2line -Cfipa -e '") + program + "'";
    for (const auto& [address, text] : described) {
        char number[32];
        std::snprintf(number, sizeof(number), " %p", address);
        command += number;
    }
    command += " 2>/dev/null";
    FILE* const pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) return described;
    char line[4096];
    void* address = nullptr;
    while (std::fgets(line, sizeof(line), pipe) != nullptr) {
        std::string text = line;
        while (!text.empty() && text.back() == '\n') text.pop_back();
        const std::size_t colon = text.find(": ");
        if (text.compare(0, 2, "0x") == 0 && colon != std::string::npos) {
            address = reinterpret_cast<void*>(std::stoull(text, nullptr, 16));
            text = text.substr(colon + 2);
        }
        // Parameters and paths are long, and say little.
        const std::size_t at = text.rfind(" at ");
        if (at != std::string::npos) {
            std::string where = text.substr(at + 4);
            where = where.substr(where.rfind('/') + 1);
            std::string name = text.substr(0, at);
            if (name.compare(0, 13, " (inlined by)") == 0) name = name.substr(14);
            name = name.substr(0, name.find('('));
            if (const std::size_t spaces = name.rfind(' '); spaces != std::string::npos) name = name.substr(spaces + 1);
            for (std::size_t part; (part = name.find("dynpar::detail::queue::")) != std::string::npos;)
                name.erase(part, 23);
            if (name.size() > 60) name = name.substr(0, 57) + "...";
            text = name + " " + where;
        }
        described[address] += (described[address].empty() ? "" : " < ") + text;
    }
    pclose(pipe);
    return described;
}

std::string lanes_in_words(unsigned lanes) {
    std::string text;
    for (unsigned lane = 0; lane < lanes_of_warp; ++lane) {
        if ((lanes >> lane & 1) == 0) continue;
        const unsigned first = lane;
        while (lane + 1 < lanes_of_warp && (lanes >> (lane + 1) & 1) != 0) ++lane;
        text += (text.empty() ? "" : ",") + std::to_string(first) + (lane > first ? "-" + std::to_string(lane) : "");
    }
    return text;
}

void machine::fail(const char* why) {
    failed_why_ = why;
    if (current != nullptr) {
        failed_thread_ = current;
        collecting_ = &failed_frames_;
        collect_frames();
        collecting_ = nullptr;
        leave_for_host();
    }
    print_failure();
}

void machine::print_failure() {
    std::fflush(stdout);
    std::fprintf(stderr, "\nsimulated GPU: %s (after %llu steps, grid %llu)\n", failed_why_.c_str(), steps_,
                 grids_begun_);
    std::map<const thread*, std::vector<void*>> traces;
    for (const auto& b : live_blocks_) {
        for (thread& t : b->lanes) {
            std::vector<void*>& frames = traces[&t];
            if (t.ended) continue;
            if (&t == failed_thread_) {
                frames = failed_frames_;
                continue;
            }
            collecting_ = &frames;
            go_on(&t);
        }
    }
    collecting_ = nullptr;
    std::vector<void*> addresses;
    for (const auto& [t, frames] : traces) addresses.insert(addresses.end(), frames.begin(), frames.end());
    const std::map<void*, std::string> names = describe_addresses(addresses);
    for (const auto& b : live_blocks_) {
        Dl_info kernel{};
        const bool known = dladdr(b->grid->what.kernel, &kernel) != 0 && kernel.dli_sname != nullptr;
        std::fprintf(stderr,
                     "block %u of grid %llu (%s), on multiprocessor %u: %u threads, %u have ended, %u at its barrier\n",
                     b->rank, b->grid->number, known ? kernel.dli_sname : "?", b->multiprocessor, b->threads, b->ended,
                     b->barriers[0].arrived);
        if (is_observed(*b) && the_observer().print_block != nullptr)
            the_observer().print_block(b->shared_memory, b->threads);
        for (const warp& w : b->warps) {
            std::fprintf(stderr, "  warp %u%s\n", w.number, &w == starved_ ? ", which is starved" : "");
            if (is_observed(*b) && the_observer().print_warp != nullptr)
                the_observer().print_warp(b->shared_memory, w.number);
            std::map<std::string, unsigned> where;
            for (unsigned lane = 0; lane < lanes_of_warp; ++lane) {
                const thread* const t = w.lanes[lane];
                if (t == nullptr) continue;
                std::string text = t->ended ? "ended" : (w.ready >> lane & 1) != 0 ? "runs" : "waits";
                if (t == failed_thread_) text += ", it was its step that failed";
                for (void* const address : traces[t]) {
                    const auto found = names.find(address);
                    if (found == names.end() || found->second.empty()) continue;
                    const std::string& name = found->second;
                    if (name.find(" invoke.h:") != std::string::npos) break;  // the launch
                    const bool own =
                        name.find(" machine.cpp") != std::string::npos || name.find("??") != std::string::npos;
                    if (!own) text += "\n      " + name;
                }
                where[text] |= 1u << lane;
            }
            for (const auto& [text, lanes] : where)
                std::fprintf(stderr, "    lanes %s: %s\n", lanes_in_words(lanes).c_str(), text.c_str());
        }
    }
    for (const auto& grid : running_) {
        if (!grid->to_begin.empty())
            std::fprintf(stderr, "grid %llu: %zu blocks have not begun\n", grid->number, grid->to_begin.size());
    }
    std::fprintf(stderr, "simulated GPU: %s\nTo repeat: %s", failed_why_.c_str(), describe_settings().c_str());
    std::ifstream command("/proc/self/cmdline");
    for (std::string word; std::getline(command, word, '\0');) std::fprintf(stderr, " '%s'", word.c_str());
    std::fprintf(stderr, "\n");
    std::fflush(stderr);
    std::_Exit(3);
}

machine& the_machine() { return machine::the_machine(); }

// ---- Settings

template <class Number>
void read_number(const char* name, Number& into) {
    if (const char* const text = std::getenv(name); text != nullptr && *text != '\0')
        into = static_cast<Number>(std::stoull(text));
}
template <class Order>
void read_order(const char* name, Order& into, int last) {
    const char* const text = std::getenv(name);
    if (text == nullptr || *text == '\0') return;
    for (int i = 0; i <= last; ++i) {
        if (std::string(text) == name_of(static_cast<Order>(i))) {
            into = static_cast<Order>(i);
            return;
        }
    }
    std::fprintf(stderr, "%s: '%s' is none of:", name, text);
    for (int i = 0; i <= last; ++i) std::fprintf(stderr, " %s", name_of(static_cast<Order>(i)));
    std::fprintf(stderr, "\n");
    std::_Exit(2);
}

settings settings_from_environment() {
    settings s;
    read_number("SIMULATED_GPU_SEED", s.seed);
    read_order("SIMULATED_GPU_LANES", s.lanes, static_cast<int>(lane_order::free_descending));
    read_order("SIMULATED_GPU_WARPS", s.warps, static_cast<int>(warp_order::priorities));
    read_number("SIMULATED_GPU_SWITCH", s.passes_per_switch);
    read_number("SIMULATED_GPU_STEPS", s.most_steps);
    read_number("SIMULATED_GPU_STALLED", s.most_stalled);
    read_number("SIMULATED_GPU_MULTIPROCESSORS", s.multiprocessors);
    read_number("SIMULATED_GPU_THREADS", s.threads);
    read_number("SIMULATED_GPU_BLOCKS", s.blocks);
    read_number("SIMULATED_GPU_SHARED_BYTES", s.shared_bytes);
    read_number("SIMULATED_GPU_MEMORY_BYTES", s.memory_bytes);
    read_number("SIMULATED_GPU_LATE", s.blocks_start_late);
    read_number("SIMULATED_GPU_ANY_ORDER", s.blocks_in_any_order);
    return s;
}

}  // namespace

settings& current_settings() {
    static settings only = settings_from_environment();
    return only;
}

std::string describe_settings() {
    const settings& s = current_settings();
    const settings plain;
    std::string text = "SIMULATED_GPU_SEED=" + std::to_string(s.seed);
    const auto add = [&text](const char* name, const std::string& value, bool differs) {
        if (differs) text += std::string(" SIMULATED_GPU_") + name + "=" + value;
    };
    add("LANES", name_of(s.lanes), s.lanes != plain.lanes);
    add("WARPS", name_of(s.warps), s.warps != plain.warps);
    add("SWITCH", std::to_string(s.passes_per_switch), s.passes_per_switch != plain.passes_per_switch);
    add("STEPS", std::to_string(s.most_steps), s.most_steps != plain.most_steps);
    add("STALLED", std::to_string(s.most_stalled), s.most_stalled != plain.most_stalled);
    add("MULTIPROCESSORS", std::to_string(s.multiprocessors), s.multiprocessors != plain.multiprocessors);
    add("THREADS", std::to_string(s.threads), s.threads != plain.threads);
    add("BLOCKS", std::to_string(s.blocks), s.blocks != plain.blocks);
    add("SHARED_BYTES", std::to_string(s.shared_bytes), s.shared_bytes != plain.shared_bytes);
    add("MEMORY_BYTES", std::to_string(s.memory_bytes), s.memory_bytes != plain.memory_bytes);
    add("ANY_ORDER", s.blocks_in_any_order ? "1" : "0", s.blocks_in_any_order != plain.blocks_in_any_order);
    add("LATE", s.blocks_start_late ? "1" : "0", s.blocks_start_late != plain.blocks_start_late);
    return text;
}

observer& the_observer() {
    static observer only;
    return only;
}

void switch_threads() { the_machine().switch_threads(); }
void sleep(unsigned nanoseconds) { the_machine().sleep(nanoseconds); }
void block_barrier() { the_machine().barrier(0, 0); }
bool block_barrier_or(bool says) { return the_machine().barrier_or(0, 0, says); }
void barrier_of_warps(unsigned number, unsigned threads) { the_machine().barrier(number, threads); }
unsigned cycles() { return static_cast<unsigned>(the_machine().clock() * 16); }
unsigned long long nanoseconds() {
    if (current == nullptr) the_machine().host_looks_at_clock();
    return first_nanosecond + the_machine().clock() * nanoseconds_of_pass / at_a_time;
}
unsigned long long grid_number() { return current->of_block->grid->number; }
unsigned multiprocessor() { return current->of_block->multiprocessor; }
void check_invariant(bool holds, const char* what, source_line where) {
    if (holds) return;
    the_machine().fail(
        (std::string(where.file) + ":" + std::to_string(where.line) + ": does not hold: " + what).c_str());
}

namespace {
/// Pieces that the engines have, and have no more. All host threads take turns.
std::unordered_set<const void*>& given_back() {
    static std::unordered_set<const void*> pieces;
    return pieces;
}
}  // namespace

void note_taken(const void* piece) { given_back().erase(piece); }
void note_given_back(const void* piece) {
    if (!given_back().insert(piece).second) the_machine().fail("a piece of the engine's memory is given back twice");
}
void note_used(const void* piece) {
    if (given_back().count(piece) != 0)
        the_machine().fail("a piece of the engine's memory is used after it was given back");
}

void trap() { the_machine().break_down(cudaErrorLaunchFailure); }
bool is_local(const void* place) { return the_machine().is_on_stack(place); }
bool is_shared(const void* place) {
    const auto* byte = static_cast<const unsigned char*>(place);
    return byte >= current->shared_memory && byte < current->shared_memory + current->of_block->grid->what.shared_bytes;
}
std::size_t place_in_stack(const void* place) {
    constexpr std::size_t top = std::size_t{1} << 24;  // the same for every thread
    const unsigned char* const end = current->stack + stack_bytes;
    return top - static_cast<std::size_t>(end - static_cast<const unsigned char*>(place)) / stack_scale;
}
void let_device_run() {
    static_cast<void>(run_device([] { return false; }, 200));
}

namespace {
std::mutex& host_lock() {
    static std::mutex only;
    return only;
}
}  // namespace
void lock_for_host() { host_lock().lock(); }
void unlock_for_host() { host_lock().unlock(); }

meeting meet_lanes(unsigned mask, unsigned long long value, collective what, source_line where) {
    return the_machine().meet(mask, value, what, where);
}

void begin_grid(launch_parameters grid, std::function<void()> when_over) {
    the_machine().begin(std::move(grid), std::move(when_over));
}
unsigned blocks_that_fit(unsigned threads, std::size_t shared_bytes) {
    return the_machine().that_fit(threads, shared_bytes);
}
bool run_device(const std::function<bool()>& is_over, unsigned long long most_steps) {
    return the_machine().run(is_over, most_steps);
}
cudaError_t device_error() { return the_machine().error(); }

}  // namespace simulated_gpu
