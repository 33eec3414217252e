// What a kernel is: its name, and the checks that turn a wrong kernel or argument into one readable compile error.
#pragma once

#include <type_traits>
#include <utility>

#include "platform.hpp"
#include "result.hpp"
#include "shape.hpp"

namespace dynpar {

/// Text for device code, where neither std::string_view nor strlen works.
struct text {
    const char* begin;  ///< not ended by a zero
    unsigned length;    ///< in bytes
};

namespace detail {

DYNPAR_FUNCTION constexpr unsigned length_of(const char* string) {
    unsigned n = 0;
    while (string[n] != '\0') ++n;
    return n;
}

// A kernel's own data and functions may be called `name` and `max_threads` as well: only a constant says something
// about the kernel. Two steps, since g++ takes it for an error to read a member of an object that is not there, even
// where it only asks whether that can be done.

template <class Kernel, class = void>
inline constexpr bool has_static_name = false;
template <class Kernel>
inline constexpr bool has_static_name<Kernel, std::void_t<decltype(&Kernel::name)>> =
    !std::is_member_pointer_v<decltype(&Kernel::name)>;

template <class Kernel, bool IsStatic = has_static_name<Kernel>, class = void>
struct has_name : std::false_type {};
template <class Kernel>
struct has_name<Kernel, true, std::void_t<std::bool_constant<(length_of(Kernel::name) != 0)>>> : std::true_type {};

template <class Kernel, class = void>
inline constexpr bool has_static_max_threads = false;
template <class Kernel>
inline constexpr bool has_static_max_threads<Kernel, std::void_t<decltype(&Kernel::max_threads)>> =
    !std::is_member_pointer_v<decltype(&Kernel::max_threads)>;
/// Of an enumeration, whose values have no address.
template <class Kernel, class = void>
inline constexpr bool has_enumerated_max_threads = false;
template <class Kernel>
inline constexpr bool has_enumerated_max_threads<Kernel, std::void_t<decltype((Kernel::max_threads))>> =
    !std::is_reference_v<decltype((Kernel::max_threads))>;

template <class Kernel, bool IsStatic = has_static_max_threads<Kernel> || has_enumerated_max_threads<Kernel>,
          class = void>
struct has_max_threads : std::false_type {};
template <class Kernel>
struct has_max_threads<Kernel, true, std::void_t<std::bool_constant<(Kernel::max_threads >= 1)>>>
    : std::is_convertible<decltype(Kernel::max_threads), unsigned> {};

/// The type's own name, cut out of the compiler's description of this function: `... [with Kernel = name]`. Host
/// compilers and the device compiler write it with and without spaces; several parameters are separated by ';' or ','.
template <class Kernel>
DYNPAR_FUNCTION constexpr text type_name() {
    const char* description = __PRETTY_FUNCTION__;
    unsigned first = 0;
    while (description[first] != '\0' && description[first] != '=') ++first;
    if (description[first] == '=') ++first;
    while (description[first] == ' ') ++first;
    unsigned last = length_of(description);
    if (last > first && description[last - 1] == ']') --last;
    return text{description + first, last - first};
}

/// Where the template arguments begin in the name of an instance of a template, "tree<int, 3>"; else its length.
template <class Kernel>
DYNPAR_FUNCTION constexpr unsigned arguments_begin() {
    const text type = type_name<Kernel>();
    unsigned depth = 0;
    for (unsigned i = type.length; i > 0; --i) {
        const char c = type.begin[i - 1];
        if (i == type.length && c != '>') break;
        if (c == '>') ++depth;
        if (c == '<' && --depth == 0) return i - 1;
    }
    return type.length;
}

/// A character of the kernel's own name with its type's template arguments behind it.
template <class Kernel>
DYNPAR_FUNCTION constexpr char instance_character(unsigned i) {
    constexpr const char* name = Kernel::name;
    constexpr unsigned length = length_of(name), begin = arguments_begin<Kernel>();  // once, not for each character
    constexpr text type = type_name<Kernel>();
    return i < length ? name[i] : type.begin[begin + i - length];
}

/// Whether a kernel has a name of its own, and is an instance of a template; and the length of what it is called then.
template <class Kernel>
DYNPAR_FUNCTION constexpr bool is_named_instance() {
    if constexpr (has_name<Kernel>::value) return arguments_begin<Kernel>() != type_name<Kernel>().length;
    return false;
}
template <class Kernel>
inline constexpr unsigned length_of_instance_name = length_of(Kernel::name) + type_name<Kernel>().length
                                                    - arguments_begin<Kernel>();

/// Not constexpr: the characters need a place, on either side of the compilation.
template <class Kernel, unsigned... I>
DYNPAR_FUNCTION text instance_name(std::integer_sequence<unsigned, I...>) {
    static const char characters[] = {instance_character<Kernel>(I)...};
    return {characters, sizeof...(I)};
}

/// A kernel under whose name another one is known: of what is made around a program's kernel, that kernel.
template <class Kernel>
struct named_after {
    using type = Kernel;
};

}  // namespace detail

/// The name of a kernel in reports and traces: its member `static constexpr const char* name`, else the name of its
/// type. Any other member of that name is the kernel's own affair. An instance of a template has the template's
/// arguments behind its name: `tree<3>`.
template <class Kernel>
DYNPAR_FUNCTION constexpr text kernel_name() {
    if constexpr (!std::is_same_v<typename detail::named_after<Kernel>::type, Kernel>) {
        return kernel_name<typename detail::named_after<Kernel>::type>();
    } else if constexpr (detail::is_named_instance<Kernel>()) {
        constexpr unsigned length = detail::length_of_instance_name<Kernel>;
        return detail::instance_name<Kernel>(std::make_integer_sequence<unsigned, length>{});
    } else if constexpr (detail::has_name<Kernel>::value) {
        constexpr const char* name = Kernel::name;
        return text{name, detail::length_of(name)};
    } else {
        return detail::type_name<Kernel>();
    }
}

/// The most threads that a block of this kernel may have: its member `static constexpr unsigned max_threads`, else
/// 1024. On a GPU the compiler must fit that many threads' registers into a multiprocessor: 64 a thread for 1024. A
/// kernel that needs more registers, or calls a function that does, declares fewer threads; a launch with more is an
/// invalid_configuration. A moldable block gets no more.
template <class Kernel>
DYNPAR_FUNCTION constexpr unsigned most_threads() {
    if constexpr (detail::has_max_threads<Kernel>::value) {
        static_assert(Kernel::max_threads >= 1 && Kernel::max_threads <= 1024,
                      "dynpar: max_threads of a kernel is 1 to 1024");
        return Kernel::max_threads;
    } else {
        return 1024;
    }
}

namespace detail {

/// So many threads, or as many as the kernel allows: for a shape with a thread for each of a number of things.
template <class Kernel>
DYNPAR_FUNCTION constexpr unsigned bounded_threads(unsigned threads) {
    constexpr unsigned most = most_threads<Kernel>();
    return most < threads ? most : threads;
}

/// The shape that a launch of a kernel with a bound is for: a moldable one allows no more threads than the kernel does.
template <class Kernel>
struct bounded_shape : shape {
    DYNPAR_FUNCTION constexpr explicit bounded_shape(const shape& given) : shape(given) {
        constexpr unsigned most = most_threads<Kernel>();
        if (!moldable || threads.x <= most || threads.x > bounds::block_threads) return;
        if (shared_per_thread) shared_bytes = shared_bytes / threads.x * most;
        threads.x = most;
    }
};

/// Of every kernel. Without a bound it is the given shape itself: nvcc then makes the same code of a launch as if there
/// were none of this.
template <class Kernel>
using shape_of_launch =
    std::conditional_t<(most_threads<Kernel>() < bounds::block_threads), bounded_shape<Kernel>, const shape&>;

/// Whether a launch would lose a value.
template <class Invocable, class Kernel, class... Args>
struct loses_value : std::false_type {};
template <class Kernel, class... Args>
struct loses_value<std::true_type, Kernel, Args...>
    : std::bool_constant<unwrapped<std::invoke_result_t<const Kernel&, Args...>>::is_result> {};

}  // namespace detail

/// Stops the compilation with a sentence if `Kernel` cannot be launched with these arguments on blocks of type `Block`.
/// A launch copies the bytes of kernel and arguments (a grid in GPU memory calls no constructors), so both must be
/// trivially copyable, and not every engine has memory aligned to more than 16 bytes for them.
template <class Block, class Kernel, class... Args>
DYNPAR_FUNCTION constexpr void check_kernel() {
    static_assert(std::is_trivially_copyable_v<Kernel>,
                  "dynpar: a kernel must be a trivially copyable function object: a launch copies its bytes");
    static_assert(
        (std::is_trivially_copyable_v<Args> && ...),
        "dynpar: every kernel argument must be trivially copyable: a launch copies its bytes. Pass a pointer instead");
    static_assert(alignof(Kernel) <= 16 && ((alignof(Args) <= 16) && ...),
                  "dynpar: a kernel and its arguments may be aligned to 16 bytes at most: a launch copies their bytes "
                  "to memory whose alignment is not greater. Pass a pointer instead");
    static_assert(
        std::is_invocable_v<const Kernel&, Block&, Args...>,
        "dynpar: the kernel cannot be called with these arguments. Its call operator must be const, take the block by "
        "reference first, and then parameters that the given arguments convert to");
    static_assert(
        !detail::loses_value<std::bool_constant<std::is_invocable_v<const Kernel&, Block&, Args...>>, Kernel, Block&,
                             Args...>::value,
        "dynpar: a kernel that returns a value is not launched, which would lose the value: use engine.call(kernel, "
        "arguments...) on the host, and block.spawn(kernel, arguments...) in a kernel");
}

#if defined(__CUDACC__)
namespace detail {

/// Calls a kernel. For the device alone: from a function of both sides nvcc lets a kernel be called that is the host's,
/// and makes an empty one of it, with no more than a warning, which it does not give in system headers. From here it is
/// an error, which names this function.
template <class Kernel, class Block, class... Args>
__device__ __forceinline__ void mark_the_kernel_and_all_that_it_calls_with_DYNPAR_FUNCTION(const Kernel& kernel,
                                                                                           Block& block,
                                                                                           const Args&... args) {
    kernel(block, args...);
}
/// The same for what returns a value, or makes one of others.
template <class Function, class... Args>
__device__ __forceinline__ std::invoke_result_t<const Function&, Args...>
mark_the_function_and_all_that_it_calls_with_DYNPAR_FUNCTION(const Function& function, Args&&... args) {
    return function(static_cast<Args&&>(args)...);
}

}  // namespace detail
#endif

}  // namespace dynpar
