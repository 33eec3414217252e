// Contract row C20: kernels that return values.
#include "engine_under_test.hpp"

#include <cstdint>
#include <type_traits>
#include <utility>

using namespace conformance;

namespace {

// ---- Values of any size

/// `Bytes` bytes that are made of one number, so that a byte in the wrong place shows.
template <unsigned Bytes, unsigned Alignment>
struct alignas(Alignment) record {
    unsigned char bytes[Bytes];

    static DYNPAR_FUNCTION record of(unsigned number) {
        record r;
        for (unsigned i = 0; i < Bytes; ++i) r.bytes[i] = static_cast<unsigned char>(number * 7 + i * 3);
        return r;
    }
    DYNPAR_FUNCTION bool is(unsigned number) const {
        const record right = of(number);
        for (unsigned i = 0; i < Bytes; ++i) {
            if (bytes[i] != right.bytes[i]) return false;
        }
        return true;
    }
};

template <class Record>
struct make_record {
    template <class Block>
    DYNPAR_FUNCTION dynpar::result<Record> operator()(Block&, unsigned number) const {
        return Record::of(number);
    }
};

/// Whether the values are those of the numbers 0, 1, 2, ... in this order.
template <class Record>
struct all_right {
    template <class... Records>
    DYNPAR_FUNCTION unsigned operator()(const Records&... records) const {
        unsigned number = 0, right = 0;
        ((right += records.is(number++) ? 1 : 0), ...);
        return right;
    }
};

template <class Record, class Numbers>
struct some_records;
template <class Record, unsigned... Numbers>
struct some_records<Record, std::integer_sequence<unsigned, Numbers...>> {
    template <class Block>
    DYNPAR_FUNCTION dynpar::result<unsigned> operator()(Block& block) const {
        return block.then(all_right<Record>{}, block.spawn(make_record<Record>{}, Numbers)...);
    }
};

template <unsigned Bytes, unsigned Alignment>
void check_records(engine_under_test& engine) {
    CAPTURE(Bytes);
    using value = record<Bytes, Alignment>;
    CHECK(engine.call(make_record<value>{}, 5u).is(5));
    CHECK(engine.call(some_records<value, std::make_integer_sequence<unsigned, 1>>{}) == 1);
    CHECK(engine.call(some_records<value, std::make_integer_sequence<unsigned, 2>>{}) == 2);
    CHECK(engine.call(some_records<value, std::make_integer_sequence<unsigned, 3>>{}) == 3);
    CHECK(engine.call(some_records<value, std::make_integer_sequence<unsigned, 8>>{}) == 8);
}

TEST_CASE("C20: values of 1 to 64 bytes, of 1 to 8 calls, come to the function in the order of the calls") {
    auto engine = make_engine();
    check_records<1, 1>(engine);
    check_records<8, 8>(engine);
    check_records<12, 4>(engine);
    check_records<16, 16>(engine);
    check_records<24, 8>(engine);
    check_records<64, 16>(engine);
}

struct number_of {
    template <class T>
    struct type {
        T number;
        template <class Block>
        DYNPAR_FUNCTION dynpar::result<T> operator()(Block&) const {
            return number;
        }
    };
};
struct weigh {
    DYNPAR_FUNCTION double operator()(char a, double b, short c, long long d) const { return a + b + c + d; }
};
struct values_of_several_types {
    template <class Block>
    DYNPAR_FUNCTION dynpar::result<double> operator()(Block& block) const {
        return block.then(weigh{}, block.spawn(number_of::type<char>{1}), block.spawn(number_of::type<double>{0.5}),
                          block.spawn(number_of::type<short>{20}), block.spawn(number_of::type<long long>{300}));
    }
};

TEST_CASE("C20: the values of calls may have different types") {
    auto engine = make_engine();
    CHECK(engine.call(values_of_several_types{}) == 321.5);
}

// ---- Recursion

struct fibonacci {
    static constexpr const char* name = "fibonacci";
    template <class Block>
    DYNPAR_FUNCTION dynpar::result<unsigned> operator()(Block& block, int n) const {
        if (n < 2) return static_cast<unsigned>(n);
        return block.then(dynpar::plus{}, block.spawn(*this, n - 1), block.spawn(*this, n - 2));
    }
};

#if DYNPAR_TEST_ENGINE_QUEUE
// What docs/guide.md says is the shortest way: a call and a join are lane tasks.
namespace queue = dynpar::detail::queue;
static_assert(queue::payload_bytes<dynpar::detail::value_call<fibonacci>, void*, int> <= sizeof(queue::lane_arguments));
static_assert(queue::payload_bytes<dynpar::detail::join_of_calls<dynpar::plus, unsigned, unsigned>,
                                   const unsigned char*, void*> <= sizeof(queue::lane_arguments));
#endif

TEST_CASE("C20: a recursion returns its value, from several engines in turn") {
    auto engine = make_engine();
    CHECK(engine.call(fibonacci{}, 0) == 0);
    auto other = make_engine();
    CHECK(engine.call(fibonacci{}, 12) == 144);
    CHECK(other.call(fibonacci{}, 11) == 89);
    CHECK(engine.call(fibonacci{}, 10) == 55);
    const dynpar::call_outcome<unsigned> outcome = other.try_call(fibonacci{}, 9);
    CHECK(outcome.report.failed_calls == 0);
    REQUIRE(outcome.value.has_value());
    CHECK(*outcome.value == 34);
}

struct add_one {
    DYNPAR_FUNCTION unsigned operator()(unsigned n) const { return n + 1; }
};
struct count_down {
    template <class Block>
    DYNPAR_FUNCTION dynpar::result<unsigned> operator()(Block& block, unsigned n) const {
        if (n == 0) return 0u;
        return block.then(add_one{}, block.spawn(*this, n - 1));
    }
};

#if DYNPAR_TEST_ENGINE_CDP
inline constexpr unsigned deep = 20;  // the device runtime nests 24 grids
#else
inline constexpr unsigned deep = many(10000);
#endif

TEST_CASE("C20: a chain of calls may be as deep as grids may nest") {
    auto engine = make_engine();
    CHECK(engine.call(count_down{}, deep) == deep);
}

// ---- Ranges

struct square {
    template <class Block>
    DYNPAR_FUNCTION dynpar::result<unsigned long long> operator()(Block&, unsigned number, unsigned more) const {
        return (number + more) * 1ull * (number + more);
    }
};
struct sum_of_squares {
    template <class Block>
    DYNPAR_FUNCTION dynpar::result<unsigned long long> operator()(Block& block, unsigned count) const {
        return block.then(dynpar::plus{}, 1000000000, block.spawn_range(count, square{}, 1u));
    }
};
/// Not commutative.
struct append_digits {
    DYNPAR_FUNCTION unsigned long long operator()(unsigned long long a, unsigned long long b) const {
        return a * 100 + b;
    }
};
struct squares_in_order {
    template <class Block>
    DYNPAR_FUNCTION dynpar::result<unsigned long long> operator()(Block& block) const {
        return block.then(append_digits{}, 0, block.spawn_range(6, square{}, 1u));
    }
};
struct greatest_place {
    DYNPAR_FUNCTION unsigned operator()(const dynpar::value_list<unsigned long long>& values) const {
        unsigned place = values.size();
        for (unsigned i = 0; i < values.size(); ++i) {
            if (place == values.size() || values[place] < values[i]) place = i;
        }
        return place;
    }
};
struct place_of_greatest_square {
    template <class Block>
    DYNPAR_FUNCTION dynpar::result<unsigned> operator()(Block& block, unsigned count) const {
        return block.then(greatest_place{}, block.spawn_range(count, square{}, 0u));
    }
};

TEST_CASE("C20: a range of 0, 1 or 1000 calls, combined in order or handed over as a list") {
    auto engine = make_engine();
    CHECK(engine.call(sum_of_squares{}, 0u) == 1000000000);
    CHECK(engine.call(sum_of_squares{}, 1u) == 1000000001);
    CHECK(engine.call(sum_of_squares{}, 1000u) == 1000000000 + 333833500);
    CHECK(engine.call(squares_in_order{}) == 10409162536);
    CHECK(engine.call(place_of_greatest_square{}, 0u) == 0);
    CHECK(engine.call(place_of_greatest_square{}, 17u) == 16);
}

// ---- Kernels with and without values

struct note_value {
    unsigned* list;
    DYNPAR_FUNCTION void operator()(unsigned value) const { list[1 + dynpar::atomic_add(&list[0], 1u)] = value; }
};
struct call_from_every_thread {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned* list) const {
        block.then(note_value{list}, block.spawn(fibonacci{}, static_cast<int>(block.thread_rank() % 8)));
    }
};

