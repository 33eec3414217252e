// Queue engine: what a deque holds. A task is one block of a grid, or a range of its blocks, that has not begun. Types,
// and kernels with their arguments as bytes; no state.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "../../../dimensions.hpp"
#include "../../../platform.hpp"
#include "../../../shape.hpp"
#include "../tuning.cuh"

namespace dynpar {
namespace detail {
namespace queue {

inline constexpr unsigned warp_size = 32;

/// A place in the engine's arena, in units of 64 bytes; 0 means none. Grid nodes, and everything else in the arena, are
/// named by their place: 4 bytes instead of 8, and each byte of a task costs time.
using arena_index = std::uint32_t;

/// What a block leaves behind when it returns, in registers.
struct block_outcome {
    arena_index own;         // lanes: the grid node that its children count on, if not the task's own grid
    std::uint32_t launched;  // children that no counter contains yet, and the flags below

    static constexpr std::uint32_t accounted = 1u << 31;  // `own` counts this block and children before a wait()
    static constexpr std::uint32_t late = 1u << 30;       // redirect the children launched before `own` existed
    static constexpr std::uint32_t count_mask = late - 1;
};

/// The depth of a task's grid, and what must be known before the task begins, in one word.
namespace info {
inline constexpr std::uint32_t depth_mask = (1u << 24) - 1;  // no grid nests deeper than 2^24 - 1
inline constexpr unsigned launcher_shift = 24;               // lane tasks: the lane that launched it
inline constexpr std::uint32_t bare = 1u << 26;              // wide tasks: `descriptor` is an empty place in the trace
// Wide tasks: a small grid, 2 to 32 blocks of one thread, all in this task; it has no node. `descriptor` is a
// small_grid.
inline constexpr std::uint32_t small = 1u << 27;
inline constexpr std::uint32_t carried = 1u << 28;         // of lanes: the arguments are in memory of the task's own
inline constexpr std::uint32_t owner = 1u << 29;           // `grid` is this grid's own node, not an ancestor's
inline constexpr std::uint32_t one_of_several = 1u << 30;  // one of several blocks of its grid
inline constexpr unsigned width_shift = 24;                // wide tasks: what runs a block
inline constexpr std::uint32_t width_mask = 3u << width_shift;
inline constexpr std::uint32_t on_lane = 0u << width_shift;   // a lane
inline constexpr std::uint32_t on_warp = 1u << width_shift;   // a warp
inline constexpr std::uint32_t on_block = 2u << width_shift;  // all warps of a worker block
inline constexpr std::uint32_t traced = 1u << 31;             // of a traced run; one comparison tests it and the depth
}  // namespace info

/// Whether a task is of a traced run. With DYNPAR_NO_TRACE it is false at compile time, and the code for traced runs is
/// not compiled.
DYNPAR_FUNCTION constexpr bool is_traced(std::uint32_t task_info) {
    return DYNPAR_NO_TRACE == 0 && (task_info & info::traced) != 0;
}

/// Whether a block is the only one of its grid, and the grid has a node.
DYNPAR_FUNCTION constexpr bool is_sole_owner(std::uint32_t task_info) {
    return (task_info & (info::owner | info::one_of_several)) == info::owner;
}

/// Arguments that travel inside a task.
struct alignas(16) lane_arguments {
    std::uint32_t word[4];
};
struct alignas(16) wide_arguments {
    std::uint32_t word[8];
};

/// Of a small grid, instead of a descriptor: how many blocks it has, and, when they run, which lane runs the first.
struct small_grid {
    std::uint32_t bits;
    static constexpr std::uint32_t most_blocks = warp_size;
    static constexpr unsigned lane_shift = 8;

