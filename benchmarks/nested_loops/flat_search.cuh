// Searches of a graph as one writes them in plain CUDA, breadth first and for shortest ways: one cooperative grid that
// stays, a barrier of the grid after each level. The list of what is next holds pieces of neighbours and not vertices,
// so that no warp gets more than `piece` of them at a time; warps take pieces 32 at a time, and share what the pieces
// have.
//
// Also compiled for the simulated GPU (tests/simulated_gpu), where the result is compared with the CPU's.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <vector>

#include <dynpar/buffer.hpp>
#include <dynpar/cuda_error.hpp>
#include <dynpar/detail/cuda_memory.hpp>

#include "../../samples/graph/kernels.hpp"
#include "flat_grid.cuh"

namespace flat {

using graphs::unseen;
inline constexpr unsigned piece = 512;

/// What is looked for.
enum class goal { fewest_steps, shortest_ways };

/// Some neighbours of a vertex.
struct part {
    unsigned first, count;
};

/// In device memory; all zero at the beginning but for what is said.
struct control {
    unsigned parts[3];    ///< of this level, of the next one and of the one after that; in parts[0] those of the start
    unsigned taken[3];    ///< of these, by warps
    unsigned is_late[2];  ///< whether time is up, by turns
    unsigned out_of_time;
    barrier_state barrier;
    unsigned long long nanoseconds;  ///< to do it in; given
};

struct search {
    graphs::graph_view g;
    unsigned* distance;
    unsigned* queued_for_ways;  ///< the level for which each vertex was put into the list last
    part* here;                 ///< room for as many parts as there can be: vertices, and edges / piece
    part* next;
    unsigned* owner_here_for_ways;  ///< of each part
    unsigned* owner_next_for_ways;
    control* c;
};

namespace detail {

__device__ inline unsigned sum_up_to(unsigned value, unsigned lane) {
    for (unsigned distance = 1; distance < warp_size; distance *= 2) {
        const unsigned before = __shfl_sync(all_lanes, value, static_cast<int>((lane - distance) % warp_size));
        if (lane >= distance) value += before;
    }
    return value;
}

/// The list of the next level.
struct next_list {
    part* parts;
    unsigned* owner;
    unsigned* count;
    unsigned level;
};

/// All lanes of the warp, each with a vertex or without: those that were not seen before, or not by so short a way, are
/// next. `way`: how far the vertex is on this way. `seen`: how far it was before.
template <goal Goal>
__device__ inline void claim(const search& s, const next_list& next, bool has_vertex, unsigned vertex, unsigned way,
                             unsigned seen, unsigned lane) {
    bool is_new = has_vertex && seen > way;
    if (Goal == goal::fewest_steps) {
        is_new = is_new && atomicCAS(s.distance + vertex, unseen, way) == unseen;
    } else {
        is_new = is_new && atomicMin(s.distance + vertex, way) > way &&
                 atomicExch(s.queued_for_ways + vertex, next.level) != next.level;
    }
    unsigned first = 0, edges = 0;
    if (is_new) {
        first = s.g.begin[vertex];
        edges = s.g.begin[vertex + 1] - first;
    }
    if (!__any_sync(all_lanes, is_new)) return;
    const unsigned parts = (edges + piece - 1) / piece;
    const unsigned end = sum_up_to(parts, lane);
    unsigned place = 0;
    if (lane == warp_size - 1 && end != 0) place = atomicAdd(next.count, end);
    place = __shfl_sync(all_lanes, place, warp_size - 1) + end - parts;
    for (unsigned i = 0; i < parts; ++i) {
        next.parts[place + i] = {first + i * piece, i + 1 == parts ? edges - i * piece : piece};
        if (Goal == goal::shortest_ways) next.owner[place + i] = vertex;
    }
}

}  // namespace detail

template <goal Goal>
__global__ void __launch_bounds__(block_threads) search_by_levels(search s) {
    const unsigned lane = threadIdx.x % warp_size;
    control& c = *s.c;
    const bool is_first = blockIdx.x == 0 && threadIdx.x == 0;
    const unsigned warps = gridDim.x * (block_threads / warp_size);
    const unsigned long long begun = now();
    part* here = s.here;
    unsigned* owner_here = s.owner_here_for_ways;
    detail::next_list next{s.next, s.owner_next_for_ways, nullptr, 0};
    unsigned parts = read(c.parts[0]);
    for (unsigned level = 0; parts != 0; ++level) {
        next.level = level + 1;
        next.count = &c.parts[next.level % 3];
        // A level that does not fill the grid is spread over it.
        const unsigned share = min(warp_size, (parts + warps - 1) / warps);
        for (;;) {
            unsigned first = 0;
            if (lane == 0) first = atomicAdd(&c.taken[level % 3], share);
            first = __shfl_sync(all_lanes, first, 0);
            if (first >= parts) break;
            part mine{0, 0};
            unsigned distance = level;  // of the vertex whose neighbours these are
            if (lane < share && first + lane < parts) {
                const uint2 words = __ldcg(reinterpret_cast<const uint2*>(here + first + lane));
                mine = {words.x, words.y};
                if (Goal == goal::shortest_ways) distance = read(s.distance[read(owner_here[first + lane])]);
            }
            // Parts with enough for all lanes, one after another, four neighbours of each lane at a time.
            const bool is_large = mine.count >= warp_size;
            for (unsigned bits = __ballot_sync(all_lanes, is_large); bits != 0; bits &= bits - 1) {
                const int owner = __ffs(static_cast<int>(bits)) - 1;
                const unsigned begin = __shfl_sync(all_lanes, mine.first, owner);
                const unsigned end = begin + __shfl_sync(all_lanes, mine.count, owner);
                const unsigned so_far = __shfl_sync(all_lanes, distance, owner);
                constexpr unsigned together = 4;
                for (unsigned at = begin + lane; at - lane < end; at += together * warp_size) {
                    unsigned vertices[together] = {}, seen[together] = {}, step[together] = {1, 1, 1, 1};
#pragma unroll
                    for (unsigned k = 0; k < together; ++k) {
                        if (at + k * warp_size >= end) continue;
                        vertices[k] = s.g.neighbours[at + k * warp_size];
                        if (Goal == goal::shortest_ways) step[k] = s.g.weights[at + k * warp_size];
                    }
#pragma unroll
                    for (unsigned k = 0; k < together; ++k)
                        if (at + k * warp_size < end) seen[k] = s.distance[vertices[k]];
#pragma unroll
                    for (unsigned k = 0; k < together; ++k)
                        if (at - lane + k * warp_size < end)
                            detail::claim<Goal>(s, next, at + k * warp_size < end, vertices[k], so_far + step[k],
                                                seen[k], lane);
                }
            }
            const unsigned few = is_large ? 0 : mine.count;
            const unsigned end = detail::sum_up_to(few, lane);
            const unsigned all = __shfl_sync(all_lanes, end, warp_size - 1);
            const unsigned begin = mine.first - (end - few);
            for (unsigned place = lane; place - lane < all; place += warp_size) {
                unsigned owner = 0;  // so many end at or before this place
                for (unsigned step = warp_size / 2; step != 0; step /= 2)
                    if (__shfl_sync(all_lanes, end, static_cast<int>(owner + step - 1)) <= place) owner += step;
                const unsigned at = __shfl_sync(all_lanes, begin, static_cast<int>(owner)) + place;
                const unsigned so_far = __shfl_sync(all_lanes, distance, static_cast<int>(owner));
                const bool has_vertex = place < all;
                const unsigned vertex = has_vertex ? s.g.neighbours[at] : 0;
                const unsigned step = has_vertex && Goal == goal::shortest_ways ? s.g.weights[at] : 1;
                const unsigned seen = has_vertex ? s.distance[vertex] : 0;
                detail::claim<Goal>(s, next, has_vertex, vertex, so_far + step, seen, lane);
            }
        }
        if (is_first) {
            c.parts[(level + 2) % 3] = 0;
            c.taken[(level + 2) % 3] = 0;
            if (now() - begun > c.nanoseconds) c.is_late[level % 2] = 1;
        }
        grid_barrier(c.barrier);
        if (read(c.is_late[level % 2]) != 0) {
            if (is_first) c.out_of_time = 1;
            return;
        }
        parts = read(*next.count);
        part* const before = here;
        here = next.parts;
        next.parts = before;
        unsigned* const owner_before = owner_here;
        owner_here = next.owner;
        next.owner = owner_before;
    }
}

/// The search of a graph, and its memory.
template <goal Goal>
class searcher {
public:
    /// `g` in device memory, with weights for shortest ways; `edges`: how many neighbours.
    searcher(const graphs::graph_view& g, std::size_t edges, unsigned blocks)
        : blocks_(blocks),
          distance_(device_memory(), g.vertices),
          queued_(device_memory(), for_ways(g.vertices)),
          parts_(device_memory(), 2 * most_parts(g.vertices, edges)),
          owners_(device_memory(), for_ways(2 * most_parts(g.vertices, edges))),
          control_(device_memory(), 1),
          search_{g,
                  distance_.data(),
                  queued_.data(),
                  parts_.data(),
                  parts_.data() + parts_.size() / 2,
                  owners_.data(),
                  owners_.data() + owners_.size() / 2,
                  control_.data()} {}

#if !defined(DYNPAR_SIMULATED_GPU)
    /// How many blocks the GPU holds at the same time.
    static unsigned most_blocks() {
        return cooperative::most_blocks(&search_by_levels<Goal>, block_threads, shared_bytes);
    }
#endif

