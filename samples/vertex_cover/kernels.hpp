// The smallest vertex cover of a graph, by branch and bound: a vertex is in the cover, or all its neighbours are. Where
// what is left of the graph falls into two parts, each is a problem of its own, and the sum is the answer: that is a
// recursion which joins, and no tail call. Programs for GPUs that do this have brought a scheduler and bookkeeping of
// their own for it (arXiv 2204.10402, 2512.18334); here they are `launch` and `then`.
#pragma once

#include <cstddef>

#include <dynpar/dynpar.hpp>

#include "graph.hpp"

namespace vertex_cover {

using number = unsigned long long;
using degree = unsigned short;

inline constexpr unsigned none = ~0u;
inline constexpr degree reached = 0x8000;  // a bit that no degree has
static_assert(most_vertices <= reached);

/// The graph, and what all nodes of a search share. A set of vertices has a bit for each, in so many words.
struct graph_bits {
    unsigned vertices;
    unsigned words;
    /// Word w of the set of v's neighbours is `rows[w * vertices + v]`, so that threads with vertices side by side read
    /// words side by side.
    const unsigned* rows;
    dynpar::reducer_view<dynpar::sum<number>> nodes;   ///< of the search tree
    dynpar::reducer_view<dynpar::sum<number>> splits;  ///< of those, which fell into two parts
    unsigned* stop;                                    ///< 1: a call has failed, and the rest is in vain
};

/// A graph, or a part of one, that is to be covered.
struct problem {
    unsigned best;    ///< vertices of the smallest cover so far; before there is one, a bound that it must be below
    unsigned lock;    ///< 1: somebody writes
    unsigned* cover;  ///< that cover: a set
};

/// Where a search goes on: vertices that are left of a problem, after some were taken into the cover.
struct subproblem {
    const graph_bits* in;
    problem* of;
    const unsigned* left;     ///< a set; vertices that have no edge left may be in it or not
    const unsigned* taken;    ///< a set; null: none
    const degree* degrees;    ///< of those that are left: edges to others that are left
    unsigned taken_vertices;  ///< how many
    unsigned leave_out;       ///< this vertex is not in the cover, so its neighbours are; `none`: that holds for none
};

/// What is left falls into two parts, each a problem that is solved by itself.
struct split {
    const graph_bits* in;
    problem* of;
    const unsigned* taken;
    unsigned taken_vertices;
    problem parts[2];
    subproblem first[2];
};

DYNPAR_FUNCTION inline unsigned count_bits(unsigned bits) {
#if DYNPAR_ON_DEVICE
    return static_cast<unsigned>(__popc(bits));
#else
    return static_cast<unsigned>(__builtin_popcount(bits));
#endif
}
DYNPAR_FUNCTION inline unsigned lowest_bit(unsigned bits) { return count_bits((bits & (0u - bits)) - 1); }
DYNPAR_FUNCTION inline bool has(const unsigned* set, unsigned v) { return (set[v / 32] >> v % 32 & 1) != 0; }

/// The shared memory of a block that visits a node: three sets and a degree for each vertex.
DYNPAR_FUNCTION constexpr unsigned shared_bytes(unsigned vertices) {
    const unsigned set = ((vertices + 31) / 32 * 4 + 15) / 16 * 16;
    return 3 * set + (vertices * static_cast<unsigned>(sizeof(degree)) + 15) / 16 * 16;
}

/// Stores a cover if it is smaller than what there is. One thread. The lock is taken and given back in one step of the
/// loop, so that threads of a warp that want it do not hold each other up.
template <class Word>
DYNPAR_FUNCTION void improve(problem& p, unsigned vertices, unsigned words, const Word& word) {
    bool done = vertices >= dynpar::atomic_load(&p.best, dynpar::memory_order::relaxed);
    while (!done) {
        if (dynpar::atomic_cas(&p.lock, 0u, 1u) != 0) continue;
        dynpar::thread_fence();
        if (vertices < dynpar::atomic_load(&p.best)) {
            for (unsigned w = 0; w < words; ++w) p.cover[w] = word(w);
            dynpar::atomic_store(&p.best, vertices);
        }
        dynpar::atomic_store(&p.lock, 0u);
        done = true;
    }
}

/// After a call that failed the search ends: the run throws, and what it has found counts for nothing.
DYNPAR_FUNCTION inline void stop_after_failure(const graph_bits& in, dynpar::status s) {
    if (s != dynpar::status::success) dynpar::atomic_store(in.stop, 1u, dynpar::memory_order::relaxed);
}

enum class state { open, covered, hopeless };

/// The node of the search tree at which a block is, in its shared memory. The block is a warp or less; its threads have
/// the vertices, and the words of sets, in turn. All of them make all calls.
template <class Block>
class node {
public:
    DYNPAR_FUNCTION node(Block& block, const graph_bits& in)
        : block_(block),
          in_(in),
          order_(in.vertices),
          words_(in.words),
          rows_(in.rows),
          rank_(block.thread_rank()),
          step_(block.num_threads()),
          left_(block.template shared<unsigned>(in.words)),
          taken_(block.template shared<unsigned>(in.words)),
          marked_(block.template shared<unsigned>(in.words)),
          degrees_(block.template shared<degree>(in.vertices)) {}
    DYNPAR_FUNCTION bool has_memory() const { return degrees_ != nullptr; }

