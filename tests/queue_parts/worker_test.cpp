// All parts together: whole runs of the queue engine, on warps that are threads of the CPU. Kernels hand on what they
// have computed as plain memory, so what the engine does not order is a data race.
#include "machine.hpp"

#include <dynpar/dynpar.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <thread>

using namespace queue_parts;

namespace {

/// A run of the engine: what the host does for it, and its persistent grid. Under the engine's lock, as a graph's: else
/// the last worker block's first thread sets words to zero that other threads of it may still find to be zero.
template <class Kernel, class... Args>
void run_engine(machine& m, const queue::engine_view& view, const dynpar::shape& shape, const Kernel& kernel,
                const Args&... args) {
    const auto payload = queue::make_first_payload(kernel, args...);
    const queue::width_choice choice = queue::choose_width(shape, view.moldable_threads);
    queue::first_grid first{};
    first.shape = shape;
    queue::put_descriptor(first.descriptor, shape, choice.threads, dynpar::grid_record::none);
    queue::wide_task& task = first.descriptor.task;
    task.size = queue::block_size(choice.threads, shape.shared_bytes);
    task.last = static_cast<std::uint32_t>(shape.blocks.count());
    task.info = choice.width | queue::info::owner | (task.last > 1 ? queue::info::one_of_several : 0u);
    queue::put_kernel(first, queue::first_kernel_of<queue::this_module, Kernel, Args...>, &payload,
                      queue::payload_bytes<Kernel, Args...>);
    queue::divide(first, m.size().worker_blocks, m.size().warps);
    queue::engine_view locked = view;
    locked.locked = true;
    m.run_grid([&] { queue::persistent_grid<queue::this_module, sizeof(payload)>(locked, first, payload); });
}

constexpr machine_size sizes[] = {{3, 1, 16, 1u << 14, true}, {2, 2, 16, 1u << 14, true}, {1, 3, 16, 1u << 14, false}};

// ---- Joins

struct add_up {
    static constexpr const char* name = "add_up";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, u64* values, unsigned node) const {
        if (block.thread_rank() == 0) values[node] = 1 + values[2 * node + 1] + values[2 * node + 2];
    }
};
struct joining_tree {
    static constexpr const char* name = "joining_tree";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, u64* values, unsigned node, unsigned levels, unsigned threads) const {
        if (block.thread_rank() != 0) return;
        if (levels == 0) {
            values[node] = 1;
            return;
        }
        for (unsigned i = 1; i <= 2; ++i) {
            block.launch(*this, dynpar::shape(1, threads), values, 2 * node + i, levels - 1, threads);
        }
        block.then(add_up{}, dynpar::shape(1, 1), values, node);
    }
};

/// Binary trees of every width on every machine, each of whose nodes counts what is below it.
template <class Tree>
void check_trees(const Tree& tree, unsigned levels_of_lanes, unsigned levels_of_others) {
    for (const machine_size& size : sizes) {
        for (const unsigned threads : {1u, 32u, size.warps * 32}) {
            CAPTURE(size.worker_blocks);
            CAPTURE(threads);
            machine m(size);
            const no_races sees;
            const unsigned levels = threads == 1 ? levels_of_lanes : levels_of_others;
            std::vector<u64> values((2u << levels) - 1);
            run_engine(m, m.view, dynpar::shape(1, threads), tree, values.data(), 0u, levels, threads);
            CHECK(values[0] == values.size());
            CHECK(m.view.result->grids >= values.size());
            CHECK(sees.hold());
        }
    }
}

TEST_CASE("a continuation sees what its grid's children have written, in a tree that all warps work at") {
    check_trees(joining_tree{}, 9, 6);
}

// ---- Waits

struct waiting_tree {
    static constexpr const char* name = "waiting_tree";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, u64* values, unsigned node, unsigned levels, unsigned threads) const {
        const bool first = block.thread_rank() == 0;
        if (levels == 0) {
            if (first) values[node] = 1;
            return;
        }
        if (first) {
            for (unsigned i = 1; i <= 2; ++i) {
                block.launch(*this, dynpar::shape(1, threads), values, 2 * node + i, levels - 1, threads);
            }
        }
        if (block.wait() != dynpar::status::success) return;
        if (first) values[node] = 1 + values[2 * node + 1] + values[2 * node + 2];
    }
};

