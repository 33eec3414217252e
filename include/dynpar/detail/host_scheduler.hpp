// The host engine's scheduler: runs the grids of one run, one simulated thread at a time, on the thread that called it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "../engine_options.hpp"
#include "../report.hpp"
#include "host_grid.hpp"
#include "host_pool.hpp"
#include "least_greatest.hpp"
#include "printable.hpp"
#include "progress_line.hpp"
#include "run_range.hpp"
#include "steady_clock.hpp"

namespace dynpar {
namespace detail {

/// Thrown inside a simulated thread to unwind it when the run has failed. Not a std::exception, so that a kernel's own
/// handlers do not catch it.
struct run_cancelled {};

// The order of a run ("in order"): grids begin in the order of their launches, a grid's blocks in the order of their
// ranks, and a block runs until it returns or waits for its children. A block that waits puts its children into a new
// frame, which runs empty before anything older continues. So the number of blocks that are suspended at once is the
// nesting of wait(), not the width of a level of the tree.
//
// Nothing here recurses with the nesting of grids: a million of them, side by side or inside each other, use heap and
// no stack.
class host_scheduler {
public:
    host_scheduler(const engine_options& options, std::size_t stack_bytes)
        : stacks_(stack_bytes),
          sync_depth_(options.limits.sync_depth.value_or(limits::default_sync_depth)),
          pending_limit_(options.limits.pending_launches.value_or(SIZE_MAX)),
          nesting_depth_(options.limits.nesting_depth.value_or(SIZE_MAX)),
          trace_capacity_(least<std::size_t>(options.trace_grids, grid_record::none)),
          moldable_threads_(options.moldable_threads == 0 ? 1 : options.moldable_threads),
          wants_progress_(options.progress) {}

    ~host_scheduler() = default;
    host_scheduler(const host_scheduler&) = delete;
    host_scheduler& operator=(const host_scheduler&) = delete;

    /// Runs a grid and everything launched from it. Throws kernel_fault and deadlock_error; failed calls are in the
    /// report.
    template <class Closure>
    report run(const host_kernel& kernel, const Closure& closure, const shape& s);

    unsigned moldable_threads(unsigned most) const { return least(most, moldable_threads_); }
    /// Whether a call of the run, up to now, has failed.
    bool has_failures() const { return report_.failed_calls != 0; }

    // ---- what a block asks for ----

    /// What is wrong with a launch that the scheduler does not see itself.
    struct flaws {
        bool bad_pointer = false;  // one that `points_into_block`, among the arguments
        bool no_stream = false;    // a stream was given, and is none
    };
    template <class Closure>
    status launch(host_block_state& from, const std::shared_ptr<host_stream_state>& stream, const host_kernel& kernel,
                  const Closure& closure, const shape& s, flaws f);
    template <class Closure>
    status then(host_block_state& from, const host_kernel& kernel, const Closure& closure, const shape& s, flaws f);
    bool points_into_block(const host_block_state& block, const volatile void* pointer) const;
    void sync(host_block_state& block);
    status wait(host_block_state& block, host_thread_memory& thread);
    const void* gather(host_block_state& block, unsigned warp, unsigned rank, unsigned threads, const void* value,
                       std::size_t bytes);
    void* shared(host_block_state& block, host_thread_memory& thread, std::size_t bytes);
    void* scratch(host_block_state& block, std::size_t bytes);
    void refuse_reducer(const host_block_state& block);
    std::shared_ptr<host_stream_state> make_stream();
    status refuse_handle(const host_block_state& block, operation o);
    status record(const std::shared_ptr<host_stream_state>& stream, std::shared_ptr<host_event_record>& latest);
    status wait_event(const std::shared_ptr<host_stream_state>& stream,
                      const std::shared_ptr<host_event_record>& latest);

private:
    // Grids that are ready to begin, oldest first, and the block whose wait() they are the children of (null: the run's
    // own).
    struct frame {
        host_grid* first = nullptr;
        host_grid* last = nullptr;  // if there is a first
        host_block_state* waiter = nullptr;
    };

