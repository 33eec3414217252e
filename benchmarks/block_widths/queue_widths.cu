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

struct empty_grid {
    static constexpr const char* name = "empty_grid";

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block&) const {}
};
/// A thread that launches a grid and then continues, so many times: how searches of graphs go from round to round.
struct round_after_round {
    static constexpr const char* name = "round_after_round";

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned left, unsigned blocks, unsigned threads) const {
        if (left == 0) return;
        block.launch(empty_grid{}, dynpar::shape(blocks, threads));
        block.then(*this, dynpar::shape(1, 1), left - 1, blocks, threads);
    }
};

void measure_rounds(table& t, dynpar::queue_engine& engine) {
    constexpr unsigned rounds = 100;
    for (const unsigned blocks : {1u, 4u, 16u, 32u, 200u}) {
        const std::string form = std::to_string(blocks) + (blocks == 1 ? " block of 32" : " blocks of 32");
        measure_run(t, engine, work::rounds, form.c_str(), {}, counted(1 + 2 * rounds), 0, round_after_round{},
                    dynpar::shape(1, 1), rounds, blocks, 32u);
    }
}

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
    measure_rounds(t, engine);
    measure_width<32>(t, engine);
    measure_width<64>(t, engine);
    measure_width<128>(t, engine);
    measure_width<256>(t, engine);
    measure_width<512>(t, engine);
}

}  // namespace width_benchmark
