// The nested sums of samples/recursive_reduce, through the engines that run on a GPU, by the host's clock.
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <vector>

#include <dynpar/cuda_error.hpp>
#include <dynpar/dynpar.hpp>

#include "../samples/recursive_reduce/kernels.hpp"
#include "reductions.hpp"

namespace reductions {
namespace {

struct nothing {
    static constexpr const char* name = "nothing";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block&) const {}
};

// Runs one and adds its row. `start(engine, blocks, data, sums, total)` runs it and gives the engine's report. What
// leaves its sum in `*total` has added up the blocks' sums itself; for the others the host does, after the clock has
// stopped.
template <class Engine, class Start>
void measure_one(Engine& engine, const options& o, const std::string& name, const std::vector<int>& numbers,
                 const long long expected, bool as_published, Start start, std::vector<row>& rows) {
    const auto blocks = static_cast<unsigned>(numbers.size() / o.block_size);
    auto source = engine.template make_buffer<int>(numbers.size());
    auto data = engine.template make_buffer<int>(numbers.size());
    auto sums = engine.template make_buffer<int>(blocks);
    auto total = engine.template make_buffer<long long>(1);
    source.copy_from(numbers.data());

    row r;
    r.elements = static_cast<unsigned>(numbers.size());
    r.type = "int";
    r.kind = "nested";
    r.clock = "host";
    r.kernel = std::string(Engine::name) + " " + name;
    r.as_published = as_published;
    r.runs = o.nested_runs;
    std::vector<double> milliseconds;
    for (unsigned run = 0; run < o.nested_runs + 1; ++run) {
        dynpar::check(cudaMemcpy(data.data(), source.data(), numbers.size() * sizeof(int), cudaMemcpyDeviceToDevice),
                      "restoring the numbers");
        sums.copy_from(std::vector<int>(blocks, -1).data());
        total.copy_from(std::vector<long long>(1, 0).data());
        dynpar::check(cudaDeviceSynchronize(), "waiting for the GPU");
        const auto begin = std::chrono::steady_clock::now();
        const dynpar::report report = start(engine, blocks, data.data(), sums.data(), total.data());
        const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - begin;
        long long sum = total.to_vector()[0];
        if (sum == 0) {
            for (const int s : sums.to_vector()) sum += s;
        }
        if (run == 0) continue;  // loads kernels, makes memory ready
        milliseconds.push_back(time.count());
        r.lost_launches = report.lost_launches;
        if (report.failed_calls != 0 || sum != expected) ++r.wrong_runs;
        r.error = std::max(r.error, std::fabs(static_cast<double>(sum - expected)));
    }
    r.milliseconds = spread_of(milliseconds);
    rows.push_back(r);
}

template <class Engine>
void measure_nested_on(Engine& engine, const options& o, const std::vector<int>& numbers, long long expected,
                       std::vector<row>& rows) {
    using namespace recursive_reduction;
    const unsigned size = o.block_size;
    // What the engine takes for a run of nothing is in all of its times.
    measure_one(
        engine, o, "run of nothing", numbers, expected, true,
        [](Engine& e, unsigned, int*, int*, long long*) { return e.try_run(nothing{}, dynpar::shape(1, 32)); }, rows);
    rows.back().kind = "nothing";
    if (numbers.size() <= (std::size_t{1} << 24)) {
        measure_one(
            engine, o, "recursive_reduce_then", numbers, expected, false,
            [size](Engine& e, unsigned blocks, int* data, int* sums, long long* total) {
                return e.try_run(recursive_reduce_then{}, dynpar::shape(blocks, size), data, sums, size, total);
            },
            rows);
        measure_one(
            engine, o, "recursive_reduce_nosync", numbers, expected, true,
            [size](Engine& e, unsigned blocks, int* data, int* sums, long long*) {
                return e.try_run(recursive_reduce_nosync{}, dynpar::shape(blocks, size), data, sums, size);
            },
            rows);
    }
    measure_one(
        engine, o, "recursive_reduce2", numbers, expected, true,
        [size](Engine& e, unsigned blocks, int* data, int* sums, long long*) {
            return e.try_run(recursive_reduce2{}, dynpar::shape(blocks, size / 2), data, sums, size / 2, size);
        },
        rows);
    measure_one(
        engine, o, "recursive_reduce2_tail", numbers, expected, false,
        [size](Engine& e, unsigned blocks, int* data, int* sums, long long*) {
            return e.try_run(recursive_reduce2_tail{}, dynpar::shape(blocks, size / 2), data, sums, size / 2, size);
        },
        rows);
}

}  // namespace

void measure_nested(const options& o, const std::vector<int>& numbers, long long expected, std::vector<row>& rows) {
    {
        dynpar::cdp_options on_device;
        on_device.limits.pending_launches = o.pending_launches;
        dynpar::cdp_engine engine(on_device);
        measure_nested_on(engine, o, numbers, expected, rows);
    }
#if DYNPAR_HAS_QUEUE_ENGINE
    if (o.block_size <= DYNPAR_QUEUE_MOST_THREADS) {
        dynpar::queue_engine engine;
        measure_nested_on(engine, o, numbers, expected, rows);
    }
#endif
}

}  // namespace reductions
