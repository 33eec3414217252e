// Steal requests and donations, open grids, the chunk of a worker block, and the grid that a run begins with.
#include "machine.hpp"

#include <doctest/doctest.h>

#include <thread>
#include <type_traits>

using namespace queue_parts;

namespace {

/// Tasks by number: each has written something before it is launched, as plain memory, and is to run once.
struct numbered_tasks {
    explicit numbered_tasks(unsigned count) : written(count), runs(count) {}
    std::vector<u64> written;
    std::vector<counter<unsigned>> runs;
    counter<unsigned> done, faults;

    void write(unsigned number) { written[number] = number * 7ull; }
    void run(unsigned number) {
        if (written[number] != number * 7ull) faults.add();
        written[number] += 1;
        runs[number].add();
        done.add();
    }
    unsigned not_once() const {
        unsigned result = 0;
        for (const auto& count : runs) result += count.get() != 1;
        return result;
    }
};

/// One lane: as search() does.
void post_warp_request() {
    queue::warp_state& warp = queue::this_warp();
    if (warp.has_request != 0) return;
    warp.request = queue::post_request(queue::engine().control->warp_requests);
    warp.has_request = 1;
}

/// All lanes together: accepts a donation, if one has come.
bool accept_if_there() {
    const bool there = __shfl_sync(queue::all_lanes, queue::lane_rank() == 0 && queue::donation_is_there(), 0);
    if (there) queue::accept_donation();
    return there;
}

/// What a warp of lane tasks does with what it has: runs some, newest first.
void run_lane_tasks(numbered_tasks& tasks) {
    using deque = queue::own_deque<queue::lane_task>;
    const unsigned lane = queue::lane_rank();
    const std::uint32_t count = std::min(deque::owner_end() - deque::steal_end(), 8u);
    queue::lane_task task{};
    if (lane < count) queue::copy_task(task, queue::slot<queue::lane_task>(deque::owner_end() - 1 - lane));
    __syncwarp();
    if (lane == 0) deque::owner_end() -= count;
    __syncwarp();
    if (lane < count) tasks.run(task.arguments.word[0]);
}
/// The same for wide tasks: one block of the newest.
void run_wide_tasks(numbered_tasks& tasks) {
    using deque = queue::own_deque<queue::wide_task>;
    __syncwarp();
    if (queue::lane_rank() == 0 && deque::owner_end() != deque::steal_end()) {
        queue::wide_task& newest = queue::slot<queue::wide_task>(deque::owner_end() - 1);
        tasks.run(newest.arguments.word[0] + newest.first);
        if (++newest.first == newest.last) --deque::owner_end();
    }
    __syncwarp();
}

/// Givers have all tasks, takers ask for them, and give on what they have too much of.
void give_and_take(machine& m, unsigned givers, unsigned of_giver, unsigned blocks_of_wide, numbered_tasks& tasks) {
    const auto all = static_cast<unsigned>(tasks.runs.size());
    const u64 donated = m.control().warp_requests.donated + 24;
    m.run([&] {
        const unsigned warp = queue::worker_rank(), lane = queue::lane_rank();
        unsigned next = warp * of_giver;
        const unsigned end = warp < givers ? next + of_giver : next;
        while (true) {
            const bool over = __shfl_sync(queue::all_lanes, tasks.done.get(), 0) == all;
            if (over) break;
            if (next != end && blocks_of_wide == 0 &&
                queue::this_warp().lane_owner_end - queue::this_warp().lane_steal_end < 128) {
                const unsigned count = std::min(end - next, 32u);
                if (lane < count) {
                    queue::lane_task task{};
                    task.arguments.word[0] = next + lane;
                    tasks.write(next + lane);
                    queue::push(task);
                }
                next += count;
            } else if (next != end && blocks_of_wide != 0 &&
                       queue::this_warp().wide_owner_end - queue::this_warp().wide_steal_end < 40) {
                const unsigned blocks = std::min(end - next, 1 + next % blocks_of_wide);
                if (lane == 0) {
                    queue::wide_task task{};
                    task.info = queue::info::on_warp;
                    task.arguments.word[0] = next;
                    task.last = blocks;
                    for (unsigned i = 0; i < blocks; ++i) tasks.write(next + i);
                    queue::push(task);
                }
                next += blocks;
            }
            __syncwarp();
            queue::serve_requests();
            // Givers run none before many were donated.
            const bool runs =
                warp >= givers ||
                __shfl_sync(queue::all_lanes, queue::load_relaxed(m.control().warp_requests.donated), 0) > donated;
            if (!runs) {
                __nanosleep(1);
            } else if (!queue::has_no_tasks()) {
                run_lane_tasks(tasks);
                run_wide_tasks(tasks);
            } else if (next == end) {
                if (lane == 0) post_warp_request();
                if (!accept_if_there()) __nanosleep(1);
            }
            __syncwarp();
        }
        if (lane == 0) queue::store_relaxed(queue::engine().control->done, 1u);
    });
}

/// So many warps each launch more than their deque has room for, a lane at a time as kernels do, and ask for tasks
/// before: what is donated may come where there is no room for it. The other warps ask when they have none.
template <class Task>
void give_what_has_spilled(machine& m, unsigned givers, numbered_tasks& tasks) {
    using deque = queue::own_deque<Task>;
    const auto all = static_cast<unsigned>(tasks.runs.size());
    m.run([&] {
        const unsigned lane = queue::lane_rank(), warp = queue::worker_rank();
        if (lane == 0 && warp < givers) post_warp_request();
        for (unsigned next = warp * queue::warp_size + lane; warp < givers && next < all;
             next += givers * queue::warp_size) {
            Task task{};
            task.info = std::is_same_v<Task, queue::wide_task> ? queue::info::on_warp : 0u;
            task.arguments.word[0] = next;
            if constexpr (std::is_same_v<Task, queue::wide_task>) task.last = 1;
            tasks.write(next);
            if (!queue::push(task) && !queue::push_spilled(task)) tasks.faults.add();
        }
        __syncwarp();
        while (!__shfl_sync(queue::all_lanes, tasks.done.get() == all, 0)) {
            queue::serve_requests();
            if (accept_if_there()) {
            } else if (deque::owner_end() != deque::steal_end()) {
                run_lane_tasks(tasks);
                run_wide_tasks(tasks);
            } else if (deque::spilled().head() != 0) {
                queue::unspill<Task>();
            } else {
                if (lane == 0) post_warp_request();
                __nanosleep(1);
            }
            __syncwarp();
        }
        if (lane == 0) queue::store_relaxed(queue::engine().control->done, 1u);
    });
}

/// As if there had been so many requests, all of them served.
void begin_requests_at(machine& m, u64 number) {
    for (queue::request_counters* requests : {&m.control().warp_requests, &m.control().block_requests}) {
        requests->posted = requests->donated = number;
    }
    const u64 cells = m.view.cell_mask + 1;
    for (u64 i = number; i < number + cells; ++i) {
        const auto turn = static_cast<std::uint32_t>(i >> m.view.cell_shift) * 2;
        m.view.warp_cells[i % cells].turn = turn;
        m.view.block_cells[i % cells].turn = turn;
    }
}

TEST_CASE("a lane task that is donated arrives once, behind all that its giver has done") {
    machine m({4, 1, 8});
    const no_races sees;
    numbered_tasks tasks(4000);
    give_and_take(m, 2, 2000, 0, tasks);
    CHECK(tasks.not_once() == 0);
    CHECK(tasks.faults.get() == 0);
    CHECK(sees.hold());
}

TEST_CASE("a wide task arrives once, and of a range of blocks that is donated by halves each block") {
    machine m({4, 1, 8});
    const no_races sees;
    numbered_tasks tasks(3000);
    give_and_take(m, 1, 3000, 40, tasks);
    CHECK(tasks.not_once() == 0);
    CHECK(tasks.faults.get() == 0);
    CHECK(sees.hold());
}

template <class Task>
void check_what_has_spilled(unsigned count) {
    for (const unsigned givers : {1u, 4u}) {
        CAPTURE(givers);
        machine m({4, 1, 8});
        numbered_tasks tasks(count);
        give_what_has_spilled<Task>(m, givers, tasks);
        CHECK(tasks.not_once() == 0);
        CHECK(tasks.faults.get() == 0);
    }
}

TEST_CASE("tasks that have spilled are donated by the hundred, and each arrives once") {
    const no_races sees;
    check_what_has_spilled<queue::lane_task>(4000);
    check_what_has_spilled<queue::wide_task>(2000);
    CHECK(sees.hold());
}

TEST_CASE("a transfer cell is used again when its turn has come, also where the number of the turn begins anew") {
    machine m({4, 1, 2});  // fewer than warps, so that givers wait for a cell
    const no_races sees;
    begin_requests_at(m, (1ull << 32) - 20);  // the turn is 32 bits, two for each use
    numbered_tasks tasks(3000);
    give_and_take(m, 2, 1500, 0, tasks);
    CHECK(m.control().warp_requests.donated > (1ull << 32));
    CHECK(tasks.not_once() == 0);
    CHECK(tasks.faults.get() == 0);
    CHECK(sees.hold());
}

TEST_CASE("there are never more donations than requests") {
    machine m({4, 1});
    const no_races sees;
    queue::request_counters requests{};
    counter<unsigned> claimed;
    constexpr unsigned each = 2000;
    m.run([&] {
        if (queue::lane_rank() != 0) return;
        for (unsigned i = 0; i < each; ++i) {
            if (blockIdx.x < 2) queue::post_request(requests);
            if (blockIdx.x >= 2 || i % 3 == 0) {
                const u64 number = queue::claim_request(requests);
                if (number == ~0ull) continue;
                claimed.add();
                // Who has posted has taken its number before others can claim it.
                if (number >= queue::load_relaxed(requests.posted)) claimed.add(1000000);
            }
        }
        while (queue::has_open_request(requests)) {
            if (queue::claim_request(requests) != ~0ull) claimed.add();
        }
    });
    CHECK(requests.posted == 2 * each);
    CHECK(requests.donated == claimed.get());
    CHECK(claimed.get() <= 2 * each);
    CHECK(requests.open == static_cast<int>(2 * each - claimed.get()));
    CHECK(sees.hold());
}

TEST_CASE("a block task that a worker block donates to another runs once, behind all that was done before it") {
    constexpr unsigned all = 2400;
    for (const bool in_ranges : {false, true}) {
        machine m({3, 2, 4, 1u << 13});
        const no_races sees;
        begin_requests_at(m, (1ull << 32) - 5);
        numbered_tasks tasks(all);
        m.run([&] {
            const unsigned lane = queue::lane_rank();
            queue::gang_state& gang = queue::this_block().gang;
            const bool leader = threadIdx.x < queue::warp_size;
            unsigned next = blockIdx.x == 0 && !leader ? 0 : all;
            while (true) {
                if (__shfl_sync(queue::all_lanes, tasks.done.get(), 0) == all) break;
                if (lane == 0 && next != all && queue::block_tasks_on_deque() < 60) {
                    const unsigned blocks = in_ranges ? std::min(all - next, 1 + next % 50) : 1;
                    queue::wide_task task{};
                    task.info = queue::info::on_block;
                    task.arguments.word[0] = next;
                    task.last = blocks;
                    for (unsigned i = 0; i < blocks; ++i) tasks.write(next + i);
                    if (!queue::push_here(task)) tasks.faults.add();
                    next += blocks;
                }
                // The first worker block runs none before many were donated.
                const bool runs = blockIdx.x != 0 ||
                                  queue::load_relaxed(queue::engine().control->block_requests.donated) > (1ull << 32);
                if (lane == 0 && next == all && runs) {
                    queue::wide_task task;
                    bool found = false;
                    queue::with_block_lock(gang.lock,
                                           [&] { found = queue::take_block_task(-1, queue::any_threads, task); });
                    if (found) tasks.run(task.arguments.word[0] + task.first);
                }
                __syncwarp();
                if (leader) {
                    if (lane == 0 && gang.has_request == 0 && !queue::has_block_tasks()) {
                        gang.request = queue::post_request(queue::engine().control->block_requests);
                        gang.has_request = 1;
                    }
                    __syncwarp();
                    if (!queue::exchange_block_tasks()) __nanosleep(1);
                } else if (next == all) {
                    __nanosleep(1);
                }
            }
            if (lane == 0) queue::store_relaxed(queue::engine().control->done, 1u);
        });
        CHECK(tasks.not_once() == 0);
        CHECK(tasks.faults.get() == 0);
        CHECK(sees.hold());
    }
}

// ---- Open grids

TEST_CASE(
    "each block of an open grid is claimed once, by who sees its descriptor, also where grid follows grid in a place") {
    constexpr unsigned publishers = 2, grids = 150, blocks = 40;
    machine m({4, 1});
    const no_races sees;
    numbered_tasks tasks(publishers * grids * blocks);
    const queue::arena_index nodes = m.take(publishers * 8), descriptors = m.take(publishers * 8 * 2);
    m.run([&] {
        if (queue::lane_rank() != 0) return;
        const unsigned warp = blockIdx.x;
        unsigned next = warp < publishers ? 0 : grids;
        queue::run_control& control = *queue::engine().control;
        while (tasks.done.get() != publishers * grids * blocks) {
            // A grid's memory serves another as soon as its blocks have returned.
            const unsigned own = warp * 8 + next % 8;
            if (next != grids && queue::load_relaxed(queue::counter_of(nodes + own)) == 0) {
                queue::fence();
                queue::grid_descriptor& descriptor = *queue::at<queue::grid_descriptor>(descriptors + own * 2);
                descriptor.task = queue::wide_task{};
                descriptor.task.grid = nodes + own;
                descriptor.task.info = queue::info::on_warp;
                descriptor.task.last = blocks;
                descriptor.task.arguments.word[0] = (warp * grids + next) * blocks;
                for (unsigned i = 0; i < blocks; ++i) tasks.write(descriptor.task.arguments.word[0] + i);
                queue::store_relaxed(queue::counter_of(nodes + own), static_cast<int>(blocks));
                queue::open_grids_view open_grids;
                if (queue::publish(descriptors + own * 2, queue::info::on_warp, blocks, open_grids)) {
                    ++next;
                } else {
                    queue::store_relaxed(queue::counter_of(nodes + own), 0);  // all places are taken
                }
            }
            for (unsigned place = 0; place < queue::open_grid_places; ++place) {
                const queue::open_grid_word seen(queue::load_relaxed(control.open_grids[place]));
                if (seen.left() <= 0) continue;
                const unsigned wanted = 1 + place * 3;
                const queue::open_grid_word found = queue::claim_blocks(place, wanted);
                if (found.left() <= 0) continue;
                queue::wide_task task;
                queue::copy_fresh_task(task, queue::at<queue::grid_descriptor>(found.descriptor())->task);
                const unsigned count = std::min(wanted, static_cast<unsigned>(found.left()));
                const unsigned first = task.last - static_cast<unsigned>(found.left());
                for (unsigned i = 0; i < count; ++i) tasks.run(task.arguments.word[0] + first + i);
                queue::fetch_add_counter(task.grid, -static_cast<int>(count));
            }
        }
    });
    CHECK(tasks.not_once() == 0);
    CHECK(tasks.faults.get() == 0);
    CHECK(sees.hold());
}

// ---- Chunks

/// A chain of open grids, each continued by the next: the warp that finds a grid complete looks at what all its blocks
/// have done, and publishes the next one, in the same memory.
struct chain {
    unsigned blocks, grids, width;
    queue::arena_index node, descriptor;
    unsigned number = 0;  // of the grid that runs
    std::vector<u64> written;
    std::vector<counter<unsigned>> runs;
    counter<unsigned> faults, chunks, uncounted;

