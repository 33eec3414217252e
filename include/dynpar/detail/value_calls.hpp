// Kernels that return values: what `spawn`, `spawn_range` and `then(function, calls...)` of a block make of launches.
//
// A layer on the block's public interface, so it is the same on every engine. A call with a value is a grid of one
// thread, whose kernel is handed the place of its value as a first, hidden argument. `then` takes scratch memory for
// the values of all its calls, launches them, and adds a continuation that combines the values and stores its own value
// into the place that the calling kernel was handed.
//
// That place is known to `valued_block`, the block that kernels with values get: it is made around the engine's block,
// which has no room for it, and has the same members.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include "../collectives.hpp"
#include "../kernel.hpp"
#include "../result.hpp"
#include "../shape.hpp"
#include "../status.hpp"
#include "../value_list.hpp"
#include "kept_function.hpp"
#include "launch_check.hpp"

#if DYNPAR_ON_HOST
#include <stdexcept>
#endif

namespace dynpar {

// Not in `detail`, whose functions would then be candidates wherever a program calls a function with a block.
template <class Block>
class valued_block;

namespace detail {

/// Calls what a program has given, on a GPU in the way that finds a missing mark.
template <class Function, class... Args>
DYNPAR_FUNCTION std::invoke_result_t<const Function&, Args...> call_function(const Function& function, Args&&... args) {
#if DYNPAR_ON_DEVICE
    return mark_the_function_and_all_that_it_calls_with_DYNPAR_FUNCTION(function, static_cast<Args&&>(args)...);
#else
    return function(static_cast<Args&&>(args)...);
#endif
}

/// Whether a block type is for several threads alone: a call with a value never runs on one, and need not be compiled
/// for it.
template <class Block, class = void>
inline constexpr bool has_several_threads = false;
template <class Block>
inline constexpr bool has_several_threads<Block, std::enable_if_t<Block::is_wide>> = true;

// ---- Types of values

/// The value of a call that the compiler has refused.
struct no_value {};

/// The value of a call.
template <class Block, class Kernel, class... Args>
struct value_of_call {
    static constexpr bool is_invocable = std::is_invocable_v<const Kernel&, valued_block<Block>&, Args...>;
    template <bool Invocable, class = void>
    struct returned {
        using type = no_value;
        static constexpr bool is_result = false;
    };
    template <class Unused>
    struct returned<true, Unused> : unwrapped<std::invoke_result_t<const Kernel&, valued_block<Block>&, Args...>> {};
    static constexpr bool is_value = returned<is_invocable>::is_result;
    using type = std::conditional_t<is_value, typename returned<is_invocable>::type, no_value>;
};

template <class... Args>
inline constexpr bool is_first_a_shape = false;
template <class First, class... Rest>
inline constexpr bool is_first_a_shape<First, Rest...> = std::is_same_v<First, shape>;

/// Stops the compilation with a sentence if a kernel has no value that a call could be for.
template <class Block, class Kernel, class... Args>
DYNPAR_FUNCTION constexpr void check_call() {
    constexpr bool has_shape = is_first_a_shape<Args...>;
    static_assert(value_of_call<Block, Kernel, Args...>::is_invocable || !has_shape,
                  "dynpar: a kernel that is called for its value runs in one thread: give its arguments, and no shape");
    static_assert(value_of_call<Block, Kernel, Args...>::is_invocable || has_shape,
                  "dynpar: the kernel cannot be called with these arguments. Its call operator must be const, take the "
                  "block by reference first, and then parameters that the given arguments convert to");
    static_assert(
        !value_of_call<Block, Kernel, Args...>::is_invocable || value_of_call<Block, Kernel, Args...>::is_value,
        "dynpar: only a kernel that returns a dynpar::result can be called for its value: run or launch the "
        "others");
}

/// How values are combined. The function takes the values, or the block and the values.
template <class Block, class Function, class... Values>
struct combination {
    static constexpr bool is_plain = std::is_invocable_v<const Function&, const Values&...>;
    static constexpr bool takes_block =
        !is_plain && std::is_invocable_v<const Function&, valued_block<Block>&, const Values&...>;
    static constexpr bool is_invocable = is_plain || takes_block;

