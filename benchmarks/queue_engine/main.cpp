// What a task costs on the queue engine, beside CUDA's device runtime, with and without dynpar, and CUB: one process,
// every result checked. A table, and what was reached of what was aimed at.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <dynpar/cuda_error.hpp>

#include "../run_benchmark.hpp"
#include "record.hpp"
#include "table.hpp"

namespace {

using namespace queue_benchmark;
using json = nlohmann::ordered_json;

constexpr const char* usage =
    "queue_engine_benchmark [--runs N] [--only TEXT] [--json FILE]\n"
    "  --runs N     runs of each row, 1 to 100000 (9); fewer of those that take a second\n"
    "  --only TEXT  only rows with this in their name: \"work, by, form\" as in the table\n"
    "  --json FILE  write the tables there as well\n";

// False if only the usage was asked for.
bool parse(int argc, char** argv, options& o) {
    for (int i = 1; i < argc; ++i) {
        const std::string name = argv[i];
        if (name == "--help" || name == "-h") return false;
        if (name != "--runs" && name != "--only" && name != "--json")
            throw std::invalid_argument("unknown argument " + name + "; see --help");
        if (i + 1 == argc) throw std::invalid_argument(name + " lacks its value; see --help");
        const std::string value = argv[++i];
        if (name == "--runs") {
            char* end = nullptr;
            const long runs = std::strtol(value.c_str(), &end, 10);
            if (value.empty() || *end != '\0' || runs < 1 || runs > 100000) {
                throw std::invalid_argument("--runs: \"" + value + "\" will not do; give an integer from 1 to 100000");
            }
            o.runs = static_cast<unsigned>(runs);
        } else if (name == "--only") {
            o.only = value;
        } else {
            if (value.empty()) throw std::invalid_argument("--json: give the name of a file");
            require_record(value);
            o.json = value;
        }
    }
    return true;
}

// ---- What is aimed at

struct goal {
    const char* work;
    const char* unit;
    double must;
    double aim;
    bool more_is_better;
    std::optional<double> reached;

