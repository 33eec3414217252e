// A breadth-first search as one writes it in plain CUDA: one cooperative grid that stays, a barrier of the grid after
// each level. The list of what is next holds pieces of neighbours and not vertices, so that no warp gets more than
// `piece` of them at a time; warps take pieces 32 at a time, and share what the pieces have.
//
// Also compiled for the simulated GPU (tests/simulated_gpu), where the result is compared with the CPU's.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <vector>

#include <dynpar/buffer.hpp>
#include <dynpar/cuda_error.hpp>
#include <dynpar/detail/cuda_memory.hpp>

#if !defined(DYNPAR_SIMULATED_GPU)
#include <cooperative_groups.h>
#endif

namespace flat {

inline constexpr unsigned warp_size = 32;
inline constexpr unsigned all_lanes = 0xffffffffu;
inline constexpr unsigned block_threads = 512;
inline constexpr unsigned unseen = ~0u;
inline constexpr unsigned piece = 512;

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
    unsigned arrived;                ///< on the simulated GPU: of its barrier
    unsigned long long nanoseconds;  ///< to do it in; given
};

struct search {
    const unsigned* begin;
    const unsigned* neighbours;
    unsigned* distance;
    part* here;  ///< room for as many parts as there can be: vertices, and edges / piece
    part* next;
    control* c;
};

namespace detail {

__device__ inline unsigned read(const unsigned& place) { return *static_cast<const volatile unsigned*>(&place); }

#if defined(DYNPAR_SIMULATED_GPU)
__device__ inline unsigned long long now() { return simulated_gpu::nanoseconds(); }
__device__ inline void grid_barrier(control& c) {
    __syncthreads();
    if (threadIdx.x == 0) {
        const unsigned turn = atomicAdd(&c.arrived, 1u) / gridDim.x;
        while (atomicAdd(&c.arrived, 0u) / gridDim.x == turn) __nanosleep(100);
    }
    __syncthreads();
}
#else
__device__ inline unsigned long long now() {
    unsigned long long nanoseconds;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds));
    return nanoseconds;
}
__device__ inline void grid_barrier(control&) { cooperative_groups::this_grid().sync(); }
#endif

__device__ inline unsigned sum_up_to(unsigned value, unsigned lane) {
    for (unsigned distance = 1; distance < warp_size; distance *= 2) {
        const unsigned before = __shfl_sync(all_lanes, value, static_cast<int>((lane - distance) % warp_size));
        if (lane >= distance) value += before;
    }
    return value;
}

/// All lanes of the warp, each with a vertex or without: those that were not seen before are next.
__device__ inline void claim(const search& s, part* next, unsigned* count, unsigned level, bool has_vertex,
                             unsigned vertex, unsigned seen, unsigned lane) {
    const bool is_new = has_vertex && seen == unseen && atomicCAS(s.distance + vertex, unseen, level + 1) == unseen;
    unsigned first = 0, edges = 0;
    if (is_new) {
        first = s.begin[vertex];
        edges = s.begin[vertex + 1] - first;
    }
    if (!__any_sync(all_lanes, is_new)) return;
    const unsigned parts = (edges + piece - 1) / piece;
    const unsigned end = sum_up_to(parts, lane);
    unsigned place = 0;
    if (lane == warp_size - 1 && end != 0) place = atomicAdd(count, end);
    place = __shfl_sync(all_lanes, place, warp_size - 1) + end - parts;
    for (unsigned i = 0; i < parts; ++i)
        next[place + i] = {first + i * piece, i + 1 == parts ? edges - i * piece : piece};
}

}  // namespace detail