    template <bool Plain, bool TakesBlock, class = void>
    struct returned {
        using type = void;
    };
    template <class Unused>
    struct returned<true, false, Unused> : unwrapped<std::invoke_result_t<const Function&, const Values&...>> {};
    template <class Unused>
    struct returned<false, true, Unused>
        : unwrapped<std::invoke_result_t<const Function&, valued_block<Block>&, const Values&...>> {};
    /// void: there is none
    using type = std::decay_t<typename returned<is_plain, takes_block>::type>;
};

// ---- A kernel's value, on its way

/// The kernel of every call with a value: `Kernel`, and the value that it returns is stored.
template <class Kernel>
struct value_call : kept_function<Kernel> {
    using kept_function<Kernel>::kept_function;
    static constexpr unsigned max_threads = 1;

    template <class Block, class... Args>
    DYNPAR_FUNCTION void operator()(Block& block, void* place, Args... args) const {
        if constexpr (!has_several_threads<Block>) {
            valued_block<Block> caller(block, place);
            caller.store(call_function(this->function(), caller, static_cast<Args&&>(args)...));
        }
    }
};
template <class Kernel>
struct named_after<value_call<Kernel>> {
    using type = Kernel;
};

/// What a continuation with values does: combines them, and stores the value if there is one. `place` comes last, and
/// only if there is a value.
template <class Block, class Function, class... Values>
DYNPAR_FUNCTION void combine_values(Block& block, const Function& function, void* place, const Values&... values) {
    using combined = combination<Block, Function, Values...>;
    if constexpr (std::is_void_v<typename combined::type>) {
        if constexpr (combined::is_plain) {
            call_function(function, values...);
        } else {
            call_function(function, block, values...);
        }
    } else {
        valued_block<Block> caller(block, place);
        if constexpr (combined::is_plain) {
            caller.store(call_function(function, values...));
        } else {
            caller.store(call_function(function, caller, values...));
        }
    }
}

/// Where the value of that number lies among others, in bytes; for the number after the last, how many bytes they take.
template <class... Values>
DYNPAR_FUNCTION constexpr std::size_t offset_of_value(unsigned number) {
    const std::size_t sizes[] = {sizeof(Values)..., 0};
    const std::size_t alignments[] = {alignof(Values)..., 1};
    std::size_t offset = 0;
    for (unsigned i = 0;; ++i) {
        offset = (offset + alignments[i] - 1) / alignments[i] * alignments[i];
        if (i == number) return offset;
        offset += sizes[i];
    }
}

/// The continuation of several calls. If a call of the run has failed, a value may be missing, and none is used: the
/// run throws.
template <class Function, class... Values>
struct join_of_calls : kept_function<Function> {
    using kept_function<Function>::kept_function;
    static constexpr unsigned max_threads = 1;

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, const unsigned char* values, void* place = nullptr) const {
        if constexpr (!has_several_threads<Block>)
            join(block, values, place, std::make_integer_sequence<unsigned, sizeof...(Values)>{});
    }

private:
    /// Values that fit a few registers are on their way while the answer is.
    static constexpr bool are_few = offset_of_value<Values...>(sizeof...(Values)) <= 32;
    template <class Value>
    using read = std::conditional_t<are_few, Value, const Value&>;

