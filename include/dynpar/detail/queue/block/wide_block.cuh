// Queue engine: the block of several threads, which a kernel gets on a warp or on a team.
//
// The threads of the block share its state: own, own_counts and refused_shared, in warp_state for a block on a warp and
// in team_state for one on a team; frame.cuh and run_team.cuh save and restore them.
// Each thread owns its copy of the object, with its count of children.
#pragma once

#include "block_interface.cuh"
#include "../execute/rendezvous.cuh"
#include "../execute/wait.cuh"
#include "../queues/staged_blocks.cuh"

namespace dynpar {
namespace detail {
namespace queue {

/// A thread's view of a block of several threads, on a warp or on a team.
class wide_block : public block_interface<wide_block> {
public:
    DYNPAR_FUNCTION wide_block(const wide_task& task, std::uint32_t rank, unsigned thread_rank, text kernel)
        : block_interface(task.grid, task.info, task.descriptor, rank, kernel),
          size_(task.size),
          thread_rank_(thread_rank) {}

    struct is_handed_over_by_value {};
    static constexpr bool is_wide = true;

    DYNPAR_FUNCTION unsigned thread_rank() const { return thread_rank_; }
    DYNPAR_FUNCTION unsigned num_threads() const { return size_.threads(); }
    DYNPAR_FUNCTION dimensions thread_index() const {
        return has_descriptor() ? dim_threads().index_of(thread_rank_) : dimensions(thread_rank_, 0, 0);
    }
    DYNPAR_FUNCTION dimensions dim_threads() const {
#if DYNPAR_ON_DEVICE
        if (has_descriptor()) return at<grid_descriptor>(descriptor_)->threads;
#endif
        return dimensions(num_threads());
    }

    DYNPAR_FUNCTION void sync() {
#if DYNPAR_ON_DEVICE
        if (is_on_warp()) {
            rendezvous(at_barrier);
        } else {
            team_rendezvous(at_barrier);
        }
#endif
    }

    DYNPAR_FUNCTION status wait() {
#if DYNPAR_ON_DEVICE
        wait_outcome outcome;
        if (is_on_warp()) {
            leave_way_to_wait(detail::queue::on_warp, &wait_on_warp);
            rendezvous(waiting);
            outcome = wait_on_warp(grid_, depth(), launched_, true);
        } else {
            leave_way_to_wait(detail::queue::on_team, &wait_on_team);
            team_rendezvous(waiting);
            outcome = wait_on_team(grid_, depth(), launched_, true);
        }
        if (outcome == wait_outcome::refused_and_first) return fail(operation::wait, status::sync_depth_exceeded);
        if (outcome == wait_outcome::refused) return status::sync_depth_exceeded;
        if (outcome == wait_outcome::no_memory_and_first) return fail(operation::wait, status::out_of_memory);
        if (outcome == wait_outcome::no_memory) return status::out_of_memory;
        note_wait(depth());
        return outcome == wait_outcome::stopped ? status::launch_failed : status::success;
#else
        return status::not_supported;
#endif
    }

    template <class T>
    DYNPAR_FUNCTION T* shared(std::size_t count) {
        dynpar::detail::check_block_memory<T>();
#if DYNPAR_ON_DEVICE
        const unsigned room = size_.shared_bytes();
        const unsigned begin = shared_used();
        if (count > (room - begin) / sizeof(T)) {
            if (is_first_refused()) fail(operation::shared, status::shared_memory_exceeded);
            return nullptr;
        }
        unsigned char* const memory = is_on_warp() ? this_warp().shared_memory : this_team().shared_memory;
        if (memory == nullptr) {
            if (is_first_refused()) fail(operation::shared, status::out_of_memory);
            return nullptr;
        }
        shared_calls_ += (static_cast<unsigned>(count * sizeof(T)) + 15) / 16;
        return reinterpret_cast<T*>(memory + begin);
#else
        static_cast<void>(count);
        return nullptr;
#endif
    }

    DYNPAR_FUNCTION block_outcome outcome() const { return {0, launched_}; }

    /// What launches change.
    using launches_type = std::uint32_t;
    DYNPAR_FUNCTION launches_type launches() const { return launched_; }
    DYNPAR_FUNCTION void set_launches(launches_type after) { launched_ = after; }

private:
    friend class block_interface<wide_block>;
    friend class dynpar::detail::block_handover;
    friend class handle_maker;

