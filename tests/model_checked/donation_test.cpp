// Donations through a transfer cell: two givers, one taker, and a ring of one cell, so that the second donation waits
// until the cell is empty again.
#include "machine.hpp"
#include "search.hpp"

using namespace model_checked;

namespace {

void name_cell(queue::transfer_cell& cell, queue::request_counters& requests) {
    name_word(cell.turn, "turn");
    name_word(requests.posted, "requests posted");
    name_word(requests.open, "open requests");
    name_word(requests.donated, "requests donated");
    name_word(device().control.done, "done");
    name_word(device().control.stop, "stop");
    name_word(device().control.empty_donations, "empty donations");
}

/// A giver: what its task reads, written before the task is donated.
unsigned write_data(unsigned giver) { return device().data[giver] = 10 + giver; }
/// The taker: runs a task.
void use_data(unsigned giver) {
    require(giver < 2, "the task is one that was donated");
    require(device().data[giver] == 10 + giver, "a task comes once, behind what its giver has done");
    device().data[giver] = 0;
}
void all_came() { require(device().data[0] == 0 && device().data[1] == 0, "both tasks came"); }

unsigned long long claim_when_open(queue::request_counters& requests) {
    while (true) {
        if (!queue::has_open_request(requests)) continue;
        const unsigned long long number = queue::claim_request(requests);
        if (number != ~0ull) return number;
    }
}

/// Asks twice. `Task`: what comes.
template <class Task>
void take_two() {
    using deque = queue::own_deque<Task>;
    queue::warp_state& warp = queue::this_warp();
    for (unsigned i = 0; i < 2; ++i) {
        warp.request = queue::post_request(device().control.warp_requests);
        warp.has_request = 1;
        while (!queue::donation_is_there()) {
        }
        queue::accept_donation();
        require(deque::owner_end() == i + 1, "a donation has the tasks that were put into it");
        use_data(queue::slot<Task>(i).arguments.word[0]);
    }
}

TEST_CASE("lane tasks of two givers come through one cell, each behind what its giver has done") {
    const auto body = [](unsigned thread) {
        if (thread == 2) return take_two<queue::lane_task>();
        write_data(thread);
        queue::lane_task task{};
        task.arguments.word[0] = thread;
        queue::push(task);
        queue::donate_tasks<queue::lane_task>(claim_when_open(device().control.warp_requests), 1, 1);
    };
    const auto before = [] { name_cell(device().warp_cells[0], device().control.warp_requests); };
    CHECK_HOLDS(worker_blocks(3, before, body, all_came), 30000, 2);
}

TEST_CASE("half of a wide task of each of two givers comes through one cell, behind what its giver has done") {
    const auto body = [](unsigned thread) {
        if (thread == 2) {
            take_two<queue::wide_task>();
            for (unsigned i = 0; i < 2; ++i) {
                const queue::wide_task& task = queue::slot<queue::wide_task>(i);
                require(task.first == 2 && task.last == 4, "the half that comes is the second");
            }
            return;
        }
        write_data(thread);
        queue::wide_task task{};
        task.info = queue::info::on_warp;
        task.last = 4;
        task.arguments.word[0] = thread;
        queue::push(task);
        queue::donate_half(claim_when_open(device().control.warp_requests));
        require(queue::slot<queue::wide_task>(0).last == 2, "the half that stays is the first");
    };
    const auto before = [] { name_cell(device().warp_cells[0], device().control.warp_requests); };
    CHECK_HOLDS(worker_blocks(3, before, body, all_came), 20000, 2);
}

TEST_CASE("block tasks of two worker blocks come through one cell, each behind what was done before it") {
    const auto body = [](unsigned thread) {
        queue::gang_state& gang = queue::this_block().gang;
        if (thread == 2) {
            for (unsigned i = 0; i < 2; ++i) {
                gang.request = queue::post_request(device().control.block_requests);
                gang.has_request = 1;
                while (!queue::accept_block_donation()) {
                }
                require(gang.owner_end == i + 1, "a donation has the tasks that were put into it");
                use_data(queue::block_task_slot(i).arguments.word[0]);
            }
            return;
        }
        write_data(thread);
        queue::wide_task task{};
        task.info = queue::info::on_block;
        task.last = 1;
        task.arguments.word[0] = thread;
        queue::push_block_task(task);
        gang.has_candidate = 1;  // so that it donates its only task
        while (queue::block_tasks_on_deque() != 0) queue::serve_block_requests();
    };
    const auto before = [] { name_cell(device().block_cells[0], device().control.block_requests); };
    CHECK_HOLDS(worker_blocks(3, before, body, all_came), 20000, 2);
}

}  // namespace
