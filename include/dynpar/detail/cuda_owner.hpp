// What the host owns of CUDA by a pointer: memory, streams, events.
#pragma once

namespace dynpar {
namespace detail {

/// Like std::unique_ptr, whose instances have five times as many functions: each program that runs kernels compiles
/// them all.
template <class Pointer, class Release>
class cuda_owner {
public:
    using pointer = Pointer;

    cuda_owner() = default;
    explicit cuda_owner(Pointer owned) : pointer_(owned) {}
    ~cuda_owner() {
        if (pointer_ != nullptr) Release()(pointer_);
    }
    cuda_owner(cuda_owner&& other) noexcept : pointer_(other.release()) {}
    cuda_owner& operator=(cuda_owner&& other) noexcept {
        Pointer const mine = pointer_;
        pointer_ = other.pointer_, other.pointer_ = mine;  // released with the other
        return *this;
    }

    Pointer get() const { return pointer_; }
    explicit operator bool() const { return pointer_ != nullptr; }
    /// Nobody's then.
    Pointer release() {
        Pointer const released = pointer_;
        pointer_ = nullptr;
        return released;
    }

private:
    Pointer pointer_ = nullptr;
};

}  // namespace detail
}  // namespace dynpar