    bool reaches(double bound) const { return more_is_better ? *reached >= bound : *reached <= bound; }
};

std::vector<goal> goals_of(const table& t) {
    const auto milliseconds = [&](const char* work, const char* engine, const char* form) -> std::optional<double> {
        const row* r = t.find(work, engine, form);
        if (r == nullptr || r->wrong_runs != 0) return {};
        return r->milliseconds.median;
    };
    const auto queue = [&](const char* work, const char* form) { return milliseconds(work, by::queue_engine, form); };
    const auto ratio = [](std::optional<double> other, std::optional<double> ours) -> std::optional<double> {
        if (!other || !ours) return {};
        return *other / *ours;
    };
    const auto rate = [&](const char* form) -> std::optional<double> {
        const row* r = t.find(work::tree_22_warp, by::queue_engine, form);
        if (r == nullptr || r->wrong_runs != 0) return {};
        return r->tasks_per_second() * 1e-6;
    };
    std::optional<double> cutoff;  // the best cut-off
    for (const char* form :
         {"cut-off 2^13", "cut-off 2^14", "cut-off 2^15", "cut-off 2^16", "cut-off 2^17", "a part a warp"}) {
        const std::optional<double> time = queue(work::cutoff_28, form);
        if (time && (!cutoff || *time < *cutoff)) cutoff = time;
    }
    return {
        {work::tree_22_warp, "M tasks/s", 400, 1000, true, rate("")},
        {work::tree_22_lane, "ms", 2, 0.7, false, queue(work::tree_22_lane, "")},
        {"gpuRecursiveReduce, 2^20, against plain CDP2, fire and forget", "times", 100, 150, true,
         ratio(milliseconds(work::reduce_20, by::plain_cdp2, "fire and forget"), queue(work::reduce_20, "moldable"))},
        {"gpuRecursiveReduce, 2^24, against plain CDP2, default stream", "times", 400, 1000, true,
         ratio(milliseconds(work::reduce_24, by::plain_cdp2, "default stream"), queue(work::reduce_24, "moldable"))},
        {"gpuRecursiveReduce2, 2^20, against plain CDP2, fire and forget", "times", 1, 3, true,
         ratio(milliseconds(work::reduce2_20, by::plain_cdp2, "fire and forget"), queue(work::reduce2_20, "moldable"))},
        {"sum with a cut-off, 2^28, against cub::DeviceReduce", "times", 0.8, 0.97, true,
         ratio(milliseconds(work::cutoff_28, by::cub, "DeviceReduce::Sum"), cutoff)},
        {"fib(40), no cut-off, a lane each", "ms", 90, 50, false, queue(work::fib_40, "then")},
        {work::queens_14, "ms", 2.4, 1.5, false, queue(work::queens_14, "")},
        {work::queens_16, "ms", 80, 45, false, queue(work::queens_16, "")},
        {"cilksort of 50,000,000 ints", "ms", 60, 27, false, queue(work::sort, "cilksort")},
        {work::work_tree_lane, "ms", 20, 12, false, queue(work::work_tree_lane, "")},
        {work::work_tree_wide, "ms", 75, 45, false, queue(work::work_tree_wide, "")},
        {"fixed cost of a run, 1 empty task", "ms", 0.040, 0.015, false, queue(work::empty_task, "")},
        {"with worker blocks of 1,024 threads: empty tree, a warp each", "M tasks/s", 400, 1000, true,
         rate(more_warps)},
        {"with worker blocks of 1,024 threads: gpuRecursiveReduce, 2^24", "times", 400, 1000, true,
         ratio(milliseconds(work::reduce_24, by::plain_cdp2, "default stream"), queue(work::reduce_24, more_warps))},
        {"with worker blocks of 1,024 threads: N-Queens 14", "ms", 2.4, 1.5, false, queue(work::queens_14, more_warps)},
        {"with worker blocks of 1,024 threads: N-Queens 16", "ms", 80, 45, false, queue(work::queens_16, more_warps)},
        {"with worker blocks of 1,024 threads: tree with join, 256 threads", "ms", 75, 45, false,
         queue(work::work_tree_wide, more_warps)},
    };
}

void print(const std::vector<goal>& goals) {
    std::printf("\n%-64s %-10s %10s %10s %10s\n", "queue engine", "unit", "must", "aim", "reached");
    for (const goal& g : goals) {
        if (!g.reached) continue;
        std::printf("%-64s %-10s %10.5g %10.5g %10.5g  %s\n", g.work, g.unit, g.must, g.aim, *g.reached,
                    g.reaches(g.aim)    ? "aim"
                    : g.reaches(g.must) ? "must"
                                        : "missed");
    }
}

void write(const table& t, const std::vector<goal>& goals, const std::string& command) {
    json record = begin_record("queue_engine_benchmark", command);
    record["device_runtime_pending_launches"] = pending_launches;
    record["queue_engine_relocatable_device_code"] = queue_rows_are_relocatable();
    for (const row& r : t.rows()) record["results"].push_back(to_json(r, "grids"));
    for (const goal& g : goals) {
        if (!g.reached) continue;
        record["goals"].push_back({{"work", g.work},
                                   {"unit", g.unit},
                                   {"must", g.must},
                                   {"aim", g.aim},
                                   {"reached", *g.reached},
                                   {"verdict", g.reaches(g.aim)    ? "aim"
                                               : g.reaches(g.must) ? "must"
                                                                   : "missed"}});
    }
    write_record(t.asked().json, record);
}

int benchmark(const options& o, const std::string& command) {
    int device_count = 0;
    const cudaError_t found = cudaGetDeviceCount(&device_count);
    if (found != cudaSuccess || device_count == 0) {
        std::fprintf(stderr,
                     "queue_engine_benchmark: needs a GPU: there is none to use (%s); run it on a machine with one\n",
                     cudaGetErrorString(found));
        return 2;
    }
    cudaDeviceProp properties{};
    dynpar::check(cudaGetDeviceProperties(&properties, 0), "asking for the GPU's name");
    std::printf("%s; medians of up to %u runs by events; queue engine compiled %s relocatable device code\n",
                properties.name, o.runs, queue_rows_are_relocatable() ? "with" : "without");
    table t(o, {std::begin(work::all), std::end(work::all)});
    // The device runtime first: the queue engine sets the stack of a thread, and it stays.
    measure_plain_cdp2(t);
    measure_cdp_engine(t);
    measure_cub(t);
    measure_queue_trees(t);
    measure_queue_arguments(t);
    measure_queue_recursions(t);
    measure_queue_reductions(t);
    measure_queue_cilksort(t);
    measure_queue_work_tree(t);
    if (t.rows().empty()) throw std::invalid_argument("--only: no row has \"" + o.only + "\" in its name");
    const std::vector<goal> goals = goals_of(t);
    print(goals);
    if (!o.json.empty()) write(t, goals, command);
    return t.all_right() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    return benchmarks::run_benchmark<options>("queue_engine_benchmark", usage, argc, argv, parse, benchmark);
}
