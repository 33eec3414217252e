#include "serial.hpp"

#include <algorithm>
#include <atomic>
#include <deque>
#include <mutex>
#include <thread>

namespace vertex_cover {

namespace {

constexpr unsigned none = ~0u;

// What is left of a graph: a vertex is there as long as it has an edge to another one that is.
struct rest {
    std::vector<unsigned short> degrees;
    vertex_set taken;
};

// A graph, or a part of one, that is to be covered.
struct problem {
    std::atomic<unsigned> best;  // a cover must be smaller
    std::mutex mutex;
    vertex_set cover;

    void improve(const vertex_set& found) {
        if (found.size() >= best) return;
        const std::lock_guard lock(mutex);
        if (found.size() >= best) return;
        cover = found;
        best = static_cast<unsigned>(found.size());
    }
};

// What is left, by numbers.
struct measure {
    unsigned vertices = 0;
    unsigned edges = 0;
    unsigned highest = none;  // the vertex with the most edges
    unsigned highest_degree = 0;
};

class search {
public:
    search(const graph& g, std::atomic<std::uint64_t>& nodes, std::uint64_t most_nodes)
        : graph_(g), nodes_(nodes), most_nodes_(most_nodes) {}

    bool is_over() const { return nodes_.load(std::memory_order_relaxed) > most_nodes_; }

    // Removes a vertex, which is in the cover.
    void take(rest& r, unsigned v) const {
        r.taken.push_back(v);
        r.degrees[v] = 0;
        for (const unsigned u : graph_.neighbours[v])
            if (r.degrees[u] != 0) --r.degrees[u];
    }
    // A vertex is not in the cover: its neighbours are.
    void leave_out(rest& r, unsigned v) const {
        for (const unsigned u : graph_.neighbours[v])
            if (r.degrees[u] != 0) take(r, u);
    }

    // Takes what there is no choice about. False: no cover of fewer vertices than the best one comes of it.
    bool reduce(rest& r, const problem& p, measure& m) const {
        for (;;) {
            const int budget = static_cast<int>(p.best) - 1 - static_cast<int>(r.taken.size());
            bool has_changed = false;
            m = {};
            for (unsigned v = 0; v < graph_.vertices(); ++v) {
                const unsigned d = r.degrees[v];
                if (d == 0) continue;
                if (static_cast<int>(d) > static_cast<int>(p.best) - 1 - static_cast<int>(r.taken.size())) {
                    take(r, v);
                    has_changed = true;
                } else if (d == 1 || (d == 2 && is_in_triangle(r, v))) {
                    leave_out(r, v);
                    has_changed = true;
                } else {
                    ++m.vertices;
                    m.edges += d;
                    if (d > m.highest_degree) {
                        m.highest_degree = d;
                        m.highest = v;
                    }
                }
            }
            if (budget < 0) return false;
            if (has_changed) continue;
            m.edges /= 2;
            return m.edges == 0 || m.edges <= static_cast<unsigned>(budget) * m.highest_degree;
        }
    }

    // Searches a whole subtree.
    void visit(rest& r, problem& p, unsigned depth) {
        while (!is_over()) {
            ++nodes_of_mine_;
            if (nodes_of_mine_ % 256 == 0) nodes_.fetch_add(256, std::memory_order_relaxed);
            measure m;
            if (!reduce(r, p, m)) return;
            if (m.edges == 0) return p.improve(r.taken);
            if (m.edges <= 4 * m.vertices && split(r, p, m, depth)) return;
            rest& other = copy(r, depth);
            take(r, m.highest);
            visit(r, p, depth + 1);
            // As in the copy, which calls below have not touched.
            leave_out(other, m.highest);
            std::swap(r, other);
        }
    }

    void count_rest() { nodes_ += nodes_of_mine_ % 256; }

private:
    bool is_in_triangle(const rest& r, unsigned v) const {
        unsigned found[2] = {none, none};
        unsigned count = 0;
        for (const unsigned u : graph_.neighbours[v])
            if (r.degrees[u] != 0) found[count++] = u;
        const auto& of_first = graph_.neighbours[found[0]];
        return std::binary_search(of_first.begin(), of_first.end(), found[1]);
    }

