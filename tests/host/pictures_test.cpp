// The Mandelbrot set by subdivision, on the host engine against the CPU.
#include <cstddef>
#include <set>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "../../samples/mandelbrot/kernels.hpp"

namespace {

using namespace mandelbrot;

struct drawing {
    image in;
    unsigned side;
};
// Each on a part of the set, with some of the inside and of the outside.
drawing drawing_of(unsigned width, unsigned height, unsigned iterations, unsigned side, unsigned smallest,
                   dynpar::reducer_view<dynpar::sum<number>> computed) {
    const float step = 3.0f / static_cast<float>(width);
    return {
        {-2.2f, step * static_cast<float>(height) / 2, step, width, height, iterations, smallest, nullptr, computed},
        side};
}

}  // namespace

TEST_CASE("the border and the inside of a square are all of its pixels, each once") {
    for (const unsigned width : {1u, 2u, 3u, 8u}) {
        for (const unsigned height : {1u, 2u, 3u, 7u}) {
            const square s{10, 20, width, height};
            std::set<std::pair<unsigned, unsigned>> border;
            std::set<std::pair<unsigned, unsigned>> inner;
            for (unsigned i = 0; i < s.border_pixels(); ++i) border.emplace(s.border(i).column, s.border(i).row);
            for (unsigned i = 0; i < s.inner_pixels(); ++i) inner.emplace(s.inner(i).column, s.inner(i).row);
            CHECK(border.size() == s.border_pixels());
            CHECK(inner.size() == s.inner_pixels());
            CHECK(border.size() + inner.size() == width * height);
            for (unsigned x = 0; x < width; ++x) {
                for (unsigned y = 0; y < height; ++y) {
                    const bool is_border = x == 0 || y == 0 || x == width - 1 || y == height - 1;
                    CHECK((is_border ? border : inner).count({10 + x, 20 + y}) == 1);
                }
            }
        }
    }
}

TEST_CASE("the Mandelbrot set by subdivision is the CPU's, pixel by pixel, with blocks of any width") {
    for (const unsigned threads : {1u, 5u, 32u}) {
        dynpar::host_options options;
        options.moldable_threads = threads;
        dynpar::host_engine engine(options);
        auto computed = engine.make_reducer<dynpar::sum<number>>();
        for (const drawing& d :
             {drawing_of(256, 256, 60, 64, 8, computed.view()), drawing_of(100, 75, 40, 32, 4, computed.view()),
              drawing_of(65, 1, 30, 16, 2, computed.view()), drawing_of(1, 65, 30, 16, 1, computed.view()),
              drawing_of(90, 60, 3, 256, 1, computed.view())}) {
            image in = d.in;
            const std::vector<count> times = escape_times(in);
            auto counts = engine.make_buffer<count>(times.size());
            counts.fill(count{0xffff});
            in.counts = counts.data();
            const auto there = engine.make_buffer<image>({in});
            computed.reset();
            engine.run(draw{there.data()}, shape(in, d.side), 0u, 0u, d.side, across(in, d.side));
            CHECK(counts.to_vector() == subdivide_on_cpu(in, d.side, times));
            CHECK(computed.value() >= 1);
            if (in.width == 256) CHECK(computed.value() < 256 * 256 * 4 / 5);
        }
    }
}

TEST_CASE("a subdivision misses what no border has met, and on the CPU it is the same image") {
    dynpar::host_engine engine;
    auto computed = engine.make_reducer<dynpar::sum<number>>();
    // All of it in one square, whose border lies outside of the set.
    image in = drawing_of(64, 64, 3, 64, 4, computed.view()).in;
    in.left = -40;
    in.top = 40;
    in.step = 1.25f;
    const std::vector<count> times = escape_times(in);
    const std::vector<count> drawn = subdivide_on_cpu(in, 64, times);
    CHECK(drawn == std::vector<count>(64 * 64, times[0]));
    CHECK(drawn != times);
}

TEST_CASE("escape times are those that are known") {
    dynpar::host_engine engine;
    auto computed = engine.make_reducer<dynpar::sum<number>>();
    image in = drawing_of(4, 1, 50, 4, 4, computed.view()).in;
    in.left = -2;
    in.top = 0;
    in.step = 1;
    // -2, -1 and 0 never escape. From 1 on: 0, 1, 2, and 5 is beyond.
    CHECK(escape_times(in) == std::vector<count>{50, 50, 50, 3});
}
