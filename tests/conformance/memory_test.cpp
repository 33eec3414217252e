// Contract rows C2, C6, C10, C11, C12: what a child sees, waiting, arguments, pointers, scratch memory.
#include "engine_under_test.hpp"

#include <utility>
#include <vector>

using namespace conformance;

namespace {

// ---- C2: what a child sees

struct sum_values {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, const unsigned* values, unsigned count, unsigned* out) const {
        for (unsigned i = block.thread_rank(); i < count; i += block.num_threads()) dynpar::atomic_add(out, values[i]);
    }
};

struct write_and_launch {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned* values, unsigned* out, bool whole_block) const {
        unsigned* mine = values + block.block_rank() * block.num_threads();
        if (whole_block) {
            mine[block.thread_rank()] = block.thread_rank() + 1;
            block.sync();
        } else if (block.thread_rank() == 0) {
            for (unsigned i = 0; i < block.num_threads(); ++i) mine[i] = i + 1;
        }
        if (block.thread_rank() == 0) {
            block.launch(sum_values{}, dynpar::shape(1, 32), mine, block.num_threads(), out + block.block_rank());
        }
    }
};

TEST_CASE("C2: a child sees what the launching thread wrote, and what its block wrote before a sync()") {
    auto engine = make_engine();
    for (const bool whole_block : {false, true}) {
        CAPTURE(whole_block);
        for (int repeat = 0; repeat < 5; ++repeat) {
            auto values = filled(engine, 64 * 128, 0u), out = filled(engine, 64, 0u);
            engine.run(write_and_launch{}, dynpar::shape(64, 128), values.data(), out.data(), whole_block);
            unsigned wrong = 0;
            for (unsigned sum : out.to_vector()) wrong += sum != 128 * 129 / 2;
            CHECK(wrong == 0);
        }
    }
}

// ---- C6: waiting

struct fill {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned* values, unsigned count, unsigned value) const {
        for (unsigned i = block.thread_rank(); i < count; i += block.num_threads()) values[i] = value;
    }
};

struct wait_and_read {
    static constexpr const char* name = "wait_and_read";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned* values, unsigned* right, unsigned* statuses) const {
        unsigned* mine = values + block.block_rank() * block.num_threads();
        for (unsigned round = 1; round <= 3; ++round) {
            if (block.thread_rank() == 0) block.launch(fill{}, dynpar::shape(1, 32), mine, block.num_threads(), round);
            const dynpar::status told = block.wait();
            if (told != dynpar::status::success) {
                dynpar::atomic_add(&statuses[static_cast<int>(told)], 1u);
                return;
            }
            if (mine[block.thread_rank()] == round) dynpar::atomic_add(right, 1u);
            block.sync();  // before the next round's child overwrites
        }
    }
};

TEST_CASE("C6: after wait() the block's children are complete and every thread of the block sees what they wrote") {
    auto engine = make_engine();
    for (const unsigned threads : {1u, 8u, 48u, 256u}) {
        CAPTURE(threads);
        auto values = filled(engine, 5 * threads, 0u), right = filled(engine, 1, 0u), statuses = filled(engine, 16, 0u);
        const dynpar::report report =
            engine.try_run(wait_and_read{}, dynpar::shape(5, threads), values.data(), right.data(), statuses.data());
        if (has_wait) {
            CHECK(report.failed_calls == 0);
            CHECK(right.to_vector()[0] == 3 * 5 * threads);
        } else {
            CHECK(statuses.to_vector()[static_cast<int>(dynpar::status::not_supported)] == 5 * threads);
            const dynpar::failure& f = only_failure(report);
            CHECK(f.operation == dynpar::operation::wait);
            CHECK(f.status == dynpar::status::not_supported);
            CHECK(f.kernel == "wait_and_read");
            CHECK(f.count == 5);  // calls of a block, not of each thread
            CHECK(f.note.find("then()") != std::string::npos);
            CHECK(f.note.find("queue or host engine") != std::string::npos);
        }
    }
}

// A recursion that waits at every level, depth first.
struct waiting_fib {
    static constexpr const char* name = "waiting_fib";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned n, unsigned* out) const {
        if (n < 2) {
            if (block.thread_rank() == 0) *out = n;
            return;
        }
        auto** parts = block.template shared<unsigned*>(1);
        if (block.thread_rank() == 0) {
            *parts = block.template scratch<unsigned>(2);
            block.launch(*this, dynpar::shape(1, block.num_threads(), 16), n - 1, *parts);
            block.launch(*this, dynpar::shape(1, block.num_threads(), 16), n - 2, *parts + 1);
        }
        if (block.wait() != dynpar::status::success) return;
        if (block.thread_rank() == 0) *out = (*parts)[0] + (*parts)[1];
    }
};

