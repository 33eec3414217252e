// Promises of atomic_add on the host: it returns what was there, and loses no addition.
#include <dynpar/atomic.hpp>

#include <atomic>
#include <climits>
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

}  // namespace