    // Not for programs: see block_handover.
    wide_block(const wide_block&) = default;
    wide_block& operator=(const wide_block&) = default;

#if DYNPAR_ON_DEVICE
    /// In bytes: what the calls of shared() have used up.
    __device__ unsigned shared_bytes() const { return size_.shared_bytes(); }
    __device__ unsigned shared_used() const { return min(size_.shared_bytes(), shared_calls_ % refused_call * 16); }
    __device__ bool is_on_warp() const { return (info_ & info::width_mask) == info::on_warp; }
    __device__ arena_index& own() const { return is_on_warp() ? this_warp().own : this_team().own; }
    __device__ unsigned& own_counts() const { return is_on_warp() ? this_warp().own_counts : this_team().own_counts; }
    /// The grid node that children count on. If the block is the only one of a grid with a node, that node will do,
    /// unless a wait() has made another.
    __device__ arena_index ensure_own() const {
        if (!is_sole_owner(info_)) return ensure_shared_node(own(), grid_, depth());
        return use_own_grid(own(), grid_);
    }
    __device__ arena_index grid_of_its_own() const { return is_owner() ? grid_ : ensure_own(); }
    __device__ bool is_own_shared_memory(const void* place) const {
        const unsigned used = shared_used();
        if (used == 0) return false;
        const unsigned char* memory = is_on_warp() ? this_warp().shared_memory : this_team().shared_memory;
        const unsigned char* byte = static_cast<const unsigned char*>(place);
        return byte >= memory && byte < memory + used;
    }

    /// A refused call of shared() is reported once, by the first of the block's threads to get there, no matter which
    /// have returned: all that make the call count it with the same number.
    __device__ bool is_first_refused() {
        if (shared_calls_ >= 0xffffu * refused_call)
            return true;  // from here on once for each thread: rather too often than never
        shared_calls_ += refused_call;
        const unsigned mine = shared_calls_ / refused_call;
        return fetch_max_relaxed(is_on_warp() ? this_warp().refused_shared : this_team().refused_shared, mine) < mine;
    }

