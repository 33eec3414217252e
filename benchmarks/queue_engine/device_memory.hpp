// What the groups of rows do with device memory.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <vector>

#include <dynpar/buffer.hpp>
#include <dynpar/cuda_error.hpp>
#include <dynpar/detail/cuda_memory.hpp>

#include "table.hpp"

namespace queue_benchmark {

template <class T>
dynpar::buffer<T> on_device(std::size_t count) {
    return dynpar::buffer<T>(dynpar::detail::cuda_memory(), count);
}
/// The first `count` of the values.
template <class T>
dynpar::buffer<T> on_device(const std::vector<T>& values, std::size_t count) {
    dynpar::buffer<T> there = on_device<T>(count);
    there.copy_from(values.data());
    return there;
}

template <class T>
void fill(const dynpar::buffer<T>& there, int byte) {
    dynpar::check(cudaMemset(there.data(), byte, there.size() * sizeof(T)), "filling device memory");
}
template <class T>
void copy(const dynpar::buffer<T>& to, const dynpar::buffer<T>& from) {
    dynpar::check(cudaMemcpy(to.data(), from.data(), to.size() * sizeof(T), cudaMemcpyDeviceToDevice),
                  "copying on the device");
}

/// The numbers of a recursive sum, which the kernels overwrite, and a sum for each block.
class blocks_to_add {
public:
    explicit blocks_to_add(std::size_t count)
        : blocks_(static_cast<unsigned>(count / block_size)),
          expected_(sum_of_first(count)),
          source_(on_device(numbers_to_add(), count)),
          numbers_(on_device<int>(count)),
          sums_(on_device<int>(blocks_)),
          total_(on_device<long long>(1)) {}

    /// The numbers as they were; sums that are no sums; a total of 0.
    void prepare() const {
        copy(numbers_, source_);
        fill(sums_, 0xff);
        fill(total_, 0);
    }
    bool sums_are_right() const {
        long long sum = 0;
        for (const int s : sums_.to_vector()) sum += s;
        return sum == expected_;
    }
    bool total_is_right() const { return total_.to_vector()[0] == expected_; }

    unsigned blocks() const { return blocks_; }
    const int* source() const { return source_.data(); }
    int* numbers() const { return numbers_.data(); }
    int* sums() const { return sums_.data(); }
    long long* total() const { return total_.data(); }

private:
    unsigned blocks_;
    long long expected_;
    dynpar::buffer<int> source_;
    dynpar::buffer<int> numbers_;
    dynpar::buffer<int> sums_;
    dynpar::buffer<long long> total_;
};

}  // namespace queue_benchmark
