// quadtree: points of a plane, put in order so that those of each square follow each other. A square with more than a
// few points is divided into four: its block counts the points of the quarters, moves them from one array into the
// other, takes four nodes, and launches a grid with a block for each quarter that is to be divided again.
//
// A square with very many points is divided by several grids of many blocks: one counts, its continuation moves the
// points, and a last one, of one thread, goes on as above. Without that the first squares would take most of the time.
//
// The kernels are right for any number of threads.
#pragma once

#include <cstddef>

#include <dynpar/dynpar.hpp>

namespace quadtree {

struct alignas(8) point {
    float x;
    float y;
};

/// A square and its points. Sides are powers of two, and so all of this is exact.
struct node {
    unsigned begin;  ///< of its points
    unsigned count;
    float x;  ///< its corner, which is inside; the opposite one is not
    float y;
    float side;
    unsigned first_child;  ///< its quarters are four nodes that follow each other; 0: it has none
};
inline constexpr node root_of(unsigned points) { return {0, points, 0, 0, 1, 0}; }

/// What all grids have in common. In the engine's memory, so that a launch carries no more than its address and a node.
struct tree {
    point* points;        ///< in the unit square; in the end those of each leaf follow each other
    point* spare;         ///< as many
    node* nodes;          ///< the first one is the root, and is there
    unsigned room;        ///< for so many nodes
    unsigned* used;       ///< how many there are, or would be if there were room
    unsigned leaf;        ///< a square with no more points is not divided
    float smallest_side;  ///< nor is a square of that side
    unsigned threads;     ///< of every block, or the most of them
    unsigned is_moldable;
    unsigned by_block;  ///< a block divides a square of as many points by itself
};

inline constexpr unsigned default_threads = 128;
inline constexpr unsigned default_leaf = 32;
inline constexpr unsigned default_depth = 16;
inline constexpr unsigned most_depth = 20;  // sides and corners are exact in a float
inline constexpr unsigned default_by_block = 16384;
inline constexpr unsigned points_of_thread = 4;    // that it moves at a time
inline constexpr unsigned points_of_block = 4096;  // about, where many blocks divide a square

/// A number for each quarter: lower left, lower right, upper left, upper right.
struct four {
    unsigned of[4];
};
struct add_four {
    DYNPAR_FUNCTION four operator()(const four& a, const four& b) const {
        return {{a.of[0] + b.of[0], a.of[1] + b.of[1], a.of[2] + b.of[2], a.of[3] + b.of[3]}};
    }
};
/// Where each quarter's points begin.
DYNPAR_FUNCTION constexpr four begins_of(const four& counts) {
    return {{0, counts.of[0], counts.of[0] + counts.of[1], counts.of[0] + counts.of[1] + counts.of[2]}};
}

DYNPAR_FUNCTION inline bool is_divided(const tree& t, const node& n) {
    return n.count > t.leaf && n.side > t.smallest_side;
}
DYNPAR_FUNCTION inline unsigned quarter_of(const node& n, const point& p) {
    const float half = n.side / 2;
    return (p.x < n.x + half ? 0u : 1u) + (p.y < n.y + half ? 0u : 2u);
}
DYNPAR_FUNCTION inline node child_of(const node& n, unsigned quarter, const four& counts, const four& begins) {
    const float half = n.side / 2;
    return {n.begin + begins.of[quarter],
            counts.of[quarter],
            n.x + (quarter % 2 != 0 ? half : 0),
            n.y + (quarter / 2 != 0 ? half : 0),
            half,
            0};
}

// ---- What a block does. Nothing here launches, so a plain kernel can do it, too.

/// The shared memory of a block.
struct block_memory {
    void* collective;
    four* taken;   ///< by a block that divides a square by itself
    four* places;  ///< that the points at hand get

    static constexpr unsigned bytes = dynpar::collective_bytes + 2 * sizeof(four);

