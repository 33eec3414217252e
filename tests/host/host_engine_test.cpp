// What the host engine promises beyond the contract: order, deadlocks, exceptions, sizes, usable after every failure.
#include <dynpar/dynpar.hpp>
#include <dynpar/trace_tree.hpp>

#include <doctest/doctest.h>

#include <sys/mman.h>

#include <numeric>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using dynpar::host_engine;
using dynpar::host_options;
using dynpar::shape;

struct note {
    template <class Block>
    void operator()(Block& block, std::vector<int>* order, int number) const {
        if (block.thread_rank() == 0) order->push_back(number);
    }
};

struct launch_in_order {
    template <class Block>
    void operator()(Block& block, std::vector<int>* order) const {
        order->push_back(static_cast<int>(100 * block.block_rank()));
        for (int i = 1; i <= 3; ++i)
            block.launch(note{}, shape(1, 2), order, static_cast<int>(100 * block.block_rank()) + i);
    }
};

TEST_CASE("grids run in the order of their launches, blocks in the order of their ranks, every time") {
    for (int repeat = 0; repeat < 3; ++repeat) {
        std::vector<int> order;
        host_engine().run(launch_in_order{}, shape(2, 1), &order);
        CHECK(order == std::vector<int>{0, 100, 1, 2, 3, 101, 102, 103});
    }
}

struct wait_for_child {
    template <class Block>
    void operator()(Block& block, std::vector<int>* order) const {
        const int me = static_cast<int>(100 * block.block_rank());
        if (block.thread_rank() == 0) block.launch(note{}, shape(1, 2), order, me + 1);
        block.wait();
        if (block.thread_rank() == 0) order->push_back(me + 2);
    }
};

TEST_CASE("a block that waits is served before other blocks begin") {
    std::vector<int> order;
    host_engine().run(wait_for_child{}, shape(3, 4), &order);
    CHECK(order == std::vector<int>{1, 2, 101, 102, 201, 202});
}

/// What an exception of this kind says, which the run of a kernel throws; nothing, if it throws none.
template <class Error, class Kernel, class... Args>
std::string message_of(host_engine& engine, const Kernel& kernel, const shape& s, Args... args) {
    try {
        engine.run(kernel, s, args...);
    } catch (const Error& error) {
        return error.what();
    }
    return {};
}

// ---- deadlock

/// On the stack of a simulated thread: counts those that were unwound.
struct counts_destruction {
    int* destroyed;
    ~counts_destruction() { ++*destroyed; }
};

struct half_sync_half_wait {
    static constexpr const char* name = "half_sync_half_wait";
    template <class Block>
    void operator()(Block& block, int* destroyed) const {
        const counts_destruction on_every_stack{destroyed};
        if (block.thread_rank() < 3) {
            block.sync();
        } else {
            block.wait();
        }
    }
};

TEST_CASE("a deadlock is reported with what waits for what, threads are unwound, and the engine stays usable") {
    host_engine engine;
    int destroyed = 0;
    CHECK(message_of<dynpar::deadlock_error>(engine, half_sync_half_wait{}, shape(1, 8), &destroyed) ==
          "dynpar: deadlock on the host engine: in block 0 of half_sync_half_wait <<<1, 8>>> at depth 0, 3 threads are "
          "at sync() "
          "and 5 at wait(); every thread of the block that has not returned must reach the same one");
    CHECK(destroyed == 8);
    std::vector<int> order;
    engine.run(note{}, shape(1, 1), &order, 7);
    CHECK(order == std::vector<int>{7});
}

struct some_vote {
    static constexpr const char* name = "some_vote";
    template <class Block>
    void operator()(Block& block, int* destroyed) const {
        const counts_destruction on_every_stack{destroyed};
        const auto warp = dynpar::this_warp(block);
        if (!dynpar::all(warp, true)) return;
        if (block.thread_rank() == 35) return;  // and so its warp never meets again
        dynpar::any(warp, true);
        block.sync();
    }
};

TEST_CASE("a collective call that not all threads of the warp make is a deadlock that says so") {
    host_engine engine;
    int destroyed = 0;
    CHECK(message_of<dynpar::deadlock_error>(engine, some_vote{}, shape(1, 40), &destroyed) ==
          "dynpar: deadlock on the host engine: in block 0 of some_vote <<<1, 40>>> at depth 0, 7 threads are at a "
          "collective call of their warp, 32 threads are at sync() and 0 at wait(); every thread of the block that has "
          "not returned must reach the same one");
    CHECK(destroyed == 40);
    std::vector<int> order;
    engine.run(wait_for_child{}, shape(1, 4), &order);
    CHECK(order == std::vector<int>{1, 2});
}

