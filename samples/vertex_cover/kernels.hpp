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
using vertex = unsigned short;

inline constexpr unsigned none = ~0u;

/// What a node of the search knows of a vertex: how many of its neighbours are left, and which, if it is one only: the
/// exclusive or of their numbers. 0: the vertex has no edge any more.
using edges_left = unsigned;
inline constexpr edges_left no_triangle = 0x8000;  // a bit that is of neither: its two neighbours have no edge
static_assert(most_vertices <= no_triangle);
DYNPAR_FUNCTION constexpr unsigned degree_of(edges_left e) { return e >> 16; }
DYNPAR_FUNCTION constexpr unsigned last_neighbour_of(edges_left e) { return e & 0x7fff; }
/// Without one of the neighbours.
DYNPAR_FUNCTION constexpr edges_left without(edges_left e, unsigned neighbour) {
    return ((e & ~no_triangle) - 0x10000) ^ neighbour;
}

/// The graph, and what all nodes of a search share. A set of vertices has a bit for each, in so many words.
struct whole_graph {
    unsigned vertices;
    unsigned words;
    const unsigned* first;     ///< of each vertex: where its neighbours begin; those of the next one come after them
    const vertex* neighbours;  ///< of a vertex in the order of their numbers
    const unsigned* rows;      ///< of each vertex: the set of its neighbours
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

/// Where a search goes on: what is left of a problem, after some vertices were taken into the cover.
struct subproblem {
    const whole_graph* in;
    problem* of;
    const edges_left* left;   ///< of each vertex of the whole graph
    const unsigned* taken;    ///< a set; null: none
    unsigned taken_vertices;  ///< how many
    unsigned leave_out;       ///< this vertex is not in the cover, so its neighbours are; `none`: that holds for none
};

/// What is left falls into two parts, each a problem that is solved by itself.
struct split {
    const whole_graph* in;
    problem* of;
    const unsigned* taken;
    unsigned taken_vertices;
    problem parts[2];
    subproblem first[2];
};

/// The shared memory of a block that visits a node: of each vertex its edges and a place in a list, two sets, a count.
DYNPAR_FUNCTION constexpr unsigned shared_bytes(unsigned vertices) {
    const unsigned words = vertices + 2 * ((vertices + 31) / 32) + 1;
    return (words * 4 + vertices * static_cast<unsigned>(sizeof(vertex)) + 15) / 16 * 16;
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
DYNPAR_FUNCTION inline void stop_after_failure(const whole_graph& in, dynpar::status s) {
    if (s != dynpar::status::success) dynpar::atomic_store(in.stop, 1u, dynpar::memory_order::relaxed);
}

enum class state { changes, open, covered, hopeless };

/// The node of the search tree at which a block is, in its shared memory. The block is a warp or less; its threads have
/// the vertices in turn, or a vertex's neighbours. All of them make all calls.
template <class Block>
class node {
public:
    DYNPAR_FUNCTION node(Block& block, const whole_graph& in)
        : block_(block),
          in_(in),
          vertices_(in.vertices),
          words_(in.words),
          first_(in.first),
          neighbours_(in.neighbours),
          rank_(block.thread_rank()),
          step_(block.num_threads()),
          left_(block.template shared<edges_left>(shared_bytes(in.vertices) / sizeof(edges_left))) {}
    DYNPAR_FUNCTION bool has_memory() const { return left_ != nullptr; }

    /// Lists what is taken in any case.
    DYNPAR_FUNCTION void begin(const subproblem& at) {
        taken_ = left_ + vertices_;
        marked_ = taken_ + words_;
        listed_ = marked_ + words_;
        list_ = reinterpret_cast<vertex*>(listed_ + 1);
        of_ = at.of;
        taken_vertices_ = at.taken_vertices;
        const edges_left* const left = at.left;
        for_each(vertices_, [&](unsigned v) { left_[v] = left[v]; });
        for_each(words_, [&](unsigned w) {
            taken_[w] = at.taken == nullptr ? 0 : at.taken[w];
            marked_[w] = 0;
        });
        if (rank_ == 0) *listed_ = 0;
        warp().sync();
        if (at.leave_out == none) return;
        for_each_neighbour(at.leave_out, rank_, step_, [&](unsigned u) {
            if (left_[u] != 0) list(u);
        });
    }

    /// Lists the vertex with the most edges.
    DYNPAR_FUNCTION void list_chosen() {
        if (rank_ == 0) list(chosen_);
    }

    /// Takes what is listed, and looks at all vertices. If there are some for which there is no choice (the neighbours
    /// of a vertex of degree 1, and of degree 2 if they are neighbours themselves; and vertices with more neighbours
    /// than may be taken), lists those: it changes.
    DYNPAR_FUNCTION state take_and_reduce() {
        take_listed();
        const int budget = bound() - 1 - static_cast<int>(taken_vertices_);
        unsigned vertices = 0;
        unsigned degrees = 0;
        unsigned most = 0;  // degree, vertex
        bool lists = false;
        for_each(vertices_, [&](unsigned v) {
            const edges_left e = left_[v];
            if (e == 0) return;
            const unsigned d = degree_of(e);
            ++vertices;
            degrees += d;
            if (d << 16 > most) most = d << 16 | v;
            const bool is_needed = static_cast<int>(d) > budget;
            if (!is_needed && d > 2) return;
            const pair found = is_needed ? pair{{v, none}} : neighbours_to_take(v, e);
            for (const unsigned u : found.vertices) {
                if (u == none) continue;
                mark(u);
                lists = true;
            }
        });
        vertices_left_ = dynpar::reduce(warp(), vertices, dynpar::plus{});
        edges_ = dynpar::reduce(warp(), degrees, dynpar::plus{}) / 2;
        most = dynpar::reduce(warp(), most, dynpar::maximum{});
        highest_degree_ = most >> 16;
        chosen_ = most & 0xffff;
        if (budget < 0) return state::hopeless;
        if (edges_ == 0) return state::covered;
        if (edges_ > static_cast<unsigned>(budget) * highest_degree_) return state::hopeless;
        return dynpar::any(warp(), lists) ? state::changes : state::open;
    }

    /// Whether all vertices can be reached from the chosen one. If not, those that can are marked, and `vertices` and
    /// `edges` are how many are with it.
    DYNPAR_FUNCTION bool is_connected(unsigned& vertices, unsigned& edges) {
        // A few threads have a vertex's neighbours, so that several vertices have their turn at once.
        constexpr unsigned together = 8;
        if (rank_ == 0) mark(chosen_);
        warp().sync();
        unsigned end = 1;
        for (unsigned begin = 0; begin != end && end != vertices_left_;) {
            const unsigned members = step_ - rank_ / together * together;
            for (unsigned i = begin + rank_ / together; i < end; i += (step_ + together - 1) / together) {
                for_each_neighbour(list_[i], rank_ % together, members < together ? members : together,
                                   [&](unsigned u) {
                                       if (left_[u] != 0) mark(u);
                                   });
            }
            warp().sync();
            begin = end;
            end = *listed_;
            warp().sync();  // all have read it before one lists more
        }
        unsigned degrees = 0;
        const bool is_all = end == vertices_left_;
        if (is_all) {
            clear_list();
        } else {
            for_each(end, [&](unsigned i) { degrees += degree_of(left_[list_[i]]); });
            vertices = end;
            edges = dynpar::reduce(warp(), degrees, dynpar::plus{}) / 2;
        }
        return is_all;
    }

    /// What is left, in scratch memory, for a child. Null: there is no memory, and the report says so.
    DYNPAR_FUNCTION subproblem* without_chosen() {
        auto* const child = scratch<subproblem>(vertices_ + words_);
        if (child == nullptr) return nullptr;
        auto* const left = reinterpret_cast<edges_left*>(child + 1);
        unsigned* const taken = left + vertices_;
        for_each(vertices_, [&](unsigned v) { left[v] = left_[v]; });
        for_each(words_, [&](unsigned w) { taken[w] = taken_[w]; });
        if (rank_ == 0) *child = {&in_, of_, left, taken, taken_vertices_, chosen_};
        warp().sync();
        return child;
    }

    /// The two parts after `is_connected` has found one of so many vertices and edges. Null: there is no memory, or no
    /// hope. The bound of a part leaves room for the other one, which takes as many vertices as its edges need.
    DYNPAR_FUNCTION split* parts(unsigned vertices, unsigned edges) {
        const int needed[2] = {needed_for(edges), needed_for(edges_ - edges)};
        const int rest = bound() - static_cast<int>(taken_vertices_);
        if (needed[0] + needed[1] >= rest) return nullptr;
        auto* const s = scratch<split>(2 * vertices_ + 3 * words_);
        if (s == nullptr) return nullptr;
        auto* const left = reinterpret_cast<edges_left*>(s + 1);  // of both parts
        unsigned* const sets = left + 2 * vertices_;              // what is taken, and both covers
        for_each(vertices_, [&](unsigned v) {
            const edges_left e = left_[v];
            const bool is_first = (marked_[v / 32] >> v % 32 & 1) != 0;
            left[v] = is_first ? e : 0;
            left[vertices_ + v] = is_first ? 0 : e;
        });
        for_each(words_, [&](unsigned w) { sets[w] = taken_[w]; });
        if (rank_ == 0) {
            *s = {&in_, of_, sets, taken_vertices_, {}, {}};
            for (unsigned i = 0; i < 2; ++i) {
                // All vertices but one always are a cover.
                const unsigned all = i == 0 ? vertices : vertices_left_ - vertices;
                const unsigned bound = static_cast<unsigned>(rest - needed[1 - i]);
                s->parts[i] = {all < bound ? all : bound, 0, sets + (1 + i) * words_};
                s->first[i] = {&in_, s->parts + i, left + i * vertices_, nullptr, 0, none};
            }
        }
        warp().sync();
        return s;
    }

    DYNPAR_FUNCTION void store_cover() {
        if (rank_ == 0) improve(*of_, taken_vertices_, words_, [this](unsigned w) { return taken_[w]; });
    }
    /// Whether it is worth looking whether it falls into parts.
    DYNPAR_FUNCTION bool is_sparse() const { return edges_ <= 4 * vertices_left_; }

private:
    DYNPAR_FUNCTION dynpar::warp_group<Block> warp() const { return dynpar::this_warp(block_); }
    DYNPAR_FUNCTION int needed_for(unsigned edges) const {
        return static_cast<int>((edges + highest_degree_ - 1) / highest_degree_);
    }

    // Loops are not unrolled: many warps run this at once, each at another place, and what they run has to fit into a
    // multiprocessor's instruction cache.

    /// f(i) for all i below `count`, each on one thread.
    template <class F>
    DYNPAR_FUNCTION void for_each(unsigned count, const F& f) const {
#if DYNPAR_ON_DEVICE
#pragma unroll 1
#endif
        for (unsigned i = rank_; i < count; i += step_) f(i);
    }
    /// f(u) for the neighbours of v that the whole graph has, from the one of that rank on, in steps.
    template <class F>
    DYNPAR_FUNCTION void for_each_neighbour(unsigned v, unsigned rank, unsigned step, const F& f) const {
        const unsigned end = first_[v + 1];
#if DYNPAR_ON_DEVICE
#pragma unroll 1
#endif
        for (unsigned i = first_[v] + rank; i < end; i += step) f(neighbours_[i]);
    }

    /// One thread.
    DYNPAR_FUNCTION void list(unsigned v) { list_[dynpar::atomic_add(listed_, 1u)] = static_cast<vertex>(v); }
    /// One thread: marks and lists a vertex, unless it is.
    DYNPAR_FUNCTION void mark(unsigned v) {
        const unsigned bit = 1u << v % 32;
        if ((dynpar::atomic_or(marked_ + v / 32, bit) & bit) == 0) list(v);
    }

    struct pair {
        unsigned vertices[2];  // or `none`
    };
    /// Of a vertex of degree 1 its neighbour, of degree 2 both if they are neighbours. All such vertices are looked at
    /// together: of two that are neighbours, and so have the same neighbours but for themselves, the first one decides.
    DYNPAR_FUNCTION pair neighbours_to_take(unsigned v, edges_left e) {
        const unsigned d = degree_of(e);
        const auto decides = [&](unsigned u) { return degree_of(left_[u]) != d || v < u; };
        const unsigned last = last_neighbour_of(e);
        if (d == 1) return {{decides(last) ? last : none, none}};
        if ((e & no_triangle) != 0) return {{none, none}};  // as in most rounds
        unsigned i = first_[v];
        while (left_[neighbours_[i]] == 0) ++i;
        const unsigned a = neighbours_[i];
        const unsigned b = last ^ a;
        if ((in_.rows[a * words_ + b / 32] >> b % 32 & 1) == 0) {
            left_[v] = e | no_triangle;
            return {{none, none}};
        }
        if (!decides(a) || !decides(b)) return {{none, none}};
        return {{a, b}};
    }

    /// Takes the vertices of the list, but for those that have no edge any more when it is their turn.
    DYNPAR_FUNCTION void take_listed() {
        warp().sync();
        const unsigned listed = *listed_;
        for (unsigned i = 0; i < listed; ++i) {
            const unsigned v = list_[i];
            // The first thread alone reads it, which is to write it.
            if (dynpar::broadcast(warp(), rank_ == 0 ? left_[v] : 0) == 0) continue;
            for_each_neighbour(v, rank_, step_, [&](unsigned u) {
                if (left_[u] != 0) left_[u] = without(left_[u], v);
            });
            if (rank_ == 0) {
                left_[v] = 0;
                taken_[v / 32] |= 1u << v % 32;
            }
            ++taken_vertices_;
            warp().sync();
        }
        clear_list();
    }
    DYNPAR_FUNCTION void clear_list() {
        for_each(words_, [&](unsigned w) { marked_[w] = 0; });
        if (rank_ == 0) *listed_ = 0;
        warp().sync();
    }

    /// What a cover must be below; others lower it meanwhile, and all threads of the block get the same.
    DYNPAR_FUNCTION int bound() const {
        int result = 0;
        if (rank_ == 0) {
            const unsigned stop = dynpar::atomic_load(in_.stop, dynpar::memory_order::relaxed);
            const unsigned best = dynpar::atomic_load(&of_->best, dynpar::memory_order::relaxed);
            result = stop != 0 ? 0 : static_cast<int>(best);
        }
        return dynpar::broadcast(warp(), result);
    }

    /// Memory for a T and so many words behind it, the same for all threads.
    template <class T>
    DYNPAR_FUNCTION T* scratch(unsigned words) {
        T* memory = nullptr;
        if (rank_ == 0) {
            memory = block_.template scratch<T>(1 + (words * sizeof(unsigned) + sizeof(T) - 1) / sizeof(T));
            if (memory == nullptr) stop_after_failure(in_, dynpar::status::out_of_memory);
        }
        return dynpar::broadcast(warp(), memory);
    }

    Block& block_;
    const whole_graph& in_;
    // Copies, which stay in registers: for all that the compiler knows, the graph changes with each store.
    unsigned vertices_;  // of the whole graph
    unsigned words_;
    const unsigned* first_;
    const vertex* neighbours_;
    problem* of_ = nullptr;
    unsigned rank_;
    unsigned step_;
    edges_left* left_;  // of each vertex
    unsigned* taken_ = nullptr;
    unsigned* marked_ = nullptr;  // those of the list, where a vertex might be listed twice
    unsigned* listed_ = nullptr;  // how many are in the list
    vertex* list_ = nullptr;      // those that are about to be taken; or reached
    unsigned taken_vertices_ = 0;
    unsigned vertices_left_ = 0;  // with edges
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
        const whole_graph& in = *from->in;
        const bool is_first = block.thread_rank() == 0;
        node<Block> at(block, in);
        if (!at.has_memory()) return stop_after_failure(in, dynpar::status::out_of_memory);  // as the report says
        at.begin(*from);
        for (;;) {
            if (is_first) in.nodes.add(block, 1);
            state s = state::changes;
            while (s == state::changes) s = at.take_and_reduce();
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
            at.list_chosen();
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
