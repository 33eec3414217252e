// What all engines can do alike: run a grid and throw if anything failed, call a kernel for its value, make buffers.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "../buffer.hpp"
#include "../call_outcome.hpp"
#include "../detail/launch_check.hpp"
#include "../detail/mutex.hpp"
#include "../detail/value_calls.hpp"
#include "../reducer.hpp"
#include "../report.hpp"
#include "../shape.hpp"

namespace dynpar {

namespace detail {

/// Room for the value of a call.
struct alignas(16) value_place {
    unsigned char bytes[64];
};
/// Those that an engine has made, for its next calls: to allocate memory of a GPU takes longer than many a run.
class value_places {
public:
    std::optional<buffer<value_place>> take() {
        const mutex_lock guard(mutex_);
        if (spare_.empty()) return {};
        std::optional<buffer<value_place>> place(std::move(spare_.back()));
        spare_.pop_back();
        return place;
    }
    void keep(buffer<value_place> place) {
        const mutex_lock guard(mutex_);
        spare_.push_back(std::move(place));
    }

private:
    mutex mutex_;  // several threads may call
    std::vector<buffer<value_place>> spare_;
};

}  // namespace detail

/// The part that engines have in common. `Engine` is derived from it, and has `try_run` and `memory`.
template <class Engine>
class basic_engine {
public:
    /// Runs a grid and everything launched from it; returns when all of it is complete. On a GPU it begins after what
    /// the calling thread's default stream was given before. Throws `launch_error` if a call in a kernel failed, above
    /// all if a launch was lost, and what `try_run` throws. The engine is usable afterwards unless the CUDA context is
    /// lost.
    template <class Kernel, class... Args, detail::if_no_buffer<Args...> = 0>
    report run(Kernel kernel, const shape& s, Args... args) {
        report result = static_cast<Engine*>(this)->try_run(kernel, s, args...);
        if (result.failed_calls != 0) throw launch_error(std::move(result));
        return result;
    }
    /// Without a shape, or with a buffer: a sentence of the compiler.
    template <class Kernel, class Shape = shape, class... Args, detail::if_wrong_launch<Shape, Args...> = 0>
    report run(const Kernel&, const Shape&, const Args&...) {
        return detail::explain_wrong_launch<report, Shape, Args...>();
    }
    /// Without a shape, or with a buffer: a sentence of the compiler.
    template <class Kernel, class Shape = shape, class... Args, detail::if_wrong_launch<Shape, Args...> = 0>
    report try_run(const Kernel&, const Shape&, const Args&...) {
        return detail::explain_wrong_launch<report, Shape, Args...>();
    }

    /// Runs a kernel that returns a `result`, in one thread, with everything launched from it, and returns its value.
    /// Throws what `run` throws: `launch_error` if a call in a kernel failed, and then there is no value.
    template <class Kernel, class... Args, detail::if_no_buffer<Args...> = 0>
    auto call(Kernel kernel, Args... args) {
        auto outcome = static_cast<Engine*>(this)->try_call(kernel, args...);
        if (!outcome.value) throw launch_error(std::move(outcome.report));
        return *outcome.value;
    }
    /// The same, with the report; without a value if a call in a kernel failed. Throws what `try_run` throws.
    template <class Kernel, class... Args, detail::if_no_buffer<Args...> = 0>
    auto try_call(Kernel kernel, Args... args) {
        using block_type = typename Engine::block_type;
        using of_call = detail::value_of_call<block_type, Kernel, Args...>;
        using value_type = typename of_call::type;
        detail::check_call<block_type, Kernel, Args...>();
        call_outcome<value_type> outcome;
        if constexpr (of_call::is_value) {
            constexpr bool is_kept = sizeof(value_type) <= sizeof(detail::value_place);
            using place_type = std::conditional_t<is_kept, detail::value_place, value_type>;
            std::optional<buffer<place_type>> place;
            if constexpr (is_kept) place = places_->take();
            if (!place) place.emplace(make_buffer<place_type>(1));
            outcome.report = static_cast<Engine*>(this)->try_run(detail::value_call<Kernel>(kernel), shape(1, 1),
                                                                 static_cast<void*>(place->data()), args...);
            if (outcome.report.failed_calls == 0) {
                const place_type found = place->value();
                outcome.value.emplace(*std::launder(reinterpret_cast<const value_type*>(&found)));
            }
            if constexpr (is_kept) places_->keep(std::move(*place));
        }
        return outcome;
    }
    /// With a buffer: a sentence of the compiler.
    template <class Kernel, class... Args, detail::if_buffer<Args...> = 0>
    auto call(const Kernel&, const Args&...) {
        return detail::explain_wrong_launch<int, shape, Args...>();
    }
    /// With a buffer: a sentence of the compiler.
    template <class Kernel, class... Args, detail::if_buffer<Args...> = 0>
    auto try_call(const Kernel&, const Args&...) {
        return detail::explain_wrong_launch<call_outcome<int>, shape, Args...>();
    }

    /// An array that kernels on this engine can reach, of `count` elements, undefined at first. Throws
    /// `std::bad_alloc` or `cuda_error`.
    template <class T>
    buffer<T> make_buffer(std::size_t count) const {
        return buffer<T>(Engine::memory(), count);
    }
    /// The same with these values: `make_buffer({0u})` is one number.
    template <class T>
    buffer<T> make_buffer(std::initializer_list<T> values) const {
        buffer<T> result(Engine::memory(), values.size());
        result.copy_from(values.begin());
        return result;
    }
    /// The same with a copy of these values.
    template <class T>
    buffer<T> make_buffer(const std::vector<T>& values) const {
        buffer<T> result(Engine::memory(), values.size());
        if constexpr (std::is_same_v<T, bool>) {  // a vector of those has no array
            const std::unique_ptr<bool[]> array(new bool[values.size()]);
            for (std::size_t i = 0; i < values.size(); ++i) array[i] = values[i];
            result.copy_from(array.get());
        } else {
            result.copy_from(values.data());
        }
        return result;
    }

    /// A value that kernels on this engine may add to: `make_reducer<dynpar::sum<long>>()`. Runs a grid of one thread.
    /// Throws what `run` and `make_buffer` throw.
    template <class Monoid, detail::if_monoid<Monoid> = 0>
    reducer<Monoid> make_reducer() {
        reducer<Monoid> result(Engine::memory(), static_cast<const Engine*>(this)->reducer_slots());
        run(detail::own_reducer{}, shape(1, 1), result.header());
        return result;
    }
    /// Of another type: a sentence of the compiler.
    template <class Monoid, detail::if_no_monoid<Monoid> = 0>
    void make_reducer() {
        static_assert(detail::is_monoid<Monoid>,
                      "dynpar: a reducer is of a type with value_type, which is trivially copyable and aligned to 16 "
                      "bytes at most, identity() and combine(a, b), such as dynpar::sum<long>");
    }

protected:
    basic_engine() = default;
    ~basic_engine() = default;
    basic_engine(basic_engine&&) = default;
    basic_engine& operator=(basic_engine&&) = default;
    basic_engine(const basic_engine&) = default;
    basic_engine& operator=(const basic_engine&) = default;

private:
    std::shared_ptr<detail::value_places> places_ = std::make_shared<detail::value_places>();
};

}  // namespace dynpar
