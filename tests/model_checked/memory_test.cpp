// Free lists and locks.
#include "machine.hpp"
#include "search.hpp"

using namespace model_checked;

namespace {

constexpr queue::arena_index pieces = 3, some_data = 15;

unsigned long long& free_list() { return device().control.free_lists[0][0]; }

void put_on_list() {
    static const char* const names[] = {"", "link of 1", "link of 2", "link of 3"};
    for (queue::arena_index piece = 1; piece <= pieces; ++piece) {
        *queue::at<queue::arena_index>(piece) = piece < pieces ? piece + 1 : 0;
        name_word(*queue::at<unsigned>(piece), names[piece]);
    }
    free_list() = 1;
    name_word(free_list(), "head of the free list");
}
/// What an owner does with a piece: writes over the link, and something else, as plain memory.
void use_piece(queue::arena_index piece, unsigned owner) {
    if (piece == 0) return;
    unsigned* const words = queue::at<unsigned>(piece);
    queue::store_relaxed(words[0], some_data);
    require(words[1] == 0, "a piece has one owner");
    words[1] = owner + 1;
}
void give_back_piece(queue::arena_index piece) {
    if (piece == 0) return;
    queue::at<unsigned>(piece)[1] = 0;
    queue::push_free(free_list(), piece);
}
void all_are_back() {
    bool there[pieces + 1] = {};
    auto piece = static_cast<queue::arena_index>(free_list());
    for (unsigned i = 0; i < pieces; ++i) {
        require(piece >= 1 && piece <= pieces && !there[piece], "each piece is back once");
        there[piece] = true;
        piece = *queue::at<queue::arena_index>(piece);
    }
    require(piece == 0, "each piece is back once");
}

TEST_CASE("a piece that warps pop off a free list and push again has one owner at a time") {
    const auto body = [](unsigned thread) {
        const queue::arena_index first = queue::pop_free(free_list());
        use_piece(first, thread);
        const queue::arena_index second = queue::pop_free(free_list());
        use_piece(second, thread);
        give_back_piece(first);
        give_back_piece(second);
    };
    CHECK_HOLDS(worker_blocks(2, put_on_list, body, all_are_back), 30000, 4);
    CHECK_HOLDS(worker_blocks(3, put_on_list, body, all_are_back), 30000, 2);
}

unsigned& lock() { return device().control.stream_lock; }
void name_lock() { name_word(lock(), "lock"); }
void add_one() { ++device().data[0]; }

TEST_CASE("a lock lets one warp at a time into its critical section, and shows it what was done there") {
    const auto body = [](unsigned) {
        for (unsigned i = 0; i < 2; ++i) queue::with_lock(lock(), add_one);
    };
    const auto after = [] { require(device().data[0] == 6, "each addition counts"); };
    CHECK_HOLDS(worker_blocks(3, name_lock, body, after), 20000, 4);
}

TEST_CASE("a lock of a worker block shows what was done there") {
    const auto body = [](unsigned) {
        queue::with_block_lock(lock(), add_one);
        queue::with_block_lock_as_warp(lock(), add_one);
    };
    const auto after = [] { require(device().data[0] == 6, "each addition counts"); };
    CHECK_HOLDS(warps_of_a_block(3, name_lock, body, after), 20000, 4);
}

}  // namespace
