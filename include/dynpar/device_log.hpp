// What failed in device code: the host's side of the log to which dynpar's device calls write their failures.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "cuda_error.hpp"
#include "shape.hpp"
#include "source_place.hpp"

namespace dynpar {

/// The device calls of launch.cuh, stream.cuh and event.cuh that can fail.
enum class device_call : unsigned char {
    launch,        ///< `device::launch`
    tail_launch,   ///< `device::tail_launch`
    make_stream,   ///< the constructor of `device::stream`
    make_event,    ///< the constructor of `device::event`
    record_event,  ///< `device::event::record`
    wait_event,    ///< `device::stream::wait`, `device::stream_view::wait`
};

/// The name of a device call, as it reads in a message.
constexpr const char* to_string(device_call call) {
    switch (call) {
        case device_call::launch: return "launch";
        case device_call::tail_launch: return "tail launch";
        case device_call::make_stream: return "making of a device stream";
        case device_call::make_event: return "making of a device event";
        case device_call::record_event: return "recording of a device event";
        case device_call::wait_event: return "waiting for a device event";
    }
    return "unknown call";
}

/// Device calls that failed alike: same call, place, kernel name and error.
struct device_failure {
    device_call call = device_call::launch;  ///< which call failed
    cudaError_t code = cudaSuccess;          ///< how
    std::string file;                        ///< where the call was written; the beginning of a long path is cut off
    int line = 0;                            ///< in that file, from 1
    std::string kernel;                      ///< the name given with `launch_configuration::named`, or ""
    dynpar::shape first_shape;               ///< of a launch: the shape of the first that failed
    std::uint64_t count = 0;                 ///< how many calls
};

/// One line: "347000 x launch of child <<<1, 256>>> at sum.cu:42: cudaErrorLaunchPendingCountExceeded (69), the limit
/// in force is 2048; raise ...". `pending_limit`: the limit on pending launches in force, 0 if unknown.
std::string describe(const device_failure& failure, std::uint64_t pending_limit);

/// Thrown by `check_device_launches` and `synchronize` when calls in device code failed. Do not trust the results: a
/// launch that failed did not run.
class device_launch_error : public std::runtime_error {
public:
    /// What `failures()` and the other members return.
    device_launch_error(std::vector<device_failure> failures, std::uint64_t lost_launches, std::uint64_t failed_calls,
                        std::uint64_t pending_limit);

    /// By kind. The device has room for 128 kinds; calls of further kinds are only in the sums.
    const std::vector<device_failure>& failures() const { return failures_; }
    /// How many calls failed, of any kind: exact.
    std::uint64_t failed_calls() const { return failed_calls_; }
    /// How many launches and tail launches did not run: exact. They are among the failed calls.
    std::uint64_t lost_launches() const { return lost_launches_; }
    /// The limit on pending launches that was in force when the failures were read; 0 if it is unknown.
    std::uint64_t pending_limit() const { return pending_limit_; }

private:
    std::vector<device_failure> failures_;
    std::uint64_t lost_launches_;
    std::uint64_t failed_calls_;
    std::uint64_t pending_limit_;
};

/// Reads what device calls have logged on the current device since the last check. Throws `device_launch_error` if
/// there is a failure; each failure is thrown once, in the thread that checks first. Failures of grids that are still
/// running are found by a later check, so wait for the work first (or use `synchronize(stream)`); this function does
/// not wait for work on other streams. Throws `cuda_error` if the log cannot be read: after a kernel fault the device's
/// memory is lost, and the log with it. Costs one copy of 16 bytes from the device as long as nothing new has failed.
/// Needs `dynpar::dynpar`.
void check_device_launches(source_place place = DYNPAR_HERE);

namespace detail {
/// The same; the copies go through `stream`.
void check_device_launches_on(cudaStream_t stream, source_place place);
}  // namespace detail

}  // namespace dynpar
