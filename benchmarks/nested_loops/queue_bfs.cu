// Breadth-first searches on the queue engine.
#include <cstdio>
#include <string>

#include <dynpar/engine/queue.cuh>

#include "bfs.cuh"

namespace nested_benchmark {
namespace {

using queue_benchmark::contender;
using queue_benchmark::run_facts;
using queue_benchmark::table;

/// A run that failed is a wrong one, and what it says goes to standard error.
template <bool ByBlocks>
void measure(table& t, const graph_search& s, const search_on_device& there, dynpar::queue_engine& engine,
             const tuning& how, const std::string& form) {
    bool has_failed = false;
    contender c;
    c.work = s.work;
    c.engine = queue_benchmark::by::queue_engine;
    c.form = form;
    c.prepare = [&] { there.prepare(how); };
    c.start = [&] {
        dynpar::queue_handle handle =
            engine.enqueue(t.stream(), next_round<ByBlocks>{}, dynpar::shape(1, 1), there.data());
        return [&, handle]() mutable {
            const dynpar::report r = handle.wait();
            if (r.failed_calls != 0 && !has_failed)
                std::fprintf(stderr, "nested_loops: %s: %s\n", form.c_str(), dynpar::describe_failures(r).c_str());
            has_failed = r.failed_calls != 0;
            return run_facts{r.grids, r.lost_launches, r.needed.live_bytes};
        };
    };
    c.is_right = [&](const run_facts&) { return !has_failed && there.is_right(); };
    t.measure(c);
}

void measure_forms(table& t, const options& o, const graph_search& s, const search_on_device& there,
                   unsigned block_threads) {
    dynpar::queue_options options;
    options.deadline_milliseconds = static_cast<unsigned long long>(o.seconds * 1e3);
    options.block_threads = block_threads;
    options.limits.sync_depth = 0;  // nothing waits
    dynpar::queue_engine engine(options);
    const std::string wide = block_threads == 0 ? "" : ", " + std::to_string(block_threads);
    measure<false>(t, s, there, engine, {}, "nested_for" + wide);
    if (!o.has_sweep) return;
    for (const tuning& how :
         {tuning{"in place 64", 64, 0}, tuning{"in place 128", 128, 0}, tuning{"in place 512", 512, 0},
          tuning{"in place 1024", 1024, 0}, tuning{"in place 4096", 4096, 0}, tuning{"piece 512", 0, 512},
          tuning{"piece 2048", 0, 2048}, tuning{"512, piece 512", 512, 512}})
        measure<false>(t, s, there, engine, how, how.form + wide);
    measure<true>(t, s, there, engine, {}, "by blocks" + wide);
}

}  // namespace

void measure_queue_bfs(table& t, const options& o, const graph_search& s) {
    const search_on_device there(s);
    measure_forms(t, o, s, there, 0);
    if (DYNPAR_QUEUE_MOST_THREADS >= 1024) measure_forms(t, o, s, there, 1024);
}

}  // namespace nested_benchmark
