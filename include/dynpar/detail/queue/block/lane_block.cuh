// Queue engine: the block of one thread, which a kernel gets on a lane.
//
// Owns the block's node (own_) until the block returns, and the count of children that it has launched (launched_),
// which completion.cuh then settles. Adds to the node's counter only when the block waits, or for a child that others
// may run before the block returns.
#pragma once

#include "block_interface.cuh"
#include "../execute/wait.cuh"

namespace dynpar {
namespace detail {
namespace queue {

/// A block of one thread, on a lane.
class lane_block : public block_interface<lane_block> {
public:
    DYNPAR_FUNCTION lane_block(arena_index grid, std::uint32_t task_info, arena_index descriptor, std::uint32_t rank,
                               text kernel)
        : block_interface(grid, task_info, descriptor, rank, kernel) {}

    struct is_handed_over_by_value {};
    static constexpr bool is_wide = false;

    DYNPAR_FUNCTION unsigned thread_rank() const { return 0; }
    DYNPAR_FUNCTION unsigned num_threads() const { return 1; }
    DYNPAR_FUNCTION dimensions thread_index() const { return dimensions(0, 0, 0); }
    DYNPAR_FUNCTION dimensions dim_threads() const { return {}; }
    DYNPAR_FUNCTION void sync() {}

    DYNPAR_FUNCTION status wait() {
#if DYNPAR_ON_DEVICE
        if (!may_wait(depth())) return fail(operation::wait, status::sync_depth_exceeded);
        note_wait(depth());
        const unsigned launched = launched_ & block_outcome::count_mask;
        if (own_ == 0 && launched == 0) return run_stopped() ? status::launch_failed : status::success;
        if (ensure_own() == 0) return fail(operation::wait, status::out_of_memory);
        const arena_index target = (launched_ & block_outcome::late) != 0 ? own_ : 0;
        if (launched != 0) count_children(own_, static_cast<int>(launched));
        launched_ = block_outcome::accounted;
        if (!wait_for_children(own_, depth(), grid_, target)) return status::launch_failed;
        launched_ = 0;  // the node counts the block alone, as when it was made, and nobody else knows it
        return status::success;
#else
        return status::not_supported;
#endif
    }

    template <class T>
    DYNPAR_FUNCTION T* shared(std::size_t count) {
        dynpar::detail::check_block_memory<T>();
#if DYNPAR_ON_DEVICE
        const unsigned room = shared_bytes();
        if (count > (room - shared_used_) / sizeof(T)) {
            fail(operation::shared, status::shared_memory_exceeded);
            return nullptr;
        }
        // A lane has no fast memory of its own: this is the grid's, and lives longer than it must.
        if (shared_memory_ == nullptr) {
            const arena_index node = grid_of_its_own();
            fetch_add_relaxed(engine().control->shared_in_memory, 1u);
            if (node != 0) shared_memory_ = static_cast<unsigned char*>(allocate_scratch(node, room));
            if (shared_memory_ == nullptr) {
                fail(operation::shared, status::out_of_memory);
                return nullptr;
            }
        }
        T* memory = reinterpret_cast<T*>(shared_memory_ + shared_used_);
        shared_used_ = min(room, (shared_used_ + static_cast<unsigned>(count * sizeof(T)) + 15) / 16 * 16);
        return memory;
#else
        static_cast<void>(count);
        return nullptr;
#endif
    }

    DYNPAR_FUNCTION block_outcome outcome() const { return {own_, launched_}; }

    /// What launches and continuations change.
    struct launches_type {
        arena_index own;
        std::uint32_t launched;
        bool continued;
    };
    DYNPAR_FUNCTION launches_type launches() const { return {own_, launched_, continued_}; }
    DYNPAR_FUNCTION void set_launches(const launches_type& after) {
        own_ = after.own;
        launched_ = after.launched;
        continued_ = after.continued;
    }

private:
    friend class block_interface<lane_block>;
    friend class dynpar::detail::block_handover;
    friend class handle_maker;

    // Not for programs: see block_handover.
    lane_block(const lane_block&) = default;
    lane_block& operator=(const lane_block&) = default;

#if DYNPAR_ON_DEVICE
    /// The grid node that children count on, once it exists. Those that were launched before it are redirected to it
    /// later, all at once.
    __device__ arena_index ensure_own(std::uint32_t flags = 0) {
        if (own_ == 0) {
            own_ = is_of_small_grid() ? make_node_in_small_grid(grid_, descriptor_, depth() | flags)
                                      : make_node(grid_, depth() | flags);
            if (own_ != 0 && (launched_ & block_outcome::count_mask) != 0) launched_ |= block_outcome::late;
        }
        return own_;
    }
    /// In one call: what lives across it takes registers in every kernel.
    static __device__ __noinline__ arena_index make_node_in_small_grid(arena_index grid, arena_index descriptor,
                                                                       std::uint32_t depth_and_flags) {
        const arena_index parent = small_node(grid, small_grid(descriptor), depth_and_flags & info::depth_mask);
        return parent != 0 ? make_node(parent, depth_and_flags) : 0;
    }
    __device__ arena_index node_of_small_grid() const { return small_node(grid_, small_grid(descriptor_), depth()); }
    /// The grid node that holds the block's continuations and scratch memory.
    __device__ arena_index grid_of_its_own() {
        if (is_of_small_grid()) return node_of_small_grid();
        return is_owner() ? grid_ : ensure_own();
    }
    __device__ unsigned shared_bytes() const {
        return has_descriptor() ? at<grid_descriptor>(descriptor_)->shared_bytes : 0;
    }
    /// If `shared` had to take memory from the arena, it looks like any other.
    __device__ bool is_own_shared_memory(const void* place) const {
        const unsigned char* byte = static_cast<const unsigned char*>(place);
        return shared_memory_ != nullptr && byte >= shared_memory_ && byte < shared_memory_ + shared_used_;
    }