TEST_CASE("C20: threads of a kernel without a value have calls, whose values a continuation gets") {
    auto engine = make_engine();
    for (const dynpar::shape& shape : {dynpar::shape(1, 1), dynpar::shape(1, 40), dynpar::shape(3, 24)}) {
        auto list = filled(engine, 1 + 72, 0u);
        engine.run(call_from_every_thread{}, shape, list.data());
        unsigned sum = 0, right = 0;
        for (const unsigned value : appended(list)) sum += value;
        for (unsigned thread = 0; thread < shape.threads.x; ++thread) {
            constexpr unsigned first[] = {0, 1, 1, 2, 3, 5, 8, 13};
            right += shape.blocks.x * first[thread % 8];
        }
        CHECK(list.value() == shape.blocks.x * shape.threads.x);
        CHECK(sum == right);
    }
}

struct note_number {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block&, unsigned* numbers, unsigned i) const {
        numbers[i] = i + 1;
    }
};
struct add_numbers {
    const unsigned* numbers;
    DYNPAR_FUNCTION unsigned operator()(unsigned value) const { return numbers[0] + numbers[1] + numbers[2] + value; }
};
/// Uses all of a block: children without values, scratch memory, a stream, a continuation; and a call.
struct value_with_children {
    template <class Block>
    DYNPAR_FUNCTION dynpar::result<unsigned> operator()(Block& block, unsigned n, unsigned* seen) const {
        unsigned* const numbers = block.template scratch<unsigned>(3);
        if (numbers == nullptr) return 0u;
        auto stream = block.make_stream();
        block.launch(note_number{}, dynpar::shape(1, 1), numbers, 0u);
        block.launch(note_number{}, {1, 1}, numbers, 1u);
        block.launch(stream, note_number{}, dynpar::shape(1, 1), numbers, 2u);
        dynpar::atomic_add(seen, block.num_threads() + dynpar::count(dynpar::this_warp(block), true));
        auto value = block.then(add_numbers{numbers}, block.spawn(count_down{}, n));
        block.then(count_one{}, dynpar::shape(1, 5), seen);
        return value;
    }
};

