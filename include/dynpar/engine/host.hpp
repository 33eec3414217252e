// The host engine: runs kernels on the CPU, deterministically, with the whole contract and without a GPU.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "../block.hpp"
#include "../collectives.hpp"
#include "../detail/host_scheduler.hpp"
#include "../detail/launch_check.hpp"
#include "../detail/value_calls.hpp"
#include "../engine_options.hpp"
#include "../reducer.hpp"
#include "../report.hpp"
#include "basic_engine.hpp"

namespace dynpar {

class host_event;

namespace detail {

[[noreturn]] inline void refuse_rank(unsigned rank, unsigned threads) {
    throw std::invalid_argument("dynpar: a collective call asks for the value of thread " + std::to_string(rank) +
                                " of " + std::to_string(threads));
}
[[noreturn]] inline void refuse_null_memory() {
    throw std::invalid_argument(
        "dynpar: a collective call of a block of several warps has no shared memory: this_block(block, nullptr)");
}

/// Shared ownership by a handle that kernels use. nvcc also compiles kernels for the device, where std::shared_ptr does
/// not exist: there this does nothing.
template <class T>
class host_share {
public:
    DYNPAR_FUNCTION host_share() {}
    DYNPAR_FUNCTION ~host_share() {
#if DYNPAR_ON_HOST
        delete share_;
#endif
    }
    DYNPAR_FUNCTION host_share(host_share&& other) noexcept : share_(other.share_) { other.share_ = nullptr; }
    DYNPAR_FUNCTION host_share& operator=(host_share&& other) noexcept {
        host_share taken(static_cast<host_share&&>(other));
        std::shared_ptr<T>* const mine = share_;
        share_ = taken.share_, taken.share_ = mine;  // given up with `taken`
        return *this;
    }
    std::shared_ptr<T>& get() {
        if (share_ == nullptr) share_ = new std::shared_ptr<T>;
        return *share_;
    }
    std::shared_ptr<T> get() const { return share_ == nullptr ? nullptr : *share_; }

private:
    std::shared_ptr<T>* share_ = nullptr;
};

}  // namespace detail

/// A stream of a block on the host engine; made by `block.make_stream()`, for that block only.
class host_stream {
public:
    /// Work given to the stream from now on begins after the work of the event's latest record is complete.
    DYNPAR_FUNCTION status wait(const host_event& event);

private:
    friend class host_block;
    friend class host_event;
    DYNPAR_FUNCTION explicit host_stream(detail::host_block_state* block) : block_(block) {}

    detail::host_block_state* block_;  // which made it
    detail::host_share<detail::host_stream_state> state_;
};

/// An event of a block on the host engine; made by `block.make_event()`, for that block only.
class host_event {
public:
    /// Records the event: it is complete once everything that was given to the stream before is.
    DYNPAR_FUNCTION status record(const host_stream& stream);

    DYNPAR_FUNCTION host_event(host_event&& other) noexcept
        : block_(other.block_), alive_(other.alive_), latest_(static_cast<latest_type&&>(other.latest_)) {
        other.alive_ = false;
    }
    DYNPAR_FUNCTION host_event& operator=(host_event&& other) noexcept {
        host_event taken(static_cast<host_event&&>(other));
        alive_ = taken.alive_;
        latest_ = static_cast<latest_type&&>(taken.latest_);
        return *this;
    }

private:
    friend class host_block;
    friend class host_stream;
    using latest_type = detail::host_share<detail::host_event_record>;
    DYNPAR_FUNCTION explicit host_event(detail::host_block_state* block) : block_(block) {}

    detail::host_block_state* block_;  // which made it
    bool alive_ = true;                // not moved from
    latest_type latest_;
};

/// A thread's view of its block on the host engine. See block.hpp for what every member means.
///
/// Members are DYNPAR_FUNCTION although they only ever run on the host: kernels are compiled for both sides by nvcc.
class host_block : public value_interface<host_block> {
public:
    DYNPAR_FUNCTION unsigned thread_rank() const { return thread_rank_; }
    DYNPAR_FUNCTION unsigned num_threads() const { return num_threads_; }
    DYNPAR_FUNCTION dimensions dim_threads() const { return dim_threads_; }
    DYNPAR_FUNCTION dimensions thread_index() const { return dim_threads_.index_of(thread_rank_); }
    DYNPAR_FUNCTION unsigned block_rank() const { return block_rank_; }
    DYNPAR_FUNCTION unsigned num_blocks() const { return num_blocks_; }
    DYNPAR_FUNCTION dimensions dim_blocks() const { return dim_blocks_; }
    DYNPAR_FUNCTION dimensions group_index() const { return dim_blocks_.index_of(block_rank_); }
    DYNPAR_FUNCTION unsigned depth() const { return depth_; }
    DYNPAR_FUNCTION unsigned moldable_threads(at_most most) const {
#if DYNPAR_ON_HOST
        return state_->scheduler->moldable_threads(most.threads);
#else
        return most.threads;
#endif
    }