    template <class Block, unsigned... I>
    DYNPAR_FUNCTION void join(Block& block, const unsigned char* values, void* place,
                              std::integer_sequence<unsigned, I...>) const {
        combine(block, place,
                *reinterpret_cast<const Values*>(
                    values + std::integral_constant<std::size_t, offset_of_value<Values...>(I)>::value)...);
    }
    template <class Block>
    DYNPAR_FUNCTION void combine(Block& block, void* place, read<Values>... values) const {
        if (block.run_has_failures()) return;
        combine_values(block, this->function(), place, values...);
    }
};
template <class Function, class... Values>
struct named_after<join_of_calls<Function, Values...>> {
    using type = Function;
};

/// The continuation of a range of calls.
template <class Function, class Value>
struct join_of_range : kept_function<Function> {
    using kept_function<Function>::kept_function;
    static constexpr unsigned max_threads = 1;

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, const Value* values, unsigned count, void* place = nullptr) const {
        if constexpr (!has_several_threads<Block>) {
            if (block.run_has_failures()) return;
            combine_values(block, this->function(), place, value_list<Value>(values, count));
        }
    }
};
template <class Function, class Value>
struct named_after<join_of_range<Function, Value>> {
    using type = Function;
};

/// Combines a list one after another, from the left.
template <class Operation, class Value>
struct fold_of_values : kept_function<Operation> {
    DYNPAR_FUNCTION fold_of_values(const Operation& operation, const Value& first)
        : kept_function<Operation>(operation), first_(first) {}

    DYNPAR_FUNCTION Value operator()(const value_list<Value>& values) const {
        Value result = first_;
        const auto& operation = this->function();
        for (const Value& value : values) result = call_function(operation, static_cast<const Value&>(result), value);
        return result;
    }

private:
    Value first_;
};
template <class Operation, class Value>
struct named_after<fold_of_values<Operation, Value>> {
    using type = Operation;
};

// ---- Calls that are not yet launched

template <unsigned Number, class T>
struct argument_of_call {
    T value;
};
template <class Numbers, class... Args>
struct arguments_of_call;
template <unsigned... Numbers, class... Args>
struct arguments_of_call<std::integer_sequence<unsigned, Numbers...>, Args...> : argument_of_call<Numbers, Args>... {
    DYNPAR_FUNCTION explicit arguments_of_call(const Args&... args) : argument_of_call<Numbers, Args>{args}... {}

    /// Launches the kernel with the place of its value, perhaps its number, and these arguments.
    template <class Block, class Kernel, class... Number>
    DYNPAR_FUNCTION status launch(Block& block, const Kernel& kernel, void* place, Number... number) const {
        return block.launch(value_call<Kernel>(kernel), shape(1, 1), place, number...,
                            static_cast<const argument_of_call<Numbers, Args>&>(*this).value...);
    }
};

/// A kernel and its arguments, from `spawn` until `then` launches them. No launch if nothing takes it.
template <class Kernel, class... Args>
class [[nodiscard]] spawned_call {
public:
    DYNPAR_FUNCTION explicit spawned_call(const Kernel& kernel, const Args&... args)
        : kernel_(kernel), arguments_(args...) {}

    template <class Block>
    using value_type = typename value_of_call<Block, Kernel, Args...>::type;

    template <class Block>
    DYNPAR_FUNCTION status launch(Block& block, void* place) const {
        return arguments_.launch(block, kernel_.function(), place);
    }

private:
    kept_function<Kernel> kernel_;
    arguments_of_call<std::make_integer_sequence<unsigned, sizeof...(Args)>, Args...> arguments_;
};

/// The same for several calls, each with its number.
template <class Kernel, class... Args>
class [[nodiscard]] spawned_range {
public:
    DYNPAR_FUNCTION spawned_range(unsigned count, const Kernel& kernel, const Args&... args)
        : count_(count), kernel_(kernel), arguments_(args...) {}

    template <class Block>
    using value_type = typename value_of_call<Block, Kernel, unsigned, Args...>::type;

    DYNPAR_FUNCTION unsigned count() const { return count_; }
    template <class Block>
    DYNPAR_FUNCTION status launch(Block& block, unsigned number, void* place) const {
        return arguments_.launch(block, kernel_.function(), place, number);
    }

private:
    unsigned count_;
    kept_function<Kernel> kernel_;
    arguments_of_call<std::make_integer_sequence<unsigned, sizeof...(Args)>, Args...> arguments_;
};

