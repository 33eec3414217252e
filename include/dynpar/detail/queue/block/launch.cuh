// Queue engine: launches: who runs a grid of a given shape, what must be known of it, and how it becomes a task.
//
// The predicates at the top choose the route (the table is in block_interface.cuh). A launch_request describes a launch
// that takes the general route: validate_launch() checks it, launch_valid() makes the task, and node and descriptor if
// it needs them, and pushes it where a worker of its width looks. Owns no state: it writes tasks, descriptors and nodes
// that other workers cannot see yet, and reaches all others through queues/, join/ and observe/.
#pragma once

#include "../../../kernel.hpp"
#include "../join/grid_node.cuh"
#include "../join/stream.cuh"
#include "../observe/trace.cuh"
#include "kernel_key.cuh"

namespace dynpar {
namespace detail {
namespace queue {

#if DYNPAR_ON_DEVICE

/// Notes a call that failed. If a launch lacks memory the run is over: its results are worthless, and an endless
/// recursion must end.
__device__ inline status report_call(const failed_call& call) {
    add_failure(engine().failures, &call);
    if (call.status == status::out_of_memory &&
        (call.operation == operation::launch || call.operation == operation::then))
        stop_run(no_memory);
    return call.status;
}
__device__ __noinline__ inline status report_failure(operation what, status why, text kernel, unsigned depth, shape s) {
    return report_call({what, why, 0, kernel, depth, s});
}

/// Whether a grid of that shape is one lane task, if its arguments fit.
__device__ inline bool is_single_thread(const shape& s) {
    return s.blocks.x == 1 && s.blocks.y == 1 && s.blocks.z == 1 && s.threads.x == 1 && s.threads.y == 1 &&
           s.threads.z == 1 && s.shared_bytes == 0;
}

/// Whether it is a small grid, likewise.
__device__ inline bool is_small(const shape& s) {
    return s.blocks.x > 1 && s.blocks.x <= small_grid::most_blocks && s.blocks.y == 1 && s.blocks.z == 1 &&
           s.threads.x == 1 && s.threads.y == 1 && s.threads.z == 1 && s.shared_bytes == 0;
}

/// Whether it is one block for a warp, likewise.
__device__ inline bool is_single_warp(const shape& s, unsigned most_threads) {
    if (s.blocks.x != 1 || s.blocks.y != 1 || s.blocks.z != 1 || s.threads.y != 1 || s.threads.z != 1) return false;
    if (s.shared_bytes != 0 || s.threads.x < 2 || s.threads.x > most_threads) return false;
    return s.threads.x <= warp_size
               ? !s.moldable || engine().moldable_threads > 1
               : s.moldable && engine().moldable_threads > 1 && engine().moldable_threads <= warp_size;
}

/// Of one block for a team, likewise, or for a warp if it has shared memory, of which the task says how much: its
/// threads. 0 if it is none.
__device__ inline unsigned threads_of_single_block(const shape& s, unsigned most_threads) {
    if (s.blocks.x != 1 || s.blocks.y != 1 || s.blocks.z != 1 || s.threads.y != 1 || s.threads.z != 1) return 0;
    const unsigned threads = s.moldable ? min(s.threads.x, engine().moldable_threads) : s.threads.x;
    if (s.shared_bytes > bounds::shared_bytes || threads > min(most_threads, engine().block_threads)) return 0;
    if (s.threads.x > most_threads) return 0;  // refused on the general route, also if it is moldable
    const bool is_for_one = threads > warp_size ? !s.moldable : s.shared_bytes != 0 && threads > 1;
    return is_for_one ? threads : 0;
}

/// Of a continuation for which a node has room, if its arguments fit: its threads. 0 if a node has no room for it.
__device__ inline unsigned threads_in_node(const shape& s, unsigned most_threads) {
    if (s.blocks.x != 1 || s.blocks.y != 1 || s.blocks.z != 1 || s.threads.y != 1 || s.threads.z != 1) return 0;
    if (s.shared_bytes != 0 || s.threads.x > most_threads) return 0;
    if (s.threads.x == 1) return 1;  // which is known when a kernel is compiled, most of the time
    const unsigned threads = s.moldable ? min(s.threads.x, engine().moldable_threads) : s.threads.x;
    const bool is_power_of_two = threads != 0 && (threads & (threads - 1)) == 0;
    return is_power_of_two && threads <= engine().block_threads ? threads : 0;
}

/// Whether blocks and threads are one-dimensional, and as many as possible at most.
__device__ inline bool is_one_dimensional(const shape& s, unsigned most_threads) {
    if (s.blocks.y != 1 || s.blocks.z != 1 || s.threads.y != 1 || s.threads.z != 1 ||
        s.shared_bytes > bounds::shared_bytes)
        return false;
    if (s.blocks.x == 0 || s.blocks.x > bounds::grid_blocks_x || s.threads.x == 0) return false;
    return s.threads.x <= (s.moldable ? most_threads : min(most_threads, engine().block_threads));
}

/// Whether a task of that width describes the shape completely, except for the number of blocks.
__device__ inline bool needs_no_descriptor(const shape& s, std::uint32_t width) {
    return (s.shared_bytes == 0 || width != info::on_lane) && (s.moldable || (s.threads.y == 1 && s.threads.z == 1));
}

/// What a launch on the general route must know.
struct launch_request {
    kernel_key key;
    const void* payload;
    std::uint32_t payload_size;
    wide_arguments arguments;  // the payload if it fits
    operation what;            // launch or then
    std::uint32_t depth;       // of the grid to be launched
    std::uint32_t info;        // of the calling block
    arena_index descriptor;    // of its grid; 0 if there is none
    bool bad_pointer;          // among the arguments
    bool in_stream;
    arena_index stream;
    unsigned most_threads;  // that the kernel can have in a block
    text kernel;            // its name

