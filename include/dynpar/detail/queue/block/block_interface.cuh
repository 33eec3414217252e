// Queue engine: the interface that both block types share, and the choice of a launch's route.
//
// launch() takes the first route that applies. Rows 1 to 9 are one-dimensional, and but for row 9, if nothing else is
// said, of one block and without shared memory. They exclude launches with a bad pointer, and but for row 8 those that
// are too deep. Row 8 is for wide blocks only. Rows 8 and 9 give up if anything is unusual (a full deque, an empty
// cache); then the general route follows.
//
// | shape                             | payload     | route                 | queue                                 |
// | --------------------------------- | ----------- | --------------------- | ------------------------------------- |
// | 1 thread, not traced              | <= 16 bytes | push_child, lane_task | the warp's lane deque                 |
// | 1 thread, not traced              | <= 32 bytes | push_child, wide_task | the warp's wide deque                 |
// | 2 to 32 blocks of 1, not traced   | <= 32 bytes | push_child, wide_task | the warp's wide deque: a small grid   |
// | both of these                     | <= 256 bytes | launch_carrying       | the same                              |
// | 2 to 32 threads, not traced       | <= 32 bytes | push_warp_child       | the warp's wide deque                 |
// | the same, with shared memory      | <= 32 bytes | push_warp_child       | the warp's wide deque                 |
// | more threads, with it or without  | <= 32 bytes | push_team_child       | staged, or the warp's wide deque      |
// | 1 to 32 threads, traced           | <= 32 bytes | push_single_block     | the warp's wide deque                 |
// | several blocks, not traced        | <= 32 bytes | launch_grid           | open grids if worth it, or the deque  |
// | anything else:                    | any         | launch_general, then  |                                       |
// | - one block that its task holds   |             | launch_without_node   | the deque of its width                |
// | - all others                      |             | launch_with_node      | open grids if worth it, or that deque |
// | - in a stream                     |             | launch_with_node      | the stream, then as above             |
//
// Neither launch_grid nor continue_with_descriptor takes shared memory by the thread, whose size depends on the width.
//
// then() chooses likewise. A continuation stays with the grid's node until its counter reaches zero, and is then pushed
// as a launch would be:
//
// | shape                                 | payload     | route                    | where it stays                  |
// | ------------------------------------- | ----------- | ------------------------ | ------------------------------- |
// | 1 block of 2^n threads                | <= 16 bytes | continue_in_node         | in the node, if it is the first |
// | the same, of a small grid             | <= 16 bytes | continue_general         | in the node, if it is the first |
// | one-dimensional, by an untraced owner | <= 32 bytes | continue_with_descriptor | the node's list                 |
// | anything else                         | any         | continue_general         | the node's list                 |
//
// Row 3 is for wide blocks only.
//
// Owns what a kernel's block object carries: its grid, info word, descriptor, rank and kernel name. State in shared
// memory is the derived types' own.
#pragma once

#include <type_traits>

#include "../../../block.hpp"
#include "../../../reducer.hpp"
#include "../../launch_check.hpp"
#include "../../value_calls.hpp"
#include "launch.cuh"
#include "stream_handles.cuh"

/// DYNPAR_CHECK_POINTERS: whether launches check pointers among their arguments (`status::invalid_pointer`). It costs a
/// few instructions for each; define it as 0 to go without.
#if !defined(DYNPAR_CHECK_POINTERS)
#define DYNPAR_CHECK_POINTERS 1
#endif

namespace dynpar {
namespace detail {

class block_handover;  // nested_iterations.hpp

namespace queue {

/// What a call out of line returns: of the block only what it may have changed.
template <class Block>
struct block_and_status {
    typename Block::launches_type launches;
    status result;

    DYNPAR_FUNCTION block_and_status(const Block& block, status result_)
        : launches(block.launches()), result(result_) {}
};

/// What both block types have in common. `Derived` knows the block's grid node and counts children.
///
/// Members are DYNPAR_FUNCTION, with bodies for the device only: nvcc compiles kernels for both sides.
template <class Derived>
class block_interface : public value_interface<Derived> {
public:
    DYNPAR_FUNCTION unsigned block_rank() const { return rank_; }
    DYNPAR_FUNCTION unsigned num_blocks() const { return static_cast<unsigned>(dim_blocks().count()); }
    DYNPAR_FUNCTION dimensions group_index() const {
        return has_descriptor() ? dim_blocks().index_of(rank_) : dimensions(rank_, 0, 0);
    }
    DYNPAR_FUNCTION dimensions dim_blocks() const {
#if DYNPAR_ON_DEVICE
        if (has_descriptor()) return at<grid_descriptor>(descriptor_)->blocks;
        if (is_of_small_grid()) return dimensions(small_grid(descriptor_).blocks());
#endif
        return {};
    }
    DYNPAR_FUNCTION unsigned depth() const { return info_ & info::depth_mask; }
    DYNPAR_FUNCTION unsigned moldable_threads(at_most most) const {
#if DYNPAR_ON_DEVICE
        return min(most.threads, engine().moldable_threads);
#else
        return most.threads;
#endif
    }

