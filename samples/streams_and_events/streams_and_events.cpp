// Which grids run one after another and which may run together: streams and events, with a drawing of each experiment.
#include <cstdint>
#include <string>
#include <vector>

#include <dynpar/dynpar.hpp>

#include "../command_line.hpp"
#include "../flat_run.hpp"
#include "../with_engine.hpp"
#include "timeline.hpp"

namespace {

using streams_and_events::interval;
using streams_and_events::timeline;

/// Places of the grids' intervals.
enum slot : unsigned { parent_slot, first_slot, second_slot, after_slot, slots };

struct child {
    static constexpr const char* name = "child";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, interval* where, std::uint64_t nanoseconds) const {
        if (block.thread_rank() == 0) streams_and_events::note_and_spin(where, nanoseconds);
    }
};

/// How a parent launches its two children.
enum class order { no_stream, one_stream, two_streams, two_streams_and_event };

struct parent {
    static constexpr const char* name = "parent";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, order how, interval* grids, std::uint64_t nanoseconds) const {
        if (block.thread_rank() != 0) return;
        grids[parent_slot].begin = streams_and_events::now();
        const dynpar::shape one(1, 32);
        interval* const first = &grids[first_slot];
        interval* const second = &grids[second_slot];
        switch (how) {
            case order::no_stream:
                block.launch(child{}, one, first, nanoseconds);
                block.launch(child{}, one, second, nanoseconds);
                break;
            case order::one_stream: {
                auto stream = block.make_stream();
                block.launch(stream, child{}, one, first, nanoseconds);
                block.launch(stream, child{}, one, second, nanoseconds);
                break;
            }
            case order::two_streams: {
                auto one_stream = block.make_stream();
                auto other_stream = block.make_stream();
                block.launch(one_stream, child{}, one, first, nanoseconds);
                block.launch(other_stream, child{}, one, second, nanoseconds);
                break;
            }
            case order::two_streams_and_event: {
                auto one_stream = block.make_stream();
                auto other_stream = block.make_stream();
                auto first_done = block.make_event();
                block.launch(one_stream, child{}, one, first, nanoseconds);
                first_done.record(one_stream);
                other_stream.wait(first_done);
                block.launch(other_stream, child{}, one, second, nanoseconds);
                break;
            }
        }
        // Where the text waits and prints "parent kernel end".
        block.then(child{}, one, &grids[after_slot], std::uint64_t{0});
        grids[parent_slot].end = streams_and_events::now();
    }
};

struct experiment {
    order how;
    const char* title;
    const char* promise;
    bool ordered;
};

constexpr experiment experiments[] = {
    {order::no_stream, "two children without a stream", "may run together, need not", false},
    {order::one_stream, "two children in one stream", "promised: one after the other", true},
    {order::two_streams, "two children in two streams", "may run together, need not", false},
    {order::two_streams_and_event, "two children in two streams, the second waits for an event after the first",
     "promised: one after the other", true},
};

template <class Engine>
int run(Engine& engine, std::uint64_t nanoseconds, const samples::command_line& command) {
    for (const experiment& e : experiments) {
        std::vector<interval> grids;
        dynpar::report report;
        for (int run = 0; run < 2; ++run) {  // the first loads what is loaded when it is needed; the second is drawn
            auto intervals = engine.template make_buffer<interval>(slots);
            intervals.copy_from(std::vector<interval>(slots).data());
            report = engine.try_run(parent{}, dynpar::shape(1, 32), e.how, intervals.data(), nanoseconds);
            grids = intervals.to_vector();
        }
        const bool has_continuation =
            report.failed_calls != 1 || report.failures.at(0).status != dynpar::status::not_supported;
        std::vector<std::string> names = {"parent", "first", "second"};
        if (has_continuation) {
            if (report.failed_calls != 0) throw dynpar::launch_error(report);
            names.push_back("after");
        }
        const timeline t(e.title, names, grids);
        if (e.ordered) t.require_order("first", "second");
        if (has_continuation) {
            t.require_order("parent", "after");
            t.require_order("first", "after");
            t.require_order("second", "after");
        }
        t.draw(command, e.promise, "first", "second");
        command.show_tree(report);
    }
    if constexpr (samples::runs_on_gpu<Engine>) {
#if defined(__CUDACC__)
        streams_and_events::try_plain_streams(command, nanoseconds);
#endif
    } else {
        command.say("\nhost streams and the default stream of a block: on a GPU only");
    }
    command.say("all right");
    return samples::success;
}

}  // namespace

int main(int argc, char** argv) {
    samples::command_line command("streams_and_events",
                                  "Streams and events in kernels, and on a GPU of the host: each experiment is drawn "
                                  "from what its grids noted of themselves. An order that is promised is checked; "
                                  "that grids run together is shown, and promised nowhere.");
    std::int64_t microseconds = 200;
    command.add_integer("--microseconds", microseconds, 1, 100000, "how long a grid lasts");
    if (const auto status = command.parse(argc, argv)) return *status;
    return samples::with_engine(
        command, [&](auto& engine) { return run(engine, static_cast<std::uint64_t>(microseconds) * 1000, command); });
}
