// Loops of another length in each thread: nested loops on both engines of a GPU, beside plain kernels that launch, flat
// kernels by hand, and one core of the CPU: one process, one table, every result checked.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <iterator>
#include <stdexcept>
#include <string>
#include <utility>

#include <dynpar/cuda_error.hpp>

#include "../../samples/graph/on_cpu.hpp"
#include "../queue_engine/record.hpp"
#include "../run_app.hpp"
#include "rows.hpp"

namespace {

using namespace nested_benchmark;
using queue_benchmark::table;

void measure_bfs(table& t, const options& o, const char* work, graphs::graph g) {
    graph_search s{work, std::move(g), 0, {}};
    s.first = graphs::busiest(s.g);
    s.steps = graphs::steps_from(s.g, s.first);
    measure_queue_bfs(t, o, s);
    measure_cdp_bfs(t, o, s);
    measure_flat_bfs(t, o, s);
    queue_benchmark::contender c;
    c.work = work;
    c.engine = by::one_core;
    c.most_runs = 1;
    c.first_counts = true;
    bool is_right = false;
    c.start = [&] {
        is_right = graphs::steps_from(s.g, s.first) == s.steps;
        return [] { return queue_benchmark::run_facts{}; };
    };
    c.is_right = [&](const queue_benchmark::run_facts&) { return is_right; };
    t.measure(c);
}

void measure_families(table& t, const options& o, const char* work, unsigned parents, unsigned longest) {
    if (!t.wants(work)) return;
    family_work w{work, families::draw_families(parents, longest, 1), {}};
    w.sums = families::sums_on_cpu(w.begin);
    measure_queue_families(t, o, w);
    measure_cdp_families(t, o, w);
    measure_flat_families(t, o, w);
}

void measure_curves(table& t, const options& o, const char* work, unsigned count, float tolerance) {
    if (!t.wants(work)) return;
    curve_work w{work, curves::draw(count, 1), tolerance, 0};
    w.points = static_cast<unsigned>(curves::points_of(w.drawn, tolerance));
    measure_queue_curves(t, o, w);
    measure_cdp_curves(t, o, w);
    measure_flat_curves(t, o, w);
}

int benchmark(const options& o, const std::string& command) {
    int device_count = 0;
    const cudaError_t found = cudaGetDeviceCount(&device_count);
    if (found != cudaSuccess || device_count == 0) {
        std::fprintf(stderr, "nested_loops: needs a GPU: there is none to use (%s); run it on a machine with one\n",
                     cudaGetErrorString(found));
        return 2;
    }
    cudaDeviceProp properties{};
    dynpar::check(cudaGetDeviceProperties(&properties, 0), "asking for the GPU's name");
    std::printf("%s; medians of up to %u runs by events\n", properties.name, o.table.runs);
    table t(o.table, {std::begin(work::all), std::end(work::all)});
    if (t.wants(work::bfs_small)) measure_bfs(t, o, work::bfs_small, graphs::draw_rmat(14, 14));
    measure_families(t, o, work::families_small, 1u << 10, 1u << 12);
    measure_curves(t, o, work::curves_small, 1000, 1e-4f);
    if (!o.is_quick) {
        measure_families(t, o, work::families_20, 1u << 20, 1u << 22);
        measure_curves(t, o, work::curves_5, 100000, 1e-6f);
        if (t.wants(work::bfs_20)) measure_bfs(t, o, work::bfs_20, graphs::draw_rmat(20, 20));
        if (t.wants(work::bfs_roads)) measure_bfs(t, o, work::bfs_roads, graphs::draw_roads(1024, 1));
        if (t.wants(work::bfs_22)) measure_bfs(t, o, work::bfs_22, graphs::draw_rmat(22, 22));
    }
    if (t.rows().empty()) throw std::invalid_argument("--only: no row has \"" + o.table.only + "\" in its name");
    if (!o.table.json.empty()) {
        nlohmann::ordered_json record = queue_benchmark::begin_record("nested_loops", command);
        for (const queue_benchmark::row& r : t.rows())
            record["results"].push_back(queue_benchmark::to_json(r, "grids"));
        queue_benchmark::write_record(o.table.json, record);
    }
    return t.all_right() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    options o;
    CLI::App app("Loops of another length in each thread, shared by threads and child grids.", "nested_loops");
    app.add_option("--runs", o.table.runs, "runs of each row (9)")->check(CLI::Range(1, 100000));
    app.add_option("--only", o.table.only, "only rows with this in their name: \"work, by, form\" as in the table");
    app.add_option("--json", o.table.json, "write the table there as well");
    app.add_option("--seconds", o.seconds, "a run that takes longer is given up (20)")
        ->check(CLI::Range(0.001, 3600.0));
    app.add_flag("--quick", o.is_quick, "small inputs alone");
    app.add_flag("--sweep", o.has_sweep, "other thresholds as well");
    return benchmarks::run_app(app, argc, argv, [&o](const std::string& command) {
        if (!o.table.json.empty()) queue_benchmark::require_record(o.table.json);
        return benchmark(o, command);
    });
}
