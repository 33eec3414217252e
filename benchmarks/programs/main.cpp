// Programs on the queue engine, beside the same in plain CUDA and on the CPU: one
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

using namespace program_benchmark;

int benchmark(const options& o, const std::string& command) {
    int device_count = 0;
    const cudaError_t found = cudaGetDeviceCount(&device_count);
    if (found != cudaSuccess || device_count == 0) {
        std::fprintf(stderr,
                     "programs_benchmark: needs a GPU: there is none to use (%s); run it on a machine with one\n",
                     cudaGetErrorString(found));
        return 2;
    }
    cudaDeviceProp properties{};
    dynpar::check(cudaGetDeviceProperties(&properties, 0), "asking for the GPU's name");
    std::printf("%s; medians of up to %u runs by events\n", properties.name, o.table.runs);
    const std::vector<std::string> works(std::begin(work::all), std::end(work::all));
    queue_benchmark::table nodes(o.table, works, "nodes");
    measure_vertex_cover(nodes, o);
    queue_benchmark::table pixels(o.table, works, "pixels");
    measure_mandelbrot(pixels, o.seconds);
    if (nodes.rows().empty() && pixels.rows().empty())
        throw std::invalid_argument("--only: no row has \"" + o.table.only + "\" in its name");
    if (!o.table.json.empty()) {
        nlohmann::ordered_json record = queue_benchmark::begin_record("programs_benchmark", command);
        for (const queue_benchmark::row& r : nodes.rows()) record["results"].push_back(to_json(r, "nodes"));
        for (const queue_benchmark::row& r : pixels.rows()) record["results"].push_back(to_json(r, "pixels"));
        queue_benchmark::write_record(o.table.json, record);
    }
    return nodes.all_right() && pixels.all_right() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    options o;
    CLI::App app("Programs on the queue engine, beside the same in plain CUDA and on the CPU.", "programs_benchmark");
    app.add_option("--runs", o.table.runs, "runs of each row (9); fewer of those that take a second")
        ->check(CLI::Range(1, 100000));
    app.add_option("--only", o.table.only, "only rows with this in their name: \"work, by, form\" as in the table");
    app.add_option("--json", o.table.json, "write the table there as well");
    app.add_option("--seconds", o.seconds, "a run of the queue engine that takes longer is given up (30)")
        ->check(CLI::Range(0.001, 3600.0));
    app.add_flag("--quick", o.is_quick, "without what takes the CPU half a minute");
    return benchmarks::run_app(app, argc, argv, [&o](const std::string& command) {
        if (!o.table.json.empty()) queue_benchmark::require_record(o.table.json);
        return benchmark(o, command);
    });
}
