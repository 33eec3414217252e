// Each thread finds a loop of another length: run by the thread itself, or as a child grid. The simple example of the
// texts on dynamic parallelism.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <type_traits>
#include <vector>

#include <dynpar/dynpar.hpp>

#include "../command_line.hpp"
#include "../with_engine.hpp"

namespace {

/// The text's doSomeWork and doMoreWork, which it leaves open. Exact on every engine.
DYNPAR_FUNCTION inline float some_work(float x) { return x + 1.0f; }
DYNPAR_FUNCTION inline float more_work(float x) { return x * 2.0f + 1.0f; }

/// Where each thread's loop begins and ends, and what it works on.
struct loops {
    const unsigned* start;
    const unsigned* end;
    float* some_data;
    float* more_data;
};

/// `kernel` of the text: every thread runs its own loop, and a warp takes as long as its longest.
struct loop_in_thread {
    static constexpr const char* name = "kernel";

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, loops work, unsigned rows) const {
        const unsigned i = dynpar::this_grid(block).thread_rank();
        if (i >= rows) return;
        work.some_data[i] = some_work(work.some_data[i]);
        for (unsigned j = work.start[i]; j < work.end[i]; ++j) work.more_data[j] = more_work(work.more_data[j]);
    }
};

struct kernel_child {
    static constexpr const char* name = "kernel_child";

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned start, unsigned end, float* more_data) const {
        const unsigned j = start + dynpar::this_grid(block).thread_rank();
        if (j < end) more_data[j] = more_work(more_data[j]);
    }
};

/// `kernel_parent` of the text: every thread launches a child grid for its loop. As published (`even_if_empty`) also
/// where the loop is empty: a grid of 0 blocks, which no device launches.
struct kernel_parent {
    static constexpr const char* name = "kernel_parent";
    bool even_if_empty;

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, loops work, unsigned rows) const {
        const unsigned i = dynpar::this_grid(block).thread_rank();
        if (i >= rows) return;
        work.some_data[i] = some_work(work.some_data[i]);
        const unsigned start = work.start[i];
        const unsigned end = work.end[i];
        if (start < end || even_if_empty) {
            block.launch(kernel_child{}, dynpar::shape((end - start + 255) / 256, 256), start, end, work.more_data);
        }
    }
};

/// Rows of very different length, the same in every run: most short, one in 64 long, one in 8 empty.
struct problem {
    std::vector<unsigned> start, end;
    std::vector<float> some_data, more_data;
    unsigned empty = 0;

    problem(unsigned rows, unsigned longest) {
        unsigned random = 1;
        unsigned position = 0;
        for (unsigned i = 0; i < rows; ++i) {
            random = random * 1664525u + 1013904223u;
            const unsigned draw = random >> 8;
            const unsigned length = i % 8 == 7 ? 0 : i % 64 == 0 ? longest : 1 + draw % (longest < 16 ? longest : 16);
            if (length == 0) ++empty;
            start.push_back(position);
            position += length;
            end.push_back(position);
            some_data.push_back(static_cast<float>(i % 1000));
        }
        for (unsigned j = 0; j < position; ++j) more_data.push_back(static_cast<float>(j % 1000));
    }
};

void require_equal(const char* kernel, const char* what, const std::vector<float>& found,
                   const std::vector<float>& before, float (*work)(float)) {
    for (std::size_t i = 0; i < found.size(); ++i) {
        if (found[i] != work(before[i])) {
            throw samples::wrong_result(std::string(kernel) + ": element " + std::to_string(i) + " of " + what +
                                        " is " + std::to_string(found[i]) + "; the CPU has " +
                                        std::to_string(work(before[i])));
        }
    }
}

/// Runs a kernel over the problem and checks both arrays. Milliseconds by the host's clock and what the run reported;
/// the second of two runs, because the first loads what is loaded when it is needed.
struct outcome {
    double milliseconds = 0;
    dynpar::report report;
};