struct count_iteration {
    int* count;
    void operator()(unsigned) const { ++*count; }
};
struct some_loops {
    static constexpr const char* name = "some_loops";
    bool has_value;
    template <class Block>
    void operator()(Block& block, int* destroyed) const {
        const counts_destruction on_every_stack{destroyed};
        int count = 0;
        if (block.thread_rank() == 5) return;  // and so its warp never meets
        if (has_value) {
            dynpar::nested_reduce(
                block, 3, [](unsigned) { return true; }, dynpar::whether_any{});
        } else {
            dynpar::nested_for(block, 3, count_iteration{&count});
        }
    }
};

TEST_CASE("a nested loop that not all threads of the warp begin is a deadlock, although each thread runs its own") {
    host_engine engine;
    for (const bool has_value : {false, true}) {
        int destroyed = 0;
        CHECK(message_of<dynpar::deadlock_error>(engine, some_loops{has_value}, shape(1, 8), &destroyed) ==
              "dynpar: deadlock on the host engine: in block 0 of some_loops <<<1, 8>>> at depth 0, 7 threads are at a "
              "collective call of their warp, 0 threads are at sync() and 0 at wait(); every thread of the block that "
              "has not returned must reach the same one");
        CHECK(destroyed == 8);
    }
}

struct different_votes {
    template <class Block>
    void operator()(Block& block) const {
        const auto warp = dynpar::this_warp(block);
        if (block.thread_rank() == 0) {
            dynpar::reduce(warp, 1.0, dynpar::plus{});
        } else {
            dynpar::reduce(warp, 1, dynpar::plus{});
        }
    }
};

TEST_CASE("threads of a warp that make different collective calls are a fault that says so") {
    host_engine engine;
    CHECK(message_of<dynpar::kernel_fault>(engine, different_votes{}, shape(1, 4))
              .find("threads of a warp are at different collective calls: one hands over 8 bytes, another 4") !=
          std::string::npos);
}

struct deadlock_below {
    template <class Block>
    void operator()(Block& block, int* destroyed) const {
        if (block.thread_rank() == 0) {
            auto stream = block.make_stream();
            auto event = block.make_event();
            auto other = block.make_stream();
            block.launch(stream, half_sync_half_wait{}, shape(1, 8), destroyed);
            block.launch(stream, half_sync_half_wait{}, shape(1, 8), destroyed);
            event.record(stream);
            other.wait(event);
            block.launch(other, half_sync_half_wait{}, shape(1, 8), destroyed);
        }
        block.wait();
    }
};

TEST_CASE("a deadlock below a waiting block leaves nothing behind, streams and events included") {
    host_engine engine;
    int destroyed = 0;
    CHECK_THROWS_AS(engine.run(deadlock_below{}, shape(2, 4), &destroyed), dynpar::deadlock_error);
    CHECK(destroyed == 8);
    CHECK_THROWS_AS(engine.run(deadlock_below{}, shape(2, 4), &destroyed), dynpar::deadlock_error);
}

// ---- exceptions

struct throw_number {
    static constexpr const char* name = "throw_number";
    template <class Block>
    void operator()(Block& block, unsigned who) const {
        block.sync();
        if (block.thread_rank() == who) throw 42;
        block.sync();
    }
};

struct parent_of_thrower {
    template <class Block>
    void operator()(Block& block) const {
        if (block.thread_rank() == 0) block.launch(throw_number{}, shape(2, 16), 5u);
        block.wait();
    }
};

TEST_CASE("an exception in a nested kernel reaches the caller, whatever it is, and the engine stays usable") {
    host_engine engine;
    for (int repeat = 0; repeat < 2; ++repeat) {
        std::string message;
        int inner = 0;
        try {
            engine.run(parent_of_thrower{}, shape(1, 8));
        } catch (const dynpar::kernel_fault& fault) {
            message = fault.what();
            CHECK(fault.code() == 0);
            try {
                std::rethrow_if_nested(fault);
            } catch (int number) {
                inner = number;
            }
        }
        CHECK(message ==
              "dynpar: block 0 of throw_number <<<2, 16>>> at depth 1, thread 5, threw something that is not a "
              "std::exception");
        CHECK(inner == 42);
    }
    std::vector<int> order;
    engine.run(note{}, shape(1, 1), &order, 7);
    CHECK(order == std::vector<int>{7});
}