    using value_interface<Derived>::launch;
    template <class Kernel, class... Args>
    DYNPAR_FUNCTION status launch(Kernel kernel, const shape& given, Args... args) {
        check_kernel<lane_block, Kernel, Args...>();
        check_kernel<wide_block, Kernel, Args...>();
#if DYNPAR_ON_DEVICE
        const dynpar::detail::shape_of_launch<Kernel> s(given);
        const auto payload = make_payload(kernel, args...);
        const bool bad = bad_pointer(args...);
        // Too deep or traced launches take the general route. The traced bit lies above every depth, so the short route
        // needs no instruction for it.
        const std::uint32_t depth_if_direct = info_ & (info::depth_mask | info::traced);
        const bool direct = __builtin_expect(depth_if_direct < engine().nesting_depth && !bad, 1) != 0;
        if constexpr (payload_bytes<Kernel, Args...> <= sizeof(lane_arguments)) {
            // Likely: then what is not lies behind the loop in which a kernel launches.
            if (__builtin_expect(direct && is_single_thread(s), 1)) {
                lane_task task = make_lane_task<Kernel, Args...>(payload);
                task.info = (depth_if_direct + 1) | lane_rank() << info::launcher_shift;
                if (derived().push_child(task)) return status::success;
                return fail_to_launch(kernel_name<Kernel>(), depth() + 1, s);
            }
        }
        if constexpr (payload_bytes<Kernel, Args...> <= sizeof(wide_arguments)) {
            const bool small = is_small(s);
            const bool on_lane =
                small || (payload_bytes<Kernel, Args...> > sizeof(lane_arguments) && is_single_thread(s));
            const auto make_task = [&](std::uint32_t width, std::uint32_t size) {
                wide_task task{};
                task.key = &tell_entries<Kernel, Args...>;
                task.info = (depth_if_direct + 1) | width | (small ? info::small : 0u);
                task.size = block_size(size);
                task.descriptor = small ? small_grid(s.blocks.x, 0).bits : 0;
                task.last = s.blocks.x;
                memcpy(&task.arguments, &payload, payload_bytes<Kernel, Args...>);
                return task;
            };
            if (direct && on_lane) {
                wide_task task = make_task(info::on_lane, lane_rank());
                if (derived().push_child(task)) return status::success;
                return fail_to_launch(kernel_name<Kernel>(), depth() + 1, s);
            } else if (direct && is_single_warp(s, most_threads<Kernel>())) {
                wide_task task =
                    make_task(info::on_warp, s.moldable ? min(s.threads.x, engine().moldable_threads) : s.threads.x);
                if (derived().push_warp_child(task)) return status::success;
                return fail_to_launch(kernel_name<Kernel>(), depth() + 1, s);
            } else if (const unsigned threads = direct ? threads_of_single_block(s, most_threads<Kernel>()) : 0;
                       threads != 0) {
                const bool on_warp = threads <= warp_size;
                wide_task task = make_task(on_warp ? info::on_warp : info::on_block, threads);
                task.size = block_size(threads, shared_bytes_of(s, threads));
                if (on_warp ? derived().push_warp_child(task) : derived().push_team_child(task)) return status::success;
                return fail_to_launch(kernel_name<Kernel>(), depth() + 1, s);
            }
        }
        constexpr unsigned bytes = payload_bytes<Kernel, Args...>;
        if constexpr (sizeof(wide_arguments) < bytes && bytes <= most_carried_bytes) {
            if (direct && (is_single_thread(s) || is_small(s)))
                return apply(launch_carrying<Kernel, Args...>(derived(), payload, s.blocks.x));
        }
        if constexpr (Derived::is_wide && payload_bytes<Kernel, Args...> <= sizeof(wide_arguments)) {
            if (!bad && (is_single_thread(s) || is_single_warp(s, most_threads<Kernel>()))) {
                wide_arguments arguments;
                memcpy(&arguments, &payload, payload_bytes<Kernel, Args...>);
                if (Derived::template push_single_block<Kernel, Args...>(arguments, s.threads.x, s.moldable, grid_,
                                                                         info_)) {
                    derived().count_launch();
                    return status::success;
                }
            }
        }
        if constexpr (payload_bytes<Kernel, Args...> <= sizeof(wide_arguments)) {
            if (direct && s.blocks.x > 1 && !s.shared_per_thread && is_one_dimensional(s, most_threads<Kernel>())) {
                wide_arguments arguments;
                memcpy(&arguments, &payload, payload_bytes<Kernel, Args...>);
                const short_launch result = derived().launch_grid(&tell_entries<Kernel, Args...>, arguments, s.blocks.x,
                                                                  s.threads.x, s.moldable, s.shared_bytes);
                if (result == short_launch::failed) return fail_to_launch(kernel_name<Kernel>(), depth() + 1, s);
                if (result != short_launch::not_taken) return status::success;
            }
        }
        return apply(launch_general<Kernel, Args...>(derived(), payload, s, bad, false, 0));
#else
        return nowhere(kernel, given, args...);
#endif
    }

