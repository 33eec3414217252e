// Forests and colours of graphs on CUDA's device runtime: the engine's with nested loops, and plain kernels that launch
// a grid for each vertex with more neighbours than a threshold. What cannot be launched is run in place.
#include <utility>

#include "cdp_row.cuh"
#include "forest_and_colours.cuh"

namespace nested_benchmark {
namespace {

using queue_benchmark::table;

constexpr unsigned block_threads = 256;

__host__ __device__ unsigned blocks_for(unsigned threads) { return (threads - 1) / block_threads + 1; }
__device__ unsigned thread_of_grid() { return blockIdx.x * blockDim.x + threadIdx.x; }

__device__ bool was_launched(unsigned long long* launched) {
    if (cudaGetLastError() != cudaSuccess) return false;
    atomicAdd(launched, 1ull);
    return true;
}

template <class T>
T value_of(const T* there, cudaStream_t stream) {
    T value{};
    dynpar::check(cudaMemcpyAsync(&value, there, sizeof value, cudaMemcpyDeviceToHost, stream), "ending a round");
    dynpar::check(cudaStreamSynchronize(stream), "running a round");
    return value;
}
template <class T>
void set(T* there, const T& value, cudaStream_t stream) {
    dynpar::check(cudaMemcpyAsync(there, &value, sizeof value, cudaMemcpyHostToDevice, stream), "beginning a round");
}

// ---- A forest

__device__ void offer(graphs::edge_key* lightest, graphs::edge_key key) {
    if (key < *static_cast<volatile graphs::edge_key*>(lightest)) atomicMin(lightest, key);
}
__device__ graphs::edge_key key_of(const graphs::forest* f, unsigned first, unsigned component, unsigned i) {
    const graphs::key_of_edge body{f, first, component};
    return body(i, body.fetch(i));
}
__global__ void plain_edges(const graphs::forest* f, unsigned first, unsigned component, unsigned edges) {
    const unsigned i = thread_of_grid();
    if (i < edges) offer(f->lightest + component, key_of(f, first, component, i));
}
__global__ void plain_lightest(const graphs::forest* f, unsigned threshold, unsigned long long* launched) {
    const unsigned v = thread_of_grid();
    if (v >= f->g.vertices) return;
    const unsigned first = f->g.begin[v], edges = f->g.begin[v + 1] - first, component = f->component[v];
    if (edges > threshold) {
        plain_edges<<<blocks_for(edges), block_threads, 0, cudaStreamFireAndForget>>>(f, first, component, edges);
        if (was_launched(launched)) return;
    }
    graphs::edge_key least = graphs::no_edge;
    for (unsigned i = 0; i < edges; ++i) least = min(least, key_of(f, first, component, i));
    offer(f->lightest + component, least);
}
__global__ void plain_join(graphs::forest* f) {
    const unsigned i = thread_of_grid();
    if (i >= f->g.vertices || f->component[i] != i || f->lightest[i] == graphs::no_edge) return;
    const graphs::edge_key key = f->lightest[i];
    const auto greater = static_cast<unsigned>(key % graphs::most_vertices_of_forest);
    const auto less = static_cast<unsigned>(key >> graphs::component_bits) % graphs::most_vertices_of_forest;
    const unsigned other = i == less ? greater : less;
    if (i < other && f->lightest[other] == key) return;
    f->joined_to[i] = other;
    atomicAdd(&f->weight, key >> 2 * graphs::component_bits);
    atomicAdd(&f->edges, 1u);
    f->has_changed = 1;
}
__global__ void plain_name(graphs::forest* f) {
    const unsigned i = thread_of_grid();
    if (i >= f->g.vertices) return;
    unsigned component = f->component[i];
    while (f->joined_to[component] != component) component = f->joined_to[component];
    f->component[i] = component;
    f->lightest[i] = graphs::no_edge;
}

std::uint64_t span_plainly(cudaStream_t stream, graphs::forest* f, unsigned vertices, unsigned threshold,
                           double seconds, unsigned long long* launched) {
    const unsigned blocks = blocks_for(vertices);
    return 3 * run_rounds(seconds, [&] {
               set(&f->has_changed, 0u, stream);
               plain_lightest<<<blocks, block_threads, 0, stream>>>(f, threshold, launched);
               plain_join<<<blocks, block_threads, 0, stream>>>(f);
               plain_name<<<blocks, block_threads, 0, stream>>>(f);
               return value_of(&f->has_changed, stream) != 0;
           });
}

// ---- Colours

using colour_bits = unsigned long long;

/// What all kernels share, in device memory.
struct plain_colouring : graphs::colouring {
    unsigned* waiting;  // vertices without a colour
    unsigned* still_waiting;
    unsigned* in_still_waiting;
    unsigned in_waiting;
};

class plain_colours_on_device {
public:
    explicit plain_colours_on_device(const graph_work& w)
        : of_(w),
          graph_(w.g),
          all_(queue_benchmark::on_device(all_vertices(w.g), w.g.vertices())),
          colour_(queue_benchmark::on_device<unsigned>(w.g.vertices())),
          waiting_(queue_benchmark::on_device<unsigned>(w.g.vertices())),
          still_waiting_(queue_benchmark::on_device<unsigned>(w.g.vertices())),
          in_still_waiting_(queue_benchmark::on_device<unsigned>(1)),
          taken_(queue_benchmark::on_device<colour_bits>(w.g.vertices())),
          colouring_(queue_benchmark::on_device<plain_colouring>(1)) {}