TEST_CASE("a block sees after wait() what its children have written, in a tree that all warps work at") {
    check_trees(waiting_tree{}, 7, 5);
}

// ---- Grids of many blocks, one after another

struct level {
    static constexpr const char* name = "level";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, u64* from, u64* to, unsigned left) const {
        const unsigned blocks = block.num_blocks(), rank = block.block_rank();
        if (block.thread_rank() != 0) return;
        to[rank] = from[(rank + 1) % blocks] + from[(rank + blocks / 2) % blocks];
        if (left != 0 && rank == 0) {
            block.then(*this, dynpar::shape(blocks, block.num_threads()), to, from, left - 1);
        }
    }
};

TEST_CASE("a grid of many blocks sees what all blocks of the one before it have written") {
    for (const machine_size& size : sizes) {
        for (const unsigned threads : {1u, 32u, size.warps * 32}) {
            CAPTURE(size.worker_blocks);
            CAPTURE(threads);
            machine m(size);
            const no_races sees;
            constexpr unsigned grids = 8;
            const unsigned blocks = threads == 1 ? 300 : 50;
            std::vector<u64> a(blocks, 1), b(blocks);
            run_engine(m, m.view, dynpar::shape(blocks, threads), level{}, a.data(), b.data(), grids - 1);
            for (const u64 value : a) CHECK(value == 1u << grids);
            CHECK(sees.hold());
        }
    }
}

// ---- Streams

struct append {
    static constexpr const char* name = "append";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned* list, unsigned number) const {
        if (block.thread_rank() == 0) list[++list[0]] = number;
    }
};
struct give_in_order {
    static constexpr const char* name = "give_in_order";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned* lists, unsigned each) const {
        if (block.thread_rank() != 0) return;
        auto stream = block.make_stream();
        unsigned* const list = lists + block.block_rank() * (each + 1);
        for (unsigned i = 0; i < each; ++i) {
            block.launch(stream, append{}, dynpar::shape(1, i % 2 == 0 ? 1 : 32), list, i);
        }
    }
};

TEST_CASE("a grid of a stream sees what the one before it has written") {
    for (const machine_size& size : sizes) {
        CAPTURE(size.worker_blocks);
        machine m(size);
        const no_races sees;
        constexpr unsigned blocks = 6, each = 12;
        std::vector<unsigned> lists(blocks * (each + 1));
        run_engine(m, m.view, dynpar::shape(blocks, 32), give_in_order{}, lists.data(), each);
        for (unsigned b = 0; b < blocks; ++b) {
            CHECK(lists[b * (each + 1)] == each);
            for (unsigned i = 0; i < each; ++i) CHECK(lists[b * (each + 1) + 1 + i] == i);
        }
        CHECK(sees.hold());
    }
}

// ---- One run after another

struct note_run {
    static constexpr const char* name = "note_run";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, u64* runs, u64* sum) const {
        if (block.block_rank() != 0 || block.thread_rank() != 0) return;
        runs[0] += 1;
        sum[0] += runs[0];
        block.launch(append{}, dynpar::shape(1, 1), reinterpret_cast<unsigned*>(runs + 1), 1u);
        runs[1] = 0;
    }
};

TEST_CASE("replays of runs of one engine follow each other, and the host finds the result of each when it is there") {
    machine m({2, 2, 16, 1u << 14, true});
    const no_races sees;
    constexpr unsigned replays = 12;
    u64 runs[4] = {}, sum = 0;
    counter<unsigned> wrong;
    const auto replay = [&] {
        for (unsigned i = 0; i < replays; ++i) {
            queue::run_result result{};
            queue::engine_view view = m.view;
            view.result = &result;
            view.replayed = true;
            std::thread host([&] {
                while (__atomic_load_n(&result.finished, __ATOMIC_ACQUIRE) == 0) std::this_thread::yield();
                if (result.grids != 8 || result.stopped != queue::not_stopped) wrong.add();
            });
            m.run_grid([&] {
                if (blockIdx.x == 0 && threadIdx.x == 0) queue::enter_engine(view.control, 100u);
            });
            run_engine(m, view, dynpar::shape(7, 32), note_run{}, static_cast<u64*>(runs), &sum);
            host.join();
        }
    };
    std::thread one(replay), other(replay);
    one.join();
    other.join();
    CHECK(runs[0] == 2 * replays);
    CHECK(sum == replays * (2 * replays + 1));
    CHECK(m.control().lock == 0);
    CHECK(sees.hold());
}

