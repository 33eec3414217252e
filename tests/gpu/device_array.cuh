// An array of zeros in device memory, for tests.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <vector>

#include <dynpar/cuda_error.hpp>

namespace testing {

template <class T>
class device_array {
public:
    explicit device_array(std::size_t size) : size_(size) {
        void* memory = nullptr;
        dynpar::check(cudaMalloc(&memory, size * sizeof(T)), "allocating a test's memory");
        data_ = static_cast<T*>(memory);
        dynpar::check(cudaMemset(data_, 0, size * sizeof(T)), "clearing a test's memory");
        // Non-blocking streams do not wait for the memset.
        dynpar::check(cudaDeviceSynchronize(), "clearing a test's memory");
    }
    ~device_array() { static_cast<void>(cudaFree(data_)); }
    device_array(const device_array&) = delete;
    device_array& operator=(const device_array&) = delete;

    T* data() const { return data_; }

    /// All elements, once the device has done all its work.
    std::vector<T> to_vector() const {
        std::vector<T> host(size_);
        dynpar::check(cudaDeviceSynchronize(), "waiting for a test's kernels");
        dynpar::check(cudaMemcpy(host.data(), data_, size_ * sizeof(T), cudaMemcpyDeviceToHost),
                      "reading a test's memory");
        return host;
    }
    T value() const { return to_vector().front(); }

private:
    T* data_ = nullptr;
    std::size_t size_;
};

}  // namespace testing