struct evil {
    static constexpr const char* name = "evil\x1b[2Jname";
    int what = 0;

    template <class Block>
    void operator()(Block& block) const {
        if (what == 0) throw std::runtime_error("red \x1b[31m\xc2\x9b");
        if (what == 1 && block.thread_rank() == 0) block.sync();
        if (what == 1) block.wait();
        if (what == 2) block.launch(*this, shape(1, 2000));
    }
};

TEST_CASE("control characters in a kernel's name or exception do not reach the terminal") {
    host_engine engine;
    const auto error_of = [&](int what) {
        try {
            engine.run(evil{what}, shape(1, 2));
        } catch (const std::exception& e) {
            return std::string(e.what());
        }
        return std::string("no error");
    };
    CHECK(error_of(0) ==
          "dynpar: block 0 of evil\\x1b[2Jname <<<1, 2>>> at depth 0, thread 0, threw red "
          "\\x1b[31m\\xc2\\x9b");
    for (const int what : {0, 1, 2}) {
        const std::string error = error_of(what);
        CAPTURE(error);
        CHECK(error.find("evil\\x1b[2Jname <<<1, 2") != std::string::npos);
        CHECK(error.find('\x1b') == std::string::npos);
    }
}

struct swallow_everything {
    template <class Block>
    void operator()(Block& block) const {
        try {
            if (block.thread_rank() == 1) throw std::runtime_error("first");
            block.sync();
        } catch (...) {
            if (block.thread_rank() == 1) throw;
        }
    }
};

TEST_CASE("a kernel that swallows every exception cannot keep a failed run from ending") {
    CHECK_THROWS_AS(host_engine().run(swallow_everything{}, shape(4, 64)), dynpar::kernel_fault);
}

struct run_again {
    template <class Block>
    void operator()(Block&, host_engine* engine) const {
        engine->run(note{}, shape(1, 1), static_cast<std::vector<int>*>(nullptr), 1);
    }
};

TEST_CASE("a run inside a run is refused") {
    host_engine engine;
    CHECK_THROWS_WITH_AS(engine.run(run_again{}, shape(1, 1), &engine), doctest::Contains("is running"),
                         dynpar::kernel_fault);
    std::vector<int> order;
    engine.run(note{}, shape(1, 1), &order, 1);
    CHECK(order.size() == 1);
}

// ---- sizes

struct fan {
    template <class Block>
    void operator()(Block& block, unsigned children, unsigned* counter) const {
        ++*counter;
        for (unsigned i = 0; i < children; ++i) block.launch(*this, shape(1, 1), 0u, counter);
    }
};

TEST_CASE("a million grids may be pending at once") {
    unsigned counter = 0;
    const dynpar::report report = host_engine().run(fan{}, shape(1, 1), 1000000u, &counter);
    CHECK(counter == 1000001);
    CHECK(report.grids == 1000001);
}

struct chain {
    template <class Block>
    void operator()(Block& block, unsigned more, unsigned* counter) const {
        ++*counter;
        if (more > 0) block.launch(*this, shape(1, 1), more - 1, counter);
    }
};

TEST_CASE("grids may nest a million deep, and complete, without the C++ stack") {
    unsigned counter = 0;
    const dynpar::report report = host_engine().run(chain{}, shape(1, 1), 1000000u, &counter);
    CHECK(counter == 1000001);
    CHECK(report.deepest_nesting == 1000000);
}

struct many_records {
    template <class Block>
    void operator()(Block& block, unsigned count, unsigned* counter) const {
        auto previous = block.make_stream();
        block.launch(previous, chain{}, shape(1, 1), 0u, counter);
        for (unsigned i = 0; i < count; ++i) {  // nothing but events between the first grid and the last
            auto event = block.make_event();
            event.record(previous);
            auto next = block.make_stream();
            next.wait(event);
            previous = std::move(next);
        }
        block.launch(previous, chain{}, shape(1, 1), 0u, counter);
    }
};

TEST_CASE("a chain of a hundred thousand streams and events needs no deep C++ stack") {
    unsigned counter = 0;
    host_engine().run(many_records{}, shape(1, 1), 100000u, &counter);
    CHECK(counter == 2);
}

