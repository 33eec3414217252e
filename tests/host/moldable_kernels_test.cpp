// The samples' moldable kernels are right with any number of threads, of which the host engine gives them one: here as
// many as are asked for.
#include <algorithm>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include <dynpar/dynpar.hpp>

#include "../../samples/cilksort/kernels.hpp"
#include "../../samples/recursive_reduce/kernels.hpp"
#include "../../samples/work_tree/kernels.hpp"

namespace {

std::vector<int> make_numbers(std::size_t count) {
    std::mt19937 random;
    std::vector<int> numbers(count);
    for (int& number : numbers) number = static_cast<int>(random());
    return numbers;
}

template <class T>
dynpar::buffer<T> on(dynpar::host_engine& engine, const std::vector<T>& values) {
    dynpar::buffer<T> there = engine.make_buffer<T>(values.size());
    there.copy_from(values.data());
    return there;
}

}  // namespace

TEST_CASE("the sum with a cut-off is right with any number of threads, and of numbers whose sum is no int") {
    dynpar::host_engine engine;
    for (const unsigned threads : {1u, 2u, 3u, 31u, 32u, 100u, 128u}) {
        for (const unsigned count : {1u, 3u, 4u, 127u, 1000u, 5000u}) {
            const std::vector<int> numbers = make_numbers(count);
            long long expected = 0;
            for (const int number : numbers) expected += number;
            const dynpar::buffer<int> there = on(engine, numbers);
            const dynpar::buffer<long long> total = on(engine, std::vector<long long>{0});
            engine.run(recursive_reduction::recursive_reduce_cutoff{}, dynpar::shape(3, threads, 1024),
                       static_cast<const int*>(there.data()), count, 1u << 20, total.data());
            CHECK(total.to_vector()[0] == expected);
        }
    }
}

TEST_CASE("the moldable halving sums are right with any number of threads") {
    dynpar::host_engine engine;
    constexpr unsigned size = 64;
    constexpr unsigned blocks = 5;
    std::vector<int> numbers(size * blocks);
    for (unsigned i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int>(i % 17);
    std::vector<int> expected(blocks);
    for (unsigned i = 0; i < numbers.size(); ++i) expected[i / size] += numbers[i];
    for (const unsigned threads : {1u, 3u, 32u, 64u}) {
        const dynpar::buffer<int> sums = on(engine, std::vector<int>(blocks, -1));
        const dynpar::buffer<int> first_data = on(engine, numbers);
        engine.run(recursive_reduction::recursive_reduce_moldable{}, dynpar::shape(blocks, threads), first_data.data(),
                   sums.data(), size);
        CHECK(sums.to_vector() == expected);
        const dynpar::buffer<int> sums2 = on(engine, std::vector<int>(blocks, -1));
        const dynpar::buffer<int> data = on(engine, numbers);
        engine.run(recursive_reduction::recursive_reduce2_moldable{}, dynpar::shape(blocks, threads), data.data(),
                   sums2.data(), size / 2, size);
        CHECK(sums2.to_vector() == expected);
    }
}

TEST_CASE("a part of a merge is right wherever it begins and ends") {
    const std::vector<int> numbers = make_numbers(1000);
    for (const unsigned width : {32u, 96u, 250u, 500u, 1000u}) {
        std::vector<int> runs = numbers;
        for (unsigned i = 0; i < 1000; i += width)
            std::sort(runs.begin() + i, runs.begin() + std::min(1000u, i + width));
        for (const unsigned by_block : {4u, 60u, 1000u, 4096u}) {
            dynpar::host_engine engine;
            const dynpar::buffer<int> from = on(engine, runs);
            const dynpar::buffer<int> to = on(engine, std::vector<int>(1000, 0));
            for (unsigned rank = 0; rank * by_block < 1000; ++rank) {
                struct position {  // of one thread in a block: what merge_part asks of its block
                    unsigned block;
                    unsigned block_rank() const { return block; }
                    unsigned thread_rank() const { return 0; }
                    unsigned num_threads() const { return 1; }
                };
                cilksort::job work{};
                work.merged_by_block = by_block;
                work.merged_by_thread = 8;
                cilksort::merge_part(position{rank}, work, from.data(), to.data(), 1000u, width);
            }
            std::vector<int> expected = runs;
            for (unsigned i = 0; i < 1000; i += 2 * width) {
                std::sort(expected.begin() + i, expected.begin() + std::min(1000u, i + 2 * width));
            }
            CHECK(to.to_vector() == expected);
        }
    }
}

TEST_CASE("threads of a work tree's block share the work of a node") {
    std::vector<double> table(work_tree::table_size);
    for (unsigned i = 0; i < work_tree::table_size; ++i) table[i] = work_tree::table_entry(i);
    double shared = 0;
    for (unsigned thread = 0; thread < 256; ++thread) shared += work_tree::work_of(table.data(), 256, thread, 256);
    // 256 threads do one load and one multiply-add each: x * a + b, where x is what was loaded.
    double loaded = 0;
    for (unsigned i = 0; i < 256; ++i) {
        loaded += table[work_tree::hash(work_tree::hash(256u ^ 0x9e3779b9u) + i) & (work_tree::table_size - 1)];
    }
    CHECK(shared == doctest::Approx(loaded * 1.0000001192092896 + 256 * 0.9999999403953552));
}
