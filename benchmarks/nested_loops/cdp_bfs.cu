// Breadth-first searches on CUDA's device runtime: the engine's with nested loops, and plain kernels that launch a grid
// for each vertex with more neighbours than a threshold.
#include <cuda_runtime.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <utility>

#include <dynpar/engine/cdp.cuh>
#include <dynpar/limits.hpp>

#include "bfs.cuh"

namespace nested_benchmark {
namespace {

using queue_benchmark::contender;
using queue_benchmark::run_facts;
using queue_benchmark::table;

/// The engine does the run from beginning to end; its own waiting is in the time.
template <bool ByBlocks>
void measure(table& t, const graph_search& s, const search_on_device& there, dynpar::cdp_engine& engine,
             const tuning& how) {
    contender c;
    c.work = s.work;
    c.engine = queue_benchmark::by::cdp_engine;
    c.form = how.form;
    c.prepare = [&] { there.prepare(how); };
    c.start = [&] {
        const dynpar::report r = engine.try_run(next_round<ByBlocks>{}, dynpar::shape(1, 1), there.data());
        if (r.failed_calls != 0)
            std::fprintf(stderr, "nested_loops: %s: %s\n", how.form, dynpar::describe_failures(r).c_str());
        const run_facts facts{r.grids, r.lost_launches, r.needed.live_bytes};
        return [facts] { return facts; };
    };
    c.is_right = [&](const run_facts&) { return there.is_right(); };
    t.measure(c);
}

// ---- Plain kernels

__device__ void plain_visit(graphs::search* s, unsigned edge) {
    const unsigned to = s->g.neighbours[edge];
    if (s->distance[to] == graphs::unseen && atomicCAS(&s->distance[to], graphs::unseen, s->round) == graphs::unseen)
        s->found[atomicAdd(s->in_found, 1u)] = to;
}
__global__ void plain_neighbours(graphs::search* s, unsigned first, unsigned edges) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < edges) plain_visit(s, first + i);
}
__global__ void plain_frontier(graphs::search* s, unsigned threshold, unsigned long long* launched) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= s->in_frontier) return;
    const unsigned first = s->g.begin[s->frontier[i]];
    const unsigned edges = s->g.begin[s->frontier[i] + 1] - first;
    if (edges > threshold) {
        plain_neighbours<<<(edges + 255) / 256, 256, 0, cudaStreamFireAndForget>>>(s, first, edges);
        if (cudaGetLastError() == cudaSuccess) {
            atomicAdd(launched, 1ull);
            return;
        }
    }
    for (unsigned k = 0; k < edges; ++k) plain_visit(s, first + k);
}

/// A grid for each level, by the host, which must know how large the next one is.
std::uint64_t search_plainly(cudaStream_t stream, const search_on_device& there, unsigned threshold, double seconds,
                             unsigned long long* launched) {
    const auto begun = std::chrono::steady_clock::now();
    std::uint64_t grids = 0;
    tuned_search s = there.control().value();
    for (unsigned found = 1;; ++s.round) {
        std::swap(s.frontier, s.found);
        s.in_frontier = found;
        if (s.in_frontier == 0) return grids;
        if (std::chrono::steady_clock::now() - begun > std::chrono::duration<double>(seconds)) return 0;
        if (grids++ == 0) s.round = 1;
        dynpar::check(cudaMemcpyAsync(there.data(), &s, sizeof s, cudaMemcpyHostToDevice, stream), "beginning a level");
        dynpar::check(cudaMemsetAsync(s.in_found, 0, sizeof found, stream), "beginning a level");
        plain_frontier<<<(s.in_frontier + 255) / 256, 256, 0, stream>>>(there.data(), threshold, launched);
        dynpar::check(cudaGetLastError(), "launching a level");
        dynpar::check(cudaMemcpyAsync(&found, s.in_found, sizeof found, cudaMemcpyDeviceToHost, stream),
                      "ending a level");
        dynpar::check(cudaStreamSynchronize(stream), "running a level");
    }
}

void measure_plain(table& t, const options& o, const graph_search& s, const search_on_device& there,
                   unsigned threshold) {
    const auto launched = queue_benchmark::on_device<unsigned long long>(1);
    contender c;
    c.work = s.work;
    c.engine = queue_benchmark::by::plain_cdp2;
    c.form = "threshold " + std::to_string(threshold);
    c.prepare = [&] {
        there.prepare();
        queue_benchmark::fill(launched, 0);
    };
    c.start = [&] {
        const std::uint64_t levels = search_plainly(t.stream(), there, threshold, o.seconds, launched.data());
        return [&, levels] { return run_facts{levels + launched.value(), 0, {}}; };
    };
    c.is_right = [&](const run_facts&) { return there.is_right(); };
    t.measure(c);
}

}  // namespace

void measure_cdp_bfs(table& t, const options& o, const graph_search& s) {
    dynpar::limits limits;
    limits.pending_launches = queue_benchmark::pending_launches;
    limits.heap_bytes = std::size_t{256} << 20;
    const dynpar::scoped_limits raised(limits);
    const search_on_device there(s);
    {
        dynpar::cdp_engine engine;
        measure<false>(t, s, there, engine, {"nested_for", 0, 0});
        measure<true>(t, s, there, engine, {"nested_for, by blocks", 0, 0});
        for (const tuning& how : {tuning{"blocks, in place 4096", 4096, 0}, tuning{"blocks, in place 65536", 65536, 0},
                                  tuning{"blocks, piece 2048", 0, 2048}})
            if (o.has_sweep) measure<true>(t, s, there, engine, how);
    }
    for (const unsigned threshold : {256u, 1024u, 4096u, 16384u}) measure_plain(t, o, s, there, threshold);
}

}  // namespace nested_benchmark
