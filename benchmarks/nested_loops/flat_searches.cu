// Searches of graphs by hand.
#include "flat_row.cuh"
#include "flat_search.cuh"

namespace nested_benchmark {
namespace {

template <flat::goal Goal>
void measure(queue_benchmark::table& t, const options& o, const graph_work& w) {
    const graph_on_device there(w.g);
    using searcher = flat::searcher<Goal>;
    searcher program(there.view(), there.edges(), searcher::most_blocks());
    measure_flat(
        t, w.work, "levels", program,
        [&] { program.prepare(w.first, w.g.begin[w.first], w.g.edges_of(w.first), o.seconds); },
        [&] { return program.distances() == w.expected; });
}

}  // namespace

void measure_flat_bfs(queue_benchmark::table& t, const options& o, const graph_work& w) {
    measure<flat::goal::fewest_steps>(t, o, w);
}
void measure_flat_ways(queue_benchmark::table& t, const options& o, const graph_work& w) {
    measure<flat::goal::shortest_ways>(t, o, w);
}

}  // namespace nested_benchmark
