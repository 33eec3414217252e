// The sample's forests and colours of graphs as the benchmark measures them: what they work on, in device memory.
#pragma once

#include <numeric>
#include <vector>

#include "../../samples/graph/colouring.hpp"
#include "../../samples/graph/forest.hpp"
#include "graph_on_device.cuh"

namespace nested_benchmark {

/// All vertices, in order.
inline std::vector<unsigned> all_vertices(const graphs::graph& g) {
    std::vector<unsigned> all(g.vertices());
    std::iota(all.begin(), all.end(), 0u);
    return all;
}

class forest_on_device {
public:
    explicit forest_on_device(const forest_work& w)
        : of_(w),
          graph_(w.g),
          itself_(queue_benchmark::on_device(all_vertices(w.g), w.g.vertices())),
          component_(queue_benchmark::on_device<unsigned>(w.g.vertices())),
          joined_to_(queue_benchmark::on_device<unsigned>(w.g.vertices())),
          lightest_(queue_benchmark::on_device<graphs::edge_key>(w.g.vertices())),
          forest_(queue_benchmark::on_device<graphs::forest>(1)) {}

    void prepare() const {
        queue_benchmark::copy(component_, itself_);
        queue_benchmark::copy(joined_to_, itself_);
        queue_benchmark::fill(lightest_, 0xff);  // no edge
        const graphs::forest f{graph_.view(), component_.data(), joined_to_.data(), lightest_.data(), 0, 0, 1};
        dynpar::check(cudaMemcpy(forest_.data(), &f, sizeof f, cudaMemcpyHostToDevice), "preparing a forest");
    }
    bool is_right() const {
        const graphs::forest f = forest_.value();
        return f.weight == of_.weight && f.edges == of_.edges;
    }
    graphs::forest* data() const { return forest_.data(); }
    unsigned vertices() const { return of_.g.vertices(); }

private:
    const forest_work& of_;
    graph_on_device graph_;
    dynpar::buffer<unsigned> itself_, component_, joined_to_;
    dynpar::buffer<graphs::edge_key> lightest_;
    dynpar::buffer<graphs::forest> forest_;
};

class colours_on_device {
public:
    explicit colours_on_device(const graph_work& w)
        : of_(w),
          graph_(w.g),
          all_(all_vertices(w.g)),
          colour_(queue_benchmark::on_device<unsigned>(w.g.vertices())),
          colouring_(queue_benchmark::on_device<graphs::colouring>(1)),
          waiting_(dynpar::detail::cuda_memory(), w.g.vertices()) {}

    void prepare() {
        queue_benchmark::fill(colour_, 0xff);  // no colour
        const graphs::colouring c{graph_.view(), colour_.data()};
        colouring_.copy_from(&c);
        waiting_.begin_with(all_);
    }
    bool is_right() const { return colour_.to_vector() == of_.expected; }
    const graphs::colouring* data() const { return colouring_.data(); }
    graphs::frontier_view waiting() const { return waiting_.view(); }

private:
    const graph_work& of_;
    graph_on_device graph_;
    std::vector<unsigned> all_;
    dynpar::buffer<unsigned> colour_;
    dynpar::buffer<graphs::colouring> colouring_;
    dynpar::frontier<unsigned> waiting_;
};

}  // namespace nested_benchmark