    DYNPAR_FUNCTION constexpr explicit small_grid(std::uint32_t all) : bits(all) {}
    DYNPAR_FUNCTION constexpr small_grid(std::uint32_t blocks, unsigned first_lane)
        : bits(blocks | first_lane << lane_shift) {}
    DYNPAR_FUNCTION constexpr std::uint32_t blocks() const { return bits & ((1u << lane_shift) - 1); }
    DYNPAR_FUNCTION constexpr unsigned first_lane() const { return bits >> lane_shift; }
};

struct wide_task;
/// Where a kernel is entered: of a lane task.
using lane_entry = block_outcome (*)(arena_index grid, std::uint32_t task_info, lane_arguments arguments);
/// The entry of a wide task that lanes run.
using wide_lane_entry = block_outcome (*)(wide_task task, std::uint32_t block_rank);
/// The entry of a wide task that a warp or a worker block runs. It finds the task in shared memory, see
/// warp_state::current. In local memory every thread would have a copy: 512 to 1,024 times 64 bytes, in the first-level
/// cache through which kernels stream their data. Returns block_outcome::launched.
using wide_entry = std::uint32_t (*)(std::uint32_t block_rank, bool on_warp);
struct kernel_entries {
    lane_entry lane;
    wide_lane_entry wide_lane;
    wide_entry wide;
};
/// What a task carries of its kernel: the address of a function that tells where the kernel is entered. The worker
/// block knows that already of most: find_entry().
using kernel_key = void (*)(kernel_entries* there);

/// One block of one thread with at most 16 bytes of arguments: by far the most frequent task where speed matters.
struct alignas(16) lane_task {
    kernel_key key;
    arena_index grid;  // the node that it counts on
    std::uint32_t info;
    lane_arguments arguments;
};
static_assert(sizeof(lane_task) == 32, "32 bytes: two 16-byte accesses a lane, coalesced over the warp");

/// The number of threads of a block and its bytes of shared memory. In one word, since every block that begins needs
/// both.
struct block_size {
    std::uint32_t bits;
    static constexpr unsigned threads_bits = 11;

    block_size() = default;
    DYNPAR_FUNCTION constexpr explicit block_size(std::uint32_t threads, std::uint32_t shared_bytes = 0)
        : bits(threads | shared_bytes << threads_bits) {}
    DYNPAR_FUNCTION constexpr std::uint32_t threads() const { return bits & ((1u << threads_bits) - 1); }
    DYNPAR_FUNCTION constexpr std::uint32_t shared_bytes() const { return bits >> threads_bits; }
};
static_assert(bounds::block_threads < 1u << block_size::threads_bits &&
              bounds::shared_bytes < 1u << (32 - block_size::threads_bits));

/// Where the arguments of a task are that carries them in a piece of the arena: in the place of arguments.
struct carried_arguments {
    arena_index place;
    std::uint32_t size_class;
};
/// A task for lanes carries arguments of so many bytes at most; it has room for `wide_arguments`.
inline constexpr unsigned most_carried_bytes = 256;

/// Any other task: blocks `first` to `last` - 1 of a grid.
struct alignas(16) wide_task {
    kernel_key key;
    arena_index grid;
    std::uint32_t info;
    block_size size;         // if a lane has launched it for lanes: that lane
    arena_index descriptor;  // what does not fit in here; 0: one block, one dimension, arguments that fit
    std::uint32_t first;
    std::uint32_t last;
    wide_arguments arguments;
};
static_assert(sizeof(wide_task) == 64);
/// The lane that launched a task; any number for a task that may not be redirected.
DYNPAR_FUNCTION inline unsigned launcher_of(const lane_task& task) {
    return task.info >> info::launcher_shift & (warp_size - 1);
}
DYNPAR_FUNCTION inline unsigned launcher_of(const wide_task& task) { return task.size.bits & (warp_size - 1); }
DYNPAR_FUNCTION inline bool is_for_lanes(const lane_task&) { return true; }
DYNPAR_FUNCTION inline bool is_for_lanes(const wide_task& task) {
    return (task.info & info::width_mask) == info::on_lane;
}
inline constexpr unsigned task_words = sizeof(wide_task) / sizeof(std::uint32_t);

/// The beginning of every piece of the arena that belongs to a grid: see grid_node::memory.
struct memory_link {
    arena_index next;
    std::uint32_t size_class;
};

/// What a task has no room for: a grid's shape, arguments that do not fit, and the task of all its blocks, for warps
/// that claim some of them. Also an entry in a grid's list of continuations, which is chained by `link`.
struct alignas(64) grid_descriptor {
    memory_link link;
    dimensions blocks;
    dimensions threads;
    std::uint32_t shared_bytes;
    std::uint32_t trace_id;  // of this grid
    wide_task task;          // of all its blocks

