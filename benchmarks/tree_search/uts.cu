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
    const tree* const at = there.data();
    const dynpar::buffer<family> root = engine->make_buffer<family>({{at, root_state(of), 0}});
    const family* const root_at = root.data();

    std::uint64_t found = 0;
    const auto forget = [&] { fill(counts, 0); };
    const auto nodes = [&] {
        found = 0;
        for (const number part : counts.to_vector()) found += part;
        return found;
    };
    const auto is_right = [&](const run_facts&) { return found == known.nodes; };
    const dynpar::shape one(1, 1);
    const std::string wide = block_threads == 0 ? "" : ", " + std::string(queue_benchmark::more_warps);
    measure_queue(t, *engine, work, ("child each" + wide).c_str(), forget, nodes, is_right, visit{at}, one,
                  root_of(of));
    measure_queue(t, *engine, work, ("scratch" + wide).c_str(), forget, nodes, is_right, visit_family{}, one, root_at,
                  0u);
    measure_queue(t, *engine, work, ("blocks" + wide).c_str(), forget, nodes, is_right, visit_blocks{at}, one,
                  root_of(of));
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
        measure_by_hand(t, o, names[i], search, search.root(), 1u << 25,
                        [&](const by_hand::tally& found) { return found.nodes + 1 == known.nodes; });
        measure_cpu(t, names[i], is_small, [&] {
            const uts::number nodes = uts::count_on_cpu(known.of).nodes;
            return nodes == known.nodes ? nodes : 0;
        });
    }
}

}  // namespace tree_benchmark
