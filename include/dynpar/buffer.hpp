// Memory that an engine's kernels can reach, so that one host program serves every engine.
#pragma once

#include <cstddef>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include "platform.hpp"

namespace dynpar {

/// How an engine allocates and copies. The functions throw (`std::bad_alloc`, `cuda_error`) and never return null;
/// `release` does not throw.
struct memory_space {
    void* (*allocate)(std::size_t bytes);                                ///< memory for a buffer
    void (*release)(void* memory) noexcept;                              ///< gives it back
    void (*copy_in)(void* there, const void* host, std::size_t bytes);   ///< from host memory; waits
    void (*copy_out)(void* host, const void* there, std::size_t bytes);  ///< to host memory; waits
};

/// An array in the memory of an engine: made by `engine.make_buffer<T>(n)`, freed on destruction. Its contents are
/// undefined at first, unless it was made of values. Kernels get its `data()`.
template <class T>
class buffer {
    static_assert(std::is_trivially_copyable_v<T>, "dynpar: a buffer copies bytes between host and engine");

public:
    /// Of `count` elements. Programs call `make_buffer` of their engine. `space` outlives the buffer.
    buffer(const memory_space& space, std::size_t count) : space_(&space), size_(count) {
        if (count > std::numeric_limits<std::size_t>::max() / sizeof(T)) throw std::bad_array_new_length();
        if (count != 0) data_ = static_cast<T*>(space.allocate(count * sizeof(T)));
    }
    ~buffer() {
        if (data_ != nullptr) space_->release(data_);
    }
    buffer(buffer&& other) noexcept
        : space_(other.space_), data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
    buffer& operator=(buffer&& other) noexcept {
        std::swap(space_, other.space_);
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        return *this;
    }

    T* data() const { return data_; }           ///< for kernels; on a GPU engine the host must not use it
    std::size_t size() const { return size_; }  ///< in elements

    /// Copies `size()` elements from host memory into the buffer; waits until that is done.
    void copy_from(const T* host) {
        if (size_ != 0) space_->copy_in(data_, host, size_ * sizeof(T));
    }
    /// The same into the first `count` elements. Throws `std::out_of_range` if the buffer has fewer.
    void copy_from(const T* host, std::size_t count) {
        if (count > size_) throw std::out_of_range("dynpar: copy_from: more elements given than the buffer has");
        if (count != 0) space_->copy_in(data_, host, count * sizeof(T));
    }
    /// Copies the first `count` elements into host memory; waits until that is done.
    void copy_to(T* host, std::size_t count) const {
        if (count > size_) throw std::out_of_range("dynpar: copy_to: more elements asked for than the buffer has");
        if (count != 0) space_->copy_out(host, data_, count * sizeof(T));
    }
    /// All elements, on the host.
    std::vector<T> to_vector() const {
        if constexpr (std::is_same_v<T, bool>) {  // a vector of those has no array
            const std::unique_ptr<bool[]> host(new bool[size_]);
            copy_to(host.get(), size_);
            return std::vector<bool>(host.get(), host.get() + size_);
        } else {
            std::vector<T> host(size_);
            copy_to(host.data(), size_);
            return host;
        }
    }
    /// One element, on the host; the first, if none is named. Throws `std::out_of_range` if there is none of that
    /// number.
    T value(std::size_t index = 0) const {
        if (index >= size_) throw std::out_of_range("dynpar: value: the buffer has no element of that number");
        std::aligned_storage_t<sizeof(T), alignof(T)> host;
        space_->copy_out(&host, data_ + index, sizeof(T));
        return *std::launder(reinterpret_cast<const T*>(&host));
    }
    /// Sets all elements to one value; waits until that is done.
    void fill(const T& value) {
        constexpr std::size_t most = (std::size_t{1} << 20) / sizeof(T) + 1;  // elements that are copied at a time
        const std::size_t several = size_ < most ? size_ : most;
        std::vector<unsigned char> bytes(several * sizeof(T));
        for (std::size_t i = 0; i < several; ++i) std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
        for (std::size_t done = 0; done < size_;) {
            const std::size_t count = size_ - done < several ? size_ - done : several;
            space_->copy_in(data_ + done, bytes.data(), count * sizeof(T));
            done += count;
        }
    }

private:
    const memory_space* space_;
    T* data_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace dynpar
