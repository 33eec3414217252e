// Open grids and join counters.
#include "machine.hpp"
#include "search.hpp"

using namespace model_checked;

namespace {

constexpr queue::arena_index node = 1, first_descriptor = 2, second_descriptor = 4, elsewhere = 6;

/// All places but the first are taken by grids that no warp runs here.
void name_open_grids() {
    queue::run_control& control = device().control;
    for (unsigned place = 1; place < queue::open_grid_places; ++place)
        control.open_grids[place] = queue::open_grid_word(elsewhere, queue::info::on_warp, 1000).bits;
    name_word(control.open_grids[0], "open grid 0");
    name_word(control.open_grids[1], "open grid 1");
    name_word(control.open_grids[2], "open grid 2");
}

void publish_when_possible(queue::arena_index descriptor, std::uint32_t blocks) {
    while (true) {
        queue::open_grids_view open_grids;
        if (queue::publish(descriptor, queue::info::on_warp, blocks, open_grids)) return;
    }
}

queue::open_grid_word first_place() {
    return queue::open_grid_word(queue::load_relaxed(device().control.open_grids[0]));
}

TEST_CASE("each block of an open grid is claimed once, behind its descriptor, also where grid follows grid") {
    const auto body = [](unsigned thread) {
        if (thread == 0) {
            for (const queue::arena_index descriptor : {first_descriptor, second_descriptor}) {
                queue::at<queue::grid_descriptor>(descriptor)->trace_id = descriptor * 7;
                publish_when_possible(descriptor, 1);
            }
            return;
        }
        while (true) {
            if (first_place().left() <= 0) continue;
            const queue::open_grid_word found = queue::claim_blocks(0, 1);
            if (found.left() <= 0) continue;
            const queue::arena_index descriptor = found.descriptor();
            require(queue::at<queue::grid_descriptor>(descriptor)->trace_id == descriptor * 7,
                    "who claims a block sees the descriptor");
            ++device().data[descriptor];
            return;
        }
    };
    const auto after = [] {
        require(device().data[first_descriptor] == 1 && device().data[second_descriptor] == 1,
                "each block was claimed once");
    };
    CHECK_HOLDS(worker_blocks(3, name_open_grids, body, after), 30000, 3);
}

/// The node is given back, and used for a second grid.
unsigned long long& free_nodes() { return device().control.free_lists[0][0]; }

void end_second_grid() {
    if (queue::fetch_add_counter(node, -1) != 1) return;
    require(device().data[5] == 6 && device().data[6] == 7, "also where the node is used again");
    device().data[7] = 1;
}

TEST_CASE("who brings a counter to zero sees what all others have done, also where the node is used again") {
    const auto before = [] {
        name_open_grids();
        name_word(free_nodes(), "head of the free list");
        name_word(*queue::at<unsigned>(node), "counter, or link");
        queue::put_node(node, 3, 0, 0, 0);
    };
    const auto body = [](unsigned thread) {
        unsigned* const data = device().data;
        data[thread] = thread + 1;
        if (queue::fetch_add_counter(node, -1) == 1) {
            require(data[0] == 1 && data[1] == 2 && data[2] == 3, "the last sees what all others have done");
            queue::push_free(free_nodes(), node);
            require(queue::pop_free(free_nodes()) == node, "what was given back is there");
            queue::put_node(node, 2, 0, 0, 0);
            queue::at<queue::grid_descriptor>(first_descriptor)->task.grid = node;
            publish_when_possible(first_descriptor, 1);
            data[5] = 6;
            end_second_grid();
            return;
        }
        queue::open_grid_word seen;
        do {
            seen = first_place();
        } while (seen.bits == 0);
        if (seen.left() <= 0 || queue::claim_blocks(0, 1).left() <= 0) return;  // the other has it
        require(queue::at<queue::grid_descriptor>(first_descriptor)->task.grid == node, "the grid has that node");
        data[6] = 7;
        end_second_grid();
    };
    const auto after = [] { require(device().data[7] == 1, "the second grid is complete once"); };
    CHECK_HOLDS(worker_blocks(3, before, body, after), 30000, 2);
}

}  // namespace
