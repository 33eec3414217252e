// Contract rows C4 and C5: streams and events.
#include "engine_under_test.hpp"

#include <algorithm>

using namespace conformance;

namespace {

struct launch_in_two_streams {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned* first, unsigned* second, unsigned count) const {
        auto a = block.make_stream();
        auto b = block.make_stream();
        for (unsigned i = 0; i < count; ++i) {
            block.launch(a, append{}, dynpar::shape(1, i % 2 == 0 ? 1 : 40), first, i);
            block.launch(b, append{}, dynpar::shape(1, 32), second, i);
        }
    }
};

TEST_CASE("C4: grids of one stream run in order, those of two streams all run") {
    auto engine = make_engine();
    auto first = filled(engine, 100, 0u), second = filled(engine, 100, 0u);
    engine.run(launch_in_two_streams{}, dynpar::shape(1, 1), first.data(), second.data(), 50u);
    for (const auto* list : {&first, &second}) {
        const std::vector<unsigned> order = appended(*list);
        CHECK(order.size() == 50);
        CHECK(std::is_sorted(order.begin(), order.end()));
    }
}

// A grid is over only with its children: the next grid of the stream must see what they did.
struct child_then_append {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned* list, unsigned number) const {
        if (block.thread_rank() != 0) return;
        block.launch(append{}, dynpar::shape(1, 1), list, number);
        block.then(append{}, dynpar::shape(1, 1), list, number + 1);
    }
};
struct stream_of_parents {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned* list, unsigned count) const {
        auto stream = block.make_stream();
        for (unsigned i = 0; i < count; ++i)
            block.launch(stream, child_then_append{}, dynpar::shape(1, 4), list, 2 * i);
    }
};

TEST_CASE("C4: the next grid of a stream begins after the earlier one's children and continuations") {
    auto engine = make_engine();
    auto list = filled(engine, 100, 0u);
    engine.run(stream_of_parents{}, dynpar::shape(1, 1), list.data(), 20u);
    const std::vector<unsigned> order = appended(list);
    CHECK(order.size() == 40);
    CHECK(std::is_sorted(order.begin(), order.end()));
}

struct one_stream_a_block {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned* lists, unsigned count) const {
        if (block.thread_rank() != 0) return;
        auto made = block.make_stream();
        auto stream = static_cast<decltype(made)&&>(made);  // a stream can be moved
        for (unsigned i = 0; i < count; ++i)
            block.launch(stream, append{}, dynpar::shape(1, 1), lists + block.block_rank() * 64, i);
    }
};

TEST_CASE("C4: streams of different blocks do not disturb each other, and outlive the block that made them") {
    auto engine = make_engine();
    auto lists = filled(engine, 20 * 64, 0u);
    engine.run(one_stream_a_block{}, dynpar::shape(20, 33), lists.data(), 30u);
    const std::vector<unsigned> all = lists.to_vector();
    unsigned wrong = 0;
    for (unsigned block = 0; block < 20; ++block) {
        wrong += all[block * 64] != 30;
        for (unsigned i = 0; i < 30; ++i) wrong += all[block * 64 + 1 + i] != i;
    }
    CHECK(wrong == 0);
}

struct two_streams_one_event {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned* list) const {
        auto a = block.make_stream();
        auto b = block.make_stream();
        auto event = block.make_event();
        b.wait(event);  // never recorded so far: holds nothing up
        block.launch(a, child_then_append{}, dynpar::shape(1, 1), list, 1u);
        block.launch(a, append{}, dynpar::shape(1, 1), list, 3u);
        event.record(a);
        b.wait(event);
        block.launch(b, append{}, dynpar::shape(1, 1), list, 4u);
        event.record(b);  // a new record; what waited for the old one is not concerned
        a.wait(event);
        block.launch(a, append{}, dynpar::shape(1, 1), list, 5u);
    }
};

TEST_CASE("C5: a stream that waits for an event continues after the work recorded before it") {
    auto engine = make_engine();
    for (int repeat = 0; repeat < 10; ++repeat) {
        auto list = filled(engine, 16, 0u);
        engine.run(two_streams_one_event{}, dynpar::shape(1, 1), list.data());
        CHECK(appended(list) == std::vector<unsigned>{1, 2, 3, 4, 5});
    }
}

struct chain_of_events {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned* list, unsigned count) const {
        auto previous = block.make_stream();
        for (unsigned i = 0; i < count; ++i) {
            auto next = block.make_stream();
            auto event = block.make_event();
            block.launch(previous, append{}, dynpar::shape(1, 1), list, i);
            event.record(previous);
            next.wait(event);
            previous = static_cast<decltype(next)&&>(next);
        }
        block.launch(previous, append{}, dynpar::shape(1, 1), list, count);
    }
};

TEST_CASE("C5: events order a chain of streams, each made for one grid") {
    auto engine = make_engine();
    auto list = filled(engine, 200, 0u);
    engine.run(chain_of_events{}, dynpar::shape(1, 1), list.data(), 100u);
    const std::vector<unsigned> order = appended(list);
    CHECK(order.size() == 101);
    CHECK(std::is_sorted(order.begin(), order.end()));
}

}  // namespace
