// Events: points in a stream for which another stream can wait. For the host, and for a block in device code.
#pragma once

#include <cuda_runtime.h>

#include <memory>

#include "cuda_error.hpp"
#include "source_place.hpp"
#include "stream.cuh"

namespace dynpar {

/// A host event owned by another object; trivially copyable.
class event_view {
public:
    /// CUDA's own handle. Not explicit, as for `stream_view`.
    constexpr event_view(cudaEvent_t handle) : handle_(handle) {}
    event_view(int) = delete;
    event_view(std::nullptr_t) = delete;

    /// CUDA's own handle.
    constexpr cudaEvent_t handle() const { return handle_; }

private:
    cudaEvent_t handle_;
};

/// Whether an event records the time. Waiting for an event that does not is cheaper.
enum class event_timing : unsigned char {
    off,  ///< no time
    on,   ///< for `milliseconds_between`
};

/// Owns a host event on the device that was current when it was made. Move-only.
class event {
public:
    /// Throws `cuda_error` if there is no usable device.
    explicit event(event_timing timing = event_timing::off, source_place place = DYNPAR_HERE) {
        cudaEvent_t handle = nullptr;
        const unsigned flags = timing == event_timing::on ? cudaEventDefault : cudaEventDisableTiming;
        check(cudaEventCreateWithFlags(&handle, flags), "making an event", place);
        handle_.reset(handle);
    }

    cudaEvent_t handle() const { return handle_.get(); }  ///< nullptr only after a move
    /// For functions that do not own the event; valid as long as the owner.
    event_view view() const { return event_view(handle_.get()); }
    /// The owner serves wherever a view is wanted.
    operator event_view() const { return view(); }

    /// Records the work that has been given to the stream so far. Throws `cuda_error`.
    void record(stream_view s, source_place place = DYNPAR_HERE) {
        check(cudaEventRecord(handle_.get(), s.handle()), "recording an event", place);
    }
    /// Waits until the recorded work is complete. Throws `cuda_error`, also for a fault in that work.
    void synchronize(source_place place = DYNPAR_HERE) const {
        check(cudaEventSynchronize(handle_.get()), "waiting for an event", place);
    }

private:
    struct close {
        using pointer = cudaEvent_t;  // the handle is itself the pointer: nothing is on the heap
        void operator()(cudaEvent_t handle) const { detail::release(cudaEventDestroy(handle), "event"); }
    };
    std::unique_ptr<CUevent_st, close> handle_;
};

/// Milliseconds from one event to another, both made with `event_timing::on`, recorded and complete. Throws
/// `cuda_error`.
inline float milliseconds_between(event_view begin, event_view end, source_place place = DYNPAR_HERE) {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin.handle(), end.handle()), "reading the time between two events",
          place);
    return milliseconds;
}

inline void stream_view::wait(event_view recorded, source_place place) const {
    check(cudaStreamWaitEvent(handle_, recorded.handle(), 0), "making a stream wait for an event", place);
}

inline void stream::wait(event_view recorded, source_place place) const { view().wait(recorded, place); }

#if DYNPAR_HAS_DEVICE_LAUNCH
namespace device {

/// An event of the calling block, owned by another object; trivially copyable.
class event_view {
public:
    /// CUDA's own handle.
    __device__ constexpr explicit event_view(cudaEvent_t handle) : handle_(handle) {}
    event_view(int) = delete;
    event_view(std::nullptr_t) = delete;

    /// CUDA's own handle.
    __device__ constexpr cudaEvent_t handle() const { return handle_; }

private:
    cudaEvent_t handle_;
};

/// Owns an event of the block that made it, without timing (device events have none). Only the threads of that block
/// may use it. Move-only.
class event {
public:
    /// A failure is logged and kept in `error()`; every later use of the event fails.
    __device__ explicit event(source_place place = DYNPAR_HERE) {
        error_ = detail::result_of(cudaEventCreateWithFlags(&handle_, cudaEventDisableTiming));
        if (detail::logged(device_call::make_event, error_, place) != cudaSuccess) handle_ = nullptr;
    }
    __device__ ~event() { close(); }
    event(const event&) = delete;
    event& operator=(const event&) = delete;
    __device__ event(event&& other) noexcept : handle_(other.handle_), error_(other.error_) { other.give_up(); }
    __device__ event& operator=(event&& other) noexcept {
        if (this != &other) {
            close();
            handle_ = other.handle_;
            error_ = other.error_;
            other.give_up();
        }
        return *this;
    }

    /// cudaSuccess if there is an event; else why not (cudaErrorInvalidResourceHandle after a move).
    __device__ cudaError_t error() const { return error_; }
    /// For functions that do not own the event; valid as long as the owner.
    __device__ event_view view() const { return event_view(handle_); }
    /// The owner serves wherever a view is wanted.
    __device__ operator event_view() const { return view(); }

    /// Records the work that has been given to the stream so far. A failure is also logged.
    __device__ cudaError_t record(stream_view s, source_place place = DYNPAR_HERE) {
        const bool usable = handle_ != nullptr && s.handle() != detail::no_stream();
        return detail::logged(
            device_call::record_event,
            usable ? detail::result_of(cudaEventRecord(handle_, s.handle())) : cudaErrorInvalidResourceHandle, place);
    }

private:
    __device__ void close() {
        if (handle_ != nullptr) static_cast<void>(detail::result_of(cudaEventDestroy(handle_)));
    }
    __device__ void give_up() {
        handle_ = nullptr;
        error_ = cudaErrorInvalidResourceHandle;
    }

    cudaEvent_t handle_ = nullptr;
    cudaError_t error_ = cudaSuccess;
};

__device__ inline cudaError_t stream_view::wait(event_view recorded, source_place place) const {
    const bool usable = recorded.handle() != nullptr && handle_ != detail::no_stream();
    return detail::logged(
        device_call::wait_event,
        usable ? detail::result_of(cudaStreamWaitEvent(handle_, recorded.handle(), 0)) : cudaErrorInvalidResourceHandle,
        place);
}

__device__ inline cudaError_t stream::wait(event_view recorded, source_place place) const {
    return view().wait(recorded, place);
}

}  // namespace device
#endif  // DYNPAR_HAS_DEVICE_LAUNCH

}  // namespace dynpar
