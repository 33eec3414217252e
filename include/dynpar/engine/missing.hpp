// Stands in for the engines that this file's compiler cannot build, so that a program that names one gets a sentence.
#pragma once

#include "../buffer.hpp"
#include "../detail/launch_check.hpp"
#include "../detail/queue/host/queue_options.hpp"
#include "../engine_options.hpp"
#include "../platform.hpp"
#include "../report.hpp"
#include "../shape.hpp"
#include "basic_engine.hpp"

namespace dynpar {
namespace detail {

/// Never true; depends on `T`, so that a static_assert fails only where the template around it is used.
template <class T>
inline constexpr bool is_built = false;

/// What programs call of an engine, so that the one error is that of the constructor.
struct missing_engine : basic_engine<missing_engine> {
    using basic_engine::try_run;
    using block_type = missing_engine;
    template <class Kernel, class... Args, if_no_buffer<Args...> = 0>
    report try_run(const Kernel&, const shape&, const Args&...);
    static const memory_space& memory();
    unsigned moldable_threads(at_most) const;
    unsigned reducer_slots() const;
};

}  // namespace detail

#if !DYNPAR_HAS_QUEUE_ENGINE
/// Not the queue engine, which this compiler cannot build: making one stops the compilation with a sentence.
class queue_engine : public detail::missing_engine {
public:
    template <class Options = int>
    explicit queue_engine(const Options& = {}) {
        static_assert(detail::is_built<Options>,
                      "dynpar: queue_engine needs a file that nvcc compiles for compute capability 7.0 or newer: name "
                      "the file .cu, or use host_engine");
    }
};
#endif

#if !DYNPAR_HAS_DEVICE_LAUNCH
struct cdp_options : engine_options {};

/// Not the cdp engine, which this compiler cannot build: making one stops the compilation with a sentence.
class cdp_engine : public detail::missing_engine {
public:
    template <class Options = int>
    explicit cdp_engine(const Options& = {}) {
        static_assert(detail::is_built<Options>,
                      "dynpar: cdp_engine needs a file that nvcc compiles with -rdc=true: name the file .cu and call "
                      "dynpar_enable_device_launch for its target, or use queue_engine or host_engine");
    }
};
#endif

}  // namespace dynpar