    DYNPAR_FUNCTION explicit block_memory(std::byte* memory) : collective(memory) {
        taken = reinterpret_cast<four*>(memory + dynpar::collective_bytes);
        places = taken + 1;
    }
};

/// Which of a square's points a block takes, if several do: the blocks take them by turns.
struct share {
    unsigned rank;
    unsigned of;
};

/// How many points of the block's share lie in each quarter of a square. All threads get it.
template <class Block>
DYNPAR_FUNCTION four count_points(Block& block, const block_memory& memory, share mine, const node& n,
                                  const point* from) {
    four found{};
    const unsigned threads = block.num_threads();
    for (unsigned i = mine.rank * threads + block.thread_rank(); i < n.count; i += mine.of * threads) {
        const unsigned quarter = quarter_of(n, from[i]);
        for (unsigned k = 0; k < 4; ++k) found.of[k] += quarter == k ? 1 : 0;  // an index would be one into memory
    }
    return dynpar::reduce(dynpar::this_block(block, memory.collective), found, add_four{});
}

/// Moves the points of the block's share to their quarters. `taken` counts the places that are taken there, by all
/// blocks that divide the square, and begins with none. Synchronizes the block at its end.
template <class Block>
DYNPAR_FUNCTION void move_points(Block& block, const block_memory& memory, share mine, const node& n, const point* from,
                                 point* to, const four& begins, four* taken) {
    constexpr unsigned bits = 16;  // of each quarter's count, four in a word
    constexpr unsigned long long field = (1u << bits) - 1;
    static_assert(points_of_thread * dynpar::bounds::block_threads <= field);
    const unsigned rank = block.thread_rank();
    const unsigned threads = block.num_threads();
    const unsigned size = points_of_thread * threads;
    const auto all = dynpar::this_block(block, memory.collective);
    for (unsigned begin = mine.rank * size; begin < n.count; begin += mine.of * size) {
        point moved[points_of_thread];
        unsigned shift[points_of_thread];  // of its quarter's field
        unsigned long long found = 0;
        for (unsigned i = 0; i < points_of_thread; ++i) {
            const unsigned at = begin + i * threads + rank;
            if (at >= n.count) {
                shift[i] = 4 * bits;
                continue;
            }
            moved[i] = from[at];
            shift[i] = bits * quarter_of(n, moved[i]);
            found += 1ull << shift[i];
        }
        const unsigned long long up_to_here = dynpar::inclusive_scan(all, found, dynpar::plus{});
        if (rank == threads - 1) {
            for (unsigned k = 0; k < 4; ++k) {
                memory.places->of[k] =
                    begins.of[k] +
                    dynpar::atomic_add(&taken->of[k], static_cast<unsigned>(up_to_here >> bits * k & field));
            }
        }
        block.sync();
        unsigned long long before = up_to_here - found;
        for (unsigned i = 0; i < points_of_thread; ++i) {
            if (shift[i] == 4 * bits) continue;
            to[memory.places->of[shift[i] / bits] + static_cast<unsigned>(before >> shift[i] & field)] = moved[i];
            before += 1ull << shift[i];
        }
        block.sync();
    }
}

/// Makes the four nodes of a square that is divided, and returns the first; 0 if there is no room. One thread.
DYNPAR_FUNCTION inline unsigned add_children(const tree& t, unsigned parent, const four& counts) {
    const unsigned first = dynpar::atomic_add(t.used, 4u);
    if (t.room < 4 || first > t.room - 4) return 0;
    const node n = t.nodes[parent];
    const four begins = begins_of(counts);
    for (unsigned k = 0; k < 4; ++k) t.nodes[first + k] = child_of(n, k, counts, begins);
    t.nodes[parent].first_child = first;
    return first;
}

DYNPAR_FUNCTION inline point* array_of(const tree& t, bool is_spare) { return is_spare ? t.spare : t.points; }

/// The square of a block: of those from `first` on that a block divides, the one with that rank.
DYNPAR_FUNCTION inline unsigned square_of(const tree& t, unsigned rank, unsigned first) {
    for (;; ++first) {
        const node& n = t.nodes[first];
        if (is_divided(t, n) && n.count <= t.by_block && rank-- == 0) return first;
    }
}

/// A block divides a square by itself. The first thread gets its first child, 0 if there is no room; it has passed a
/// barrier since the points were moved, so it may launch what divides the quarters.
template <class Block>
DYNPAR_FUNCTION unsigned divide_by_block(Block& block, const block_memory& memory, const tree& t, unsigned square,
                                         unsigned in_spare) {
    const node n = t.nodes[square];
    const point* const from = array_of(t, in_spare != 0) + n.begin;
    const four counts = count_points(block, memory, {0, 1}, n, from);
    unsigned first_child = 0;
    if (block.thread_rank() == 0) {
        *memory.taken = four{};
        first_child = add_children(t, square, counts);
    }
    block.sync();
    const four begins = begins_of(counts);
    move_points(block, memory, {0, 1}, n, from, array_of(t, in_spare == 0) + n.begin, begins, memory.taken);
    if (in_spare != 0) return first_child;
    for (unsigned k = 0; k < 4; ++k) {  // a leaf's points are in the wrong array
        const node child = child_of(n, k, counts, begins);
        if (is_divided(t, child)) continue;
        for (unsigned i = block.thread_rank(); i < child.count; i += block.num_threads())
            t.points[child.begin + i] = t.spare[child.begin + i];
    }
    return first_child;
}

// ---- The kernels

/// How wide the blocks are that work on so many points each: a moldable one is as wide as has something to do.
DYNPAR_FUNCTION inline dynpar::shape shape_of(const tree& t, unsigned blocks, unsigned points) {
    if (t.is_moldable == 0) return {blocks, t.threads, block_memory::bytes};
    const unsigned busy = (points + points_of_thread - 1) / points_of_thread;
    const unsigned wide = busy < dynpar::warp_threads ? dynpar::warp_threads : busy;
    return {blocks, dynpar::at_most(wide < t.threads ? wide : t.threads), block_memory::bytes};
}
/// Of a grid whose blocks share the points of one square.
DYNPAR_FUNCTION inline dynpar::shape shape_for_all_of(const tree& t, unsigned points) {
    return shape_of(t, (points + points_of_block - 1) / points_of_block, points_of_block);
}

/// A square that many blocks divide. In scratch memory.
struct division {
    unsigned square;
    unsigned in_spare;  ///< where its points are
    four counts;
    four taken;
};

/// Counts the points of the quarters. Many blocks.
struct count_quarters {
    static constexpr const char* name = "count_quarters";
    const tree* t;

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, division* d) const {
        std::byte* const memory = block.template shared<std::byte>(block_memory::bytes);
        if (memory == nullptr) return;  // the report says so
        const node n = t->nodes[d->square];
        const four found = count_points(block, block_memory(memory), {block.block_rank(), block.num_blocks()}, n,
                                        array_of(*t, d->in_spare != 0) + n.begin);
        if (block.thread_rank() == 0)
            for (unsigned k = 0; k < 4; ++k) dynpar::atomic_add(&d->counts.of[k], found.of[k]);
    }
};