    DYNPAR_FUNCTION void sync() {
#if DYNPAR_ON_HOST
        state_->scheduler->sync(*state_);
#endif
    }

    DYNPAR_FUNCTION status wait() {
#if DYNPAR_ON_HOST
        return state_->scheduler->wait(*state_, memory_);
#else
        return status::not_supported;
#endif
    }

    template <class T>
    DYNPAR_FUNCTION T* shared(std::size_t count) {
        detail::check_block_memory<T>();
#if DYNPAR_ON_HOST
        return static_cast<T*>(state_->scheduler->shared(*state_, memory_, bytes_of<T>(count)));
#else
        return nullptr;
#endif
    }

    template <class T>
    DYNPAR_FUNCTION T* scratch(std::size_t count) {
        detail::check_block_memory<T>();
#if DYNPAR_ON_HOST
        return static_cast<T*>(state_->scheduler->scratch(*state_, bytes_of<T>(count)));
#else
        return nullptr;
#endif
    }

    using value_interface<host_block>::launch;
    template <class Kernel, class... Args>
    DYNPAR_FUNCTION status launch(Kernel kernel, const shape& s, Args... args) {
        check_kernel<host_block, Kernel, Args...>();
#if DYNPAR_ON_HOST
        return state_->scheduler->launch(*state_, nullptr, description<Kernel, Args...>(),
                                         closure<Kernel, Args...>(kernel, args...), detail::shape_of_launch<Kernel>(s),
                                         {(points_into_block(args) || ...), false});
#else
        return status::not_supported;
#endif
    }
    /// Without a shape, or with a buffer: a sentence of the compiler.
    template <class Kernel, class Shape = shape, class... Args, detail::if_wrong_launch<Shape, Args...> = 0,
              std::enable_if_t<!std::is_same_v<Kernel, host_stream>, int> = 0>
    DYNPAR_FUNCTION status launch(const Kernel&, const Shape&, const Args&...) {
        return detail::explain_wrong_launch<status, Shape, Args...>();
    }

    template <class Kernel, class... Args>
    DYNPAR_FUNCTION status launch(const host_stream& stream, Kernel kernel, const shape& s, Args... args) {
        check_kernel<host_block, Kernel, Args...>();
#if DYNPAR_ON_HOST
        const std::shared_ptr<detail::host_stream_state> state = stream.state_.get();
        return state_->scheduler->launch(*state_, state, description<Kernel, Args...>(),
                                         closure<Kernel, Args...>(kernel, args...), detail::shape_of_launch<Kernel>(s),
                                         {(points_into_block(args) || ...), state == nullptr});
#else
        return status::not_supported;
#endif
    }

    using value_interface<host_block>::then;
    template <class Kernel, class... Args>
    DYNPAR_FUNCTION status then(Kernel kernel, const shape& s, Args... args) {
        check_kernel<host_block, Kernel, Args...>();
#if DYNPAR_ON_HOST
        return state_->scheduler->then(*state_, description<Kernel, Args...>(),
                                       closure<Kernel, Args...>(kernel, args...), detail::shape_of_launch<Kernel>(s),
                                       {(points_into_block(args) || ...), false});
#else
        return status::not_supported;
#endif
    }
    /// Without a shape, or with a buffer: a sentence of the compiler.
    template <class Kernel, class Shape = shape, class... Args, detail::if_wrong_launch<Shape, Args...> = 0>
    DYNPAR_FUNCTION status then(const Kernel&, const Shape&, const Args&...) {
        return detail::explain_wrong_launch<status, Shape, Args...>();
    }

    DYNPAR_FUNCTION host_stream make_stream() {
        host_stream stream(state_);
#if DYNPAR_ON_HOST
        stream.state_.get() = state_->scheduler->make_stream();
#endif
        return stream;
    }

