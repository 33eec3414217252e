// Searches of graphs on CUDA's device runtime: the engine's with nested loops, and plain kernels that launch a grid for
// each vertex with more neighbours than a threshold.
#include <utility>

#include "cdp_row.cuh"
#include "searches.cuh"

namespace nested_benchmark {
namespace {

using queue_benchmark::table;

template <class Kernel, class Search>
void measure_engine(table& t, const graph_work& w, search_on_device& there, dynpar::cdp_engine& engine,
                    const tuning& how, Kernel kernel, const Search* search) {
    measure_cdp(
        t, engine, w.work, how.form, [&] { there.prepare(how); }, [&] { return there.is_right(); }, kernel,
        dynpar::shape(1, 1), there.frontier(), search);
}

// ---- Plain kernels

/// What all kernels of a search share, in device memory.
struct plain_search {
    graphs::graph_view g;
    unsigned* distance;
    unsigned* queued;  // the round in which it was found last
    unsigned* frontier;
    unsigned* found;  // the frontier of the next round
    unsigned* in_found;
    unsigned in_frontier;
    unsigned round;
};

class plain_search_on_device {
public:
    explicit plain_search_on_device(const graph_work& w)
        : of_(w),
          graph_(w.g),
          distance_(queue_benchmark::on_device<unsigned>(w.g.vertices())),
          queued_(queue_benchmark::on_device<unsigned>(w.g.vertices())),
          frontier_(queue_benchmark::on_device<unsigned>(w.g.vertices())),
          found_(queue_benchmark::on_device<unsigned>(w.g.vertices())),
          in_found_(queue_benchmark::on_device<unsigned>(1)),
          search_(queue_benchmark::on_device<plain_search>(1)) {}

    void prepare() const {
        queue_benchmark::fill(distance_, 0xff);
        queue_benchmark::fill(queued_, 0);
        dynpar::check(cudaMemset(distance_.data() + of_.first, 0, sizeof(unsigned)), "preparing a search");
        dynpar::check(cudaMemcpy(found_.data(), &of_.first, sizeof(unsigned), cudaMemcpyHostToDevice),
                      "preparing a search");
    }
    plain_search at_first() const {
        return {
            graph_.view(), distance_.data(), queued_.data(), frontier_.data(), found_.data(), in_found_.data(), 0, 0};
    }
    bool is_right() const { return distance_.to_vector() == of_.expected; }
    plain_search* data() const { return search_.data(); }

private:
    const graph_work& of_;
    graph_on_device graph_;
    dynpar::buffer<unsigned> distance_, queued_, frontier_, found_, in_found_;
    dynpar::buffer<plain_search> search_;
};

/// What a thread does with a neighbour: whether it has found it, or a shorter way to it. `distance`: of the vertex.
struct visit_plainly {
    static __device__ unsigned distance_of(const plain_search*, unsigned) { return 0; }
    static __device__ bool finds(plain_search* s, unsigned, unsigned, unsigned to) {
        return s->distance[to] == graphs::unseen &&
               atomicCAS(&s->distance[to], graphs::unseen, s->round) == graphs::unseen;
    }
};
struct shorten_plainly {
    static __device__ unsigned distance_of(const plain_search* s, unsigned from) {
        return *static_cast<const volatile unsigned*>(s->distance + from);
    }
    static __device__ bool finds(plain_search* s, unsigned distance, unsigned edge, unsigned to) {
        const unsigned way = distance + s->g.weights[edge];
        return s->distance[to] > way && atomicMin(&s->distance[to], way) > way &&
               atomicExch(&s->queued[to], s->round) != s->round;
    }
};

template <class Visit>
__device__ void plain_visit(plain_search* s, unsigned distance, unsigned edge) {
    const unsigned to = s->g.neighbours[edge];
    if (Visit::finds(s, distance, edge, to)) s->found[atomicAdd(s->in_found, 1u)] = to;
}
template <class Visit>
__global__ void plain_neighbours(plain_search* s, unsigned distance, unsigned first, unsigned edges) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < edges) plain_visit<Visit>(s, distance, first + i);
}
template <class Visit>
__global__ void plain_frontier(plain_search* s, unsigned threshold, unsigned long long* launched) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= s->in_frontier) return;
    const unsigned from = s->frontier[i], first = s->g.begin[from];
    const unsigned edges = s->g.begin[from + 1] - first, distance = Visit::distance_of(s, from);
    if (edges > threshold) {
        plain_neighbours<Visit><<<(edges + 255) / 256, 256, 0, cudaStreamFireAndForget>>>(s, distance, first, edges);
        if (cudaGetLastError() == cudaSuccess) {
            atomicAdd(launched, 1ull);
            return;
        }
    }
    for (unsigned k = 0; k < edges; ++k) plain_visit<Visit>(s, distance, first + k);
}

