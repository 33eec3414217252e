// Parents with their children, and Bezier curves, on the queue engine.
#include "loops.cuh"
#include "queue_row.cuh"

namespace nested_benchmark {

using dynpar::at_most;
using dynpar::shape_for;

void measure_queue_families(queue_benchmark::table& t, const options& o, const family_work& w) {
    const families_on_device there(w);
    for (const unsigned block_threads : {0u, 1024u}) {
        if (block_threads > DYNPAR_QUEUE_MOST_THREADS) continue;
        const auto engine = make_engine(o, block_threads);
        const std::string wide = block_threads == 0 ? "" : ", " + std::to_string(block_threads);
        for (const auto& [name, how] :
             {std::pair("nested_for", families::form::share), std::pair("nested_reduce", families::form::reduce)})
            measure_queue(
                t, *engine, w.work, name + wide, [&] { there.prepare(); }, [&] { return there.is_right(); },
                visit_parents{how}, shape_for(*engine, there.view().parents, at_most(256)), there.view());
    }
}

void measure_queue_curves(queue_benchmark::table& t, const options& o, const curve_work& w) {
    const curves_on_device there(w);
    for (const unsigned block_threads : {0u, 1024u}) {
        if (block_threads > DYNPAR_QUEUE_MOST_THREADS) continue;
        const auto engine = make_engine(o, block_threads);
        const std::string wide = block_threads == 0 ? "" : ", " + std::to_string(block_threads);
        measure_queue(
            t, *engine, w.work, "nested_for" + wide, [&] { there.prepare(); }, [&] { return there.is_right(); },
            curves::draw_curves{}, shape_for(*engine, there.count(), at_most(256)), there.data());
    }
}

}  // namespace nested_benchmark
