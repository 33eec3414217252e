// Promises of the atomic operations on the host: they return what was there, and lose nothing.
#include <dynpar/atomic.hpp>

#include <atomic>
#include <climits>
#include <limits>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

namespace {

TEST_CASE_TEMPLATE("atomic_add returns the value before and stores the sum", T, int, unsigned, long long,
                   unsigned long long, unsigned long, float, double) {
    T place = 40;
    CHECK(dynpar::atomic_add(&place, 2) == static_cast<T>(40));
    CHECK(place == static_cast<T>(42));
}

TEST_CASE_TEMPLATE("atomic_add takes a negative number where the type has them", T, int, long long, float, double) {
    T place = 1;
    dynpar::atomic_add(&place, -3);
    CHECK(place == static_cast<T>(-2));
}

TEST_CASE("atomic_add wraps around in integers, signed ones included, as on a GPU") {
    int place = INT_MAX;
    CHECK(dynpar::atomic_add(&place, 1) == INT_MAX);
    CHECK(place == INT_MIN);

    unsigned count = UINT_MAX;
    dynpar::atomic_add(&count, 1u);
    CHECK(count == 0);
}

TEST_CASE_TEMPLATE("atomic_add loses no addition when threads add at the same time", T, int, unsigned long long, float,
                   double) {
    constexpr int threads = 4;
    constexpr int additions = 1000000;  // a float counts exactly up to 2^24
    T place = 0;
    std::atomic<bool> go{false};
    std::vector<std::thread> adding;
    for (int i = 0; i < threads; ++i) {
        adding.emplace_back([&] {
            while (!go) std::this_thread::yield();
            for (int k = 0; k < additions; ++k) dynpar::atomic_add(&place, 1);
        });
    }
    go = true;
    for (std::thread& thread : adding) thread.join();
    CHECK(place == static_cast<T>(threads * additions));
}

TEST_CASE_TEMPLATE("atomic_min and atomic_max return the value before and keep the better one", T, int, unsigned,
                   long long, unsigned long, float, double) {
    T place = 40;
    CHECK(dynpar::atomic_min(&place, 50) == T{40});
    CHECK(dynpar::atomic_min(&place, 30) == T{40});
    CHECK(place == T{30});
    CHECK(dynpar::atomic_max(&place, 20) == T{30});
    CHECK(dynpar::atomic_max(&place, 60) == T{30});
    CHECK(place == T{60});
}

TEST_CASE("atomic_min and atomic_max know which numbers are negative, and pass over NaN") {
    int whole = 1;
    dynpar::atomic_min(&whole, -5);
    CHECK(whole == -5);
    dynpar::atomic_max(&whole, -7);
    CHECK(whole == -5);
    double number = -1;
    dynpar::atomic_max(&number, std::numeric_limits<double>::quiet_NaN());
    dynpar::atomic_min(&number, std::numeric_limits<double>::quiet_NaN());
    CHECK(number == -1);
}

TEST_CASE_TEMPLATE("atomic_and, atomic_or and atomic_xor return the bits before", T, int, unsigned, long long,
                   unsigned long long) {
    T place = 12;
    CHECK(dynpar::atomic_and(&place, 10) == T{12});
    CHECK(dynpar::atomic_or(&place, 3) == T{8});
    CHECK(dynpar::atomic_xor(&place, 2) == T{11});
    CHECK(place == T{9});
}

struct alignas(8) four_shorts {
    short first, second, third, fourth;
};

TEST_CASE("atomic_exchange, atomic_cas, atomic_load and atomic_store take whatever has 4 or 8 bytes") {
    int targets[3] = {};
    int* pointer = &targets[0];
    CHECK(dynpar::atomic_exchange(&pointer, &targets[1]) == &targets[0]);
    CHECK(dynpar::atomic_cas(&pointer, &targets[0], &targets[2]) == &targets[1]);
    CHECK(pointer == &targets[1]);
    CHECK(dynpar::atomic_cas(&pointer, &targets[1], &targets[2]) == &targets[1]);
    CHECK(dynpar::atomic_load(&pointer) == &targets[2]);

    float zero = 0.0f;
    CHECK(dynpar::atomic_cas(&zero, -0.0f, 1.0f) == 0.0f);  // other bits
    CHECK(zero == 0.0f);

    four_shorts shorts{1, 2, 3, 4};
    dynpar::atomic_store(&shorts, four_shorts{5, 6, 7, 8});
    CHECK(dynpar::atomic_exchange(&shorts, four_shorts{}).third == 7);
    dynpar::atomic_store(&shorts, four_shorts{8, 7, 6, 5}, dynpar::memory_order::relaxed);
    CHECK(dynpar::atomic_load(&shorts, dynpar::memory_order::relaxed).fourth == 5);
}

TEST_CASE("atomic_append gives each caller a place of its own") {
    unsigned count = 5;
    CHECK(dynpar::atomic_append(&count) == 5);
    CHECK(dynpar::atomic_append(&count) == 6);
    CHECK(count == 7);
}

TEST_CASE("atomic_cas and atomic_max lose nothing when threads come at the same time") {
    constexpr int threads = 4, rounds = 100000;
    unsigned long long counted = 0;
    double greatest = 0;
    std::vector<std::thread> changing;
    for (int i = 0; i < threads; ++i) {
        changing.emplace_back([&, i] {
            for (int k = 0; k < rounds; ++k) {
                unsigned long long before = dynpar::atomic_load(&counted);
                for (;;) {
                    const unsigned long long found = dynpar::atomic_cas(&counted, before, before + 1);
                    if (found == before) break;
                    before = found;
                }
                dynpar::atomic_max(&greatest, k * threads + i);
            }
        });
    }
    for (std::thread& thread : changing) thread.join();
    CHECK(counted == threads * rounds);
    CHECK(greatest == (rounds - 1) * threads + threads - 1);
}

}  // namespace