// ---- then(function, calls...)

/// Whether a kernel of that block type has a value of its own, which a continuation may make.
template <class Block>
inline constexpr bool may_return_value = false;
template <class Block>
inline constexpr bool may_return_value<valued_block<Block>> = true;

/// The engine's block behind a block.
template <class Block>
DYNPAR_FUNCTION Block& engine_block(Block& block) {
    return block;
}
template <class Block>
DYNPAR_FUNCTION Block& engine_block(valued_block<Block>& block) {
    return block.engine_block();
}
template <class Block>
struct engine_block_of {
    using type = Block;
};
template <class Block>
struct engine_block_of<valued_block<Block>> {
    using type = Block;
};

/// Adds the continuation, which makes the caller's value unless the function has none.
template <class Result, class Block, class Join, class... Args>
DYNPAR_FUNCTION status continue_with_values(Block& block, const Join& join, Args... args) {
    if constexpr (std::is_same_v<Result, status>) {
        return engine_block(block).then(join, shape(1, 1), args...);
    } else {
        return engine_block(block).then(join, shape(1, 1), args..., block.place());
    }
}

/// What then() does with a function that is combined with `Values`, and what it returns.
template <class Block, class Function, class... Values>
struct then_of {
    using combined = combination<typename engine_block_of<Block>::type, Function, Values...>;
    static constexpr bool have_values = (!std::is_same_v<Values, no_value> && ...);
    static constexpr bool is_possible =
        combined::is_invocable && (may_return_value<Block> || std::is_void_v<typename combined::type>);
    using type = std::conditional_t<
        !is_possible, no_result,
        std::conditional_t<std::is_void_v<typename combined::type>, status,
                           result<std::conditional_t<is_possible && !std::is_void_v<typename combined::type>,
                                                     typename combined::type, int>>>>;

    DYNPAR_FUNCTION static constexpr void check() {
        static_assert(combined::is_invocable || !have_values,
                      "dynpar: the function given to then() cannot be called with the values of these calls: it is a "
                      "const function object that takes them in the order of the calls, or the block and them");
        static_assert(!combined::is_invocable || is_possible,
                      "dynpar: this kernel returns no dynpar::result, so the value of the function given to then() "
                      "would be lost: let the function return nothing, or the kernel a result");
    }
    /// What then() returns, if `done` is the status of all that it did.
    DYNPAR_FUNCTION static type outcome(Block& block, status done) {
        if constexpr (std::is_same_v<type, status>) {
            static_cast<void>(block);
            return done;
        } else {
            static_cast<void>(done);  // a failure is in the report
            block.expect_value();
            return result_access::later<typename combined::type>();
        }
    }
};

/// then() of calls. What it was given is wrong here; the right forms follow.
template <class Block, class Function, class... Given>
struct then_of_calls {
    using type = no_result;
    template <class... Any>
    DYNPAR_FUNCTION static type call(Block&, const Function&, const Any&...) {
        static_assert(std::is_void_v<Block> && sizeof...(Any) == 0,
                      "dynpar: then(function, ...) takes calls of block.spawn, or one of block.spawn_range, and "
                      "nothing else: other values are members of the function object");
        return {};
    }
};

/// Of some calls.
template <class Block, class Function, class... Kernels>
struct then_of_some {
    using engine_block_type = typename engine_block_of<Block>::type;
    using then_type = then_of<Block, Function, typename Kernels::template value_type<engine_block_type>...>;
    using type = typename then_type::type;

