// Contract rows C18 and C19: what the threads of a warp and of a block do together, and atomic operations.
#include "engine_under_test.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

using namespace conformance;

// nvcc cannot name a template of an unnamed namespace among a kernel's parameters.
namespace atomic_kernels {

template <class T>
struct numbers {
    T sum, least, greatest, last;
    unsigned long long bits_and, bits_or, bits_xor;
    unsigned claimed, places;
};

template <class T>
struct change_atomically {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, numbers<T>* n, unsigned* owners, unsigned* list) const {
        const unsigned rank = dynpar::this_grid(block).thread_rank();
        const T value = static_cast<T>(rank + 1);
        dynpar::atomic_add(&n->sum, value);
        dynpar::atomic_min(&n->least, value);
        dynpar::atomic_max(&n->greatest, value);
        dynpar::atomic_exchange(&n->last, value);
        dynpar::atomic_and(&n->bits_and, ~(1ull << rank % 64));
        dynpar::atomic_or(&n->bits_or, 1ull << rank % 64);
        dynpar::atomic_xor(&n->bits_xor, rank + 1ull);
        // Each place is taken by one of those who try.
        if (dynpar::atomic_cas(&owners[rank / 4], 0u, rank + 1) == 0) dynpar::atomic_add(&n->claimed, 1u);
        if (rank % 3 != 0) list[dynpar::atomic_append(&n->places)] = rank;
    }
};

}  // namespace atomic_kernels