TEST_CASE("C20: a kernel with a value launches, continues and takes memory like any other") {
    auto engine = make_engine();
    auto seen = filled(engine, 1, 0u);
    CHECK(engine.call(value_with_children{}, 4u, seen.data()) == 1 + 2 + 3 + 4);
    CHECK(seen.value() == 3);
}

struct collatz_steps;
/// A function that goes on calling.
struct one_step_more {
    template <class Block>
    DYNPAR_FUNCTION dynpar::result<unsigned> operator()(Block& block, unsigned n) const;
};
struct next_of_collatz {
    template <class Block>
    DYNPAR_FUNCTION dynpar::result<unsigned> operator()(Block&, unsigned n) const {
        return n % 2 == 0 ? n / 2 : 3 * n + 1;
    }
};
template <class Block>
DYNPAR_FUNCTION dynpar::result<unsigned> one_step_more::operator()(Block& block, unsigned n) const {
    if (n == 1) return 1u;
    return block.then(*this, block.spawn(next_of_collatz{}, n));
}

TEST_CASE("C20: the function may take the block and call again, at the depth of its kernel") {
    auto engine = make_engine();
    const auto outcome = engine.try_call(one_step_more{}, 6u);  // 6 3 10 5 16 8 4 2 1
    CHECK(outcome.value == 1);
    CHECK(outcome.report.deepest_nesting == 1);
    CHECK(outcome.report.grids == 1 + 2 * 8);
}