    DYNPAR_FUNCTION static type call(Block& block, const Function& function, const Kernels&... calls) {
        then_type::check();
        if constexpr (then_type::is_possible) {
            return then_type::outcome(
                block, launch_and_continue(block, function, std::make_integer_sequence<unsigned, sizeof...(Kernels)>{},
                                           calls...));
        } else {
            return {};
        }
    }

private:
    template <unsigned... I>
    DYNPAR_FUNCTION static status launch_and_continue(Block& block, const Function& function,
                                                      std::integer_sequence<unsigned, I...>, const Kernels&... calls) {
        constexpr std::size_t bytes =
            offset_of_value<typename Kernels::template value_type<engine_block_type>...>(sizeof...(Kernels));
        engine_block_type& engine = engine_block(block);
        unsigned char* const values = engine.template scratch<unsigned char>(bytes);
        if (values == nullptr) return status::out_of_memory;
        status done = status::success;
        // After a failure nothing more is launched: the values would be for nothing.
        static_cast<void>(
            ((done = calls.launch(
                  engine,
                  values + std::integral_constant<
                               std::size_t,
                               offset_of_value<typename Kernels::template value_type<engine_block_type>...>(I)>::value),
              done == status::success) &&
             ...));
        if (done != status::success) return done;
        return continue_with_values<type>(
            block, join_of_calls<Function, typename Kernels::template value_type<engine_block_type>...>(function),
            static_cast<const unsigned char*>(values));
    }
};
template <class Block, class Function, class Kernel, class... Args, class... Kernels>
struct then_of_calls<Block, Function, spawned_call<Kernel, Args...>, Kernels...>
    : std::conditional_t<(true && ... && (is_spawned<Kernels> && !is_spawned_range<Kernels>)),
                         then_of_some<Block, Function, spawned_call<Kernel, Args...>, Kernels...>,
                         then_of_calls<Block, Function>> {};

/// Of a range, whose values the function gets as a list.
template <class Block, class Function, class Kernel, class... Args>
struct then_of_calls<Block, Function, spawned_range<Kernel, Args...>> {
    using engine_block_type = typename engine_block_of<Block>::type;
    using value_type = typename spawned_range<Kernel, Args...>::template value_type<engine_block_type>;
    using then_type = then_of<Block, Function, value_list<value_type>>;
    using type = typename then_type::type;

    DYNPAR_FUNCTION static type call(Block& block, const Function& function,
                                     const spawned_range<Kernel, Args...>& calls) {
        then_type::check();
        if constexpr (then_type::is_possible) {
            return then_type::outcome(block, launch_and_continue(block, function, calls));
        } else {
            return {};
        }
    }

private:
    DYNPAR_FUNCTION static status launch_and_continue(Block& block, const Function& function,
                                                      const spawned_range<Kernel, Args...>& calls) {
        engine_block_type& engine = engine_block(block);
        value_type* values = nullptr;
        if (calls.count() != 0) {
            values = engine.template scratch<value_type>(calls.count());
            if (values == nullptr) return status::out_of_memory;
        }
        for (unsigned i = 0; i < calls.count(); ++i) {
            if (const status done = calls.launch(engine, i, values + i); done != status::success) return done;
        }
        return continue_with_values<type>(block, join_of_range<Function, value_type>(function),
                                          static_cast<const value_type*>(values), calls.count());
    }
};

/// Of a range, whose values are combined one after another.
template <class Block, class Operation, class First, class Kernel, class... Args>
struct then_of_calls<Block, Operation, First, spawned_range<Kernel, Args...>> {
    using range = spawned_range<Kernel, Args...>;
    using value_type = typename range::template value_type<typename engine_block_of<Block>::type>;
    using fold = fold_of_values<Operation, value_type>;
    static constexpr bool is_operation =
        std::is_invocable_r_v<value_type, const Operation&, const value_type&, const value_type&> &&
        std::is_convertible_v<const First&, value_type>;
    using of_range = then_of_calls<Block, fold, range>;
    template <bool IsOperation, class OfRange>
    struct type_if {
        using type = no_result;
    };
    template <class OfRange>
    struct type_if<true, OfRange> {
        using type = typename OfRange::type;
    };
    using type = typename type_if<is_operation, of_range>::type;

