// Real tree searches on the queue engine, beside the same by hand in plain CUDA and on one core of the CPU: one
// process, one table, every count checked.
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

using namespace tree_benchmark;

int benchmark(const options& o, const std::string& command) {
    int device_count = 0;
    const cudaError_t found = cudaGetDeviceCount(&device_count);
    if (found != cudaSuccess || device_count == 0) {
        std::fprintf(stderr, "tree_search: needs a GPU: there is none to use (%s); run it on a machine with one\n",
                     cudaGetErrorString(found));
        return 2;
    }
    cudaDeviceProp properties{};
    dynpar::check(cudaGetDeviceProperties(&properties, 0), "asking for the GPU's name");
    std::printf("%s; medians of up to %u runs by events; levels and stacks: by hand, in plain CUDA\n", properties.name,
                o.table.runs);
    queue_benchmark::table t(o.table, {std::begin(work::all), std::end(work::all)}, "nodes");
    measure_uts(t, o);
    measure_sudoku(t, o);
    measure_integrals(t, o);
    if (t.rows().empty()) throw std::invalid_argument("--only: no row has \"" + o.table.only + "\" in its name");
    if (!o.table.json.empty()) {
        nlohmann::ordered_json record = queue_benchmark::begin_record("tree_search", command);
        for (const queue_benchmark::row& r : t.rows()) record["results"].push_back(to_json(r, "nodes"));
        queue_benchmark::write_record(o.table.json, record);
    }
    return t.all_right() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    options o;
    CLI::App app("Tree searches on the queue engine, beside the same by hand and on one core of the CPU.",
                 "tree_search");
    app.add_option("--runs", o.table.runs, "runs of each row (9); fewer of those that take a second")
        ->check(CLI::Range(1, 100000));
    app.add_option("--only", o.table.only, "only rows with this in their name: \"work, by, form\" as in the table");
    app.add_option("--json", o.table.json, "write the table there as well");
    app.add_option("--seconds", o.seconds, "a run that takes longer is given up (20)")
        ->check(CLI::Range(0.001, 3600.0));
    app.add_flag("--quick", o.is_quick, "without the largest trees, of up to 100 million nodes");
    return benchmarks::run_app(app, argc, argv, [&o](const std::string& command) {
        if (!o.table.json.empty()) queue_benchmark::require_record(o.table.json);
        return benchmark(o, command);
    });
}
