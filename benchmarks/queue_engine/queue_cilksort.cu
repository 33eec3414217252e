// The sample cilksort on the queue engine.
#include "../../samples/cilksort/kernels.hpp"
#include "queue_run.cuh"

namespace queue_benchmark {

void measure_queue_cilksort(table& t) {
    if (!t.wants(work::sort)) return;
    dynpar::queue_engine engine;
    const dynpar::buffer<int> source = on_device(numbers_to_sort(), to_sort);
    const dynpar::buffer<int> numbers = on_device<int>(to_sort);
    const dynpar::buffer<int> spare = on_device<int>(to_sort);
    dynpar::buffer<cilksort::job> there = on_device<cilksort::job>(1);
    const cilksort::job job{numbers.data(),
                            spare.data(),
                            0,
                            cilksort::default_leaf,
                            cilksort::default_merged_by_block,
                            cilksort::default_merged_by_thread};
    there.copy_from(&job);
    measure_run(
        t, engine, work::sort, "cilksort", [&] { copy(numbers, source); },
        [&](const run_facts&) { return numbers.to_vector() == sorted_numbers(); }, 0,
        cilksort::sort_range{there.data()}, cilksort::shape_of(job, 1), 0u, static_cast<unsigned>(to_sort));
}

}  // namespace queue_benchmark
