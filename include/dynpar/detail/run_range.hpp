// A range in NVIDIA's tools (Nsight Systems, domain "dynpar") around a run, seen from the host.
#pragma once

#include <string>

#include "../kernel.hpp"

// DYNPAR_NVTX is 1 where the build has found the NVTX headers; see CMake's option of that name.
#if !defined(DYNPAR_NVTX)
#define DYNPAR_NVTX 0
#endif

#if DYNPAR_NVTX
#include <nvtx3/nvtx3.hpp>
#endif

namespace dynpar {
namespace detail {

#if DYNPAR_NVTX

struct nvtx_domain {
    static constexpr const char* name = "dynpar";
};

/// From its construction to its destruction: "host: nested_hello_world".
class run_range {
public:
    run_range(const char* engine, text kernel)
        : name_(std::string(engine) + ": " + std::string(kernel.begin, kernel.length)),
          range_(nvtx3::event_attributes(name_)) {}

private:
    std::string name_;
    nvtx3::scoped_range_in<nvtx_domain> range_;
};

#else

class run_range {
public:
    run_range(const char*, text) {}
};

#endif

}  // namespace detail
}  // namespace dynpar