TEST_CASE("C6: a recursion may wait at every level, with one thread or many") {
    if (!has_wait) return;
    auto engine = make_engine();
    for (const unsigned threads : {1u, 4u, 40u}) {
        CAPTURE(threads);
        auto out = filled(engine, 1, 0u);
        engine.run(waiting_fib{}, dynpar::shape(1, threads, 16), 14u, out.data());
        CHECK(out.to_vector()[0] == 377);
    }
}

TEST_CASE("C6: a wait nested deeper than the synchronization depth is refused, and nothing hangs") {
    if (!has_wait) return;
    dynpar::limits limits;
    limits.sync_depth = 3;
    auto engine = make_engine(limits);
    auto out = filled(engine, 1, 0u);
    const dynpar::report shallow = engine.try_run(waiting_fib{}, dynpar::shape(1, 4, 16), 4u, out.data());
    CHECK(shallow.failed_calls == 0);  // fib(4) waits at depths 0, 1 and 2
    const dynpar::report deep = engine.try_run(waiting_fib{}, dynpar::shape(1, 4, 16), 5u, out.data());
    CHECK(deep.failed_calls == 1);  // fib(5), 4, 3 wait at depths 0, 1, 2; one fib(2) at depth 3
    const dynpar::failure& f = only_failure(deep);
    CHECK(f.operation == dynpar::operation::wait);
    CHECK(f.status == dynpar::status::sync_depth_exceeded);
    CHECK(f.kernel == "waiting_fib");
    CHECK(f.depth == 3);
}

struct wait_for_nothing {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned* counter) const {
        if (block.wait() == dynpar::status::success) dynpar::atomic_add(counter, 1u);
    }
};

TEST_CASE("C6: a wait without children returns at once") {
    if (!has_wait) return;
    auto engine = make_engine();
    auto counter = filled(engine, 1, 0u);
    engine.run(wait_for_nothing{}, dynpar::shape(3, 50), counter.data());
    CHECK(counter.to_vector()[0] == 150);
}

// ---- C10: arguments

struct mixed {
    char letter;
    double number;
    short list[3];
};

struct take_arguments {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, mixed m, double d, long long l, const unsigned* nothing,
                                    unsigned* wrong) const {
        const bool right = m.letter == 'x' && m.number == 0.5 && m.list[0] == 1 && m.list[1] == 2 && m.list[2] == 3 &&
                           d == 7.0 && l == -5 && nothing == nullptr;
        if (!right) dynpar::atomic_add(wrong, 1u);
        dynpar::atomic_add(wrong + 1, 1u);
        m.letter = static_cast<char>('a' + block.thread_rank());  // a copy: no other thread sees it
    }
};

struct change_after_launch {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned* wrong) const {
        mixed m{'x', 0.5, {1, 2, 3}};
        int l = -5;
        // int to double, int to long long
        block.launch(take_arguments{}, dynpar::shape(2, 20), m, 7, l, nullptr, wrong);
        m = mixed{'y', 1.5, {0, 0, 0}};
        l = 0;
    }
};

TEST_CASE("C10: arguments are copied by value at the launch, and convert to the kernel's parameters") {
    auto engine = make_engine();
    auto wrong = filled(engine, 2, 0u);
    engine.run(change_after_launch{}, dynpar::shape(1, 3), wrong.data());
    CHECK(wrong.to_vector()[0] == 0);
    CHECK(wrong.to_vector()[1] == 3 * 40);
}

/// Words that are made of a number. How many the compiler does not know, so that they stay in memory: with relocatable
/// device code a kernel has 128 registers.
template <unsigned Words>
struct many_words {
    unsigned word[Words];

    static DYNPAR_FUNCTION unsigned count(unsigned number) { return number < 1000 ? Words : 0; }
    DYNPAR_FUNCTION bool are_of(unsigned number) const {
        bool right = true;
        for (unsigned i = 0; i < count(number); ++i) right = right && word[i] == number * 1000 + i;
        return right;
    }
    DYNPAR_FUNCTION void become_of(unsigned number) {
        for (unsigned i = 0; i < count(number); ++i) word[i] = number * 1000 + i;
    }
};
/// A tree of grids with arguments of 4 * Words + 12 bytes, one thread each, or a few blocks of one thread.
template <unsigned Words>
struct pass_on {
    static constexpr const char* name = "pass_on";

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned levels, many_words<Words> words, unsigned* counters) const {
        dynpar::atomic_add(counters + (words.are_of(levels) ? 0 : 1), 1u);
        if (levels == 0) return;
        words.become_of(levels - 1);
        block.launch(*this, dynpar::shape(1, 1), levels - 1, words, counters);
        block.launch(*this, dynpar::shape(levels % 3 + 1, 1), levels - 1, words, counters);
    }
};