    // What validate_launch() finds out.
    width_choice choice;
    bool open_to_others;  // others may run it at once, so it must be counted at once
    bool needs_node;      // of its own
    bool needs_descriptor;
    std::uint32_t trace_id;

    __device__ bool fits() const { return payload_size <= sizeof(wide_arguments); }
    __device__ bool in_trace() const { return trace_id != dynpar::grid_record::none; }
};

__device__ inline status check_shape(const shape& s, unsigned most_threads) {
    if (check(s, most_threads) != status::success) return status::invalid_configuration;
    return s.moldable || s.threads.count() <= engine().block_threads ? status::success : status::invalid_configuration;
}

/// Writes a launch into the trace of the run.
__device__ __noinline__ inline void trace_request(launch_request& request, const shape& s, status why) {
    constexpr std::uint32_t none = dynpar::grid_record::none;
    traced_launch launch{request.kernel, trace_id_of(request.descriptor), none, none, request.depth, why, s};
    const std::uint32_t caller = launch.parent;
    if (request.what == operation::then) {
        // Another multiprocessor wrote it.
        launch.parent = caller != none ? load_relaxed(engine().trace_records[caller].parent) : none;
        launch.continues = caller;
    }
    if (request.in_stream && request.stream != 0) launch.stream = at<stream_state>(request.stream)->number;
    // A grid whose parent found no place in the trace gets none: it would look like a first grid.
    request.trace_id = take_trace_id(caller != none);
    if (request.in_trace())
        write_launch(engine().trace_records[request.trace_id], keep_name_once(request.kernel), &launch);
}

/// Notes a launch that failed.
__device__ __noinline__ inline status fail_launch(const launch_request& request, const shape& s, status why) {
#if !DYNPAR_NO_TRACE
    if (request.in_trace()) engine().trace_records[request.trace_id].status = why;
#endif
    return report_call({request.what, why, 0, request.kernel, request.depth, s, request.most_threads});
}

/// Whether a launch is valid, and what must be known before it; notes it if not. In a traced run, it gets its place in
/// the trace.
__device__ __noinline__ inline status validate_launch(launch_request& request, const shape& s) {
    request.trace_id = dynpar::grid_record::none;
    status why = status::success;
    if (request.bad_pointer) {
        why = status::invalid_pointer;
    } else if (request.depth > engine().nesting_depth) {
        why = status::nesting_depth_exceeded;
    } else {
        why = check_shape(s, request.most_threads);
    }
    if (why == status::success && request.in_stream && request.stream == 0) why = status::launch_failed;
#if !DYNPAR_NO_TRACE
    if ((request.info & info::traced) != 0) trace_request(request, s, why);
#endif
    if (why != status::success) return fail_launch(request, s, why);
    const unsigned long long blocks = s.blocks.count();
    request.choice = choose_width(s, engine().moldable_threads);
    request.open_to_others = request.in_stream || is_open_to_others(request.choice.width, blocks);
    const bool says_more = blocks > 1 || !request.fits() || !needs_no_descriptor(s, request.choice.width);
    request.needs_descriptor = says_more || request.in_trace();
    request.needs_node = request.in_stream || blocks > 1 || !request.fits() || (says_more && !request.in_trace());
    return why;
}

/// A place for a grid's descriptor; 0 if there is no memory. One of the trace's places, which are never given back, or
/// a piece that is, mostly from `take_one_piece()`.
template <class TakePiece>
__device__ inline arena_index take_descriptor(std::uint32_t trace_id, std::uint32_t payload_size,
                                              TakePiece take_one_piece) {
    const bool fits = payload_size <= sizeof(wide_arguments);
    if (trace_id != dynpar::grid_record::none && fits) {
        const arena_index place = traced_descriptors + trace_id * traced_descriptor_units;
        at<grid_descriptor>(place)->link = {0, not_given_back};
        return place;
    }
    const unsigned size_class = max(size_class_of(sizeof(grid_descriptor) + (fits ? 0 : payload_size)), piece_class);
    const arena_index piece = size_class == piece_class ? take_one_piece() : allocate(size_class);
    if (piece != 0) at<grid_descriptor>(piece)->link = {0, size_class};
    return piece;
}

__device__ inline arena_index take_descriptor(const launch_request& request) {
    return take_descriptor(request.trace_id, request.payload_size, [] { return take_piece(); });
}

/// Fills in a task, all but the node that it counts on, and its descriptor.
__device__ inline void fill_task(wide_task& task, const launch_request& request, const shape& s, arena_index place) {
    const std::uint32_t threads = request.choice.threads;
    task.key = request.key;
    task.info = request.depth | request.choice.width | (request.info & info::traced);
    task.size = block_size(threads, shared_bytes_of(s, threads));
    task.first = 0;
    task.last = static_cast<std::uint32_t>(s.blocks.count());
    task.descriptor = place;
    task.arguments = request.arguments;
    if (place == 0) return;
    if (!request.fits()) memcpy(at<grid_descriptor>(place)->arguments(), request.payload, request.payload_size);
    put_descriptor(*at<grid_descriptor>(place), s, threads, request.trace_id);
}

/// A child grid with a node of its own, which counts on `parent`: several blocks, a stream, or arguments that need
/// room. `out_of_memory`, or success; then the caller counts one more child.
__device__ inline status launch_with_node(const launch_request& request, const shape& s, arena_index parent) {
    const arena_index node = take_node();
    const arena_index descriptor = request.needs_descriptor ? take_descriptor(request) : 0;
    if (node == 0 || (request.needs_descriptor && descriptor == 0)) {
        // Not into the caches: other lanes may be taking from them.
        if (node != 0) release(node, 0);
        if (descriptor != 0 && at<grid_descriptor>(descriptor)->link.size_class != not_given_back) {
            release(descriptor, at<grid_descriptor>(descriptor)->link.size_class);
        }
        return status::out_of_memory;
    }
    wide_task task;
    fill_task(task, request, s, descriptor);
    task.grid = node;
    task.info |= info::owner | (task.last > 1 ? info::one_of_several : 0u);
    const std::uint32_t flags = request.in_stream ? grid_node::in_stream | grid_node::scratch_taken : 0u;
    put_node(node, static_cast<int>(task.last), parent, request.depth | flags, descriptor);
    if (descriptor != 0) copy_task(at<grid_descriptor>(descriptor)->task, task);
    if (request.in_stream) {
        put_stream(node, request.stream);
        fence();
        return give_to_stream(request.stream, stream_node::run_grid, 0, &task) ? status::success
                                                                               : status::out_of_memory;
    }
    return push_wide(task) ? status::success : status::out_of_memory;
}

/// A child of a wide block when the deque is full. A task among the spilled ones is not redirected to a node that is
/// made later, so the node is made now.
template <class Task>
__device__ __noinline__ bool push_child_spilled(arena_index& own, arena_index grid, unsigned depth, Task task) {
    task.grid = ensure_shared_node(own, grid, depth);
    return task.grid != 0 && push_spilled<Task>(task);
}

/// A child grid of one block, which counts on `grid`, or on the node `own` of the wide block that launches it, if there
/// is one.
__device__ inline bool launch_without_node(const launch_request& request, const shape& s, arena_index grid,
                                           arena_index* own) {
    wide_task task;
    // If it has a descriptor, that is a place in the trace.
    fill_task(task, request, s, request.needs_descriptor ? take_descriptor(request) : 0);
    if (request.open_to_others) {  // and so counted on `grid` already
        task.grid = grid;
        return push_here(task);
    }
    const arena_index there = own != nullptr ? load_relaxed(*own) : 0;
    task.grid = there != 0 ? there : grid;
    if (push(task)) return true;
    return own != nullptr ? push_child_spilled(*own, grid, request.info & info::depth_mask, task) : push_spilled(task);
}

/// A valid child grid. `node`: what it counts on; 0: there was no memory for it. `own`: see launch_without_node().
__device__ __noinline__ inline status launch_valid(const launch_request& request, const shape& s, arena_index node,
                                                   arena_index* own) {
    status result = status::out_of_memory;
    if (node != 0) {
        if (request.needs_node) {
            result = launch_with_node(request, s, node);
        } else if (launch_without_node(request, s, node, own)) {
            result = status::success;
        }
    }
    return result == status::success ? result : fail_launch(request, s, result);
}

/// A continuation of the grid of `node`. `lock`: of all threads that may add to it, if they are in one worker block;
/// null: any thread may.
__device__ __noinline__ inline status continue_with(launch_request& request, const shape& s, arena_index node,
                                                    const inline_continuation& inlined, unsigned* lock) {
    if (const status why = validate_launch(request, s); why != status::success) return why;
    if (node == 0) return fail_launch(request, s, status::out_of_memory);
    // A node has no room for what the trace must know of a continuation.
    const bool may_be_inlined = inlined.key != nullptr && lock != nullptr && (request.info & info::traced) == 0;
    if (may_be_inlined && add_inline_continuation(node, inlined, *lock)) return status::success;
    const arena_index descriptor = take_descriptor(request);
    if (descriptor == 0) return fail_launch(request, s, status::out_of_memory);
    wide_task task;
    fill_task(task, request, s, descriptor);
    if (!request.needs_descriptor) task.descriptor = 0;
    task.grid = node;
    task.info |= info::owner | (task.last > 1 ? info::one_of_several : 0u);
    copy_task(at<grid_descriptor>(descriptor)->task, task);
    add_continuation(node, descriptor);
    return status::success;
}

// ---- Short routes of grids of several blocks. Without the kernel's types, so that all kernels share their code.

/// Fills in the descriptor of a grid of one dimension with everything about it, and returns its task. `grid`: its node.
__device__ inline wide_task put_one_dimensional_grid(arena_index place, kernel_key key, const wide_arguments& arguments,
                                                     std::uint32_t blocks, const width_choice& choice,
                                                     std::uint32_t shared_bytes, arena_index grid,
                                                     std::uint32_t depth) {
    grid_descriptor& descriptor = *at<grid_descriptor>(place);
    descriptor.blocks = dimensions(blocks);
    descriptor.threads = dimensions(choice.threads);
    descriptor.shared_bytes = shared_bytes;
    descriptor.trace_id = dynpar::grid_record::none;
    wide_task task;
    task.key = key;
    task.grid = grid;
    task.info = depth | choice.width | info::owner | (blocks > 1 ? info::one_of_several : 0u);
    task.size = block_size(choice.threads, shared_bytes);
    task.descriptor = place;
    task.first = 0;
    task.last = blocks;
    task.arguments = arguments;
    copy_task(descriptor.task, task);
    return task;
}

/// What has become of a launch on a short route.
enum class short_launch : unsigned {
    not_taken,         // at most the parent has got its node: the general route follows
    is_counted,        // others may run the child at once, so its parent's node counts it
    is_to_be_counted,  // by the launching block, as one more child
    failed             // no memory
};

/// A child grid of one dimension, untraced, with arguments that fit in a task, which counts on `parent`. `count_now`
/// notes in the launching block that the node counts a child already. Makes no call where warps run the grid: such a
/// grid is mostly all that other warps wait for. Not taken if the warp's caches or its deque have no room.
template <class CountNow>
__device__ __forceinline__ short_launch put_child_grid(kernel_key key, const wide_arguments& arguments,
                                                       std::uint32_t blocks, const width_choice& choice,
                                                       std::uint32_t shared_bytes, arena_index parent,
                                                       std::uint32_t depth, CountNow count_now) {
    const bool on_block = choice.width == info::on_block;
    const bool publishes = is_worth_publishing(choice.width, blocks);
    // Otherwise each further launch of a thread whose deque is full would take memory and give it back.
    if (!on_block && load_relaxed_in_block(own_deque<wide_task>::owner_end()) - own_deque<wide_task>::steal_end() >=
                         own_deque<wide_task>::capacity)
        return short_launch::not_taken;
    const arena_index place = take_cached_piece();
    if (place == 0) return short_launch::not_taken;
    const arena_index node = take_cached_node();
    wide_task* const kept = node != 0 && !on_block ? reserve<wide_task>() : nullptr;
    if (node == 0 || (kept == nullptr && !on_block)) {
        release(place, piece_class);  // not into the cache: other lanes may be taking from it
        if (node != 0) release(node, 0);
        return short_launch::not_taken;
    }
    wide_task task = put_one_dimensional_grid(place, key, arguments, blocks, choice, shared_bytes, node, depth);
    at<grid_descriptor>(place)->link = {0, piece_class};
    put_node(node, static_cast<int>(blocks), parent, depth, place);
    if (on_block || publishes) {
        count_now();
        count_children(parent, 1);
    }
    if (on_block) return push_wide(task) ? short_launch::is_counted : short_launch::failed;
    if (publishes) {
        add_withheld_children();
        open_grids_view open_grids;
        publish_most_of(task, open_grids);
    }
    copy_task(*kept, task);
    return publishes ? short_launch::is_counted : short_launch::is_to_be_counted;
}

template <class Kernel, class... Args>
__device__ inline launch_request make_request(const payload_of<Kernel, Args...>& payload, operation what,
                                              std::uint32_t depth, std::uint32_t task_info, arena_index descriptor,
                                              bool bad_pointer) {
    launch_request request;
    request.key = &tell_entries<Kernel, Args...>;
    request.payload = &payload;
    request.payload_size = payload_bytes<Kernel, Args...>;
    request.arguments = {};
    if constexpr (payload_bytes<Kernel, Args...> <= sizeof(wide_arguments)) {
        memcpy(&request.arguments, &payload, payload_bytes<Kernel, Args...>);
    }
    request.what = what;
    request.depth = depth;
    request.info = task_info;
    request.descriptor = descriptor;
    request.bad_pointer = bad_pointer;
    request.in_stream = false;
    request.stream = 0;
    request.most_threads = most_threads<Kernel>();
    request.kernel = kernel_name<Kernel>();
    return request;
}

template <class Kernel, class... Args>
__device__ inline lane_task make_lane_task(const payload_of<Kernel, Args...>& payload) {
    lane_task task{};
    task.key = &tell_entries<Kernel, Args...>;
    memcpy(&task.arguments, &payload, payload_bytes<Kernel, Args...>);
    return task;
}

#endif

}  // namespace queue
}  // namespace detail
}  // namespace dynpar
