// The rows of dynpar's engine on the device runtime: the same kernels as on the queue engine.
#include <cuda_runtime.h>

#include <functional>
#include <utility>

#include <dynpar/dynpar.hpp>

#include "../../samples/fib/kernels.hpp"
#include "../../samples/n_queens/kernels.hpp"
#include "../../samples/recursive_reduce/kernels.hpp"
#include "device_memory.hpp"
#include "kernels.hpp"
#include "table.hpp"

namespace queue_benchmark {
namespace {

using dynpar::shape;

/// The row of a run that the engine does from beginning to end; its own waiting is in the time.
template <class Kernel, class... Args>
void measure_run(table& t, dynpar::cdp_engine& engine, const char* work, const char* form,
                 std::function<void()> prepare, std::function<bool(const run_facts&)> is_right, Kernel kernel,
                 const shape& s, Args... args) {
    contender c;
    c.work = work;
    c.engine = by::cdp_engine;
    c.form = form;
    c.prepare = std::move(prepare);
    c.is_right = std::move(is_right);
    c.start = [&] {
        const dynpar::report r = engine.try_run(kernel, s, args...);
        const run_facts facts{r.grids, r.lost_launches, r.needed.live_bytes};
        return [facts] { return facts; };
    };
    t.measure(c);
}

}  // namespace

void measure_cdp_engine(table& t) {
    dynpar::limits limits;
    limits.pending_launches = pending_launches;
    const dynpar::scoped_limits raised(limits);
    dynpar::cdp_engine engine;
    const auto counted = [](std::uint64_t grids) { return [grids](const run_facts& f) { return f.grids == grids; }; };

    measure_run(t, engine, work::empty_task, "", {}, counted(1), empty_tree<32>{}, shape(1, 32), 0);
    measure_run(t, engine, work::tree_14, "", {}, counted(grids_of_tree(14)), empty_tree<32>{}, shape(1, 32), 14);
    measure_run(t, engine, work::tree_64, "", {}, counted(grids_of_tree(12)), empty_tree<64>{}, shape(1, 64), 12);
    measure_run(t, engine, work::many_64, "", {}, counted(1 + children_of_one), launch_many<64>{}, shape(1, 1),
                children_of_one);

    if (t.wants(work::fib_15)) {
        using namespace fibonacci;
        const dynpar::buffer<number> result = on_device<number>(1);
        measure_run(
            t, engine, work::fib_15, "then", [&] { fill(result, 0xff); },
            [&](const run_facts& f) { return result.to_vector()[0] == expected(15) && f.grids == grids(15, false); },
            fib{}, shape(1, 1), result.data(), 15);
    }
    if (t.wants(work::queens_8)) {
        using namespace queens;
        const dynpar::buffer<number> solutions = on_device<number>(1);
        measure_run(
            t, engine, work::queens_8, "", [&] { fill(solutions, 0); },
            [&](const run_facts&) { return solutions.to_vector()[0] == expected(8); }, place_queen{solutions.data()},
            shape(1, 1), empty_board(8, 0));
    }

    using namespace recursive_reduction;
    if (t.wants(work::reduce_20) || t.wants(work::reduce2_20)) {
        const blocks_to_add d(1u << 20);
        const auto prepare = [&] { d.prepare(); };
        measure_run(
            t, engine, work::reduce_20, "exact, sums added", prepare,
            [&](const run_facts&) { return d.total_is_right(); }, recursive_reduce_then{},
            shape(d.blocks(), block_size), d.numbers(), d.sums(), block_size, d.total());
        measure_run(
            t, engine, work::reduce2_20, "exact", prepare, [&](const run_facts&) { return d.sums_are_right(); },
            recursive_reduce2_tail{}, shape(d.blocks(), block_size / 2), d.numbers(), d.sums(), block_size / 2,
            block_size);
    }
    if (t.wants(work::cutoff_28)) {
        const blocks_to_add d(most_to_add);
        constexpr unsigned cutoff = 1u << 14;
        measure_run(
            t, engine, work::cutoff_28, "", [&] { d.prepare(); }, [&](const run_facts&) { return d.total_is_right(); },
            recursive_reduce_cutoff{}, recursive_reduce_cutoff::shape_for(1, cutoff), d.source(),
            static_cast<unsigned>(most_to_add), cutoff, d.total());
    }
}

}  // namespace queue_benchmark