struct launch_for_ever {
    static constexpr const char* name = "launch_for_ever";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned depth) const {
        for (unsigned i = 0; i < 3; ++i) block.launch(*this, dynpar::shape(2, 32), depth + 1);
    }
};

TEST_CASE("a run without memory ends, and the next one finds the engine as it was") {
    machine m({2, 2, 16, 1500});
    const no_races sees;
    run_engine(m, m.view, dynpar::shape(2, 32), launch_for_ever{}, 0u);
    std::vector<u64> values(63);
    run_engine(m, m.view, dynpar::shape(1, 1), joining_tree{}, values.data(), 0u, 5u, 1u);
    CHECK(m.view.result->stopped == queue::not_stopped);
    CHECK(values[0] == 63);
    CHECK(sees.hold());
}

// ---- What is known of kernels

TEST_CASE("a worker block begins with the kernels of its module, and without entries whose key it has not seen") {
    machine m({1, 1, 16, 1u << 14, true});
    queue::known_kernels of_module{};
    of_module.all[3] = {0, 1, 2, 3};  // as it looks to who reads the key before another thread writes all of it
    of_module.all[4] = {8, 1, 2, 3};
    of_module.all[5] = {16, 0, 0, 0};
    m.run([&] {
        queue::begin_known_kernels(of_module);
        __syncwarp();
        if (queue::lane_rank() != 0) return;
        const queue::known_kernel* const all = queue::this_block().kernels.all;
        CHECK((all[3].key | all[3].lane | all[3].wide_lane | all[3].wide) == 0);
        CHECK((all[4].key == 8 && all[4].lane == 1 && all[4].wide_lane == 2 && all[4].wide == 3));
        CHECK((all[5].key == 16 && all[5].lane == 0));
        CHECK(queue::this_block().kernels_of_module == &of_module);
    });
}

// ---- Wide tasks in a row

counter<unsigned> blocks_that_ran;

/// Of a kernel that runs on warps alone.
queue::kernel_entries entered_at(queue::wide_entry wide) {
    return {+[](queue::arena_index, std::uint32_t, queue::lane_arguments) -> queue::block_outcome { std::abort(); },
            +[](queue::wide_task, std::uint32_t) -> queue::block_outcome { std::abort(); }, wide};
}

/// A block of one thread, whose return changes nothing: it says that it has launched a child.
unsigned count_block(std::uint32_t, bool) {
    blocks_that_ran.add();
    return 1;
}

/// How many blocks a warp has run when it looks up again, of so many tasks of one block, after `change` of what it has.
unsigned blocks_in_a_step(machine& m, unsigned tasks, unsigned in_a_row, const std::function<void()>& change) {
    blocks_that_ran.set(0);
    m.run([&] {
        if (queue::lane_rank() == 0) {
            queue::wide_task task{};
            task.key = [](queue::kernel_entries* there) { *there = entered_at(&count_block); };
            task.info = queue::info::on_warp;
            task.size = queue::block_size(1);
            task.last = 1;
            for (unsigned i = 0; i < tasks; ++i) queue::push(task);
            change();
        }
        __syncwarp();
        queue::run_wide(tasks, in_a_row);
        __syncwarp();
        if (queue::lane_rank() == 0) {
            queue::warp_state& warp = queue::this_warp();
            CHECK(warp.wide_owner_end - warp.wide_steal_end == tasks - blocks_that_ran.get());
            warp.wide_owner_end = warp.wide_steal_end;
            warp.lane_owner_end = warp.lane_steal_end;
            warp.ready = 0;
            queue::this_block().gang.has_candidate = 0;
        }
    });
    return blocks_that_ran.get();
}

