// The CUDA runtime of the simulated GPU: as much of it as the library and its tests call. What is put into a stream is
// done when the host waits for something.
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

using simulated_gpu::current_settings;

struct CUevent_st {
    unsigned long long recorded = 0, reached = 0;
};

namespace {

/// What has been put into a stream: true when it is done; called again until it is.
using operation = std::function<bool()>;

}  // namespace

struct CUstream_st {
    unsigned long long number = 0;
    std::deque<operation> operations;
};

namespace {

/// All calls take turns.
std::recursive_mutex& calls() {
    static std::recursive_mutex only;
    return only;
}
using turn = std::lock_guard<std::recursive_mutex>;

struct runtime_state {
    std::set<CUstream_st*> streams;
    CUstream_st default_stream;
    std::map<void*, std::size_t> device_memory;
    std::set<void*> host_memory;
    std::size_t bytes_taken = 0;
    unsigned long long streams_made = 0;
    std::map<cudaLimit, std::size_t> limits{
        {cudaLimitStackSize, 1024}, {cudaLimitPrintfFifoSize, 1 << 20}, {cudaLimitMallocHeapSize, 8 << 20}};
    cudaError_t last_error = cudaSuccess;
    runtime_state() { streams.insert(&default_stream); }
};
runtime_state& runtime() {
    static runtime_state* const only = new runtime_state;  // never destroyed: engines may be static
    return *only;
}

cudaError_t note(cudaError_t code) {
    if (code != cudaSuccess && code != cudaErrorNotReady) runtime().last_error = code;
    return code;
}

CUstream_st& stream_of(cudaStream_t stream) {
    return stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread ? runtime().default_stream
                                                                                            : *stream;
}

/// Does what can be done without a step of the device.
void advance_streams() {
    for (bool again = true; again;) {
        again = false;
        for (CUstream_st* stream : runtime().streams) {
            while (!stream->operations.empty() && stream->operations.front()()) {
                stream->operations.pop_front();
                again = true;
            }
        }
    }
}

/// Lets the device run, and other host threads call in between.
template <class IsOver>
cudaError_t wait_until(IsOver is_over) {
    while (true) {
        {
            const turn mine(calls());
            advance_streams();
            if (is_over()) return note(simulated_gpu::device_error());
            constexpr unsigned long long steps = 1000000;
            const bool over = simulated_gpu::run_device(is_over, steps);
            if (simulated_gpu::device_error() != cudaSuccess) return note(simulated_gpu::device_error());
            if (over) return cudaSuccess;
        }
    }
}

bool is_reached(const CUevent_st& event) { return event.reached >= event.recorded; }

}  // namespace

namespace simulated_gpu {

cudaError_t launch(launch_parameters grid, cudaStream_t stream) {
    const turn mine(calls());
    if (device_error() != cudaSuccess) return note(device_error());
    if (grid.blocks == 0 || grid.threads == 0 || grid.threads > 1024) return note(cudaErrorInvalidConfiguration);
    if (blocks_that_fit(grid.threads, grid.shared_bytes) == 0) return note(cudaErrorLaunchOutOfResources);
    enum class progress { waits, runs, over };
    const auto at = std::make_shared<progress>(progress::waits);
    const auto what = std::make_shared<launch_parameters>(std::move(grid));
    stream_of(stream).operations.push_back([at, what] {
        if (*at == progress::waits) {
            *at = progress::runs;
            begin_grid(std::move(*what), [at] {
                *at = progress::over;
                advance_streams();
            });
        }
        return *at == progress::over;
    });
    advance_streams();
    return cudaSuccess;
}

}  // namespace simulated_gpu

