// quicksort: a block partitions its part of the keys around a pivot, and launches a grid for each side. Blocks of some
// warps: as many as are asked for, none of them moldable.
//
// Keys go from one array into another: those less than the pivot to the begin of the part, greater ones to its end, and
// between them the pivot itself, as often as it was found. A block takes a tile of the part at a time, puts it in order
// in shared memory, and takes places for it at both ends. So it makes no difference whether one block takes all tiles
// or many blocks take some each: where a part is too large for one block, a grid partitions it, and a continuation
// launches the sides.
#pragma once

#include <cstddef>

#include <dynpar/dynpar.hpp>

namespace quicksort {

using key = unsigned;

/// What all grids of a sort have in common. In the engine's memory, so that a launch carries no more than its address
/// and a part.
struct job {
    key* keys;
    key* spare;         ///< as many
    unsigned threads;   ///< of every block
    unsigned leaf;      ///< a block sorts as many keys in shared memory, without launching
    unsigned by_block;  ///< a block partitions as many by itself
};

/// Some of the keys. They lie in the spare array or in the other one, and belong into the other one.
struct part {
    unsigned first;
    unsigned count;
    unsigned in_spare;
};

inline constexpr unsigned default_threads = 128;
inline constexpr unsigned default_leaf = 512;  // with the tile of a block below what a team of four warps has on a GPU
inline constexpr unsigned most_leaf = 8192;
inline constexpr unsigned default_by_block = 16384;
inline constexpr unsigned samples_of_part = 32;  // the pivot is their median
inline constexpr unsigned keys_of_thread = 4;    // of a tile
inline constexpr unsigned tiles_of_block = 8;    // about, where many blocks partition a part

DYNPAR_FUNCTION constexpr unsigned keys_of_tile(unsigned threads) { return keys_of_thread * threads; }
/// Blocks that partition so many keys together, or fill as many places.
DYNPAR_FUNCTION constexpr unsigned blocks_for(const job& work, unsigned count) {
    const unsigned of_block = tiles_of_block * keys_of_tile(work.threads);
    return (count + of_block - 1) / of_block;
}

/// What a network that sorts so many keys is made for.
DYNPAR_FUNCTION constexpr unsigned power_of_two_from(unsigned count) {
    unsigned result = 1;
    while (result < count) result *= 2;
    return result;
}

/// How many keys of a tile are less than the pivot and greater, or where such keys go: counted from both ends.
struct sides {
    unsigned less;
    unsigned greater;
};

/// The shared memory of a block that partitions.
struct partition_memory {
    void* collective;
    sides* taken;   ///< by a block that partitions by itself
    sides* places;  ///< that the tile at hand gets
    sides* found;   ///< in it
    key* pivot;
    key* tile;

    static constexpr unsigned bytes_before_tile = dynpar::collective_bytes + 3 * sizeof(sides) + 2 * sizeof(key);

