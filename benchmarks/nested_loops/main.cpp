// Loops of another length in each thread: nested loops on both engines of a GPU, beside plain kernels that launch, flat
// kernels by hand, and one core of the CPU: one process, one table, every result checked.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <functional>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include <dynpar/cuda_error.hpp>

#include "../../samples/graph/on_cpu.hpp"
#include "../programs/rows.hpp"
#include "../queue_engine/record.hpp"
#include "../run_app.hpp"
#include "means.hpp"
#include "rows.hpp"

namespace {

using namespace nested_benchmark;
using queue_benchmark::table;

void measure_one_core(table& t, const char* work, const std::function<bool()>& run_and_compare) {
    queue_benchmark::contender c;
    c.work = work;
    c.engine = by::one_core;
    c.most_runs = 1;
    c.first_counts = true;
    bool is_right = false;
    c.start = [&] {
        is_right = run_and_compare();
        return [] { return queue_benchmark::run_facts{}; };
    };
    c.is_right = [&](const queue_benchmark::run_facts&) { return is_right; };
    t.measure(c);
}

void measure_bfs(table& t, const options& o, const char* work, const graphs::graph& g) {
    if (!t.wants(work)) return;
    const graphs::vertex first = graphs::busiest(g);
    const graph_work w{work, g, first, graphs::steps_from(g, first)};
    measure_queue_bfs(t, o, w);
    measure_cdp_bfs(t, o, w);
    measure_flat_bfs(t, o, w);
    measure_one_core(t, work, [&] { return graphs::steps_from(g, first) == w.expected; });
}

void measure_ways(table& t, const options& o, const char* work, const graphs::graph& g) {
    if (!t.wants(work)) return;
    const graphs::vertex first = graphs::busiest(g);
    const graph_work w{work, g, first, graphs::lengths_from(g, first)};
    measure_queue_ways(t, o, w);
    measure_cdp_ways(t, o, w);
    measure_flat_ways(t, o, w);
    measure_one_core(t, work, [&] { return graphs::lengths_from(g, first) == w.expected; });
}

void measure_colours(table& t, const options& o, const char* work, const graphs::graph& g) {
    if (!t.wants(work)) return;
    const graph_work w{work, g, 0, graphs::colours_of(g)};
    measure_queue_colours(t, o, w);
    measure_cdp_colours(t, o, w);
    measure_flat_colours(t, o, w);
    measure_one_core(t, work, [&] { return graphs::colours_of(g) == w.expected; });
}

void measure_forest(table& t, const options& o, const char* work, const graphs::graph& g) {
    if (!t.wants(work)) return;
    const graphs::forest_size expected = graphs::forest_of(g);
    const forest_work w{work, g, expected.weight, expected.edges};
    measure_queue_forest(t, o, w);
    measure_cdp_forest(t, o, w);
    measure_flat_forest(t, o, w);
    measure_one_core(t, work, [&] { return graphs::forest_of(g).weight == w.weight; });
}

/// All programs on one graph; those that it is not asked for have no name. It is drawn if one of them is wanted.
struct graph_works {
    const char* bfs;
    const char* ways;
    const char* forest;
    const char* colours;
};
void measure_graph(table& t, const options& o, const graph_works& works, const std::function<graphs::graph()>& draw) {
    const auto wants = [&](const char* work) { return work != nullptr && t.wants(work); };
    if (!wants(works.bfs) && !wants(works.ways) && !wants(works.forest) && !wants(works.colours)) return;
    const graphs::graph g = draw();
    if (works.bfs != nullptr) measure_bfs(t, o, works.bfs, g);
    if (works.ways != nullptr) measure_ways(t, o, works.ways, g);
    if (works.forest != nullptr) measure_forest(t, o, works.forest, g);
    if (works.colours != nullptr) measure_colours(t, o, works.colours, g);
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
    std::vector<std::string> works(std::begin(work::all), std::end(work::all));
    works.push_back(program_benchmark::work::mandelbrot);
    table t(o.table, works);
    const auto rmat = [](unsigned scale) { return [scale] { return graphs::draw_rmat(scale, scale); }; };
    const auto roads = [](unsigned side) { return [side] { return graphs::draw_roads(side, 1); }; };
    measure_graph(t, o, {work::bfs_small, nullptr, nullptr, nullptr}, rmat(14));
    measure_families(t, o, work::families_small, 1u << 10, 1u << 12);
    measure_curves(t, o, work::curves_small, 1000, 1e-4f);
    if (!o.is_quick) {
        measure_families(t, o, work::families_20, 1u << 20, 1u << 22);
        measure_curves(t, o, work::curves_5, 100000, 1e-6f);
        measure_graph(t, o, {nullptr, work::ways_18, work::forest_18, work::colours_18}, rmat(18));
        measure_graph(t, o, {work::bfs_20, nullptr, work::forest_20, nullptr}, rmat(20));
        measure_graph(t, o, {nullptr, work::ways_roads, nullptr, nullptr}, roads(512));
        measure_graph(t, o, {work::bfs_roads, nullptr, nullptr, work::colours_roads}, roads(1024));
        measure_graph(t, o, {work::bfs_22, nullptr, nullptr, nullptr}, rmat(22));
    }
    std::vector<queue_benchmark::row> rows = t.rows();
    bool all_right = t.all_right();
    if (!o.is_quick && t.wants(program_benchmark::work::mandelbrot)) {
        table pixels(o.table, works, "pixels");
        program_benchmark::measure_mandelbrot(pixels, o.seconds);
        rows.insert(rows.end(), pixels.rows().begin(), pixels.rows().end());
        all_right = all_right && pixels.all_right();
    }
    if (rows.empty()) throw std::invalid_argument("--only: no row has \"" + o.table.only + "\" in its name");
    print_means(rows);
    if (!o.table.json.empty()) {
        nlohmann::ordered_json record = queue_benchmark::begin_record("nested_loops", command);
        for (const queue_benchmark::row& r : rows)
            record["results"].push_back(
                queue_benchmark::to_json(r, r.work == program_benchmark::work::mandelbrot ? "pixels" : "grids"));
        queue_benchmark::write_record(o.table.json, record);
    }
    return all_right ? 0 : 1;
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
