// The join counter and its batches, nodes, streams, and what the warps of a worker block agree on.
#include "machine.hpp"

#include <dynpar/dynpar.hpp>

#include <doctest/doctest.h>

#include <thread>

using namespace queue_parts;

namespace {

// ---- All orders of a small tree

/// Grids of one thread each, by number. Some have a continuation.
struct tree {
    struct grid {
        std::vector<unsigned> children;
        bool continues = false;
        bool launches_first = false;  // before it adds the continuation
    };
    std::vector<grid> grids;
};

/// What has happened in one order.
struct history {
    const tree* of = nullptr;
    std::vector<unsigned> runs, continuations;
    unsigned too_early = 0;

    bool has_run(unsigned number) const {
        for (const unsigned child : of->grids[number].children) {
            if (!has_run(child)) return false;
        }
        return runs[number] == 1 && continuations[number] == (of->grids[number].continues ? 1u : 0u);
    }
};
history now;

struct continue_grid {
    static constexpr const char* name = "continue_grid";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block&, unsigned number) const {
        for (const unsigned child : now.of->grids[number].children) now.too_early += !now.has_run(child);
        ++now.continuations[number];
    }
};
struct run_grid_of_tree {
    static constexpr const char* name = "run_grid_of_tree";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned number) const {
        const tree::grid& grid = now.of->grids[number];
        ++now.runs[number];
        if (grid.continues && !grid.launches_first) block.then(continue_grid{}, dynpar::shape(1, 1), number);
        for (const unsigned child : grid.children) block.launch(*this, dynpar::shape(1, 1), child);
        if (grid.continues && grid.launches_first) block.then(continue_grid{}, dynpar::shape(1, 1), number);
    }
};

/// One warp's lanes act for several warps of a worker block, one after another, in an order that `choose` draws.
class warps_in_turns {
public:
    explicit warps_in_turns(const std::function<unsigned(unsigned)>& choose) : choose_(choose) {}

    /// All lanes. False if the run does not end with nothing left to run.
    bool run(unsigned warps) {
        using deque = queue::own_deque<queue::lane_task>;
        unsigned donations = 0;
        for (unsigned actions = 0; actions < 200; ++actions) {
            struct option {
                enum action_type { run_one, run_all, run_ready, donate, flush } action;
                unsigned warp, to;
            };
            std::vector<option> options;
            for (unsigned w = 0; w < warps; ++w) {
                act_for(w);
                const unsigned tasks = deque::owner_end() - deque::steal_end();
                if (tasks != 0) options.push_back({option::run_one, w, w});
                if (tasks > 1) options.push_back({option::run_all, w, w});
                if (queue::this_warp().ready != 0) options.push_back({option::run_ready, w, w});
                for (unsigned to = 0; to < warps && tasks > 1 && donations < 3; ++to) {
                    if (to != w) options.push_back({option::donate, w, to});
                }
                if (queue::this_warp().batch != 0) options.push_back({option::flush, w, w});
            }
            __syncwarp();
            if (options.empty()) return true;
            const option chosen = options[__shfl_sync(
                queue::all_lanes, queue::lane_rank() == 0 ? choose_(static_cast<unsigned>(options.size())) : 0, 0)];
            act_for(chosen.warp);
            switch (chosen.action) {
                case option::run_one: queue::run_lanes<false>(1, 0); break;
                case option::run_all:
                    queue::run_lanes<false>(deque::owner_end() - deque::steal_end(), queue::this_warp().ready);
                    break;
                case option::run_ready: queue::run_lanes<false>(0, queue::this_warp().ready); break;
                case option::flush: queue::flush_warp_batch(); break;
                default: ++donations, donate_oldest(chosen.to);
            }
            __syncwarp();
        }
        return false;
    }

private:
    static void act_for(unsigned warp) {
        simulated_gpu::current->index.x = warp * queue::warp_size + simulated_gpu::current->lane;
    }
    /// As donate(), and accept_donation() at once.
    static void donate_oldest(unsigned to) {
        using deque = queue::own_deque<queue::lane_task>;
        queue::flush_warp_batch();
        if (queue::lane_rank() != 0) return;
        queue::lane_task task;
        queue::copy_task(task, queue::slot<queue::lane_task>(deque::steal_end()));
        ++deque::steal_end();
        const std::uint32_t steal_end = deque::steal_end();
        if (static_cast<std::int32_t>(deque::base() - steal_end) < 0) deque::base() = steal_end;
        const unsigned from = threadIdx.x / queue::warp_size;
        act_for(to);
        queue::push(task);
        act_for(from);
    }

    const std::function<unsigned(unsigned)>& choose_;
};