    // -- grids
    static constexpr std::size_t grid_alignment = host_pool::alignment;  // what arguments may want: see check_kernel
    template <class Closure>
    host_grid* make_grid(const host_kernel& kernel, const Closure& closure, const shape& s, unsigned depth);
    template <class Closure>
    host_grid* try_make_grid(operation o, const host_kernel& kernel, const Closure& closure, const shape& s,
                             unsigned depth);
    void destroy(host_grid* grid);
    status allowed(const host_kernel& kernel, const shape& s, unsigned depth, flaws f) const;
    void make_ready(host_grid* grid);
    void advance(std::shared_ptr<host_stream_state> first);
    static void drop(const std::shared_ptr<host_stream_state>& stream);
    void on_progress(host_grid* grid);
    std::uint32_t trace_launch(operation o, const host_kernel& kernel, const shape& s, const host_grid* from,
                               status why = status::success, const host_stream_state* stream = nullptr);
    std::uint64_t now() const;
    void add_pending();
    void add_live(std::size_t bytes);
    void fill_report();

    // -- blocks
    void run_until_complete();
    void run_block(host_block_state* block);
    void run_threads(carrier& self);
    void run_thread(host_block_state& block, unsigned rank);
    void take_fault(const host_block_state& block, unsigned thread);
    void start_waiting(host_block_state* block, host_grid* last_before);
    void leave(host_block_state* block);
    void resume_all(host_block_state* block, carrier_list& parked);
    carrier& idle_carrier();
    std::string describe(const host_block_state& block) const;
    static std::string describe_meetings(const host_block_state& block);
    static unsigned warps_of(const host_block_state& block) { return (block.grid->threads + 31) / 32; }

    // -- failures
    void fail(operation o, const host_kernel& kernel, unsigned depth, const shape& s, status why);
    void clear();

    guarded_stacks stacks_;
    std::vector<std::unique_ptr<carrier>> carriers_;
    carrier* idle_ = nullptr;
    host_block_state* current_ = nullptr;

    host_pool memory_;
    std::vector<frame> frames_;
    host_grid* live_ = nullptr;
    std::uint64_t pending_ = 0;
    std::uint64_t most_pending_ = 0;
    std::uint64_t live_bytes_ = 0;  // of grids and their scratch memory
    std::uint64_t most_live_bytes_ = 0;
    std::uint64_t deepest_wait_ = 0;  // plus one
    std::uint32_t streams_ = 0;
    std::vector<host_trace_record> traced_;
    std::int64_t begun_ = 0;

    std::size_t sync_depth_;
    std::size_t pending_limit_;
    std::size_t nesting_depth_;
    std::size_t trace_capacity_;
    unsigned moldable_threads_;
    bool wants_progress_;

