// Trees of one-thread grids that hand data down, on the queue engine: as arguments, and in scratch memory.
#include "kernels.hpp"
#include "queue_run.cuh"

namespace queue_benchmark {
namespace {

constexpr int levels = 21;

template <unsigned Bytes>
void measure(table& t, dynpar::queue_engine& engine, const char* work) {
    using dynpar::shape;
    handed_down<Bytes - sizeof(int)> data;
    hand_down(data.words, levels);
    measure_run(t, engine, work, "arguments", {}, counted(grids_of_tree(levels)), 0, argument_tree<Bytes>{},
                shape(1, 1), levels, data);
    measure_run(t, engine, work, "scratch", {}, counted(grids_of_tree(levels)), 0, scratch_tree<Bytes>{}, shape(1, 1),
                levels, static_cast<const handed_down<Bytes>*>(nullptr));
}

}  // namespace

void measure_queue_arguments(table& t) {
    if (!t.wants(work::tree_48) && !t.wants(work::tree_200)) return;
    dynpar::queue_engine engine;
    measure<48>(t, engine, work::tree_48);
    measure<200>(t, engine, work::tree_200);
}

}  // namespace queue_benchmark
