// Sudoku by backtracking: every guess is a thread of its own, which places a digit and then tries all digits of the
// cell that has the fewest left. All solutions are found, and all boards on the way are counted.
#pragma once

#include <cstdint>
#include <vector>

#include <dynpar/dynpar.hpp>

#include "board.hpp"

namespace sudoku {

using number = unsigned long long;

/// What a search finds. A sum of hashes tells sets of solutions apart, whatever their order.
struct findings {
    number boards;
    number solutions;
    number hashes;
};
/// They are counted in so many places.
inline constexpr unsigned counters = 1024;

DYNPAR_FUNCTION inline void count_board(findings* found, const board& b, bool is_solution) {
    const number h = hash(b);
    findings& here = found[h % counters];
    dynpar::atomic_add(&here.boards, number{1});
    if (!is_solution) return;
    dynpar::atomic_add(&here.solutions, number{1});
    dynpar::atomic_add(&here.hashes, h);
}

/// A board and what is to be put there: 48 bytes, as the argument of a launch.
struct guess {
    board before;
    std::uint16_t cell;  ///< `cells`: nothing is put anywhere
    std::uint16_t digit;
};

// ---- Three ways to launch the guesses

/// A grid for each digit, with the board as an argument.
struct place {
    static constexpr const char* name = "place";
    findings* found;

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, guess g) const {
        board b = g.before;
        put(b, g.cell, g.digit);
        const choice next = next_choice(b);
        count_board(found, b, next.cell == cells);
        for (unsigned digits = next.digits; digits != 0; digits &= digits - 1) {
            block.launch(
                *this, dynpar::shape(1, 1),
                guess{b, static_cast<std::uint16_t>(next.cell), static_cast<std::uint16_t>(digit_of(digits, 0))});
        }
    }
};

/// What the guesses for one cell have in common, in scratch memory.
struct open_cell {
    findings* found;
    board before;
    choice next;
};

template <class Block>
DYNPAR_FUNCTION open_cell* visit(Block& block, findings* found, const board& b) {
    const choice next = next_choice(b);
    count_board(found, b, next.cell == cells);
    if (next.digits == 0) return nullptr;
    open_cell* mine = block.template scratch<open_cell>(1);
    if (mine != nullptr) *mine = {found, b, next};  // else there is no memory: the run's report says so
    return mine;
}

/// A grid for each digit; the board is in the parent's scratch memory. A launch carries its address and the digit.
struct place_from {
    static constexpr const char* name = "place_from";

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, const open_cell* from, unsigned digit) const {
        board b = from->before;
        put(b, from->next.cell, digit);
        const open_cell* mine = visit(block, from->found, b);
        if (mine == nullptr) return;
        for (unsigned digits = mine->next.digits; digits != 0; digits &= digits - 1)
            block.launch(*this, dynpar::shape(1, 1), mine, digit_of(digits, 0));
    }
};

/// One grid for all digits of a cell, a block of one thread for each.
struct place_blocks {
    static constexpr const char* name = "place_blocks";

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, const open_cell* from) const {
        board b = from->before;
        put(b, from->next.cell, digit_of(from->next.digits, block.block_rank()));
        const open_cell* mine = visit(block, from->found, b);
        if (mine != nullptr) block.launch(*this, dynpar::shape(count_bits(mine->next.digits), 1), mine);
    }
};

enum class form : int { child, scratch, blocks };

/// A block for each puzzle, which begins its search. With a grid for each guess there is one grid more than boards:
/// this.
struct begin {
    static constexpr const char* name = "begin";
    findings* found;
    const board* puzzles;
    form how;

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block) const {
        const board b = puzzles[block.block_rank()];
        const dynpar::shape one(1, 1);
        if (how == form::child) {
            block.launch(place{found}, one, guess{b, cells, 0});
            return;
        }
        open_cell* mine = block.template scratch<open_cell>(1);
        if (mine == nullptr) return;
        *mine = {found, b, {cells, 0}};
        const open_cell* from = mine;
        if (how == form::scratch) {
            block.launch(place_from{}, one, from, 0u);
        } else {
            block.launch(place_blocks{}, one, from);
        }
    }
};

// ---- On the CPU

/// One thread with a stack of boards. Stops where there are more boards than `most`.
inline findings search_on_cpu(const board& puzzle, number most = ~number{0}) {
    findings found{};
    std::vector<board> stack{puzzle};
    while (!stack.empty() && found.boards <= most) {
        const board b = stack.back();
        stack.pop_back();
        ++found.boards;
        const choice next = next_choice(b);
        if (next.cell == cells) {
            ++found.solutions;
            found.hashes += hash(b);
        }
        for (unsigned digits = next.digits; digits != 0; digits &= digits - 1) {
            stack.push_back(b);
            put(stack.back(), next.cell, digit_of(digits, 0));
        }
    }
    return found;
}

}  // namespace sudoku