    chain(machine& m, unsigned block_count, unsigned grid_count, unsigned task_width)
        : blocks(block_count),
          grids(grid_count),
          width(task_width),
          node(m.take(1)),
          descriptor(m.take(2)),
          written(block_count),
          runs(block_count * grid_count) {}

    /// One lane.
    void publish_next() {
        queue::grid_descriptor& d = *queue::at<queue::grid_descriptor>(descriptor);
        d.task = queue::wide_task{};
        d.task.grid = node;
        d.task.info = width;
        d.task.descriptor = descriptor;
        d.task.last = blocks;
        d.task.arguments.word[0] = number;
        queue::put_node(node, static_cast<int>(blocks), 0, 0, 0);
        queue::inline_continuation then{};
        then.key = [](queue::kernel_entries*) {};  // nobody enters it
        queue::put_continuation(queue::at<queue::grid_node>(node), then);
        queue::open_grids_view open_grids;
        if (!queue::publish(descriptor, width, blocks, open_grids)) faults.add();
    }
    void continue_chain() {
        for (unsigned i = 0; i < blocks; ++i) {
            if (runs[number * blocks + i].get() != 1 || written[i] != number * 3ull + i) faults.add();
        }
        if (++number != grids) return publish_next();
        queue::end_run();
    }
    void run_block(unsigned grid, unsigned block) {
        if (grid >= grids || block >= blocks) {
            faults.add();
            return;
        }
        written[block] = grid * 3ull + block;
        runs[grid * blocks + block].add();
    }
};

/// All lanes of every warp, until the chain is at its end. As find_work() and run_of_chunk(), without tasks of a warp.
void run_chunks(chain& c) {
    queue::gang_state& gang = queue::this_block().gang;
    const unsigned lane = queue::lane_rank();
    if (threadIdx.x == 0 && blockIdx.x == 0) c.publish_next();
    while (true) {
        queue::warp_claim claim{0, 0};
        bool over = false;
        if (lane == 0) {
            queue::poll_shared_state();
            claim = queue::claim_or_fetch();
            over = queue::load_relaxed_in_block(gang.over) != queue::not_over;
        }
        if (__shfl_sync(queue::all_lanes, over, 0)) return;
        claim.left = __shfl_sync(queue::all_lanes, claim.left, 0);
        claim.wanted = __shfl_sync(queue::all_lanes, claim.wanted, 0);
        if (claim.left != 0) {
            const queue::claimed_blocks claimed = queue::read_claim(claim);
            const auto field = [&](std::size_t offset) {
                return __shfl_sync(queue::all_lanes, claimed.word, static_cast<int>(offset / sizeof(std::uint32_t)));
            };
            const std::uint32_t grid_number = field(offsetof(queue::wide_task, arguments));
            const std::uint32_t grid = field(offsetof(queue::wide_task, grid));
            if (lane < claimed.count) c.run_block(grid_number, claimed.first + lane);
            __syncwarp();
            if (lane == 0) {
                c.chunks.add();
                queue::end_search();
                queue::begin_search();
            }
            if (claimed.counted) {
                if (lane == 0) queue::return_to_chunk(true);
            } else {
                if (lane == 0) c.uncounted.add(claimed.count);
                queue::add_to_warp_batch(grid, -static_cast<int>(claimed.count));
            }
        } else {
            queue::flush_all();
            __nanosleep(1);
        }
        __syncwarp();
        // The continuation of a grid that this warp has found complete.
        const bool continues = queue::this_warp().ready != 0;
        __syncwarp();
        if (lane == 0 && continues) {
            --queue::this_warp().ready;
            c.continue_chain();
        }
    }
}

TEST_CASE("each block of a chunk is claimed once, and the last to return sees what all others have done") {
    machine m({2, 2});
    const no_races sees;
    chain c(m, 60, 25, queue::info::on_warp);
    m.run([&] { run_chunks(c); });
    CHECK(c.number == 25);
    CHECK(c.faults.get() == 0);
    CHECK(sees.hold());
}

TEST_CASE(
    "each block of a chunk that lanes run is claimed once, and the last to return sees what all others have done") {
    machine m({2, 2});
    const no_races sees;
    chain c(m, 700, 12, queue::info::on_lane);
    m.run([&] { run_chunks(c); });
    CHECK(c.number == 12);
    CHECK(c.faults.get() == 0);
    CHECK(c.uncounted.get() == 12 * 700);
    CHECK(sees.hold());
}

TEST_CASE("blocks of a chunk that are taken for later are the ones that were claimed") {
    machine m({2, 3});
    const no_races sees;
    constexpr unsigned blocks = 900;
    numbered_tasks tasks(2 * blocks);
    const queue::arena_index node = m.take(1), descriptors = m.take(4);
    for (unsigned i = 0; i < 2; ++i) {
        auto& d = *reinterpret_cast<queue::grid_descriptor*>(m.view.arena + (descriptors + 2 * i) * queue::unit_bytes);
        d.task.grid = node;
        d.task.info = queue::info::on_warp | (5 + i);
        d.task.descriptor = descriptors + 2 * i;
        d.task.last = blocks;
        d.task.arguments.word[0] = i * blocks;
    }
    for (unsigned i = 0; i < 2 * blocks; ++i) tasks.write(i);
    *reinterpret_cast<int*>(m.view.arena + node * queue::unit_bytes) = 2 * blocks + 1;
    m.run([&] {
        const unsigned lane = queue::lane_rank();
        if (threadIdx.x == 0) {
            queue::open_grids_view open_grids;
            queue::publish(descriptors + 2 * blockIdx.x, queue::info::on_warp, blocks, open_grids);
        }
        while (__shfl_sync(queue::all_lanes, tasks.done.get(), 0) != 2 * blocks) {
            queue::wide_task task;
            bool taken = false;
            if (lane == 0) {
                queue::poll_shared_state();
                taken = queue::take_of_chunk(4, false, 1, task);
                if (!taken) queue::fetch_chunk_for_warp();
                if (taken) {
                    for (unsigned i = task.first; i < task.last; ++i) tasks.run(task.arguments.word[0] + i);
                }
            }
            if (__shfl_sync(queue::all_lanes, taken, 0)) {
                queue::add_to_warp_batch(node, -1);
            } else {
                queue::flush_all();
            }
        }
        queue::flush_all();
    });
    CHECK(tasks.not_once() == 0);
    CHECK(tasks.faults.get() == 0);
    CHECK(*reinterpret_cast<int*>(m.view.arena + node * queue::unit_bytes) == 1);
    CHECK(sees.hold());
}

TEST_CASE("all blocks of a chunk are known to be out, also if another grid had its place and chunks are large") {
    machine m({1, 32});
    constexpr unsigned blocks = 5000;
    const queue::arena_index node = m.take(1), descriptor = m.take(2);
    auto& of_grid = *reinterpret_cast<queue::grid_descriptor*>(m.view.arena + descriptor * queue::unit_bytes);
    of_grid.task.grid = node;
    of_grid.task.info = queue::info::on_warp | 5;
    of_grid.task.descriptor = descriptor;
    of_grid.task.last = blocks;
    *reinterpret_cast<int*>(m.view.arena + node * queue::unit_bytes) = blocks + 1;
    m.control().open_grids[0] = queue::open_grid_word(descriptor, queue::info::on_warp, blocks).bits;
    unsigned returned = 0, largest = 0;
    bool are_known = true;
    m.run([&] {
        if (threadIdx.x != 0) return;
        // Of a grid of one-thread blocks, which has ended since.
        queue::this_block().gang.open_grids[0] = queue::open_grid_word(0, queue::info::on_lane, 1u << 20).lower();
        while (returned != blocks && queue::fetch_chunk_for_warp()) {
            const unsigned left = static_cast<unsigned>(queue::load_chunk().left());
            largest = std::max(largest, left);
            for (unsigned out = left; out != 0; --out) {
                are_known = are_known && queue::load_block_batch().out() == out;
                const queue::warp_claim claim = queue::claim_as_warp();
                queue::finish_claim(claim.left, claim.wanted);
                queue::return_to_chunk(true);
            }
            returned += left;
        }
        queue::flush_block_batch();
    });
    CHECK(returned == blocks);
    CHECK(largest == queue::chunk_rounds * 32 * queue::warp_size);
    CHECK(are_known);
    CHECK(*reinterpret_cast<int*>(m.view.arena + node * queue::unit_bytes) == 1);
}

// ---- The grid that a run begins with

TEST_CASE("worker blocks that begin find the first grid where the first of them has put it, and run each block once") {
    for (const unsigned blocks : {30u, 300u}) {
        for (const std::uint32_t width : {queue::info::on_warp, queue::info::on_lane}) {
            machine m({3, 2, 16, 1u << 13, true});
            const no_races sees;
            numbered_tasks tasks(blocks);
            queue::first_grid first{};
            first.shape = dynpar::shape(blocks, width == queue::info::on_lane ? 1 : 32);
            queue::put_descriptor(first.descriptor, first.shape, 32, dynpar::grid_record::none);
            first.descriptor.task.info = width | queue::info::owner | queue::info::one_of_several;
            first.descriptor.task.size = queue::block_size(width == queue::info::on_lane ? 1 : 32);
            first.descriptor.task.last = blocks;
            queue::divide(first, 3, 2);
            std::vector<unsigned char> payload(200, 17);
            first.payload_size = 200;
            first.kernel = {"first", 5};
            for (unsigned i = 0; i < blocks; ++i) tasks.write(i);
            m.run([&] {
                const unsigned lane = queue::lane_rank();
                queue::gang_state& gang = queue::this_block().gang;
                const bool begins = queue::is_last_warp();
                const unsigned number = begins ? queue::number_of_first_chunk(queue::engine(), first) : 0;
                if (begins && lane == 0) queue::store_relaxed_in_block(gang.chunk_lock, 1u);
                simulated_gpu::block_barrier();
                queue::begin_with_memory();
                __syncwarp();
                if (begins) queue::begin_first_grid(number, first, payload.data());
                while (__shfl_sync(queue::all_lanes, tasks.done.get(), 0) != blocks) {
                    queue::warp_claim claim{0, 0};
                    if (lane == 0) {
                        queue::poll_shared_state();
                        claim = queue::claim_or_fetch();
                        if (claim.left == 0) queue::take_first_chunk();
                    }
                    claim.left = __shfl_sync(queue::all_lanes, claim.left, 0);
                    claim.wanted = __shfl_sync(queue::all_lanes, claim.wanted, 0);
                    if (claim.left != 0) {
                        const queue::claimed_blocks claimed = queue::read_claim(claim);
                        const auto descriptor =
                            __shfl_sync(queue::all_lanes, claimed.word, offsetof(queue::wide_task, descriptor) / 4);
                        if (lane < claimed.count) {
                            const auto* bytes = static_cast<const unsigned char*>(
                                queue::at<queue::grid_descriptor>(descriptor)->arguments());
                            if (bytes[0] != 17 || bytes[199] != 17) tasks.faults.add();
                            tasks.run(claimed.first + lane);
                        }
                        __syncwarp();
                    }
                    __syncwarp();
                    if (lane == 0) {
                        for (; queue::this_warp().wide_owner_end != queue::this_warp().wide_steal_end;
                             --queue::this_warp().wide_owner_end) {
                            const queue::wide_task& task =
                                queue::slot<queue::wide_task>(queue::this_warp().wide_owner_end - 1);
                            for (unsigned i = task.first; i < task.last; ++i) tasks.run(i);
                        }
                    }
                    __syncwarp();
                }
            });
            CHECK(tasks.not_once() == 0);
            CHECK(tasks.faults.get() == 0);
            CHECK(sees.hold());
        }
    }
}
}  // namespace
