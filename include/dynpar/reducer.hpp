// Values that all threads of a run add to, kept apart and combined when they are read: a reducer.
//
//     auto nodes = engine.make_reducer<dynpar::sum<long>>();
//     engine.run(kernel{}, shape, nodes.view());       // in the kernel: nodes.add(block, 1);
//     long how_many = nodes.value();
#pragma once

#include <cstddef>
#include <cstring>
#include <new>
#include <type_traits>
#include <vector>

#include "atomic.hpp"
#include "buffer.hpp"
#include "detail/value_calls.hpp"
#include "monoids.hpp"

namespace dynpar {

template <class Monoid>
class reducer;

namespace detail {

/// Who may add to a slot.
enum class slot_use : unsigned char {
    exclusive,  ///< one thread at a time, and the next one sees what it wrote
    shared      ///< several threads at once
};

/// Where a thread adds: of which engine it is, and to which slot.
struct reducer_place {
    const void* owner;
    unsigned slot;
};

/// What slots lie behind.
struct alignas(128) reducer_header {
    const void* owner;  // the engine, as its blocks know it
    unsigned slots;
};

/// Whether a value that several threads combine is changed in one go.
template <class T>
inline constexpr bool is_reduced_atomically =
    std::bool_constant<is_atomic<T>>::value&& std::is_default_constructible_v<T>;

/// A value of a reducer, with a lock where it needs one.
template <class T, bool Atomic = is_reduced_atomically<T>>
struct reducer_slot {
    T value;
};
template <class T>
struct reducer_slot<T, false> {
    T value;
    unsigned lock;
};

#if defined(__CUDACC__)
/// For the device alone, as in kernel.hpp: a monoid's function that lacks the mark is an error, which names this one.
template <class Monoid>
__device__ __forceinline__ typename Monoid::value_type mark_the_monoid_with_DYNPAR_FUNCTION(
    const typename Monoid::value_type& a, const typename Monoid::value_type& b) {
    return Monoid::combine(a, b);
}
#endif
template <class Monoid>
DYNPAR_FUNCTION typename Monoid::value_type combine_two(const typename Monoid::value_type& a,
                                                        const typename Monoid::value_type& b) {
#if DYNPAR_ON_DEVICE
    return mark_the_monoid_with_DYNPAR_FUNCTION<Monoid>(a, b);
#else
    return Monoid::combine(a, b);
#endif
}

/// Several threads at once: by an atomic operation of that kind if there is one.
template <class Monoid, class T>
DYNPAR_FUNCTION void combine_atomically(T* place, const T& value) {
    if constexpr (std::is_same_v<Monoid, sum<T>> && is_atomic_number<T>) {
        atomic_add(place, value);
    } else if constexpr (std::is_same_v<Monoid, smallest<T>> && is_atomic_number<T>) {
        atomic_min(place, value);
    } else if constexpr (std::is_same_v<Monoid, largest<T>> && is_atomic_number<T>) {
        atomic_max(place, value);
    } else if constexpr (std::is_same_v<Monoid, bits_of_all<T>> && is_atomic_integer<T>) {
        atomic_and(place, value);
    } else if constexpr (std::is_same_v<Monoid, bits_of_any<T>> && is_atomic_integer<T>) {
        atomic_or(place, value);
    } else {
        // Word by word, so that bytes of a struct that are no member's do not matter.
        using word = atomic_word<T>;
        word* const bits = reinterpret_cast<word*>(place);
        word seen = *static_cast<volatile word*>(bits);
        for (;;) {
            const word found =
                compare_and_exchange(bits, seen, same_bits<word>(combine_two<Monoid>(same_bits<T>(seen), value)));
            if (found == seen) return;
            seen = found;
        }
    }
}

/// The same for what no atomic operation can change. The lock is taken and given back in one step of the loop: a lane
/// that waits would else hold up the one that it waits for.
template <class Monoid, class T>
DYNPAR_FUNCTION void combine_locked(reducer_slot<T, false>& slot, const T& value) {
    for (bool done = false; !done;) {
        if (compare_and_exchange(&slot.lock, 0u, 1u) == 0) {
            thread_fence();
            slot.value = combine_two<Monoid>(slot.value, value);
            thread_fence();
            atomic_exchange(&slot.lock, 0u);
            done = true;
        }
    }
}

/// Whether a type is what a reducer reduces with.
template <class T, class = void>
inline constexpr bool is_monoid = false;
template <class T>
inline constexpr bool is_monoid<
    T, std::enable_if_t<
           std::is_same_v<std::decay_t<decltype(T::identity())>, typename T::value_type> &&
           std::is_same_v<std::decay_t<decltype(T::combine(T::identity(), T::identity()))>, typename T::value_type> &&
           std::is_trivially_copyable_v<typename T::value_type> &&
           std::is_copy_constructible_v<typename T::value_type> && alignof(typename T::value_type) <= 16>> = true;
template <class T>
using if_monoid = std::enable_if_t<is_monoid<T>, int>;
template <class T>
using if_no_monoid = std::enable_if_t<!is_monoid<T>, int>;

/// Makes a reducer an engine's own.
struct own_reducer {
    static constexpr unsigned max_threads = 1;
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, reducer_header* header) const {
        header->owner = engine_block(block).place_in_reducer().owner;
    }
};

}  // namespace detail