extern "C" {

// ---- The device

cudaError_t cudaGetDeviceCount(int* count) {
    *count = 1;
    return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
    *device = 0;
    return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) { return note(device == 0 ? cudaSuccess : cudaErrorInvalidDevice); }
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
    *properties = cudaDeviceProp{};
    std::strcpy(properties->name, "simulated GPU");
    properties->major = 9;
    properties->multiProcessorCount = static_cast<int>(current_settings().multiprocessors);
    properties->maxThreadsPerMultiProcessor = static_cast<int>(current_settings().threads);
    properties->maxThreadsPerBlock = 1024;
    properties->maxBlocksPerMultiProcessor = static_cast<int>(current_settings().blocks);
    properties->sharedMemPerMultiprocessor = current_settings().shared_bytes;
    properties->reservedSharedMemPerBlock = 1024;
    properties->totalGlobalMem = current_settings().memory_bytes;
    properties->warpSize = 32;
    return cudaSuccess;
}
cudaError_t cudaDeviceGetLimit(std::size_t* value, cudaLimit limit) {
    const turn mine(calls());
    *value = runtime().limits[limit];
    return cudaSuccess;
}
cudaError_t cudaDeviceSetLimit(cudaLimit limit, std::size_t value) {
    const turn mine(calls());
    // As a GPU has it: no stack of a thread is larger than this.
    if (limit == cudaLimitStackSize && value > 96 * 1024) return note(cudaErrorInvalidValue);
    runtime().limits[limit] = value;
    return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() {
    return wait_until([] {
        for (const CUstream_st* stream : runtime().streams) {
            if (!stream->operations.empty()) return false;
        }
        return true;
    });
}

// ---- Memory

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* all) {
    const turn mine(calls());
    *all = current_settings().memory_bytes;
    *free = *all - std::min(*all, runtime().bytes_taken);
    return cudaSuccess;
}
cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
    const turn mine(calls());
    *memory = nullptr;
    if (bytes == 0) return cudaSuccess;
    if (runtime().bytes_taken + bytes > current_settings().memory_bytes) return note(cudaErrorMemoryAllocation);
    constexpr std::size_t alignment = 256;
    *memory = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    if (*memory == nullptr) return note(cudaErrorMemoryAllocation);
    constexpr std::size_t most_filled = std::size_t{1} << 20;
    std::memset(*memory, 0xa5, std::min(bytes, most_filled));
    runtime().bytes_taken += bytes;
    runtime().device_memory[*memory] = bytes;
    return cudaSuccess;
}
cudaError_t cudaFree(void* memory) {
    if (memory == nullptr) return cudaSuccess;
    static_cast<void>(cudaDeviceSynchronize());
    const turn mine(calls());
    const auto found = runtime().device_memory.find(memory);
    if (found == runtime().device_memory.end()) return note(cudaErrorInvalidValue);
    runtime().bytes_taken -= found->second;
    runtime().device_memory.erase(found);
    std::free(memory);
    return cudaSuccess;
}
cudaError_t cudaHostAlloc(void** memory, std::size_t bytes, unsigned) {
    const turn mine(calls());
    *memory = std::calloc(1, bytes);
    if (*memory == nullptr) return note(cudaErrorMemoryAllocation);
    runtime().host_memory.insert(*memory);
    return cudaSuccess;
}
cudaError_t cudaHostGetDevicePointer(void** on_device, void* memory, unsigned) {
    *on_device = memory;
    return cudaSuccess;
}
cudaError_t cudaFreeHost(void* memory) {
    if (memory == nullptr) return cudaSuccess;
    const turn mine(calls());
    if (runtime().host_memory.erase(memory) == 0) return note(cudaErrorInvalidValue);
    std::free(memory);
    return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind, cudaStream_t stream) {
    const turn mine(calls());
    if (simulated_gpu::device_error() != cudaSuccess) return note(simulated_gpu::device_error());
    stream_of(stream).operations.push_back([=] {
        std::memcpy(to, from, bytes);
        return true;
    });
    advance_streams();
    return cudaSuccess;
}
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    if (const cudaError_t code = cudaMemcpyAsync(to, from, bytes, kind, nullptr); code != cudaSuccess) return code;
    return cudaStreamSynchronize(nullptr);
}
cudaError_t cudaGetSymbolAddress(void** memory, const void* symbol) {
    *memory = const_cast<void*>(symbol);
    return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* memory, int value, std::size_t bytes, cudaStream_t stream) {
    const turn mine(calls());
    if (simulated_gpu::device_error() != cudaSuccess) return note(simulated_gpu::device_error());
    stream_of(stream).operations.push_back([=] {
        std::memset(memory, value, bytes);
        return true;
    });
    advance_streams();
    return cudaSuccess;
}
cudaError_t cudaMemset(void* memory, int value, std::size_t bytes) {
    return cudaMemsetAsync(memory, value, bytes, nullptr);
}