    DYNPAR_FUNCTION void begin(const subproblem& at) {
        of_ = at.of;
        taken_vertices_ = at.taken_vertices;
        for (unsigned w = rank_; w < words_; w += step_) {
            left_[w] = at.left[w];
            taken_[w] = at.taken == nullptr ? 0 : at.taken[w];
            marked_[w] = at.leave_out == none ? 0 : row(w, at.leave_out) & at.left[w];
        }
        block_.sync();
        for (unsigned v = rank_; v < order_; v += step_) degrees_[v] = has(left_, v) ? at.degrees[v] : degree{0};
        if (at.leave_out != none) {
            take_marked();
        } else {
            block_.sync();
        }
    }

    DYNPAR_FUNCTION void take(unsigned v) {
        if (rank_ == 0) marked_[v / 32] |= 1u << v % 32;
        take_marked();
    }

    /// Takes vertices for which there is no choice, as long as there are any: the neighbours of a vertex of degree 1,
    /// and of degree 2 if they are neighbours themselves; and vertices with more neighbours than may be taken.
    DYNPAR_FUNCTION state reduce() {
        for (;;) {
            const int budget = bound() - 1 - static_cast<int>(taken_vertices_);
            number sum = 0;     // of vertices, and in the upper half of degrees
            unsigned most = 0;  // degree, vertex
            bool marks = false;
            for (unsigned v = rank_; v < order_; v += step_) {
                const unsigned d = degrees_[v];
                if (d == 0) continue;
                sum += number{d} << 32 | 1;
                if (d << 16 > most) most = d << 16 | v;
                if (static_cast<int>(d) > budget) {
                    mark(v);
                    marks = true;
                } else if (d <= 2) {
                    marks |= mark_neighbours(v, d);
                }
            }
            sum = dynpar::reduce(warp(), sum, dynpar::plus{});
            most = dynpar::reduce(warp(), most, dynpar::maximum{});
            vertices_ = static_cast<unsigned>(sum);
            edges_ = static_cast<unsigned>(sum >> 33);
            highest_degree_ = most >> 16;
            chosen_ = most & 0xffff;
            if (budget < 0) return state::hopeless;
            if (edges_ == 0) return state::covered;
            if (edges_ > static_cast<unsigned>(budget) * highest_degree_) return state::hopeless;
            if (!dynpar::any(warp(), marks)) return state::open;
            take_marked();
        }
    }

    /// Vertices that can be reached from the chosen one are marked, in `degrees_` and `marked_`. Whether those are all.
    /// If not, sets how many vertices and edges are with it.
    DYNPAR_FUNCTION bool is_connected(unsigned& vertices, unsigned& edges) {
        if (rank_ == 0) {
            mark(chosen_);
            degrees_[chosen_] |= reached;
        }
        block_.sync();
        for (bool grows = true; dynpar::any(warp(), grows);) {
            grows = false;
            for (unsigned v = rank_; v < order_; v += step_) {
                if (degrees_[v] == 0 || (degrees_[v] & reached) != 0 || !meets_marked(v)) continue;
                degrees_[v] |= reached;
                grows = true;
            }
            block_.sync();
            for (unsigned v = rank_; v < order_; v += step_)
                if ((degrees_[v] & reached) != 0) mark(v);
            block_.sync();
        }
        number sum = 0;
        for (unsigned v = rank_; v < order_; v += step_) {
            if ((degrees_[v] & reached) == 0) continue;
            degrees_[v] &= static_cast<degree>(~reached);
            sum += number{degrees_[v]} << 32 | 1;
        }
        sum = dynpar::reduce(warp(), sum, dynpar::plus{});
        vertices = static_cast<unsigned>(sum);
        edges = static_cast<unsigned>(sum >> 33);
        if (vertices != vertices_) return false;
        for (unsigned w = rank_; w < words_; w += step_) marked_[w] = 0;
        block_.sync();
        return true;
    }

