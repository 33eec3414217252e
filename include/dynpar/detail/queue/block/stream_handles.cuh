// Queue engine: the handles of streams and events that kernels use.
//
// A handle is an arena index, and the block that has made it; what it refers to, and its order, is join/stream.cuh's.
// Owns nothing in the engine but the reference that it gives back when it is destroyed.
#pragma once

#include "launch.cuh"
#include "../join/stream.cuh"

namespace dynpar {

class queue_stream;
class queue_event;

namespace detail {
namespace queue {

class lane_block;
class wide_block;
template <class Derived>
class block_interface;

/// The block that has made a handle: the report says of a call that fails which kernel made it.
class handle_maker {
public:
    DYNPAR_FUNCTION explicit handle_maker(const lane_block& block) : lane_(&block) {}
    DYNPAR_FUNCTION explicit handle_maker(const wide_block& block) : wide_(&block) {}

#if DYNPAR_ON_DEVICE
    __device__ status fail(operation what, status why) const;  // in entry_points.cuh, which knows both types
#endif

private:
    const lane_block* lane_ = nullptr;
    const wide_block* wide_ = nullptr;
};

}  // namespace queue
}  // namespace detail

/// A stream of a block on the queue engine; made by `block.make_stream()`, for that block alone.
class queue_stream {
public:
    /// Work that is given to the stream from now on does not begin before the work before the event's latest record is
    /// complete.
    DYNPAR_FUNCTION status wait(const queue_event& event);

    DYNPAR_FUNCTION ~queue_stream() {
#if DYNPAR_ON_DEVICE
        if (state_ != 0) detail::queue::close_stream(state_);
#endif
    }
    DYNPAR_FUNCTION queue_stream(queue_stream&& other) noexcept : maker_(other.maker_), state_(other.state_) {
        other.state_ = 0;
    }
    DYNPAR_FUNCTION queue_stream& operator=(queue_stream&& other) noexcept {
        queue_stream taken(static_cast<queue_stream&&>(other));
        const detail::queue::arena_index mine = state_;
        state_ = taken.state_, taken.state_ = mine;  // closed with `taken`
        return *this;
    }

private:
    template <class Derived>
    friend class detail::queue::block_interface;
    friend class queue_event;
    DYNPAR_FUNCTION queue_stream(detail::queue::handle_maker maker, detail::queue::arena_index state)
        : maker_(maker), state_(state) {}

    detail::queue::handle_maker maker_;
    detail::queue::arena_index state_;  // 0 if there is no stream behind this object
};

/// An event of a block on the queue engine; made by `block.make_event()`, for that block alone.
class queue_event {
public:
    /// Records the event: it is complete when everything that was given to the stream before is complete.
    DYNPAR_FUNCTION status record(const queue_stream& stream) {
#if DYNPAR_ON_DEVICE
        using namespace detail::queue;
        if (!alive_ || stream.state_ == 0) return maker_.fail(operation::record_event, status::launch_failed);
        const arena_index fresh = make_event_state();
        if (fresh == 0 || !give_to_stream(stream.state_, stream_node::record_event, fresh, nullptr))
            return maker_.fail(operation::record_event, status::out_of_memory);
        if (state_ != 0) forget_event(state_);
        state_ = fresh;
        return status::success;
#else
        static_cast<void>(stream);
        return status::not_supported;
#endif
    }

    DYNPAR_FUNCTION ~queue_event() {
#if DYNPAR_ON_DEVICE
        if (state_ != 0) detail::queue::forget_event(state_);
#endif
    }
    DYNPAR_FUNCTION queue_event(queue_event&& other) noexcept
        : maker_(other.maker_), alive_(other.alive_), state_(other.state_) {
        other.alive_ = false;
        other.state_ = 0;
    }
    DYNPAR_FUNCTION queue_event& operator=(queue_event&& other) noexcept {
        queue_event taken(static_cast<queue_event&&>(other));
        const detail::queue::arena_index mine = state_;
        alive_ = taken.alive_;
        state_ = taken.state_, taken.state_ = mine;  // forgotten with `taken`
        return *this;
    }

private:
    template <class Derived>
    friend class detail::queue::block_interface;
    friend class queue_stream;
    DYNPAR_FUNCTION explicit queue_event(detail::queue::handle_maker maker) : maker_(maker) {}

    detail::queue::handle_maker maker_;
    bool alive_ = true;                     // not moved from
    detail::queue::arena_index state_ = 0;  // of its latest record; 0: never recorded, and no stream waits for it
};

DYNPAR_FUNCTION inline status queue_stream::wait(const queue_event& event) {
#if DYNPAR_ON_DEVICE
    using namespace detail::queue;
    if (state_ == 0 || !event.alive_) return maker_.fail(operation::wait_event, status::launch_failed);
    if (event.state_ == 0) return status::success;
    if (!give_to_stream(state_, stream_node::wait_event, event.state_, nullptr))
        return maker_.fail(operation::wait_event, status::out_of_memory);
    return status::success;
#else
    static_cast<void>(event);
    return status::not_supported;
#endif
}

}  // namespace dynpar
