// What a call that can fail returns to device code. Device code never throws; the host learns of failures from the
// report.
#pragma once

#include "platform.hpp"

namespace dynpar {

/// What `launch`, `then`, `wait` and the stream and event calls of a block return.
/// Every value but `success` is also written to the run's report, so a status that the kernel ignores still reaches the
/// host.
enum class status : unsigned char {
    success,                    ///< the call did what it says
    invalid_configuration,      ///< no grid can have that shape: see `check(shape)`
    invalid_pointer,            ///< an argument points to memory of the launching thread or block
    sync_depth_exceeded,        ///< `wait()` nested deeper than `limits::sync_depth`
    pending_launches_exceeded,  ///< more launches waiting than `limits::pending_launches`
    nesting_depth_exceeded,     ///< a child deeper than `limits::nesting_depth`
    shared_memory_exceeded,     ///< `shared<T>(n)` asks for more than the shape's `shared_bytes`
    out_of_memory,              ///< no memory for a launch or for `scratch<T>(n)`
    not_supported,              ///< this engine, or this GPU's device runtime, cannot do it
    launch_failed,  ///< no such stream or event; or the device runtime refused: the report has its error code
};

/// The name of a status, as written in code. Also callable on the device.
DYNPAR_FUNCTION constexpr const char* to_string(status s) {
    switch (s) {
        case status::success: return "success";
        case status::invalid_configuration: return "invalid_configuration";
        case status::invalid_pointer: return "invalid_pointer";
        case status::sync_depth_exceeded: return "sync_depth_exceeded";
        case status::pending_launches_exceeded: return "pending_launches_exceeded";
        case status::nesting_depth_exceeded: return "nesting_depth_exceeded";
        case status::shared_memory_exceeded: return "shared_memory_exceeded";
        case status::out_of_memory: return "out_of_memory";
        case status::not_supported: return "not_supported";
        case status::launch_failed: return "launch_failed";
    }
    return "unknown status";
}

/// The calls of a block that can fail.
enum class operation : unsigned char {
    launch,        ///< `Block::launch`
    then,          ///< `Block::then`
    wait,          ///< `Block::wait`
    shared,        ///< `Block::shared`
    scratch,       ///< `Block::scratch`
    make_stream,   ///< `Block::make_stream`
    make_event,    ///< `Block::make_event`
    record_event,  ///< `record` of an event
    wait_event,    ///< `wait` of a stream
    reduce         ///< `add` to a reducer
};

/// The name of a block's call, as written in code. Also callable on the device.
DYNPAR_FUNCTION constexpr const char* to_string(operation o) {
    switch (o) {
        case operation::launch: return "launch";
        case operation::then: return "then";
        case operation::wait: return "wait";
        case operation::shared: return "shared";
        case operation::scratch: return "scratch";
        case operation::make_stream: return "make_stream";
        case operation::make_event: return "make_event";
        case operation::record_event: return "event.record";
        case operation::wait_event: return "stream.wait";
        case operation::reduce: return "reducer.add";
    }
    return "unknown operation";
}

}  // namespace dynpar
