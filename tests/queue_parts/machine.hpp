// A GPU whose warps are threads of the CPU, so that the parts of the queue engine run at the same time, in any order,
// under ThreadSanitizer.
//
// A warp's 32 lanes take turns on its thread: each goes on until the next thing that lanes do together. Device memory
// and shared memory are the process's. Tasks are copied as plain memory, so an order that is missing is a data race.
//
// ThreadSanitizer knows nothing of fences. It is told what one orders: whatever this thread has done before it belongs
// to every store that comes after it, and what was stored where this thread has loaded before it is known after it. A
// fence among the threads of a block does so for words in shared memory only.
//
// What that does not find: reorderings themselves (loads see the newest value, as on the CPU that runs this), what
// __syncwarp() orders among lanes, and a store that comes between another thread's load and its note of that.
#pragma once

#include <dynpar/detail/queue/persistent_grid.cuh>

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

namespace dynpar::detail::queue::tuning {}

namespace queue_parts {

/// The engine's parts, and its numbers.
namespace queue {
using namespace dynpar::detail::queue;
using namespace dynpar::detail::queue::tuning;
}  // namespace queue
using u64 = unsigned long long;

struct machine_size {
    unsigned worker_blocks = 1;
    unsigned warps = 1;  // of a worker block
    unsigned cells = 16;
    unsigned arena_units = 1u << 14;
    bool begins_with_memory = false;  // in every warp's cache
};

/// An engine's memory, and worker blocks that run on it.
class machine {
public:
    explicit machine(const machine_size& size);
    ~machine();
    machine(const machine&) = delete;
    machine& operator=(const machine&) = delete;

    queue::engine_view view{};
    queue::run_control& control() { return *view.control; }
    const machine_size& size() const { return size_; }

    /// In every lane of every warp; returns when all have ended. Shared memory begins as that of a worker block does.
    void run(const std::function<void()>& thread_function);
    /// The same where shared memory is zero: for what sets it up itself. Any host thread, several at a time.
    void run_grid(const std::function<void()>& thread_function);
    /// A piece for what a test puts into the arena by itself, before any run.
    queue::arena_index take(unsigned units);

private:
    static constexpr unsigned shared_for_kernels = 4096;
    void run_blocks(const std::function<void()>& thread_function, const std::function<void(unsigned char*)>& set_up);

    struct memory;
    machine_size size_;
    std::unique_ptr<memory> memory_;
};

/// Data races that ThreadSanitizer has reported so far; 0 without it.
unsigned races();

/// Says at its end whether there has been a race since it began.
struct no_races {
    no_races() : before_(races()) {}
    bool hold() const { return races() == before_; }

private:
    unsigned before_;
};

/// What a test counts without an order, so that it orders nothing for what it tests.
template <class T>
class counter {
public:
    T add(T n = 1) { return value_.fetch_add(n, std::memory_order_relaxed); }
    T get() const { return value_.load(std::memory_order_relaxed); }
    void set(T value) { value_.store(value, std::memory_order_relaxed); }

private:
    std::atomic<T> value_{0};
};

/// Small and fast, one for each thread.
class random_numbers {
public:
    explicit random_numbers(u64 seed) : state_(seed * 0x9e3779b97f4a7c15ull + 1) {}
    unsigned below(unsigned bound) {
        state_ ^= state_ << 13;
        state_ ^= state_ >> 7;
        state_ ^= state_ << 17;
        return static_cast<unsigned>((state_ >> 33) % bound);
    }

private:
    u64 state_;
};

}  // namespace queue_parts
