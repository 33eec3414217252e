// Slots of a reducer that several threads use at once, as on the cdp engine, with threads of the CPU. What the engines
// promise of reducers is in tests/conformance.
#include <dynpar/dynpar.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace {

/// A thread of an engine whose slots are shared.
class thread_with_shared_slots {
public:
    static constexpr dynpar::detail::slot_use use_of_slots = dynpar::detail::slot_use::shared;
    explicit thread_with_shared_slots(unsigned slot) : slot_(slot) {}
    dynpar::detail::reducer_place place_in_reducer() const { return {nullptr, slot_}; }
    void refuse_reducer() const { refused = true; }

    mutable bool refused = false;

private:
    unsigned slot_;
};

/// Now and then lets the other threads on, in the middle of an addition without a lock.
void give_way(unsigned number) {
    if (number % 4096 == 0) std::this_thread::yield();
}

struct alignas(8) sum_and_square {
    unsigned sum, square;
};
/// 8 bytes, which no one operation adds.
struct add_squares {
    using value_type = sum_and_square;
    static sum_and_square identity() { return {0, 0}; }
    static sum_and_square combine(sum_and_square a, sum_and_square b) {
        give_way(b.sum);
        return {a.sum + b.sum, a.square + b.square};
    }
};
template <unsigned Words>
struct words {
    unsigned word[Words];
};
/// More bytes than can be exchanged in one go, or fewer.
template <unsigned Words>
struct add_words {
    using value_type = words<Words>;
    static value_type identity() { return {}; }
    static value_type combine(const value_type& a, const value_type& b) {
        value_type sum{};
        for (unsigned i = 0; i < Words; ++i) sum.word[i] = a.word[i] + b.word[i];
        return sum;
    }
};

constexpr unsigned threads = 4, additions = 400000, slots = 3;

/// Several threads at once, whose slots are the same one: there are fewer slots than their numbers say.
template <class Monoid, class Make>
typename Monoid::value_type add_from_threads(Make make) {
    dynpar::reducer<Monoid> all(dynpar::host_engine::memory(), slots);
    const auto view = all.view();
    std::vector<std::thread> running;
    std::atomic<unsigned> ready{0}, refused{0};
    for (unsigned t = 0; t < threads; ++t) {
        running.emplace_back([&ready, &refused, view, make, t] {
            thread_with_shared_slots thread(1 + t * slots);
            for (++ready; ready < threads;) std::this_thread::yield();
            for (unsigned i = 0; i < additions; ++i) view.add(thread, make(i));
            refused += thread.refused ? 1 : 0;
        });
    }
    for (std::thread& thread : running) thread.join();
    CHECK(refused == 0);
    return all.value();
}

constexpr unsigned sum_of_numbers = threads * static_cast<unsigned>(additions * (additions - 1ull) / 2);

TEST_CASE("threads that share a slot of a reducer lose no number") {
    const auto number = [](unsigned i) { return i; };
    CHECK(add_from_threads<dynpar::sum<unsigned>>(number) == sum_of_numbers);
    CHECK(add_from_threads<dynpar::sum<double>>(number) == threads * (additions * (additions - 1.0) / 2));
    CHECK(add_from_threads<dynpar::smallest<long>>(number) == 0);
    CHECK(add_from_threads<dynpar::largest<float>>(number) == additions - 1);
    CHECK(add_from_threads<dynpar::bits_of_any<unsigned>>(number) == 524287);
    CHECK(add_from_threads<dynpar::bits_of_all<unsigned long>>([](unsigned i) { return ~0ul << i % 9; }) == ~0ul << 8);
    CHECK(add_from_threads<dynpar::sum<unsigned short>>(number) == static_cast<unsigned short>(sum_of_numbers));
}

TEST_CASE("threads that share a slot of a reducer lose no struct of 8, 12 or 64 bytes") {
    const sum_and_square pairs = add_from_threads<add_squares>([](unsigned i) { return sum_and_square{i, i * i}; });
    unsigned squares = 0;
    for (unsigned i = 0; i < additions; ++i) squares += threads * i * i;
    CHECK(pairs.sum == sum_of_numbers);
    CHECK(pairs.square == squares);
    const auto few = add_from_threads<add_words<3>>([](unsigned i) { return words<3>{{i, 1, 2 * i}}; });
    CHECK(few.word[0] == sum_of_numbers);
    CHECK(few.word[1] == threads * additions);
    CHECK(few.word[2] == 2 * sum_of_numbers);
    const auto many = add_from_threads<add_words<16>>([](unsigned i) {
        words<16> w{};
        for (unsigned k = 0; k < 16; ++k) w.word[k] = i * k;
        return w;
    });
    for (unsigned k = 0; k < 16; ++k) CHECK(many.word[k] == k * sum_of_numbers);
}

}  // namespace