TEST_CASE("C20: calls and functions have the names of the program's own kernels in a trace") {
    options_under_test options;
    options.trace_grids = 10;
    engine_under_test engine(options);
    const auto outcome = engine.try_call(fibonacci{}, 2);
    CHECK(outcome.value == 1);
    const dynpar::trace& trace = outcome.report.trace;
    REQUIRE(trace.grids.size() == 4);
    unsigned calls = 0, functions = 0;
    for (const dynpar::grid_record& grid : trace.grids) {
        calls += grid.kernel == "fibonacci" ? 1 : 0;
        functions += grid.kernel == "dynpar::plus" && grid.continues == 0 ? 1 : 0;
    }
    CHECK(calls == 3);
    CHECK(functions == 1);
}

// ---- Random trees of calls

using u64 = unsigned long long;

DYNPAR_FUNCTION u64 scramble(u64 key, u64 number) {
    u64 x = key * 6364136223846793005ull + number * 1442695040888963407ull + 0x9e3779b97f4a7c15ull;
    x ^= x >> 29;
    x *= 0xbf58476d1ce4e5b9ull;
    return x ^ (x >> 32);
}

/// What a call in a random tree does.
enum class call_of_tree : unsigned { value, one, two, three, range_in_order, list, again, after_children };
struct tree_draw {
    u64 own;
    call_of_tree what;
    unsigned range;

    DYNPAR_FUNCTION tree_draw(u64 key, unsigned number, unsigned levels)
        : own(scramble(key, number)),
          what(static_cast<call_of_tree>(own >> 8 & 7)),
          range(levels > 3 ? own >> 16 & 3 : own >> 16 & 15) {
        if (levels == 0) what = call_of_tree::value;
    }
};

/// Not commutative, with members of 16 or 88 bytes.
template <unsigned More>
struct combine_values_of_tree {
    u64 own;
    u64 more[More];

    DYNPAR_FUNCTION explicit combine_values_of_tree(u64 from) : own(from), more{} {
        for (unsigned i = 0; i < More; ++i) more[i] = from + i;
    }
    template <class... Values>
    DYNPAR_FUNCTION u64 operator()(Values... values) const {
        u64 result = own;
        ((result = result * 31 + values), ...);
        for (unsigned i = 0; i < More; ++i) result += more[i] - own - i;
        return result;
    }
};
struct append_to_value {
    DYNPAR_FUNCTION u64 operator()(u64 a, u64 b) const { return a * 31 + b; }
};
struct combine_list_of_tree {
    u64 own;
    DYNPAR_FUNCTION u64 operator()(const dynpar::value_list<u64>& values) const {
        u64 result = own + values.size();
        for (unsigned i = 0; i < values.size(); ++i) result += (i + 1) * values[i];
        return result;
    }
};
struct add_to_place {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block&, u64* place, u64 value) const {
        dynpar::atomic_add(place, value);
    }
};
struct read_place {
    const u64* place;
    DYNPAR_FUNCTION u64 operator()(u64 value) const { return *place + value; }
};
struct call_again;

