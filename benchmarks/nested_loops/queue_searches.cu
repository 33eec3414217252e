// Searches of graphs on the queue engine.
#include <string>

#include <dynpar/engine/queue.cuh>

#include "searches.cuh"
#include "queue_row.cuh"

namespace nested_benchmark {
namespace {

using queue_benchmark::table;

template <bool ByBlocks>
void measure(table& t, const graph_work& w, const search_on_device& there, dynpar::queue_engine& engine,
             const tuning& how, const std::string& form) {
    measure_queue(
        t, engine, w.work, form, [&] { there.prepare(how); }, [&] { return there.is_right(); }, next_round<ByBlocks>{},
        dynpar::shape(1, 1), there.data());
}

void measure_forms(table& t, const options& o, const graph_work& w, const search_on_device& there,
                   unsigned block_threads) {
    const auto engine = make_engine(o, block_threads);
    const std::string wide = block_threads == 0 ? "" : ", " + std::to_string(block_threads);
    measure<false>(t, w, there, *engine, {}, "nested_for" + wide);
    measure_queue(
        t, *engine, w.work, "nested_for, both ways" + wide, [&] { there.prepare(); }, [&] { return there.is_right(); },
        graphs::next_round<graphs::visit_neighbour, graphs::ways::both>{}, dynpar::shape(1, 1),
        static_cast<graphs::search*>(there.data()));
    if (!o.has_sweep) return;
    for (const tuning& how :
         {tuning{"in place 128", 128, 0}, tuning{"in place 256", 256, 0}, tuning{"in place 512", 512, 0},
          tuning{"in place 1024", 1024, 0}, tuning{"in place 2048", 2048, 0}, tuning{"piece 512", 0, 512},
          tuning{"piece 2048", 0, 2048}, tuning{"256, piece 1024", 256, 1024}, tuning{"1024, piece 512", 1024, 512}})
        measure<false>(t, w, there, *engine, how, how.form + wide);
    measure<true>(t, w, there, *engine, {}, "by blocks" + wide);
}

}  // namespace

void measure_queue_bfs(table& t, const options& o, const graph_work& w) {
    const search_on_device there(w);
    measure_forms(t, o, w, there, 0);
    if (DYNPAR_QUEUE_MOST_THREADS >= 1024) measure_forms(t, o, w, there, 1024);
}

void measure_queue_ways(table& t, const options& o, const graph_work& w) {
    const search_on_device there(w);
    const auto engine = make_engine(o, 0);
    measure_queue(
        t, *engine, w.work, "nested_for", [&] { there.prepare(); }, [&] { return there.is_right(); },
        graphs::next_round<graphs::shorten_way>{}, dynpar::shape(1, 1), static_cast<graphs::search*>(there.data()));
}

}  // namespace nested_benchmark
