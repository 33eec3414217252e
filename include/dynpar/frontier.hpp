// The frontier of a search: items that the grid of one round works on, while it finds those of the next.
//
//     dynpar::frontier<unsigned> frontier(engine, vertices);
//     frontier.begin_with({first});
//     engine.run(dynpar::for_each_in<visit>{}, dynpar::shape(1, 1), frontier.view(), ...);
//
//     // in visit, a kernel (block, view, ...) that runs once for each round:
//     const unsigned* const v = view.item(block);          // null: this thread has none, but takes part
//     dynpar::nested_for(block, v != nullptr ? degree(*v) : 0, visit_neighbour{view, ...});
//
//     view.add(neighbour);                                  // in visit_neighbour: once for each that is found
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "atomic.hpp"
#include "buffer.hpp"
#include "detail/kept_function.hpp"
#include "kernel.hpp"
#include "platform.hpp"
#include "shape.hpp"
#include "shape_for_loops.hpp"

namespace dynpar {

template <class T>
class frontier;

namespace detail {

/// What a frontier's grids share. Very many threads change the last one, so it is in another line of memory: what they
/// only read stays in their caches.
template <class T>
struct frontier_state {
    T* items;
    T* found;
    unsigned size;  // of `items`
    unsigned capacity;
    unsigned round;
    unsigned long long refused;
    unsigned char apart[128];
    unsigned in_found;
};

}  // namespace detail

/// A frontier as kernels have it: 8 bytes, by value. Made by `frontier<T>::view()`.
template <class T>
class frontier_view {
public:
    /// Items of this round.
    DYNPAR_FUNCTION unsigned size() const { return state_->size; }
    /// The number of this round: 0 for the items that the host has given.
    DYNPAR_FUNCTION unsigned round() const { return state_->round; }

    /// The calling thread's item in a grid of the shape that `shape` gives, each of which is one thread's; null if it
    /// has none. The item stays where it is until the round is over.
    template <class Block>
    DYNPAR_FUNCTION const T* item(const Block& block) const {
        const unsigned i = loop_of(block, state_->size);
        return i < state_->size ? state_->items + i : nullptr;
    }
    /// Adds an item to the next round; any thread, fewer than 2^31 times a round. False if the frontier is full: then
    /// it is not added, and `frontier<T>::refused` counts it. Threads of the same round do not read what it adds.
    DYNPAR_FUNCTION bool add(const T& item) const {
        const unsigned place = atomic_append(&state_->in_found);
        if (place >= state_->capacity) return false;
        state_->found[place] = item;
        return true;
    }

    /// One thread, between two rounds: what has been added becomes the items. Returns how many. `for_each_in` does
    /// this; it is for programs whose rounds differ.
    DYNPAR_FUNCTION unsigned advance() const {
        detail::frontier_state<T>& s = *state_;
        const unsigned added = s.in_found;
        T* const items = s.found;
        s.found = s.items;
        s.items = items;
        s.size = added < s.capacity ? added : s.capacity;
        s.refused += added - s.size;
        s.in_found = 0;
        if (s.size != 0) ++s.round;
        return s.size;
    }
    /// A shape for a grid of this round, in which few items are spread over many warps; see `shape_for_loops`. The
    /// frontier has an item at least.
    template <class Block>
    DYNPAR_FUNCTION dynpar::shape shape(const Block& block, at_most most, unsigned shared = 0) const {
        return shape_for_loops(block, state_->size, most, shared);
    }

private:
    friend class frontier<T>;
    explicit frontier_view(detail::frontier_state<T>* state) : state_(state) {}
    detail::frontier_state<T>* state_;
};

/// The memory of a frontier, for so many items at a time. One run at a time uses it, after `begin_with`: a run leaves
/// it empty.
template <class T>
class frontier {
    static_assert(std::is_trivially_copyable_v<T> && std::is_copy_assignable_v<T> && !std::is_same_v<T, bool>,
                  "dynpar: the items of a frontier are trivially copyable, can be assigned, and are not bool");
    using state = detail::frontier_state<T>;

public:
    static constexpr std::size_t most_capacity = bounds::grid_blocks;  ///< items: 2^31 - 1