__global__ void __launch_bounds__(block_threads) search_breadth_first(search s) {
    const unsigned lane = threadIdx.x % warp_size;
    control& c = *s.c;
    const bool is_first = blockIdx.x == 0 && threadIdx.x == 0;
    const unsigned warps = gridDim.x * (block_threads / warp_size);
    const unsigned long long begun = detail::now();
    part* here = s.here;
    part* next = s.next;
    unsigned parts = detail::read(c.parts[0]);
    for (unsigned level = 0; parts != 0; ++level) {
        unsigned* const count = &c.parts[(level + 1) % 3];
        // A level that does not fill the grid is spread over it.
        const unsigned share = min(warp_size, (parts + warps - 1) / warps);
        for (;;) {
            unsigned first = 0;
            if (lane == 0) first = atomicAdd(&c.taken[level % 3], share);
            first = __shfl_sync(all_lanes, first, 0);
            if (first >= parts) break;
            part mine{0, 0};
            if (lane < share && first + lane < parts) {
                const uint2 words = __ldcg(reinterpret_cast<const uint2*>(here + first + lane));
                mine = {words.x, words.y};
            }
            // Parts with enough for all lanes, one after another, four neighbours of each lane at a time.
            const bool is_large = mine.count >= warp_size;
            for (unsigned bits = __ballot_sync(all_lanes, is_large); bits != 0; bits &= bits - 1) {
                const int owner = __ffs(static_cast<int>(bits)) - 1;
                const unsigned begin = __shfl_sync(all_lanes, mine.first, owner);
                const unsigned end = begin + __shfl_sync(all_lanes, mine.count, owner);
                constexpr unsigned together = 4;
                for (unsigned at = begin + lane; at - lane < end; at += together * warp_size) {
                    unsigned vertices[together] = {}, seen[together] = {};
#pragma unroll
                    for (unsigned k = 0; k < together; ++k)
                        if (at + k * warp_size < end) vertices[k] = s.neighbours[at + k * warp_size];
#pragma unroll
                    for (unsigned k = 0; k < together; ++k)
                        if (at + k * warp_size < end) seen[k] = s.distance[vertices[k]];
#pragma unroll
                    for (unsigned k = 0; k < together; ++k)
                        if (at - lane + k * warp_size < end)
                            detail::claim(s, next, count, level, at + k * warp_size < end, vertices[k], seen[k], lane);
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
                const bool has_vertex = place < all;
                const unsigned vertex = has_vertex ? s.neighbours[at] : 0;
                const unsigned seen = has_vertex ? s.distance[vertex] : 0;
                detail::claim(s, next, count, level, has_vertex, vertex, seen, lane);
            }
        }
        if (is_first) {
            c.parts[(level + 2) % 3] = 0;
            c.taken[(level + 2) % 3] = 0;
            if (detail::now() - begun > c.nanoseconds) c.is_late[level % 2] = 1;
        }
        __threadfence();
        detail::grid_barrier(c);
        if (detail::read(c.is_late[level % 2]) != 0) {
            if (is_first) c.out_of_time = 1;
            return;
        }
        parts = detail::read(*count);
        part* const before = here;
        here = next;
        next = before;
    }
}

/// The search of a graph, and its memory.
class searcher {
public:
    /// `begin` and `neighbours` of the graph, in device memory; `edges`: how many neighbours.
    searcher(const unsigned* begin, const unsigned* neighbours, unsigned vertices, std::size_t edges, unsigned blocks)
        : blocks_(blocks),
          distance_(space(), vertices),
          parts_(space(), 2 * most_parts(vertices, edges)),
          control_(space(), 1),
          search_{begin,          neighbours, distance_.data(), parts_.data(), parts_.data() + parts_.size() / 2,
                  control_.data()} {}

    /// Before each run. `first_edge`: the vertex's place among the neighbours.
    void prepare(unsigned first, unsigned first_edge, unsigned edges, double seconds) {
        std::vector<part> at_first;
        for (unsigned i = 0; i < edges; i += piece)
            at_first.push_back({first_edge + i, edges - i < piece ? edges - i : piece});
        dynpar::check(cudaMemset(distance_.data(), 0xff, distance_.size() * sizeof(unsigned)), "preparing a search");
        dynpar::check(cudaMemset(distance_.data() + first, 0, sizeof(unsigned)), "preparing a search");
        dynpar::check(
            cudaMemcpy(parts_.data(), at_first.data(), at_first.size() * sizeof(part), cudaMemcpyHostToDevice),
            "preparing a search");
        control c{};
        c.parts[0] = static_cast<unsigned>(at_first.size());
        c.nanoseconds = static_cast<unsigned long long>(seconds * 1e9);
        control_.copy_from(&c);
    }
    void start(cudaStream_t stream) {
#if defined(DYNPAR_SIMULATED_GPU)
        dynpar::check(simulated_gpu::launch(&search_breadth_first, blocks_, block_threads, 0, stream, search_),
                      "launching a search by hand");
#else
        void* pointers[] = {&search_};
        dynpar::check(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(&search_breadth_first), dim3(blocks_),
                                                  dim3(block_threads), pointers, 0, stream),
                      "launching a search by hand");
#endif
    }
    /// When the stream has come to the run's end.
    bool is_out_of_time() const { return control_.value().out_of_time != 0; }
    std::vector<unsigned> distances() const { return distance_.to_vector(); }

private:
    static const dynpar::memory_space& space() { return dynpar::detail::cuda_memory(); }
    static std::size_t most_parts(unsigned vertices, std::size_t edges) { return vertices + edges / piece + 1; }

    unsigned blocks_;
    dynpar::buffer<unsigned> distance_;
    dynpar::buffer<part> parts_;
    dynpar::buffer<control> control_;
    search search_;
};

}  // namespace flat
