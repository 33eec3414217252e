// Queue engine: what the host owns of CUDA: memory, streams, events. Making one throws `cuda_error`; that one cannot be
// destroyed concerns only what comes next.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <string>
#include <vector>

#include "../../../cuda_error.hpp"
#include "../../cuda_owner.hpp"
#include "../../run_stream.hpp"

namespace dynpar {
namespace detail {
namespace queue {

struct device_delete {
    void operator()(void* memory) const noexcept { static_cast<void>(cudaFree(memory)); }
};
struct pinned_delete {
    void operator()(void* memory) const noexcept { static_cast<void>(cudaFreeHost(memory)); }
};
struct event_delete {
    void operator()(cudaEvent_t event) const noexcept { static_cast<void>(cudaEventDestroy(event)); }
};

using device_memory = cuda_owner<void*, device_delete>;
using pinned_memory = cuda_owner<void*, pinned_delete>;
using owned_event = cuda_owner<cudaEvent_t, event_delete>;

/// Several of one kind. The vectors are all of one type, which is compiled once.
template <class Owner>
class owned_together {
public:
    owned_together() = default;
    ~owned_together() {
        while (!empty()) take();
    }
    owned_together(const owned_together&) = delete;
    owned_together& operator=(const owned_together&) = delete;

    bool empty() const { return all_.empty(); }
    typename Owner::pointer add(Owner one) {
        all_.push_back(one.get());
        return one.release();
    }
    /// The latest.
    Owner take() {
        Owner one(static_cast<typename Owner::pointer>(all_.back()));
        all_.pop_back();
        return one;
    }

private:
    std::vector<void*> all_;
};

/// `what` it is for, as in "allocating 64 bytes for the trace".
inline device_memory allocate_on_device(std::size_t bytes, const char* what) {
    void* memory = nullptr;
    if (const cudaError_t code = cudaMalloc(&memory, bytes); code != cudaSuccess) {
        static_cast<void>(cudaGetLastError());
        throw cuda_error(code, "allocating " + std::to_string(bytes) + " bytes for " + what, DYNPAR_HERE);
    }
    return device_memory(memory);
}

/// Memory that host and device see at the same address.
inline pinned_memory allocate_pinned(std::size_t bytes, const char* what) {
    void* memory = nullptr;
    check(cudaHostAlloc(&memory, bytes, cudaHostAllocDefault), what);
    return pinned_memory(memory);
}

/// Calls that this thread may make while it captures a stream: questions, and waits for what is not captured.
class relaxed_capture {
public:
    relaxed_capture() { check(cudaThreadExchangeStreamCaptureMode(&mode_), "allowing calls during a capture"); }
    ~relaxed_capture() { static_cast<void>(cudaThreadExchangeStreamCaptureMode(&mode_)); }
    relaxed_capture(const relaxed_capture&) = delete;
    relaxed_capture& operator=(const relaxed_capture&) = delete;

private:
    cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

/// A stream for copies that do not wait for a run.
inline owned_stream make_side_stream() {
    cudaStream_t stream = nullptr;
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "making a stream beside the queue engine's");
    return owned_stream(stream);
}
inline owned_event make_event() {
    cudaEvent_t event = nullptr;
    check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "making an event");
    return owned_event(event);
}

}  // namespace queue
}  // namespace detail
}  // namespace dynpar
