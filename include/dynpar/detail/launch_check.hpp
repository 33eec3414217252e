// What is wrong with a call of run() or launch() that has no shape, or a buffer where its kernel gets a pointer.
#pragma once

#include <type_traits>

#include "../buffer.hpp"
#include "../platform.hpp"
#include "../shape.hpp"

namespace dynpar {

template <class Monoid>
class reducer;
template <class T>
class frontier;

namespace detail {

template <class T>
inline constexpr bool is_buffer = false;
template <class T>
inline constexpr bool is_buffer<buffer<T>> = true;
template <class T>
inline constexpr bool is_reducer = false;
template <class Monoid>
inline constexpr bool is_reducer<reducer<Monoid>> = true;
template <class T>
inline constexpr bool is_frontier = false;
template <class T>
inline constexpr bool is_frontier<frontier<T>> = true;
/// What stays on the host.
template <class T>
inline constexpr bool is_on_host = is_buffer<T> || is_reducer<T> || is_frontier<T>;

template <class Kernel, class... Args>
class spawned_call;
template <class Kernel, class... Args>
class spawned_range;

/// What `spawn` and `spawn_range` return.
template <class T>
inline constexpr bool is_spawned = false;
template <class Kernel, class... Args>
inline constexpr bool is_spawned<spawned_call<Kernel, Args...>> = true;
template <class Kernel, class... Args>
inline constexpr bool is_spawned<spawned_range<Kernel, Args...>> = true;
template <class T>
inline constexpr bool is_spawned_range = false;
template <class Kernel, class... Args>
inline constexpr bool is_spawned_range<spawned_range<Kernel, Args...>> = true;

/// Takes a call of run() out of the choice if a buffer or a reducer is among the kernel's arguments: copying it for the
/// kernel would be the first of many errors.
template <class... Args>
using if_no_buffer = std::enable_if_t<!(is_on_host<Args> || ...), int>;
template <class... Args>
using if_buffer = std::enable_if_t<(is_on_host<Args> || ...), int>;

/// Chooses the overload that explains: there is a buffer, or what stands in the shape's place is none. It has nothing
/// to say where calls are given that were spawned.
template <class Shape, class... Args>
using if_wrong_launch = std::enable_if_t<(!std::is_convertible_v<const Shape&, shape> || (is_on_host<Args> || ...)) &&
                                             !(is_spawned<Shape> || (is_spawned<Args> || ...)),
                                         int>;

/// Stops the compilation with a sentence: a const block was asked for a launch.
template <class Result, class Kernel>
DYNPAR_FUNCTION Result explain_const_block() {
    static_assert(!std::is_same_v<Kernel, Kernel>,
                  "dynpar: a const block launches nothing: a kernel's call operator takes Block&, not const Block&");
    return Result{};
}

/// Stops the compilation with a sentence.
template <class Result, class Shape, class... Args>
DYNPAR_FUNCTION Result explain_wrong_launch() {
    static_assert(std::is_convertible_v<const Shape&, shape>,
                  "dynpar: the grid's shape is missing: it follows the kernel, as in "
                  "run(kernel, dynpar::shape(blocks, threads), arguments...)");
    static_assert(!(is_buffer<Args> || ...),
                  "dynpar: a kernel gets pointers, not buffers: pass buffer.data() instead of buffer");
    static_assert(!(is_reducer<Args> || ...),
                  "dynpar: a kernel gets the view of a reducer: pass reducer.view() instead of reducer");
    static_assert(!(is_frontier<Args> || ...),
                  "dynpar: a kernel gets the view of a frontier: pass frontier.view() instead of frontier");
    return Result{};
}

}  // namespace detail
}  // namespace dynpar
