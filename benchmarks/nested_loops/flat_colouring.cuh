// Colours for the vertices as one gives them in plain CUDA (Jones and Plassmann): one cooperative grid that stays, a
// barrier of the grid after each round. Vertices with few neighbours have a thread each, those with more a warp, and
// those with very many a block.
//
// Also compiled for the simulated GPU (tests/simulated_gpu), where the result is compared with the CPU's.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <vector>

#include <dynpar/buffer.hpp>
#include <dynpar/cuda_error.hpp>

#include "../../samples/graph/colouring.hpp"
#include "flat_grid.cuh"

namespace flat {

inline constexpr unsigned sizes = 3;         ///< of vertices: for a thread, a warp, a block
inline constexpr unsigned for_warp = 32;     ///< so many neighbours at least
inline constexpr unsigned for_block = 2048;  ///< likewise

/// In device memory; all zero at the beginning but for what is said.
struct colouring_control {
    unsigned waiting[sizes][3];  ///< vertices of each size, in this round, the next one and the one after that
    unsigned rounds;
    unsigned is_late[2];  ///< whether time is up, by turns
    unsigned out_of_time;
    barrier_state barrier;
    unsigned long long nanoseconds;  ///< to do it in; given
};

struct colouring {
    graphs::graph_view g;
    unsigned* colour;
    unsigned* lists[sizes][2];  ///< of vertices that wait, by turns; each with room for all
    colouring_control* c;
};

namespace detail {

using colour_bits = unsigned long long;
using graphs::colours_together;
inline constexpr colour_bits waits = graphs::taken_colours::has_to_wait;

/// What a neighbour of a vertex adds to the colours that are taken.
__device__ inline colour_bits bits_of(const colouring& c, unsigned v, unsigned other, unsigned least) {
    const unsigned colour = read(c.colour[other]);
    if (colour == graphs::no_colour) return graphs::rank_of(other) > graphs::rank_of(v) ? waits : 0;
    return colour >= least && colour - least < colours_together ? 1ull << (colour - least) : 0;
}

/// The same for some neighbours; those from `end` on count nothing.
template <unsigned Together>
__device__ colour_bits bits_of_some(const colouring& c, unsigned v, unsigned first, unsigned step, unsigned end,
                                    unsigned least) {
    unsigned others[Together];
    colour_bits bits = 0;
#pragma unroll
    for (unsigned k = 0; k < Together; ++k) others[k] = first + k * step < end ? c.g.neighbours[first + k * step] : v;
#pragma unroll
    for (unsigned k = 0; k < Together; ++k)
        if (first + k * step < end) bits |= bits_of(c, v, others[k], least);
    return bits;
}

__device__ inline colour_bits or_of_warp(colour_bits bits) {
    const unsigned low = __reduce_or_sync(all_lanes, static_cast<unsigned>(bits));
    const unsigned high = __reduce_or_sync(all_lanes, static_cast<unsigned>(bits >> 32));
    return static_cast<colour_bits>(high) << 32 | low;
}

/// All threads of the block; `shared`: two words of its memory.
__device__ inline colour_bits or_of_block(colour_bits bits, unsigned* shared) {
    if (threadIdx.x < 2) shared[threadIdx.x] = 0;
    __syncthreads();
    bits = or_of_warp(bits);
    if (threadIdx.x % warp_size == 0) {
        atomicOr(&shared[0], static_cast<unsigned>(bits));
        atomicOr(&shared[1], static_cast<unsigned>(bits >> 32));
    }
    __syncthreads();
    bits = static_cast<colour_bits>(shared[1]) << 32 | shared[0];
    __syncthreads();
    return bits;
}

/// The colours that all neighbours have, found by `threads` threads of which this is number `rank`; `combine` makes
/// what each has found known to all of them.
template <unsigned Together, class Combine>
__device__ colour_bits colours_around(const colouring& c, unsigned v, unsigned rank, unsigned threads, unsigned least,
                                      const Combine& combine) {
    const unsigned begin = c.g.begin[v], end = c.g.begin[v + 1];
    colour_bits taken = 0;
    for (unsigned at = begin; at < end; at += Together * threads) {
        taken |= combine(bits_of_some<Together>(c, v, at + rank, threads, end, least));
        if (taken >= waits) return taken;
    }
    return taken;
}

/// The same for all colours: the least that is free, or `no_colour` where the vertex has to wait.
template <unsigned Together, class Combine>
__device__ unsigned least_free(const colouring& c, unsigned v, unsigned rank, unsigned threads,
                               const Combine& combine) {
    for (unsigned least = 0;; least += colours_together) {
        const colour_bits taken = colours_around<Together>(c, v, rank, threads, least, combine);
        if (taken >= waits) return graphs::no_colour;
        if (taken != waits - 1) return least + static_cast<unsigned>(__ffsll(static_cast<long long>(~taken))) - 1;
    }
}

}  // namespace detail

__global__ void __launch_bounds__(block_threads) colour_by_rounds(colouring c) {
    unsigned* const shared = reinterpret_cast<unsigned*>(dynamic_shared_memory());
    const unsigned lane = threadIdx.x % warp_size;
    const unsigned warp = blockIdx.x * (block_threads / warp_size) + threadIdx.x / warp_size;
    const unsigned warps = gridDim.x * (block_threads / warp_size);
    const bool is_first = blockIdx.x == 0 && threadIdx.x == 0;
    colouring_control& control = *c.c;
    const unsigned long long begun = now();

    for (unsigned first = warp * warp_size; first < c.g.vertices; first += warps * warp_size) {
        const unsigned v = first + lane;
        const unsigned edges = v < c.g.vertices ? c.g.begin[v + 1] - c.g.begin[v] : 0;
        const unsigned size = v >= c.g.vertices ? sizes : edges < for_warp ? 0u : edges < for_block ? 1u : 2u;
        for (unsigned s = 0; s < sizes; ++s) {
            const unsigned place = place_in(&control.waiting[s][0], size == s, lane);
            if (size == s) c.lists[s][0][place] = v;
        }
    }
    grid_barrier(control.barrier);

    for (unsigned round = 0;; ++round) {
        unsigned left[sizes], all = 0;
        for (unsigned s = 0; s < sizes; ++s) all += left[s] = read(control.waiting[s][round % 3]);
        if (all == 0) return;
        unsigned* counts[sizes];
        for (unsigned s = 0; s < sizes; ++s) counts[s] = &control.waiting[s][(round + 1) % 3];

        // The largest first: they take longest.
        for (unsigned i = blockIdx.x; i < left[2]; i += gridDim.x) {
            const unsigned v = read(c.lists[2][round % 2][i]);
            const unsigned colour =
                detail::least_free<4>(c, v, threadIdx.x, block_threads,
                                      [&](detail::colour_bits bits) { return detail::or_of_block(bits, shared); });
            if (threadIdx.x != 0) continue;
            if (colour == graphs::no_colour) {
                c.lists[2][(round + 1) % 2][atomicAdd(counts[2], 1u)] = v;
            } else {
                c.colour[v] = colour;
            }
        }
        for (unsigned i = warp; i < left[1]; i += warps) {
            const unsigned v = read(c.lists[1][round % 2][i]);
            const unsigned colour = detail::least_free<2>(
                c, v, lane, warp_size, [](detail::colour_bits bits) { return detail::or_of_warp(bits); });
            if (lane != 0) continue;
            if (colour == graphs::no_colour) {
                c.lists[1][(round + 1) % 2][atomicAdd(counts[1], 1u)] = v;
            } else {
                c.colour[v] = colour;
            }
        }
        for (unsigned first = warp * warp_size; first < left[0]; first += warps * warp_size) {
            const bool has_vertex = first + lane < left[0];
            const unsigned v = has_vertex ? read(c.lists[0][round % 2][first + lane]) : 0;
            const unsigned colour =
                has_vertex ? detail::least_free<4>(c, v, 0, 1, [](detail::colour_bits bits) { return bits; }) : 0;
            const bool waits_on = has_vertex && colour == graphs::no_colour;
            const unsigned place = place_in(counts[0], waits_on, lane);
            if (waits_on) {
                c.lists[0][(round + 1) % 2][place] = v;
            } else if (has_vertex) {
                c.colour[v] = colour;
            }
        }
        if (is_first) {
            for (unsigned s = 0; s < sizes; ++s) control.waiting[s][(round + 2) % 3] = 0;
            ++control.rounds;
            if (now() - begun > control.nanoseconds) control.is_late[round % 2] = 1;
        }
        grid_barrier(control.barrier);
        if (read(control.is_late[round % 2]) != 0) {
            if (is_first) control.out_of_time = 1;
            return;
        }
    }
}

/// The colours of a graph, and their memory.
class colourer {
public:
    /// `g` in device memory.
    colourer(const graphs::graph_view& g, unsigned blocks)
        : blocks_(blocks),
          colour_(device_memory(), g.vertices),
          lists_(device_memory(), std::size_t{2} * sizes * g.vertices),
          control_(device_memory(), 1),
          colouring_{g, colour_.data(), {}, control_.data()} {
        for (unsigned s = 0; s < sizes; ++s)
            for (unsigned turn = 0; turn < 2; ++turn)
                colouring_.lists[s][turn] = lists_.data() + std::size_t{2 * s + turn} * g.vertices;
    }

#if !defined(DYNPAR_SIMULATED_GPU)
    /// How many blocks the GPU holds at the same time.
    static unsigned most_blocks() { return cooperative::most_blocks(&colour_by_rounds, block_threads, shared_bytes); }
#endif

    /// Before each run.
    void prepare(double seconds) {
        colour_.fill(graphs::no_colour);
        colouring_control c{};
        c.nanoseconds = static_cast<unsigned long long>(seconds * 1e9);
        control_.copy_from(&c);
    }
    void start(cudaStream_t stream) {
        launch_together(&colour_by_rounds, blocks_, block_threads, shared_bytes, stream, colouring_);
    }
    /// When the stream has come to the run's end.
    bool is_out_of_time() const { return control_.value().out_of_time != 0; }
    std::vector<unsigned> colours() const { return colour_.to_vector(); }

private:
    unsigned blocks_;
    dynpar::buffer<unsigned> colour_, lists_;
    dynpar::buffer<colouring_control> control_;
    colouring colouring_;
};

}  // namespace flat
