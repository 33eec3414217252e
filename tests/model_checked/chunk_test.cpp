// The chunk of a worker block, from which its warps claim blocks, and the batch of their returns.
#include "machine.hpp"
#include "search.hpp"

using namespace model_checked;

namespace {

constexpr queue::arena_index node = 1, descriptors = 2;  // two, of two units each
constexpr unsigned grids = 2, blocks_of_grid = 2;

/// Two grids that count on one node, published, and known to the worker block.
void publish_grids() {
    queue::gang_state& gang = the_gang();
    queue::run_control& control = device().control;
    for (unsigned grid = 0; grid < grids; ++grid) {
        const queue::arena_index descriptor = descriptors + 2 * grid;
        queue::grid_descriptor& of_grid =
            *reinterpret_cast<queue::grid_descriptor*>(device().arena + descriptor * queue::unit_bytes);
        of_grid.task.info = queue::info::on_warp;
        of_grid.task.grid = node;
        of_grid.task.descriptor = descriptor;
        of_grid.task.last = blocks_of_grid;
        of_grid.task.first = 0;
        // The first block's number. Lane 0 of a claim reads the first word, the only lane that there is here.
        queue::word_of(of_grid.task, 0) = grid * blocks_of_grid;
        const queue::open_grid_word word(descriptor, queue::info::on_warp, blocks_of_grid);
        control.open_grids[grid] = word.bits;
        gang.open_grids[grid] = word.lower();
    }
    // One more, so that no warp of these finds it at zero.
    *reinterpret_cast<int*>(device().arena + node * queue::unit_bytes) = 1 + grids * blocks_of_grid;
    name_word(*reinterpret_cast<int*>(device().arena + node * queue::unit_bytes), "counter");
    name_word(control.open_grids[0], "open grid 0");
    name_word(control.open_grids[1], "open grid 1");
    name_word(gang.open_grids[0], "known of open grid 0");
    name_word(gang.open_grids[1], "known of open grid 1");
    name_word(gang.open_grids[2], "known of open grid 2");
    name_word(gang.chunk_lock, "lock of the chunk");
    name_word(gang.chunk_left, "left of the chunk");
    name_word(gang.chunk_read, "read of the chunk");
    name_word(gang.batch, "block batch");
    name_word(gang.batch_of, "node of the block batch");
    // What a warp looks at before it has claimed anything.
    name_word(gang.chunk.info, "info of the chunk's task");
}

void run_block(unsigned number) {
    require(number < grids * blocks_of_grid, "a block is one of a grid");
    require(device().data[number] == 0, "a block is claimed once");
    device().data[number] = number + 1;
}

/// What a warp that waits sees when all blocks have returned.
void see_all() {
    queue::fence();
    for (unsigned i = 0; i < grids * blocks_of_grid; ++i)
        require(device().data[i] == i + 1, "when all have returned, a warp that waits sees what they have done");
}

TEST_CASE("each block of a chunk is claimed once, behind its task, and who waits for all sees what they have done") {
    const auto body = [](unsigned) {
        while (!queue::children_are_complete(node)) {
            const queue::warp_claim claim = queue::claim_or_fetch();
            if (claim.left == 0) {
                queue::flush_all();
                continue;
            }
            const queue::claimed_blocks claimed = queue::read_claim(claim);
            const unsigned first = claimed.word;
            for (unsigned i = 0; i < claimed.count; ++i) run_block(first + claimed.first + i);
            if (claimed.counted) {
                for (unsigned i = 0; i < claimed.count; ++i) queue::return_to_chunk(true);
            } else {
                queue::fetch_add_counter(node, -static_cast<int>(claimed.count));
            }
        }
        see_all();
    };
    CHECK_HOLDS(warps_of_a_block(2, publish_grids, body), 30000, 1);
}

TEST_CASE("blocks of a chunk that are taken for later are the ones that were claimed") {
    const auto body = [](unsigned) {
        while (!queue::children_are_complete(node)) {
            queue::wide_task task;
            if (!queue::take_of_chunk(-1, false, 1, task)) {
                queue::fetch_chunk_for_warp();
                queue::flush_all();
                continue;
            }
            for (unsigned i = task.first; i < task.last; ++i) run_block(queue::word_of(task, 0) + i);
            queue::fetch_add_counter(node, -static_cast<int>(task.last - task.first));
        }
        see_all();
    };
    CHECK_HOLDS(warps_of_a_block(2, publish_grids, body), 30000, 1);
}

}  // namespace
