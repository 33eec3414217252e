// Adaptive integration in three dimensions: the sample's two forms, by hand, on the CPU.
//
// The rule needs more registers than are left to a kernel where worker blocks have 1,024 threads.
#define DYNPAR_QUEUE_MOST_THREADS 512

#include <cmath>

#include "../../samples/integrate/kernels.hpp"
#include "measure.cuh"
#include "searches.cuh"

namespace tree_benchmark {

namespace {

using namespace integrate;
using queue_benchmark::fill;
using queue_benchmark::on_device;

constexpr unsigned dimensions = 3;
constexpr double tolerance = 1e-10;

struct task {
    const char* name;
    function kind;
    double sharpness;
    unsigned long long cells;  // on a CPU
    bool is_quick;
};
constexpr task tasks[] = {
    {work::peak, function::peak, 10, 2248303, true},
    {work::bell, function::bell, 10, 2638155, true},
    {work::sharp_peak, function::peak, 50, 51244255, false},
};

// A GPU rounds a little differently, and few cells lie so near to the tolerance that it matters.
bool is_right(const task& what, double sum, unsigned long long cells) {
    const double known = known_integral(make_problem<dimensions>(what.kind, what.sharpness, tolerance), dimensions);
    const double difference = static_cast<double>(cells) - static_cast<double>(what.cells);
    return std::fabs(sum - known) <= tolerance * known &&
           std::fabs(difference) <= 0.001 * static_cast<double>(what.cells);
}

void measure_forms(table& t, const options& o, const task& what) {
    const auto engine = make_engine(o);
    const dynpar::buffer<double> sums = on_device<double>(counters);
    const dynpar::buffer<unsigned long long> accepted = on_device<unsigned long long>(counters);
    problem p = make_problem<dimensions>(what.kind, what.sharpness, tolerance);
    p.sums = sums.data();
    p.accepted = accepted.data();
    const dynpar::buffer<problem> there = engine->make_buffer<problem>({p});
    for (const auto& [name, joins] : {std::pair("then", true), std::pair("add", false)}) {
        const auto forget = [&] {
            fill(sums, 0);
            fill(accepted, 0);
        };
        const auto is_this_right = [&, joins = joins](const run_facts& f) {
            double sum = 0;
            for (const double part : sums.to_vector()) sum += part;
            unsigned long long leaves = 0;
            for (const unsigned long long part : accepted.to_vector()) leaves += part;
            return is_right(what, sum, f.grids) && (joins || 2 * leaves - 1 == f.grids);
        };
        measure_queue(
            t, *engine, what.name, name, forget,
            [joins = joins](const dynpar::report& r) { return cells_of(r.grids, joins); }, is_this_right,
            begin<dimensions>{there.data(), joins}, dynpar::shape(1, 1), sums.data());
    }
}

}  // namespace

void measure_integrals(table& t, const options& o) {
    for (const task& what : tasks) {
        if ((o.is_quick && !what.is_quick) || !t.wants(what.name)) continue;
        measure_forms(t, o, what);
        const problem p = make_problem<dimensions>(what.kind, what.sharpness, tolerance);
        const by_hand::integral_search<dimensions> search{p};
        measure_by_hand(t, o, what.name, search, {search.root()}, 1, [&](const by_hand::tally& found) {
            return is_right(what, found.sum, found.nodes + 1) && 2 * found.found == found.nodes + 2;
        });
        measure_cpu(t, o, what.name, what.is_quick, [&] {
            const findings found = integrate_on_cpu<dimensions>(p);
            return is_right(what, found.sum, found.cells) ? found.cells : 0;
        });
    }
}

}  // namespace tree_benchmark