    /// The vertices that are left, in scratch memory, for a child. Null: there is no memory, and the report says so.
    DYNPAR_FUNCTION subproblem* without_chosen() {
        subproblem* child = scratch<subproblem>(1);
        unsigned* sets = scratch<unsigned>(2 * words_);
        degree* degrees = scratch<degree>(order_);
        if (child == nullptr || sets == nullptr || degrees == nullptr) return nullptr;
        for (unsigned w = rank_; w < words_; w += step_) {
            sets[w] = left_[w];
            sets[words_ + w] = taken_[w];
        }
        for (unsigned v = rank_; v < order_; v += step_) degrees[v] = degrees_[v];
        if (rank_ == 0) *child = {&in_, of_, sets, sets + words_, degrees, taken_vertices_, chosen_};
        block_.sync();
        return child;
    }

    /// The two parts after `is_connected` has found one of so many vertices and edges. Null: there is no memory, or no
    /// hope. The bound of a part leaves room for the other one, which takes as many vertices as its edges need.
    DYNPAR_FUNCTION split* parts(unsigned vertices, unsigned edges) {
        const int needed[2] = {needed_for(edges), needed_for(edges_ - edges)};
        const int rest = bound() - static_cast<int>(taken_vertices_);
        if (needed[0] + needed[1] >= rest) return nullptr;
        split* s = scratch<split>(1);
        unsigned* sets = scratch<unsigned>(5 * words_);
        degree* degrees = scratch<degree>(order_);
        if (s == nullptr || sets == nullptr || degrees == nullptr) return nullptr;
        for (unsigned w = rank_; w < words_; w += step_) {
            sets[w] = taken_[w];
            sets[words_ + w] = marked_[w];
            sets[2 * words_ + w] = left_[w] & ~marked_[w];
        }
        for (unsigned v = rank_; v < order_; v += step_) degrees[v] = degrees_[v];
        if (rank_ == 0) {
            *s = {&in_, of_, sets, taken_vertices_, {}, {}};
            for (unsigned i = 0; i < 2; ++i) {
                // All vertices but one always are a cover.
                const unsigned all = i == 0 ? vertices : vertices_ - vertices;
                const unsigned bound = static_cast<unsigned>(rest - needed[1 - i]);
                s->parts[i] = {all < bound ? all : bound, 0, sets + (3 + i) * words_};
                s->first[i] = {&in_, s->parts + i, sets + (1 + i) * words_, nullptr, degrees, 0, none};
            }
        }
        block_.sync();
        return s;
    }

    DYNPAR_FUNCTION void store_cover() {
        if (rank_ == 0) improve(*of_, taken_vertices_, words_, [this](unsigned w) { return taken_[w]; });
    }
    DYNPAR_FUNCTION unsigned chosen() const { return chosen_; }  ///< the vertex with the most edges
    /// Whether it is worth looking whether it falls into parts.
    DYNPAR_FUNCTION bool is_sparse() const { return edges_ <= 4 * vertices_; }

private:
    DYNPAR_FUNCTION unsigned row(unsigned word, unsigned v) const { return rows_[word * order_ + v]; }
    DYNPAR_FUNCTION dynpar::warp_group<Block> warp() const { return dynpar::this_warp(block_); }
    DYNPAR_FUNCTION int needed_for(unsigned edges) const {
        return static_cast<int>((edges + highest_degree_ - 1) / highest_degree_);
    }
    DYNPAR_FUNCTION void mark(unsigned v) { dynpar::atomic_or(marked_ + v / 32, 1u << v % 32); }

    DYNPAR_FUNCTION bool meets_marked(unsigned v) const {
        for (unsigned w = 0; w < words_; ++w)
            if (marked_[w] != 0 && (row(w, v) & marked_[w]) != 0) return true;
        return false;
    }

    /// Those of a vertex of degree 1, or of degree 2 in a triangle. All such vertices are looked at together: of two
    /// that are neighbours, and so have the same neighbours but for themselves, the first one decides.
    DYNPAR_FUNCTION bool mark_neighbours(unsigned v, unsigned d) {
        unsigned found[2] = {none, none};
        unsigned count = 0;
        for (unsigned w = 0; w < words_ && count < d; ++w) {
            for (unsigned bits = row(w, v) & left_[w]; bits != 0; bits &= bits - 1)
                found[count++] = 32 * w + lowest_bit(bits);
        }
        const auto decides = [&](unsigned u) { return degrees_[u] != d || v < u; };
        if (!decides(found[0])) return false;
        if (d == 2) {
            const bool is_triangle = (row(found[1] / 32, found[0]) >> found[1] % 32 & 1) != 0;
            if (!is_triangle || !decides(found[1])) return false;
            mark(found[1]);
        }
        mark(found[0]);
        return true;
    }

