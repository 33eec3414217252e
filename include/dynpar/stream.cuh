// Streams, of the host and of a block in device code: two types, because neither can be used in place of the other.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <memory>
#include <utility>

#include "cuda_error.hpp"
#include "detail/device_log.cuh"
#include "detail/release.cuh"
#include "device_log.hpp"
#include "source_place.hpp"

namespace dynpar {

class event_view;

/// A host stream owned by another object; trivially copyable. Made without an argument it is CUDA's default stream.
class stream_view {
public:
    /// CUDA's default stream.
    constexpr stream_view() = default;
    /// CUDA's own handle. Not explicit: it serves wherever a view is wanted.
    constexpr stream_view(cudaStream_t handle) : handle_(handle) {}
    stream_view(int) = delete;             ///< a literal 0 would silently be the default stream: write stream_view()
    stream_view(std::nullptr_t) = delete;  ///< likewise

    /// CUDA's own handle.
    constexpr cudaStream_t handle() const { return handle_; }

    /// Work given to this stream from now on runs after the work that the event has recorded. Throws `cuda_error`.
    void wait(event_view recorded, source_place place = DYNPAR_HERE) const;

    /// Whether both are the same stream.
    friend constexpr bool operator==(stream_view a, stream_view b) { return a.handle_ == b.handle_; }
    /// Whether they are different streams.
    friend constexpr bool operator!=(stream_view a, stream_view b) { return !(a == b); }

private:
    cudaStream_t handle_ = nullptr;
};

/// Owns a non-blocking host stream on the device that was current when it was made: it and CUDA's default stream do not
/// wait for each other. Move-only; work that is in the stream when it is destroyed still runs.
class stream {
public:
    /// Throws `cuda_error` if there is no usable device.
    explicit stream(source_place place = DYNPAR_HERE) {
        cudaStream_t handle = nullptr;
        check(cudaStreamCreateWithFlags(&handle, cudaStreamNonBlocking), "making a stream", place);
        handle_.reset(handle);
    }

    cudaStream_t handle() const { return handle_.get(); }  ///< nullptr only after a move
    /// For functions that do not own the stream; valid as long as the owner.
    stream_view view() const { return stream_view(handle_.get()); }
    /// The owner serves wherever a view is wanted.
    operator stream_view() const { return view(); }

    /// See `stream_view::wait`.
    void wait(event_view recorded, source_place place = DYNPAR_HERE) const;

private:
    struct close {
        using pointer = cudaStream_t;  // the handle is itself the pointer: nothing is on the heap
        void operator()(cudaStream_t handle) const { detail::release(cudaStreamDestroy(handle), "stream"); }
    };
    std::unique_ptr<CUstream_st, close> handle_;
};

/// Waits until everything that was given to the stream is complete, nested grids included, then checks what device code
/// has logged. Throws `cuda_error` if a kernel broke, and `device_launch_error` if a call in device code failed (see
/// `check_device_launches`).
inline void synchronize(stream_view s, source_place place = DYNPAR_HERE) {
    check(cudaStreamSynchronize(s.handle()), "waiting for a stream", place);
    detail::check_device_launches_on(s.handle(), place);
}

#if DYNPAR_HAS_DEVICE_LAUNCH
namespace device {

class event_view;

/// A stream of the calling block, owned by another object; trivially copyable. Made without an argument it is the
/// block's default stream, which all threads of the block share.
class stream_view {
public:
    /// The block's default stream.
    stream_view() = default;
    /// CUDA's own handle.
    __device__ constexpr explicit stream_view(cudaStream_t handle) : handle_(handle) {}
    stream_view(int) = delete;             ///< a literal 0 would silently be the default stream: write stream_view()
    stream_view(std::nullptr_t) = delete;  ///< likewise

    /// CUDA's own handle.
    __device__ constexpr cudaStream_t handle() const { return handle_; }

    /// Work given to this stream from now on runs after the work that the event has recorded. A failure is also logged.
    __device__ cudaError_t wait(event_view recorded, source_place place = DYNPAR_HERE) const;

private:
    cudaStream_t handle_ = nullptr;
};

/// Owns a non-blocking stream of the block that made it. Only the threads of that block may use it and its views: not
/// children, other blocks or the host. Move-only; work that is in the stream when it is destroyed still runs.
class stream {
public:
    /// A failure is logged and kept in `error()`; every later use of the stream fails.
    __device__ explicit stream(source_place place = DYNPAR_HERE) {
        error_ = detail::result_of(cudaStreamCreateWithFlags(&handle_, cudaStreamNonBlocking));
        if (detail::logged(device_call::make_stream, error_, place) != cudaSuccess) handle_ = detail::no_stream();
    }
    __device__ ~stream() { close(); }
    stream(const stream&) = delete;
    stream& operator=(const stream&) = delete;
    __device__ stream(stream&& other) noexcept : handle_(other.handle_), error_(other.error_) {
        other.handle_ = detail::no_stream();
        other.error_ = cudaErrorInvalidResourceHandle;
    }
    __device__ stream& operator=(stream&& other) noexcept {
        if (this != &other) {
            close();
            handle_ = other.handle_;
            error_ = other.error_;
            other.handle_ = detail::no_stream();
            other.error_ = cudaErrorInvalidResourceHandle;
        }
        return *this;
    }

    /// cudaSuccess if there is a stream; else why not (cudaErrorInvalidResourceHandle after a move).
    __device__ cudaError_t error() const { return error_; }
    /// For functions that do not own the stream; valid as long as the owner.
    __device__ stream_view view() const { return stream_view(handle_); }
    /// The owner serves wherever a view is wanted.
    __device__ operator stream_view() const { return view(); }

    /// See `stream_view::wait`.
    __device__ cudaError_t wait(event_view recorded, source_place place = DYNPAR_HERE) const;

private:
    __device__ void close() {
        if (handle_ != detail::no_stream()) static_cast<void>(detail::result_of(cudaStreamDestroy(handle_)));
    }

    cudaStream_t handle_ = nullptr;
    cudaError_t error_ = cudaSuccess;
};

}  // namespace device
#endif  // DYNPAR_HAS_DEVICE_LAUNCH

}  // namespace dynpar

#include "event.cuh"  // event_view, and the definitions of wait