/// All lanes of one warp: runs the tree in one order. False if anything went wrong.
bool run_in_order(const tree& t, unsigned warps, const std::function<unsigned(unsigned)>& choose) {
    const unsigned lane = queue::lane_rank();
    queue::run_control& control = *queue::engine().control;
    __syncwarp();
    if (lane == 0) {
        control = queue::run_control{};
        now = history{&t, std::vector<unsigned>(t.grids.size()), std::vector<unsigned>(t.grids.size()), 0};
        for (unsigned w = 0; w < warps; ++w) (&queue::this_warp())[w].free_nodes = 0;
        const queue::arena_index root = queue::take_node();
        queue::put_node(root, 1, 0, 0, 0);
        queue::lane_task task{};
        task.key = &queue::tell_entries<run_grid_of_tree, unsigned>;
        task.grid = root;
        task.info = queue::info::owner;
        queue::push(task);
    }
    __syncwarp();
    const bool ended = warps_in_turns(choose).run(warps);
    simulated_gpu::current->index.x = lane;
    __syncwarp();
    return ended && now.has_run(0) && now.too_early == 0 && control.done == 1;
}

/// All orders; how many there were, 0 if one went wrong.
unsigned run_in_all_orders(const tree& t, unsigned warps) {
    machine m({1, warps, 16, 1u << 10});
    std::vector<unsigned> choices, options;
    std::size_t step = 0;
    unsigned orders = 0;
    bool right = true, more = true;
    m.run([&] {
        if (threadIdx.x >= queue::warp_size) return;
        const auto choose = [&](unsigned count) {
            if (step == choices.size()) choices.push_back(0);
            options.push_back(count);
            return choices[step++];
        };
        while (more && right) {
            const bool this_one = run_in_order(t, warps, choose);
            if (queue::lane_rank() == 0) {
                right = right && this_one;
                ++orders;
                choices.resize(step);
                while (!choices.empty() && choices.back() + 1 == options[choices.size() - 1]) choices.pop_back();
                more = !choices.empty();
                if (more) ++choices.back();
                options.clear();
                step = 0;
            }
            __syncwarp();
        }
    });
    return right ? orders : 0;
}

TEST_CASE("a grid continues once, after all that it has launched, in all orders of two warps that run a small tree") {
    const tree joins{{{{1, 2}, true}, {{3}, true}, {{}}, {{}}}};
    const tree late_joins{{{{1, 2}, true, true}, {{3}, true, true}, {{}}, {{}}}};
    const tree forks_above_joins{{{{1, 2}, true}, {{3, 4}}, {{}}, {{}}, {{}, true}}};
    for (const tree& t : {joins, late_joins, forks_above_joins}) {
        const unsigned orders = run_in_all_orders(t, 2);
        CHECK(orders > 10);
    }
}

TEST_CASE(
    "a grid continues once, after all that it has launched, in many orders of three warps that run random trees") {
    machine m({1, 3, 16, 1u << 10});
    random_numbers random(17);
    unsigned wrong = 0;
    tree t;
    m.run([&] {
        if (threadIdx.x >= queue::warp_size) return;
        for (unsigned i = 0; i < 200; ++i) {
            if (queue::lane_rank() == 0) {
                const unsigned grids = 2 + random.below(9);
                t.grids.assign(grids, {});
                for (unsigned number = 1; number < grids; ++number) {
                    t.grids[random.below(number)].children.push_back(number);
                }
                for (tree::grid& grid : t.grids) {
                    grid.continues = random.below(3) == 0;
                    grid.launches_first = random.below(2) == 0;
                }
            }
            __syncwarp();
            const bool right = run_in_order(t, 3, [&](unsigned options) { return random.below(options); });
            if (queue::lane_rank() == 0) wrong += !right;
            __syncwarp();
        }
    });
    CHECK(wrong == 0);
}

// ---- Counters

TEST_CASE("the thread that brings a counter to zero sees what all have done that have counted there") {
    constexpr unsigned rounds = 200, warps = 3;
    machine m({warps, 1});
    const no_races sees;
    const queue::arena_index first = m.take(rounds);
    std::vector<u64> written(rounds * warps);
    counter<unsigned> last, faults;
    for (unsigned i = 0; i < rounds; ++i) {
        *reinterpret_cast<int*>(m.view.arena + (first + i) * queue::unit_bytes) = warps;
    }
    m.run([&] {
        if (queue::lane_rank() != 0) return;
        for (unsigned i = 0; i < rounds; ++i) {
            written[i * warps + blockIdx.x] = i;
            if (queue::fetch_add_counter(first + i, -1) != 1) continue;
            last.add();
            for (unsigned w = 0; w < warps; ++w) {
                if (written[i * warps + w] != i) faults.add();
                written[i * warps + w] = 0;
            }
        }
    });
    CHECK(last.get() == rounds);
    CHECK(faults.get() == 0);
    CHECK(sees.hold());
}