    bool running_ = false;
    bool cancelled_ = false;
    std::exception_ptr fault_;
    report report_;
};

// ----------------------------------------------------------------------------------------------------------------
// grids

template <class Closure>
host_grid* host_scheduler::make_grid(const host_kernel& kernel, const Closure& closure, const shape& s,
                                     unsigned depth) {
    constexpr std::size_t record_bytes = (sizeof(host_grid) + grid_alignment - 1) / grid_alignment * grid_alignment;
    constexpr std::size_t bytes = record_bytes + sizeof(Closure);
    auto* memory = static_cast<std::byte*>(memory_.allocate(bytes));
    auto* grid = new (memory) host_grid;
    grid->closure = new (memory + record_bytes) Closure(closure);
    grid->bytes = bytes;
    add_live(bytes);
    grid->kernel = &kernel;
    grid->shape = s;
    grid->threads = s.moldable ? moldable_threads(s.threads.x) : static_cast<unsigned>(s.threads.count());
    grid->shared_bytes = shared_bytes_of(s, grid->threads);
    grid->blocks = static_cast<unsigned>(s.blocks.count());
    grid->depth = depth;
    grid->next_live = live_;
    if (live_ != nullptr) live_->previous_live = grid;
    live_ = grid;
    return grid;
}

/// The same for a call in a kernel: without memory, null and a failure in the report.
template <class Closure>
host_grid* host_scheduler::try_make_grid(operation o, const host_kernel& kernel, const Closure& closure, const shape& s,
                                         unsigned depth) {
    try {
        return make_grid(kernel, closure, s, depth);
    } catch (const std::bad_alloc&) {
        fail(o, kernel, depth, s, status::out_of_memory);
        return nullptr;
    }
}

inline void host_scheduler::destroy(host_grid* grid) {
    while (grid->scratch != nullptr) {
        live_bytes_ -= grid->scratch->bytes;
        std::free(std::exchange(grid->scratch, grid->scratch->next));
    }
    (grid->previous_live != nullptr ? grid->previous_live->next_live : live_) = grid->next_live;
    if (grid->next_live != nullptr) grid->next_live->previous_live = grid->previous_live;
    const std::size_t bytes = grid->bytes;
    live_bytes_ -= bytes;
    grid->~host_grid();
    memory_.deallocate(grid, bytes);
}

/// In the order of C8, which is the same on every engine.
inline status host_scheduler::allowed(const host_kernel& kernel, const shape& s, unsigned depth, flaws f) const {
    if (f.bad_pointer) return status::invalid_pointer;
    if (depth > nesting_depth_) return status::nesting_depth_exceeded;
    if (check(s, kernel.most_threads) != status::success) return status::invalid_configuration;
    if (f.no_stream) return status::launch_failed;
    if (pending_ >= pending_limit_) return status::pending_launches_exceeded;
    return status::success;
}

template <class Closure>
status host_scheduler::launch(host_block_state& from, const std::shared_ptr<host_stream_state>& stream,
                              const host_kernel& kernel, const Closure& closure, const shape& s, flaws f) {
    if (cancelled_) return status::launch_failed;
    const unsigned depth = from.grid->depth + 1;
    if (const status why = allowed(kernel, s, depth, f); why != status::success) {
        fail(operation::launch, kernel, depth, s, why);
        trace_launch(operation::launch, kernel, s, from.grid, why, stream.get());
        return why;
    }
    host_grid* grid = try_make_grid(operation::launch, kernel, closure, s, depth);
    if (grid == nullptr) {
        trace_launch(operation::launch, kernel, s, from.grid, status::out_of_memory, stream.get());
        return status::out_of_memory;
    }
    grid->parent = from.grid;
    grid->launcher = &from;
    ++from.grid->incomplete;
    ++from.incomplete;
    add_pending();
    grid->id = trace_launch(operation::launch, kernel, s, from.grid, status::success, stream.get());
    if (stream == nullptr) {
        make_ready(grid);
    } else {
        grid->stream = stream;
        stream->items.push_back({host_stream_state::item::kind::grid, grid, nullptr});
        advance(stream);
    }
    return status::success;
}

template <class Closure>
status host_scheduler::then(host_block_state& from, const host_kernel& kernel, const Closure& closure, const shape& s,
                            flaws f) {
    if (cancelled_) return status::launch_failed;
    host_grid* continued = from.grid;
    if (const status why = allowed(kernel, s, continued->depth, f); why != status::success) {
        fail(operation::then, kernel, continued->depth, s, why);
        trace_launch(operation::then, kernel, s, continued, why);
        return why;
    }
    host_grid* grid = try_make_grid(operation::then, kernel, closure, s, continued->depth);
    if (grid == nullptr) {
        trace_launch(operation::then, kernel, s, continued, status::out_of_memory);
        return status::out_of_memory;
    }
    grid->parent = continued;
    add_pending();
    grid->id = trace_launch(operation::then, kernel, s, continued);
    (continued->first_continuation == nullptr ? continued->first_continuation
                                              : continued->last_continuation->next_continuation) = grid;
    continued->last_continuation = grid;
    return status::success;
}

/// Whether a pointer leads into memory that ends with the thread that is running, or with its block.
inline bool host_scheduler::points_into_block(const host_block_state& block, const volatile void* pointer) const {
    const auto address = reinterpret_cast<std::uintptr_t>(pointer);
    const auto shared = reinterpret_cast<std::uintptr_t>(block.shared.get());
    const bool in_shared = shared != 0 && address >= shared && address < shared + block.grid->shared_bytes;
    return in_shared || block.running->has_on_stack(address);
}

inline void host_scheduler::make_ready(host_grid* grid) {
    frame& top = frames_.back();
    (top.first == nullptr ? top.first : top.last->next_ready) = grid;
    top.last = grid;
}

/// Advances a stream as far as possible: up to a grid, or to an event that is not complete. A completed event advances
/// other streams: they take their turn in a list, since a chain of them may be longer than the C++ stack is deep.
inline void host_scheduler::advance(std::shared_ptr<host_stream_state> first) {
    std::vector<std::shared_ptr<host_stream_state>> streams{std::move(first)};
    while (!streams.empty()) {
        const std::shared_ptr<host_stream_state> stream = std::move(streams.back());
        streams.pop_back();
        while (!stream->busy && !stream->items.empty()) {
            const host_stream_state::item& front = stream->items.front();
            if (front.what == host_stream_state::item::kind::wait && !front.record->complete)
                break;  // its record advances us
            const host_stream_state::item item = stream->items.pop_front();
            if (item.what == host_stream_state::item::kind::grid) {
                stream->busy = true;
                make_ready(item.grid);
            } else if (item.what == host_stream_state::item::kind::record) {
                item.record->complete = true;
                streams.insert(streams.end(), item.record->waiting.begin(), item.record->waiting.end());
                item.record->waiting.clear();
            }
        }
    }
}

inline std::shared_ptr<host_stream_state> host_scheduler::make_stream() {
    auto stream = std::make_shared<host_stream_state>();
    stream->number = streams_++;
    return stream;
}

inline status host_scheduler::record(const std::shared_ptr<host_stream_state>& stream,
                                     std::shared_ptr<host_event_record>& latest) {
    latest = std::make_shared<host_event_record>();
    stream->items.push_back({host_stream_state::item::kind::record, nullptr, latest});
    advance(stream);
    return status::success;
}

inline status host_scheduler::wait_event(const std::shared_ptr<host_stream_state>& stream,
                                         const std::shared_ptr<host_event_record>& latest) {
    // As in CUDA, what counts is the latest record so far; an event that was never recorded holds nothing up.
    if (latest == nullptr || latest->complete) return status::success;
    latest->waiting.push_back(stream);
    stream->items.push_back({host_stream_state::item::kind::wait, nullptr, latest});
    return status::success;
}

/// Called when a block of the grid has returned, or a grid below it is complete: begins the next continuation or
/// completes the grid, and then looks at the grid above.
inline void host_scheduler::on_progress(host_grid* grid) {
    while (grid != nullptr && grid->all_blocks_returned() && grid->incomplete == 0) {
        if (host_grid* next = grid->first_continuation; next != nullptr) {
            grid->first_continuation = next->next_continuation;
            grid->incomplete = 1;
            make_ready(next);
            return;
        }
        ++report_.grids;
        report_.deepest_nesting = greatest(report_.deepest_nesting, grid->depth);
        host_grid* above = grid->parent;
        host_block_state* launcher = grid->launcher;
        const std::shared_ptr<host_stream_state> stream = std::move(grid->stream);
        destroy(grid);
        if (above != nullptr) {
            --pending_;
            --above->incomplete;
        }
        if (launcher != nullptr) {
            --launcher->incomplete;
            leave(launcher);
        }
        if (stream != nullptr) {
            stream->busy = false;
            advance(stream);
        }
        grid = above;
    }
}

/// Writes a grid's record, if there is to be a trace; the grid's id in it.
inline std::uint32_t host_scheduler::trace_launch(operation o, const host_kernel& kernel, const shape& s,
                                                  const host_grid* from, status why, const host_stream_state* stream) {
    if (trace_capacity_ == 0) return grid_record::none;
    if (traced_.size() == trace_capacity_) {
        ++report_.trace.missing;
        return grid_record::none;
    }
    host_trace_record record{&kernel, s, grid_record::none,  grid_record::none,  grid_record::none,
                             0,       0, grid_record::never, grid_record::never, why};
    if (from != nullptr && o == operation::then) {
        record.continues = from->id;
        record.parent = from->id == grid_record::none ? grid_record::none : traced_[from->id].parent;
        record.depth = from->depth;
    } else if (from != nullptr) {
        record.parent = from->id;
        record.depth = from->depth + 1;
    }
    if (stream != nullptr) record.stream = stream->number;
    record.launched = now();
    traced_.push_back(record);
    return static_cast<std::uint32_t>(traced_.size() - 1);
}

/// Nanoseconds since the run's start.
inline std::uint64_t host_scheduler::now() const { return static_cast<std::uint64_t>(steady_nanoseconds() - begun_); }

inline void host_scheduler::add_pending() { most_pending_ = greatest(most_pending_, ++pending_); }

inline void host_scheduler::add_live(std::size_t bytes) {
    live_bytes_ += bytes;
    most_live_bytes_ = greatest(most_live_bytes_, live_bytes_);
}

/// What is to be said of a run that is over.
inline void host_scheduler::fill_report() {
    report_.needed.nesting_depth = report_.deepest_nesting;
    report_.needed.sync_depth = deepest_wait_;
    report_.needed.pending_launches = most_pending_;
    report_.needed.live_bytes = most_live_bytes_;
    sort_failures(report_);
    if (trace_capacity_ == 0) return;
    trace& t = report_.trace;
    t.engine = report_.engine;
    t.device = report_.device;
    t.nanoseconds = now();
    t.grids.resize(traced_.size());
    for (std::size_t i = 0; i < traced_.size(); ++i) {
        const host_trace_record& from = traced_[i];
        grid_record& to = t.grids[i];
        to.id = static_cast<std::uint32_t>(i);
        to.parent = from.parent;
        to.continues = from.continues;
        to.stream = from.stream;
        to.depth = from.depth;
        to.processor = from.begun != grid_record::never ? 0 : grid_record::none;
        to.engine = engine_kind::host;
        to.status = from.status;
        to.shape = from.shape;
        to.kernel.assign(from.kernel->name.begin, from.kernel->name.length);
        to.launched = from.launched;
        to.begun = from.begun;
        to.ended = from.ended;
    }
}

// ---------------------------------------------------------------------------------------------------------------
// blocks

template <class Closure>
report host_scheduler::run(const host_kernel& kernel, const Closure& closure, const shape& s) {
    if (running_)
        throw std::logic_error("dynpar: this host engine is running; a kernel launches children with block.launch()");
    struct cleanup {
        host_scheduler& scheduler;
        ~cleanup() { scheduler.clear(); }
    } at_the_end{*this};
    running_ = true;
    const run_range range("host", kernel.name);
    if (trace_capacity_ != 0) begun_ = steady_nanoseconds();
    report_ = report{};
    report_.engine = "host";
    report_.device = "CPU";
    report_.pending_limit = pending_limit_ == SIZE_MAX ? 0 : pending_limit_;
    frames_.emplace_back();
    if (check(s, kernel.most_threads) != status::success) {
        fail(operation::launch, kernel, 0, s, status::invalid_configuration);
        return std::move(report_);
    }
    host_grid* root = make_grid(kernel, closure, s, 0);
    root->id = trace_launch(operation::launch, kernel, s, nullptr);
    make_ready(root);
    run_until_complete();
    if (fault_ != nullptr) std::rethrow_exception(std::exchange(fault_, nullptr));
    fill_report();
    return std::move(report_);
}

inline void host_scheduler::run_until_complete() {
    progress_line progress(wants_progress_, "host");
    for (unsigned turn = 1; !cancelled_; ++turn) {
        if (progress.on() && turn % 64 == 0 && progress.due())
            progress.show(report_.grids, "grids done", pending_ + 1, "live");
        frame& top = frames_.back();
        if (top.waiter != nullptr && top.waiter->incomplete == 0) {
            host_block_state* block = top.waiter;
            frames_.pop_back();
            block->waiting = false;
            run_block(block);
        } else if (top.first != nullptr) {
            host_grid* grid = top.first;
            auto* block = new (memory_.allocate(sizeof(host_block_state))) host_block_state;
            block->scheduler = this;
            block->grid = grid;
            block->rank = grid->next_block++;
            block->live_threads = grid->threads;
            ++grid->running_blocks;
            if (block->rank == 0 && grid->id != grid_record::none) traced_[grid->id].begun = now();
            if (grid->next_block == grid->blocks) top.first = std::exchange(grid->next_ready, nullptr);
            run_block(block);
        } else if (top.waiter != nullptr) {
            throw deadlock_error("dynpar: deadlock on the host engine: " + describe(*top.waiter) + " waits for " +
                                 std::to_string(top.waiter->incomplete) + " children, and no grid can begin");
        } else {
            return;
        }
    }
}

/// Runs a block until it returns or waits for children that are not complete.
inline void host_scheduler::run_block(host_block_state* block) {
    // What becomes ready from now on is the block's: while it runs, no other launches, and no grid begins.
    host_grid* const last_before = frames_.back().first == nullptr ? nullptr : frames_.back().last;
    current_ = block;
    if (!block->at_wait.empty()) resume_all(block, block->at_wait);
    while (!cancelled_) {
        if (!block->met.empty()) {
            resume_all(block, block->met);
        } else if (block->next_thread < block->grid->threads) {
            carrier& c = idle_carrier();
            block->running = &c;
            c.resume();
        } else if (block->live_threads == 0) {
            --block->grid->running_blocks;
            block->shared.reset();
            block->meetings.reset();
            host_grid* grid = block->grid;
            if (grid->id != grid_record::none && grid->all_blocks_returned()) traced_[grid->id].ended = now();
            current_ = nullptr;
            leave(block);
            on_progress(grid);
            return;
        } else if (block->at_sync.size() == block->live_threads) {
            resume_all(block, block->at_sync);
        } else if (block->at_wait.size() == block->live_threads) {
            if (block->incomplete == 0) {
                resume_all(block, block->at_wait);
            } else {
                start_waiting(block, last_before);
                current_ = nullptr;
                return;
            }
        } else {
            throw deadlock_error("dynpar: deadlock on the host engine: in " + describe(*block) + ", " +
                                 describe_meetings(*block) + std::to_string(block->at_sync.size()) +
                                 " threads are at sync() and " + std::to_string(block->at_wait.size()) +
                                 " at wait(); every thread of the block that has not returned must reach the same one");
        }
    }
}

/// What a carrier does: threads of the current block, one after another. When one of them blocks, the carrier stays
/// with it and another carrier continues with the rest: a kernel without barriers is a plain loop.
inline void host_scheduler::run_threads(carrier& self) {
    host_block_state& block = *current_;
    while (block.next_thread < block.grid->threads && !cancelled_) {
        const unsigned rank = block.next_thread++;
        run_thread(block, rank);
        --block.live_threads;
    }
    self.next = std::exchange(idle_, &self);
}

inline void host_scheduler::take_fault(const host_block_state& block, unsigned thread) {
    std::string message = "dynpar: " + describe(block) + ", thread " + std::to_string(thread) + ", threw ";
    try {
        throw;
    } catch (const std::exception& e) {
        message += printable(e.what());
    } catch (...) {
        message += "something that is not a std::exception";
    }
    try {
        std::throw_with_nested(kernel_fault(message));
    } catch (...) {
        if (fault_ == nullptr) fault_ = std::current_exception();
    }
    cancelled_ = true;
}

inline void host_scheduler::resume_all(host_block_state* block, carrier_list& parked) {
    carrier_list list = std::exchange(parked, carrier_list{});
    while (!list.empty()) {
        carrier& c = list.pop_front();
        block->running = &c;
        c.resume();
    }
}

/// Those of the top frame's grids that come after `last_before` become a frame of their own.
inline void host_scheduler::start_waiting(host_block_state* block, host_grid* last_before) {
    frame& top = frames_.back();
    frame children;
    children.waiter = block;
    children.first = std::exchange(last_before != nullptr ? last_before->next_ready : top.first, nullptr);
    children.last = top.last;
    top.last = last_before;
    block->waiting = true;
    frames_.push_back(children);
}

/// Frees a block's state once its threads have returned and its children, which count on it, are complete.
inline void host_scheduler::leave(host_block_state* block) {
    if (block->live_threads != 0 || block->incomplete != 0) return;
    block->~host_block_state();
    memory_.deallocate(block, sizeof(host_block_state));
}

inline carrier& host_scheduler::idle_carrier() {
    if (idle_ == nullptr) {
        const auto work = [](carrier& self, void* of) { static_cast<host_scheduler*>(of)->run_threads(self); };
        carriers_.push_back(std::make_unique<carrier>(stacks_, work, this));
        return *carriers_.back();
    }
    return *std::exchange(idle_, idle_->next);
}

inline void host_scheduler::sync(host_block_state& block) {
    if (cancelled_) throw run_cancelled{};
    if (block.live_threads == 1) return;
    carrier& self = *block.running;
    block.at_sync.push_back(self);
    self.suspend();
    if (cancelled_) throw run_cancelled{};
}

inline status host_scheduler::wait(host_block_state& block, host_thread_memory& thread) {
    if (cancelled_) throw run_cancelled{};
    if (block.grid->depth >= sync_depth_) {
        if (block.failed_waits == thread.refused_waits++) {  // the first thread of the block to get here
            ++block.failed_waits;
            fail(operation::wait, *block.grid->kernel, block.grid->depth, block.grid->shape,
                 status::sync_depth_exceeded);
        }
        return status::sync_depth_exceeded;
    }
    deepest_wait_ = greatest<std::uint64_t>(deepest_wait_, std::uint64_t{block.grid->depth} + 1);
    if (block.live_threads == 1 && block.incomplete == 0) return status::success;
    carrier& self = *block.running;
    block.at_wait.push_back(self);
    self.suspend();
    if (cancelled_) throw run_cancelled{};
    return status::success;
}

/// Hands the values of a warp's threads to each of them: valid until its next call. Every thread of the warp comes.
inline const void* host_scheduler::gather(host_block_state& block, unsigned warp, unsigned rank, unsigned threads,
                                          const void* value, std::size_t bytes) {
    if (cancelled_) throw run_cancelled{};
    if (block.meetings == nullptr) block.meetings.reset(new host_meeting[warps_of(block)]);
    host_meeting& meeting = block.meetings[warp];
    std::vector<std::byte>& values = meeting.values[meeting.rounds % 2];
    if (meeting.here.empty()) {
        meeting.bytes = bytes;
        values.resize(threads * bytes);
    } else if (meeting.bytes != bytes) {
        throw std::logic_error("dynpar: threads of a warp are at different collective calls: one hands over " +
                               std::to_string(meeting.bytes) + " bytes, another " + std::to_string(bytes));
    }
    std::memcpy(values.data() + rank * bytes, value, bytes);
    if (meeting.here.size() + 1 < threads) {
        carrier& self = *block.running;
        meeting.here.push_back(self);
        self.suspend();
        if (cancelled_) throw run_cancelled{};
    } else {
        ++meeting.rounds;
        while (!meeting.here.empty()) block.met.push_back(meeting.here.pop_front());
    }
    return values.data();
}

// ----------------------------------------------------------------------------------------------------------------
// memory, failures

inline void* host_scheduler::shared(host_block_state& block, host_thread_memory& thread, std::size_t bytes) {
    const std::size_t room = block.grid->shared_bytes;
    if (bytes > room - thread.shared_used) {
        if (block.failed_shared == thread.refused_shared++) {  // the first thread of the block to get here
            ++block.failed_shared;
            fail(operation::shared, *block.grid->kernel, block.grid->depth, block.grid->shape,
                 status::shared_memory_exceeded);
        }
        return nullptr;
    }
    if (block.shared == nullptr) block.shared.reset(new std::byte[room]);
    void* memory = block.shared.get() + thread.shared_used;
    thread.shared_used = least((thread.shared_used + bytes + 15) / 16 * 16, room);
    return memory;
}

inline void* host_scheduler::scratch(host_block_state& block, std::size_t bytes) {
    constexpr std::size_t header = alignof(std::max_align_t);
    static_assert(sizeof(host_grid::scratch_memory) <= header);
    void* memory = bytes > PTRDIFF_MAX - header ? nullptr : std::malloc(header + bytes);
    if (memory == nullptr) {
        fail(operation::scratch, *block.grid->kernel, block.grid->depth, block.grid->shape, status::out_of_memory);
        return nullptr;
    }
    block.grid->scratch = new (memory) host_grid::scratch_memory{block.grid->scratch, header + bytes};
    add_live(header + bytes);
    return static_cast<std::byte*>(memory) + header;
}

inline void host_scheduler::refuse_reducer(const host_block_state& block) {
    fail(operation::reduce, *block.grid->kernel, block.grid->depth, block.grid->shape, status::not_supported);
}

/// A call with a stream or an event that was moved from.
inline status host_scheduler::refuse_handle(const host_block_state& block, operation o) {
    if (!cancelled_) fail(o, *block.grid->kernel, block.grid->depth, block.grid->shape, status::launch_failed);
    return status::launch_failed;
}

inline void host_scheduler::fail(operation o, const host_kernel& kernel, unsigned depth, const shape& s, status why) {
    ++report_.failed_calls;
    if (o == operation::launch || o == operation::then) ++report_.lost_launches;
    const std::string name(kernel.name.begin, kernel.name.length);
    for (failure& f : report_.failures) {
        if (f.operation == o && f.status == why && f.depth == depth && f.shape == s && f.kernel == name) {
            ++f.count;
            return;
        }
    }
    failure f;
    f.operation = o;
    f.status = why;
    f.kernel = name;
    f.depth = depth;
    f.shape = s;
    f.note = note_on_bound(why, s, kernel.most_threads);
    report_.failures.push_back(std::move(f));
}

/// Leaves nothing of a run behind, however it ended: threads that are suspended unwind, grids and blocks go.
inline void host_scheduler::clear() {
    cancelled_ = true;
    std::vector<host_block_state*> suspended;
    if (current_ != nullptr) suspended.push_back(current_);
    for (const frame& f : frames_) {
        if (f.waiter != nullptr) suspended.push_back(f.waiter);
    }
    for (host_block_state* block : suspended) {
        current_ = block;
        resume_all(block, block->at_sync);
        resume_all(block, block->at_wait);
        resume_all(block, block->met);
        for (unsigned i = 0; block->meetings != nullptr && i < warps_of(*block); ++i)
            resume_all(block, block->meetings[i].here);
        block->~host_block_state();
    }
    while (live_ != nullptr) {
        if (live_->stream != nullptr) drop(live_->stream);
        destroy(live_);
    }
    memory_.release();
    frames_.clear();
    current_ = nullptr;
    pending_ = most_pending_ = 0;
    live_bytes_ = most_live_bytes_ = 0;
    deepest_wait_ = 0;
    streams_ = 0;
    traced_.clear();
    traced_.shrink_to_fit();
    fault_ = nullptr;
    cancelled_ = false;
    running_ = false;
}

/// Streams and event records point to each other while they wait: takes that apart.
inline void host_scheduler::drop(const std::shared_ptr<host_stream_state>& stream) {
    std::vector<std::shared_ptr<host_stream_state>> streams{stream};
    while (!streams.empty()) {
        const auto items = std::exchange(streams.back()->items, {});
        streams.pop_back();
        for (const host_stream_state::item& item : items) {
            if (item.record == nullptr) continue;
            streams.insert(streams.end(), item.record->waiting.begin(), item.record->waiting.end());
            item.record->waiting.clear();
        }
    }
}

/// "12 threads are at a collective call of their warp, ", or nothing.
inline std::string host_scheduler::describe_meetings(const host_block_state& block) {
    unsigned threads = 0;
    for (unsigned i = 0; block.meetings != nullptr && i < warps_of(block); ++i)
        threads += block.meetings[i].here.size();
    return threads == 0 ? "" : std::to_string(threads) + " threads are at a collective call of their warp, ";
}

inline std::string host_scheduler::describe(const host_block_state& block) const {
    const host_grid& grid = *block.grid;
    return "block " + std::to_string(block.rank) + " of " +
           printable({grid.kernel->name.begin, grid.kernel->name.length}) + " " + to_string(grid.shape) + " at depth " +
           std::to_string(grid.depth);
}

}  // namespace detail
}  // namespace dynpar