    DYNPAR_FUNCTION static type call(Block& block, const Operation& operation, const First& first, const range& calls) {
        static_assert(is_operation,
                      "dynpar: then(operation, first, block.spawn_range(...)) needs an operation that makes a value of "
                      "two, and a first value that converts to those of the calls");
        if constexpr (is_operation) {
            return of_range::call(block, fold(operation, first), calls);
        } else {
            return {};
        }
    }
};

/// Chooses the overload of `then` for calls.
template <class... Given>
using if_spawned = std::enable_if_t<(is_spawned<Given> || ...), int>;

#if DYNPAR_ON_HOST
[[noreturn]] inline void refuse_second_value() {
    throw std::logic_error(
        "dynpar: a kernel has made its value twice: it returns what then() has returned, and calls then() for a value "
        "once");
}
#endif

}  // namespace detail

/// What an engine's block has for kernels with values; `Block` is derived from it. See block.hpp for what the members
/// mean.
template <class Block>
class value_interface {
public:
    template <class Kernel, class... Args>
    DYNPAR_FUNCTION detail::spawned_call<Kernel, Args...> spawn(Kernel kernel, Args... args) const {
        detail::check_call<typename detail::engine_block_of<Block>::type, Kernel, Args...>();
        return detail::spawned_call<Kernel, Args...>(kernel, args...);
    }
    template <class Kernel, class... Args>
    DYNPAR_FUNCTION detail::spawned_range<Kernel, Args...> spawn_range(unsigned count, Kernel kernel,
                                                                       Args... args) const {
        detail::check_call<typename detail::engine_block_of<Block>::type, Kernel, unsigned, Args...>();
        return detail::spawned_range<Kernel, Args...>(count, kernel, args...);
    }
    template <class Function, class... Given, detail::if_spawned<Given...> = 0>
    DYNPAR_FUNCTION typename detail::then_of_calls<Block, Function, Given...>::type then(const Function& function,
                                                                                         const Given&... given) {
        return detail::then_of_calls<Block, Function, Given...>::call(static_cast<Block&>(*this), function, given...);
    }

    // Of a const block: a sentence of the compiler.
    template <class Kernel, class... Args>
    DYNPAR_FUNCTION status launch(const Kernel&, const shape&, const Args&...) const {
        return detail::explain_const_block<status, Kernel>();
    }
    template <class Kernel, class... Args>
    DYNPAR_FUNCTION status then(const Kernel&, const shape&, const Args&...) const {
        return detail::explain_const_block<status, Kernel>();
    }
    template <class Function, class... Given, detail::if_spawned<Given...> = 0>
    DYNPAR_FUNCTION detail::no_result then(const Function&, const Given&...) const {
        return detail::explain_const_block<detail::no_result, Function>();
    }

protected:
    value_interface() = default;
    ~value_interface() = default;
};

/// The block of a kernel with a value: the engine's block, and the place of the value.
template <class Block>
class valued_block : public value_interface<valued_block<Block>> {
public:
    using stream_type = decltype(std::declval<Block&>().make_stream());
    using event_type = decltype(std::declval<Block&>().make_event());

    DYNPAR_FUNCTION valued_block(Block& block, void* place) : block_(&block), place_(place) {}

    DYNPAR_FUNCTION unsigned thread_rank() const { return block_->thread_rank(); }
    DYNPAR_FUNCTION unsigned num_threads() const { return block_->num_threads(); }
    DYNPAR_FUNCTION dimensions thread_index() const { return block_->thread_index(); }
    DYNPAR_FUNCTION dimensions dim_threads() const { return block_->dim_threads(); }
    DYNPAR_FUNCTION unsigned block_rank() const { return block_->block_rank(); }
    DYNPAR_FUNCTION unsigned num_blocks() const { return block_->num_blocks(); }
    DYNPAR_FUNCTION dimensions group_index() const { return block_->group_index(); }
    DYNPAR_FUNCTION dimensions dim_blocks() const { return block_->dim_blocks(); }
    DYNPAR_FUNCTION unsigned depth() const { return block_->depth(); }
    DYNPAR_FUNCTION unsigned moldable_threads(at_most most) const { return block_->moldable_threads(most); }

