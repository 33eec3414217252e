// Queue engine: the handles of streams and events that kernels use.
//
// A handle is an arena index; what it refers to, and its order, is join/stream.cuh's. Owns nothing in the engine but
// the reference that it gives back when it is destroyed.
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
    DYNPAR_FUNCTION queue_stream(queue_stream&& other) noexcept : state_(other.state_) { other.state_ = 0; }
    DYNPAR_FUNCTION queue_stream& operator=(queue_stream&& other) noexcept {
        const detail::queue::arena_index state = state_;
        state_ = other.state_;
        other.state_ = state;
        return *this;
    }

private:
    friend class detail::queue::lane_block;
    friend class detail::queue::wide_block;
    friend class queue_event;
    DYNPAR_FUNCTION explicit queue_stream(detail::queue::arena_index state) : state_(state) {}

    detail::queue::arena_index state_;  // 0 if there is no stream behind this object
};

/// An event of a block on the queue engine; made by `block.make_event()`, for that block alone.
class queue_event {
public:
    /// Records the event: it is complete when everything that was given to the stream before is complete.
    DYNPAR_FUNCTION status record(const queue_stream& stream) {
#if DYNPAR_ON_DEVICE
        using namespace detail::queue;
        if (!alive_ || stream.state_ == 0) return status::launch_failed;  // reported when it was made
        const arena_index fresh = make_event_state();
        if (fresh == 0 || !give_to_stream(stream.state_, stream_node::record_event, fresh, nullptr)) {
            return report_failure(operation::record_event, status::out_of_memory, text{"", 0}, 0, shape());
        }
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
    DYNPAR_FUNCTION queue_event(queue_event&& other) noexcept : alive_(other.alive_), state_(other.state_) {
        other.alive_ = false;
        other.state_ = 0;
    }
    DYNPAR_FUNCTION queue_event& operator=(queue_event&& other) noexcept {
        const detail::queue::arena_index state = state_;
        const bool alive = alive_;
        alive_ = other.alive_, state_ = other.state_;
        other.alive_ = alive, other.state_ = state;
        return *this;
    }

private:
    friend class detail::queue::lane_block;
    friend class detail::queue::wide_block;
    friend class queue_stream;
    DYNPAR_FUNCTION queue_event() {}

    bool alive_ = true;
    detail::queue::arena_index state_ = 0;  // of its latest record; 0: never recorded, and no stream waits for it
};

DYNPAR_FUNCTION inline status queue_stream::wait(const queue_event& event) {
#if DYNPAR_ON_DEVICE
    using namespace detail::queue;
    if (state_ == 0 || !event.alive_) return status::launch_failed;  // reported when it was made
    if (event.state_ == 0) return status::success;
    if (!give_to_stream(state_, stream_node::wait_event, event.state_, nullptr)) {
        return report_failure(operation::wait_event, status::out_of_memory, text{"", 0}, 0, shape());
    }
    return status::success;
#else
    static_cast<void>(event);
    return status::not_supported;
#endif
}

}  // namespace dynpar