/// A tree for each size. One kernel for all of them: the host's first kernels are what takes long to compile.
struct pass_on_every_size {
    static constexpr unsigned sizes = 6;

    template <unsigned Words, class Block>
    DYNPAR_FUNCTION void start(Block& block, unsigned blocks, unsigned levels, unsigned* counters) const {
        many_words<Words> words;
        words.become_of(levels);
        block.launch(pass_on<Words>{}, dynpar::shape(blocks, 1), levels, words, counters);
    }
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned blocks, unsigned levels, unsigned* counters) const {
        start<4>(block, blocks, levels, counters);        // 32 bytes
        start<5>(block, blocks, levels, counters + 2);    // 40
        start<12>(block, blocks, levels, counters + 4);   // 64
        start<13>(block, blocks, levels, counters + 6);   // 72
        start<22>(block, blocks, levels, counters + 8);   // 100
        start<30>(block, blocks, levels, counters + 10);  // 132
    }
};

TEST_CASE("C10: arguments of 32 to 132 bytes reach every block of a tree of grids") {
    auto engine = make_engine();
    // Few enough for an engine that bounds its pending launches.
    const std::pair<unsigned, unsigned> trees[] = {{1, 4}, {3, 3}, {33, 1}};
    for (const auto& tree : trees) {
        const unsigned first = tree.first, levels = tree.second;
        CAPTURE(first);
        unsigned blocks = 1;  // of a grid with that many levels below it
        for (unsigned level = 1; level <= levels; ++level) blocks = 1 + blocks * (1 + level % 3 + 1);
        auto counters = filled(engine, 2 * pass_on_every_size::sizes, 0u);
        engine.run(pass_on_every_size{}, dynpar::shape(1, 1), first, levels, counters.data());
        const std::vector<unsigned> found = counters.to_vector();
        for (unsigned size = 0; size < pass_on_every_size::sizes; ++size) {
            CAPTURE(size);
            CHECK(found[2 * size] == first * blocks);
            CHECK(found[2 * size + 1] == 0);
        }
    }
}

struct stateful {
    unsigned state;
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned* out) const {
        if (block.thread_rank() == 0) dynpar::atomic_add(out, state);
    }
};
struct launch_stateful {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned* out) const {
        for (unsigned i = 1; i <= 4; ++i) block.launch(stateful{i}, dynpar::shape(1, 2), out);
    }
};

TEST_CASE("C10: the kernel object itself is copied as well") {
    auto engine = make_engine();
    auto out = filled(engine, 1, 0u);
    engine.run(launch_stateful{}, dynpar::shape(1, 1), out.data());
    CHECK(out.to_vector()[0] == 10);
}

// ---- C11: pointers that a child could not follow

struct touch {
    static constexpr const char* name = "touch";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned* memory) const {
        if (block.thread_rank() == 0) *memory = 1;
    }
};

struct pass_pointers {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned* statuses, unsigned* global) const {
        unsigned local = 0;
        unsigned* shared = block.template shared<unsigned>(4);
        unsigned* scratch = block.template scratch<unsigned>(4);
        const dynpar::status told[] = {
            block.launch(touch{}, dynpar::shape(1, 1), &local), block.launch(touch{}, dynpar::shape(1, 1), shared + 1),
            block.then(touch{}, dynpar::shape(1, 1), shared + 3), block.launch(touch{}, dynpar::shape(1, 1), scratch),
            block.launch(touch{}, dynpar::shape(1, 1), global)};
        for (unsigned i = 0; i < 5; ++i) statuses[i] = static_cast<unsigned>(told[i]);
        *shared = local;
    }
};