/// Then moves them. Many blocks.
struct move_quarters {
    static constexpr const char* name = "move_quarters";
    const tree* t;

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, division* d) const {
        std::byte* const memory = block.template shared<std::byte>(block_memory::bytes);
        if (memory == nullptr) return;
        const node n = t->nodes[d->square];
        move_points(block, block_memory(memory), {block.block_rank(), block.num_blocks()}, n,
                    array_of(*t, d->in_spare != 0) + n.begin, array_of(*t, d->in_spare == 0) + n.begin,
                    begins_of(d->counts), &d->taken);
    }
};

/// Moves points of a leaf from the spare array to where they belong.
struct move_back {
    static constexpr const char* name = "move_back";
    const tree* t;

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned begin, unsigned count) const {
        const unsigned step = dynpar::this_grid(block).num_threads();
        for (unsigned i = dynpar::this_grid(block).thread_rank(); i < count; i += step)
            t->points[begin + i] = t->spare[begin + i];
    }
};

// The next three launch each other: their call operators are below.

/// Divides those of four squares that a block each can divide.
struct divide {
    static constexpr const char* name = "divide";
    const tree* t;

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned first, unsigned in_spare) const;
};

/// Divides a square with very many points. One thread.
struct divide_large {
    static constexpr const char* name = "divide_large";
    const tree* t;

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned square, unsigned in_spare) const;
};

/// What follows when the points of such a square are in their quarters. One thread.
struct end_large {
    static constexpr const char* name = "end_large";
    const tree* t;

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, const division* d) const;
};

/// Launches what divides those of four squares that are to be divided. One thread.
template <class Block>
DYNPAR_FUNCTION void divide_squares(Block& block, const tree* t, unsigned first, unsigned squares, unsigned in_spare) {
    unsigned blocks = 0;
    unsigned most_points = 0;
    for (unsigned k = 0; k < squares; ++k) {
        const node& n = t->nodes[first + k];
        if (!is_divided(*t, n)) continue;
        if (n.count > t->by_block) {
            // A grid of its own, since what follows in it is a continuation, which waits for all of its grid.
            block.launch(divide_large{t}, dynpar::shape(1, 1), first + k, in_spare);
        } else {
            ++blocks;
            if (most_points < n.count) most_points = n.count;
        }
    }
    if (blocks != 0) block.launch(divide{t}, shape_of(*t, blocks, most_points), first, in_spare);
}

template <class Block>
DYNPAR_FUNCTION void divide::operator()(Block& block, unsigned first, unsigned in_spare) const {
    std::byte* const shared = block.template shared<std::byte>(block_memory::bytes);
    if (shared == nullptr) return;
    const unsigned square = square_of(*t, block.block_rank(), first);
    const unsigned first_child = divide_by_block(block, block_memory(shared), *t, square, in_spare);
    if (block.thread_rank() == 0 && first_child != 0) divide_squares(block, t, first_child, 4, 1 - in_spare);
}

template <class Block>
DYNPAR_FUNCTION void divide_large::operator()(Block& block, unsigned square, unsigned in_spare) const {
    division* const d = block.template scratch<division>(1);
    if (d == nullptr) return;  // the report says so
    *d = {square, in_spare, {}, {}};
    const dynpar::shape all = shape_for_all_of(*t, t->nodes[square].count);
    block.launch(count_quarters{t}, all, d);
    block.then(move_quarters{t}, all, d);  // continuations of one grid run one after another
    block.then(end_large{t}, dynpar::shape(1, 1), static_cast<const division*>(d));
}

template <class Block>
DYNPAR_FUNCTION void end_large::operator()(Block& block, const division* d) const {
    const unsigned first = add_children(*t, d->square, d->counts);
    if (first == 0) return;
    divide_squares(block, t, first, 4, 1 - d->in_spare);
    if (d->in_spare != 0) return;
    for (unsigned k = 0; k < 4; ++k) {
        const node& n = t->nodes[first + k];
        if (n.count != 0 && !is_divided(*t, n))
            block.launch(move_back{t}, shape_for_all_of(*t, n.count), n.begin, n.count);
    }
}

/// The grid that a run begins with: divides the root, if it is to be divided. One thread.
struct begin {
    static constexpr const char* name = "begin";
    const tree* t;

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block) const {
        divide_squares(block, t, 0, 1, 0);
    }
};

}  // namespace quadtree