namespace {

using atomic_kernels::change_atomically;
using atomic_kernels::numbers;

/// Twelve bytes, and an operation that is associative and not commutative: what is combined are runs of numbers that
/// follow each other, and a gap or a wrong order leaves a mark.
struct run_of_ranks {
    unsigned first, last, in_order;
};
struct join {
    DYNPAR_FUNCTION run_of_ranks operator()(const run_of_ranks& a, const run_of_ranks& b) const {
        return {a.first, b.last, a.in_order & b.in_order & (a.last + 1 == b.first ? 1u : 0u)};
    }
};
DYNPAR_FUNCTION bool is_run(const run_of_ranks& run, unsigned first, unsigned last) {
    return run.first == first && run.last == last && run.in_order == 1;
}

/// Some number of a thread's own.
DYNPAR_FUNCTION constexpr unsigned number_of(unsigned rank, unsigned seed) {
    return (rank * 2654435761u + seed * 40503u) >> 7 & 0xffff;
}

/// Counts what is wrong, for groups of `first` to `first + threads - 1` of the block.
template <class Group>
DYNPAR_FUNCTION unsigned wrong_in(const Group& group, unsigned first, unsigned seed) {
    const unsigned rank = group.thread_rank(), threads = group.num_threads();
    unsigned sum = 0, sum_before = 0, least = ~0u, said = 0;
    for (unsigned i = 0; i < threads; ++i) {
        const unsigned number = number_of(first + i, seed);
        if (i < rank) sum_before += number;
        sum += number;
        least = number < least ? number : least;
        said += number % 3 == 0;
    }
    const unsigned mine = number_of(first + rank, seed);
    unsigned wrong = 0;
    wrong += dynpar::reduce(group, mine, dynpar::plus{}) != sum;
    wrong += dynpar::reduce(group, mine, dynpar::minimum{}) != least;
    wrong += dynpar::inclusive_scan(group, mine, dynpar::plus{}) != sum_before + mine;
    wrong += dynpar::exclusive_scan(group, mine, dynpar::plus{}, 7u) != sum_before + 7;
    wrong += dynpar::count(group, mine % 3 == 0) != said;
    wrong += dynpar::any(group, rank == threads - 1) != true;
    wrong += dynpar::any(group, rank == threads) != false;
    wrong += dynpar::all(group, rank < threads) != true;
    wrong += dynpar::all(group, rank != threads / 2) != false;
    wrong += dynpar::broadcast(group, mine, threads - 1) != number_of(first + threads - 1, seed);

    const run_of_ranks self{rank, rank, 1};
    wrong += !is_run(dynpar::reduce(group, self, join{}), 0, threads - 1);
    wrong += !is_run(dynpar::inclusive_scan(group, self, join{}), 0, rank);
    const run_of_ranks before =
        dynpar::exclusive_scan(group, run_of_ranks{rank + 1, rank + 1, 1}, join{}, run_of_ranks{0, 0, 1});
    wrong += !is_run(before, 0, rank);

    const double half = 0.5 * static_cast<double>(mine);
    wrong += dynpar::reduce(group, half, dynpar::plus{}) != 0.5 * static_cast<double>(sum);
    wrong += dynpar::reduce(group, static_cast<std::uint8_t>(rank % 2), dynpar::bit_or{}) != (threads > 1 ? 1 : 0);
    return wrong;
}

/// The values of a group's threads, one after another.
template <class T, class Op>
DYNPAR_FUNCTION T combined(unsigned threads, T (*value_of)(unsigned), const Op& op) {
    T result = value_of(0);
    for (unsigned i = 1; i < threads; ++i) result = op(result, value_of(i));
    return result;
}
template <class T>
DYNPAR_FUNCTION T some_value(unsigned rank) {
    return static_cast<T>(number_of(rank, 5) * 0x9e3779b97f4a7c15ull >> 16);  // of every sign and size that T has
}
template <class T, class Group>
DYNPAR_FUNCTION unsigned wrong_reductions(const Group& group) {
    const unsigned threads = group.num_threads();
    const T mine = some_value<T>(group.thread_rank());
    unsigned wrong = 0;
    const auto check = [&](const auto& op) {
        wrong += dynpar::reduce(group, mine, op) != combined<T>(threads, some_value<T>, op);
    };
    check(dynpar::plus{});
    check(dynpar::multiplies{});
    check(dynpar::minimum{});
    check(dynpar::maximum{});
    check(dynpar::bit_and{});
    check(dynpar::bit_or{});
    check(dynpar::bit_xor{});
    return wrong;
}

/// Every operation on integers of every size, with and without a sign.
struct reductions {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned* wrong) const {
        const auto warp = dynpar::this_warp(block);
        const auto all = dynpar::this_block(block, block.template shared<std::byte>(dynpar::collective_bytes));
        const unsigned found = wrong_reductions<std::uint8_t>(warp) + wrong_reductions<std::int16_t>(warp) +
                               wrong_reductions<std::uint32_t>(warp) + wrong_reductions<std::uint32_t>(all) +
                               wrong_reductions<std::uint64_t>(warp) + wrong_reductions<bool>(warp);
        // Their products and sums would not fit.
        const int mine = some_value<int>(warp.thread_rank());
        const unsigned threads = warp.num_threads();
        unsigned found_here =
            dynpar::reduce(warp, mine, dynpar::minimum{}) != combined<int>(threads, some_value<int>, dynpar::minimum{});
        found_here +=
            dynpar::reduce(warp, mine, dynpar::maximum{}) != combined<int>(threads, some_value<int>, dynpar::maximum{});
        found_here += dynpar::reduce(warp, -static_cast<int>(warp.thread_rank()), dynpar::plus{}) !=
                      -static_cast<int>(threads * (threads - 1) / 2);
        if (found + found_here != 0) dynpar::atomic_add(wrong, found + found_here);
    }
};

TEST_CASE("C18: a reduction of integers of any size is what the operation makes of them one after another") {
    auto engine = make_engine();
    for (const unsigned threads : {1u, 2u, 31u, 32u, 45u, 96u}) {
        CAPTURE(threads);
        auto wrong = filled(engine, 1, 0u);
        engine.run(reductions{}, dynpar::shape(2, threads, dynpar::collective_bytes), wrong.data());
        CHECK(wrong.to_vector()[0] == 0);
    }
}