    void prepare() {
        const unsigned all = of_.g.vertices();
        queue_benchmark::fill(colour_, 0xff);  // no colour
        queue_benchmark::copy(still_waiting_, all_);
        in_still_waiting_.copy_from(&all);
    }
    plain_colouring at_first() const {
        plain_colouring c{};
        c.g = graph_.view();
        c.colour = colour_.data();
        c.waiting = waiting_.data();
        c.still_waiting = still_waiting_.data();
        c.in_still_waiting = in_still_waiting_.data();
        return c;
    }
    bool is_right() const { return colour_.to_vector() == of_.expected; }
    plain_colouring* data() const { return colouring_.data(); }
    colour_bits* taken() const { return taken_.data(); }

private:
    const graph_work& of_;
    graph_on_device graph_;
    dynpar::buffer<unsigned> all_, colour_, waiting_, still_waiting_, in_still_waiting_;
    dynpar::buffer<colour_bits> taken_;  // colours of the neighbours, of each vertex that waits
    dynpar::buffer<plain_colouring> colouring_;
};

constexpr colour_bits has_to_wait = graphs::taken_colours::has_to_wait;

__global__ void plain_neighbours(const plain_colouring* c, unsigned v, colour_bits* taken) {
    const unsigned i = thread_of_grid(), first = c->g.begin[v];
    if (i >= c->g.begin[v + 1] - first) return;
    const graphs::colour_of_neighbour body{c, v, first, 0};
    const colour_bits bits = body(i, body.fetch(i));
    if ((bits & ~*static_cast<volatile colour_bits*>(taken)) != 0) atomicOr(taken, bits);
}
__device__ colour_bits colours_around(const graphs::colouring* c, unsigned v, unsigned least) {
    const unsigned first = c->g.begin[v], edges = c->g.begin[v + 1] - first;
    const graphs::colour_of_neighbour body{c, v, first, least};
    colour_bits bits = 0;
    for (unsigned i = 0; i < edges && bits < has_to_wait; ++i) bits |= body(i, body.fetch(i));
    return bits;
}
/// What colours the neighbours of each vertex have that waits. Gives none.
__global__ void plain_look(const plain_colouring* c, colour_bits* taken, unsigned threshold,
                           unsigned long long* launched) {
    const unsigned i = thread_of_grid();
    if (i >= c->in_waiting) return;
    const unsigned v = c->waiting[i], edges = c->g.begin[v + 1] - c->g.begin[v];
    if (edges > threshold) {
        taken[i] = 0;
        plain_neighbours<<<blocks_for(edges), block_threads, 0, cudaStreamFireAndForget>>>(c, v, taken + i);
        if (was_launched(launched)) return;
    }
    taken[i] = colours_around(c, v, 0);
}
__global__ void plain_give(plain_colouring* c, const colour_bits* taken) {
    const unsigned i = thread_of_grid();
    if (i >= c->in_waiting) return;
    const unsigned v = c->waiting[i];
    colour_bits bits = taken[i];
    if (bits >= has_to_wait) {
        c->still_waiting[atomicAdd(c->in_still_waiting, 1u)] = v;
        return;
    }
    unsigned least = 0;
    while (bits == has_to_wait - 1) bits = colours_around(c, v, least += graphs::colours_together);
    c->colour[v] = least + static_cast<unsigned>(__ffsll(static_cast<long long>(~bits))) - 1;
}

std::uint64_t colour_plainly(cudaStream_t stream, const plain_colours_on_device& there, unsigned threshold,
                             double seconds, unsigned long long* launched) {
    plain_colouring c = there.at_first();
    colour_bits* const taken = there.taken();
    return 2 * run_rounds(seconds, [&] {
               std::swap(c.waiting, c.still_waiting);
               c.in_waiting = value_of(c.in_still_waiting, stream);
               set(c.in_still_waiting, 0u, stream);
               set(there.data(), c, stream);
               plain_look<<<blocks_for(c.in_waiting), block_threads, 0, stream>>>(there.data(), taken, threshold,
                                                                                  launched);
               plain_give<<<blocks_for(c.in_waiting), block_threads, 0, stream>>>(there.data(), taken);
               return value_of(c.in_still_waiting, stream) != 0;
           });
}

}  // namespace

void measure_cdp_forest(table& t, const options& o, const forest_work& w) {
    const dynpar::scoped_limits raised(limits_of_launches());
    const forest_on_device there(w);
    const auto prepare = [&] { there.prepare(); };
    const auto is_right = [&] { return there.is_right(); };
    {
        dynpar::cdp_engine engine;
        measure_cdp(t, engine, w.work, "nested_reduce", prepare, is_right, graphs::next_forest_round{},
                    dynpar::shape(1, 1), there.data());
    }
    for (const unsigned threshold : {256u, 1024u, 4096u, 16384u})
        measure_plain(t, w.work, threshold, prepare, is_right, [&](unsigned most, unsigned long long* launched) {
            return span_plainly(t.stream(), there.data(), there.vertices(), most, o.seconds, launched);
        });
}

void measure_cdp_colours(table& t, const options& o, const graph_work& w) {
    const dynpar::scoped_limits raised(limits_of_launches());
    {
        colours_on_device there(w);
        dynpar::cdp_engine engine;
        measure_cdp(
            t, engine, w.work, "nested_reduce", [&] { there.prepare(); }, [&] { return there.is_right(); },
            graphs::colour_all{}, dynpar::shape(1, 1), there.waiting(), there.data());
    }
    plain_colours_on_device there(w);
    for (const unsigned threshold : {256u, 1024u, 4096u, 16384u})
        measure_plain(
            t, w.work, threshold, [&] { there.prepare(); }, [&] { return there.is_right(); },
            [&](unsigned most, unsigned long long* launched) {
                return colour_plainly(t.stream(), there, most, o.seconds, launched);
            });
}

}  // namespace nested_benchmark