    template <class Kernel, class... Args>
    DYNPAR_FUNCTION status launch(const queue_stream& stream, Kernel kernel, const shape& s, Args... args) {
        check_kernel<lane_block, Kernel, Args...>();
        check_kernel<wide_block, Kernel, Args...>();
#if DYNPAR_ON_DEVICE
        return apply(launch_general<Kernel, Args...>(derived(), make_payload(kernel, args...),
                                                     dynpar::detail::shape_of_launch<Kernel>(s), bad_pointer(args...),
                                                     true, stream.state_));
#else
        static_cast<void>(stream);
        return nowhere(kernel, s, args...);
#endif
    }

    using value_interface<Derived>::then;
    template <class Kernel, class... Args>
    DYNPAR_FUNCTION status then(Kernel kernel, const shape& given, Args... args) {
        check_kernel<lane_block, Kernel, Args...>();
        check_kernel<wide_block, Kernel, Args...>();
#if DYNPAR_ON_DEVICE
        const dynpar::detail::shape_of_launch<Kernel> s(given);
        const auto payload = make_payload(kernel, args...);
        const bool bad = bad_pointer(args...);
        inline_continuation inlined{};
        if constexpr (payload_bytes<Kernel, Args...> <= sizeof(lane_arguments)) {
            if (const unsigned threads = threads_in_node(s, most_threads<Kernel>()); threads != 0) {
                inlined.key = &tell_entries<Kernel, Args...>;
                inlined.threads_log2 = static_cast<unsigned>(__popc(threads - 1));
                memcpy(&inlined.arguments, &payload, payload_bytes<Kernel, Args...>);
                if (!bad && derived().continue_in_node(inlined)) return status::success;
            }
        }
        if constexpr (Derived::is_wide && payload_bytes<Kernel, Args...> <= sizeof(wide_arguments)) {
            const bool is_untraced_owner = (info_ & (info::owner | info::traced)) == info::owner;
            if (inlined.key == nullptr && !bad && is_untraced_owner && !s.shared_per_thread &&
                is_one_dimensional(s, most_threads<Kernel>())) {
                wide_arguments arguments;
                memcpy(&arguments, &payload, payload_bytes<Kernel, Args...>);
                if (continue_with_descriptor(&tell_entries<Kernel, Args...>, arguments, s.blocks.x, s.threads.x,
                                             s.moldable, s.shared_bytes, grid_, info_)) {
                    return status::success;
                }
            }
        }
        return apply(continue_general<Kernel, Args...>(derived(), payload, s, inlined, bad));
#else
        return nowhere(kernel, given, args...);
#endif
    }

    /// Without a shape, or with a buffer: a sentence of the compiler.
    template <class Kernel, class Shape = shape, class... Args, detail::if_wrong_launch<Shape, Args...> = 0,
              std::enable_if_t<!std::is_same_v<Kernel, queue_stream>, int> = 0>
    DYNPAR_FUNCTION status launch(const Kernel&, const Shape&, const Args&...) {
        return detail::explain_wrong_launch<status, Shape, Args...>();
    }
    /// Without a shape, or with a buffer: a sentence of the compiler.
    template <class Kernel, class Shape = shape, class... Args, detail::if_wrong_launch<Shape, Args...> = 0>
    DYNPAR_FUNCTION status then(const Kernel&, const Shape&, const Args&...) {
        return detail::explain_wrong_launch<status, Shape, Args...>();
    }