    DYNPAR_FUNCTION explicit partition_memory(std::byte* memory) : collective(memory) {
        taken = reinterpret_cast<sides*>(memory + dynpar::collective_bytes);
        places = taken + 1;
        found = taken + 2;
        pivot = reinterpret_cast<key*>(taken + 3);
        tile = pivot + 2;
    }
};
static_assert(partition_memory::bytes_before_tile % 16 == 0);
DYNPAR_FUNCTION constexpr unsigned bytes_to_partition(unsigned threads) {
    return partition_memory::bytes_before_tile + keys_of_tile(threads) * static_cast<unsigned>(sizeof(key));
}
DYNPAR_FUNCTION constexpr unsigned bytes_to_sort(unsigned count) {
    return power_of_two_from(count) * static_cast<unsigned>(sizeof(key));
}

// ---- What a block does. Nothing here launches, so a plain kernel can do it, too.

/// The median of some keys. All threads of the block get it.
template <class Block>
DYNPAR_FUNCTION key choose_pivot(Block& block, const partition_memory& memory, const key* from, unsigned count) {
    key* const samples = memory.tile;  // which has at least as many places
    const unsigned step = count / samples_of_part;
    for (unsigned i = block.thread_rank(); i < samples_of_part; i += block.num_threads())
        samples[i] = from[i * step + step / 2];
    block.sync();
    for (unsigned i = block.thread_rank(); i < samples_of_part; i += block.num_threads()) {
        const key mine = samples[i];
        unsigned before = 0;
        for (unsigned k = 0; k < samples_of_part; ++k)
            if (samples[k] < mine || (samples[k] == mine && k < i)) ++before;
        if (before == samples_of_part / 2) *memory.pivot = mine;
    }
    block.sync();
    return *memory.pivot;
}

/// Partitions this block's tiles of a part. `taken` counts the places that are taken at both ends of `to`, by all
/// blocks that partition the part, and begins with none. The places between them, where the pivot belongs, stay as they
/// are. Synchronizes the block at its end.
template <class Block>
DYNPAR_FUNCTION void partition_tiles(Block& block, const partition_memory& memory, const key* from, key* to,
                                     unsigned count, key pivot, sides* taken) {
    constexpr unsigned half = 16;  // bits: less in the lower half of a count, greater in the upper
    constexpr unsigned lower = (1u << half) - 1;
    static_assert(keys_of_tile(dynpar::bounds::block_threads) <= lower);
    const unsigned rank = block.thread_rank();
    const unsigned threads = block.num_threads();
    const unsigned size = keys_of_tile(threads);
    const auto all = dynpar::this_block(block, memory.collective);
    for (unsigned begin = block.block_rank() * size; begin < count; begin += block.num_blocks() * size) {
        key mine[keys_of_thread];
        unsigned found = 0;
        for (unsigned i = 0; i < keys_of_thread; ++i) {
            const unsigned at = begin + i * threads + rank;
            mine[i] = at < count ? from[at] : pivot;
            if (mine[i] < pivot) found += 1;
            if (mine[i] > pivot) found += 1u << half;
        }
        const unsigned up_to_here = dynpar::inclusive_scan(all, found, dynpar::plus{});
        if (rank == threads - 1) {
            *memory.found = {up_to_here & lower, up_to_here >> half};
            *memory.places = {dynpar::atomic_add(&taken->less, up_to_here & lower),
                              dynpar::atomic_add(&taken->greater, up_to_here >> half)};
        }
        unsigned less = (up_to_here - found) & lower;
        unsigned greater = (up_to_here - found) >> half;
        for (unsigned i = 0; i < keys_of_thread; ++i) {
            if (mine[i] < pivot) memory.tile[less++] = mine[i];
            if (mine[i] > pivot) memory.tile[size - ++greater] = mine[i];
        }
        block.sync();
        const sides here = *memory.found;
        key* const begin_of_less = to + memory.places->less;
        for (unsigned i = rank; i < here.less; i += threads) begin_of_less[i] = memory.tile[i];
        key* const end_of_greater = to + (count - memory.places->greater);
        for (unsigned i = rank; i < here.greater; i += threads) *(end_of_greater - 1 - i) = memory.tile[size - 1 - i];
        block.sync();
    }
}

/// Sorts a part in shared memory, by a bitonic network, and writes it where it belongs.
template <class Block>
DYNPAR_FUNCTION void sort_leaf(Block& block, key* memory, const key* from, key* to, unsigned count) {
    const unsigned rank = block.thread_rank();
    const unsigned threads = block.num_threads();
    const unsigned size = power_of_two_from(count);
    for (unsigned i = rank; i < size; i += threads) memory[i] = i < count ? from[i] : ~key{0};
    for (unsigned run = 2; run <= size; run *= 2) {
        for (unsigned stride = run / 2; stride > 0; stride /= 2) {
            block.sync();
            for (unsigned i = rank; i < size / 2; i += threads) {
                key* const low = memory + (2 * i - (i & (stride - 1)));
                key* const high = low + stride;
                const bool is_rising = (2 * i & run) == 0;
                const key a = *low;
                const key b = *high;
                if (is_rising ? b < a : a < b) {
                    *low = b;
                    *high = a;
                }
            }
        }
    }
    block.sync();
    for (unsigned i = rank; i < count; i += threads) to[i] = memory[i];
}

DYNPAR_FUNCTION inline key* array_of(const job& work, bool is_spare) { return is_spare ? work.spare : work.keys; }

/// The sides of a part that is partitioned: they lie in the other array.
DYNPAR_FUNCTION constexpr part less_side(const part& p, const sides& taken) {
    return {p.first, taken.less, p.in_spare == 0 ? 1u : 0u};
}
DYNPAR_FUNCTION constexpr part greater_side(const part& p, const sides& taken) {
    return {p.first + p.count - taken.greater, taken.greater, p.in_spare == 0 ? 1u : 0u};
}

// ---- The kernels

/// A part that many blocks partition. In scratch memory.
struct split {
    part of;
    key pivot;
    sides taken;
};

/// The shape of the grid that sorts a part.
DYNPAR_FUNCTION inline dynpar::shape shape_of(const job& work, unsigned count) {
    return {1, work.threads, count <= work.leaf ? bytes_to_sort(count) : bytes_to_partition(work.threads)};
}

struct sort_part;  // launches `sort_sides`, which launches it

/// Many blocks partition a part.
struct partition_part {
    static constexpr const char* name = "partition_part";
    const job* work;

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, split* s) const {
        std::byte* const memory = block.template shared<std::byte>(bytes_to_partition(work->threads));
        if (memory == nullptr) return;  // the report says so
        const part p = s->of;
        partition_tiles(block, partition_memory(memory), array_of(*work, p.in_spare != 0) + p.first,
                        array_of(*work, p.in_spare == 0) + p.first, p.count, s->pivot, &s->taken);
    }
};

