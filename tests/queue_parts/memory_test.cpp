// Locks, the arena, the caches of nodes, the deques and what they spill.
#include "machine.hpp"

#include <doctest/doctest.h>

#include <thread>
#include <utility>

using namespace queue_parts;

namespace {

// ---- Locks

TEST_CASE(
    "a lock of the device lets one thread at a time into its critical section, and shows it what was done there") {
    machine m({2, 2});
    const no_races sees;
    struct {
        unsigned lock = 0;
        u64 count = 0;
    } guarded;
    m.run([&] {
        for (unsigned i = 0; i < 40; ++i) queue::with_lock(guarded.lock, [&] { ++guarded.count; });
    });
    CHECK(guarded.count == 2 * 2 * 32 * 40);
    CHECK(sees.hold());
}

TEST_CASE(
    "a lock of a worker block lets one thread at a time into its critical section, and shows it what was done there") {
    machine m({2, 3});
    const no_races sees;
    u64 counts[2] = {};
    m.run([&] {
        for (unsigned i = 0; i < 40; ++i)
            queue::with_block_lock(queue::this_block().gang.lock, [&] { ++counts[blockIdx.x]; });
    });
    for (const u64 count : counts) CHECK(count == 3 * 32 * 40);
    CHECK(sees.hold());
}

TEST_CASE(
    "a lock of a worker block that warps take lets one warp at a time into its critical section, and shows it what was "
    "done there") {
    machine m({2, 3});
    const no_races sees;
    u64 counts[2][32] = {};
    m.run([&] {
        for (unsigned i = 0; i < 100; ++i) {
            queue::with_block_lock_as_warp(queue::this_block().gang.lock,
                                           [&] { ++counts[blockIdx.x][queue::lane_rank()]; });
        }
    });
    for (const auto& of_block : counts) {
        for (const u64 count : of_block) CHECK(count == 3 * 100);
    }
    CHECK(sees.hold());
}

TEST_CASE("one run at a time holds the engine, and sees what the one before it has left") {
    machine m({3, 1});
    const no_races sees;
    u64 runs = 0;
    m.run([&] {
        if (queue::lane_rank() != 0) return;
        for (unsigned i = 0; i < 100; ++i) {
            queue::enter_engine(queue::engine().control, 100u);
            ++runs;
            queue::leave_engine(*queue::engine().control);
        }
    });
    CHECK(runs == 300);
    CHECK(m.control().lock_waiters == 0);
    CHECK(sees.hold());
}

// ---- The arena

/// Pieces that a test holds: who owns each unit, and what was written into it, as plain memory.
struct ownership {
    explicit ownership(unsigned units) : owned(units) {}
    std::vector<counter<unsigned>> owned;
    counter<unsigned> faults;