    template <class T>
    DYNPAR_FUNCTION T* scratch(std::size_t count) {
        dynpar::detail::check_block_memory<T>();
#if DYNPAR_ON_DEVICE
        void* memory = nullptr;
        if (count <= (1ull << 40) / sizeof(T)) memory = derived().take_scratch(count * sizeof(T));
        if (memory == nullptr) fail(operation::scratch, status::out_of_memory);
        return static_cast<T*>(memory);
#else
        static_cast<void>(count);
        return nullptr;
#endif
    }

    /// For kernels with values: whether a call of the run has failed, so that a value may be missing.
    DYNPAR_FUNCTION bool run_has_failures() const {
#if DYNPAR_ON_DEVICE
        return load_relaxed(engine().failures->failed_calls) != 0;
#else
        return false;
#endif
    }

    /// For reducers: a hardware thread runs one block at a time, and what runs on top of a wait() runs between two
    /// statements of the one that waits.
    static constexpr slot_use use_of_slots = slot_use::exclusive;
    /// For reducers: which engine's this is, and where this thread adds.
    DYNPAR_FUNCTION reducer_place place_in_reducer() const {
#if DYNPAR_ON_DEVICE
        return {engine().control, worker_rank() * warp_size + lane_rank()};
#else
        return {nullptr, 0};
#endif
    }
    /// For reducers: reports one of another engine.
    DYNPAR_FUNCTION void refuse_reducer() const {
#if DYNPAR_ON_DEVICE
        fail(operation::reduce, status::not_supported);
#endif
    }

    DYNPAR_FUNCTION queue_stream make_stream() {
#if DYNPAR_ON_DEVICE
        const arena_index state = open_stream();
        if (state == 0) fail(operation::make_stream, status::out_of_memory);
        return queue_stream(handle_maker(derived()), state);
#else
        return queue_stream(handle_maker(derived()), 0);
#endif
    }
    DYNPAR_FUNCTION queue_event make_event() { return queue_event(handle_maker(derived())); }

protected:
    DYNPAR_FUNCTION block_interface(arena_index grid, std::uint32_t task_info, arena_index descriptor,
                                    std::uint32_t rank, text kernel)
        : grid_(grid), info_(task_info), descriptor_(descriptor), rank_(rank), kernel_(kernel) {}

