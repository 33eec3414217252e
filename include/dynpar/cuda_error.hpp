// The exception for a CUDA call that failed: its code and name, what was being done, where, and what to do about it.
#pragma once

#include <cuda_runtime_api.h>

#include <stdexcept>
#include <string>
#include <utility>

#include "source_place.hpp"

namespace dynpar {

/// What to do about a CUDA error, in a clause without a full stop; "" if there is no useful advice. For the error codes
/// see cudaError in the CUDA Runtime API reference.
inline const char* advice(cudaError_t code) {
    switch (code) {
        case cudaErrorInvalidConfiguration:
        case cudaErrorLaunchOutOfResources:
            return "give at least 1 block and 1 to 1024 threads (64 along z), and no more registers and shared memory "
                   "than the device has for a block";
        case cudaErrorLaunchPendingCountExceeded:
            return "raise limits::pending_launches (cudaLimitDevRuntimePendingLaunchCount), or launch fewer and larger "
                   "grids";
        case cudaErrorLaunchMaxDepthExceeded:
            return "check the recursion's stop condition, or launch from a tail launch";
        case cudaErrorSyncDepthExceeded:
            return "raise limits::sync_depth (cudaLimitDevRuntimeSyncDepth), or use a tail launch";
        case cudaErrorNotSupported:
            return "this build's device runtime cannot do it: tail launches need the device runtime of CUDA 12 and "
                   "newer";
        case cudaErrorMemoryAllocation: return "free device memory, or lower the limits that take it";
        case cudaErrorInvalidDeviceFunction:
        case cudaErrorNoKernelImageForDevice:
            return "compile for this GPU's compute capability (CMAKE_CUDA_ARCHITECTURES, -arch)";
        case cudaErrorInvalidResourceHandle:
            return "use a stream or event on the device, and in the block, that made it, and while it exists";
        case cudaErrorNoDevice: return "run on a machine with an NVIDIA GPU, or use the host engine";
        case cudaErrorInsufficientDriver:
            return "there is no NVIDIA driver here, or one older than the CUDA Toolkit: install a newer one, or use "
                   "the host engine";
        case cudaErrorDevicesUnavailable: return "end the program that holds the GPU, or choose another GPU";
        case cudaErrorIllegalAddress:
        case cudaErrorMisalignedAddress:
        case cudaErrorInvalidAddressSpace:
        case cudaErrorHardwareStackError:
        case cudaErrorIllegalInstruction:
        case cudaErrorInvalidPc:
        case cudaErrorLaunchFailure:
            return "a kernel broke, perhaps a nested one; find it with compute-sanitizer. The CUDA context is lost: "
                   "start a new process";
        case cudaErrorAssert: return "an assertion failed in a kernel. The CUDA context is lost: start a new process";
        default: return "";
    }
}

/// Thrown by dynpar's host functions when a CUDA call fails. `what()` is one line:
/// "pipeline.cu:42: launch of child <<<1, 0>>>: cudaErrorInvalidConfiguration (9): invalid configuration; give ...".
class cuda_error : public std::runtime_error {
public:
    /// `doing` says what was tried, `place` where that was written.
    cuda_error(cudaError_t code, std::string doing, source_place place)
        : std::runtime_error(describe(code, doing, place)), code_(code), doing_(std::move(doing)), place_(place) {}

    cudaError_t code() const { return code_; }                    ///< never cudaSuccess
    const char* name() const { return cudaGetErrorName(code_); }  ///< "cudaErrorInvalidConfiguration"
    const std::string& doing() const { return doing_; }           ///< what was being done: "launch of child <<<1, 0>>>"
    source_place place() const { return place_; }                 ///< where that was written
    const char* advice() const { return dynpar::advice(code_); }  ///< what to do about it, or ""

private:
    static std::string describe(cudaError_t code, const std::string& doing, source_place place) {
        std::string line = std::string(place.file) + ":" + std::to_string(place.line) + ": " + doing + ": " +
                           cudaGetErrorName(code) + " (" + std::to_string(static_cast<int>(code)) +
                           "): " + cudaGetErrorString(code);
        if (const char* what_to_do = dynpar::advice(code); *what_to_do != '\0') line += std::string("; ") + what_to_do;
        return line;
    }

    cudaError_t code_;
    std::string doing_;
    source_place place_;
};

/// Throws `cuda_error` unless `code` is cudaSuccess. `doing` says what was tried ("copy of the result"), `place` is the
/// caller's. Also clears the error in the CUDA runtime, so that no later, unrelated call reports it again; after a
/// kernel fault the runtime keeps reporting it, because the context is lost.
inline void check(cudaError_t code, const char* doing, source_place place = DYNPAR_HERE) {
    if (code == cudaSuccess) return;
    static_cast<void>(cudaGetLastError());
    throw cuda_error(code, doing, place);
}

}  // namespace dynpar