struct wait_everywhere {
    template <class Block>
    void operator()(Block& block, unsigned levels, unsigned* counter) const {
        if (block.thread_rank() == 0) {
            ++*counter;
            if (levels > 0) block.launch(*this, shape(2, 64), levels - 1, counter);
        }
        block.wait();
    }
};

TEST_CASE("as many threads are suspended as wait() is nested, not as many as the tree is wide") {
    unsigned counter = 0;
    host_options options;
    options.fiber_stack_bytes = 64 * 1024;
    // 2^13 blocks of 64 threads wait; with a stack for each at once this would be 34 GiB.
    host_engine(options).run(wait_everywhere{}, shape(1, 64), 12u, &counter);
    CHECK(counter == 8191);
}

struct all_wait {
    template <class Block>
    void operator()(Block& block) const {
        block.sync();
    }
};

TEST_CASE("memory that was a stack of an engine's threads is anybody's when the engine is gone") {
    // AddressSanitizer's marks on it, for one, must not stay.
    for (const std::size_t bytes : {std::size_t{64} << 10, std::size_t{256} << 10, std::size_t{8} << 20}) {
        {
            host_options options;
            options.fiber_stack_bytes = bytes;
            host_engine(options).run(all_wait{}, shape(1, 100));
            host_engine(options).run(wait_everywhere{}, shape(1, 64), 3u, std::vector<unsigned>(1).data());
        }
        std::vector<char*> memory;
        for (int i = 0; i < 200; ++i) {
            void* const place =
                mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
            REQUIRE(place != MAP_FAILED);
            memory.push_back(static_cast<char*>(place));
            for (std::size_t byte = 0; byte < bytes; byte += byte < bytes - (64 << 10) ? 4096 : 8)
                memory.back()[byte] = 1;
        }
        for (char* place : memory) CHECK(munmap(place, bytes) == 0);
    }
}

TEST_CASE("a stack that cannot be had is an error with advice, and the engine stays usable") {
    host_options options;
    options.fiber_stack_bytes = std::size_t{1} << 45;  // 32 TiB: the address space has room for a few
    host_engine engine(options);
    CHECK_THROWS_WITH(engine.run(all_wait{}, shape(1, 1024)), doctest::Contains("vm.max_map_count"));
    std::vector<int> order;
    engine.run(note{}, shape(1, 1), &order, 1);
    CHECK(order.size() == 1);
}

// ---- the trace as text

struct uneven {
    static constexpr const char* name = "uneven";
    template <class Block>
    void operator()(Block& block, int n) const {
        if (block.thread_rank() != 0) return;
        for (int i = 0; i < n; ++i) block.launch(*this, shape(1, 2), i / 2);
        if (n == 3) block.then(*this, shape(1, dynpar::at_most(64)), 0);
    }
};

TEST_CASE("the tree puts siblings that are alike all the way down on one line") {
    host_options options;
    options.trace_grids = 100;
    std::ostringstream out;
    dynpar::print_tree(out, host_engine(options).run(uneven{}, shape(1, 4), 3).trace);
    CHECK(out.str() ==
          "uneven <<<1, 4>>>\n"
          "├─ uneven <<<1, 2>>>  x 2\n"
          "├─ uneven <<<1, 2>>>\n"
          "│  └─ uneven <<<1, 2>>>\n"
          "└─ then uneven <<<1, at most 64>>>\n");
}

struct fails_below {
    template <class Block>
    void operator()(Block& block, bool is_root) const {
        dynpar::any(dynpar::this_warp(block), true);
        if (!is_root) throw std::runtime_error("below");
        if (block.thread_rank() == 0) block.launch(*this, shape(1, 2), false);
    }
};

TEST_CASE("a run that fails while a block that has returned has children leaves nothing of its collective calls") {
    // Seen by LeakSanitizer.
    CHECK_THROWS_AS(host_engine().run(fails_below{}, shape(10, 2), true), dynpar::kernel_fault);
}

struct wrong_calls {
    template <class Block>
    void operator()(Block& block, unsigned what) const {
        const auto all = dynpar::this_block(block, nullptr);
        const auto warp = dynpar::this_warp(block);
        if (what == 0) dynpar::shuffle(warp, 1, warp.num_threads());
        if (what == 1) dynpar::broadcast(all, 1, block.num_threads());
        if (what == 2) dynpar::count(all, true);
    }
};

