// A Sudoku board in 44 bytes, and what a search needs of it.
#pragma once

#include <cstdint>

#include <dynpar/platform.hpp>

// nvcc unrolls the loops over all cells, so that what they index lies in registers.
#if defined(__CUDA_ARCH__)
#define SUDOKU_UNROLLED _Pragma("unroll")
#else
#define SUDOKU_UNROLLED
#endif

namespace sudoku {

inline constexpr unsigned side = 9;
inline constexpr unsigned cells = side * side;
inline constexpr unsigned all_digits = (1u << side) - 1;

/// The cells row by row, 4 bits each: a digit, or 0 where there is none. (Candidates, 9 bits a cell, would be 92 bytes;
/// they follow from the digits.)
struct board {
    static constexpr unsigned cells_of_word = 8;
    static constexpr unsigned words = (cells + cells_of_word - 1) / cells_of_word;
    std::uint32_t word[words];
};

DYNPAR_FUNCTION inline unsigned digit_at(const board& b, unsigned cell) {
    return b.word[cell / board::cells_of_word] >> 4 * (cell % board::cells_of_word) & 15;
}
/// Into an empty cell.
DYNPAR_FUNCTION inline void put(board& b, unsigned cell, unsigned digit) {
    const std::uint32_t bits = digit << 4 * (cell % board::cells_of_word);
    SUDOKU_UNROLLED
    for (unsigned i = 0; i < board::words; ++i) b.word[i] |= i == cell / board::cells_of_word ? bits : 0;
}

/// A number of a board by which sets of boards are compared.
DYNPAR_FUNCTION inline unsigned long long hash(const board& b) {
    unsigned long long h = 0;
    SUDOKU_UNROLLED
    for (unsigned i = 0; i < board::words; ++i) {
        h = (h ^ b.word[i]) * 0x9e3779b97f4a7c15ull;
        h ^= h >> 29;
    }
    return h;
}

DYNPAR_FUNCTION inline unsigned count_bits(unsigned bits) {
#if DYNPAR_ON_DEVICE
    return static_cast<unsigned>(__popc(bits));
#else
    return static_cast<unsigned>(__builtin_popcount(bits));
#endif
}

/// What a search does next: tries these digits (a bit each, the lowest for 1) in this cell.
struct choice {
    unsigned cell;  ///< `cells`: none is empty, the board is solved
    unsigned digits;
};

/// The empty cell with the fewest digits that its row, its column and its box do not have yet; of several the first. No
/// branches: all threads of a warp go the same way.
DYNPAR_FUNCTION inline choice next_choice(const board& b) {
    unsigned rows[side] = {};  // digits that are there
    unsigned columns[side] = {};
    unsigned boxes[side] = {};
    SUDOKU_UNROLLED
    for (unsigned cell = 0; cell < cells; ++cell) {
        const unsigned row = cell / side;
        const unsigned column = cell % side;
        const unsigned bit = 1u << digit_at(b, cell) >> 1;
        rows[row] |= bit;
        columns[column] |= bit;
        boxes[row / 3 * 3 + column / 3] |= bit;
    }
    // How many digits, which cell, which digits: the least of these numbers is the choice.
    constexpr unsigned none = ~0u;
    unsigned best = none;
    SUDOKU_UNROLLED
    for (unsigned cell = 0; cell < cells; ++cell) {
        const unsigned row = cell / side;
        const unsigned column = cell % side;
        const unsigned digits = all_digits & ~(rows[row] | columns[column] | boxes[row / 3 * 3 + column / 3]);
        const unsigned rank = digit_at(b, cell) != 0 ? none : count_bits(digits) << 16 | cell << 9 | digits;
        best = rank < best ? rank : best;
    }
    if (best == none) return {cells, 0};
    return {best >> 9 & 127, best & all_digits};
}

/// The `index`-th digit of a choice; 0 where there is none.
DYNPAR_FUNCTION inline unsigned digit_of(unsigned digits, unsigned index) {
    for (; index != 0; --index) digits &= digits - 1;
    return digits == 0 ? 0 : count_bits((digits & (0u - digits)) - 1) + 1;
}

}  // namespace sudoku
