// The clocks of host and device side by side, so that a trace tells the times of both by one clock.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "../cuda_error.hpp"
#include "launch_grid.cuh"
#include "least_greatest.hpp"
#include "steady_clock.hpp"

namespace dynpar {
namespace detail {

/// Both clocks at one moment, in nanoseconds.
struct clock_pair {
    std::int64_t host = 0;
    std::int64_t device = 0;
    std::int64_t error = 0;  // how far they may be off against each other
};

/// What host and device write to each other when their clocks are compared. Lies in mapped host memory.
struct clock_exchange {
    static constexpr unsigned rounds = 6;
    volatile unsigned asked;
    volatile unsigned answered;
    volatile unsigned long long times[rounds];
};

inline std::int64_t host_nanoseconds() {
#if defined(DYNPAR_SIMULATED_GPU)
    return static_cast<std::int64_t>(simulated_gpu::nanoseconds());  // one clock, so that a run is the same every time
#else
    return steady_nanoseconds();
#endif
}

#if defined(__CUDACC__)

/// Nanoseconds by the one clock of all multiprocessors.
__device__ inline unsigned long long device_nanoseconds() {
#if defined(DYNPAR_SIMULATED_GPU)
    return simulated_gpu::nanoseconds();
#else
    unsigned long long time;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
    return time;
#endif
}

/// The device's side of a comparison: tells the time whenever it is asked. Gives up after a second without a question,
/// so that nothing hangs should the host be held up. (A template so that every translation unit may define it.)
template <class Exchange>
__global__ void answer_with_time(Exchange* clocks) {
    for (unsigned round = 0; round < Exchange::rounds; ++round) {
        const unsigned long long begun = device_nanoseconds();
        while (clocks->asked <= round) {
            if (device_nanoseconds() - begun > 1000000000ull) return;
            let_host_run();
        }
        clocks->times[round] = device_nanoseconds();
        __threadfence_system();
        clocks->answered = round + 1;
        __threadfence_system();
    }
}

/// Compares the clocks of host and current device.
class clock_comparison {
public:
    clock_comparison() {
        check(cudaHostAlloc(&clocks_, sizeof(clock_exchange), cudaHostAllocMapped),
              "allocating memory to compare clocks");
    }
    ~clock_comparison() { static_cast<void>(cudaFreeHost(clocks_)); }
    clock_comparison(const clock_comparison&) = delete;
    clock_comparison& operator=(const clock_comparison&) = delete;

    /// Waits for everything in the stream.
    clock_pair compare(cudaStream_t stream) {
        clocks_->asked = 0;
        clocks_->answered = 0;
        clock_exchange* on_device = nullptr;
        check(cudaHostGetDevicePointer(&on_device, clocks_, 0), "mapping memory to compare clocks");
        check(launch_grid(&answer_with_time<clock_exchange>, 1, 1, 0, stream, on_device), "comparing clocks");
        clock_pair best;
        best.error = INT64_MAX;
        for (unsigned round = 0; round < clock_exchange::rounds; ++round) {
            const std::int64_t asked = host_nanoseconds();
            clocks_->asked = round + 1;
            std::int64_t answered = asked;
            while (clocks_->answered <= round) {
                let_device_run();
                answered = host_nanoseconds();
                if (answered - asked > 1000000000) break;
            }
            if (clocks_->answered <= round) break;
            answered = host_nanoseconds();
            // The first round waits for the kernel to begin. The device told its time somewhere between the two host
            // times.
            const std::int64_t error = (answered - asked + 1) / 2;
            if (error < best.error) best = {asked + error, static_cast<std::int64_t>(clocks_->times[round]), error};
        }
        check(cudaStreamSynchronize(stream), "comparing clocks");
        return best;
    }

private:
    clock_exchange* clocks_ = nullptr;
};

#endif

/// Makes nanoseconds since a run's start of the device's times, between two comparisons. The clocks drift apart by some
/// millionths: the difference is taken to change evenly.
class run_clock {
public:
    /// `begun`: the run's start, by the host's clock.
    run_clock(const clock_pair& before, const clock_pair& after, std::int64_t begun)
        : before_(before), begun_(begun), error_(greatest(before.error, after.error)) {
        const double span = static_cast<double>(after.device - before.device);
        if (span > 0) drift_ = (static_cast<double>(after.host - before.host) - span) / span;
    }

    std::uint64_t operator()(unsigned long long device_time) const {
        const std::int64_t since = static_cast<std::int64_t>(device_time) - before_.device;
        const std::int64_t host = before_.host + since + static_cast<std::int64_t>(drift_ * static_cast<double>(since));
        return host > begun_ ? static_cast<std::uint64_t>(host - begun_) : 0;
    }
    std::uint64_t error() const { return static_cast<std::uint64_t>(error_); }

private:
    clock_pair before_;
    std::int64_t begun_;
    std::int64_t error_;
    double drift_ = 0;
};

}  // namespace detail
}  // namespace dynpar