    void take(queue::arena_index piece, unsigned size_class, u64 tag) {
        for (unsigned i = 0; i < 1u << size_class; ++i) {
            if (owned[piece + i].add() != 0) faults.add();
            for (unsigned word = 1; word < 8; ++word) queue::at<u64>(piece + i)[word] = tag;
        }
    }
    void give_back(queue::arena_index piece, unsigned size_class, u64 tag) {
        for (unsigned i = 0; i < 1u << size_class; ++i) {
            for (unsigned word = 1; word < 8; ++word) {
                if (queue::at<u64>(piece + i)[word] != tag) faults.add();
            }
            owned[piece + i].set(0);
        }
    }
};

TEST_CASE("pieces that threads push to one free list and pop off it have one owner at a time") {
    machine m({4, 1, 16, 64});
    const no_races sees;
    unsigned long long head = 0;
    ownership pieces(64);
    for (queue::arena_index piece = 1; piece <= 6; ++piece) {
        *reinterpret_cast<queue::arena_index*>(m.view.arena + piece * queue::unit_bytes) =
            static_cast<queue::arena_index>(head);
        head = piece;
    }
    m.run([&] {
        if (queue::lane_rank() != 0) return;
        random_numbers random(blockIdx.x + 1);
        for (unsigned i = 0; i < 3000; ++i) {
            queue::arena_index held[2] = {};
            for (queue::arena_index& piece : held) {
                piece = queue::pop_free(head);
                if (piece != 0) pieces.take(piece, 0, i);
            }
            // Not always in the order in which they came: then a head that was read before has another link.
            if (random.below(2) == 0) std::swap(held[0], held[1]);
            for (const queue::arena_index piece : held) {
                if (piece == 0) continue;
                pieces.give_back(piece, 0, i);
                queue::push_free(head, piece);
            }
        }
    });
    CHECK(pieces.faults.get() == 0);
    bool found[7] = {};
    unsigned count = 0;
    for (auto piece = static_cast<queue::arena_index>(head); piece != 0 && count < 7; ++count) {
        REQUIRE(piece <= 6);
        found[piece] = true;
        piece = *reinterpret_cast<queue::arena_index*>(m.view.arena + piece * queue::unit_bytes);
    }
    CHECK(count == 6);
    for (unsigned piece = 1; piece <= 6; ++piece) CHECK(found[piece]);
    CHECK(sees.hold());
}

TEST_CASE("a piece of the arena has one owner at a time, also where there is not enough for all") {
    constexpr unsigned units = 60;
    machine m({2, 2, 16, units});
    const no_races sees;
    ownership pieces(units);
    counter<unsigned> refused;
    m.run([&] {
        if (queue::lane_rank() != 0) return;
        random_numbers random(queue::worker_rank() + 1);
        struct {
            queue::arena_index piece;
            unsigned size_class;
        } held[12] = {};
        for (unsigned i = 0; i < 1500; ++i) {
            auto& h = held[random.below(12)];
            if (h.piece != 0) {
                pieces.give_back(h.piece, h.size_class, queue::worker_rank());
                queue::release(h.piece, h.size_class);
                h.piece = 0;
            } else {
                h.size_class = random.below(3);
                h.piece = queue::allocate(h.size_class);
                if (h.piece == 0) {
                    refused.add();
                } else {
                    pieces.take(h.piece, h.size_class, queue::worker_rank());
                }
            }
        }
    });
    CHECK(pieces.faults.get() == 0);
    CHECK(refused.get() != 0);
    CHECK(sees.hold());
}

TEST_CASE("all of the arena is handed out before a piece is refused, and again after all was given back") {
    constexpr unsigned units = 500;
    machine m({3, 1, 16, units});
    const no_races sees;
    ownership pieces(units);
    for (unsigned run = 0; run < 2; ++run) {
        counter<unsigned> handed_out, finished;
        m.run([&] {
            if (queue::lane_rank() != 0) return;
            std::vector<queue::arena_index> held;
            while (const queue::arena_index piece = queue::allocate(0)) held.push_back(piece);
            for (const queue::arena_index piece : held) pieces.take(piece, 0, 1);
            handed_out.add(static_cast<unsigned>(held.size()));
            finished.add();
            while (finished.get() != 3) std::this_thread::yield();
            for (const queue::arena_index piece : held) {
                pieces.give_back(piece, 0, 1);
                queue::release(piece, 0);
            }
        });
        CHECK(handed_out.get() == units - 1);
    }
    CHECK(pieces.faults.get() == 0);
    CHECK(sees.hold());
}

/// Pieces for the depot's batches that somebody has given back.
void give_pieces_for_batches(machine& m, unsigned count) {
    unsigned long long& head = m.control().free_lists[queue::node_cache::batch_class][0];
    for (unsigned i = 0; i < count; ++i) {
        const queue::arena_index piece = m.take(1 << queue::node_cache::batch_class);
        *reinterpret_cast<queue::arena_index*>(m.view.arena + std::size_t{piece} * queue::unit_bytes) =
            static_cast<queue::arena_index>(head);
        head = piece;
    }
}

TEST_CASE("nodes that one warp gives back others take by the depot, each one of them once") {
    constexpr unsigned givers = 2, takers = 2, batches = 4;
    constexpr unsigned least_in_depot = queue::node_cache_capacity - 8 * queue::warp_size;
    constexpr unsigned of_giver = least_in_depot + batches * queue::node_batch;
    machine m({givers + takers, 1, 16, 1 + givers * of_giver + (8 << queue::node_cache::batch_class)});
    const no_races sees;
    ownership nodes(m.view.arena_units);
    const queue::arena_index first = m.take(givers * of_giver);
    give_pieces_for_batches(m, 8);  // and no other memory
    counter<unsigned> giving;
    giving.set(givers);
    counter<unsigned> taken;
    m.run([&] {
        const unsigned warp = queue::worker_rank(), lane = queue::lane_rank();
        if (warp < givers) {
            for (unsigned i = 0; i < of_giver; ++i) {
                if (lane == 0) {
                    const queue::arena_index node = first + warp * of_giver + i;
                    nodes.take(node, 0, warp);
                    nodes.give_back(node, 0, warp);
                    queue::give_back_node(node);
                }
                if (i % 32 == 31) {
                    __syncwarp();
                    queue::balance_caches();
                    __syncwarp();  // all have read how many there are
                }
            }
            if (lane == 0) giving.add(~0u);
            return;
        }
        while (true) {
            const bool last = __shfl_sync(queue::all_lanes, giving.get(), 0) == 0;
            queue::balance_caches();
            const unsigned have = static_cast<unsigned>(queue::this_warp().free_nodes);
            __syncwarp();
            if (have == 0 && last) return;
            if (have == 0 || lane != 0) continue;
            for (unsigned i = 0; i < have; ++i) {
                const queue::arena_index node = queue::take_cached_node();
                nodes.take(node, 0, warp);
                taken.add(node >= first && node < first + givers * of_giver ? 1 : 0);
            }
        }
    });
    CHECK(nodes.faults.get() == 0);
    CHECK(taken.get() >= (givers * batches - 2) * queue::node_batch);
    CHECK(sees.hold());
}

TEST_CASE("a warp that finds no memory takes the nodes that another has put into the depot") {
    machine m({2, 1, 16, 1200});
    const no_races sees;
    const queue::arena_index first = m.take(1199 - (1 << queue::node_cache::batch_class));
    give_pieces_for_batches(m, 1);
    ownership nodes(1200);
    counter<unsigned> taken;
    m.run([&] {
        const unsigned lane = queue::lane_rank();
        if (blockIdx.x == 0) {
            if (lane == 0) {
                for (unsigned i = 0; i < queue::node_batch; ++i) {
                    nodes.take(first + i, 0, 1);
                    nodes.give_back(first + i, 0, 1);
                    queue::give_back_node(first + i);
                }
            }
            __syncwarp();
            queue::exchange_nodes();
        } else if (lane == 0) {
            while (taken.get() < queue::node_batch) {
                const queue::arena_index node = queue::allocate(0);
                if (node == 0) continue;
                nodes.take(node, 0, 2);
                taken.add();
            }
        }
    });
    CHECK(nodes.faults.get() == 0);
    CHECK(taken.get() == queue::node_batch);
    CHECK(sees.hold());
}

// ---- Deques

queue::lane_task numbered_lane_task(unsigned number, unsigned depth) {
    queue::lane_task task{};
    task.info = depth;
    task.arguments = {{number, ~number, number * 3, number * 5}};
    return task;
}
queue::wide_task numbered_wide_task(unsigned number, unsigned depth) {
    queue::wide_task task{};
    task.info = depth | queue::info::on_warp;
    task.last = 1;
    for (unsigned i = 0; i < 8; ++i) task.arguments.word[i] = number * (i + 1);
    return task;
}
bool is_intact(const queue::lane_task& task) {
    const unsigned number = task.arguments.word[0];
    return task.arguments.word[1] == ~number && task.arguments.word[2] == number * 3 &&
           task.arguments.word[3] == number * 5;
}
bool is_intact(const queue::wide_task& task) {
    for (unsigned i = 0; i < 8; ++i) {
        if (task.arguments.word[i] != task.arguments.word[0] * (i + 1)) return false;
    }
    return true;
}

/// A warp that pushes and pops at random, and spills as the scheduler does.
template <class Task, class Make>
void push_and_pop(std::vector<counter<unsigned>>& popped, counter<unsigned>& faults, unsigned begin, unsigned end,
                  Make make) {
    using deque = queue::own_deque<Task>;
    const unsigned lane = queue::lane_rank();
    random_numbers random(begin + 1);  // the same in every lane
    unsigned next = begin;
    while (true) {
        const std::uint32_t on_deque = deque::owner_end() - deque::steal_end();
        const bool spilled = deque::spilled().head() != 0;
        __syncwarp();
        if (next == end && on_deque == 0 && !spilled) return;
        const bool pushes = next != end && random.below(100) < (begin / 1000 % 2 == 0 ? 55u : 75u);
        if (pushes) {
            const unsigned count = std::min(32 + random.below(64), end - next);
            for (unsigned i = lane; i < count; i += queue::warp_size) {
                const Task task = make(next + i, (next + i) / 50);
                if (!queue::push(task) && !queue::push_spilled(task)) faults.add();
            }
            next += count;
            __syncwarp();
        } else if (on_deque != 0) {
            const std::uint32_t count = std::min(on_deque, 1 + random.below(32));
            Task task{};
            if (lane < count) queue::copy_task(task, queue::slot<Task>(deque::owner_end() - 1 - lane));
            __syncwarp();
            if (lane == 0) deque::owner_end() -= count;
            __syncwarp();
            if (lane < count) {
                if (!is_intact(task)) faults.add();
                popped[task.arguments.word[0]].add();
            }
        } else if (spilled) {
            // A wait looks for what is deeper, wherever that is.
            const int deeper_than = static_cast<int>(begin / 50) + static_cast<int>(random.below((end - begin) / 50));
            const bool brought =
                random.below(2) == 0 ? queue::unspill<Task>() : queue::unspill_deeper<Task>(deeper_than);
            if (!brought && !queue::unspill<Task>()) faults.add();
        }
        if (deque::owner_end() - deque::steal_end() > deque::capacity - deque::capacity / 4) queue::spill<Task>();
    }
}

TEST_CASE("a task that a deque has no room for is spilled, and every task comes off it once") {
    constexpr unsigned tasks = 3000;
    machine m({3, 1, 16, 1u << 14});
    const no_races sees;
    std::vector<counter<unsigned>> lane_tasks(3 * tasks), wide_tasks(3 * tasks);
    counter<unsigned> faults;
    m.run([&] {
        const unsigned begin = queue::worker_rank() * tasks;
        push_and_pop<queue::lane_task>(lane_tasks, faults, begin, begin + tasks, numbered_lane_task);
        push_and_pop<queue::wide_task>(wide_tasks, faults, begin, begin + tasks, numbered_wide_task);
    });
    CHECK(faults.get() == 0);
    unsigned not_once = 0;
    for (const auto& count : lane_tasks) not_once += count.get() != 1;
    for (const auto& count : wide_tasks) not_once += count.get() != 1;
    CHECK(not_once == 0);
    CHECK(sees.hold());
}

TEST_CASE("block tasks that the warps of a worker block push and take come off its deque once, spilled or not") {
    constexpr unsigned each = 600;
    machine m({2, 3, 16, 1u << 13});
    const no_races sees;
    std::vector<counter<unsigned>> taken(2 * 3 * each);
    counter<unsigned> of_block[2], faults;
    m.run([&] {
        const unsigned lane = queue::lane_rank();
        random_numbers random(queue::worker_rank() + 1);
        unsigned next = queue::worker_rank() * each;
        const unsigned end = next + each;
        while (true) {
            if (lane == 0 && next != end && random.below(3) != 0) {
                queue::wide_task task = numbered_wide_task(next, next / 100);
                task.info = next / 100 | queue::info::on_block;
                if (!queue::push_here(task)) faults.add();
                ++next;
            } else if (lane == 0 && random.below(3) == 0) {
                queue::wide_task task;
                bool found = false;
                const int deeper_than = random.below(2) == 0 ? -1 : static_cast<int>(random.below(30));
                queue::with_block_lock(queue::this_block().gang.lock,
                                       [&] { found = queue::take_block_task(deeper_than, queue::any_threads, task); });
                if (found) {
                    if (!is_intact(task) || !queue::is_deeper(task, deeper_than)) faults.add();
                    taken[task.arguments.word[0]].add();
                    of_block[blockIdx.x].add();
                }
            }
            const bool unspills = __shfl_sync(queue::all_lanes, random.below(4), 0) == 0;
            if (unspills)
                queue::with_block_lock_as_warp(queue::this_block().gang.lock, [] { queue::unspill_block_tasks(); });
            __syncwarp();
            const bool over = __shfl_sync(queue::all_lanes, of_block[blockIdx.x].get(), 0) == 3 * each;
            if (over) return;
        }
    });
    CHECK(faults.get() == 0);
    unsigned not_once = 0;
    for (const auto& count : taken) not_once += count.get() != 1;
    CHECK(not_once == 0);
    CHECK(sees.hold());
}
}  // namespace