/// Each warp hands numbers round in shared memory, as often as no other warp does.
struct hand_round {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned* wrong) const {
        const auto warp = dynpar::this_warp(block);
        const unsigned rank = warp.thread_rank(), threads = warp.num_threads();
        unsigned* const mine = block.template shared<unsigned>(block.num_threads()) + warp.first();
        unsigned number = rank;
        for (unsigned round = 0; round < 10 + 3 * warp.meta_group_rank(); ++round) {
            mine[rank] = number;
            warp.sync();
            number = mine[(rank + 1) % threads];
            warp.sync();
            if (number != (rank + round + 1) % threads) dynpar::atomic_add(wrong, 1u);
        }
        dynpar::this_block(block, nullptr).sync();
    }
};

TEST_CASE("C18: after the sync of a warp its threads see what the others wrote, and other warps need not be there") {
    auto engine = make_engine();
    for (const unsigned threads : {1u, 2u, 17u, 32u, 33u, 80u, 256u}) {
        CAPTURE(threads);
        auto wrong = filled(engine, 1, 0u);
        engine.run(hand_round{}, dynpar::shape(3, threads, threads * static_cast<unsigned>(sizeof(unsigned))),
                   wrong.data());
        CHECK(wrong.to_vector()[0] == 0);
    }
}

struct collective_calls {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned* wrong, unsigned seed) const {
        auto* memory = block.template shared<std::byte>(dynpar::collective_bytes);
        unsigned found = 0;
        for (unsigned round = 0; round < 2; ++round) {
            const auto warp = dynpar::this_warp(block);
            found += warp.first() + warp.thread_rank() != block.thread_rank();
            found += wrong_in(warp, warp.first(), seed + block.block_rank() + round);
            found += wrong_in(dynpar::this_block(block, memory), 0, seed + block.block_rank() + round);
        }
        if (found != 0) dynpar::atomic_add(wrong, found);
    }
};

constexpr unsigned widths[] = {1, 2, 3, 7, 16, 31, 32, 33, 48, 64, 65, 100, 128, 255, 256, 500, 512, 1000, 1024};

TEST_CASE("C18: collective calls of a warp and of a block give each thread what all have, at every width") {
    auto engine = make_engine();
    for (const unsigned threads : widths) {
        if (threads > widest_block) continue;
        CAPTURE(threads);
        auto wrong = filled(engine, 1, 0u);
        engine.run(collective_calls{}, dynpar::shape(3, threads, dynpar::collective_bytes), wrong.data(), threads);
        CHECK(wrong.to_vector()[0] == 0);
    }
}

struct launch_collective_calls {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned* wrong, unsigned threads) const {
        // The parent's threads are in the middle of one collective call after another while children begin.
        auto* memory = block.template shared<std::byte>(dynpar::collective_bytes);
        const auto all = dynpar::this_block(block, memory);
        for (unsigned i = 0; i < 3; ++i) {
            const unsigned sum = dynpar::reduce(all, block.thread_rank(), dynpar::plus{});
            if (sum != block.num_threads() * (block.num_threads() - 1) / 2) dynpar::atomic_add(wrong, 1u);
            if (block.thread_rank() % 8 == i) {
                block.launch(collective_calls{}, dynpar::shape(2, threads, dynpar::collective_bytes), wrong, i);
            }
        }
    }
};

TEST_CASE("C18: collective calls between launches, in parents and children of any width") {
    auto engine = make_engine();
    for (const unsigned threads : {1u, 5u, 32u, 96u, 200u}) {
        CAPTURE(threads);
        auto wrong = filled(engine, 1, 0u);
        engine.run(launch_collective_calls{}, dynpar::shape(2, 40, dynpar::collective_bytes), wrong.data(), threads);
        CHECK(wrong.to_vector()[0] == 0);
    }
}

