// A quadtree on an engine: its memory, and what is read from it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include <dynpar/buffer.hpp>

#include "kernels.hpp"
#include "on_cpu.hpp"

namespace quadtree {

/// What a tree is built with.
struct settings {
    unsigned leaf = default_leaf;
    unsigned depth = default_depth;
    unsigned threads = default_threads;
    bool is_moldable = false;
    unsigned by_block = default_by_block;
};

/// All that a run of `begin{address()}` needs. `Memory` has `make_buffer` as engines have.
class tree_memory {
public:
    template <class Memory>
    tree_memory(Memory& memory, const std::vector<point>& points, const settings& s)
        : points_(memory.template make_buffer<point>(points.size())),
          spare_(memory.template make_buffer<point>(points.size())),
          nodes_(memory.template make_buffer<node>(most_nodes(points.size(), s.leaf, s.depth))),
          used_(memory.template make_buffer<unsigned>(1)),
          tree_(memory.template make_buffer<tree>(1)),
          settings_(s) {
        const tree t{points_.data(),
                     spare_.data(),
                     nodes_.data(),
                     static_cast<unsigned>(nodes_.size()),
                     used_.data(),
                     s.leaf,
                     smallest_side(s.depth),
                     s.threads,
                     s.is_moldable ? 1u : 0u,
                     s.by_block};
        tree_.copy_from(&t);
        prepare(points);
    }

    /// Before each run. All points as they were given, and the root.
    void prepare(const std::vector<point>& points) {
        points_.copy_from(points.data());
        std::vector<node> nodes(nodes_.size(), node{});
        nodes[0] = root_of(static_cast<unsigned>(points.size()));
        nodes_.copy_from(nodes.data());
        used_.fill(1);
    }

    const tree* address() const { return tree_.data(); }
    built_tree result() const {
        std::vector<node> nodes = nodes_.to_vector();
        nodes.resize(std::min<std::size_t>(nodes.size(), used_.value()));
        return {points_.to_vector(), std::move(nodes), settings_.leaf, smallest_side(settings_.depth)};
    }

private:
    dynpar::buffer<point> points_;
    dynpar::buffer<point> spare_;
    dynpar::buffer<node> nodes_;
    dynpar::buffer<unsigned> used_;
    dynpar::buffer<tree> tree_;
    settings settings_;
};

}  // namespace quadtree
