// Contract row C21: reducers.
#include "engine_under_test.hpp"

#include <limits>
#include <memory>

using namespace conformance;

namespace {

/// Every thread adds 1; a tree of grids of several widths.
struct count_threads {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, dynpar::reducer_view<dynpar::sum<long long>> threads,
                                    unsigned levels) const {
        threads.add(block, 1);
        if (block.thread_rank() != 0 || levels == 0) return;
        block.launch(*this, dynpar::shape(1, 1), threads, levels - 1);
        block.launch(*this, dynpar::shape(1, 7), threads, levels - 1);
        block.launch(*this, dynpar::shape(2, 40), threads, levels - 1);
    }
};

long long threads_of_tree(long long threads, long long blocks, unsigned levels) {
    if (levels == 0) return threads * blocks;
    return threads * blocks + blocks * (threads_of_tree(1, 1, levels - 1) + threads_of_tree(7, 1, levels - 1) +
                                        threads_of_tree(40, 2, levels - 1));
}

TEST_CASE("C21: all additions of a run are in the value, from threads of every width and depth") {
    auto engine = make_engine();
    auto threads = engine.make_reducer<dynpar::sum<long long>>();
    CHECK(threads.value() == 0);
    engine.run(count_threads{}, dynpar::shape(1, 3), threads.view(), 4u);
    CHECK(threads.value() == threads_of_tree(3, 1, 4));
    engine.run(count_threads{}, dynpar::shape(5, 64), threads.view(), 0u);
    CHECK(threads.value() == threads_of_tree(3, 1, 4) + 320);
    threads.reset();
    CHECK(threads.value() == 0);
    engine.run(count_threads{}, dynpar::shape(1, 1), threads.view(), 1u);
    CHECK(threads.value() == threads_of_tree(1, 1, 1));
}

struct add_numbers {
    template <class Block, class Monoid>
    DYNPAR_FUNCTION void operator()(Block& block, dynpar::reducer_view<Monoid> all, unsigned count) const {
        using number = typename Monoid::value_type;
        for (unsigned i = 0; i < count; ++i) {
            const unsigned thread = dynpar::this_grid(block).thread_rank();
            all.add(block, static_cast<number>(thread * count + i));
        }
    }
};

template <class Monoid>
typename Monoid::value_type of_numbers(engine_under_test& engine, unsigned count) {
    auto all = engine.make_reducer<Monoid>();
    engine.run(add_numbers{}, dynpar::shape(4, 32), all.view(), count);
    return all.value();
}

TEST_CASE("C21: sums, smallest, largest and bits, of numbers of 1 to 8 bytes") {
    auto engine = make_engine();
    const unsigned count = many(1000), numbers = 128 * count;
    CHECK(of_numbers<dynpar::sum<unsigned long long>>(engine, count) == numbers * (numbers - 1ull) / 2);
    CHECK(of_numbers<dynpar::sum<unsigned>>(engine, count) == static_cast<unsigned>(numbers * (numbers - 1ull) / 2));
    CHECK(of_numbers<dynpar::sum<int>>(engine, 20) == 2560 * 2559 / 2);
    CHECK(of_numbers<dynpar::sum<unsigned char>>(engine, 20) == static_cast<unsigned char>(2560u * 2559 / 2));
    CHECK(of_numbers<dynpar::sum<double>>(engine, 20) == 2560 * 2559 / 2);  // without rounding in any order
    CHECK(of_numbers<dynpar::smallest<int>>(engine, 3) == 0);
    CHECK(of_numbers<dynpar::largest<int>>(engine, 3) == 383);
    CHECK(of_numbers<dynpar::largest<unsigned short>>(engine, 3) == 383);
    CHECK(of_numbers<dynpar::largest<float>>(engine, 3) == 383.0f);
    CHECK(of_numbers<dynpar::bits_of_all<unsigned>>(engine, 3) == 0);
    CHECK(of_numbers<dynpar::bits_of_any<unsigned>>(engine, 3) == 511);
    CHECK(of_numbers<dynpar::bits_of_any<unsigned char>>(engine, 1) == 127);
}

TEST_CASE("C21: where nothing was added the value is the identity") {
    auto engine = make_engine();
    CHECK(engine.make_reducer<dynpar::sum<float>>().value() == 0);
    CHECK(engine.make_reducer<dynpar::smallest<int>>().value() == std::numeric_limits<int>::max());
    CHECK(engine.make_reducer<dynpar::largest<double>>().value() == -std::numeric_limits<double>::infinity());
    CHECK(engine.make_reducer<dynpar::bits_of_all<unsigned short>>().value() == 0xffff);
}

// ---- Monoids of a program's own

struct alignas(8) extent {
    int low, high;
};
/// 8 bytes, of two numbers.
struct join_extents {
    using value_type = extent;
    static DYNPAR_FUNCTION extent identity() { return {1 << 30, -(1 << 30)}; }
    static DYNPAR_FUNCTION extent combine(extent a, extent b) {
        return {a.low < b.low ? a.low : b.low, a.high < b.high ? b.high : a.high};
    }
};
/// A number of elements, with moments of any size.
template <unsigned Moments>
struct statistics {
    unsigned long long moments[Moments];
};
template <unsigned Moments>
struct add_statistics {
    using value_type = statistics<Moments>;
    static DYNPAR_FUNCTION value_type identity() { return {}; }
    static DYNPAR_FUNCTION value_type combine(const value_type& a, const value_type& b) {
        value_type sum{};
        for (unsigned i = 0; i < Moments; ++i) sum.moments[i] = a.moments[i] + b.moments[i];
        return sum;
    }
};

