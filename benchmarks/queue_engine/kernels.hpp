// The kernels of the benchmark that do nothing but launch; those that work are the samples'.
#pragma once

#include <cstdint>

#include <dynpar/dynpar.hpp>

namespace queue_benchmark {

/// A binary tree of grids of one block, of exactly so many threads.
template <unsigned Threads>
struct empty_tree {
    static constexpr const char* name = "empty_tree";

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, int levels) const {
        if (block.thread_rank() != 0 || levels == 0) return;
        block.launch(*this, dynpar::shape(1, Threads), levels - 1);
        block.launch(*this, dynpar::shape(1, Threads), levels - 1);
    }
};

/// What a grid of the trees below gets from its parent.
template <unsigned Bytes>
struct handed_down {
    unsigned words[Bytes / sizeof(unsigned)];
};
/// Whether all bytes came, as hand_down() has written them.
template <unsigned Words>
DYNPAR_FUNCTION bool is_whole(const unsigned (&words)[Words], int level) {
    bool whole = true;
    for (unsigned i = 0; i < Words; ++i) whole = whole && words[i] == static_cast<unsigned>(level) + i;
    return whole;
}
template <unsigned Words>
DYNPAR_FUNCTION void hand_down(unsigned (&words)[Words], int level) {
    for (unsigned i = 0; i < Words; ++i) words[i] = static_cast<unsigned>(level) + i;
}

/// A binary tree of grids of one thread, each with arguments of so many bytes. A grid whose arguments are wrong
/// launches nothing, and so the number of grids shows it.
template <unsigned Bytes>
struct argument_tree {
    static constexpr const char* name = "argument_tree";

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, int levels, handed_down<Bytes - sizeof(int)> data) const {
        if (levels == 0 || !is_whole(data.words, levels)) return;
        hand_down(data.words, levels - 1);
        block.launch(*this, dynpar::shape(1, 1), levels - 1, data);
        block.launch(*this, dynpar::shape(1, 1), levels - 1, data);
    }
};

/// The same with scratch memory of the parent, and a pointer to it.
template <unsigned Bytes>
struct scratch_tree {
    static constexpr const char* name = "scratch_tree";

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, int levels, const handed_down<Bytes>* data) const {
        if (levels == 0 || (data != nullptr && !is_whole(data->words, levels))) return;
        handed_down<Bytes>* const mine = block.template scratch<handed_down<Bytes>>(1);
        if (mine == nullptr) return;
        hand_down(mine->words, levels - 1);
        block.launch(*this, dynpar::shape(1, 1), levels - 1, static_cast<const handed_down<Bytes>*>(mine));
        block.launch(*this, dynpar::shape(1, 1), levels - 1, static_cast<const handed_down<Bytes>*>(mine));
    }
};

/// One thread that launches many blocks of exactly so many threads, each a grid.
template <unsigned Threads>
struct launch_many {
    static constexpr const char* name = "launch_many";

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, int children) const {
        for (int i = 0; i < children; ++i) block.launch(empty_tree<Threads>{}, dynpar::shape(1, Threads), 0);
    }
};

inline constexpr int children_of_one = 4096;

constexpr std::uint64_t grids_of_tree(int levels) { return (std::uint64_t{2} << levels) - 1; }

}  // namespace queue_benchmark