template <class Engine, class Kernel>
outcome run_loops(Engine& engine, Kernel kernel, const problem& p) {
    outcome result;
    for (int run = 0; run < 2; ++run) {
        auto start = engine.template make_buffer<unsigned>(p.start.size());
        auto end = engine.template make_buffer<unsigned>(p.end.size());
        auto some_data = engine.template make_buffer<float>(p.some_data.size());
        auto more_data = engine.template make_buffer<float>(p.more_data.size());
        start.copy_from(p.start.data());
        end.copy_from(p.end.data());
        some_data.copy_from(p.some_data.data());
        more_data.copy_from(p.more_data.data());
        const auto rows = static_cast<unsigned>(p.start.size());
        const loops work{start.data(), end.data(), some_data.data(), more_data.data()};
        result.report = engine.try_run(kernel, dynpar::shape((rows + 127) / 128, 128), work, rows);
        result.milliseconds = engine.milliseconds();
        if (result.report.lost_launches == 0) {
            require_equal(Kernel::name, "someData", some_data.to_vector(), p.some_data, some_work);
            require_equal(Kernel::name, "moreData", more_data.to_vector(), p.more_data, more_work);
        }
    }
    return result;
}

/// Where thousands of threads launch at once and more children than may be pending, CUDA's device runtime loses
/// launches, or hangs for good (4,096 threads with a child each, on an H200 at the default limit). Throws `input_error`
/// instead.
template <class Engine>
void require_room([[maybe_unused]] const Engine& engine, [[maybe_unused]] std::size_t children) {
#if DYNPAR_HAS_DEVICE_LAUNCH
    if constexpr (std::is_base_of_v<dynpar::cdp_engine, Engine>) {
        const std::size_t room =
            engine.options().limits.pending_launches.value_or(dynpar::device_limits().pending_launches.value_or(0));
        if (children > room) {
            throw samples::input_error("--rows: " + std::to_string(children) +
                                       " children may be pending at once, and " + std::to_string(room) +
                                       " may; give --pending-launches " + std::to_string(children) + ", or fewer rows");
        }
    }
#endif
}

template <class Engine>
int run(Engine& engine, const problem& p, const samples::command_line& command) {
    require_room(engine, p.start.size() - p.empty);
    command.say(std::to_string(p.start.size()) + " loops, " + std::to_string(p.more_data.size()) +
                " iterations in all, " + std::to_string(p.empty) + " loops empty");
    const auto say = [&](const char* what, const outcome& o, const char* judgement) {
        char line[200];
        std::snprintf(line, sizeof line, "%-38s %8llu grids %10.3f ms  %s", what,
                      static_cast<unsigned long long>(o.report.grids), o.milliseconds, judgement);
        command.say(line);
    };
    say("kernel: a loop in each thread", run_loops(engine, loop_in_thread{}, p), "right");

    outcome nested = run_loops(engine, kernel_parent{false}, p);
    if (nested.report.failed_calls != 0) throw dynpar::launch_error(std::move(nested.report));
    say("kernel_parent: a child for each loop", nested, "right");
    command.show_tree(nested.report);

    outcome published = run_loops(engine, kernel_parent{true}, p);
    const dynpar::report& r = published.report;
    const bool only_empty_ones =
        r.lost_launches == p.empty && r.failed_calls == p.empty &&
        (p.empty == 0 || (r.failures.size() == 1 && r.failures[0].status == dynpar::status::invalid_configuration));
    if (!only_empty_ones) throw dynpar::launch_error(std::move(published.report));
    say("kernel_parent, as published", published,
        (std::to_string(p.empty) + " launches of 0 blocks refused: invalid_configuration").c_str());
    command.say("all right");
    return samples::success;
}

}  // namespace

int main(int argc, char** argv) {
    samples::command_line command(
        "uneven_loops",
        "Loops of very different length: each run by its thread, or as a child grid. Times are "
        "the host's, of whole runs.");
    std::int64_t rows = 1024;
    std::int64_t longest = 4096;
    command.add_integer("--rows", rows, 1, 1 << 20, "how many loops, a thread for each");
    command.add_integer("--longest", longest, 1, 1 << 16, "iterations of the longest loop");
    if (const auto status = command.parse(argc, argv)) return *status;
    return samples::with_engine(command, [&](auto& engine) {
        return run(engine, problem(static_cast<unsigned>(rows), static_cast<unsigned>(longest)), command);
    });
}
