// What a child grid sees of its parent's memory, and the parent of its child's: each rule tried, promised or not.
#include <cstdint>
#include <string>
#include <vector>

#include <dynpar/dynpar.hpp>

#include "../command_line.hpp"
#include "../flat_run.hpp"
#include "../with_engine.hpp"
#include "rule.hpp"

namespace {

using counter = unsigned long long;

constexpr unsigned data_size = 256;  // threads of a parent's block and elements of its data, as in the text
constexpr unsigned parents = 64;     // blocks, so that what is not promised has several chances to be seen

/// What element i of a parent's data is once it is written. Before that it is 0.
DYNPAR_FUNCTION constexpr int written(unsigned i) { return static_cast<int>(i) + 1; }

/// Lets time pass on a GPU, so that somebody else gets ahead. The host engine runs one thread at a time: there it is
/// for nothing.
DYNPAR_FUNCTION inline void dawdle() {
#if DYNPAR_ON_DEVICE
    for (int i = 0; i < 100; ++i) __nanosleep(1000);
#endif
}

/// The part of the calling block's parent.
template <class Block>
DYNPAR_FUNCTION int* part_of(const Block& block, int* data) {
    return data + block.block_rank() * data_size;
}

// ---- children

/// Counts the elements that are written.
struct count_written {
    static constexpr const char* name = "count_written";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, const int* data, counter* seen) const {
        for (unsigned i = block.thread_rank(); i < data_size; i += block.num_threads()) {
            if (data[i] == written(i)) dynpar::atomic_add(seen, 1);
        }
    }
};

/// Writes all elements.
struct write_all {
    static constexpr const char* name = "write_all";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, int* data) const {
        for (unsigned i = block.thread_rank(); i < data_size; i += block.num_threads()) data[i] = written(i);
    }
};

// ---- parents: kernel(block, data, seen)

struct write_alone {
    static constexpr const char* name = "write_alone";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, int* data, counter* seen) const {
        if (block.thread_rank() != 0) return;
        int* mine = part_of(block, data);
        for (unsigned i = 0; i < data_size; ++i) mine[i] = written(i);
        block.launch(count_written{}, dynpar::shape(1, 32), mine, seen);
    }
};

struct write_together {
    static constexpr const char* name = "write_together";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, int* data, counter* seen) const {
        int* mine = part_of(block, data);
        mine[block.thread_rank()] = written(block.thread_rank());
        block.sync();
        if (block.thread_rank() == 0) block.launch(count_written{}, dynpar::shape(1, 32), mine, seen);
    }
};

/// The same without the barrier: only element 0 is promised.
struct write_without_sync {
    static constexpr const char* name = "write_without_sync";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, int* data, counter* seen) const {
        int* mine = part_of(block, data);
        if (block.thread_rank() != 0) dawdle();
        mine[block.thread_rank()] = written(block.thread_rank());
        if (block.thread_rank() == 0) block.launch(count_written{}, dynpar::shape(1, 32), mine, seen);
    }
};

struct write_after_launch {
    static constexpr const char* name = "write_after_launch";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, int* data, counter* seen) const {
        int* mine = part_of(block, data);
        if (block.thread_rank() == 0) block.launch(count_written{}, dynpar::shape(1, 32), mine, seen);
        block.sync();
        dawdle();
        mine[block.thread_rank()] = written(block.thread_rank());
    }
};

struct read_after_launch {
    static constexpr const char* name = "read_after_launch";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, int* data, counter* seen) const {
        int* mine = part_of(block, data);
        if (block.thread_rank() == 0) block.launch(write_all{}, dynpar::shape(1, 32), mine);
        block.sync();
        if (mine[block.thread_rank()] == written(block.thread_rank())) dynpar::atomic_add(seen, 1);
    }
};

/// For each part of the data, by continuations: the first has a block for each.
struct count_every_part {
    static constexpr const char* name = "count_every_part";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, int* data, counter* seen) const {
        count_written{}(block, part_of(block, data), seen);
    }
};

struct continue_after_child {
    static constexpr const char* name = "continue_after_child";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, int* data, counter* seen) const {
        if (block.thread_rank() != 0) return;
        block.launch(write_all{}, dynpar::shape(1, 32), part_of(block, data));
        if (block.block_rank() == 0) block.then(count_every_part{}, dynpar::shape(parents, 32), data, seen);
    }
};

struct wait_for_child {
    static constexpr const char* name = "wait_for_child";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, int* data, counter* seen) const {
        int* mine = part_of(block, data);
        if (block.thread_rank() == 0) block.launch(write_all{}, dynpar::shape(1, 32), mine);
        if (block.wait() != dynpar::status::success) return;
        // Not thread 0 alone: wait() is for the whole block, and does what the text needs a second barrier for.
        if (mine[block.thread_rank()] == written(block.thread_rank())) dynpar::atomic_add(seen, 1);
    }
};

/// Memory that the parent's grid owns is as good for a child as memory of the host's.
struct pass_scratch {
    static constexpr const char* name = "pass_scratch";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, int*, counter* seen) const {
        if (block.thread_rank() != 0) return;
        int* mine = block.template scratch<int>(data_size);
        if (mine == nullptr) return;
        for (unsigned i = 0; i < data_size; ++i) mine[i] = written(i);
        block.launch(count_written{}, dynpar::shape(1, 32), mine, seen);
    }
};

// ---- what must not be passed to a child

struct pass_local {
    static constexpr const char* name = "pass_local";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, int*, counter* seen) const {
        int x_array[10] = {};  // as in the text: memory of this thread
        if (block.thread_rank() == 0) block.launch(count_written{}, dynpar::shape(1, 1), x_array, seen);
    }
};

