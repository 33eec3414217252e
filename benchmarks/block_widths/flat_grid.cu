// One grid whose threads wait for memory and launch nothing: on the queue engine, and launched plainly.
#include <cstdint>
#include <string>
#include <vector>

#include <dynpar/grid_group.hpp>

#include "../queue_engine/device_memory.hpp"
#include "../queue_engine/queue_run.cuh"
#include "rows.hpp"

namespace width_benchmark {
namespace {

using namespace queue_benchmark;

constexpr unsigned places = 1u << 26;  // 256 MiB: more than the second-level cache
constexpr unsigned threads = 1u << 20;
constexpr unsigned steps = 32;

/// A permutation of the places with no short way: each thread walks along it from its own.
DYNPAR_FUNCTION unsigned walk(const unsigned* next, unsigned thread) {
    unsigned place = thread * (places / threads);
    for (unsigned i = 0; i < steps; ++i) place = next[place];
    return place;
}

struct walks {
    static constexpr const char* name = "walks";

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, const unsigned* next, unsigned* ends) const {
        const unsigned thread = dynpar::this_grid(block).thread_rank();
        if (thread < threads) ends[thread] = walk(next, thread);
    }
};

__global__ void plain_walks(const unsigned* next, unsigned* ends) {
    const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
    if (thread < threads) ends[thread] = walk(next, thread);
}

}  // namespace

void measure_flat(table& t) {
    if (!t.wants(work::flat)) return;
    std::vector<unsigned> next(places);
    for (unsigned i = 0; i < places; ++i) next[i] = (i * 2654435761u + 12345u) % places;
    const dynpar::buffer<unsigned> on_gpu = on_device(next, places);
    const dynpar::buffer<unsigned> ends = on_device<unsigned>(threads);
    std::vector<unsigned> expected(threads);
    for (unsigned i = 0; i < threads; ++i) expected[i] = walk(next.data(), i);
    const auto prepare = [&] { fill(ends, 0xff); };
    const auto is_right = [&](const run_facts&) { return ends.to_vector() == expected; };
    dynpar::queue_engine engine;
    for (const unsigned width : {32u, 128u, 256u}) {
        const std::string form = std::to_string(width) + " threads";
        measure_run(t, engine, work::flat, form.c_str(), prepare, is_right, 0, walks{},
                    dynpar::shape(threads / width, width), static_cast<const unsigned*>(on_gpu.data()), ends.data());
        contender c;
        c.work = work::flat;
        c.engine = by::flat;
        c.form = form;
        c.prepare = prepare;
        c.is_right = is_right;
        c.start = [&, width] {
            plain_walks<<<threads / width, width, 0, t.stream()>>>(on_gpu.data(), ends.data());
            dynpar::check(cudaGetLastError(), "launching a flat grid");
            return [] { return run_facts{1, 0, {}}; };
        };
        t.measure(c);
    }
}

}  // namespace width_benchmark