TEST_CASE("C11: a pointer to local or shared memory is refused, one to scratch or global memory is not") {
    auto engine = make_engine();
    auto statuses = filled(engine, 5, 99u), global = filled(engine, 1, 0u);
    const dynpar::report report =
        engine.try_run(pass_pointers{}, dynpar::shape(1, 1, 16), statuses.data(), global.data());
    const auto invalid = static_cast<unsigned>(dynpar::status::invalid_pointer);
    CHECK(statuses.to_vector() == std::vector<unsigned>{invalid, invalid, invalid, 0, 0});
    CHECK(global.to_vector()[0] == 1);
    CHECK(report.lost_launches == 3);
    for (const dynpar::failure& f : report.failures) {
        CHECK(f.status == dynpar::status::invalid_pointer);
        CHECK(f.kernel == "touch");
    }
}

// ---- C12: scratch memory

struct check_scratch {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, const unsigned* memory, unsigned count, unsigned first,
                                    unsigned* wrong) const {
        for (unsigned i = block.thread_rank(); i < count; i += block.num_threads()) {
            if (memory[i] != first + i) dynpar::atomic_add(wrong, 1u);
        }
    }
};

struct use_scratch {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned count, unsigned first, unsigned* wrong) const {
        if (block.thread_rank() != 0) return;
        auto* memory = block.template scratch<unsigned>(count);
        if (memory == nullptr) {
            dynpar::atomic_add(wrong, 1000u);
            return;
        }
        for (unsigned i = 0; i < count; ++i) memory[i] = first + i;
        // A child reads it, and two continuations, the second of which comes after everything else.
        block.launch(check_scratch{}, dynpar::shape(1, 32), memory, count, first, wrong);
        block.then(check_scratch{}, dynpar::shape(1, 32), memory, count, first, wrong);
        block.then(check_scratch{}, dynpar::shape(2, 32), memory, count, first, wrong);
        dynpar::atomic_add(wrong + 1, 1u);
    }
};

struct one_after_another {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned grids, unsigned blocks, unsigned count,
                                    unsigned* wrong) const {
        auto stream = block.make_stream();
        for (unsigned i = 0; i < grids; ++i) {
            block.launch(stream, use_scratch{}, dynpar::shape(blocks, 32), count, i * 1000, wrong);
        }
    }
};

TEST_CASE("C12: scratch memory is there for children and continuations, and is recycled when its grid is complete") {
    auto engine = make_engine();
    constexpr unsigned grids = many(300);
    for (const unsigned blocks : {1u, 3u}) {
        CAPTURE(blocks);
        // 300 grids after each other take 64 KiB for each block: 19 or 58 MiB in all, more than the 8 MiB of a device
        // heap.
        auto wrong = filled(engine, 2, 0u);
        const dynpar::report report =
            engine.run(one_after_another{}, dynpar::shape(1, 1), grids, blocks, 16384u, wrong.data());
        CHECK(wrong.to_vector()[0] == 0);
        CHECK(wrong.to_vector()[1] == grids * blocks);
        CHECK(report.grids == 1 + grids * (1 + blocks * 3));
    }
}

struct ask_too_much {
    static constexpr const char* name = "ask_too_much";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned* nulls) const {
        if (block.template scratch<double>(1ull << 60) == nullptr) dynpar::atomic_add(nulls, 1u);
        if (block.template scratch<double>(1ull << 62) == nullptr)
            dynpar::atomic_add(nulls, 1u);  // its size in bytes overflows
    }
};

TEST_CASE("C12: scratch memory that does not exist is nullptr, and out_of_memory in the report") {
    auto engine = make_engine();
    auto nulls = filled(engine, 1, 0u);
    const dynpar::report report = engine.try_run(ask_too_much{}, dynpar::shape(1, 1), nulls.data());
    CHECK(nulls.to_vector()[0] == 2);
    const dynpar::failure& f = only_failure(report);
    CHECK(f.operation == dynpar::operation::scratch);
    CHECK(f.status == dynpar::status::out_of_memory);
    CHECK(f.count == 2);
}

struct pixel {
    unsigned char red, green, blue;
};
struct shift_pixels {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, pixel* pixels, unsigned count) const {
        if (count == 1) return;
        pixels[count - 1] = pixels[count - 2];
        block.launch(*this, dynpar::shape(1, 1), pixels, count - 1);
    }
};

TEST_CASE("C10: pointers to structs of any size, whose elements the kernel copies") {
    // nvcc 13.0 broke off here.
    auto engine = make_engine();
    auto pixels = engine.make_buffer({pixel{1, 2, 3}, pixel{4, 5, 6}, pixel{7, 8, 9}});
    engine.run(shift_pixels{}, dynpar::shape(1, 1), pixels.data(), 3u);
    CHECK(pixels.value(0).blue == 3);
    CHECK(pixels.value(1).green == 2);
    CHECK(pixels.value(2).red == 4);
}

}  // namespace
