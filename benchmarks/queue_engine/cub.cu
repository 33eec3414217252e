// CUB's sum and sort: what a library does that does not nest.
#include <cuda_runtime.h>

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>

#include <cstddef>

#include "device_memory.hpp"
#include "table.hpp"

namespace queue_benchmark {

void measure_cub(table& t) {
    const cudaStream_t stream = t.stream();
    const auto nothing_to_say = [] { return run_facts{}; };
    if (t.wants(work::cutoff_28)) {
        const dynpar::buffer<int> numbers = on_device(numbers_to_add(), most_to_add);
        const dynpar::buffer<int> sum = on_device<int>(1);
        const long long expected = sum_of_first(most_to_add);  // an int
        std::size_t bytes = 0;
        const int count = static_cast<int>(most_to_add);
        dynpar::check(cub::DeviceReduce::Sum(nullptr, bytes, numbers.data(), sum.data(), count, stream), "asking CUB");
        const dynpar::buffer<char> memory = on_device<char>(bytes);
        contender c;
        c.work = work::cutoff_28;
        c.engine = by::cub;
        c.form = "DeviceReduce::Sum";
        c.prepare = [&] { fill(sum, 0xff); };
        c.start = [&] {
            dynpar::check(cub::DeviceReduce::Sum(memory.data(), bytes, numbers.data(), sum.data(), count, stream),
                          "launching CUB's sum");
            return nothing_to_say;
        };
        c.is_right = [&](const run_facts&) { return sum.to_vector()[0] == expected; };
        t.measure(c);
    }
    if (t.wants(work::sort)) {
        const dynpar::buffer<int> numbers = on_device(numbers_to_sort(), to_sort);
        const dynpar::buffer<int> sorted = on_device<int>(to_sort);
        std::size_t bytes = 0;
        const int count = static_cast<int>(to_sort);
        const auto sort = [&](void* memory) {
            return cub::DeviceRadixSort::SortKeys(memory, bytes, numbers.data(), sorted.data(), count, 0, 32, stream);
        };
        dynpar::check(sort(nullptr), "asking CUB");
        const dynpar::buffer<char> memory = on_device<char>(bytes);
        contender c;
        c.work = work::sort;
        c.engine = by::cub;
        c.form = "DeviceRadixSort";
        c.prepare = [&] { fill(sorted, 0); };
        c.start = [&] {
            dynpar::check(sort(memory.data()), "launching CUB's sort");
            return nothing_to_say;
        };
        c.is_right = [&](const run_facts&) { return sorted.to_vector() == sorted_numbers(); };
        t.measure(c);
    }
}

}  // namespace queue_benchmark
