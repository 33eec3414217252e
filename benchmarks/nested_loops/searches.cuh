// Searches of graphs with nested loops as the benchmark measures them: the sample's, and breadth first with other
// thresholds, and with loops that a whole block shares.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <memory>
#include <vector>

#include <dynpar/dynpar.hpp>

#include "graph_on_device.cuh"

namespace nested_benchmark {

/// The sample's search, with thresholds that are known when it runs; the engine chooses what is 0.
struct tuned_search : graphs::search {
    unsigned in_place, piece;
};

/// A thread for each vertex of the frontier, in blocks of a width that suits the engine, or of 256 that share.
template <bool ByBlocks>
struct visit_frontier {
    static constexpr const char* name = "visit_frontier";
    static constexpr unsigned block_threads = 256;
    using visit = graphs::visit_neighbour;
    static constexpr unsigned block_bytes = block_threads * dynpar::nested_for_bytes<visit>;

    template <class Block>
    static DYNPAR_FUNCTION dynpar::shape shape_for(const Block& block, graphs::frontier_view frontier) {
        if (!ByBlocks) return frontier.shape(block, dynpar::at_most(block_threads));
        return dynpar::shape((frontier.size() - 1) / block_threads + 1, block_threads, block_bytes);
    }

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, graphs::frontier_view frontier, const tuned_search* s) const {
        const unsigned* const item = frontier.item(block);
        const unsigned from = item != nullptr ? *item : 0;
        const unsigned edges = item != nullptr ? s->g.begin[from + 1] - s->g.begin[from] : 0;
        dynpar::nested_for_options options;
        options.in_place = s->in_place;
        options.piece = s->piece;
        if constexpr (ByBlocks) {
            auto* const memory = block.template shared<std::byte>(block_bytes);
            dynpar::nested_for(dynpar::this_block(block, memory), edges, visit(frontier, s, from), options);
        } else {
            dynpar::nested_for(block, edges, visit(frontier, s, from), options);
        }
    }
};

/// One thread, after each round: begins the next one.
template <bool ByBlocks>
struct next_round {
    static constexpr const char* name = "next_round";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, graphs::frontier_view frontier, const tuned_search* s) const {
        if (frontier.advance() == 0) return;
        using kernel = visit_frontier<ByBlocks>;
        block.launch(kernel{}, kernel::shape_for(block, frontier), frontier, s);
        block.then(*this, dynpar::shape(1, 1), frontier, s);
    }
};

/// A row with other thresholds than the engine's own.
struct tuning {
    const char* form;
    unsigned in_place, piece;
};

/// A search in device memory.
class search_on_device {
public:
    explicit search_on_device(const graph_work& w)
        : of_(w),
          graph_(w.g),
          distance_(queue_benchmark::on_device<unsigned>(w.g.vertices())),
          queued_(queue_benchmark::on_device<unsigned>(w.g.vertices())),
          search_(queue_benchmark::on_device<tuned_search>(1)),
          frontier_(dynpar::detail::cuda_memory(), w.g.vertices()) {}

    void prepare(const tuning& how = {}) {
        queue_benchmark::fill(distance_, 0xff);
        queue_benchmark::fill(queued_, 0);
        dynpar::check(cudaMemset(distance_.data() + of_.first, 0, sizeof(unsigned)), "preparing a search");
        tuned_search s{};
        s.g = graph_.view();
        s.distance = distance_.data();
        s.queued = queued_.data();
        s.in_place = how.in_place;
        s.piece = how.piece;
        search_.copy_from(&s);
        frontier_.begin_with({of_.first});
    }
    bool is_right() const { return distance_.to_vector() == of_.expected; }
    const tuned_search* data() const { return search_.data(); }
    graphs::frontier_view frontier() const { return frontier_.view(); }

private:
    const graph_work& of_;
    graph_on_device graph_;
    dynpar::buffer<unsigned> distance_, queued_;
    dynpar::buffer<tuned_search> search_;
    dynpar::frontier<unsigned> frontier_;
};

}  // namespace nested_benchmark
