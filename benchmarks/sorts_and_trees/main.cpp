// Quicksort and a quadtree on the queue engine, beside the same on the device runtime and CUB's radix sort: one
// process, every result checked.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include <dynpar/cuda_error.hpp>

#include "../queue_engine/record.hpp"
#include "../run_app.hpp"
#include "rows.hpp"

namespace {

using namespace sort_benchmark;

int benchmark(const options& o, const std::string& command) {
    int device_count = 0;
    const cudaError_t found = cudaGetDeviceCount(&device_count);
    if (found != cudaSuccess || device_count == 0) {
        std::fprintf(stderr, "sorts_and_trees: needs a GPU: there is none to use (%s); run it on a machine with one\n",
                     cudaGetErrorString(found));
        return 2;
    }
    cudaDeviceProp properties{};
    dynpar::check(cudaGetDeviceProperties(&properties, 0), "asking for the GPU's name");
    std::printf("%s; medians of up to %u runs by events\n", properties.name, o.table.runs);
    const std::vector<std::string> works(std::begin(work::all), std::end(work::all));
    queue_benchmark::table keys(o.table, works, "keys");
    measure_queue_sorts(keys, o);
    measure_cdp_sorts(keys);
    measure_plain_sorts(keys);
    measure_cub_sorts(keys);
    queue_benchmark::table points(o.table, works, "points");
    measure_queue_trees(points, o);
    measure_cdp_trees(points);
    measure_plain_trees(points);
    if (keys.rows().empty() && points.rows().empty())
        throw std::invalid_argument("--only: no row has \"" + o.table.only + "\" in its name");
    if (!o.table.json.empty()) {
        nlohmann::ordered_json record = queue_benchmark::begin_record("sorts_and_trees", command);
        for (const queue_benchmark::row& r : keys.rows()) record["results"].push_back(to_json(r, "keys"));
        for (const queue_benchmark::row& r : points.rows()) record["results"].push_back(to_json(r, "points"));
        queue_benchmark::write_record(o.table.json, record);
    }
    return keys.all_right() && points.all_right() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    options o;
    CLI::App app("Quicksort and a quadtree on the queue engine, beside CUDA's device runtime and CUB.",
                 "sorts_and_trees");
    app.add_option("--runs", o.table.runs, "runs of each row (9)")->check(CLI::Range(1, 100000));
    app.add_option("--only", o.table.only, "only rows with this in their name: \"work, by, form\" as in the table");
    app.add_option("--json", o.table.json, "write the table there as well");
    app.add_option("--seconds", o.seconds, "a run of the queue engine that takes longer is given up (30)")
        ->check(CLI::Range(0.001, 3600.0));
    return benchmarks::run_app(app, argc, argv, [&o](const std::string& command) {
        if (!o.table.json.empty()) queue_benchmark::require_record(o.table.json);
        return benchmark(o, command);
    });
}