struct pass_shared {
    static constexpr const char* name = "pass_shared";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, int*, counter* seen) const {
        int* memory = block.template shared<int>(data_size);
        if (block.thread_rank() == 0) block.launch(count_written{}, dynpar::shape(1, 1), memory, seen);
    }
};

// ---- the host's side

/// A parent's run: how many elements were seen, and what failed.
struct outcome {
    counter seen = 0;
    dynpar::report report;
};

template <class Engine, class Parent>
outcome try_parent(Engine& engine, Parent parent, unsigned shared_bytes = 0) {
    auto data = engine.template make_buffer<int>(parents * data_size);
    auto seen = engine.template make_buffer<counter>({0});
    data.copy_from(std::vector<int>(data.size(), 0).data());
    outcome result;
    result.report = engine.try_run(parent, dynpar::shape(parents, data_size, shared_bytes), data.data(), seen.data());
    result.seen = seen.value();
    return result;
}

/// The elements seen, where no call may fail.
template <class Engine, class Parent>
counter seen_by(Engine& engine, Parent parent) {
    outcome result = try_parent(engine, parent);
    if (result.report.failed_calls != 0) throw dynpar::launch_error(std::move(result.report));
    return result.seen;
}

template <class Engine>
void try_global_memory(Engine& engine, const visibility::rules& out) {
    const counter all = counter{parents} * data_size;
    out.promised("global", "a child sees what the launching thread wrote before", seen_by(engine, write_alone{}), all);
    out.promised("global", "and what its block wrote before a barrier before the launch",
                 seen_by(engine, write_together{}), all);
    const counter without = seen_by(engine, write_without_sync{});
    if (without < parents) {
        throw samples::wrong_result("a child did not see element 0, which the launching thread wrote");
    }
    out.not_promised("global", "without the barrier: what the block's other threads write", without - parents,
                     all - parents);
    out.not_promised("global", "what the parent writes after the launch", seen_by(engine, write_after_launch{}), all);
    out.not_promised("global", "in the parent: what the child writes, before the child is waited for",
                     seen_by(engine, read_after_launch{}), all);

    outcome waited = try_parent(engine, wait_for_child{});
    const std::vector<dynpar::failure>& failures = waited.report.failures;
    if (waited.report.failed_calls == 0) {
        out.promised("global", "in the parent: what the child wrote, after wait(), in every thread", waited.seen, all);
    } else if (failures.size() == 1 && failures[0].status == dynpar::status::not_supported) {
        out.refused("global", "in the parent: to wait for the child, where the device runtime cannot", true,
                    std::to_string(waited.report.failed_calls) + " calls of wait: not_supported");
    } else {
        throw dynpar::launch_error(std::move(waited.report));
    }

    outcome continued = try_parent(engine, continue_after_child{});
    if (continued.report.failed_calls == 0) {
        out.promised("global", "in a continuation of the parent: what all its children wrote", continued.seen, all);
    } else {
        const bool says_so = continued.report.failures[0].status == dynpar::status::not_supported;
        out.refused("global", "a continuation, where the device runtime has none", says_so, "then: not_supported");
    }
    out.promised("scratch", "a child sees what the launching thread wrote to its grid's own memory",
                 seen_by(engine, pass_scratch{}), all);
}

template <class Engine, class Parent>
void try_forbidden(Engine& engine, const visibility::rules& out, const char* memory, const char* rule, Parent parent,
                   unsigned shared_bytes) {
    const outcome result = try_parent(engine, parent, shared_bytes);
    const bool noticed = result.report.lost_launches == parents && !result.report.failures.empty() &&
                         result.report.failures[0].status == dynpar::status::invalid_pointer && result.seen == 0;
    out.refused(
        memory, rule, noticed,
        std::to_string(result.report.lost_launches) + " of " + std::to_string(parents) + " launches: invalid_pointer");
}

template <class Engine>
int run(Engine& engine, [[maybe_unused]] const std::string& undefined, const samples::command_line& command) {
    const visibility::rules out(command);
    if (undefined != "none") {
        if constexpr (samples::runs_on_gpu<Engine>) {
#if defined(__CUDACC__)
            visibility::try_undefined(out, undefined);
#endif
            return samples::success;
        } else {
            throw samples::input_error("--undefined " + undefined +
                                       " shows what a GPU does with it; run it on a machine with a GPU, with --engine "
                                       "auto or cdp");
        }
    }
    try_global_memory(engine, out);
    try_forbidden(engine, out, "local", "a pointer to the launching thread's local memory as an argument", pass_local{},
                  0);
    try_forbidden(engine, out, "shared", "a pointer to the block's shared memory as an argument", pass_shared{},
                  data_size * sizeof(int));
    if constexpr (samples::runs_on_gpu<Engine>) {
#if defined(__CUDACC__)
        visibility::try_plain_rules(out);
#endif
    } else {
        command.say("zero-copy, constant and texture memory: on a GPU only");
    }
    command.say("all right");
    return samples::success;
}

}  // namespace

int main(int argc, char** argv) {
    samples::command_line command(
        "visibility",
        "What a child grid sees of its parent's memory, and the parent of its child's. A line for each rule: what is "
        "promised is checked, what is not is shown as it came out, what is forbidden must be refused.");
    std::string undefined = "none";
    command.add_choice("--undefined", undefined, {"none", "local", "shared"},
                       "instead of the rules, on a GPU: hand a child such memory past all checks, and see what "
                       "comes of it");
    if (const auto status = command.parse(argc, argv)) return *status;
    return samples::with_engine(command, [&](auto& engine) { return run(engine, undefined, command); });
}