    DYNPAR_FUNCTION bool has_descriptor() const {
        return descriptor_ != 0 && (info_ & (info::bare | info::small)) == 0;
    }
    DYNPAR_FUNCTION bool is_of_small_grid() const { return descriptor_ != 0 && (info_ & info::small) != 0; }
    DYNPAR_FUNCTION Derived& derived() { return static_cast<Derived&>(*this); }
    DYNPAR_FUNCTION const Derived& derived() const { return static_cast<const Derived&>(*this); }

#if DYNPAR_ON_DEVICE
    template <class... Args>
    __device__ bool bad_pointer(const Args&... args) const {
#if DYNPAR_CHECK_POINTERS
        return (points_into_block(args) || ...);
#else
        return false;
#endif
    }
    /// C11: memory that is gone when the launching block is, or that no other thread can see.
    template <class T>
    __device__ bool points_into_block(const T& argument) const {
        if constexpr (std::is_pointer_v<T>) {
            if constexpr (!std::is_function_v<std::remove_pointer_t<T>>) {
                const void* place = (const void*)argument;
                if constexpr (std::is_class_v<std::remove_pointer_t<T>>) place = opaque(place);
                return place != nullptr &&
                       (__isLocal(place) || __isShared(place) || derived().is_own_shared_memory(place));
            }
        }
        return false;
    }
    // Seldom needed functions are not inlined, and they take the block by value and return what they have changed of
    // it: a block whose address is taken would lie in memory in all kernels. Inlined code, and what is live across a
    // call, costs registers, which every entry of a kernel writes to its stack, and that takes as long as writing to
    // device memory.
    __device__ status apply(const block_and_status<Derived>& after) {
        derived().set_launches(after.launches);
        return after.result;
    }
    /// A grid of one block of one thread, or a small grid, with more arguments than a task has room for.
    template <class Kernel, class... Args>
    static __device__ __noinline__ block_and_status<Derived> launch_carrying(Derived block,
                                                                             payload_of<Kernel, Args...> payload,
                                                                             std::uint32_t blocks) {
        constexpr unsigned bytes = payload_bytes<Kernel, Args...>;
        constexpr unsigned size_class = bytes <= unit_bytes ? node_cache::size_class : piece_cache::size_class;
        static_assert(bytes <= unit_bytes << size_class);
        const carried_arguments carried{size_class == node_cache::size_class ? take_node() : take_piece(), size_class};
        wide_task task{};
        task.key = &tell_entries<Kernel, Args...>;
        task.info = (block.depth() + 1) | info::on_lane | info::carried | (blocks > 1 ? info::small : 0u);
        task.size = block_size(lane_rank());
        task.descriptor = blocks > 1 ? small_grid(blocks, 0).bits : 0;
        task.last = blocks;
        memcpy(&task.arguments, &carried, sizeof(carried));
        if (carried.place != 0) {
            *at<payload_of<Kernel, Args...>>(carried.place) = payload;
            if (block.push_child(task)) return {block, status::success};
            release(carried.place, size_class);  // not into the cache: other lanes may be taking from it
        }
        return {block, fail_to_launch(kernel_name<Kernel>(), block.depth() + 1, shape(blocks, 1))};
    }
    template <class Kernel, class... Args>
    static __device__ __noinline__ block_and_status<Derived> launch_general(Derived block,
                                                                            payload_of<Kernel, Args...> payload,
                                                                            shape s, bool bad, bool in_stream,
                                                                            arena_index stream) {
        launch_request request = make_request<Kernel, Args...>(payload, operation::launch, block.depth() + 1,
                                                               block.info_, block.descriptor_, bad);
        request.in_stream = in_stream;
        request.stream = stream;
        const status result = block.launch_child(request, s);
        return {block, result};
    }
    /// A continuation of a grid that has a node. False if the warp's cache has no piece. Makes no call: the whole grid
    /// waits for it.
    static __device__ __noinline__ bool continue_with_descriptor(kernel_key key, wide_arguments arguments,
                                                                 std::uint32_t blocks, std::uint32_t threads,
                                                                 bool moldable, std::uint32_t shared_bytes,
                                                                 arena_index node, std::uint32_t task_info) {
        const arena_index place = take_cached_piece();
        if (place == 0) return false;
        // What the block adds now must not run before this one.
        const bool on_team = (task_info & info::width_mask) == info::on_block;
        fetch_or_relaxed(on_team ? this_team().own_counts : this_warp().own_counts, counted::continues);
        const width_choice choice = choose_width(threads, moldable, engine().moldable_threads);
        put_one_dimensional_grid(place, key, arguments, blocks, choice, shared_bytes, node,
                                 task_info & info::depth_mask);
        at<grid_descriptor>(place)->link.size_class = piece_class;
        add_continuation(node, place);
        return true;
    }
    template <class Kernel, class... Args>
    static __device__ __noinline__ block_and_status<Derived> continue_general(Derived block,
                                                                              payload_of<Kernel, Args...> payload,
                                                                              shape s, inline_continuation inlined,
                                                                              bool bad) {
        launch_request request =
            make_request<Kernel, Args...>(payload, operation::then, block.depth(), block.info_, block.descriptor_, bad);
        const arena_index node = block.grid_of_its_own();
        if (!block.claim_room_in_node()) inlined.key = nullptr;
        const status result = continue_with(request, s, node, inlined, block.continuation_lock());
        return {block, result};
    }
    /// The lock of all threads that may continue this grid; null if they are not all in one worker block.
    __device__ unsigned* continuation_lock() const {
        return (info_ & info::one_of_several) != 0 ? nullptr : &derived().lock_of_block();
    }
    static __device__ status fail_to_launch(text kernel, unsigned kernel_depth, const shape& s) {
        return report_failure(operation::launch, status::out_of_memory, kernel, kernel_depth, s);
    }
    /// Reports a failure of a call that concerns this block itself.
    __device__ status fail(operation what, status why) const {
        shape s(dim_blocks(), derived().dim_threads());
        s.shared_bytes = derived().shared_bytes();
        return report_failure(what, why, kernel_, depth(), s);
    }
    __device__ bool is_owner() const { return (info_ & info::owner) != 0; }
#endif

    /// Never called: the queue engine has no host side, but nvcc needs a body that names the kernel.
    template <class Kernel, class... Args>
    DYNPAR_FUNCTION static status nowhere(const Kernel&, const shape&, const Args&...) {
        return status::not_supported;
    }

    arena_index grid_;
    std::uint32_t info_;
    arena_index descriptor_;
    std::uint32_t rank_;
    text kernel_;
};

}  // namespace queue
}  // namespace detail
}  // namespace dynpar
