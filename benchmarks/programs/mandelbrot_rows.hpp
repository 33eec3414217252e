// What all rows of the Mandelbrot set draw, and whether they have drawn it. Compiled with relocatable device code and
// without.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "../../samples/mandelbrot/kernels.hpp"
#include "../queue_engine/device_memory.hpp"
#include "rows.hpp"

namespace program_benchmark {

inline constexpr unsigned image_side = 4096;
inline constexpr unsigned image_iterations = 512;

/// All of the set, as the sample shows it.
inline mandelbrot::image whole_image(dynpar::reducer_view<dynpar::sum<mandelbrot::number>> computed,
                                     unsigned smallest) {
    const double step = 3.2 / image_side;
    return {static_cast<float>(-0.75 - step * (image_side - 1) / 2),
            static_cast<float>(step * (image_side - 1) / 2),
            static_cast<float>(step),
            image_side,
            image_side,
            image_iterations,
            smallest,
            nullptr,
            computed};
}

/// On the device, and what should be there.
struct drawing {
    dynpar::buffer<mandelbrot::count> counts =
        queue_benchmark::on_device<mandelbrot::count>(std::size_t{image_side} * image_side);
    std::vector<mandelbrot::count> expected;

    void forget() const { queue_benchmark::fill(counts, 0xff); }
    bool is_right() const { return counts.to_vector() == expected; }
};

/// The same subdivision on the device runtime, without any code of dynpar. From squares with that side. In a file with
/// relocatable device code.
void measure_plain_mandelbrot(queue_benchmark::table& t, const mandelbrot::image& in, unsigned side,
                              const drawing& there);

}  // namespace program_benchmark
