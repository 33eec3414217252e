// What a trace costs: recursive_reduce at 2^20 on each engine, with and without, turn by turn.
//
//     trace_cost [--json FILE] [--rounds N]
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <fstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <dynpar/dynpar.hpp>
#if defined(__CUDACC__)
#include <dynpar/engine/queue.cuh>
#endif

#include "../samples/recursive_reduce/kernels.hpp"

namespace {

using json = nlohmann::ordered_json;

constexpr unsigned elements = 1 << 20;
constexpr unsigned block_size = 512;
constexpr unsigned blocks = elements / block_size;

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

double milliseconds_since(std::chrono::steady_clock::time_point begun) {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begun).count();
}

/// One engine without a trace and one with, turn by turn, so that what changes with time meets both alike.
template <class Engine, class Options>
json measure(unsigned rounds) {
    Options options;
    options.limits.pending_launches = 65536;
    Engine plain(options);
    options.trace_grids = 32768;
    Engine traced(options);
    auto data = plain.template make_buffer<int>(elements);
    auto sums = plain.template make_buffer<int>(blocks);
    auto total = plain.template make_buffer<long long>(1);
    const std::vector<int> numbers(elements, 3);
    std::vector<double> off, on, on_run;
    for (unsigned round = 0; round < rounds + 2; ++round) {  // the first two warm up
        for (Engine* engine : {&plain, &traced}) {
            data.copy_from(numbers.data());
            const long long zero = 0;
            total.copy_from(&zero);
            const auto begun = std::chrono::steady_clock::now();
            const dynpar::report r =
                engine->run(recursive_reduction::recursive_reduce_then{}, dynpar::shape(blocks, block_size),
                            data.data(), sums.data(), block_size, total.data());
            const double milliseconds = milliseconds_since(begun);
            if (total.to_vector()[0] != 3ll * elements) {
                std::fprintf(stderr, "trace_cost: %s: the sum is wrong\n", Engine::name);
                std::exit(1);
            }
            if (round < 2) continue;
            if (engine == &plain) {
                off.push_back(milliseconds);
            } else {
                on.push_back(milliseconds);
                on_run.push_back(static_cast<double>(r.trace.nanoseconds) / 1e6);
            }
        }
    }
    json result = {{"engine", Engine::name},
                   {"device", plain.device()},
                   {"rounds", rounds},
                   {"off_ms", median(off)},
                   {"on_until_complete_ms", median(on_run)},
                   {"on_with_reading_back_ms", median(on)},
                   {"slower_percent", (median(on_run) / median(off) - 1) * 100}};
    std::printf("%-5s  off %.3f ms, on %.3f ms (%+.1f %%), with the trace read back %.3f ms\n", Engine::name,
                median(off), median(on_run), (median(on_run) / median(off) - 1) * 100, median(on));
    return result;
}

}  // namespace

int main(int argc, char** argv) {
    std::string file;
    unsigned rounds = 21;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (std::strcmp(argv[i], "--json") == 0) file = argv[i + 1];
        if (std::strcmp(argv[i], "--rounds") == 0) rounds = static_cast<unsigned>(std::max(1, std::atoi(argv[i + 1])));
    }
    try {
        json record;
        char date[32];
        const std::time_t now = std::time(nullptr);
        std::strftime(date, sizeof date, "%FT%TZ", std::gmtime(&now));
        record["benchmark"] = "trace_cost";
        record["date"] = date;
        record["what"] = "recursive_reduce_then, 2^20 ints, blocks of 512, 16386 grids; medians";
        json& results = record["results"] = json::array();
        results.push_back(measure<dynpar::host_engine, dynpar::host_options>(rounds));
#if DYNPAR_HAS_DEVICE_LAUNCH
        int devices = 0;
        if (cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0) {
            results.push_back(measure<dynpar::cdp_engine, dynpar::cdp_options>(rounds));
            results.push_back(measure<dynpar::queue_engine, dynpar::queue_options>(rounds));
        } else {
            std::printf("cdp, queue: left out: no GPU\n");
        }
#endif
        if (!file.empty()) std::ofstream(file) << record.dump(1) << '\n';
    } catch (const std::exception& e) {
        std::fprintf(stderr, "trace_cost: %s\n", e.what());
        return 1;
    }
}