/// Writes a key to many places.
struct fill_places {
    static constexpr const char* name = "fill_places";

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, key* places, unsigned count, key value) const {
        const unsigned step = dynpar::this_grid(block).num_threads();
        for (unsigned i = dynpar::this_grid(block).thread_rank(); i < count; i += step) places[i] = value;
    }
};

/// What follows when a part is partitioned by many blocks. One thread.
struct sort_sides {
    static constexpr const char* name = "sort_sides";
    const job* work;

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, const split* s) const;
};

/// Sorts a part. One block.
struct sort_part {
    static constexpr const char* name = "sort_part";
    const job* work;

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, part p) const {
        const key* const from = array_of(*work, p.in_spare != 0) + p.first;
        if (p.count <= work->leaf) {
            key* const memory = block.template shared<key>(power_of_two_from(p.count));
            if (memory != nullptr) sort_leaf(block, memory, from, work->keys + p.first, p.count);
            return;
        }
        std::byte* const shared = block.template shared<std::byte>(bytes_to_partition(work->threads));
        if (shared == nullptr) return;
        const partition_memory memory(shared);
        const key pivot = choose_pivot(block, memory, from, p.count);
        if (p.count > work->by_block) {
            if (block.thread_rank() == 0) split_among_blocks(block, p, pivot);
            return;
        }
        if (block.thread_rank() == 0) *memory.taken = {0, 0};
        block.sync();
        partition_tiles(block, memory, from, array_of(*work, p.in_spare == 0) + p.first, p.count, pivot, memory.taken);
        const sides taken = *memory.taken;
        if (block.thread_rank() == 0) launch_sides(block, p, taken);
        const unsigned end = p.count - taken.greater;
        for (unsigned i = taken.less + block.thread_rank(); i < end; i += block.num_threads())
            work->keys[p.first + i] = pivot;
    }

    /// A grid for each side of a part that is partitioned. One thread.
    template <class Block>
    DYNPAR_FUNCTION void launch_sides(Block& block, const part& p, const sides& taken) const {
        if (taken.less != 0) block.launch(*this, shape_of(*work, taken.less), less_side(p, taken));
        if (taken.greater != 0) block.launch(*this, shape_of(*work, taken.greater), greater_side(p, taken));
    }

private:
    template <class Block>
    DYNPAR_FUNCTION void split_among_blocks(Block& block, const part& p, key pivot) const {
        split* const s = block.template scratch<split>(1);
        if (s == nullptr) return;  // the report says so
        *s = {p, pivot, {0, 0}};
        block.launch(partition_part{work},
                     dynpar::shape(blocks_for(*work, p.count), work->threads, bytes_to_partition(work->threads)), s);
        block.then(sort_sides{work}, dynpar::shape(1, 1), static_cast<const split*>(s));
    }
};

template <class Block>
DYNPAR_FUNCTION void sort_sides::operator()(Block& block, const split* s) const {
    const part p = s->of;
    const sides taken = s->taken;
    const key pivot = s->pivot;
    sort_part{work}.launch_sides(block, p, taken);
    key* const places = work->keys + p.first + taken.less;
    const unsigned count = p.count - taken.less - taken.greater;
    if (count <= keys_of_thread) {
        for (unsigned i = 0; i < count; ++i) places[i] = pivot;
    } else {
        block.launch(fill_places{}, dynpar::shape(blocks_for(*work, count), work->threads), places, count, pivot);
    }
}

}  // namespace quicksort
