// Puzzles: read from a file, or made from a seed.
#pragma once

#include <iosfwd>
#include <stdexcept>
#include <string>
#include <vector>

#include "board.hpp"

namespace sudoku {

/// One line: the file, the line and what is wrong with it.
class puzzle_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// A puzzle a line: 81 cells row by row, a digit each, `.` or `0` where there is none. Empty lines, and lines that
/// begin with `#`, are left out. Throws `puzzle_error`.
std::vector<board> read_puzzles(const std::string& file);
/// The same from a stream; `name` stands for the file in errors.
std::vector<board> read_puzzles(std::istream& in, const std::string& name);

/// Puzzles with so many digits, of which each has a solution at least: solved boards, drawn from the seed, without the
/// digits of random cells.
std::vector<board> make_puzzles(unsigned count, unsigned clues, unsigned seed);

/// As in a file.
std::string to_string(const board& b);

}  // namespace sudoku
