// A binary tree of grids in which every node has the same work: loads from random places of a table, then
// multiply-adds. A node that has children works after them. What a scheduler costs beside real work shows in it.
//
// The work is that of the program tree_load_compute of GTaP, a task runtime for GPUs: a table of 8 MiB, 256 loads and
// 256 multiply-adds a node, and a result of 8 bytes for each, so that the times may be compared.
#pragma once

#include <cmath>
#include <cstdint>

#include <dynpar/dynpar.hpp>

namespace work_tree {

inline constexpr unsigned table_size = 1u << 20;
inline constexpr unsigned loads = 256;  // of a node
inline constexpr unsigned multiply_adds = 256;

/// What all nodes have in common. In the engine's memory, so that a launch carries its address, a node and a height: 16
/// bytes.
struct tree {
    const double* table;  ///< `table_size` numbers
    double* results;      ///< one for each node
    unsigned threads;     ///< of a block, at most; 1: exactly one
    unsigned* width;      ///< the root leaves here how many threads its block had
};

DYNPAR_FUNCTION inline unsigned hash(unsigned x) {
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    return x ^ x >> 16;
}

/// A thread's share of a node's work. The multiply-adds are written as such, so that every machine rounds alike.
DYNPAR_FUNCTION inline double work_of(const double* table, unsigned node, unsigned thread, unsigned threads) {
    const unsigned seed = hash(node ^ 0x9e3779b9u);
    double sum = 0;
    for (unsigned i = thread; i < loads; i += threads) sum += table[hash(seed + i) & (table_size - 1)];
    double x = fma(static_cast<double>(node & 0xff), 1e-9, sum);
    for (unsigned i = thread; i < multiply_adds; i += threads) x = fma(x, 1.0000001192092896, 0.9999999403953552);
    return x;
}

/// The work is shared by the threads of the block; the first one's part of it is the node's result.
template <class Block>
DYNPAR_FUNCTION void do_work(const Block& block, const tree& t, unsigned node) {
    const double x = work_of(t.table, node, block.thread_rank(), block.num_threads());
    if (block.thread_rank() != 0) {
        // Never so: it keeps the compiler from leaving this thread's work out.
        if (x == -1.0) t.results[node] = x;
        return;
    }
    t.results[node] = x;
    if (node == 0) *t.width = block.num_threads();
}

DYNPAR_FUNCTION inline dynpar::shape shape_of(const tree& t) {
    return t.threads == 1 ? dynpar::shape(1, 1) : dynpar::shape(1, dynpar::at_most(t.threads));
}

/// A node after its children.
struct work_after {
    static constexpr const char* name = "work_after";
    const tree* of;

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned node) const {
        do_work(block, *of, node);
    }
};

/// A node that has `height` levels below it. Nodes are numbered as in a heap: the children of n are 2 n + 1 and 2 n +
/// 2.
struct work_node {
    static constexpr const char* name = "work_node";
    const tree* of;

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned node, int height) const {
        if (height == 0) {
            do_work(block, *of, node);
            return;
        }
        if (block.thread_rank() != 0) return;
        const dynpar::shape s = shape_of(*of);
        block.then(work_after{of}, s, node);
        block.launch(*this, s, 2 * node + 1, height - 1);
        block.launch(*this, s, 2 * node + 2, height - 1);
    }
};

/// How many nodes a tree has, and how many grids: an inner node is two.
inline std::uint64_t nodes(int height) { return (std::uint64_t{2} << height) - 1; }
inline std::uint64_t grids(int height) { return nodes(height) + nodes(height) / 2; }

/// The table: the same in every run, of no particular pattern, not negative, so that no sum is -1.
inline double table_entry(unsigned i) { return static_cast<double>(hash(i) % 1000) / 1000; }

}  // namespace work_tree
