// Launching plain `__global__` kernels, from the host and from device code, with errors that say what failed and where.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "cuda_error.hpp"
#include "detail/device_log.cuh"
#include "launch_configuration.hpp"
#include "platform.hpp"
#include "report.hpp"
#include "stream.cuh"

/// DYNPAR_OLD_DEVICE_RUNTIME is 1 while device code is compiled for CUDA's first device runtime: the macro
/// CUDA_FORCE_CDP1_IF_SUPPORTED and compute capability below 9.0. It has cudaDeviceSynchronize in device code, and has
/// neither the fire-and-forget nor the tail launch stream.
#if defined(CUDA_FORCE_CDP1_IF_SUPPORTED) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#define DYNPAR_OLD_DEVICE_RUNTIME 1
#else
#define DYNPAR_OLD_DEVICE_RUNTIME 0
#endif

namespace dynpar {
namespace detail {

template <class... Types>
struct type_list {};

/// Stops the compilation with a sentence if the kernel does not take the arguments. True if it does, so that the caller
/// can omit the code that would only add pages of errors to the sentence.
template <class... Params, class... Args>
DYNPAR_FUNCTION constexpr bool check_arguments(type_list<Params...>, type_list<Args...>) {
    constexpr bool right_number = sizeof...(Params) == sizeof...(Args);
    static_assert(right_number, "dynpar: the kernel takes another number of arguments than the launch gives");
    if constexpr (right_number) {
        constexpr bool right_types = (std::is_convertible_v<Args, Params> && ...);
        static_assert(right_types, "dynpar: an argument of the launch does not convert to the kernel's parameter type");
        constexpr bool copyable = (std::is_trivially_copyable_v<Params> && ...);
        static_assert(copyable,
                      "dynpar: every kernel argument must be trivially copyable: a launch copies its bytes. Pass a "
                      "pointer instead");
        return right_types && copyable;
    } else {
        return false;
    }
}

/// "launch of child <<<1, 32>>>".
inline std::string describe_launch(const launch_configuration& c) {
    return std::string("launch of ") + (c.kernel_name != nullptr ? c.kernel_name : "a kernel") + " " +
           to_string(c.shape());
}

}  // namespace detail

/// Launches a kernel from the host: `launch(stream, {blocks, threads, shared_bytes}, kernel, args...)`. Asynchronous.
/// Each argument is converted to the kernel's own parameter type. Returns when the launch is accepted; throws
/// `cuda_error` (code, name, and the place where the configuration was written) if it is not. It may also report
/// the error of a kernel that was launched before. A kernel that is a template is given with its arguments:
/// `scale<float>`.
template <class... Params, class... Args>
void launch(stream_view s, const launch_configuration& c, void (*kernel)(Params...), Args&&... args) {
    if constexpr (detail::check_arguments(detail::type_list<Params...>{}, detail::type_list<Args&&...>{})) {
        std::tuple<Params...> values(static_cast<Params>(std::forward<Args>(args))...);
        const cudaError_t code = std::apply(
            [&](Params&... value) {
                void* addresses[sizeof...(Params) + 1] = {const_cast<void*>(static_cast<const void*>(&value))...};
                // Not <<<>>>: this call returns its own error, where <<<>>> leaves it among those of earlier calls.
                return cudaLaunchKernel(reinterpret_cast<const void*>(kernel), static_cast<::dim3>(c.grid),
                                        static_cast<::dim3>(c.block), addresses, c.shared_bytes, s.handle());
            },
            values);
        if (code != cudaSuccess) check(code, detail::describe_launch(c).c_str(), c.place);
    }
}

#if DYNPAR_HAS_DEVICE_LAUNCH
namespace device {
namespace detail {

using dynpar::detail::check_arguments;
using dynpar::detail::logged;
using dynpar::detail::no_stream;
using dynpar::detail::type_list;

/// The stream for a child for which only the parent's completion waits. The old device runtime has no such stream:
/// there it is the block's default stream, which in addition keeps the order of the launches.
__device__ __forceinline__ cudaStream_t fire_and_forget_stream() {
#if DYNPAR_OLD_DEVICE_RUNTIME
    return nullptr;
#elif defined(cudaStreamFireAndForget)
    return cudaStreamFireAndForget;
#else
    // CUDA_FORCE_CDP1_IF_SUPPORTED hides the name on every architecture; from 9.0 on there is only the new runtime.
    return reinterpret_cast<cudaStream_t>(0x4ull);
#endif
}

#if !DYNPAR_OLD_DEVICE_RUNTIME
/// The stream for grids that begin when this grid and its children are complete.
__device__ __forceinline__ cudaStream_t tail_launch_stream() {
#if defined(cudaStreamTailLaunch)
    return cudaStreamTailLaunch;
#else
    return reinterpret_cast<cudaStream_t>(0x3ull);  // as above
#endif
}
#endif

/// Launches and returns the error; logs nothing. The error is the launching thread's last error, so an error that an
/// earlier, unchecked call of this thread left behind is taken for this launch's.
template <class... Params, class... Args>
__device__ __forceinline__ cudaError_t try_launch(const launch_configuration& c, cudaStream_t s,
                                                  void (*kernel)(Params...), Args&&... args) {
    if constexpr (check_arguments(type_list<Params...>{}, type_list<Args&&...>{})) {
        kernel<<<static_cast<::dim3>(c.grid), static_cast<::dim3>(c.block), c.shared_bytes, s>>>(
            static_cast<Params>(static_cast<Args&&>(args))...);
        return cudaGetLastError();
    } else {
        return cudaErrorInvalidValue;
    }
}

/// As `try_launch`, in the tail launch stream; cudaErrorNotSupported on the old device runtime.
template <class... Params, class... Args>
__device__ __forceinline__ cudaError_t try_tail_launch(const launch_configuration& c, void (*kernel)(Params...),
                                                       Args&&... args) {
#if DYNPAR_OLD_DEVICE_RUNTIME
    static_cast<void>(check_arguments(type_list<Params...>{}, type_list<Args&&...>{}));
    return cudaErrorNotSupported;
#else
    return try_launch(c, tail_launch_stream(), kernel, static_cast<Args&&>(args)...);
#endif
}

}  // namespace detail

/// Launches a child grid, fire and forget: `device::launch({blocks, threads}, kernel, args...)`. It may begin at once,
/// in no particular order with other grids; the parent grid is not complete before it is. It sees what the calling
/// thread wrote before, and what its block wrote before a __syncthreads() that the thread has passed. Every calling
/// thread launches its own grid. A failure (the child does not run) is returned, and logged for `check_device_launches`
/// on the host.
template <class... Params, class... Args>
__device__ __forceinline__ cudaError_t launch(const launch_configuration& c, void (*kernel)(Params...),
                                              Args&&... args) {
    return detail::logged(device_call::launch,
                          detail::try_launch(c, detail::fire_and_forget_stream(), kernel, static_cast<Args&&>(args)...),
                          c);
}

/// The same, in order after everything that was given to the stream before. `device::stream_view()` is the block's
/// default stream.
template <class... Params, class... Args>
__device__ __forceinline__ cudaError_t launch(stream_view s, const launch_configuration& c, void (*kernel)(Params...),
                                              Args&&... args) {
    return detail::logged(device_call::launch,
                          s.handle() != detail::no_stream()
                              ? detail::try_launch(c, s.handle(), kernel, static_cast<Args&&>(args)...)
                              : cudaErrorInvalidResourceHandle,
                          c);
}

/// Launches a grid that begins when the calling grid and everything launched from it is complete, and sees everything
/// they wrote. Several of one grid run one after another, in the order of the calls. It replaces a device-side
/// cudaDeviceSynchronize: move the code that followed it into a kernel of its own.
/// A failure is returned and logged. Old device runtime (see DYNPAR_OLD_DEVICE_RUNTIME): cudaErrorNotSupported.
template <class... Params, class... Args>
__device__ __forceinline__ cudaError_t tail_launch(const launch_configuration& c, void (*kernel)(Params...),
                                                   Args&&... args) {
    return detail::logged(device_call::tail_launch, detail::try_tail_launch(c, kernel, static_cast<Args&&>(args)...),
                          c);
}

}  // namespace device
#endif  // DYNPAR_HAS_DEVICE_LAUNCH

}  // namespace dynpar