struct tree_call {
    static constexpr const char* name = "tree_call";
    template <class Block>
    DYNPAR_FUNCTION dynpar::result<u64> operator()(Block& block, unsigned number, u64 key, unsigned levels,
                                                   u64* calls) const;
};
struct call_again {
    u64 own;
    unsigned levels;
    u64* calls;
    template <class Block>
    DYNPAR_FUNCTION dynpar::result<u64> operator()(Block& block, u64 value) const {
        if (value % 3 == 0) return value;
        return block.then(combine_values_of_tree<1>{own}, block.spawn(tree_call{}, 7u, value, levels - 1, calls));
    }
};
template <class Block>
DYNPAR_FUNCTION dynpar::result<u64> tree_call::operator()(Block& block, unsigned number, u64 key, unsigned levels,
                                                          u64* calls) const {
    dynpar::atomic_add(calls, u64{1});
    const tree_draw draw(key, number, levels);
    const u64 own = draw.own;
    switch (draw.what) {
        case call_of_tree::one:
            return block.then(combine_values_of_tree<1>{own}, block.spawn(*this, 0u, own, levels - 1, calls));
        case call_of_tree::two:
            return block.then(combine_values_of_tree<1>{own}, block.spawn(*this, 0u, own, levels - 1, calls),
                              block.spawn(*this, 1u, own, levels - 1, calls));
        case call_of_tree::three:
            return block.then(combine_values_of_tree<10>{own}, block.spawn(*this, 0u, own, levels - 1, calls),
                              block.spawn(*this, 1u, own, levels - 1, calls),
                              block.spawn(*this, 2u, own, levels - 1, calls));
        case call_of_tree::range_in_order:
            return block.then(append_to_value{}, own, block.spawn_range(draw.range, *this, own, levels - 1, calls));
        case call_of_tree::list:
            return block.then(combine_list_of_tree{own}, block.spawn_range(draw.range, *this, own, levels - 1, calls));
        case call_of_tree::again:
            return block.then(call_again{own, levels, calls}, block.spawn(*this, 3u, own, levels - 1, calls));
        case call_of_tree::after_children: {
            u64* const place = block.template scratch<u64>(1);
            if (place == nullptr) return u64{0};
            *place = own;
            block.launch(add_to_place{}, dynpar::shape(1, 1), place, own % 1000 + 1);
            block.launch(add_to_place{}, dynpar::shape(2, 9), place, own % 1000 + 3);
            return block.then(read_place{place}, block.spawn(*this, 5u, own, levels - 1, calls));
        }
        case call_of_tree::value: break;
    }
    return own;
}

/// The same on the CPU, with no engine.
u64 value_of_tree(unsigned number, u64 key, unsigned levels, u64& calls) {
    ++calls;
    const tree_draw draw(key, number, levels);
    const u64 own = draw.own;
    const auto below = [&](unsigned of, u64 from) { return value_of_tree(of, from, levels - 1, calls); };
    u64 result = own;
    switch (draw.what) {
        case call_of_tree::one: return own * 31 + below(0, own);
        case call_of_tree::two:
        case call_of_tree::three:
            for (unsigned i = 0; i < (draw.what == call_of_tree::two ? 2 : 3); ++i)
                result = result * 31 + below(i, own);
            return result;
        case call_of_tree::range_in_order:
            for (unsigned i = 0; i < draw.range; ++i) result = result * 31 + below(i, own);
            return result;
        case call_of_tree::list:
            result += draw.range;
            for (unsigned i = 0; i < draw.range; ++i) result += (i + 1) * below(i, own);
            return result;
        case call_of_tree::again: {
            const u64 value = below(3, own);
            return value % 3 == 0 ? value : own * 31 + below(7, value);
        }
        case call_of_tree::after_children: return own + (own % 1000 + 1) + 18 * (own % 1000 + 3) + below(5, own);
        case call_of_tree::value: break;
    }
    return result;
}

