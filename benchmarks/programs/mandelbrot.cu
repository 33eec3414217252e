// The Mandelbrot set: the sample on the queue engine, beside a flat kernel, CDP2 and the CPU.
#include <string>
#include <utility>

#include "../queue_engine/counted_run.cuh"
#include "mandelbrot_rows.hpp"

namespace program_benchmark {

namespace {

using namespace mandelbrot;

constexpr std::uint64_t pixels = std::uint64_t{image_side} * image_side;

__global__ void draw_flat(image in) {
    const unsigned column = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned row = blockIdx.y * blockDim.y + threadIdx.y;
    in.counts[row * in.width + column] = escape_time(in, column, row);
}

void measure_flat(queue_benchmark::table& t, image in, const drawing& there) {
    in.counts = there.counts.data();
    queue_benchmark::contender c;
    c.work = work::mandelbrot;
    c.engine = queue_benchmark::by::flat;
    c.form = "a thread each";
    c.prepare = [&] { there.forget(); };
    c.start = [&] {
        const dim3 threads(32, 8);
        draw_flat<<<dim3(image_side / threads.x, image_side / threads.y), threads, 0, t.stream()>>>(in);
        dynpar::check(cudaGetLastError(), "launching a flat kernel");
        return [] { return queue_benchmark::run_facts{pixels, 0, {}}; };
    };
    c.is_right = [&](const queue_benchmark::run_facts&) { return there.is_right(); };
    t.measure(c);
}

void measure_subdivision(queue_benchmark::table& t, double seconds, unsigned side, unsigned smallest,
                         unsigned block_threads, const drawing& there) {
    const auto engine = queue_benchmark::make_engine(seconds, block_threads);
    auto computed = engine->make_reducer<dynpar::sum<number>>();
    image in = whole_image(computed.view(), smallest);
    in.counts = there.counts.data();
    const dynpar::buffer<image> on_engine = engine->make_buffer<image>({in});
    const std::string form = std::to_string(side) + " to " + std::to_string(smallest) +
                             (block_threads == 0 ? "" : ", " + std::string(queue_benchmark::more_warps));
    queue_benchmark::measure_queue(
        t, *engine, work::mandelbrot, form.c_str(),
        [&] {
            computed.reset();
            there.forget();
        },
        [](const dynpar::report&) { return pixels; },
        [&](const queue_benchmark::run_facts&) { return there.is_right(); }, draw{on_engine.data()}, shape(in, side),
        0u, 0u, side, across(in, side));
}

}  // namespace

void measure_mandelbrot(queue_benchmark::table& t, double seconds) {
    if (!t.wants(work::mandelbrot)) return;
    const auto engine = queue_benchmark::make_engine(seconds);
    auto computed = engine->make_reducer<dynpar::sum<number>>();
    const image in = whole_image(computed.view(), 32);
    std::vector<count> times;
    queue_benchmark::measure_cpu(t, work::mandelbrot, by::one_core, 1, [&] {
        times = escape_times(in);
        return pixels;
    });
    if (times.empty()) times = escape_times(in);
    drawing there;
    there.expected = times;
    measure_flat(t, in, there);
    for (const auto& [side, smallest] :
         {std::pair(128u, 16u), std::pair(128u, 32u), std::pair(64u, 16u), std::pair(64u, 32u), std::pair(32u, 32u)}) {
        image divided = in;
        divided.smallest = smallest;
        there.expected = subdivide_on_cpu(divided, side, times);
        measure_subdivision(t, seconds, side, smallest, 0, there);
        if (DYNPAR_QUEUE_MOST_THREADS >= 1024) measure_subdivision(t, seconds, side, smallest, 1024, there);
        measure_plain_mandelbrot(t, divided, side, there);
    }
}

}  // namespace program_benchmark
