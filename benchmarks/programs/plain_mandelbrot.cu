// The Mandelbrot set by subdivision on the device runtime: `__global__` functions and <<<>>>, launches unchecked.
#include <cuda_runtime.h>

#include <string>

#include <dynpar/limits.hpp>

#include "mandelbrot_rows.hpp"

namespace program_benchmark {

namespace {

using namespace mandelbrot;

constexpr unsigned block_threads = 128;

__global__ void draw_plain(image in, unsigned x, unsigned y, unsigned side, unsigned across) {
    const square s = square_of(in, x, y, side, across, blockIdx.x);
    if (s.width == 0) return;
    const auto compute = [&](square::pixel p) {
        const count c = escape_time(in, p.column, p.row);
        in.counts[p.row * in.width + p.column] = c;
        return c;
    };
    const count first = escape_time(in, s.x, s.y);
    bool same = true;
    for (unsigned i = threadIdx.x; i < s.border_pixels(); i += block_threads)
        same = compute(s.border(i)) == first && same;
    if (__syncthreads_and(same) != 0) {
        for (unsigned i = threadIdx.x; i < s.inner_pixels(); i += block_threads) {
            const square::pixel p = s.inner(i);
            in.counts[p.row * in.width + p.column] = first;
        }
    } else if (side > in.smallest) {
        if (threadIdx.x == 0) draw_plain<<<4, block_threads, 0, cudaStreamFireAndForget>>>(in, s.x, s.y, side / 2, 2);
    } else {
        for (unsigned i = threadIdx.x; i < s.inner_pixels(); i += block_threads) compute(s.inner(i));
    }
}

}  // namespace

void measure_plain_mandelbrot(queue_benchmark::table& t, const image& in, unsigned side, const drawing& there) {
    dynpar::limits limits;
    limits.pending_launches = queue_benchmark::pending_launches;
    const dynpar::scoped_limits raised(limits);
    image drawn = in;
    drawn.counts = there.counts.data();
    const unsigned squares = across(drawn, side) * ((drawn.height + side - 1) / side);
    queue_benchmark::contender c;
    c.work = work::mandelbrot;
    c.engine = queue_benchmark::by::plain_cdp2;
    c.form = std::to_string(side) + " to " + std::to_string(in.smallest);
    c.may_be_wrong = true;
    c.prepare = [&] { there.forget(); };
    c.start = [&] {
        draw_plain<<<squares, block_threads, 0, t.stream()>>>(drawn, 0, 0, side, across(drawn, side));
        dynpar::check(cudaGetLastError(), "launching a plain kernel");
        return [] { return queue_benchmark::run_facts{std::uint64_t{image_side} * image_side, 0, {}}; };
    };
    c.is_right = [&](const queue_benchmark::run_facts&) { return there.is_right(); };
    t.measure(c);
}

}  // namespace program_benchmark
