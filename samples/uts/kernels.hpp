// Unbalanced tree search: counts the nodes of a tree that nobody knows before it has been searched. Every node is a
// state of 20 bytes, the SHA-1 digest of its parent's state and its own number among the children; the state says how
// many children the node has. The trees are those of the benchmark UTS (Olivier and others, "UTS: An Unbalanced Tree
// Search Benchmark", 2006), so that the counts can be compared with published ones.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <dynpar/dynpar.hpp>

#include "sha1.hpp"

namespace uts {

using number = unsigned long long;

inline constexpr unsigned most_children = 100;        // of every node but a binomial tree's root
inline constexpr unsigned most_root_children = 4095;  // the numbers of children have 12 bits in a launch
inline constexpr unsigned deepest = (1u << 20) - 1;   // and depths 20
inline constexpr unsigned counters = 1024;            // nodes are counted in so many places

enum class shape_of_tree : unsigned {
    geometric,  ///< down to a depth the numbers of children are drawn from one geometric distribution ("fixed")
    binomial,   ///< every node but the root has the same number of children with a probability, and none else
};

/// What all nodes have in common. In the engine's memory: a launch carries its address.
struct tree {
    shape_of_tree kind;
    unsigned seed;
    unsigned root_children;  ///< of a binomial tree
    unsigned children;       ///< of a binomial tree's inner nodes
    unsigned inner_below;    ///< such a node is an inner one if its number is less: a probability times 2^31
    unsigned depth;          ///< nodes of a geometric tree that are so deep are leaves
    double inverse_log;      ///< 1 / log(1 - p) of the geometric distribution
    number* counts;          ///< `counters` of them, which together have the number of nodes
};

inline tree geometric_tree(unsigned mean_children, unsigned depth, unsigned seed) {
    tree t{};
    t.kind = shape_of_tree::geometric;
    t.seed = seed;
    t.depth = depth;
    t.inverse_log = 1 / std::log(1 - 1 / (1.0 + mean_children));
    return t;
}
/// `millionths`: the probability that a node is an inner one.
inline tree binomial_tree(unsigned root_children, unsigned children, unsigned millionths, unsigned seed) {
    tree t{};
    t.kind = shape_of_tree::binomial;
    t.seed = seed;
    t.root_children = root_children;
    t.children = children;
    t.inner_below = static_cast<unsigned>(std::ceil(millionths / 1e6 * 2147483648.0));
    return t;
}

DYNPAR_FUNCTION inline digest root_state(const tree& t) { return sha1(digest{{0, 0, 0, 0, t.seed}}); }
template <sha1_code Code = sha1_code::short_loops>
DYNPAR_FUNCTION inline digest child_state(const digest& parent, unsigned index) {
    return sha1<Code>(parent, index);
}

/// How many children a node has: 31 bits of its state decide.
DYNPAR_FUNCTION inline unsigned children_of(const tree& t, const digest& state, unsigned depth) {
    const unsigned drawn = state.word[4] & 0x7fffffffu;
    if (t.kind == shape_of_tree::binomial) {
        if (depth == 0) return t.root_children;
        return drawn < t.inner_below ? t.children : 0;
    }
    if (depth >= t.depth) return 0;
    const double children = floor(log(1 - drawn / 2147483648.0) * t.inverse_log);
    return children < most_children ? static_cast<unsigned>(children) : most_children;
}

/// A child as its parent's state and its number: 24 bytes, with the kernel's pointer 32, which is what a launch has
/// room for. So the child computes its own state, and a parent with many children does not hold up its warp.
struct child {
    digest parent;
    unsigned depth_and_index;  ///< the child's depth, and 12 bits with its number among the children
};
DYNPAR_FUNCTION inline child child_at(const digest& parent, unsigned depth, unsigned index) {
    return {parent, depth << 12 | index};
}
/// The root is the only one at depth 0. Its state is here in place of its parent's.
inline child root_of(const tree& t) { return child_at(root_state(t), 0, 0); }

DYNPAR_FUNCTION inline void count_node(const tree& t, const digest& state) {
    dynpar::atomic_add(t.counts + state.word[0] % counters, number{1});
}

// ---- Three ways to launch the children of a node

/// Each child is a grid of one thread.
struct visit {
    static constexpr const char* name = "visit";
    const tree* of;

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, child c) const {
        const unsigned depth = c.depth_and_index >> 12;
        const digest state = depth == 0 ? c.parent : child_state(c.parent, c.depth_and_index & 0xfff);
        count_node(*of, state);
        const unsigned children = children_of(*of, state, depth);
        for (unsigned i = 0; i < children; ++i) block.launch(*this, dynpar::shape(1, 1), child_at(state, depth + 1, i));
    }
};