/// A grid for each level, by the host, which must know how large the next one is.
template <class Visit>
std::uint64_t search_plainly(cudaStream_t stream, const plain_search_on_device& there, unsigned threshold,
                             double seconds, unsigned long long* launched) {
    plain_search s = there.at_first();
    unsigned found = 1;
    return run_rounds(seconds, [&] {
        std::swap(s.frontier, s.found);
        s.in_frontier = found;
        ++s.round;
        dynpar::check(cudaMemcpyAsync(there.data(), &s, sizeof s, cudaMemcpyHostToDevice, stream), "beginning a level");
        dynpar::check(cudaMemsetAsync(s.in_found, 0, sizeof found, stream), "beginning a level");
        plain_frontier<Visit><<<(s.in_frontier + 255) / 256, 256, 0, stream>>>(there.data(), threshold, launched);
        dynpar::check(cudaGetLastError(), "launching a level");
        dynpar::check(cudaMemcpyAsync(&found, s.in_found, sizeof found, cudaMemcpyDeviceToHost, stream),
                      "ending a level");
        dynpar::check(cudaStreamSynchronize(stream), "running a level");
        return found != 0;
    });
}

template <class Visit>
void measure_plain_searches(table& t, const options& o, const graph_work& w) {
    const plain_search_on_device there(w);
    for (const unsigned threshold : {256u, 1024u, 4096u, 16384u})
        measure_plain(
            t, w.work, threshold, [&] { there.prepare(); }, [&] { return there.is_right(); },
            [&](unsigned most, unsigned long long* launched) {
                return search_plainly<Visit>(t.stream(), there, most, o.seconds, launched);
            });
}

}  // namespace

void measure_cdp_bfs(table& t, const options& o, const graph_work& w) {
    const dynpar::scoped_limits raised(limits_of_launches());
    {
        search_on_device there(w);
        dynpar::cdp_engine engine;
        measure_engine(t, w, there, engine, {"nested_for", 0, 0}, graphs::search_forward<graphs::visit_neighbour>{},
                       static_cast<const graphs::search*>(there.data()));
        measure_engine(t, w, there, engine, {"nested_for, by blocks", 0, 0}, next_round<true>{}, there.data());
        for (const tuning& how : {tuning{"blocks, in place 4096", 4096, 0}, tuning{"blocks, in place 65536", 65536, 0},
                                  tuning{"blocks, piece 2048", 0, 2048}})
            if (o.has_sweep) measure_engine(t, w, there, engine, how, next_round<true>{}, there.data());
    }
    measure_plain_searches<visit_plainly>(t, o, w);
}

void measure_cdp_ways(table& t, const options& o, const graph_work& w) {
    const dynpar::scoped_limits raised(limits_of_launches());
    {
        search_on_device there(w);
        dynpar::cdp_engine engine;
        measure_engine(t, w, there, engine, {"nested_for", 0, 0}, graphs::search_forward<graphs::shorten_way>{},
                       static_cast<const graphs::search*>(there.data()));
    }
    measure_plain_searches<shorten_plainly>(t, o, w);
}

}  // namespace nested_benchmark