    DYNPAR_FUNCTION host_event make_event() { return host_event(state_); }

    /// For kernels with values: whether a call of the run has failed, so that a value may be missing.
    DYNPAR_FUNCTION bool run_has_failures() const {
#if DYNPAR_ON_HOST
        return state_->scheduler->has_failures();
#else
        return false;
#endif
    }

    /// For reducers: one thread runs at a time.
    static constexpr detail::slot_use use_of_slots = detail::slot_use::exclusive;
    /// For reducers: which engine's this is, and where this thread adds.
    DYNPAR_FUNCTION detail::reducer_place place_in_reducer() const {
#if DYNPAR_ON_HOST
        return {state_->scheduler, 0};
#else
        return {nullptr, 0};
#endif
    }
    /// For reducers: reports one of another engine.
    DYNPAR_FUNCTION void refuse_reducer() const {
#if DYNPAR_ON_HOST
        state_->scheduler->refuse_reducer(*state_);
#endif
    }

    /// For collectives.hpp: the values of this thread's warp, each of `bytes`; valid until the thread's next call.
    DYNPAR_FUNCTION const void* gather(unsigned warp, unsigned threads, const void* value, std::size_t bytes) {
#if DYNPAR_ON_HOST
        return state_->scheduler->gather(*state_, warp, thread_rank_ % warp_threads, threads, value, bytes);
#else
        return value;
#endif
    }

    /// For collectives.hpp: throws `std::invalid_argument` where a GPU would read what is not there.
    DYNPAR_FUNCTION static void check_rank(unsigned rank, unsigned threads) {
#if DYNPAR_ON_HOST
        if (rank >= threads) detail::refuse_rank(rank, threads);
#endif
    }
    /// The same where there is no memory.
    DYNPAR_FUNCTION static void check_memory(const void* memory) {
#if DYNPAR_ON_HOST
        if (memory == nullptr) detail::refuse_null_memory();
#endif
    }

    host_block(const host_block&) = delete;
    host_block& operator=(const host_block&) = delete;

private:
    friend class detail::host_scheduler;
    friend class host_engine;

    /// A kernel with its arguments, kept from the launch until the last thread has begun.
    /// Hidden, because nvcc makes a kernel in an anonymous namespace a hidden type, and g++ warns of a visible one
    /// around it.
    template <class Kernel, class... Args>
    class __attribute__((visibility("hidden"))) closure {
    public:
        closure(const Kernel& kernel, const Args&... args) : kernel_(kernel), args_(args...) {}
        void run_thread(host_block& block) const {
            std::apply([&](const Args&... args) { kernel_(block, Args(args)...); }, args_);
        }

    private:
        Kernel kernel_;
        std::tuple<Args...> args_;
    };

    template <class Kernel, class... Args>
    static const detail::host_kernel& description() {
        static const detail::host_kernel kernel{kernel_name<Kernel>(), most_threads<Kernel>(),
                                                [](const void* c, host_block& block) {
                                                    static_cast<const closure<Kernel, Args...>*>(c)->run_thread(block);
                                                }};
        return kernel;
    }

    /// Whether an argument is a pointer to memory that ends with the launching thread or its block. (Pointers inside
    /// structs are not checked.)
    template <class Arg>
    bool points_into_block(const Arg& argument) const {
        if constexpr (std::is_pointer_v<Arg> && !std::is_function_v<std::remove_pointer_t<Arg>>) {
            return state_->scheduler->points_into_block(*state_, argument);
        } else {
            return false;
        }
    }

    template <class T>
    static std::size_t bytes_of(std::size_t count) {
        return count > SIZE_MAX / sizeof(T) ? SIZE_MAX : count * sizeof(T);
    }

    host_block(detail::host_block_state& state, unsigned rank)
        : state_(&state),
          thread_rank_(rank),
          num_threads_(state.grid->threads),
          block_rank_(state.rank),
          num_blocks_(state.grid->blocks),
          depth_(state.grid->depth),
          dim_threads_(state.grid->shape.moldable ? dimensions(state.grid->threads) : state.grid->shape.threads),
          dim_blocks_(state.grid->shape.blocks) {}

