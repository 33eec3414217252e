// Tree searches as one writes them in plain CUDA: nothing of the queue engine is used here. Two ways:
//
//   levels: a cooperative grid that stays; all nodes of a level, then a barrier of the grid, then the next level. Nodes
//           lie in two arrays by turns.
//   stacks: a grid that stays, in which every warp has a stack of nodes in device memory, and warps without work steal
//           half of what another one has laid open.
//
// In both only nodes that have children are stored, and the 32 lanes of a warp share the children of up to 32 nodes, a
// child each: so lanes idle in a warp's last round only, however the children are spread over the nodes.
//
// What is searched is a `Search`, trivially copyable, which the kernels get by value:
//
//     struct node;                                        what is stored of a node that has children
//     unsigned children(const node&) const                how many
//     bool visit(const node& parent, unsigned index, node& child, tally&) const
//                                                         one child, whose work this is; true if it has children, and
//                                                         is then in `child`
//
// Also compiled for the simulated GPU (tests/simulated_gpu), where the results are compared with the CPU's.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include <dynpar/buffer.hpp>
#include <dynpar/cuda_error.hpp>
#include <dynpar/detail/cuda_memory.hpp>

#include "../cooperative_grid.cuh"

namespace by_hand {

using namespace cooperative;

/// What is counted. Every thread has its own, and adds it to the total at the end.
struct tally {
    unsigned long long nodes;
    unsigned long long found;   ///< solutions, for instance
    unsigned long long hashes;  ///< of what was found, their sum
    double sum;
};

inline constexpr unsigned warps_of_block = 8;
inline constexpr unsigned block_threads = warps_of_block * warp_size;

/// What the grid has in common, in device memory; all zero at the beginning but for the deadline and what is first.
struct control {
    tally total;
    unsigned nodes_of_level[3];  ///< levels: of this level, of the next one, and of the one after that
    unsigned stop_at_level[2];   ///< levels: whether time is up, by turns
    unsigned idle;               ///< stacks: warps that have no work
    unsigned stop;               ///< stacks: time is up, or memory
    unsigned out_of_time;
    unsigned out_of_memory;
    unsigned long long nanoseconds;  ///< to do it in
    barrier_state barrier;
};

namespace detail {

__device__ inline void add_to_total(control& c, tally mine) {
    for (int distance = 16; distance != 0; distance /= 2) {
        mine.nodes += __shfl_xor_sync(all_lanes, mine.nodes, distance);
        mine.found += __shfl_xor_sync(all_lanes, mine.found, distance);
        mine.hashes += __shfl_xor_sync(all_lanes, mine.hashes, distance);
        mine.sum += __shfl_xor_sync(all_lanes, mine.sum, distance);
    }
    if (threadIdx.x % warp_size != 0) return;
    atomicAdd(&c.total.nodes, mine.nodes);
    if (mine.found != 0) atomicAdd(&c.total.found, mine.found);
    if (mine.hashes != 0) atomicAdd(&c.total.hashes, mine.hashes);
    if (mine.sum != 0) atomicAdd(&c.total.sum, mine.sum);
}

/// Nodes are copied in words, so that a warp's accesses lie side by side.
template <class Node>
inline constexpr unsigned words_of = sizeof(Node) / sizeof(std::uint32_t);
template <class Node>
__device__ inline void copy_past_l1(Node* to, const Node* from, unsigned count, unsigned lane) {
    static_assert(std::is_trivially_copyable_v<Node> && sizeof(Node) % sizeof(std::uint32_t) == 0);
    const auto* source = reinterpret_cast<const std::uint32_t*>(from);
    auto* target = reinterpret_cast<std::uint32_t*>(to);
    for (unsigned i = lane; i < count * words_of<Node>; i += warp_size) target[i] = __ldcg(source + i);
}
template <class Node>
__device__ inline void copy_one_past_l1(Node* to, const Node* from) {
    const auto* source = reinterpret_cast<const std::uint32_t*>(from);
    auto* target = reinterpret_cast<std::uint32_t*>(to);
    for (unsigned i = 0; i < words_of<Node>; ++i) target[i] = __ldcg(source + i);
}
template <class Node>
__device__ inline void copy(Node* to, const Node* from, unsigned count, unsigned lane) {
    const auto* source = reinterpret_cast<const std::uint32_t*>(from);
    auto* target = reinterpret_cast<std::uint32_t*>(to);
    for (unsigned i = lane; i < count * words_of<Node>; i += warp_size) target[i] = source[i];
}

/// A warp's shared memory.
template <class Node>
struct warp_memory {
    Node parents[warp_size];
    unsigned ends[warp_size];  ///< children of this parent and of those before it
    Node found[2 * warp_size];
};

__device__ inline unsigned sum_up_to(unsigned value, unsigned lane) {
    for (unsigned distance = 1; distance < warp_size; distance *= 2) {
        const unsigned before = __shfl_sync(all_lanes, value, static_cast<int>((lane - distance) % warp_size));
        if (lane >= distance) value += before;
    }
    return value;
}

/// Visits all children of the warp's parents, of whose children there are so many, `ends` says whose. For each round of
/// 32 all lanes call `keep(has_children, child)`.
template <class Search, class Keep>
__device__ inline void visit_children(const Search& search, const warp_memory<typename Search::node>& memory,
                                      unsigned children, unsigned lane, tally& mine, Keep keep) {
    for (unsigned begin = 0; begin < children; begin += warp_size) {
        const unsigned at = begin + lane;
        typename Search::node child{};
        bool has_children = false;
        if (at < children) {
            unsigned parent = 0;  // so many end at or before this child
            for (unsigned step = warp_size / 2; step != 0; step /= 2)
                if (memory.ends[parent + step - 1] <= at) parent += step;
            const unsigned first = parent == 0 ? 0 : memory.ends[parent - 1];
            has_children = search.visit(memory.parents[parent], at - first, child, mine);
        }
        keep(has_children, child);
    }
}

}  // namespace detail

// ---- Levels

template <class Search>
__global__ void __launch_bounds__(block_threads)
    search_levels(Search search, typename Search::node* here, typename Search::node* next, unsigned capacity,
                  control* c) {
    using node = typename Search::node;
    const unsigned lane = threadIdx.x % warp_size;
    auto& memory = reinterpret_cast<detail::warp_memory<node>*>(dynamic_shared_memory())[threadIdx.x / warp_size];
    const unsigned warps = gridDim.x * warps_of_block;
    // Neighbouring warps on different multiprocessors, for levels that do not fill the grid.
    const unsigned warp = threadIdx.x / warp_size * gridDim.x + blockIdx.x;
    const bool is_first = blockIdx.x == 0 && threadIdx.x == 0;
    const unsigned long long begun = now();
    tally mine{};
    unsigned nodes = read(c->nodes_of_level[0]);
    for (unsigned level = 0; nodes != 0; ++level) {
        unsigned& nodes_next = c->nodes_of_level[(level + 1) % 3];
        unsigned held = 0;  // nodes in memory.found
        const auto write_out = [&](unsigned count) {
            unsigned begin = 0;
            if (lane == 0) begin = atomicAdd(&nodes_next, count);
            begin = __shfl_sync(all_lanes, begin, 0);
            if (begin + count <= capacity) {
                detail::copy(next + begin, memory.found, count, lane);
            } else if (lane == 0) {
                write(c->out_of_memory, 1u);
            }
            __syncwarp();
        };
        // A level that does not fill the grid is spread over it: then a warp takes fewer than 32 nodes at a time.
        const unsigned share = min(warp_size, (nodes + warps - 1) / warps);
        for (unsigned first = warp * share; first < nodes; first += warps * share) {
            const unsigned parents = min(share, nodes - first);
            detail::copy_past_l1(memory.parents, here + first, parents, lane);
            __syncwarp();
            const unsigned end = detail::sum_up_to(lane < parents ? search.children(memory.parents[lane]) : 0u, lane);
            memory.ends[lane] = end;
            const unsigned children = __shfl_sync(all_lanes, end, static_cast<int>(warp_size - 1));
            __syncwarp();
            detail::visit_children(search, memory, children, lane, mine, [&](bool has_children, const node& child) {
                const unsigned keepers = __ballot_sync(all_lanes, has_children);
                const unsigned before = static_cast<unsigned>(__popc(keepers & ((1u << lane) - 1)));
                if (has_children) memory.found[held + before] = child;
                held += static_cast<unsigned>(__popc(keepers));
                __syncwarp();
                if (held < warp_size) return;
                write_out(warp_size);
                held -= warp_size;
                if (lane < held) memory.found[lane] = memory.found[warp_size + lane];
                __syncwarp();
            });
            __syncwarp();
        }
        if (held != 0) write_out(held);
        if (is_first) {
            c->nodes_of_level[(level + 2) % 3] = 0;
            const bool is_over = now() - begun > c->nanoseconds;
            if (is_over) c->out_of_time = 1;
            write(c->stop_at_level[level % 2], is_over ? 1u : 0u);
        }
        grid_barrier(c->barrier);
        nodes = read(nodes_next);
        if (nodes > capacity || read(c->stop_at_level[level % 2]) != 0) break;
        node* const free = here;
        here = next;
        next = free;
    }
    detail::add_to_total(*c, mine);
}

// ---- Stacks

/// What of a warp's stack others may take: [bottom, split). Above it, up to a top that only the warp knows, it has the
/// rest to itself. Numbers go on; a node's place is its number modulo the stack's size.
struct alignas(8) open_part {
    unsigned bottom;  ///< is moved by thieves, who hold the lock
    unsigned split;   ///< is moved by the owner: up without the lock, down with it
};

template <class Search>
__global__ void __launch_bounds__(block_threads)
    search_stacks(Search search, typename Search::node* stacks, unsigned stack_size, open_part* parts, unsigned* locks,
                  control* c) {
    using node = typename Search::node;
    const unsigned lane = threadIdx.x % warp_size;
    auto& memory = reinterpret_cast<detail::warp_memory<node>*>(dynamic_shared_memory())[threadIdx.x / warp_size];
    const unsigned warps = gridDim.x * warps_of_block;
    const unsigned warp = threadIdx.x / warp_size * gridDim.x + blockIdx.x;
    const unsigned long long begun = now();
    const auto stack_of = [=](unsigned which) { return stacks + static_cast<std::size_t>(which) * stack_size; };
    node* const stack = stack_of(warp);
    open_part& part = parts[warp];
    const auto try_lock = [&](unsigned which) {
        const bool mine = atomicCAS(locks + which, 0u, 1u) == 0;
        __threadfence();
        return mine;
    };
    const auto unlock = [&](unsigned which) {
        __threadfence();
        atomicExch(locks + which, 0u);
    };

    tally mine{};
    unsigned split = 0;
    const unsigned first = read(c->nodes_of_level[0]);  // they lie in the stacks already, dealt out by turns
    unsigned top = first / warps + (warp < first % warps ? 1 : 0);
    unsigned drawn = warp * 2654435761u + 1;  // by xorshift, not 0
    unsigned rounds = 0;
    while (true) {
        if (top == split) {  // take back of what lies open
            unsigned taken = 0;
            if (lane == 0 && read(part.bottom) != split) {
                while (!try_lock(warp)) __nanosleep(50);
                taken = min(warp_size, split - read(part.bottom));
                write(part.split, split - taken);
                unlock(warp);
            }
            split -= __shfl_sync(all_lanes, taken, 0);
        }
        if (top == split) {  // steal
            if (lane == 0) atomicAdd(&c->idle, 1u);
            bool is_over = false;
            for (unsigned pause = 100; top == split; pause = min(1000u, pause * 2)) {
                unsigned says = 0;
                if (lane == 0) says = read(c->stop) != 0 || read(c->idle) == warps ? 1u : 0u;
                is_over = __shfl_sync(all_lanes, says, 0) != 0;
                if (is_over) break;
                drawn ^= drawn << 13;
                drawn ^= drawn >> 17;
                drawn ^= drawn << 5;
                const unsigned other = (drawn % warps + lane) % warps;
                const unsigned bottom = read(parts[other].bottom);
                const unsigned open = __ballot_sync(all_lanes, static_cast<int>(read(parts[other].split) - bottom) > 0);
                if (open != 0) {
                    const unsigned victim = __shfl_sync(all_lanes, other, __ffs(static_cast<int>(open)) - 1);
                    unsigned begin = 0;
                    unsigned count = 0;
                    unsigned locked = 0;
                    if (lane == 0) {
                        atomicSub(&c->idle, 1u);  // before it has anything: all are idle only if there is no work
                        locked = try_lock(victim) ? 1 : 0;
                        if (locked != 0) {
                            begin = read(parts[victim].bottom);
                            const unsigned left = read(parts[victim].split) - begin;
                            count = min(warp_size, (left + 1) / 2);
                        }
                    }
                    begin = __shfl_sync(all_lanes, begin, 0);
                    count = __shfl_sync(all_lanes, count, 0);
                    if (lane < count)
                        detail::copy_one_past_l1(stack + (top + lane) % stack_size,
                                                 stack_of(victim) + (begin + lane) % stack_size);
                    __syncwarp();
                    if (lane == 0) {
                        __threadfence();  // the copy before the victim may write there again
                        if (count != 0) write(parts[victim].bottom, begin + count);
                        if (locked != 0) unlock(victim);
                        if (count == 0) atomicAdd(&c->idle, 1u);
                    }
                    top += count;
                }
                if (top == split) __nanosleep(pause);
            }
            if (is_over) break;
        }

        // The uppermost nodes. While others have nothing to do, no more of them than make a round of the warp.
        const unsigned most = min(warp_size, top - split);
        if (lane < most) memory.parents[lane] = stack[(top - 1 - lane) % stack_size];
        unsigned end = detail::sum_up_to(lane < most ? search.children(memory.parents[lane]) : 0u, lane);
        unsigned idle = 0;
        unsigned stop = 0;
        unsigned bottom = 0;
        if (lane == 0) {
            idle = read(c->idle);
            stop = read(c->stop);
            bottom = read(part.bottom);
            if (++rounds % 16 == 0 && now() - begun > c->nanoseconds) {
                write(c->out_of_time, 1u);
                write(c->stop, 1u);
            }
        }
        idle = __shfl_sync(all_lanes, idle, 0);
        bottom = __shfl_sync(all_lanes, bottom, 0);
        if (__shfl_sync(all_lanes, stop, 0) != 0) break;
        unsigned parents = most;
        if (idle != 0) {
            const unsigned filled = __ballot_sync(all_lanes, lane < most && end < warp_size);
            parents = min(most, static_cast<unsigned>(__popc(filled)) + 1);
        }
        memory.ends[lane] = end;
        const unsigned children = __shfl_sync(all_lanes, end, static_cast<int>(parents - 1));
        __syncwarp();
        top -= parents;
        if (idle != 0 && bottom == split && top != split) {
            split += (top - split + 1) / 2;
            __threadfence();
            __syncwarp();
            if (lane == 0) write(part.split, split);
        }
        bool is_full = false;
        detail::visit_children(search, memory, children, lane, mine, [&](bool has_children, const node& child) {
            const unsigned keepers = __ballot_sync(all_lanes, has_children);
            const unsigned before = static_cast<unsigned>(__popc(keepers & ((1u << lane) - 1)));
            const unsigned count = static_cast<unsigned>(__popc(keepers));
            is_full = is_full || top + count - bottom > stack_size;
            if (is_full) return;
            if (has_children) stack[(top + before) % stack_size] = child;
            top += count;
        });
        __syncwarp();
        if (is_full) {
            if (lane == 0) {
                write(c->out_of_memory, 1u);
                write(c->stop, 1u);
            }
            break;
        }
    }
    detail::add_to_total(*c, mine);
}

// ---- The host

enum class way { levels, stacks };

/// A search, and its memory.
template <class Search>
class searcher {
public:
    using node = typename Search::node;
    static constexpr std::size_t shared_bytes = warps_of_block * sizeof(detail::warp_memory<node>);
    static constexpr unsigned stack_size = 8192;  // nodes of a warp; a power of two