    /// In an engine's memory. Throws `std::length_error` for more than `most_capacity` items, and what `make_buffer`
    /// throws.
    template <class Engine>
    frontier(const Engine& engine, std::size_t capacity)
        : frontier(engine.template make_buffer<T>(checked(capacity)), engine.template make_buffer<T>(checked(capacity)),
                   engine.template make_buffer<state>(1)) {}
    /// In a memory that outlives it, for programs that have one for several engines.
    frontier(const memory_space& space, std::size_t capacity)
        : frontier(buffer<T>(space, checked(capacity)), buffer<T>(space, checked(capacity)), buffer<state>(space, 1)) {}

    /// The items of round 0; all others are gone. Throws `std::length_error` if they are more than the frontier has
    /// room for.
    void begin_with(const std::vector<T>& items) {
        if (items.size() > found_.size())
            throw std::length_error("dynpar: begin_with: " + std::to_string(items.size()) +
                                    " items, and the frontier has room for " + std::to_string(found_.size()));
        found_.copy_from(items.data(), items.size());
        const state begin{items_.data(),
                          found_.data(),
                          0,
                          static_cast<unsigned>(found_.size()),
                          ~0u,
                          0,
                          {},
                          static_cast<unsigned>(items.size())};
        state_.copy_from(&begin);
    }
    /// For kernels.
    frontier_view<T> view() const { return frontier_view<T>(state_.data()); }
    /// Rounds that had items since `begin_with`.
    unsigned rounds() const { return state_.value().round + 1; }
    /// Items that found no room since `begin_with`: if there are any, the result is not complete.
    unsigned long long refused() const { return state_.value().refused; }

private:
    frontier(buffer<T> items, buffer<T> found, buffer<state> shared)
        : items_(std::move(items)), found_(std::move(found)), state_(std::move(shared)) {
        begin_with({});
    }
    static std::size_t checked(std::size_t capacity) {
        if (capacity > most_capacity)
            throw std::length_error("dynpar: a frontier has room for 2147483647 items at most; " +
                                    std::to_string(capacity) + " were asked for");
        return capacity;
    }
    buffer<T> items_, found_;
    buffer<state> state_;
};

/// A kernel of one thread that runs another one round after round, until a round finds nothing: `kernel(block, view,
/// args...)`, in blocks of a width that suits the engine, whose threads ask the view for their item. A round begins
/// when the one before is complete, with all that it has launched. `MostThreads`: of its blocks, if `max_threads` of
/// the kernel allows them. A kernel with state is given: `for_each_in<visit>(visit{...})`.
template <class Kernel, unsigned MostThreads = 256>
struct for_each_in : detail::kept_function<Kernel> {
    static_assert(MostThreads != 0, "dynpar: for_each_in: the blocks of a round have a thread at least");
    using detail::kept_function<Kernel>::kept_function;

    static constexpr const char* name = "for_each_in";  ///< in reports and traces
    static constexpr unsigned max_threads = 1;          ///< it is launched with one thread

    /// Launches a round, and continues with the next.
    template <class Block, class T, class... Args>
    DYNPAR_FUNCTION void operator()(Block& block, frontier_view<T> view, Args... args) const {
        // Of several blocks, by mistake, each would take the items of the one before away.
        if (block.block_rank() != 0 || view.advance() == 0) return;
        constexpr unsigned most = detail::bounded_threads<Kernel>(MostThreads);
        block.launch(this->function(), view.shape(block, at_most(most)), view, args...);
        block.then(*this, dynpar::shape(1, 1), view, args...);
    }
};

}  // namespace dynpar