struct add_structs {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, dynpar::reducer_view<join_extents> extents,
                                    dynpar::reducer_view<add_statistics<2>> few,
                                    dynpar::reducer_view<add_statistics<8>> several, unsigned count) const {
        for (unsigned i = 0; i < count; ++i) {
            const int place = static_cast<int>(dynpar::this_grid(block).thread_rank() * count);
            extents.add(block, {place, place + static_cast<int>(i)});
            few.add(block, {{1, i}});
            statistics<8> moments{};
            for (unsigned m = 0; m < 8; ++m) moments.moments[m] = m + i;
            several.add(block, moments);
        }
    }
};

TEST_CASE("C21: structs of 8, 16 and 64 bytes, whose members are of one moment") {
    auto engine = make_engine();
    auto extents = engine.make_reducer<join_extents>();
    auto few = engine.make_reducer<add_statistics<2>>();
    auto several = engine.make_reducer<add_statistics<8>>();
    engine.run(add_structs{}, dynpar::shape(3, 50), extents.view(), few.view(), several.view(), 10u);
    CHECK(extents.value().low == 0);
    CHECK(extents.value().high == 1499);
    CHECK(few.value().moments[0] == 1500);
    CHECK(few.value().moments[1] == 150 * 45);
    for (unsigned m = 0; m < 8; ++m) CHECK(several.value().moments[m] == 1500 * m + 150 * 45);
}

// ---- With what else a kernel does

struct add_before_and_after {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, dynpar::reducer_view<dynpar::sum<long long>> all,
                                    unsigned levels) const {
        all.add(block, 1);
        if (levels != 0 && block.thread_rank() == 0) {
            block.launch(*this, dynpar::shape(1, 1), all, levels - 1);
            block.launch(*this, dynpar::shape(1, 20), all, levels - 1);
            block.launch(*this, dynpar::shape(1, 70), all, levels - 1);
        }
        if (block.wait() == dynpar::status::success) all.add(block, 1000000);
    }
};

TEST_CASE("C21: what runs while a block waits adds to the same value") {
    auto engine = make_engine();
    auto all = engine.make_reducer<dynpar::sum<long long>>();
    const dynpar::report report = engine.try_run(add_before_and_after{}, dynpar::shape(1, 4), all.view(), 3u);
    long long threads = 4;
    for (const long long width : {1, 20, 70}) threads += 13 * width;  // 1 + 3 + 9 grids of that width
    CHECK(all.value() == (has_wait ? threads * 1000001 : threads));
    CHECK((report.failed_calls == 0) == has_wait);
}

struct count_calls {
    template <class Block>
    DYNPAR_FUNCTION dynpar::result<unsigned> operator()(Block& block, dynpar::reducer_view<dynpar::sum<unsigned>> calls,
                                                        unsigned n) const {
        calls.add(block, 1);
        if (n < 2) return n;
        return block.then(dynpar::plus{}, block.spawn(*this, calls, n - 1), block.spawn(*this, calls, n - 2));
    }
};

TEST_CASE("C20, C21: calls with values add to reducers") {
    dynpar::limits limits;
    limits.pending_launches = 2048;  // CUDA's default, if no test before this one has set it for the device
    auto engine = make_engine(limits);
    auto calls = engine.make_reducer<dynpar::sum<unsigned>>();
    CHECK(engine.call(count_calls{}, calls.view(), 10u) == 55);
    CHECK(calls.value() == 177);
}

TEST_CASE("C21: a reducer of another engine is refused, and the run throws") {
    auto engine = make_engine();
    auto other = make_engine();
    auto threads = engine.make_reducer<dynpar::sum<long long>>();
    engine.run(count_threads{}, dynpar::shape(1, 8), threads.view(), 0u);
    const dynpar::report report = other.try_run(count_threads{}, dynpar::shape(2, 40), threads.view(), 0u);
    CHECK(report.failed_calls == 80);
    const dynpar::failure& f = only_failure(report);
    CHECK(f.operation == dynpar::operation::reduce);
    CHECK(f.status == dynpar::status::not_supported);
    CHECK(f.count == 80);
    CHECK_THROWS_AS(other.run(count_threads{}, dynpar::shape(1, 1), threads.view(), 0u), dynpar::launch_error);
    CHECK(threads.value() == 8);
    engine.run(count_threads{}, dynpar::shape(1, 8), threads.view(), 0u);
    CHECK(threads.value() == 16);
}

TEST_CASE("C21: the value can be read when the engine is gone") {
    auto engine = std::make_unique<engine_under_test>(make_engine());
    auto threads = engine->make_reducer<dynpar::sum<long long>>();
    auto moved = std::move(threads);
    engine->run(count_threads{}, dynpar::shape(1, 8), moved.view(), 0u);
    engine.reset();
    CHECK(moved.value() == 8);
    moved.reset();
    CHECK(moved.value() == 0);
}

}  // namespace