    DYNPAR_FUNCTION void take_marked() {
        block_.sync();
        unsigned taken = 0;
        for (unsigned v = rank_; v < order_; v += step_) {
            if (degrees_[v] == 0) continue;
            if (has(marked_, v)) {
                degrees_[v] = 0;
                ++taken;
                continue;
            }
            unsigned edges = 0;
            for (unsigned w = 0; w < words_; ++w)
                if (marked_[w] != 0) edges += count_bits(row(w, v) & marked_[w]);
            degrees_[v] = static_cast<degree>(degrees_[v] - edges);
        }
        taken_vertices_ += dynpar::reduce(warp(), taken, dynpar::plus{});
        block_.sync();
        for (unsigned w = rank_; w < words_; w += step_) {
            left_[w] &= ~marked_[w];
            taken_[w] |= marked_[w];
            marked_[w] = 0;
        }
        block_.sync();
    }

    /// What a cover must be below; others lower it meanwhile, and all threads of the block get the same.
    DYNPAR_FUNCTION int bound() const {
        int result = 0;
        if (rank_ == 0 && dynpar::atomic_load(in_.stop, dynpar::memory_order::relaxed) == 0)
            result = static_cast<int>(dynpar::atomic_load(&of_->best, dynpar::memory_order::relaxed));
        return dynpar::broadcast(warp(), result);
    }

    /// The same memory for all threads.
    template <class T>
    DYNPAR_FUNCTION T* scratch(unsigned count) {
        T* memory = nullptr;
        if (rank_ == 0) {
            memory = block_.template scratch<T>(count);
            if (memory == nullptr) stop_after_failure(in_, dynpar::status::out_of_memory);
        }
        return dynpar::broadcast(warp(), memory);
    }

    Block& block_;
    const graph_bits& in_;
    // Copies, which stay in registers: for all that the compiler knows, the graph changes with each store.
    unsigned order_;  // vertices of the graph
    unsigned words_;
    const unsigned* rows_;
    problem* of_ = nullptr;
    unsigned rank_;
    unsigned step_;
    unsigned* left_;
    unsigned* taken_;
    unsigned* marked_;  // about to be taken; or reached
    degree* degrees_;
    unsigned taken_vertices_ = 0;
    unsigned vertices_ = 0;  // with edges
    unsigned edges_ = 0;
    unsigned highest_degree_ = 0;
    unsigned chosen_ = 0;
};

/// When both parts are solved.
struct add_parts {
    static constexpr const char* name = "add_parts";

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block&, const split* s) const {
        if (dynpar::atomic_load(s->in->stop, dynpar::memory_order::relaxed) != 0)
            return;  // perhaps there is no cover of a part
        // A part that has found no cover below its bound makes the sum no improvement.
        improve(*s->of, s->taken_vertices + s->parts[0].best + s->parts[1].best, s->in->words,
                [s](unsigned w) { return s->taken[w] | s->parts[0].cover[w] | s->parts[1].cover[w]; });
    }
};

/// A grid of its own, since `then` waits for all that its grid has launched.
struct solve_parts {
    static constexpr const char* name = "solve_parts";

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, const split* s) const;  // which launches `visit`
};

/// Goes down the search tree: at each node it takes the vertex with the most edges, and launches a child that leaves
/// that vertex out.
struct visit {
    static constexpr const char* name = "visit";
    static constexpr unsigned max_threads = 32;

    DYNPAR_FUNCTION static dynpar::shape shape(unsigned vertices) {
        return dynpar::shape(1, dynpar::at_most(max_threads), shared_bytes(vertices));
    }

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, const subproblem* from) const {
        const graph_bits& in = *from->in;
        const bool is_first = block.thread_rank() == 0;
        node<Block> at(block, in);
        if (!at.has_memory()) return;  // the run's report says so
        at.begin(*from);
        for (;;) {
            if (is_first) in.nodes.add(block, 1);
            const state s = at.reduce();
            if (s == state::covered) at.store_cover();
            if (s != state::open) return;
            unsigned vertices = 0;
            unsigned edges = 0;
            if (at.is_sparse() && !at.is_connected(vertices, edges)) {
                const split* parts = at.parts(vertices, edges);
                if (parts == nullptr || !is_first) return;
                in.splits.add(block, 1);
                stop_after_failure(in, block.launch(solve_parts{}, dynpar::shape(1, 1), parts));
                return;
            }
            const subproblem* child = at.without_chosen();
            if (child == nullptr) return;
            if (is_first) stop_after_failure(in, block.launch(*this, shape(in.vertices), child));
            at.take(at.chosen());
        }
    }
};

template <class Block>
DYNPAR_FUNCTION void solve_parts::operator()(Block& block, const split* s) const {
    for (const subproblem& first : s->first)
        stop_after_failure(*s->in, block.launch(visit{}, visit::shape(s->in->vertices), &first));
    block.then(add_parts{}, dynpar::shape(1, 1), s);
}

}  // namespace vertex_cover