    template <class Task>
    __device__ bool push_child(Task& task) {
        const arena_index mine = load_relaxed(own());
        task.grid = mine != 0 ? mine : grid_;
        if (__builtin_expect(!push(task), 0) && !push_child_spilled(own(), grid_, depth(), task)) return false;
        ++launched_;
        return true;
    }
    __device__ bool push_warp_child(wide_task& task) { return push_child(task); }
    /// A grid of one block for a team: to the team that runs this block, if there is room.
    __device__ bool push_team_child(const wide_task& task) {
        if (!push_for_team(task, grid_, info_)) return false;
        ++launched_;
        return true;
    }
    static __device__ __noinline__ bool push_for_team(wide_task task, arena_index grid, std::uint32_t task_info) {
        const bool on_team = (task_info & info::width_mask) == info::on_block;
        arena_index& own = on_team ? this_team().own : this_warp().own;
        const arena_index mine = load_relaxed(own);
        task.grid = mine != 0 ? mine : grid;
        wide_task* place = on_team ? reserve_staged(this_team()) : nullptr;
        if (place == nullptr) place = reserve<wide_task>();
        if (place != nullptr) {
            copy_task(*place, task);
            return true;
        }
        return push_child_spilled(own, grid, task_info & info::depth_mask, task);
    }
    /// A grid of one block of at most a warp that its task describes completely, for cases that the kernels' own route
    /// excludes: a traced run. False if it is not, or if anything is unusual. Makes no call on its common path: what is
    /// live across a call is written to the stack of a single thread, where 4 bytes take a line of the first-level
    /// cache.
    template <class Kernel, class... Args>
    static __device__ __noinline__ bool push_single_block(wide_arguments arguments, std::uint32_t threads,
                                                          bool moldable, arena_index grid, std::uint32_t task_info) {
        warp_state& warp = this_warp();
        const std::uint32_t size = moldable ? min(threads, engine().moldable_threads) : threads;
        const bool on_team = (task_info & info::width_mask) == info::on_block;
        if ((task_info & info::depth_mask) >= engine().nesting_depth || size > warp_size) return false;
        wide_task task{};
        task.info = ((task_info & (info::depth_mask | info::traced)) + 1) | (size == 1 ? info::on_lane : info::on_warp);
#if !DYNPAR_NO_TRACE
        traced_child* noted = nullptr;
        if (is_traced(task_info)) {
            task.info |= info::bare;
            // Not an argument: kernels that are not traced would have to pass it as well.
            const arena_index descriptor = on_team ? this_team().current.descriptor : warp.current.descriptor;
            const std::uint32_t child_depth = (task_info & info::depth_mask) + 1;
            noted = note_child(warp.traced.count, warp.traced.children, warp.traced.capacity, kernel_name<Kernel>(),
                               descriptor, child_depth, threads, moldable, task.descriptor);
            if (noted == nullptr) return false;
        }
#endif
        // No other thread looks at the place before the block returns or waits.
        wide_task* const place = reserve<wide_task>();
        if (place == nullptr) {
#if !DYNPAR_NO_TRACE
            if (noted != nullptr) forget_child(*noted);
#endif
            return false;
        }
        const arena_index own = load_relaxed(on_team ? this_team().own : warp.own);
        task.key = &tell_entries<Kernel, Args...>;
        task.grid = own != 0 ? own : grid;
        task.size = block_size(size);
        task.last = 1;
        task.arguments = arguments;
        copy_task(*place, task);
        return true;
    }
    __device__ void count_launch() { ++launched_; }
    /// A child grid of several blocks.
    __device__ short_launch launch_grid(kernel_key key, const wide_arguments& arguments, std::uint32_t blocks,
                                        std::uint32_t threads, bool moldable, std::uint32_t shared_bytes) {
        const short_launch result = put_grid(key, arguments, blocks, threads, moldable, shared_bytes, grid_, info_);
        if (result == short_launch::is_to_be_counted) ++launched_;
        return result;
    }
    static __device__ __noinline__ short_launch put_grid(kernel_key key, wide_arguments arguments, std::uint32_t blocks,
                                                         std::uint32_t threads, bool moldable,
                                                         std::uint32_t shared_bytes, arena_index grid,
                                                         std::uint32_t task_info) {
        const bool on_team = (task_info & info::width_mask) == info::on_block;
        arena_index& own = on_team ? this_team().own : this_warp().own;
        const std::uint32_t depth = task_info & info::depth_mask;
        // If a grid's only block has a node of its own, a wait() has made it, or a thread whose task spilled.
        const arena_index parent =
            is_sole_owner(task_info) ? use_own_grid(own, grid) : ensure_shared_node(own, grid, depth);
        if (parent == 0) return short_launch::not_taken;
        return put_child_grid(key, arguments, blocks, choose_width(threads, moldable, engine().moldable_threads),
                              shared_bytes, parent, depth + 1, [&] {
                                  fetch_or_relaxed(on_team ? this_team().own_counts : this_warp().own_counts,
                                                   counted::block_and_visible_children);
                              });
    }
    __device__ status launch_child(launch_request& request, const shape& s) {
        if (const status why = validate_launch(request, s); why != status::success) return why;
        const arena_index mine = request.open_to_others ? counting_node() : request.needs_node ? ensure_own() : grid_;
        const status result = launch_valid(request, s, mine, &own());
        if (result == status::success && !request.open_to_others) ++launched_;
        return result;
    }
    /// Counts a child at once that others may run before this block returns. Returns the node; 0 if there is no memory.
    __device__ arena_index counting_node() {
        const arena_index mine = ensure_own();
        if (mine == 0) return 0;
        fetch_or_relaxed(own_counts(), counted::block_and_visible_children);
        count_children(mine, 1);
        return mine;
    }
    /// A continuation of a grid of one block into its node, for the first of the block's threads that asks: no thread
    /// of another block adds any. Whether other threads know the node does not matter: they read there of continuations
    /// when it is complete.
    __device__ bool continue_in_node(const inline_continuation& inlined) {
        if ((info_ & (info::one_of_several | info::traced)) != 0) return false;
        const arena_index node = grid_of_its_own();
        if (node == 0 || !claim_room_in_node()) return false;
        put_continuation(at<grid_node>(node), inlined);
        return true;
    }
    /// Whether no thread of the block has asked for a continuation before.
    __device__ bool claim_room_in_node() const {
        return (fetch_or_relaxed(own_counts(), counted::continues) & counted::continues) == 0;
    }
    __device__ unsigned& lock_of_block() const { return is_on_warp() ? this_warp().lock : this_block().gang.lock; }
    __device__ void* take_scratch(unsigned long long bytes) {
        const arena_index node = grid_of_its_own();
        return node != 0 ? scratch_of(node, bytes) : nullptr;
    }
#endif

    block_size size_;
    unsigned thread_rank_;
    std::uint32_t launched_ = 0;
    // Of shared(): memory used by calls, in pieces of 16 bytes, and above that the number of calls that got none. One
    // word, since every return of a kernel restores the registers that a block takes.
    static constexpr unsigned refused_call = 1u << 16;
    unsigned shared_calls_ = 0;
};

}  // namespace queue
}  // namespace detail
}  // namespace dynpar
