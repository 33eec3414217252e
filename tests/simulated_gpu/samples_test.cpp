// Kernels of samples that search trees: in all their forms, on the queue engine.
#include <dynpar/dynpar.hpp>

#include <doctest/doctest.h>

#include "../../samples/uts/kernels.hpp"

namespace {

dynpar::queue_engine small_engine() {
    dynpar::queue_options options;
    options.block_threads = 64;
    options.worker_blocks = 2;
    options.memory_bytes = 64 << 20;
    return dynpar::queue_engine(options);
}

}  // namespace

TEST_CASE("every form of the unbalanced tree search counts what the CPU counts") {
    using namespace uts;
    for (tree t : {geometric_tree(3, 4, 1), binomial_tree(40, 4, 200000, 3)}) {
        const number expected = count_on_cpu(t).nodes;
        REQUIRE(expected > 50);
        REQUIRE(expected < 1000);
        dynpar::queue_engine engine = small_engine();
        for (const int form : {0, 1, 2}) {
            dynpar::buffer<number> counts = engine.make_buffer<number>(counters);
            counts.fill(0);
            t.counts = counts.data();
            const dynpar::buffer<tree> there = engine.make_buffer<tree>({t});
            const tree* of = there.data();
            const dynpar::buffer<family> root = engine.make_buffer<family>({{of, root_state(t), 0}});
            const family* from = root.data();
            const dynpar::shape one(1, 1);
            const dynpar::report report = form == 0   ? engine.run(visit{of}, one, root_of(t))
                                          : form == 1 ? engine.run(visit_blocks{of}, one, root_of(t))
                                                      : engine.run(visit_family{}, one, from, 0u);
            number found = 0;
            for (const number part : counts.to_vector()) found += part;
            CHECK(found == expected);
            if (form != 1) CHECK(report.grids == expected);
        }
    }
}
