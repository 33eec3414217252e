// How many ways there are to place N queens on a board of N by N so that none attacks another: a grid of one thread for
// every placement of the first rows. An uneven tree without joins.
#pragma once

#include <cstdint>

#include <dynpar/dynpar.hpp>

namespace queens {

using number = unsigned long long;

inline constexpr int largest_board = 16;
inline constexpr int most_serial_rows = 12;

/// A board whose upper rows are taken. 8 bytes: with the kernel's own pointer 16, which is what a small launch has room
/// for.
struct board {
    unsigned short columns;  ///< a bit for each column that has a queen
    unsigned short left;     ///< and for each place of the next row that is attacked along a diagonal, from the right
    unsigned short right;    ///< or from the left
    unsigned char size;
    unsigned char serial_rows;  ///< as many rows at the end are left to one thread
};

DYNPAR_FUNCTION inline unsigned whole_row(const board& b) { return (1u << b.size) - 1; }

/// Counts the solutions below a board with one thread and no recursion.
DYNPAR_FUNCTION inline number count_serially(const board& b) {
    struct row {
        unsigned open, columns, left, right;
    };
    row rows[most_serial_rows];
    const unsigned all = whole_row(b);
    number found = 0;
    int at = 0;
    rows[0] = {all & ~(unsigned{b.columns} | b.left | b.right), b.columns, b.left, b.right};
    while (at >= 0) {
        row& here = rows[at];
        if (here.open == 0) {
            --at;
            continue;
        }
        const unsigned place = here.open & (0u - here.open);
        here.open -= place;
        const unsigned columns = here.columns | place;
        if (columns == all) {
            ++found;
            continue;
        }
        const unsigned left = (here.left | place) << 1;
        const unsigned right = (here.right | place) >> 1;
        rows[++at] = {all & ~(columns | left | right), columns, left, right};
    }
    return found;
}

/// Tries every place of the next row, each in a child of its own.
struct place_queen {
    static constexpr const char* name = "place_queen";

    number* solutions;

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, board b) const {
        const unsigned all = whole_row(b);
        if (b.columns == all) {
            dynpar::atomic_add(solutions, number{1});
            return;
        }
        int rows_left = 0;
        for (unsigned rest = all & ~unsigned{b.columns}; rest != 0; rest &= rest - 1) ++rows_left;
        if (rows_left <= b.serial_rows) {
            if (const number found = count_serially(b); found != 0) dynpar::atomic_add(solutions, found);
            return;
        }
        for (unsigned open = all & ~(unsigned{b.columns} | b.left | b.right); open != 0; open &= open - 1) {
            const unsigned place = open & (0u - open);
            block.launch(*this, dynpar::shape(1, 1),
                         board{static_cast<unsigned short>(b.columns | place),
                               static_cast<unsigned short>((b.left | place) << 1),
                               static_cast<unsigned short>((b.right | place) >> 1), b.size, b.serial_rows});
        }
    }
};

inline board empty_board(int size, int serial_rows) {
    return {0, 0, 0, static_cast<unsigned char>(size), static_cast<unsigned char>(serial_rows)};
}

/// The solutions as they are known, by the size of the board (OEIS A000170).
inline number expected(int size) {
    constexpr number known[largest_board + 1] = {1,   1,   0,    0,     2,     10,     4,       40,      92,
                                                 352, 724, 2680, 14200, 73712, 365596, 2279184, 14772512};
    return known[size];
}

}  // namespace queens