    /// A task for lanes.
    template <class Task>
    __device__ bool push_child(Task& task) {
        return push_and_count(task);
    }
    /// A task for a warp or a team. Of what a lane launches before it has a node, only tasks for lanes are redirected:
    /// they say which lane it was. So it has one now.
    __device__ bool push_warp_child(wide_task& task) {
        if (own_ == 0) return apply(push_first_wide_child(*this, task)) == status::success;
        task.grid = own_;
        wide_task* const place = reserve_where_there_is_room<wide_task>();
        between_accesses();
        if (place != nullptr) {
            copy_task(*place, task);
        } else if (!push_spilled(task)) {
            return false;
        }
        ++launched_;
        return true;
    }
    __device__ bool push_team_child(wide_task& task) { return push_warp_child(task); }
    static __device__ __noinline__ block_and_status<lane_block> push_first_wide_child(lane_block block,
                                                                                      wide_task task) {
        const bool pushed = block.ensure_own() != 0 && block.push_warp_child(task);
        return {block, pushed ? status::success : status::out_of_memory};
    }
    /// A child grid of several blocks.
    __device__ short_launch launch_grid(kernel_key key, const wide_arguments& arguments, std::uint32_t blocks,
                                        std::uint32_t threads, bool moldable, std::uint32_t shared_bytes) {
        const launches_and_result after = put_grid(*this, key, arguments, blocks, threads, moldable, shared_bytes);
        set_launches(after.launches);
        return after.result;
    }
    struct launches_and_result {
        launches_type launches;
        short_launch result;
    };
    static __device__ __noinline__ launches_and_result put_grid(lane_block block, kernel_key key,
                                                                wide_arguments arguments, std::uint32_t blocks,
                                                                std::uint32_t threads, bool moldable,
                                                                std::uint32_t shared_bytes) {
        short_launch result = short_launch::not_taken;
        if (block.ensure_own() != 0) {
            result = put_child_grid(key, arguments, blocks, choose_width(threads, moldable, engine().moldable_threads),
                                    shared_bytes, block.own_, block.depth() + 1,
                                    [&] { block.launched_ |= block_outcome::accounted; });
        }
        if (result == short_launch::is_to_be_counted) ++block.launched_;
        return {block.launches(), result};
    }
    template <class Task>
    __device__ bool push_and_count(Task& task) {
        task.grid = own_ != 0 ? own_ : grid_;
        if (__builtin_expect(!push(task), 0) && apply(push_child_spilled(*this, task)) != status::success) return false;
        ++launched_;
        return true;
    }
    /// A task among the spilled ones is not redirected, so the node is made now.
    template <class Task>
    static __device__ __noinline__ block_and_status<lane_block> push_child_spilled(lane_block block, Task task) {
        task.grid = block.ensure_own();
        const bool pushed = task.grid != 0 && push_spilled<Task>(task);
        return {block, pushed ? status::success : status::out_of_memory};
    }
    __device__ status launch_child(launch_request& request, const shape& s) {
        if (const status why = validate_launch(request, s); why != status::success) return why;
        const arena_index own = request.open_to_others ? counting_node() : ensure_own();
        const status result = launch_valid(request, s, own, nullptr);
        if (result == status::success && !request.open_to_others) ++launched_;
        return result;
    }
    /// Counts a child that others may run before this block returns. Returns the node; 0 if there is no memory.
    __device__ arena_index counting_node() {
        if (ensure_own() == 0) return 0;
        launched_ |= block_outcome::accounted;
        count_children(own_, 1);
        return own_;
    }
    /// The first continuation of a grid of one block, into its node: two stores, since no other thread adds any, and
    /// others that know the node read there of continuations when it is complete.
    __device__ bool continue_in_node(const inline_continuation& inlined) {
        if ((info_ & (info::one_of_several | info::traced)) != 0 || is_of_small_grid() || continued_) return false;
        const arena_index node = is_owner() ? grid_ : ensure_own();
        if (node == 0) return false;
        continued_ = true;
        put_continuation(at<grid_node>(node), inlined);
        return true;
    }
    /// Whether the next continuation may still be the node's first; what follows it goes to the list. Of a small grid
    /// the node itself says so.
    __device__ bool claim_room_in_node() {
        const bool is_free = !continued_ || is_of_small_grid();
        continued_ = true;
        return is_free;
    }
    __device__ unsigned& lock_of_block() const { return this_warp().lock; }
    __device__ void* take_scratch(unsigned long long bytes) {
        if (own_ == 0 && !is_owner() && !is_of_small_grid() && bytes <= sizeof(grid_node::scratch)) {
            return ensure_own(grid_node::scratch_taken) != 0 ? at<grid_node>(own_)->scratch : nullptr;
        }
        const arena_index node = grid_of_its_own();
        return node != 0 ? scratch_of(node, bytes) : nullptr;
    }
#endif

    arena_index own_ = 0;
    std::uint32_t launched_ = 0;  // and the flags of block_outcome
    bool continued_ = false;      // the block has asked for a continuation of its grid
    unsigned shared_used_ = 0;
    unsigned char* shared_memory_ = nullptr;
};

}  // namespace queue
}  // namespace detail
}  // namespace dynpar
