// Queue engine: streams and events of device code. A stream is a list of grids of which one runs at a time; an event is
// a mark in it. Owns stream_state, event_state and stream_node, all under run_control::stream_lock.
#pragma once

#include "grid_node.cuh"

#if DYNPAR_ON_DEVICE

namespace dynpar {
namespace detail {
namespace queue {

// Streams are for order, not for speed: one lock guards them all. The warp that completes a stream's grid begins the
// next.

struct event_state {
    unsigned complete;
    unsigned users;       // handles, marks and waiting streams that refer to it
    arena_index waiting;  // streams that wait for it, chained by next_waiting
};

struct stream_state {
    arena_index first, last;  // what was added to it and has not begun: stream_node each
    unsigned busy;            // a grid of it runs, or it waits for an event
    unsigned open;            // its handle exists
    arena_index next_waiting;
    unsigned number;  // in the trace
};

/// What a stream does next: run a grid, mark an event as complete, or wait for one.
struct stream_node {
    enum action_type : unsigned { run_grid, record_event, wait_event };
    arena_index next;
    unsigned action;
    arena_index event;
    unsigned unused;
    wide_task task;
};
inline constexpr unsigned stream_node_class = 1;
static_assert(sizeof(stream_node) <= unit_bytes << stream_node_class);

__device__ inline void drop_event(arena_index event) {
    event_state* state = at<event_state>(event);
    const unsigned users = load_relaxed(state->users) - 1;
    store_relaxed(state->users, users);
    if (users == 0) release(event, 0);
}

/// Under the lock: does what is next in the stream until a grid runs, an event is missing or nothing is left.
__device__ inline void advance_locked(arena_index stream) {
    store_relaxed(at<stream_state>(stream)->next_waiting, 0u);
    while (stream != 0) {  // this stream, then those that one of its events releases
        stream_state* state = at<stream_state>(stream);
        arena_index following = load_relaxed(state->next_waiting);
        store_relaxed(state->busy, 0u);
        while (load_relaxed(state->busy) == 0 && load_relaxed(state->first) != 0) {
            const arena_index place = load_relaxed(state->first);
            stream_node* node = at<stream_node>(place);
            store_relaxed(state->first, load_relaxed(node->next));
            if (load_relaxed(node->next) == 0) store_relaxed(state->last, 0u);
            const arena_index event = load_relaxed(node->event);
            switch (load_relaxed(node->action)) {
                case stream_node::run_grid: {
                    store_relaxed(state->busy, 1u);
                    wide_task task;
                    copy_fresh_task(task, node->task);
                    if (!push_wide(task)) stop_run(no_memory);
                    break;
                }
                case stream_node::record_event: {
                    store_relaxed(at<event_state>(event)->complete, 1u);
                    arena_index waiting = load_relaxed(at<event_state>(event)->waiting);
                    store_relaxed(at<event_state>(event)->waiting, 0u);
                    while (waiting != 0) {  // put them before what follows anyway
                        const arena_index next = load_relaxed(at<stream_state>(waiting)->next_waiting);
                        store_relaxed(at<stream_state>(waiting)->next_waiting, following);
                        following = waiting;
                        waiting = next;
                        drop_event(event);
                    }
                    drop_event(event);
                    break;
                }
                default: {
                    event_state* waited_for = at<event_state>(event);
                    if (load_relaxed(waited_for->complete) != 0) {
                        drop_event(event);
                    } else {
                        store_relaxed(state->busy, 1u);
                        store_relaxed(state->next_waiting, load_relaxed(waited_for->waiting));
                        store_relaxed(waited_for->waiting, stream);
                    }
                }
            }
            release(place, stream_node_class);
        }
        if (load_relaxed(state->busy) == 0 && load_relaxed(state->open) == 0) release(stream, 0);
        stream = following;
    }
}

__device__ DYNPAR_NOINLINE inline void advance_stream(arena_index stream) {
    with_lock(engine().control->stream_lock, [&] { advance_locked(stream); });
}

__device__ __noinline__ inline arena_index open_stream() {
    const arena_index place = allocate(0);
    if (place == 0) return 0;
    *at<stream_state>(place) = stream_state{0, 0, 0, 1, 0, 0};
#if !DYNPAR_NO_TRACE
    if (engine().trace != nullptr) at<stream_state>(place)->number = fetch_add_relaxed(engine().trace->streams, 1u);
#endif
    return place;
}

__device__ __noinline__ inline void close_stream(arena_index stream) {
    with_lock(engine().control->stream_lock, [&] {
        stream_state* state = at<stream_state>(stream);
        store_relaxed(state->open, 0u);
        if (load_relaxed(state->busy) == 0 && load_relaxed(state->first) == 0) release(stream, 0);
    });
}

/// Adds to the end of the stream. `event` gets one more user by it. False if there is no memory.
__device__ __noinline__ inline bool give_to_stream(arena_index stream, stream_node::action_type action,
                                                   arena_index event, const wide_task* task) {
    add_withheld_children();
    const arena_index place = allocate(stream_node_class);
    if (place == 0) return false;
    stream_node* node = at<stream_node>(place);
    node->next = 0;
    node->action = action;
    node->event = event;
    if (task != nullptr) copy_task(node->task, *task);
    with_lock(engine().control->stream_lock, [&] {
        if (event != 0) store_relaxed(at<event_state>(event)->users, load_relaxed(at<event_state>(event)->users) + 1);
        stream_state* state = at<stream_state>(stream);
        const arena_index last = load_relaxed(state->last);
        store_relaxed(last != 0 ? at<stream_node>(last)->next : state->first, place);
        store_relaxed(state->last, place);
        if (load_relaxed(state->busy) == 0) advance_locked(stream);
    });
    return true;
}

__device__ inline arena_index make_event_state() {
    const arena_index place = allocate(0);
    if (place != 0) *at<event_state>(place) = event_state{0, 1, 0};
    return place;
}

__device__ __noinline__ inline void forget_event(arena_index event) {
    with_lock(engine().control->stream_lock, [&] { drop_event(event); });
}

}  // namespace queue
}  // namespace detail
}  // namespace dynpar

#endif