    DYNPAR_FUNCTION void* arguments() { return this + 1; }
};
static_assert(sizeof(grid_descriptor) == 128);

/// Fills in a descriptor, except for the link, the task and its arguments. `threads`: of a block.
DYNPAR_FUNCTION inline void put_descriptor(grid_descriptor& descriptor, const shape& s, std::uint32_t threads,
                                           std::uint32_t trace_id) {
    descriptor.blocks = s.blocks;
    descriptor.threads = s.moldable ? dimensions(threads) : s.threads;
    descriptor.shared_bytes = shared_bytes_of(s, threads);
    descriptor.trace_id = trace_id;
}

/// What runs a block of a grid, and with how many threads.
struct width_choice {
    std::uint32_t width;
    std::uint32_t threads;
};
DYNPAR_FUNCTION inline width_choice choose_width(std::uint32_t threads, bool moldable, unsigned moldable_threads) {
    if (moldable && threads > moldable_threads) threads = moldable_threads;
    return {threads == 1 ? info::on_lane : threads <= warp_size ? info::on_warp : info::on_block, threads};
}
DYNPAR_FUNCTION inline width_choice choose_width(const shape& s, unsigned moldable_threads) {
    return choose_width(static_cast<std::uint32_t>(s.threads.count()), s.moldable, moldable_threads);
}

/// Blocks that a warp runs at a time; on a worker block one.
DYNPAR_FUNCTION constexpr std::uint32_t grain_of(std::uint32_t width) { return width == info::on_lane ? warp_size : 1; }

/// The size of a guided chunk when so many blocks are left: some for each warp of a worker block, and fewer towards the
/// end, so that all worker blocks end at about the same time; but at least one for each of the worker block's idle
/// warps.
DYNPAR_FUNCTION constexpr std::uint32_t guided_chunk(std::uint32_t left, std::uint32_t width, unsigned idle_warps,
                                                     unsigned warps, unsigned worker_blocks) {
    const std::uint32_t grain = grain_of(width);
    // Of blocks for teams as many as there may be teams.
    const std::uint32_t workers = width == info::on_block ? idle_warps / 2 : idle_warps;
    const std::uint32_t idle = (workers == 0 ? 1 : workers) * grain;
    const std::uint32_t most = tuning::chunk_rounds * warps * grain;
    // One division: warps wait for it.
    const std::uint32_t for_each = left / worker_blocks;
    const std::uint32_t rounded_up = for_each + (left != for_each * worker_blocks ? 1 : 0);
    const std::uint32_t part = for_each / tuning::chunk_part;
    const std::uint32_t least = idle < rounded_up ? idle : rounded_up;
    const std::uint32_t fair = part > least ? part : least;
    const std::uint32_t size = fair < most ? fair : most;
    static_assert((warp_size & (warp_size - 1)) == 0, "a grain is a power of two");
    return ((size == 0 ? 1 : size) + grain - 1) & ~(grain - 1);
}

/// What a run must know of the kernel that it begins with: addresses in device memory, which device code alone can name
/// (`first_kernel_of`).
struct first_kernel {
    kernel_key key;
    text name;
};

/// The grid that a run begins with, as the host prepares it. What only device code knows is still missing: its place,
/// and its node.
struct first_grid {
    grid_descriptor descriptor;
    text kernel;  // its name, in device memory
    dynpar::shape shape;
    std::uint32_t payload_size;
    // Every worker block begins with a chunk of it. Computed by the host: divisions take long when nothing else runs.
    std::uint32_t chunk_blocks;
    std::uint32_t chunks;  // for which there are worker blocks
};

/// Divides the first grid into chunks for so many worker blocks of so many warps.
DYNPAR_FUNCTION inline void divide(first_grid& first, unsigned worker_blocks, unsigned warps) {
    const wide_task& task = first.descriptor.task;
    first.chunk_blocks = guided_chunk(task.last, task.info & info::width_mask, warps, warps, worker_blocks);
    const std::uint32_t chunks = (task.last - 1) / first.chunk_blocks + 1;
    first.chunks = chunks < worker_blocks ? chunks : worker_blocks;
}

// ---- A kernel and its arguments, as bytes

/// The arguments one after another, each aligned as its type requires; std::tuple is not trivially copyable.
template <class... T>
struct argument_pack {};
template <class Last>
struct argument_pack<Last> {
    Last first;
};
template <class First, class... Rest>
struct argument_pack<First, Rest...> {
    First first;
    argument_pack<Rest...> rest;
};

/// A kernel object without members is left out.
template <class Kernel, bool HasMembers, class... Args>
struct launch_payload {
    argument_pack<Args...> arguments;
    DYNPAR_FUNCTION Kernel kernel() const { return Kernel{}; }
};
template <class Kernel, class... Args>
struct launch_payload<Kernel, true, Args...> {
    Kernel kernel_object;
    argument_pack<Args...> arguments;
    DYNPAR_FUNCTION const Kernel& kernel() const { return kernel_object; }
};

template <class Kernel>
inline constexpr bool is_sent = !(std::is_empty_v<Kernel> && std::is_default_constructible_v<Kernel>);
template <class Kernel, class... Args>
using payload_of = launch_payload<Kernel, is_sent<Kernel>, Args...>;

template <class First, class... Rest>
DYNPAR_FUNCTION argument_pack<First, Rest...> pack_arguments(const First& first, const Rest&... rest) {
    if constexpr (sizeof...(Rest) == 0) {
        return {first};
    } else {
        return {first, pack_arguments(rest...)};
    }
}

template <class Kernel, class... Args>
DYNPAR_FUNCTION payload_of<Kernel, Args...> make_payload(const Kernel& kernel, const Args&... args) {
    if constexpr (is_sent<Kernel> && sizeof...(Args) != 0) {
        return {kernel, pack_arguments(args...)};
    } else if constexpr (is_sent<Kernel>) {
        return {kernel, {}};
    } else if constexpr (sizeof...(Args) != 0) {
        return {pack_arguments(args...)};
    } else {
        return {};
    }
}

/// Bytes of a payload that matter: an empty payload still has a size of 1.
template <class Kernel, class... Args>
inline constexpr unsigned payload_bytes = is_sent<Kernel> || sizeof...(Args) != 0
                                              ? static_cast<unsigned>(sizeof(payload_of<Kernel, Args...>))
                                              : 0u;

/// The first grid's payload as a parameter of the persistent grid, which is compiled for each of its sizes: so there
/// are few.
template <unsigned Bytes>
struct alignas(16) payload_room {
    unsigned char bytes[Bytes];
};
/// The room for a payload of so many bytes: if there are many, no more than it needs, since parameters are bounded.
constexpr unsigned payload_room_for(unsigned bytes) {
    return bytes <= 256 ? 256 : bytes <= 1024 ? 1024 : (bytes + 15) / 16 * 16;
}
template <class Kernel, class... Args>
using first_payload = payload_room<payload_room_for(payload_bytes<Kernel, Args...>)>;

template <class Kernel, class... Args>
first_payload<Kernel, Args...> make_first_payload(const Kernel& kernel, const Args&... args) {
    const auto packed = make_payload(kernel, args...);
    first_payload<Kernel, Args...> payload{};
    std::memcpy(&payload, &packed, payload_bytes<Kernel, Args...>);
    return payload;
}

/// Puts the kernel into a first grid whose width is known, and what its task has room for of the payload.
inline void put_kernel(first_grid& first, const first_kernel& kernel, const void* payload, unsigned payload_size) {
    wide_task& task = first.descriptor.task;
    task.key = kernel.key;
    if (payload_size <= sizeof(wide_arguments)) std::memcpy(&task.arguments, payload, payload_size);
    first.kernel = kernel.name;
    first.payload_size = payload_size;
}

#if defined(__CUDACC__)

template <class Kernel, class Block, class... Unpacked>
__device__ void call(const Kernel& kernel, Block& block, const argument_pack<>&, const Unpacked&... unpacked) {
    mark_the_kernel_and_all_that_it_calls_with_DYNPAR_FUNCTION(kernel, block, unpacked...);
}
template <class Kernel, class Block, class Last, class... Unpacked>
__device__ void call(const Kernel& kernel, Block& block, const argument_pack<Last>& pack, const Unpacked&... unpacked) {
    mark_the_kernel_and_all_that_it_calls_with_DYNPAR_FUNCTION(kernel, block, unpacked..., pack.first);
}
template <class Kernel, class Block, class First, class Second, class... Rest, class... Unpacked>
__device__ void call(const Kernel& kernel, Block& block, const argument_pack<First, Second, Rest...>& pack,
                     const Unpacked&... unpacked) {
    call(kernel, block, pack.rest, unpacked..., pack.first);
}

#endif

}  // namespace queue
}  // namespace detail
}  // namespace dynpar