    detail::host_block_state* state_;
    unsigned thread_rank_;
    unsigned num_threads_;
    unsigned block_rank_;
    unsigned num_blocks_;
    unsigned depth_;
    dimensions dim_threads_;
    dimensions dim_blocks_;
    detail::host_thread_memory memory_;
};

DYNPAR_FUNCTION inline status host_stream::wait(const host_event& event) {
#if DYNPAR_ON_HOST
    const std::shared_ptr<detail::host_stream_state> state = std::as_const(state_).get();
    if (state == nullptr || !event.alive_) return block_->scheduler->refuse_handle(*block_, operation::wait_event);
    return block_->scheduler->wait_event(state, event.latest_.get());
#else
    (void)event;
    return status::not_supported;
#endif
}

DYNPAR_FUNCTION inline status host_event::record(const host_stream& stream) {
#if DYNPAR_ON_HOST
    const std::shared_ptr<detail::host_stream_state> state = stream.state_.get();
    if (state == nullptr || !alive_) return block_->scheduler->refuse_handle(*block_, operation::record_event);
    return block_->scheduler->record(state, latest_.get());
#else
    (void)stream;
    return status::not_supported;
#endif
}

template <>
struct detail::runs_on_host<host_block> : std::true_type {};

inline void detail::host_scheduler::run_thread(host_block_state& state, unsigned rank) {
    try {
        host_block block(state, rank);
        state.grid->kernel->run_thread(state.grid->closure, block);
    } catch (const run_cancelled&) {
        // unwound, as it should be
    } catch (...) {
        take_fault(state, rank);
    }
}

/// Options of the host engine.
struct host_options : engine_options {
    /// Stack of one simulated thread in bytes. Only threads that block at the same time have a stack each.
    std::size_t fiber_stack_bytes = 256 * 1024;
};

/// Runs kernels on the CPU: one simulated thread at a time, in launch order, always in the same order. A kernel without
/// barriers is a plain loop; a thread gets a stack of its own when it blocks. A moldable kernel runs with one thread a
/// block, or with `moldable_threads`.
///
/// An engine runs one grid (with everything launched from it) at a time; several engines may run in several threads.
class host_engine : public basic_engine<host_engine> {
public:
    using basic_engine::try_run;
    using block_type = host_block;  ///< what kernels get

    /// As in `--engine host`.
    static constexpr const char* name = "host";

    /// Needs no device, and takes memory when it runs.
    explicit host_engine(const host_options& options = {})
        : options_(options), scheduler_(std::make_unique<detail::host_scheduler>(options, options.fiber_stack_bytes)) {}

    /// Runs a grid and everything launched from it; returns when all of it is complete. Calls that failed are in the
    /// report. Throws `kernel_fault` if a kernel threw (its exception nested inside), `deadlock_error` if no thread can
    /// continue, `std::system_error` if there is no memory for another thread's stack. The engine is usable afterwards.
    template <class Kernel, class... Args, detail::if_no_buffer<Args...> = 0>
    report try_run(Kernel kernel, const shape& s, Args... args) {
        check_kernel<host_block, Kernel, Args...>();
        return scheduler_->run(host_block::description<Kernel, Args...>(),
                               host_block::closure<Kernel, Args...>(kernel, args...),
                               detail::shape_of_launch<Kernel>(s));
    }

    /// Where its buffers are: the host's own memory.
    static const memory_space& memory() {
        static const memory_space space{
            [](std::size_t bytes) { return ::operator new (bytes, std::align_val_t{256}); },  // as cudaMalloc does
            [](void* p) noexcept { ::operator delete (p, std::align_val_t{256}); },
            [](void* there, const void* host, std::size_t bytes) { std::memcpy(there, host, bytes); },
            [](void* host, const void* there, std::size_t bytes) { std::memcpy(host, there, bytes); },
        };
        return space;
    }

    /// "CPU".
    std::string device() const { return "CPU"; }
    /// The threads that a moldable block gets, of at most as many as `most` says.
    unsigned moldable_threads(at_most most) const { return scheduler_->moldable_threads(most.threads); }
    /// How many slots a reducer of this engine has.
    unsigned reducer_slots() const { return 1; }
    /// As given.
    const host_options& options() const { return options_; }

private:
    host_options options_;
    std::unique_ptr<detail::host_scheduler> scheduler_;
};

static_assert(detail::is_block<host_block>(), "the host engine's block has the whole interface");

}  // namespace dynpar
