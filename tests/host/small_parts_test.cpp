// Small parts of the headers. Most stand in for those of the library, which are long for nvcc: they do as those do.
#include <dynpar/detail/host_pool.hpp>
#include <dynpar/detail/mutex.hpp>
#include <dynpar/detail/record_list.hpp>
#include <dynpar/detail/stable_sort.hpp>
#include <dynpar/detail/steady_clock.hpp>
#include <dynpar/grid_group.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <random>
#include <set>
#include <thread>
#include <vector>

using namespace dynpar::detail;

TEST_CASE("numbers are sorted as by std::stable_sort, for every size and with many equal keys") {
    std::mt19937 random(1);
    for (unsigned size = 0; size < 300; ++size) {
        std::vector<unsigned> keys(size), numbers(size);
        for (unsigned i = 0; i < size; ++i) {
            keys[i] = random() % (1 + size / 3);
            numbers[i] = i;
        }
        std::shuffle(numbers.begin(), numbers.end(), random);
        std::vector<unsigned> expected = numbers;
        const auto before = [&](unsigned a, unsigned b) { return keys[a] < keys[b]; };
        std::stable_sort(expected.begin(), expected.end(), before);
        stable_sort(numbers, before);
        CHECK(numbers == expected);
    }
}

TEST_CASE("records of a pool are aligned, do not overlap, and are used again") {
    host_pool pool;
    std::mt19937 random(2);
    struct record {
        unsigned char* memory;
        std::size_t bytes;
        unsigned char mark;
    };
    for (int round = 0; round < 2; ++round) {
        std::vector<record> records;
        for (unsigned i = 0; i < 20000; ++i) {
            if (records.size() > 500 || (!records.empty() && random() % 3 == 0)) {
                std::swap(records[random() % records.size()], records.back());
                const record last = records.back();
                records.pop_back();
                CHECK(std::all_of(last.memory, last.memory + last.bytes,
                                  [&](unsigned char byte) { return byte == last.mark; }));
                pool.deallocate(last.memory, last.bytes);
            } else {
                const std::size_t bytes = 1 + random() % (random() % 50 == 0 ? 5000 : 300);
                auto* const memory = static_cast<unsigned char*>(pool.allocate(bytes));
                REQUIRE(reinterpret_cast<std::uintptr_t>(memory) % host_pool::alignment == 0);
                records.push_back({memory, bytes, static_cast<unsigned char>(random())});
                std::memset(memory, records.back().mark, bytes);
            }
        }
        for (const record& left : records) pool.deallocate(left.memory, left.bytes);
        std::set<void*> again;
        for (int i = 0; i < 100; ++i) {
            void* const memory = pool.allocate(64);
            again.insert(memory);
            pool.deallocate(memory, 64);
        }
        CHECK(again.size() == 1);
        pool.release();
    }
}

TEST_CASE("a list of records finds the latest, and records stay where they are") {
    record_list<int> list;
    CHECK(list.find([](int) { return true; }) == nullptr);
    int& first = list.add(1);
    for (int i = 2; i < 100; ++i) list.add(i);
    CHECK(*list.find([](int) { return true; }) == 99);
    CHECK(list.find([](int n) { return n == 1; }) == &first);
    CHECK(list.find([](int n) { return n == 100; }) == nullptr);
}

TEST_CASE("a mutex lets one thread in at a time") {
    mutex m;
    volatile bool is_in = false;
    std::atomic<unsigned> met{0}, begun{0};
    const auto enter_and_leave = [&] {
        ++begun;
        while (begun != 2) std::this_thread::yield();
        for (int i = 0; i < 2000; ++i) {
            const mutex_lock guard(m);
            if (is_in) ++met;
            is_in = true;
            std::this_thread::yield();  // the other one, if it can
            is_in = false;
        }
    };
    std::thread other(enter_and_leave);
    enter_and_leave();
    other.join();
    CHECK(met == 0);
}

TEST_CASE("the clock is that of std::chrono::steady_clock") {
    const auto library = [] {
        return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
            .count();
    };
    const auto before = library();
    const std::int64_t ours = steady_nanoseconds();
    const auto after = library();
    CHECK(before <= ours);
    CHECK(ours <= after);
}

TEST_CASE("a thread's rank in its grid has more than 32 bits where the grid has more threads") {
    struct last_block {
        unsigned block_rank() const { return 2147483646; }
        unsigned num_blocks() const { return 2147483647; }
        unsigned thread_rank() const { return 1023; }
        unsigned num_threads() const { return 1024; }
    };
    const last_block block;
    const auto grid = dynpar::this_grid(block);
    CHECK(grid.num_threads() == 2147483647ull * 1024);
    CHECK(grid.thread_rank() == 2147483647ull * 1024 - 1);
    CHECK(grid.block_rank() == 2147483646);
    CHECK(grid.num_blocks() == 2147483647);
}
