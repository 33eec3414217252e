// What the host engine keeps of a grid, of a block that runs, of a stream and of an event.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "../kernel.hpp"
#include "../shape.hpp"
#include "host_fiber.hpp"

namespace dynpar {

class host_block;

namespace detail {

class host_scheduler;
struct host_block_state;
struct host_stream_state;

/// A kernel together with the types of its arguments, for code that no longer knows these types.
struct host_kernel {
    text name;
    unsigned most_threads;                                       ///< of a block
    void (*run_thread)(const void* closure, host_block& block);  ///< runs one thread
};

/// A grid from its launch to its completion. The kernel object and its arguments (`closure`) lie behind it in memory.
struct host_grid {
    const host_kernel* kernel = nullptr;
    const void* closure = nullptr;
    std::size_t bytes = 0;  // of this record and its closure
    dynpar::shape shape;
    unsigned threads = 0;  // of a block, as the engine chose it
    unsigned shared_bytes = 0;
    unsigned blocks = 0;
    unsigned depth = 0;
    std::uint32_t id = 0xffffffff;  // in the trace

    unsigned next_block = 0;       // blocks before this one have begun
    unsigned running_blocks = 0;   // begun and not returned
    std::uint64_t incomplete = 0;  // children and continuations that are not complete

    // The grid whose completion waits for this one; of a continuation, the grid that it continues.
    host_grid* parent = nullptr;
    host_block_state* launcher = nullptr;       // the block whose wait() waits for this grid
    std::shared_ptr<host_stream_state> stream;  // the stream that this grid holds up

    host_grid* first_continuation = nullptr;  // given to then() and not begun
    host_grid* last_continuation = nullptr;
    host_grid* next_continuation = nullptr;  // link of the list above

    struct scratch_memory {
        scratch_memory* next;
        std::size_t bytes;  // with this header
    };
    scratch_memory* scratch = nullptr;

    host_grid* next_ready = nullptr;  // link of its frame's list, until its last block begins

    host_grid* previous_live = nullptr;  // links of the scheduler's list of all grids
    host_grid* next_live = nullptr;

    bool all_blocks_returned() const { return next_block == blocks && running_blocks == 0; }
};

/// A grid in the trace while the run is on; the kernel's name is spelled out at the end.
struct host_trace_record {
    const host_kernel* kernel;
    dynpar::shape shape;
    std::uint32_t parent;
    std::uint32_t continues;
    std::uint32_t stream;
    std::uint32_t depth;
    std::uint64_t launched;
    std::uint64_t begun;
    std::uint64_t ended;
    dynpar::status status;
};

/// Where the threads of a warp hand each other values.
struct host_meeting {
    unsigned rounds = 0;    // that are complete
    std::size_t bytes = 0;  // of a thread's value, in this round
    // By turns: when a round is complete, some threads begin the next before others have looked.
    std::vector<std::byte> values[2];
    carrier_list here;
};

/// A block from its begin until its threads have returned and its children are complete.
struct host_block_state {
    host_scheduler* scheduler = nullptr;
    host_grid* grid = nullptr;
    unsigned rank = 0;
    unsigned next_thread = 0;   // threads before this one have begun
    unsigned live_threads = 0;  // not returned
    unsigned failed_waits = 0;  // collective calls that were refused: reported once, not once a thread
    unsigned failed_shared = 0;
    bool waiting = false;          // in wait(), until the children are complete
    std::uint64_t incomplete = 0;  // children that are not complete
    carrier_list at_sync;
    carrier_list at_wait;
    std::unique_ptr<host_meeting[]> meetings;  // of its warps, from the first collective call on
    carrier_list met;                          // those whose meeting is over
    std::unique_ptr<std::byte[]> shared;
    carrier* running = nullptr;  // the carrier whose thread is running
};

/// What a simulated thread remembers of its own collective calls.
struct host_thread_memory {
    std::size_t shared_used = 0;  // bytes of the block's shared memory that its calls of shared() have passed
    unsigned refused_waits = 0;
    unsigned refused_shared = 0;
};

/// A record of an event: complete once the work before it in its stream is.
struct host_event_record {
    bool complete = false;
    std::vector<std::shared_ptr<host_stream_state>> waiting;  // streams held up by it
};

/// A stream of a block: what was given to it and has not begun, in order.
struct host_stream_state {
    struct item {
        enum class kind { grid, record, wait } what;
        host_grid* grid;                            // kind::grid
        std::shared_ptr<host_event_record> record;  // kind::record, kind::wait
    };
    /// A queue. Not std::deque, which is long, and each of nvcc's passes reads it.
    class item_list {
    public:
        bool empty() const { return first_ == items_.size(); }
        const item& front() const { return items_[first_]; }
        void push_back(item i) { items_.push_back(std::move(i)); }
        item pop_front() {
            item front = std::move(items_[first_++]);
            if (first_ > items_.size() / 2) {  // seldom enough
                items_.erase(items_.begin(), items_.begin() + static_cast<std::ptrdiff_t>(first_));
                first_ = 0;
            }
            return front;
        }
        const item* begin() const { return items_.data() + first_; }
        const item* end() const { return items_.data() + items_.size(); }

    private:
        std::vector<item> items_;
        std::size_t first_ = 0;
    };
    item_list items;
    std::uint32_t number = 0;  // in the run
    bool busy = false;         // a grid of this stream is not complete
};

}  // namespace detail
}  // namespace dynpar