    /// `most_nodes`: of a level.
    searcher(way w, unsigned blocks, unsigned most_nodes)
        : way_(w),
          blocks_(blocks),
          level_(w == way::levels ? most_nodes : stack_size),
          nodes_(space(), w == way::levels ? std::size_t{2} * most_nodes : warps() * stack_size),
          parts_(space(), w == way::levels ? 0 : warps()),
          locks_(space(), w == way::levels ? 0 : warps()),
          control_(space(), 1) {}

    /// Before each run. `first`: where the search begins, visited already.
    void prepare(const std::vector<node>& first, double seconds) {
        if (first.size() > (way_ == way::levels ? level_ : warps() * stack_size))
            throw std::length_error("a search by hand has no room for the nodes that it begins with");
        control c{};
        c.nodes_of_level[0] = static_cast<unsigned>(first.size());
        c.nanoseconds = static_cast<unsigned long long>(seconds * 1e9);
        control_.copy_from(&c);
        for (std::size_t i = 0; i < first.size(); ++i) {
            const std::size_t place = way_ == way::levels ? i : i % warps() * stack_size + i / warps();
            dynpar::check(cudaMemcpy(nodes_.data() + place, &first[i], sizeof(node), cudaMemcpyHostToDevice),
                          "preparing a search");
        }
        if (way_ == way::levels) return;
        dynpar::check(cudaMemset(parts_.data(), 0, parts_.size() * sizeof(open_part)), "preparing a search");
        dynpar::check(cudaMemset(locks_.data(), 0, locks_.size() * sizeof(unsigned)), "preparing a search");
    }
    void start(const Search& search, cudaStream_t stream) {
        if (way_ == way::levels) {
            launch_together(&search_levels<Search>, blocks_, block_threads, shared_bytes, stream, search, nodes_.data(),
                            nodes_.data() + level_, level_, control_.data());
        } else {
            launch_together(&search_stacks<Search>, blocks_, block_threads, shared_bytes, stream, search, nodes_.data(),
                            level_, parts_.data(), locks_.data(), control_.data());
        }
    }
    /// When the stream has come to the run's end.
    control result() const { return control_.value(); }

private:
    static const dynpar::memory_space& space() { return dynpar::detail::cuda_memory(); }
    std::size_t warps() const { return std::size_t{blocks_} * warps_of_block; }

    way way_;
    unsigned blocks_;
    unsigned level_;
    dynpar::buffer<node> nodes_;
    dynpar::buffer<open_part> parts_;
    dynpar::buffer<unsigned> locks_;
    dynpar::buffer<control> control_;
};

}  // namespace by_hand
