// Searches of graphs on the queue engine.
#include <string>

#include <dynpar/engine/queue.cuh>

#include "searches.cuh"
#include "queue_row.cuh"

namespace nested_benchmark {
namespace {

using queue_benchmark::table;

template <class Kernel, class Search>
void measure(table& t, const graph_work& w, search_on_device& there, dynpar::queue_engine& engine, const tuning& how,
             const std::string& form, Kernel kernel, const Search* search) {
    measure_queue(
        t, engine, w.work, form, [&] { there.prepare(how); }, [&] { return there.is_right(); }, kernel,
        dynpar::shape(1, 1), there.frontier(), search);
}

void measure_forms(table& t, const options& o, const graph_work& w, search_on_device& there, unsigned block_threads) {
    using namespace graphs;
    const auto engine = make_engine(o, block_threads);
    const std::string wide = block_threads == 0 ? "" : ", " + std::to_string(block_threads);
    const graphs::search* const plain = there.data();
    measure(t, w, there, *engine, {}, "nested_for" + wide, search_forward<visit_neighbour>{}, plain);
    measure(t, w, there, *engine, {}, "nested_for, both ways" + wide, search_both_ways{}, plain);
    if (!o.has_sweep) return;
    for (const tuning& how :
         {tuning{"in place 128", 128, 0}, tuning{"in place 256", 256, 0}, tuning{"in place 512", 512, 0},
          tuning{"in place 1024", 1024, 0}, tuning{"in place 2048", 2048, 0}, tuning{"piece 512", 0, 512},
          tuning{"piece 2048", 0, 2048}, tuning{"256, piece 1024", 256, 1024}, tuning{"1024, piece 512", 1024, 512}})
        measure(t, w, there, *engine, how, how.form + wide, next_round<false>{}, there.data());
    measure(t, w, there, *engine, {}, "by blocks" + wide, next_round<true>{}, there.data());
}

}  // namespace

void measure_queue_bfs(table& t, const options& o, const graph_work& w) {
    search_on_device there(w);
    measure_forms(t, o, w, there, 0);
    if (DYNPAR_QUEUE_MOST_THREADS >= 1024) measure_forms(t, o, w, there, 1024);
}

void measure_queue_ways(table& t, const options& o, const graph_work& w) {
    search_on_device there(w);
    const auto engine = make_engine(o, 0);
    measure(t, w, there, *engine, {}, "nested_for", graphs::search_forward<graphs::shorten_way>{},
            static_cast<const graphs::search*>(there.data()));
}

}  // namespace nested_benchmark