/// All lanes: this warp runs blocks together with all others of its worker block.
void be_in_team() {
    if (queue::lane_rank() == 0) queue::this_warp().team = 1;
    __syncwarp();
}

TEST_CASE("a block has one node, whichever of its threads makes it, and behind a fence all find it filled in") {
    constexpr unsigned rounds = 60, warps = 3;
    machine m({2, warps});
    const no_races sees;
    counter<unsigned> faults;
    m.run([&] {
        be_in_team();
        queue::team_state& team = queue::this_team();
        for (unsigned i = 1; i <= rounds; ++i) {
            if (threadIdx.x == 0) queue::store_relaxed_in_block(team.own, 0u);
            queue::sync_team();
            queue::arena_index node = 0;
            if (queue::lane_rank() == 0) {
                node = queue::ensure_shared_node(team.own, i, 7);
                queue::fence_in_block();
                const queue::grid_node& made = *queue::at<queue::grid_node>(node);
                if (made.parent != i || made.depth_and_flags != 7) faults.add();
            }
            queue::sync_team();
            if (queue::lane_rank() == 0 && node != team.own) faults.add();
            queue::sync_team();
            if (threadIdx.x == 0) queue::release(node, 0);
        }
    });
    CHECK(faults.get() == 0);
    CHECK(sees.hold());
}

// ---- What the warps of a worker block agree on

TEST_CASE("all warps of a team hear the same of a vote, and each vote counts once") {
    constexpr unsigned rounds = 150, warps = 4;
    machine m({2, warps});
    const no_races sees;
    counter<unsigned> faults;
    std::vector<u64> written(2 * warps);
    m.run([&] {
        be_in_team();
        const unsigned warp = threadIdx.x / queue::warp_size;
        const auto says = [](unsigned round, unsigned who, unsigned what) {
            return ((round * 2654435761u + who * 40503u + what * 97u) >> 7) % 64 == 0;
        };
        for (unsigned i = 0; i < rounds; ++i) {
            bool any[2] = {};
            for (unsigned t = 0; t < warps * 32; ++t) {
                for (unsigned what : {0u, 1u}) any[what] = any[what] || says(i, t, what);
            }
            if (queue::lane_rank() == 0) written[blockIdx.x * warps + warp] = i;
            const queue::team_votes votes = queue::vote_of_team(says(i, threadIdx.x, 0), says(i, threadIdx.x, 1));
            if (votes.first != any[0] || votes.second != any[1]) faults.add();
            if (queue::lane_rank() == 0 && written[blockIdx.x * warps + (warp + 1) % warps] != i) faults.add();
            queue::sync_team();
        }
    });
    CHECK(faults.get() == 0);
    CHECK(sees.hold());
}

TEST_CASE("who offers to run a block either withdraws or is called, and a called team has the block") {
    constexpr unsigned rounds = 300, warps = 4;
    machine m({1, warps});
    const no_races sees;
    counter<unsigned> faults, ran;
    m.run([&] {
        if (queue::lane_rank() != 0) return;
        queue::gang_state& gang = queue::this_block().gang;
        queue::warp_state& warp = queue::this_warp();
        random_numbers random(threadIdx.x + 1);
        const auto runs = [&] {
            unsigned called = 0;
            while ((called = queue::load_relaxed_in_block(warp.called)) == 0) std::this_thread::yield();
            queue::store_relaxed_in_block(warp.called, 0u);
            queue::fence_in_block();
            const unsigned grid = queue::team_of_number(called - 1).next.grid;
            if (grid == 0 || grid > rounds) faults.add();
            ran.add();
        };
        // One warp makes blocks of 64 threads, and the others run them, each with its neighbour.
        if (threadIdx.x == 0) {
            for (unsigned i = 1; i <= rounds; ++i) {
                queue::wide_task task{};
                task.grid = i;
                task.info = queue::info::on_block | 1u;
                task.size = queue::block_size(64);
                task.last = 1;
                queue::with_block_lock(gang.lock, [&] {
                    if (!queue::push_block_task(task)) faults.add();
                });
                queue::call_teams_if_any();
            }
        }
        while (ran.get() < 2 * rounds) {
            queue::offer_when_idle();
            bool called = false;
            for (unsigned n = random.below(20); n != 0 && !called; --n) {
                queue::call_teams_if_any();
                called = queue::is_called();
            }
            if (called || !queue::withdraw()) runs();
        }
    });
    CHECK(ran.get() == 2 * rounds);
    CHECK(faults.get() == 0);
    CHECK(sees.hold());
}
}  // namespace