/// What kernels get of a reducer: 8 bytes, passed by value. Made by `view()` of a reducer, which must be there as long
/// as kernels use it.
template <class Monoid>
class reducer_view {
public:
    using value_type = typename Monoid::value_type;  ///< what is combined

    /// Combines the value with what there is. Any thread of any block, also between other threads' calls; no barrier
    /// and no order, and no value to read here: that is there when the run is over.
    ///
    /// A reducer that another engine has made is refused: nothing is added, and the report says `reduce` and
    /// `not_supported`, so that `run` throws.
    template <class Block>
    DYNPAR_FUNCTION void add(Block& block, const value_type& value) const {
        auto& of_engine = detail::engine_block(block);
        const detail::reducer_place place = of_engine.place_in_reducer();
        constexpr bool exclusive =
            std::remove_reference_t<decltype(of_engine)>::use_of_slots == detail::slot_use::exclusive;
        const unsigned slots = header_->slots;
        if (place.owner != header_->owner || (exclusive && place.slot >= slots)) {
            of_engine.refuse_reducer();
            return;
        }
        using slot_type = detail::reducer_slot<value_type>;
        slot_type& slot = reinterpret_cast<slot_type*>(header_ + 1)[exclusive ? place.slot : place.slot % slots];
        if constexpr (exclusive) {
            slot.value = detail::combine_two<Monoid>(slot.value, value);
        } else if constexpr (detail::is_reduced_atomically<value_type>) {
            detail::combine_atomically<Monoid>(&slot.value, value);
        } else {
            detail::combine_locked<Monoid>(slot, value);
        }
    }

private:
    friend class reducer<Monoid>;
    explicit reducer_view(detail::reducer_header* header) : header_(header) {}

    detail::reducer_header* header_;
};

/// A value that all threads of an engine's runs may add to, as often as they like. Each thread of a GPU, or a few
/// together, has a slot of its own; they are combined when the value is read. Made by `engine.make_reducer<Monoid>()`.
///
/// `Monoid` is a type with `value_type`, `identity()` and `combine(a, b)`, which is associative and commutative:
/// `sum<T>`, `smallest<T>`, `largest<T>`, `bits_of_all<T>`, `bits_of_any<T>`, or a program's own. The order in which
/// values are combined is not defined: for integers the result is always the same, a sum in floating point may differ
/// in its last digits from run to run.
template <class Monoid>
class reducer {
public:
    using value_type = typename Monoid::value_type;  ///< what is combined

    /// Programs call `make_reducer` of their engine. `space` outlives the reducer.
    reducer(const memory_space& space, unsigned slots)
        : slots_(slots), memory_(space, sizeof(detail::reducer_header) + std::size_t{slots} * sizeof(slot_type)) {
        clear(nullptr);
    }

    /// For kernels.
    reducer_view<Monoid> view() const { return reducer_view<Monoid>(header()); }

    /// All that was added since the reducer was made or reset. Call it when no run is in progress that uses the
    /// reducer.
    value_type value() const {
        const std::vector<unsigned char> bytes = memory_.to_vector();
        value_type result = Monoid::identity();
        for (unsigned i = 0; i < slots_; ++i) {
            std::aligned_storage_t<sizeof(value_type), alignof(value_type)> place;
            std::memcpy(&place, bytes.data() + offset_of(i), sizeof(value_type));
            const value_type& part = *std::launder(reinterpret_cast<const value_type*>(&place));
            const value_type both = Monoid::combine(result, part);
            std::memcpy(static_cast<void*>(&result), &both, sizeof(value_type));
        }
        return result;
    }
    /// As if nothing had been added. Call it when no run is in progress that uses the reducer.
    void reset() {
        unsigned char first[sizeof(detail::reducer_header)];
        memory_.copy_to(first, sizeof first);
        detail::reducer_header old;
        std::memcpy(&old, first, sizeof old);
        clear(old.owner);
    }

private:
    template <class Engine>
    friend class basic_engine;
    using slot_type = detail::reducer_slot<value_type>;

    static std::size_t offset_of(unsigned slot) { return sizeof(detail::reducer_header) + slot * sizeof(slot_type); }
    detail::reducer_header* header() const { return reinterpret_cast<detail::reducer_header*>(memory_.data()); }

    void clear(const void* owner) {
        std::vector<unsigned char> bytes(memory_.size());
        detail::reducer_header first{};
        first.owner = owner;
        first.slots = slots_;
        std::memcpy(bytes.data(), &first, sizeof first);
        const value_type identity = Monoid::identity();
        for (unsigned i = 0; i < slots_; ++i) std::memcpy(bytes.data() + offset_of(i), &identity, sizeof identity);
        memory_.copy_from(bytes.data());
    }

    unsigned slots_;
    buffer<unsigned char> memory_;
};

}  // namespace dynpar
