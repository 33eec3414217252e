// What all engines can do alike: run a grid and throw if anything failed, and make buffers.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "../buffer.hpp"
#include "../detail/launch_check.hpp"
#include "../report.hpp"
#include "../shape.hpp"

namespace dynpar {

/// The part that engines have in common. `Engine` is derived from it, and has `try_run` and `memory`.
template <class Engine>
class basic_engine {
public:
    /// Runs a grid and everything launched from it; returns when all of it is complete. Throws `launch_error` if a call
    /// in a kernel failed, above all if a launch was lost, and what `try_run` throws. The engine is usable afterwards
    /// unless the CUDA context is lost.
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

protected:
    basic_engine() = default;
    ~basic_engine() = default;
    basic_engine(basic_engine&&) = default;
    basic_engine& operator=(basic_engine&&) = default;
    basic_engine(const basic_engine&) = default;
    basic_engine& operator=(const basic_engine&) = default;
};

}  // namespace dynpar