    /// Before each run. `first_edge`: the vertex's place among the neighbours.
    void prepare(unsigned first, unsigned first_edge, unsigned edges, double seconds) {
        std::vector<part> at_first;
        for (unsigned i = 0; i < edges; i += piece)
            at_first.push_back({first_edge + i, edges - i < piece ? edges - i : piece});
        const std::vector<unsigned> owner(at_first.size(), first);
        dynpar::check(cudaMemset(distance_.data(), 0xff, distance_.size() * sizeof(unsigned)), "preparing a search");
        dynpar::check(cudaMemset(distance_.data() + first, 0, sizeof(unsigned)), "preparing a search");
        dynpar::check(
            cudaMemcpy(parts_.data(), at_first.data(), at_first.size() * sizeof(part), cudaMemcpyHostToDevice),
            "preparing a search");
        if (Goal == goal::shortest_ways) {
            queued_.fill(0);
            dynpar::check(
                cudaMemcpy(owners_.data(), owner.data(), owner.size() * sizeof(unsigned), cudaMemcpyHostToDevice),
                "preparing a search");
        }
        control c{};
        c.parts[0] = static_cast<unsigned>(at_first.size());
        c.nanoseconds = static_cast<unsigned long long>(seconds * 1e9);
        control_.copy_from(&c);
    }
    void start(cudaStream_t stream) {
        launch_together(&search_by_levels<Goal>, blocks_, block_threads, shared_bytes, stream, search_);
    }
    /// When the stream has come to the run's end.
    bool is_out_of_time() const { return control_.value().out_of_time != 0; }
    std::vector<unsigned> distances() const { return distance_.to_vector(); }

private:
    static std::size_t most_parts(unsigned vertices, std::size_t edges) { return vertices + edges / piece + 1; }
    static std::size_t for_ways(std::size_t count) { return Goal == goal::shortest_ways ? count : 2; }

    unsigned blocks_;
    dynpar::buffer<unsigned> distance_, queued_;
    dynpar::buffer<part> parts_;
    dynpar::buffer<unsigned> owners_;
    dynpar::buffer<control> control_;
    search search_;
};

}  // namespace flat
