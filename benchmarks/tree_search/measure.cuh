// How a row of this benchmark is measured: on the queue engine, by hand, on the CPU. Included by files that have
// nothing but rows in them.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <dynpar/engine/queue.cuh>

#include "../queue_engine/counted_run.cuh"
#include "../queue_engine/device_memory.hpp"
#include "by_hand.cuh"
#include "rows.hpp"

namespace tree_benchmark {

using queue_benchmark::contender;
using queue_benchmark::run_facts;
using queue_benchmark::table;

/// An engine that gives up after the time that is asked for.
inline std::unique_ptr<dynpar::queue_engine> make_engine(const options& o, unsigned block_threads = 0) {
    return queue_benchmark::make_engine(o.seconds, block_threads);
}

using queue_benchmark::measure_queue;

/// Both searches by hand, with as many blocks as the GPU holds. `first`: where they begin. `visited`: nodes that the
/// host has visited before.
template <class Search>
void measure_by_hand(table& t, const options& o, const char* work, const Search& search,
                     const std::vector<typename Search::node>& first, std::uint64_t visited,
                     std::function<bool(const by_hand::tally&)> is_right) {
    using by_hand::way;
    using searcher = by_hand::searcher<Search>;
    for (const auto& [name, how] : {std::pair(by::levels, way::levels), std::pair(by::stacks, way::stacks)}) {
        contender c;
        c.work = work;
        c.engine = name;
        c.form = "by hand";
        if (c.name().find(t.asked().only) == std::string::npos) continue;
        const auto most_blocks = [](auto kernel) {
            return cooperative::most_blocks(kernel, by_hand::block_threads, searcher::shared_bytes);
        };
        const unsigned blocks = how == way::levels ? most_blocks(&by_hand::search_levels<Search>)
                                                   : most_blocks(&by_hand::search_stacks<Search>);
        // Two levels, in a quarter of the memory that is free, and no more than the trees here need.
        std::size_t free = 0;
        std::size_t all = 0;
        dynpar::check(cudaMemGetInfo(&free, &all), "asking for the free memory");
        const std::size_t most_nodes = std::min(free / 4 / (2 * sizeof(typename Search::node)), std::size_t{1} << 25);
        searcher s(how, blocks, static_cast<unsigned>(most_nodes));
        by_hand::control result{};
        c.prepare = [&] { s.prepare(first, o.seconds); };
        c.start = [&] {
            s.start(search, t.stream());
            return [&] {
                result = s.result();
                return run_facts{result.total.nodes + visited, 0, {}};
            };
        };
        c.is_right = [&](const run_facts&) {
            const char* const why = result.out_of_time != 0     ? "time is up"
                                    : result.out_of_memory != 0 ? "there is no room for more nodes"
                                                                : nullptr;
            if (why != nullptr) std::fprintf(stderr, "tree_search: %s: given up: %s\n", c.name().c_str(), why);
            return why == nullptr && is_right(result.total);
        };
        t.measure(c);
    }
}

/// `search` returns how many nodes there were, 0 if anything is wrong. It takes long: one run, three of a small tree
/// where there is time.
inline void measure_cpu(table& t, const options& o, const char* work, bool is_small,
                        const std::function<std::uint64_t()>& search) {
    queue_benchmark::measure_cpu(t, work, by::one_core, is_small && !o.is_quick ? 3 : 1, search);
}

}  // namespace tree_benchmark
