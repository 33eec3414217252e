// A model checker for programs of two or three threads: Relacy, as a table from addresses to its atomics.
//
// Words that are named are Relacy's atomics: a load finds any value that C++'s memory model lets it find, and at each
// access another thread may go on. All other memory in the region is plain: accesses of it by two threads that nothing
// orders are a data race, and a failure. Where the engine accesses plain memory as atomics, each load must still be
// ordered after the stores, but a store need not be ordered after the loads. Memory outside the region belongs to one
// thread and is not looked at.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace model_checked {

using u64 = unsigned long long;

enum class order : int { relaxed, acquire, release, acq_rel };

// ---- What the engine's accesses become. A word has 4 or 8 bytes; other sizes only outside the region.

u64 load_bits(const void* place, std::size_t bytes, order how);
void store_bits(void* place, std::size_t bytes, u64 value, order how);
/// These return the value found.
u64 fetch_add_bits(void* place, std::size_t bytes, u64 change, order how);
u64 exchange_bits(void* place, std::size_t bytes, u64 value, order how);
u64 compare_exchange_bits(void* place, std::size_t bytes, u64 expected, u64 value, order how);
void fence();
/// Orders nothing where the threads are of several blocks.
void fence_in_block();
/// Of plain memory, by a function that is compiled without checks.
void reads(const void* place, std::size_t bytes);

// ---- A program

struct program {
    unsigned threads = 2;
    bool one_block = false;                 ///< all threads are of one block of threads; else each is one by itself
    std::function<void()> before;           ///< for each run: fills the region, names words
    std::function<void(unsigned)> body;     ///< of thread 0, 1, ...
    std::function<void()> after;            ///< when all threads have ended
    std::function<void(unsigned)> goes_on;  ///< told whenever another thread may go on: which one does
};

/// In `before`: where the region is, and which of its words are atomics.
void set_region(void* begin, std::size_t bytes);
void name_word(const void* place, std::size_t bytes, const char* name);
template <class T>
void name_word(const T& place, const char* name) {
    name_word(&place, sizeof(T), name);
}

/// In a program: fails the run.
void require(bool holds, const char* promise);
/// In a program, in a loop that waits for another thread: lets others go on first.
void wait_a_little();

struct outcome {
    std::string failure;  ///< empty: no run has failed
    u64 runs = 0;
};
/// So many runs, each drawn.
outcome draw_runs(const program& what, u64 runs);
/// All runs with so many switches at most, other than where a thread waits or ends.
outcome all_runs(const program& what, unsigned switches);

}  // namespace model_checked
