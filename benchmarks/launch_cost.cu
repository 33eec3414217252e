// What a launch from device code costs: each of dynpar's helpers beside the bare `<<<>>>` with the check that it needs.
//
// One thread launches the children one after another. The two forms of a launch take turns, run by run, so that what
// changes with time (clocks, other programs) meets both alike. Measured are the launching thread's own cycles and, by
// events on the host, the time until all children are complete. Each run's children are counted.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <dynpar/cuda_error.hpp>
#include <dynpar/device_log.hpp>
#include <dynpar/event.cuh>
#include <dynpar/launch.cuh>
#include <dynpar/limits.hpp>
#include <dynpar/stream.cuh>

#include "machine.hpp"
#include "run_benchmark.hpp"
#include "spread.hpp"

namespace {

using benchmarks::host_name;
using benchmarks::now_utc;
using benchmarks::spread;
using benchmarks::spread_of;

namespace device = dynpar::device;
using counter = unsigned long long;

constexpr double target_percent = 3.0;  // a helper may cost this much more than the bare form

enum class way : unsigned { fire_and_forget, default_stream, named_stream, tail };

const char* to_string(way w) {
    switch (w) {
        case way::fire_and_forget: return "fire and forget";
        case way::default_stream: return "default stream";
        case way::named_stream: return "named stream";
        case way::tail: return "tail launch";
    }
    return "?";
}

// What one run leaves in device memory.
struct measured {
    counter children;  // that ran
    counter errors;    // launches that failed, as the launching thread saw it
    long long cycles;  // of the launching thread, for all launches
};

__global__ void child(measured* m) {
    if (threadIdx.x == 0) atomicAdd(&m->children, 1ull);
}

// The loop, the same for all: only `launch` differs.
template <class Launch>
__device__ void launch_children(unsigned children, measured* m, Launch launch) {
    counter errors = 0;
    const long long begin = clock64();
#pragma unroll 1
    for (unsigned i = 0; i < children; ++i) {
        if (launch() != cudaSuccess) ++errors;
    }
    m->cycles = clock64() - begin;
    m->errors = errors;
}

template <way Way>
__global__ void bare(unsigned children, measured* m) {
    if constexpr (Way == way::named_stream) {
        cudaStream_t stream;
        cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
        launch_children(children, m, [&] {
            child<<<1, 32, 0, stream>>>(m);
            return cudaGetLastError();
        });
        cudaStreamDestroy(stream);
    } else {
        launch_children(children, m, [&] {
            if constexpr (Way == way::fire_and_forget) child<<<1, 32, 0, device::detail::fire_and_forget_stream()>>>(m);
            if constexpr (Way == way::default_stream) child<<<1, 32>>>(m);
#if !DYNPAR_OLD_DEVICE_RUNTIME
            if constexpr (Way == way::tail) child<<<1, 32, 0, device::detail::tail_launch_stream()>>>(m);
#endif
            return cudaGetLastError();
        });
    }
}

template <way Way>
__global__ void helper(unsigned children, measured* m) {
    if constexpr (Way == way::fire_and_forget) {
        launch_children(children, m, [&] { return device::launch({1, 32}, child, m); });
    } else if constexpr (Way == way::default_stream) {
        launch_children(children, m, [&] { return device::launch(device::stream_view(), {1, 32}, child, m); });
    } else if constexpr (Way == way::named_stream) {
        device::stream stream;
        launch_children(children, m, [&] { return device::launch(stream, {1, 32}, child, m); });
    } else {
        launch_children(children, m, [&] { return device::tail_launch({1, 32}, child, m); });
    }
}

using kernel = void (*)(unsigned, measured*);

struct form {
    way launched;
    kernel bare_kernel;
    kernel helper_kernel;
};

const form forms[] = {
    {way::fire_and_forget, bare<way::fire_and_forget>, helper<way::fire_and_forget>},
    {way::default_stream, bare<way::default_stream>, helper<way::default_stream>},
    {way::named_stream, bare<way::named_stream>, helper<way::named_stream>},
    {way::tail, bare<way::tail>, helper<way::tail>},
};

struct samples {
    std::vector<double> cycles;        // per launch
    std::vector<double> microseconds;  // per launch, children included
};

// One run; throws if a child is missing.
void run_once(const dynpar::stream& stream, kernel k, const char* name, unsigned children, measured* there,
              samples* out) {
    dynpar::check(cudaMemsetAsync(there, 0, sizeof(measured), stream.handle()), "clearing the counters");
    dynpar::event begin(dynpar::event_timing::on);
    dynpar::event end(dynpar::event_timing::on);
    begin.record(stream);
    dynpar::launch(stream, dynpar::launch_configuration(1, 1).named(name), k, children, there);
    end.record(stream);
    dynpar::synchronize(stream);
    measured here{};
    dynpar::check(cudaMemcpyAsync(&here, there, sizeof here, cudaMemcpyDeviceToHost, stream.handle()),
                  "reading the counters");
    dynpar::synchronize(stream);
    if (here.children != children || here.errors != 0) {
        throw std::runtime_error(std::string(name) + ": " + std::to_string(here.children) + " of " +
                                 std::to_string(children) + " children ran, " + std::to_string(here.errors) +
                                 " launches failed");
    }
    if (out == nullptr) return;
    out->cycles.push_back(static_cast<double>(here.cycles) / children);
    out->microseconds.push_back(1000.0 * static_cast<double>(dynpar::milliseconds_between(begin, end)) / children);
}

struct options {
    unsigned runs = 101;
    unsigned children = 512;
    std::string json;
};

constexpr const char* usage =
    "launch_cost [--runs N] [--children N] [--json FILE]\n"
    "  --runs N      runs of each kernel, 3 to 100000 (101)\n"
    "  --children N  launches in a run, 1 to 1000000 (512); over the pending limit the benchmark stops\n"
    "  --json FILE   writes the figures there as well\n";

unsigned to_count(const std::string& option, const char* text, unsigned least, unsigned most) {
    char* end = nullptr;
    const long value = text != nullptr ? std::strtol(text, &end, 10) : 0;
    if (text == nullptr || end == text || *end != '\0' || value < static_cast<long>(least) ||
        value > static_cast<long>(most)) {
        throw std::invalid_argument(option + ": give an integer from " + std::to_string(least) + " to " +
                                    std::to_string(most));
    }
    return static_cast<unsigned>(value);
}

// Nothing if only the usage was asked for.
bool parse(int argc, char** argv, options& o) {
    for (int i = 1; i < argc; ++i) {
        const std::string name = argv[i];
        if (name == "--help" || name == "-h") return false;
        const char* value = i + 1 < argc ? argv[++i] : nullptr;
        if (name == "--runs") {
            o.runs = to_count(name, value, 3, 100000);
        } else if (name == "--children") {
            o.children = to_count(name, value, 1, 1000000);
        } else if (name == "--json") {
            if (value == nullptr) throw std::invalid_argument("--json: give the name of a file");
            o.json = value;
        } else {
            throw std::invalid_argument("unknown argument " + name + "; see --help");
        }
    }
    return true;
}

nlohmann::json to_json(const spread& s) {
    return {{"median", s.median}, {"first_quartile", s.low}, {"third_quartile", s.high}};
}

int benchmark(const options& o, const std::string& command) {
    int device_count = 0;
    const cudaError_t found = cudaGetDeviceCount(&device_count);
    if (found != cudaSuccess || device_count == 0) {
        std::fprintf(stderr, "launch_cost: no usable GPU (%s); run it on a machine with one\n",
                     cudaGetErrorString(found));
        return 2;
    }
    cudaDeviceProp properties{};
    dynpar::check(cudaGetDeviceProperties(&properties, 0), "asking for the GPU's name");
    int driver = 0;
    int runtime = 0;
    dynpar::check(cudaDriverGetVersion(&driver), "asking for the driver's version");
    dynpar::check(cudaRuntimeGetVersion(&runtime), "asking for the runtime's version");
    const std::size_t pending_limit = dynpar::device_limits().pending_launches.value_or(0);

    const dynpar::stream stream;
    void* memory = nullptr;
    dynpar::check(cudaMalloc(&memory, sizeof(measured)), "allocating the counters");
    auto* const there = static_cast<measured*>(memory);

    std::printf("%s, cc %d.%d, CUDA runtime %d, driver %d, pending launches %zu\n", properties.name, properties.major,
                properties.minor, runtime, driver, pending_limit);
    std::printf(
        "one thread launches %u children of 32 threads; %u runs of each form, taking turns; median (quartiles)\n\n",
        o.children, o.runs);
    std::printf("%-16s %-6s %28s %26s %10s\n", "launch", "form", "cycles of the launcher", "microseconds, all",
                "dearer");

    nlohmann::json results = nlohmann::json::array();
    bool within_target = true;
    for (const form& f : forms) {
#if defined(CUDA_FORCE_CDP1_IF_SUPPORTED)
        if (properties.major < 9 && f.launched == way::tail) continue;  // the old device runtime has no tail launch
#endif
        samples bare_samples;
        samples helper_samples;
        for (unsigned run = 0; run < o.runs + 3; ++run) {
            const bool warm = run >= 3;  // the first runs load kernels and raise clocks
            // Who goes first changes too: the second finds the caches warmer.
            for (const bool helper_now : {run % 2 == 0, run % 2 != 0}) {
                samples* const out = !warm ? nullptr : helper_now ? &helper_samples : &bare_samples;
                run_once(stream, helper_now ? f.helper_kernel : f.bare_kernel, helper_now ? "helper" : "bare",
                         o.children, there, out);
            }
        }
        const spread bare_cycles = spread_of(bare_samples.cycles);
        const spread helper_cycles = spread_of(helper_samples.cycles);
        const spread bare_time = spread_of(bare_samples.microseconds);
        const spread helper_time = spread_of(helper_samples.microseconds);
        const double dearer = 100.0 * (helper_cycles.median / bare_cycles.median - 1.0);
        within_target = within_target && dearer <= target_percent;
        std::printf("%-16s %-6s %9.0f (%7.0f .. %7.0f) %8.3f (%6.3f .. %6.3f)\n", to_string(f.launched), "bare",
                    bare_cycles.median, bare_cycles.low, bare_cycles.high, bare_time.median, bare_time.low,
                    bare_time.high);
        std::printf("%-16s %-6s %9.0f (%7.0f .. %7.0f) %8.3f (%6.3f .. %6.3f) %8.2f %%\n", "", "helper",
                    helper_cycles.median, helper_cycles.low, helper_cycles.high, helper_time.median, helper_time.low,
                    helper_time.high, dearer);
        results.push_back({{"launch", to_string(f.launched)},
                           {"bare", {{"cycles", to_json(bare_cycles)}, {"microseconds", to_json(bare_time)}}},
                           {"helper", {{"cycles", to_json(helper_cycles)}, {"microseconds", to_json(helper_time)}}},
                           {"helper_dearer_percent", dearer}});
    }
    static_cast<void>(cudaFree(memory));
    std::printf("\n%s: a helper may be %.0f %% dearer than the bare form\n",
                within_target ? "within the target" : "OVER THE TARGET", target_percent);

    if (!o.json.empty()) {
        const nlohmann::json record = {
            {"benchmark", "launch_cost"},
            {"machine", host_name()},
            {"date", now_utc()},
            {"command", command},
            {"gpu", properties.name},
            {"compute_capability", std::to_string(properties.major) + "." + std::to_string(properties.minor)},
            {"cuda_runtime", runtime},
            {"cuda_driver", driver},
            {"pending_launches", pending_limit},
            {"children", o.children},
            {"runs", o.runs},
            {"target_percent", target_percent},
            {"results", results}};
        std::ofstream file(o.json);
        file << record.dump(2) << '\n';
        if (!file.flush()) throw std::runtime_error("--json " + o.json + ": the file cannot be written");
    }
    return within_target ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    return benchmarks::run_benchmark<options>("launch_cost", usage, argc, argv, parse, benchmark);
}