/// All children of a node are one grid, a block of one thread for each.
struct visit_blocks {
    static constexpr const char* name = "visit_blocks";
    const tree* of;

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, child c) const {
        const unsigned depth = c.depth_and_index >> 12;
        const digest state = depth == 0 ? c.parent : child_state(c.parent, block.block_rank());
        count_node(*of, state);
        const unsigned children = children_of(*of, state, depth);
        if (children != 0) block.launch(*this, dynpar::shape(children, 1), child_at(state, depth + 1, 0));
    }
};

/// What siblings have in common, in their parent's scratch memory: a launch carries its address and a number, 16 bytes.
struct family {
    const tree* of;
    digest parent;
    unsigned depth;  ///< of the children; 0: the root's own state is here
};

/// Each child is a grid of one thread that finds its parent's state in scratch memory.
struct visit_family {
    static constexpr const char* name = "visit_family";

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, const family* from, unsigned index) const {
        const tree& t = *from->of;
        const unsigned depth = from->depth;
        const digest state = depth == 0 ? from->parent : child_state(from->parent, index);
        count_node(t, state);
        const unsigned children = children_of(t, state, depth);
        if (children == 0) return;
        family* mine = block.template scratch<family>(1);
        if (mine == nullptr) return;  // no memory: the run's report says so
        *mine = {&t, state, depth + 1};
        for (unsigned i = 0; i < children; ++i)
            block.launch(*this, dynpar::shape(1, 1), static_cast<const family*>(mine), i);
    }
};

enum class form : int { child, scratch, blocks };

/// Begins the search. One kernel for all forms: the device code of an engine is compiled for each kernel that the host
/// runs. Its grid is one more than there are nodes.
struct begin {
    static constexpr const char* name = "begin";
    const tree* of;
    form how;

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, child root) const {
        const dynpar::shape one(1, 1);
        if (how == form::child) {
            block.launch(visit{of}, one, root);
        } else if (how == form::blocks) {
            block.launch(visit_blocks{of}, one, root);
        } else {
            family* mine = block.template scratch<family>(1);
            if (mine == nullptr) return;  // no memory: the run's report says so
            *mine = {of, root.parent, 0};
            block.launch(visit_family{}, one, static_cast<const family*>(mine), 0u);
        }
    }
};

// ---- On the CPU

struct tree_size {
    number nodes;
    number leaves;
    unsigned depth;  ///< of the deepest node
};

/// One thread with a stack of nodes. Stops where there are more nodes than `most`.
inline tree_size count_on_cpu(const tree& t, number most = ~number{0}) {
    struct node {
        digest state;
        unsigned depth;
    };
    tree_size size{};
    std::vector<node> stack{{root_state(t), 0}};
    while (!stack.empty() && size.nodes <= most) {
        const node n = stack.back();
        stack.pop_back();
        ++size.nodes;
        if (n.depth > size.depth) size.depth = n.depth;
        const unsigned children = children_of(t, n.state, n.depth);
        if (children == 0) ++size.leaves;
        for (unsigned i = 0; i < children; ++i) stack.push_back({child_state(n.state, i), n.depth + 1});
    }
    return size;
}

/// A tree of the benchmark, and how many nodes it has as published.
struct known_tree {
    const char* name;
    tree of;
    number nodes;
};
inline std::vector<known_tree> known_trees() {
    return {{"T1", geometric_tree(4, 10, 19), 4130071},
            {"T1L", geometric_tree(4, 13, 29), 102181082},
            {"T3", binomial_tree(2000, 8, 124875, 42), 4112897},
            {"T3L", binomial_tree(2000, 5, 200014, 7), 111345631}};
}

}  // namespace uts
