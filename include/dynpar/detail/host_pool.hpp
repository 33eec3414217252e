// Memory of the host engine for records of a few sizes, many of which come and go.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <vector>

namespace dynpar {
namespace detail {

/// Memory that is freed is kept for the next record of its size. Like std::pmr::unsynchronized_pool_resource, without
/// <memory_resource>: that brings <chrono>, and each of nvcc's passes reads every header.
class host_pool {
public:
    static constexpr std::size_t alignment = 16;

    void* allocate(std::size_t bytes) {
        const std::size_t of_size = size_class(bytes);
        if (of_size >= size_classes) return ::operator new (bytes, std::align_val_t{alignment});
        if (free_record* const found = free_[of_size]; found != nullptr) {
            free_[of_size] = found->next;
            return found;
        }
        const std::size_t rounded_up = (of_size + 1) * alignment;
        if (left_ < rounded_up) begin_chunk();
        left_ -= rounded_up;
        unsigned char* const memory = next_;
        next_ += rounded_up;
        return memory;
    }
    /// With the size that it was allocated with.
    void deallocate(void* memory, std::size_t bytes) {
        const std::size_t of_size = size_class(bytes);
        if (of_size >= size_classes) {
            ::operator delete (memory, std::align_val_t{alignment});
        } else {
            free_[of_size] = new (memory) free_record{free_[of_size]};
        }
    }
    /// Frees all records but those of more than `size_classes * alignment` bytes.
    void release() {
        chunks_.clear();
        for (free_record*& list : free_) list = nullptr;
        left_ = 0;
        chunk_bytes_ = first_chunk_bytes;
    }

private:
    struct free_record {
        free_record* next;
    };
    static constexpr std::size_t size_classes = 128;
    static constexpr std::size_t first_chunk_bytes = std::size_t{8} << 10;
    static constexpr std::size_t most_chunk_bytes = std::size_t{1} << 20;

    static std::size_t size_class(std::size_t bytes) { return (bytes - 1) / alignment; }
    void begin_chunk() {
        // new[] of characters aligns as for any type: to 16 bytes.
        chunks_.emplace_back(new unsigned char[chunk_bytes_]);
        next_ = chunks_.back().get();
        left_ = chunk_bytes_;
        if (chunk_bytes_ < most_chunk_bytes) chunk_bytes_ *= 2;
    }

    std::vector<std::unique_ptr<unsigned char[]>> chunks_;
    free_record* free_[size_classes] = {};
    unsigned char* next_ = nullptr;
    std::size_t left_ = 0;  // of the last chunk
    std::size_t chunk_bytes_ = first_chunk_bytes;
};

}  // namespace detail
}  // namespace dynpar
