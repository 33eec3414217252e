// Forests and colours by hand.
#include "flat_colouring.cuh"
#include "flat_forest.cuh"
#include "flat_row.cuh"

namespace nested_benchmark {

void measure_flat_forest(queue_benchmark::table& t, const options& o, const forest_work& w) {
    const graph_on_device there(w.g);
    flat::spanner program(there.view(), there.edges(), flat::spanner::most_blocks());
    measure_flat(
        t, w.work, "edges", program, [&] { program.prepare(o.seconds); },
        [&] {
            const flat::forest_control found = program.result();
            return found.weight == w.weight && found.edges == w.edges;
        });
}

void measure_flat_colours(queue_benchmark::table& t, const options& o, const graph_work& w) {
    const graph_on_device there(w.g);
    flat::colourer program(there.view(), flat::colourer::most_blocks());
    measure_flat(
        t, w.work, "by sizes", program, [&] { program.prepare(o.seconds); },
        [&] { return program.colours() == w.expected; });
}

}  // namespace nested_benchmark
