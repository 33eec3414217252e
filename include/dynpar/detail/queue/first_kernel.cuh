// Queue engine: how the host finds a kernel that it runs: its key and the address of its name, which device code alone
// can name, in the module of the translation unit that runs it. Owns no state.
#pragma once

#include <type_traits>

#include "block/entry_points.cuh"

#if defined(__CUDACC__)

namespace dynpar {
namespace detail {
namespace queue {

namespace {
/// A type of this translation unit alone. Device code that is not relocatable knows no function of another module; so
/// each translation unit has a persistent grid of its own, in the same module as every kernel that can come to run in
/// it. One for all of its kernels: ptxas compiles the scheduler again with each.
struct this_module;
}  // namespace

/// What an instance of a template is called, for a constant: other device code has it in a function.
template <class Kernel>
struct instance_characters {
    char value[length_of_instance_name<Kernel>] = {};
    DYNPAR_FUNCTION constexpr instance_characters() {
        for (unsigned i = 0; i < length_of_instance_name<Kernel>; ++i) value[i] = instance_character<Kernel>(i);
    }
};
template <class Module, class Kernel>
__device__ instance_characters<Kernel> first_characters_of;

/// The kernel's name; of an instance of a template its address is another one than `kernel_name` gives.
template <class Module, class Kernel>
DYNPAR_FUNCTION constexpr text first_name_of() {
    if constexpr (!std::is_same_v<typename named_after<Kernel>::type, Kernel>) {
        return first_name_of<Module, typename named_after<Kernel>::type>();
    } else if constexpr (is_named_instance<Kernel>()) {
        return {first_characters_of<Module, Kernel>.value, length_of_instance_name<Kernel>};
    } else {
        return kernel_name<Kernel>();
    }
}

/// Where a kernel is: a variable that the host reads.
template <class Module, class Kernel, class... Args>
__device__ first_kernel first_kernel_of = {&tell_entries<Kernel, Args...>, first_name_of<Module, Kernel>()};

/// A grid that tells it. For a kernel that holds a lambda, of which nvcc can make no variable; it takes seconds to
/// compile, as ptxas compiles the kernel and what it launches for this grid as well.
template <class Module, class Kernel, class... Args>
__global__ void tell_first_kernel(first_kernel* there) {
    *there = {&tell_entries<Kernel, Args...>, kernel_name<Kernel>()};
}

/// Whether a type is a lambda of nvcc's `--extended-lambda`, or an instance of a template with one.
#if defined(__NVCC__) && !defined(DYNPAR_SIMULATED_GPU)
template <class T>
inline constexpr bool is_lambda = __nv_is_extended_device_lambda_closure_type(T) ||
                                  __nv_is_extended_host_device_lambda_closure_type(T);
#else
template <class T>
inline constexpr bool is_lambda = false;
#endif
template <class T>
inline constexpr bool holds_lambda = is_lambda<T>;
template <template <class...> class Template, class... T>
inline constexpr bool holds_lambda<Template<T...>> = is_lambda<Template<T...>> || (holds_lambda<T> || ...);

}  // namespace queue
}  // namespace detail
}  // namespace dynpar

#endif
