// Forests and colours of graphs on the queue engine.
#include <dynpar/engine/queue.cuh>

#include "forest_and_colours.cuh"
#include "queue_row.cuh"

namespace nested_benchmark {

void measure_queue_forest(queue_benchmark::table& t, const options& o, const forest_work& w) {
    const forest_on_device there(w);
    const auto engine = make_engine(o, 0);
    measure_queue(
        t, *engine, w.work, "nested_reduce", [&] { there.prepare(); }, [&] { return there.is_right(); },
        graphs::next_forest_round{}, dynpar::shape(1, 1), there.data());
}

void measure_queue_colours(queue_benchmark::table& t, const options& o, const graph_work& w) {
    colours_on_device there(w);
    const auto engine = make_engine(o, 0);
    measure_queue(
        t, *engine, w.work, "nested_reduce", [&] { there.prepare(); }, [&] { return there.is_right(); },
        graphs::colour_all{}, dynpar::shape(1, 1), there.waiting(), there.data());
}

}  // namespace nested_benchmark
