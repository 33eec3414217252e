// Blocks of every width on the queue engine: what a grid costs, and one grid beside a plain launch. One process, one
// table, every count checked.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <iterator>
#include <stdexcept>
#include <string>

#include <dynpar/cuda_error.hpp>

#include "../queue_engine/record.hpp"
#include "../run_app.hpp"
#include "rows.hpp"

namespace {

using namespace width_benchmark;

int benchmark(const queue_benchmark::options& o, const std::string& command) {
    int device_count = 0;
    const cudaError_t found = cudaGetDeviceCount(&device_count);
    if (found != cudaSuccess || device_count == 0) {
        std::fprintf(stderr, "block_widths: needs a GPU: there is none to use (%s); run it on a machine with one\n",
                     cudaGetErrorString(found));
        return 2;
    }
    cudaDeviceProp properties{};
    dynpar::check(cudaGetDeviceProperties(&properties, 0), "asking for the GPU's name");
    std::printf("%s; medians of up to %u runs by events\n", properties.name, o.runs);
    queue_benchmark::table t(o, {std::begin(work::all), std::end(work::all)});
    measure_widths(t);
    measure_flat(t);
    if (t.rows().empty()) throw std::invalid_argument("--only: no row has \"" + o.only + "\" in its name");
    if (!o.json.empty()) {
        nlohmann::ordered_json record = queue_benchmark::begin_record("block_widths", command);
        for (const queue_benchmark::row& r : t.rows()) record["results"].push_back(to_json(r, "grids"));
        queue_benchmark::write_record(o.json, record);
    }
    return t.all_right() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    queue_benchmark::options o;
    CLI::App app("Blocks of every width on the queue engine.", "block_widths");
    app.add_option("--runs", o.runs, "runs of each row (9); fewer of those that take a second")
        ->check(CLI::Range(1, 100000));
    app.add_option("--only", o.only, "only rows with this in their name: \"work, by, form\" as in the table");
    app.add_option("--json", o.json, "write the table there as well");
    return benchmarks::run_app(app, argc, argv, [&o](const std::string& command) {
        if (!o.json.empty()) queue_benchmark::require_record(o.json);
        return benchmark(o, command);
    });
}
