// The value of a kernel: what a kernel of one thread returns to the one that has spawned it, or to the host.
//
//     struct fibonacci {
//         template <class Block>
//         DYNPAR_FUNCTION dynpar::result<long> operator()(Block& block, int n) const {
//             if (n < 2) return n;
//             return block.then(dynpar::plus{}, block.spawn(*this, n - 1), block.spawn(*this, n - 2));
//         }
//     };
//
//     long value = engine.call(fibonacci{}, 40);
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>

#include "platform.hpp"

namespace dynpar {

template <class T>
class result;

namespace detail {

/// Whether a `T` can be the value of a kernel.
template <class T>
inline constexpr bool is_value = std::is_object_v<T> && !std::is_const_v<T> && !std::is_array_v<T> &&
                                 std::is_trivially_copyable_v<T> && std::is_copy_constructible_v<T> && alignof(T) <= 16;

/// Says that a value comes later: a continuation has been given that stores it.
struct comes_later {};

/// What misuse returns, so that the sentence about it stays the only error.
struct no_result {
    template <class T>
    DYNPAR_FUNCTION operator result<T>() const;
};

struct result_access;

/// A value, or none yet.
template <class T, bool IsValue = is_value<T>>
struct result_storage {
    union {
        unsigned char nothing;
        T value;
    };
    bool is_here;

    DYNPAR_FUNCTION constexpr explicit result_storage(const T& v) : value(v), is_here(true) {}
    DYNPAR_FUNCTION constexpr explicit result_storage(comes_later) : nothing(), is_here(false) {}
};
/// Of what cannot be a value, about which the compiler says one sentence.
template <class T>
struct result_storage<T, false> {
    DYNPAR_FUNCTION constexpr explicit result_storage(const T&) {}
    DYNPAR_FUNCTION constexpr explicit result_storage(comes_later) {}
};

}  // namespace detail

/// What a kernel with a value returns: the value itself, or what `block.then(function, calls...)` has returned, whose
/// function makes the value when the calls are complete. A kernel returns that result and no other.
///
/// `T` is trivially copyable, and aligned to 16 bytes at most: its bytes lie in memory until a continuation, or the
/// host, reads them.
template <class T>
class [[nodiscard]] result {
public:
    /// This value.
    DYNPAR_FUNCTION constexpr result(const T& value) : storage_(value) {}
    /// The result of another type: a sentence of the compiler.
    template <class Other>
    DYNPAR_FUNCTION constexpr result(const result<Other>&) : storage_(detail::comes_later{}) {
        static_assert(std::is_same_v<Other, T>,
                      "dynpar: the function given to then() returns another type than its kernel: the two must be the "
                      "same");
    }

private:
    friend struct detail::result_access;
    DYNPAR_FUNCTION constexpr explicit result(detail::comes_later later) : storage_(later) {}

    detail::result_storage<T> storage_;

    static_assert(std::is_object_v<T> && !std::is_const_v<T> && !std::is_array_v<T>,
                  "dynpar: the value of a kernel is an object: a number or a struct");
    static_assert(std::is_trivially_copyable_v<T> && std::is_copy_constructible_v<T>,
                  "dynpar: the value of a kernel must be trivially copyable: its bytes are copied");
    static_assert(alignof(T) <= 16, "dynpar: the value of a kernel may be aligned to 16 bytes at most");
};

namespace detail {

struct result_access {
    template <class T>
    static DYNPAR_FUNCTION constexpr result<T> later() {
        return result<T>(comes_later{});
    }
    /// Stores the value if it is here, and says whether it was.
    template <class T>
    static DYNPAR_FUNCTION bool store(const result<T>& r, void* place) {
        if constexpr (is_value<T>) {
            if (r.storage_.is_here) ::new (place) T(r.storage_.value);
            return r.storage_.is_here;
        } else {
            return false;
        }
    }
};

template <class T>
DYNPAR_FUNCTION no_result::operator result<T>() const {
    return result_access::later<T>();
}

/// The type of a value that is returned as itself, or as a `result`.
template <class T>
struct unwrapped {
    using type = T;
    static constexpr bool is_result = false;
};
template <class T>
struct unwrapped<result<T>> {
    using type = T;
    static constexpr bool is_result = true;
};

}  // namespace detail
}  // namespace dynpar
