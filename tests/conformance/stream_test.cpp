// Contract rows C4 and C5: streams and events.
#include "engine_under_test.hpp"

#include <algorithm>
#include <utility>

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

/// A call of every thread with a stream or an event that was moved from, by its number; and a good stream, which runs.
struct use_what_was_moved {
    static constexpr const char* name = "use_what_was_moved";
    static constexpr unsigned kinds = 7;

    static dynpar::operation operation_of(unsigned kind) {
        return kind == 6  ? dynpar::operation::launch
               : kind < 3 ? dynpar::operation::wait_event
                          : dynpar::operation::record_event;
    }

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, bool by_assignment, unsigned kind, unsigned* failed,
                                    unsigned* ran) const {
        auto moved_stream = block.make_stream(), other_stream = block.make_stream();
        auto moved_event = block.make_event(), other_event = block.make_event();
        block.launch(other_stream, count_one{}, dynpar::shape(1, 1), ran);
        other_event.record(other_stream);
        if (by_assignment) {  // what they had is given up, and its work runs
            other_stream = std::move(moved_stream);
            other_event = std::move(moved_event);
        }
        auto stream = by_assignment ? std::move(other_stream) : std::move(moved_stream);
        auto event = by_assignment ? std::move(other_event) : std::move(moved_event);
        block.launch(stream, count_one{}, dynpar::shape(1, 1), ran);
        dynpar::status told = event.record(stream);
        if (kind == 0) told = moved_stream.wait(event);
        if (kind == 1) told = stream.wait(moved_event);
        if (kind == 2) told = moved_stream.wait(moved_event);
        if (kind == 3) told = event.record(moved_stream);
        if (kind == 4) told = moved_event.record(stream);
        if (kind == 5) told = moved_event.record(moved_stream);
        if (kind == 6) told = block.launch(moved_stream, count_one{}, dynpar::shape(1, 1), ran);
        if (told == dynpar::status::launch_failed) dynpar::atomic_add(failed, 1u);
        // What has it now is not changed by that, and what was moved from can be given another.
        moved_stream = block.make_stream();
        moved_event = std::move(event);
        moved_stream.wait(moved_event);
        block.launch(moved_stream, count_one{}, dynpar::shape(1, 1), ran);
    }
};

TEST_CASE("C4, C5: a call with a stream or an event that was moved from fails, and each is in the report") {
    auto engine = make_engine();
    for (const unsigned threads : {1u, threads_with_streams}) {
        for (unsigned way = 0; way < 2 * use_what_was_moved::kinds; ++way) {
            const bool by_assignment = way % 2 != 0;
            const unsigned kind = way / 2;
            CAPTURE(threads);
            CAPTURE(by_assignment);
            CAPTURE(kind);
            const dynpar::shape shape(2, threads);
            const dynpar::operation operation = use_what_was_moved::operation_of(kind);
            const bool is_launch = operation == dynpar::operation::launch;
            auto failed = filled(engine, 1, 0u), ran = filled(engine, 1, 0u);
            const dynpar::report report =
                engine.try_run(use_what_was_moved{}, shape, by_assignment, kind, failed.data(), ran.data());
            CHECK(failed.value() == 2 * threads);
            CHECK(ran.value() == 6 * threads);
            CHECK(report.failed_calls == 2 * threads);
            CHECK(report.lost_launches == (is_launch ? 2 * threads : 0));
            const dynpar::failure& failure = only_failure(report);
            CHECK(failure.operation == operation);
            CHECK(failure.status == dynpar::status::launch_failed);
            CHECK(failure.count == 2 * threads);
            CHECK(failure.kernel == (is_launch ? count_one::name : use_what_was_moved::name));
            CHECK(failure.depth == (is_launch ? 1u : 0u));
            CHECK(failure.shape == (is_launch ? dynpar::shape(1, 1) : shape));
            CHECK_THROWS_AS(engine.run(use_what_was_moved{}, shape, by_assignment, kind, failed.data(), ran.data()),
                            dynpar::launch_error);
        }
    }
}

}  // namespace
