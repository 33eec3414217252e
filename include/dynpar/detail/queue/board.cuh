// Queue engine: the board. Gifts of half of what there is reach the workers one after another; of a grid of many blocks that is on
// the board all idle workers take some at once.
#pragma once

#include "stack.cuh"

#if defined(__CUDACC__)

namespace dynpar {
namespace detail {
namespace queue {

/// A grid on the board. Upper half: where its task is, in a piece of memory that lives as long as any of its blocks; so who has taken
/// some of them may read it at leisure. Lower half: who runs it, and how many blocks nobody has taken yet.
struct board_word {
    unsigned long long bits;

    static constexpr std::uint32_t nothing_left = 1u << 29;  // takers may subtract from what is no longer there
    static constexpr std::uint32_t most_blocks = 1u << 28;
    static constexpr unsigned width_shift = 30;

    board_word() = default;
    __device__ explicit board_word(unsigned long long all) : bits(all) {}
    __device__ board_word(arena_index details, std::uint32_t width, std::uint32_t blocks)
        : bits(static_cast<unsigned long long>(details) << 32 | (width >> info::width_shift << width_shift | (nothing_left + blocks))) {}

    __device__ arena_index details() const { return static_cast<arena_index>(bits >> 32); }
    __device__ std::uint32_t width() const { return static_cast<std::uint32_t>(bits) >> width_shift << info::width_shift; }
    __device__ int left() const {
        return static_cast<int>(static_cast<std::uint32_t>(bits) & ((1u << width_shift) - 1)) - static_cast<int>(nothing_left);
    }
};

__device__ inline unsigned workers_of(std::uint32_t width) {
    return gridDim.x * (width == info::on_block ? 1 : width == info::on_warp ? blockDim.x / warp_size : blockDim.x);
}

/// Whether a grid is large enough for the board: all idle workers go for it at once, and most of them in vain if it is not.
__device__ inline bool is_for_board(std::uint32_t width, unsigned long long blocks) {
    return blocks >= max(2u, workers_of(width) / 32) && blocks <= board_word::most_blocks;
}
/// Whether others may run blocks of a grid before the block that launches it has returned: then it must be counted at once.
__device__ inline bool is_open_to_others(std::uint32_t width, unsigned long long blocks) {
    return width == info::on_block || is_for_board(width, blocks);
}

/// All blocks of a grid but the first, which stays here. False if the board is full, or the grid too small.
__device__ __noinline__ inline bool post(const wide_task& task) {
    const std::uint32_t blocks = task.last - task.first;
    if (task.details == 0 || !is_for_board(task.info & info::width_mask, blocks)) return false;
    copy_task(at<launch_details>(task.details)->task, task);
    run_control& control = *engine().control;
    const board_word fresh(task.details, task.info & info::width_mask, blocks - 1);
    __threadfence();
    for (unsigned place = 0; place < board_places; ++place) {
        board_word seen{look(control.board[place])};
        while (seen.left() <= 0) {
            const board_word found{atomicCAS(&control.board[place], seen.bits, fresh.bits)};
            if (found.bits == seen.bits) return true;
            seen = found;
        }
    }
    return false;
}

/// One lane: takes blocks of a posted grid; `seen` is what it has seen of it, upper half or not. False if there are none left.
__device__ __noinline__ inline bool take_posted(unsigned place, board_word seen) {
    // Fewer and fewer, so that all end at about the same time.
    unsigned grain = max(1u, static_cast<unsigned>(seen.left()) / (4 * workers_of(seen.width())));
    if (seen.width() == info::on_lane) grain *= warp_size;
    board_word found;
    asm volatile("atom.acquire.gpu.global.add.u64 %0, [%1], %2;"
                 : "=l"(found.bits)
                 : "l"(&engine().control->board[place]), "l"(0ull - grain)
                 : "memory");
    if (found.left() <= 0) return false;
    wide_task task;
    copy_fresh_task(task, at<launch_details>(found.details())->task);
    task.first = task.last - static_cast<std::uint32_t>(found.left());
    task.last = task.first + min(grain, static_cast<std::uint32_t>(found.left()));
    if (!push_here(task)) stop_run(no_memory);
    return true;
}

/// Puts a task where its workers find it. False if there is no memory.
__device__ __noinline__ inline bool push_wide(wide_task task) {
    if (post(task)) task.last = task.first + 1;
    return push_here(task);
}

}  // namespace queue
}  // namespace detail
}  // namespace dynpar

#endif
