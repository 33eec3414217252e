// A minimum spanning forest as one writes it in plain CUDA (Boruvka): one cooperative grid that stays, and a list of
// edges instead of a list of neighbours of each vertex. In each round an edge finds the components at its two ends; if
// they are one it is dropped, and else it stays in the list with the components in the place of its ends.
//
// Also compiled for the simulated GPU (tests/simulated_gpu), where the result is compared with the CPU's.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include <dynpar/buffer.hpp>
#include <dynpar/cuda_error.hpp>

#include "../../samples/graph/forest.hpp"
#include "flat_grid.cuh"

namespace flat {

/// Between two components.
struct crossing {
    unsigned a, b, weight;
};

/// In device memory; all zero at the beginning but for what is said.
struct forest_control {
    unsigned crossings[3];  ///< of this round, of the next one and of the one after that
    unsigned edges;         ///< of the forest
    unsigned long long weight;
    unsigned is_late[2];  ///< whether time is up, by turns
    unsigned out_of_time;
    barrier_state barrier;
    unsigned long long nanoseconds;  ///< to do it in; given
};

struct forest {
    graphs::graph_view g;
    unsigned edges;                 ///< neighbours of all vertices
    unsigned* joined_to;            ///< of each component: which it has become a part of, or itself
    graphs::edge_key* lightest[2];  ///< of each component, by turns
    crossing* here;                 ///< room for half as many as there are neighbours
    crossing* next;
    forest_control* c;
};

namespace detail {

/// The last of these vertices whose first neighbour is at this place or before it.
__device__ inline unsigned owner_of(const unsigned* begin, unsigned low, unsigned high, unsigned place) {
    while (low < high) {
        const unsigned middle = low + (high - low + 1) / 2;
        if (begin[middle] <= place) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low;
}

/// The component that this one has become a part of. Halves the way there for those that come later.
__device__ inline unsigned component_of(unsigned* joined_to, unsigned component) {
    for (;;) {
        const unsigned above = read(joined_to[component]);
        if (above == component) return component;
        const unsigned next = read(joined_to[above]);
        if (next != above) joined_to[component] = next;
        component = above;
    }
}

/// All lanes: keeps the edges between components in the list of the next round, and makes them known to both.
template <unsigned Together>
__device__ void cross(const forest& f, graphs::edge_key* lightest, crossing* next, unsigned* count,
                      const crossing (&edges)[Together], unsigned present, unsigned lane) {
    crossing found[Together];
    unsigned bits[Together], kept = 0;
#pragma unroll
    for (unsigned k = 0; k < Together; ++k) {
        bool stays = (present >> k & 1) != 0;
        found[k] = {0, 0, 0};
        if (stays) {
            found[k] = {component_of(f.joined_to, edges[k].a), component_of(f.joined_to, edges[k].b), edges[k].weight};
            stays = found[k].a != found[k].b;
        }
        if (stays) {
            const graphs::edge_key key = graphs::key_of(found[k].weight, found[k].a, found[k].b);
            if (read(lightest[found[k].a]) > key) atomicMin(lightest + found[k].a, key);
            if (read(lightest[found[k].b]) > key) atomicMin(lightest + found[k].b, key);
        }
        bits[k] = __ballot_sync(all_lanes, stays);
        kept += static_cast<unsigned>(__popc(bits[k]));
    }
    if (kept == 0) return;
    unsigned place = 0;
    if (lane == 0) place = atomicAdd(count, kept);
    place = __shfl_sync(all_lanes, place, 0);
#pragma unroll
    for (unsigned k = 0; k < Together; ++k) {
        if ((bits[k] >> lane & 1) != 0) next[place + bits_before(bits[k], lane)] = found[k];
        place += static_cast<unsigned>(__popc(bits[k]));
    }
}

}  // namespace detail

__global__ void __launch_bounds__(block_threads) span_by_rounds(forest f) {
    constexpr unsigned together = 4, step = together * warp_size;
    const unsigned lane = threadIdx.x % warp_size;
    const unsigned warp = blockIdx.x * (block_threads / warp_size) + threadIdx.x / warp_size;
    const unsigned warps = gridDim.x * (block_threads / warp_size);
    forest_control& c = *f.c;
    const bool is_first = blockIdx.x == 0 && threadIdx.x == 0;
    const unsigned long long begun = now();
    for (unsigned round = 0;; ++round) {
        graphs::edge_key* const lightest = f.lightest[round % 2];
        crossing* const here = round % 2 == 0 ? f.here : f.next;
        crossing* const next = round % 2 == 0 ? f.next : f.here;
        unsigned* const count = &c.crossings[(round + 1) % 3];
        const unsigned all = round == 0 ? f.edges : read(c.crossings[round % 3]);
        for (unsigned long long first = static_cast<unsigned long long>(warp) * step; first < all;
             first += static_cast<unsigned long long>(warps) * step) {
            const auto begin = static_cast<unsigned>(first);
            crossing edges[together];
            unsigned present = 0;
            unsigned low = 0, high = 0;  // the owners of this warp's edges are these, or between them
            if (round == 0) {
                low = detail::owner_of(f.g.begin, 0, f.g.vertices - 1, begin);
                high = detail::owner_of(f.g.begin, low, f.g.vertices - 1, min(begin + step, all) - 1);
            }
#pragma unroll
            for (unsigned k = 0; k < together; ++k) {
                const unsigned at = begin + k * warp_size + lane;
                edges[k] = {0, 0, 0};
                if (at >= all) continue;
                if (round == 0) {
                    const unsigned from = detail::owner_of(f.g.begin, low, high, at);
                    edges[k] = {from, f.g.neighbours[at], f.g.weights[at]};
                    if (from < edges[k].b) present |= 1u << k;  // each edge is there twice
                } else {
                    edges[k] = {read(here[at].a), read(here[at].b), read(here[at].weight)};
                    present |= 1u << k;
                }
            }
            detail::cross(f, lightest, next, count, edges, present, lane);
        }
        if (is_first) {
            c.crossings[(round + 2) % 3] = 0;
            if (now() - begun > c.nanoseconds) c.is_late[round % 2] = 1;
        }
        grid_barrier(c.barrier);
        if (read(*count) == 0) return;
        if (read(c.is_late[round % 2]) != 0) {
            if (is_first) c.out_of_time = 1;
            return;
        }
        for (unsigned first = warp * warp_size; first < f.g.vertices; first += warps * warp_size) {
            const unsigned i = first + lane;
            unsigned weight = 0;
            bool joins = false;
            if (i < f.g.vertices) {
                f.lightest[(round + 1) % 2][i] = graphs::no_edge;
                const graphs::edge_key key = read(lightest[i]);
                if (key != graphs::no_edge) {
                    const auto greater = static_cast<unsigned>(key % graphs::most_vertices_of_forest);
                    const auto less =
                        static_cast<unsigned>(key >> graphs::component_bits) % graphs::most_vertices_of_forest;
                    const unsigned other = i == less ? greater : less;
                    joins = i > other || read(lightest[other]) != key;  // else the other one joins this one
                    if (joins) {
                        f.joined_to[i] = other;
                        weight = static_cast<unsigned>(key >> 2 * graphs::component_bits);
                    }
                }
            }
            const unsigned joined = __ballot_sync(all_lanes, joins);
            const unsigned sum = __reduce_add_sync(all_lanes, weight);
            if (lane == 0 && joined != 0) {
                atomicAdd(&c.edges, static_cast<unsigned>(__popc(joined)));
                atomicAdd(&c.weight, static_cast<unsigned long long>(sum));
            }
        }
        grid_barrier(c.barrier);
    }
}

/// The forest of a graph, and its memory.
class spanner {
public:
    /// `g` in device memory; `edges`: how many neighbours.
    spanner(const graphs::graph_view& g, std::size_t edges, unsigned blocks)
        : blocks_(blocks),
          joined_to_(device_memory(), g.vertices),
          lightest_(device_memory(), std::size_t{2} * g.vertices),
          crossings_(device_memory(), edges / 2 * 2 + 2),
          control_(device_memory(), 1),
          forest_{g,
                  static_cast<unsigned>(edges),
                  joined_to_.data(),
                  {lightest_.data(), lightest_.data() + g.vertices},
                  crossings_.data(),
                  crossings_.data() + crossings_.size() / 2,
                  control_.data()} {}

#if !defined(DYNPAR_SIMULATED_GPU)
    /// How many blocks the GPU holds at the same time.
    static unsigned most_blocks() { return cooperative::most_blocks(&span_by_rounds, block_threads, shared_bytes); }
#endif

    /// Before each run.
    void prepare(double seconds) {
        std::vector<unsigned> itself(joined_to_.size());
        for (std::size_t i = 0; i < itself.size(); ++i) itself[i] = static_cast<unsigned>(i);
        joined_to_.copy_from(itself.data());
        lightest_.fill(graphs::no_edge);
        forest_control c{};
        c.nanoseconds = static_cast<unsigned long long>(seconds * 1e9);
        control_.copy_from(&c);
    }
    void start(cudaStream_t stream) {
        launch_together(&span_by_rounds, blocks_, block_threads, shared_bytes, stream, forest_);
    }
    /// When the stream has come to the run's end.
    forest_control result() const { return control_.value(); }
    bool is_out_of_time() const { return result().out_of_time != 0; }

private:
    unsigned blocks_;
    dynpar::buffer<unsigned> joined_to_;
    dynpar::buffer<graphs::edge_key> lightest_;
    dynpar::buffer<crossing> crossings_;
    dynpar::buffer<forest_control> control_;
    forest forest_;
};

}  // namespace flat
