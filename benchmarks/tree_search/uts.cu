// Unbalanced tree search: the sample's three forms, by hand, on the CPU.
#include "../../samples/uts/kernels.hpp"
#include "measure.cuh"
#include "searches.cuh"

namespace tree_benchmark {

namespace {

using queue_benchmark::fill;
using queue_benchmark::on_device;

void measure_forms(table& t, const options& o, const char* work, const uts::known_tree& known, unsigned block_threads) {
    using namespace uts;
    const auto engine = make_engine(o, block_threads);
    const dynpar::buffer<number> counts = on_device<number>(counters);
    tree of = known.of;
    of.counts = counts.data();
    const dynpar::buffer<tree> there = engine->make_buffer<tree>({of});
    std::uint64_t found = 0;
    const auto forget = [&] { fill(counts, 0); };
    const auto nodes = [&](const dynpar::report&) {
        found = 0;
        for (const number part : counts.to_vector()) found += part;
        return found;
    };
    const auto is_right = [&](const run_facts&) { return found == known.nodes; };
    const std::string wide = block_threads == 0 ? "" : ", " + std::string(queue_benchmark::more_warps);
    for (const auto& [name, how] : {std::pair("child each", form::child), std::pair("scratch", form::scratch),
                                    std::pair("blocks", form::blocks)}) {
        measure_queue(t, *engine, work, (name + wide).c_str(), forget, nodes, is_right, begin{there.data(), how},
                      dynpar::shape(1, 1), root_of(of));
    }
}

}  // namespace

void measure_uts(table& t, const options& o) {
    const char* const names[] = {work::uts_t1, work::uts_t1l, work::uts_t3, work::uts_t3l};
    const std::vector<uts::known_tree> trees = uts::known_trees();
    for (std::size_t i = 0; i < trees.size(); ++i) {
        const uts::known_tree& known = trees[i];
        const bool is_small = known.nodes < 10000000;
        if ((o.is_quick && !is_small) || !t.wants(names[i])) continue;
        measure_forms(t, o, names[i], known, 0);
        if (DYNPAR_QUEUE_MOST_THREADS >= 1024) measure_forms(t, o, names[i], known, 1024);
        const by_hand::uts_search search{known.of};
        measure_by_hand(t, o, names[i], search, {search.root()}, 1,
                        [&](const by_hand::tally& found) { return found.nodes + 1 == known.nodes; });
        measure_cpu(t, o, names[i], is_small, [&] {
            const uts::number nodes = uts::count_on_cpu(known.of).nodes;
            return nodes == known.nodes ? nodes : 0;
        });
    }
}

}  // namespace tree_benchmark