/// Warps of a block do different things at different times.
struct warps_apart {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned* wrong) const {
        const auto warp = dynpar::this_warp(block);
        const unsigned threads = warp.num_threads();
        unsigned found = 0;
        for (unsigned i = 0; i < warp.meta_group_rank() * 5; ++i) {
            found += dynpar::ballot(warp, warp.thread_rank() % 2 == i % 2) !=
                     ((threads == 32 ? ~0u : (1u << threads) - 1) & (i % 2 == 0 ? 0x55555555u : 0xaaaaaaaau));
            found += dynpar::shuffle(warp, warp.thread_rank(), (warp.thread_rank() + i) % threads) !=
                     (warp.thread_rank() + i) % threads;
        }
        block.sync();
        if (found != 0) dynpar::atomic_add(wrong, found);
    }
};

TEST_CASE("C18: warps of a block make collective calls of their own, each in its own time") {
    auto engine = make_engine();
    auto wrong = filled(engine, 1, 0u);
    engine.run(warps_apart{}, dynpar::shape(2, 250), wrong.data());
    CHECK(wrong.to_vector()[0] == 0);
}

// ---- atomic operations

template <class T>
void lose_nothing() {
    auto engine = make_engine();
    constexpr unsigned blocks = 6, threads = 96, all = blocks * threads;
    numbers<T> begin{};
    begin.least = std::numeric_limits<T>::max();
    begin.bits_and = ~0ull;
    auto n = filled(engine, 1, begin);
    auto owners = filled(engine, all / 4, 0u), list = filled(engine, all, 0u);
    engine.run(change_atomically<T>{}, dynpar::shape(blocks, threads), n.data(), owners.data(), list.data());
    const numbers<T> after = n.to_vector()[0];
    CHECK(after.sum == static_cast<T>(all * (all + 1) / 2));
    CHECK(after.least == T{1});
    CHECK(after.greatest == T{all});
    CHECK(after.last >= T{1});
    CHECK(after.last <= T{all});
    CHECK(after.bits_and == 0);
    CHECK(after.bits_or == ~0ull);
    unsigned long long bits = 0;
    for (unsigned i = 1; i <= all; ++i) bits ^= i;
    CHECK(after.bits_xor == bits);
    CHECK(after.claimed == all / 4);
    unsigned wrong = 0;
    const std::vector<unsigned> claims = owners.to_vector();
    for (unsigned i = 0; i < all / 4; ++i) wrong += (claims[i] - 1) / 4 != i;
    CHECK(wrong == 0);
    std::vector<unsigned> taken = list.to_vector(), wanted;
    for (unsigned i = 0; i < all; ++i)
        if (i % 3 != 0) wanted.push_back(i);
    REQUIRE(after.places == wanted.size());
    taken.resize(wanted.size());
    std::sort(taken.begin(), taken.end());
    CHECK(taken == wanted);
}

TEST_CASE("C19: atomic operations of many threads lose nothing") {
    lose_nothing<int>();
    lose_nothing<unsigned long long>();
    lose_nothing<float>();
    lose_nothing<double>();
}

/// Blocks hand on a number: the last to arrive sees what all before it have written.
struct hand_on {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned* written, unsigned* arrived, unsigned* seen) const {
        dynpar::atomic_store(&written[block.block_rank()], block.block_rank() + 1);
        dynpar::thread_fence();
        if (dynpar::atomic_add(arrived, 1u) + 1 != block.num_blocks()) return;
        dynpar::thread_fence();
        unsigned sum = 0;
        for (unsigned i = 0; i < block.num_blocks(); ++i) sum += dynpar::atomic_load(&written[i]);
        *seen = sum;
    }
};

TEST_CASE("C19: who comes last, after a fence, sees what the others stored") {
    auto engine = make_engine();
    for (const unsigned blocks : {1u, 7u, many(2000)}) {
        auto written = filled(engine, blocks, 0u), arrived = filled(engine, 1, 0u), seen = filled(engine, 1, 0u);
        engine.run(hand_on{}, dynpar::shape(blocks, 1), written.data(), arrived.data(), seen.data());
        CHECK(seen.to_vector()[0] == blocks * (blocks + 1) / 2);
    }
}

}  // namespace
