// A graph in device memory.
#pragma once

#include "../../samples/graph/kernels.hpp"
#include "../queue_engine/device_memory.hpp"
#include "rows.hpp"

namespace nested_benchmark {

class graph_on_device {
public:
    explicit graph_on_device(const graphs::graph& g)
        : begin_(queue_benchmark::on_device(g.begin, g.begin.size())),
          neighbours_(queue_benchmark::on_device(g.neighbours, g.neighbours.size())),
          weights_(queue_benchmark::on_device(g.weights, g.weights.size())) {}

    graphs::graph_view view() const {
        return {static_cast<unsigned>(begin_.size() - 1), begin_.data(), neighbours_.data(), weights_.data()};
    }
    unsigned edges() const { return static_cast<unsigned>(neighbours_.size()); }

private:
    dynpar::buffer<unsigned> begin_, neighbours_, weights_;
};

}  // namespace nested_benchmark
