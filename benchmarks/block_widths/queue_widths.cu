// Grids that do nothing but launch, with blocks of every width, on the queue engine.
#include <string>

#include "../queue_engine/kernels.hpp"
#include "../queue_engine/queue_run.cuh"
#include "rows.hpp"

namespace width_benchmark {
namespace {

using namespace queue_benchmark;

/// A grid that continues with one of the same shape, so many times.
struct chain {
    static constexpr const char* name = "chain";

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, int left) const {
        if (block.block_rank() != 0 || block.thread_rank() != 0 || left == 1) return;
        block.then(*this, dynpar::shape(block.num_blocks(), block.num_threads()), left - 1);
    }
};

template <unsigned Threads>
void measure_width(table& t, dynpar::queue_engine& engine) {
    using dynpar::shape;
    const std::string form = std::to_string(Threads) + " threads";
    constexpr int levels = 18;
    measure_run(t, engine, work::tree, form.c_str(), {}, counted(grids_of_tree(levels)), 0, empty_tree<Threads>{},
                shape(1, Threads), levels);
    measure_run(t, engine, work::launches, form.c_str(), {}, counted(1 + children_of_one), 0, launch_many<Threads>{},
                shape(1, 1), children_of_one);
    measure_run(t, engine, work::short_chain, form.c_str(), {}, counted(1000), 0, chain{}, shape(1, Threads), 1000);
    measure_run(t, engine, work::wide_chain, form.c_str(), {}, counted(100), 0, chain{}, shape(1024, Threads), 100);
}

}  // namespace

void measure_widths(table& t) {
    dynpar::queue_engine engine;
    measure_width<32>(t, engine);
    measure_width<64>(t, engine);
    measure_width<128>(t, engine);
    measure_width<256>(t, engine);
    measure_width<512>(t, engine);
}

}  // namespace width_benchmark