    // If what is left falls into two parts, solves them by themselves.
    bool split(const rest& r, problem& p, const measure& m, unsigned depth) {
        vertex_set reached{m.highest};
        std::vector<bool> is_reached(graph_.vertices());
        is_reached[m.highest] = true;
        unsigned edges = 0;
        for (std::size_t i = 0; i < reached.size(); ++i) {
            edges += r.degrees[reached[i]];
            for (const unsigned u : graph_.neighbours[reached[i]]) {
                if (r.degrees[u] == 0 || is_reached[u]) continue;
                is_reached[u] = true;
                reached.push_back(u);
            }
        }
        if (reached.size() == m.vertices) return false;
        edges /= 2;
        const auto needed_for = [&](unsigned e) { return (e + m.highest_degree - 1) / m.highest_degree; };
        const unsigned needed[2] = {needed_for(edges), needed_for(m.edges - edges)};
        const auto taken = static_cast<unsigned>(r.taken.size());
        if (taken + needed[0] + needed[1] >= p.best) return true;
        vertex_set cover = r.taken;
        unsigned left = p.best - taken;
        for (const bool side : {true, false}) {
            rest part;
            part.degrees = r.degrees;
            unsigned vertices = 0;
            for (unsigned v = 0; v < graph_.vertices(); ++v) {
                if (is_reached[v] != side) part.degrees[v] = 0;
                if (part.degrees[v] != 0) ++vertices;
            }
            problem of_part;
            const unsigned bound = std::min(vertices, left - (side ? needed[1] : 0));
            of_part.best = bound;
            visit(part, of_part, depth + 1);
            if (of_part.best == bound) return true;  // nothing that would be an improvement
            cover.insert(cover.end(), of_part.cover.begin(), of_part.cover.end());
            left -= of_part.best;
        }
        p.improve(cover);
        return true;
    }

    // Keeps its memory for the next one at that depth.
    rest& copy(const rest& r, unsigned depth) {
        while (copies_.size() <= depth) copies_.emplace_back();
        copies_[depth] = r;
        return copies_[depth];
    }

    const graph& graph_;
    std::atomic<std::uint64_t>& nodes_;
    std::uint64_t most_nodes_;
    std::uint64_t nodes_of_mine_ = 0;
    std::deque<rest> copies_;  // whose elements stay where they are
};

rest whole(const graph& g) {
    rest r;
    for (const auto& of_one : g.neighbours) r.degrees.push_back(static_cast<unsigned short>(of_one.size()));
    return r;
}

}  // namespace

bool is_cover(const graph& g, const vertex_set& cover) {
    std::vector<bool> is_in(g.vertices());
    for (const unsigned v : cover) is_in[v] = true;
    for (unsigned v = 0; v < g.vertices(); ++v)
        for (const unsigned u : g.neighbours[v])
            if (!is_in[v] && !is_in[u]) return false;
    return true;
}

vertex_set greedy_cover(const graph& g) {
    std::atomic<std::uint64_t> nodes{0};
    const search s(g, nodes, 0);
    problem p;
    p.best = g.vertices() + 1;
    rest r = whole(g);
    for (measure m; s.reduce(r, p, m) && m.edges != 0;) s.take(r, m.highest);
    std::sort(r.taken.begin(), r.taken.end());
    return r.taken;
}

cpu_result solve_on_cpu(const graph& g, std::uint64_t most_nodes, unsigned threads) {
    std::atomic<std::uint64_t> nodes{0};
    problem p;
    p.cover = greedy_cover(g);
    p.best = static_cast<unsigned>(p.cover.size());
    std::deque<rest> open{whole(g)};
    // For several threads, subtrees enough that none is without work for long.
    const std::size_t wanted = threads == 1 ? 1 : 64 * threads;
    search first(g, nodes, most_nodes);
    while (!open.empty() && open.size() < wanted && !first.is_over()) {
        rest r = std::move(open.front());
        open.pop_front();
        ++nodes;
        measure m;
        if (!first.reduce(r, p, m)) continue;
        if (m.edges == 0) {
            p.improve(r.taken);
            continue;
        }
        rest other = r;
        first.take(r, m.highest);
        first.leave_out(other, m.highest);
        open.push_back(std::move(r));
        open.push_back(std::move(other));
    }
    std::atomic<std::size_t> next{0};
    const auto work = [&] {
        search s(g, nodes, most_nodes);
        for (std::size_t i = next++; i < open.size(); i = next++) s.visit(open[i], p, 0);
        s.count_rest();
    };
    std::vector<std::thread> others;
    for (unsigned i = 1; i < threads; ++i) others.emplace_back(work);
    work();
    for (std::thread& t : others) t.join();
    std::sort(p.cover.begin(), p.cover.end());
    return {p.cover, nodes, nodes <= most_nodes};
}

}  // namespace vertex_cover