TEST_CASE("a warp runs as many wide tasks in a row as it is told, while its next step would do nothing else") {
    machine m({1, 1, 16, 1u << 14, true});
    const auto nothing = [] {};
    // Its time may be up before: then it has run fewer.
    unsigned most = 0;
    for (unsigned tries = 0; tries < 1000 && most < 3; ++tries) most = blocks_in_a_step(m, 20, 3, nothing);
    CHECK(most == 3);
    for (unsigned tries = 0; tries < 20; ++tries) CHECK(blocks_in_a_step(m, 20, 3, nothing) <= 3);
    CHECK(blocks_in_a_step(m, 20, 1, nothing) == 1);
    CHECK(blocks_in_a_step(m, 1, 1, nothing) == 1);
}

TEST_CASE("a warp that runs wide tasks looks up for whatever else its next step would do") {
    machine m({1, 1, 16, 1u << 14, true});
    const unsigned nearly_full = queue::wide_deque_capacity - queue::deque_reserve + 2;
    for (unsigned tries = 0; tries < 20; ++tries) {  // its time may be up in some of them
        CHECK(blocks_in_a_step(m, 20, 8, [] { queue::push(queue::lane_task{}); }) == 1);
        CHECK(blocks_in_a_step(m, 20, 8, [] { queue::this_warp().ready = 1; }) == 1);
        CHECK(blocks_in_a_step(m, 20, 8, [] { queue::this_block().gang.has_candidate = 1; }) == 1);
        CHECK(blocks_in_a_step(m, nearly_full, 8, [] {}) == 1);
    }
}

/// A block that leaves another one like it.
unsigned count_and_go_on(std::uint32_t, bool) {
    blocks_that_ran.add();
    queue::wide_task task{};
    task.key = [](queue::kernel_entries* there) { *there = entered_at(&count_and_go_on); };
    task.info = queue::info::on_warp;
    task.size = queue::block_size(1);
    task.last = 1;
    CHECK(queue::push(task));
    return 1;
}

/// How many blocks of a chain a warp has run when it looks up again, after `change` of what it has besides.
unsigned blocks_of_a_chain_in_a_step(machine& m, const std::function<void()>& change) {
    blocks_that_ran.set(0);
    m.run([&] {
        if (queue::lane_rank() == 0) {
            count_and_go_on(0, true);
            blocks_that_ran.set(0);
            change();
        }
        __syncwarp();
        queue::run_wide(1, 1);
        __syncwarp();
        if (queue::lane_rank() == 0) {
            queue::warp_state& warp = queue::this_warp();
            warp.wide_owner_end = warp.wide_steal_end;
            warp.lane_owner_end = warp.lane_steal_end;
            warp.ready = 0;
            for (queue::spilled_tasks* spilled : {&warp.spilled_wides, &warp.spilled_lanes}) {
                if (spilled->head() != 0) queue::release(spilled->head(), queue::tuning::segment_class);
                *spilled = queue::spilled_tasks(0);
            }
        }
    });
    return blocks_that_ran.get();
}

TEST_CASE(
    "a warp runs blocks that each leave the next one in a row, unless it has other tasks, spilled ones among them") {
    machine m({1, 1, 16, 1u << 14, true});
    unsigned most = 0;  // its time may be up before
    for (unsigned tries = 0; tries < 1000 && most < queue::tuning::wide_tasks_in_a_row; ++tries)
        most = std::max(most, blocks_of_a_chain_in_a_step(m, [] {}));
    CHECK(most == queue::tuning::wide_tasks_in_a_row);
    for (unsigned tries = 0; tries < 20; ++tries) {
        CHECK(blocks_of_a_chain_in_a_step(m, [] { queue::push_spilled(queue::wide_task{}); }) == 1);
        CHECK(blocks_of_a_chain_in_a_step(m, [] { queue::push_spilled(queue::lane_task{}); }) == 1);
        CHECK(blocks_of_a_chain_in_a_step(m, [] { queue::this_warp().ready = 1; }) == 1);
        CHECK(blocks_of_a_chain_in_a_step(m, [] { queue::push(queue::lane_task{}); }) == 1);
    }
}

}  // namespace
