// Tasks that do nothing, on the queue engine.
#include "kernels.hpp"
#include "queue_run.cuh"

namespace queue_benchmark {

bool queue_rows_are_relocatable() { return DYNPAR_HAS_DEVICE_LAUNCH != 0; }

void measure_queue_trees(table& t) {
    using dynpar::shape;
    dynpar::queue_engine engine;
    measure_run(t, engine, work::empty_task, "", {}, counted(1), 0, empty_tree<1>{}, shape(1, 1), 0);
    measure_run(t, engine, work::tree_14, "", {}, counted(grids_of_tree(14)), 0, empty_tree<32>{}, shape(1, 32), 14);
    measure_run(t, engine, work::tree_22_lane, "", {}, counted(grids_of_tree(22)), 0, empty_tree<1>{}, shape(1, 1), 22);
    measure_run(t, engine, work::tree_22_warp, "", {}, counted(grids_of_tree(22)), 0, empty_tree<32>{}, shape(1, 32),
                22);
    if (const auto wide = engine_with_more_warps(t, work::tree_22_warp)) {
        measure_run(t, *wide, work::tree_22_warp, more_warps, {}, counted(grids_of_tree(22)), 0, empty_tree<32>{},
                    shape(1, 32), 22);
    }
    measure_run(t, engine, work::tree_29, "", {}, counted(grids_of_tree(29)), 3, empty_tree<1>{}, shape(1, 1), 29);
    measure_run(t, engine, work::tree_64, "", {}, counted(grids_of_tree(12)), 0, empty_tree<64>{}, shape(1, 64), 12);
    measure_run(t, engine, work::many_64, "", {}, counted(1 + children_of_one), 0, launch_many<64>{}, shape(1, 1),
                children_of_one);
}

}  // namespace queue_benchmark
