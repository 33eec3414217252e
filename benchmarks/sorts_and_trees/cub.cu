// CUB's radix sort: what a library does that does not nest, and compares no keys.
#include <cuda_runtime.h>

#include <cub/device/device_radix_sort.cuh>

#include <cstddef>

#include "on_device.hpp"

namespace sort_benchmark {

void measure_cub_sorts(queue_benchmark::table& t) {
    for (const sort_work& what : work::sorts) {
        if (!t.wants(what.name)) continue;
        const keys_to_sort there(what.keys);
        std::size_t bytes = 0;
        const auto sort = [&](void* memory) {
            return cub::DeviceRadixSort::SortKeys(memory, bytes, there.source(), there.keys(), what.keys, 0, 32,
                                                  t.stream());
        };
        dynpar::check(sort(nullptr), "asking CUB");
        const dynpar::buffer<char> memory = queue_benchmark::on_device<char>(bytes);
        queue_benchmark::contender c;
        c.work = what.name;
        c.engine = queue_benchmark::by::cub;
        c.form = "DeviceRadixSort";
        c.prepare = [&] { there.prepare(); };
        c.start = [&] {
            dynpar::check(sort(memory.data()), "launching CUB's sort");
            return [&] { return queue_benchmark::run_facts{what.keys, 0, {}}; };
        };
        c.is_right = [&](const queue_benchmark::run_facts&) { return there.is_right(); };
        t.measure(c);
    }
}

}  // namespace sort_benchmark