TEST_CASE("C20: random trees of calls have the value that the CPU finds") {
#if DYNPAR_TEST_ENGINE_CDP
    constexpr unsigned levels = 7;  // the device runtime nests 24 grids
#else
    constexpr unsigned levels = 9;
#endif
    auto engine = make_engine();
    auto calls = filled(engine, 1, u64{0});
    u64 expected_calls = 0;
    unsigned trees = 0;
    for (unsigned seed = 1; trees < many(300); ++seed) {
        u64 of_tree = 0;
        const u64 expected = value_of_tree(0, seed, levels, of_tree);
        if (of_tree < 20 || of_tree > 3000) continue;  // too small to show anything, or too large
        CAPTURE(seed);
        ++trees;
        expected_calls += of_tree;
        CHECK(engine.call(tree_call{}, 0u, u64{seed}, levels, calls.data()) == expected);
        CHECK(calls.value() == expected_calls);
    }
}

// ---- Failures

struct count_uses {
    unsigned* uses;
    DYNPAR_FUNCTION unsigned operator()(unsigned n) const {
        dynpar::atomic_add(uses, 1u);
        return n;
    }
};
struct endless_chain {
    static constexpr const char* name = "endless_chain";
    template <class Block>
    DYNPAR_FUNCTION dynpar::result<unsigned> operator()(Block& block, unsigned* uses) const {
        return block.then(count_uses{uses}, block.spawn(*this, uses));
    }
};
struct endless_ranges {
    static constexpr const char* name = "endless_ranges";
    template <class Block>
    DYNPAR_FUNCTION dynpar::result<unsigned> operator()(Block& block, unsigned, unsigned* uses) const {
        return block.then(dynpar::plus{}, 0, block.spawn_range(2, *this, uses));
    }
};
struct call_endless_chain {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned* uses) const {
        block.then(note_value{uses}, block.spawn(endless_chain{}, uses));
    }
};

TEST_CASE("C20: after a lost call there is no value, and no function gets one that was never made") {
    dynpar::limits limits;
    limits.nesting_depth = 6;
    auto engine = make_engine(limits);
    auto uses = filled(engine, 2, 0u);
    const auto outcome = engine.try_call(endless_chain{}, uses.data());
    CHECK(!outcome.value.has_value());
    CHECK(outcome.report.lost_launches == 1);
    CHECK(only_failure(outcome.report).status == dynpar::status::nesting_depth_exceeded);
    CHECK(only_failure(outcome.report).kernel == "endless_chain");
    CHECK_THROWS_AS(engine.call(endless_chain{}, uses.data()), dynpar::launch_error);
    CHECK_THROWS_AS(engine.run(call_endless_chain{}, dynpar::shape(1, 1), uses.data()), dynpar::launch_error);
    CHECK(uses.value() == 0);
    CHECK(!engine.try_call(endless_ranges{}, 0u, uses.data()).value.has_value());
    CHECK(engine.call(count_down{}, 6u) == 6);  // the engine is usable, and the next value is right
}

TEST_CASE("C20: where memory or pending launches are used up there is no value") {
#if DYNPAR_TEST_ENGINE_HOST
    // An endless recursion would take all of the machine's memory: here the limit is that of pending launches.
    dynpar::limits limits;
    limits.pending_launches = 100;
    auto engine = make_engine(limits);
#else
    options_under_test options;
    options.limits.heap_bytes = 1u << 20;
    options.limits.pending_launches = 100;
    engine_under_test engine(options);
#endif
    auto uses = filled(engine, 2, 0u);
    const auto outcome = engine.try_call(sum_of_squares{}, 100000000u);
    CHECK(!outcome.value.has_value());
    CHECK(outcome.report.failed_calls != 0);
#if DYNPAR_TEST_ENGINE_QUEUE
    CHECK(!engine.try_call(endless_chain{}, uses.data()).value.has_value());
    CHECK(!engine.try_call(endless_ranges{}, 0u, uses.data()).value.has_value());
#endif
    CHECK(uses.value() == 0);
    CHECK(engine.call(sum_of_squares{}, 10u) == 1000000385);  // the engine is usable
}

}  // namespace