    DYNPAR_FUNCTION void sync() { block_->sync(); }
    DYNPAR_FUNCTION status wait() { return block_->wait(); }
    template <class T>
    DYNPAR_FUNCTION T* shared(std::size_t count) {
        return block_->template shared<T>(count);
    }
    template <class T>
    DYNPAR_FUNCTION T* scratch(std::size_t count) {
        return block_->template scratch<T>(count);
    }

    using value_interface<valued_block>::launch;
    template <class Kernel, class... Args>
    DYNPAR_FUNCTION status launch(Kernel kernel, const shape& s, Args... args) {
        return block_->launch(kernel, s, args...);
    }
    template <class Kernel, class... Args>
    DYNPAR_FUNCTION status launch(const stream_type& stream, Kernel kernel, const shape& s, Args... args) {
        return block_->launch(stream, kernel, s, args...);
    }
    /// Without a shape, or with a buffer: a sentence of the compiler.
    template <class Kernel, class Shape = shape, class... Args, detail::if_wrong_launch<Shape, Args...> = 0,
              std::enable_if_t<!std::is_same_v<Kernel, stream_type>, int> = 0>
    DYNPAR_FUNCTION status launch(const Kernel&, const Shape&, const Args&...) {
        return detail::explain_wrong_launch<status, Shape, Args...>();
    }
    using value_interface<valued_block>::then;
    template <class Kernel, class... Args>
    DYNPAR_FUNCTION status then(Kernel kernel, const shape& s, Args... args) {
        return block_->then(kernel, s, args...);
    }
    /// Without a shape, or with a buffer: a sentence of the compiler.
    template <class Kernel, class Shape = shape, class... Args, detail::if_wrong_launch<Shape, Args...> = 0>
    DYNPAR_FUNCTION status then(const Kernel&, const Shape&, const Args&...) {
        return detail::explain_wrong_launch<status, Shape, Args...>();
    }

    DYNPAR_FUNCTION stream_type make_stream() { return block_->make_stream(); }
    DYNPAR_FUNCTION event_type make_event() { return block_->make_event(); }

    DYNPAR_FUNCTION Block& engine_block() const { return *block_; }
    DYNPAR_FUNCTION void* place() const { return place_; }

    /// A continuation will store the value.
    DYNPAR_FUNCTION void expect_value() { ++expected_; }
    /// What the kernel has returned.
    template <class T>
    DYNPAR_FUNCTION void store(const result<T>& value) {
        const bool was_here = detail::result_access::store(value, place_);
        if (expected_ > 1 || (expected_ == 1 && was_here)) {
#if DYNPAR_ON_DEVICE
            __trap();
#else
            detail::refuse_second_value();
#endif
        }
    }
    template <class T>
    DYNPAR_FUNCTION void store(const T& value) {
        store(result<T>(value));
    }

    valued_block(const valued_block&) = delete;
    valued_block& operator=(const valued_block&) = delete;

private:
    Block* block_;
    void* place_;
    unsigned expected_ = 0;  // continuations that make the value
};

/// The warp of a kernel with a value, which has one thread.
template <class Block>
DYNPAR_FUNCTION warp_group<Block> this_warp(valued_block<Block>& block) {
    return warp_group<Block>(block.engine_block());
}
/// The block of a kernel with a value, which has one thread.
template <class Block>
DYNPAR_FUNCTION block_group<Block> this_block(valued_block<Block>& block, void* memory) {
    return block_group<Block>(block.engine_block(), memory);
}

}  // namespace dynpar