TEST_CASE("a collective call that would read what is not there says so") {
    host_engine engine;
    const auto what_of = [&](unsigned threads, unsigned what) {
        return message_of<dynpar::kernel_fault>(engine, wrong_calls{}, shape(1, threads), what);
    };
    CHECK(what_of(5, 0).find("asks for the value of thread 5 of 5") != std::string::npos);
    CHECK(what_of(5, 1).find("asks for the value of thread 5 of 5") != std::string::npos);
    CHECK(what_of(33, 2).find("has no shared memory: this_block(block, nullptr)") != std::string::npos);
    CHECK(what_of(32, 2).empty());
}

struct pass_scratch {
    template <class Block>
    void operator()(Block& block) const {
        block.template shared<char>(16);
        for (int i = 0; i < 200; ++i) {
            int* memory = block.template scratch<int>(4);
            block.launch(note_pointer{}, shape(1, 1), memory);
        }
    }
    struct note_pointer {
        template <class Block>
        void operator()(Block&, int* memory) const {
            *memory = 1;
        }
    };
};

TEST_CASE("what lies behind the shared memory that a narrow block has is not its shared memory") {
    const dynpar::report report =
        host_engine().run(pass_scratch{}, shape(1, dynpar::at_most(1024), dynpar::bytes_per_thread(16)));
    CHECK(report.grids == 201);
}

TEST_CASE("a moldable shape of no threads is refused, and can be printed") {
    const shape none(1, dynpar::at_most(0), dynpar::bytes_per_thread(8));
    CHECK(to_string(none) == "<<<1, at most 0, 0 bytes a thread>>>");
    CHECK(host_engine().try_run(fails_below{}, none, true).failures.at(0).status ==
          dynpar::status::invalid_configuration);
}

TEST_CASE("shape_for refuses what has no numbers, and takes no block wider than there can be") {
    const host_engine engine;
    CHECK(check(dynpar::shape_for(engine, 0, dynpar::at_most(8))) == dynpar::status::invalid_configuration);
    CHECK(check(dynpar::shape_for(engine, 1ull << 32, dynpar::at_most(8))) == dynpar::status::invalid_configuration);
    CHECK(check(dynpar::shape_for(engine, (1ull << 31) - 1, dynpar::at_most(8))) == dynpar::status::success);
    host_options options;
    options.moldable_threads = 5000;
    CHECK(check(dynpar::shape_for(host_engine(options), 100000, dynpar::at_most(2000))) == dynpar::status::success);
}

// ---- the text of a report

dynpar::failure lost(unsigned depth, std::uint64_t count) {
    dynpar::failure f;
    f.kernel = "level";
    f.depth = depth;
    f.count = count;
    f.status = dynpar::status::out_of_memory;
    return f;
}

TEST_CASE("the text of a report begins with the greatest losses, and is short however many kinds there are") {
    dynpar::report report;
    report.engine = "host";
    const auto add = [&report](const dynpar::failure& f) {
        report.failures.push_back(f);
        report.failed_calls += f.count;
        if (f.operation == dynpar::operation::launch) report.lost_launches += f.count;
    };
    dynpar::failure wait = lost(3, 1000000);
    wait.operation = dynpar::operation::wait;
    wait.status = dynpar::status::not_supported;
    add(wait);  // no launch is lost with it
    for (unsigned depth = 1; depth <= 50; ++depth) add(lost(depth, 10 * depth));
    const std::string text = describe_failures(report);
    CAPTURE(text);
    std::istringstream lines(text);
    std::string line;
    std::getline(lines, line);
    CHECK(line.find("12750 launches lost, 1000000 other calls failed") != std::string::npos);
    for (unsigned depth = 50; depth > 42; --depth) {
        std::getline(lines, line);
        CHECK(line == "  " + std::to_string(10 * depth) + " x launch of level <<<1, 1>>> at depth " +
                          std::to_string(depth) + ": out_of_memory");
    }
    std::getline(lines, line);
    CHECK(line == "  and 43 more kinds of failure, of 1009030 calls");
    // What to do is said of all of them.
    std::getline(lines, line);
    CHECK(line.find("  What to do: raise limits::heap_bytes") == 0);
    std::getline(lines, line);
    CHECK(line.find("  What to do: run the kernel on another engine") == 0);
    CHECK(!std::getline(lines, line));
    CHECK(report.failures.size() == 51);
    CHECK(report.failures[1].depth == 1);

    ++report.failed_calls;  // the engine had no room for its kind
    CHECK(describe_failures(report).find("\n  and at least 44 more kinds of failure, of 1009031 calls\n") !=
          std::string::npos);
}

