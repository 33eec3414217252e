// Quicksort, on the host engine against the CPU; and the keys that it is given.
#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "../../samples/quicksort/kernels.hpp"
#include "../../samples/quicksort/patterns.hpp"

using namespace quicksort;

namespace {

/// The keys as a run leaves them.
std::vector<key> sort_on_host(const std::vector<key>& keys, unsigned threads, unsigned leaf, unsigned by_block) {
    dynpar::host_engine engine;
    auto there = engine.make_buffer<key>(keys);
    auto spare = engine.make_buffer<key>(std::vector<key>(keys.size(), 0x55555555u));
    const job work{there.data(), spare.data(), threads, leaf, by_block};
    const auto all = engine.make_buffer<job>({work});
    const auto count = static_cast<unsigned>(keys.size());
    engine.run(sort_part{all.data()}, shape_of(work, count), part{0, count, 0});
    return there.to_vector();
}
std::vector<key> sorted(std::vector<key> keys) {
    std::sort(keys.begin(), keys.end());
    return keys;
}

}  // namespace

TEST_CASE("quicksort sorts as the CPU does, whatever the keys, the blocks and what a block does by itself") {
    for (const char* const pattern : {"random", "sorted", "reversed", "equal", "few"}) {
        for (const unsigned count : {33u, 700u, 4099u}) {
            const std::vector<key> keys = make_keys(pattern, count, 3, count);
            for (const unsigned threads : {32u, 45u, 128u}) {
                for (const unsigned leaf : {32u, 100u, 4096u}) {
                    for (const unsigned by_block : {32u, 500u, 100000u}) {
                        CAPTURE(pattern);
                        CAPTURE(count);
                        CAPTURE(threads);
                        CAPTURE(leaf);
                        CAPTURE(by_block);
                        CHECK(sort_on_host(keys, threads, leaf, by_block) == sorted(keys));
                    }
                }
            }
        }
    }
}

TEST_CASE("keys are drawn in the pattern that is asked for, the same for the same seed") {
    const auto keys = make_keys("random", 1000, 0, 7);
    CHECK(keys == make_keys("random", 1000, 0, 7));
    CHECK(keys != make_keys("random", 1000, 0, 8));
    CHECK(make_keys("sorted", 1000, 0, 7) == sorted(keys));
    auto reversed = make_keys("reversed", 1000, 0, 7);
    std::reverse(reversed.begin(), reversed.end());
    CHECK(reversed == sorted(keys));
    for (const unsigned kinds : {1u, 2u, 50u}) {
        auto few = sorted(make_keys("few", 1000, kinds, 7));
        CHECK(few.back() == ~key{0});
        few.erase(std::unique(few.begin(), few.end()), few.end());
        CHECK(few.size() == kinds);
    }
    CHECK(sorted(make_keys("equal", 1000, 0, 7)).front() == sorted(make_keys("equal", 1000, 0, 7)).back());
}