// ---- Streams and events

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
    const turn mine(calls());
    *stream = new CUstream_st{++runtime().streams_made, {}};
    runtime().streams.insert(*stream);
    return cudaSuccess;
}
cudaError_t cudaStreamCreate(cudaStream_t* stream) { return cudaStreamCreateWithFlags(stream, cudaStreamDefault); }
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    static_cast<void>(cudaStreamSynchronize(stream));
    const turn mine(calls());
    if (runtime().streams.erase(stream) == 0) return note(cudaErrorInvalidResourceHandle);
    delete stream;
    return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    return wait_until([stream] { return stream_of(stream).operations.empty(); });
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
    const turn mine(calls());
    simulated_gpu::let_device_run();
    if (simulated_gpu::device_error() != cudaSuccess) return note(simulated_gpu::device_error());
    return stream_of(stream).operations.empty() ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* status) {
    *status = cudaStreamCaptureStatusNone;
    return cudaSuccess;
}
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode*) { return cudaSuccess; }
cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long* number) {
    *number = stream_of(stream).number;
    return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
    const turn mine(calls());
    stream_of(stream).operations.push_back([event, number = event->recorded] { return event->reached >= number; });
    advance_streams();
    return cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
    *event = new CUevent_st;
    return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, cudaEventDefault); }
cudaError_t cudaEventDestroy(cudaEvent_t event) {
    static_cast<void>(cudaEventSynchronize(event));
    const turn mine(calls());
    // Streams may still have to come to where they wait for it, so it stays.
    static std::deque<std::unique_ptr<CUevent_st>> destroyed;
    destroyed.emplace_back(event);
    return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    const turn mine(calls());
    stream_of(stream).operations.push_back([event, number = ++event->recorded] {
        event->reached = std::max(event->reached, number);
        return true;
    });
    advance_streams();
    return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
    const turn mine(calls());
    advance_streams();
    if (!is_reached(*event)) simulated_gpu::let_device_run();
    if (simulated_gpu::device_error() != cudaSuccess) return note(simulated_gpu::device_error());
    return is_reached(*event) ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    return wait_until([event] { return is_reached(*event); });
}

// ---- Kernels

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
    *attributes = cudaFuncAttributes{};
    attributes->maxThreadsPerBlock = static_cast<int>(current_settings().kernel_threads);
    return cudaSuccess;
}
cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute, int) { return cudaSuccess; }
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void*, int threads, std::size_t bytes) {
    *blocks = static_cast<int>(simulated_gpu::blocks_that_fit(static_cast<unsigned>(threads), bytes));
    return cudaSuccess;
}

// ---- Errors

cudaError_t cudaGetLastError() {
    const turn mine(calls());
    return std::exchange(runtime().last_error, simulated_gpu::device_error());
}
cudaError_t cudaPeekAtLastError() {
    const turn mine(calls());
    return runtime().last_error;
}
const char* cudaGetErrorName(cudaError_t code) {
    switch (code) {
        case cudaSuccess: return "cudaSuccess";
        case cudaErrorInvalidValue: return "cudaErrorInvalidValue";
        case cudaErrorMemoryAllocation: return "cudaErrorMemoryAllocation";
        case cudaErrorInvalidConfiguration: return "cudaErrorInvalidConfiguration";
        case cudaErrorLaunchOutOfResources: return "cudaErrorLaunchOutOfResources";
        case cudaErrorInvalidResourceHandle: return "cudaErrorInvalidResourceHandle";
        case cudaErrorInvalidDevice: return "cudaErrorInvalidDevice";
        case cudaErrorNotReady: return "cudaErrorNotReady";
        case cudaErrorIllegalAddress: return "cudaErrorIllegalAddress";
        case cudaErrorLaunchFailure: return "cudaErrorLaunchFailure";
        default: return "an error that the simulated GPU does not know";
    }
}
const char* cudaGetErrorString(cudaError_t code) { return cudaGetErrorName(code); }

}  // extern "C"