TEST_CASE("a last kind of failure has a line of its own, and of what has none the calls are counted") {
    dynpar::report report;
    for (unsigned depth = 1; depth <= 9; ++depth) report.failures.push_back(lost(depth, 1));
    report.failed_calls = report.lost_launches = 9;
    CHECK(describe_failures(report).find("at depth 9: out_of_memory\n  What to do") != std::string::npos);
    CHECK(describe_failures(report).find("more kind") == std::string::npos);
    report.failures.resize(1);
    CHECK(describe_failures(report).find("\n  and 8 more of further kinds\n") != std::string::npos);
}

// ---- names

template <class T>
struct outer {
    template <int N>
    struct named {
        static constexpr const char* name = "sum";
        template <class Block>
        void operator()(Block& block) const {
            if constexpr (N > 0) block.launch(named<N - 1>{}, shape(1, 1));
        }
    };
    struct plain {
        static constexpr const char* name = "plain";
        template <class Block>
        void operator()(Block&) const {}
    };
};

// Kernels with data and functions of their own that are called `name` and `max_threads`.
template <class... Members>
struct kernel_with : Members... {
    template <class Block>
    void operator()(Block&) const {}
};
struct own_data {
    int name = 0;
    unsigned max_threads = 8;
};
struct own_bits {
    unsigned name : 4, max_threads : 4;
};
struct own_pointer {
    const char* name = nullptr;
};
struct own_functions {
    static const char* name() { return "name"; }
    unsigned max_threads() const { return 8; }
};
struct own_variables {
    static inline std::string name = "name";
    static inline unsigned max_threads = 8;
};
struct own_types {
    struct name {};
    enum class max_threads {};
};
struct named_by_array {
    static constexpr char name[] = "by_array";
    static const unsigned max_threads = 8;
};
struct bounded_by_enumeration {
    enum { max_threads = 8 };
};

TEST_CASE("only constants give a kernel a name and a bound: other members may be called as these are") {
    const auto name = [](dynpar::text text) { return std::string(text.begin, text.length); };
    CHECK(name(dynpar::kernel_name<kernel_with<own_data>>()).find("own_data") != std::string::npos);
    CHECK(name(dynpar::kernel_name<kernel_with<own_bits>>()).find("own_bits") != std::string::npos);
    CHECK(name(dynpar::kernel_name<kernel_with<own_pointer>>()).find("own_pointer") != std::string::npos);
    CHECK(name(dynpar::kernel_name<kernel_with<own_functions>>()).find("own_functions") != std::string::npos);
    CHECK(name(dynpar::kernel_name<kernel_with<own_variables>>()).find("own_variables") != std::string::npos);
    CHECK(name(dynpar::kernel_name<kernel_with<own_types>>()).find("own_types") != std::string::npos);
    CHECK(name(dynpar::kernel_name<named_by_array>()) == "by_array");
    CHECK(dynpar::most_threads<own_data>() == 1024);
    CHECK(dynpar::most_threads<own_bits>() == 1024);
    CHECK(dynpar::most_threads<own_functions>() == 1024);
    CHECK(dynpar::most_threads<own_variables>() == 1024);
    CHECK(dynpar::most_threads<own_types>() == 1024);
    CHECK(dynpar::most_threads<named_by_array>() == 8);
    CHECK(dynpar::most_threads<bounded_by_enumeration>() == 8);
    host_options options;
    options.trace_grids = 1;
    const dynpar::report report = host_engine(options).run(kernel_with<own_data>{}, shape(1, 1024));
    CHECK(report.trace.grids.at(0).kernel.find("own_data") != std::string::npos);
}

TEST_CASE("each instance of a templated kernel has a name of its own") {
    const auto name = [](dynpar::text text) { return std::string(text.begin, text.length); };
    CHECK(name(dynpar::kernel_name<outer<std::vector<int>>::named<3>>()) == "sum<3>");
    CHECK(name(dynpar::kernel_name<outer<std::vector<int>>::plain>()) == "plain");
    host_options options;
    options.trace_grids = 10;
    std::string names;
    for (const dynpar::grid_record& grid : host_engine(options).run(outer<int>::named<2>{}, shape(1, 1)).trace.grids)
        names += grid.kernel + " ";
    CHECK(names == "sum<2> sum<1> sum<0> ");
}

}  // namespace
