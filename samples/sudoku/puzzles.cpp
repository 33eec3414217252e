#include "puzzles.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <istream>
#include <numeric>
#include <random>
#include <utility>

namespace sudoku {
namespace {

// Where a cell lies, as a reader counts.
std::string place_of(unsigned cell) {
    return "row " + std::to_string(cell / side + 1) + ", column " + std::to_string(cell % side + 1);
}

std::string why_not(const std::string& text) {
    for (std::size_t i = 0; i < text.size() && i < cells; ++i) {
        const auto at = static_cast<unsigned>(i);
        if (text[i] != '.' && (text[i] < '0' || text[i] > '9'))
            return place_of(at) + " is neither a digit nor . for an empty cell";
    }
    if (text.size() != cells)
        return "has " + std::to_string(text.size()) + " cells; give " + std::to_string(cells) +
               ", row by row, . for an empty one";
    for (unsigned a = 0; a < cells; ++a) {
        if (text[a] == '.' || text[a] == '0') continue;
        for (unsigned b = a + 1; b < cells; ++b) {
            const bool same_row = a / side == b / side;
            const bool same_column = a % side == b % side;
            const bool same_box = a / 27 == b / 27 && a % side / 3 == b % side / 3;
            if (text[a] == text[b] && (same_row || same_column || same_box))
                return std::string("the digit ") + text[a] + " is at " + place_of(a) + " and again at " + place_of(b);
        }
    }
    return {};
}

board board_of(const std::string& text) {
    board b{};
    for (unsigned cell = 0; cell < cells; ++cell)
        if (text[cell] != '.') put(b, cell, static_cast<unsigned>(text[cell] - '0'));
    return b;
}

// A number below `bound`. The distributions of the standard library differ from one library to the next.
unsigned draw(std::mt19937& random, unsigned bound) { return static_cast<unsigned>(random() % bound); }

template <class Container>
void shuffle(std::mt19937& random, Container& values) {
    for (auto left = static_cast<unsigned>(values.size()); left > 1; --left)
        std::swap(values[left - 1], values[draw(random, left)]);
}

// The rows, or the columns, in another order: three of a band stay together.
std::array<unsigned, side> new_order(std::mt19937& random) {
    std::array<unsigned, 3> bands{0, 1, 2};
    shuffle(random, bands);
    std::array<unsigned, side> order{};
    for (unsigned band = 0; band < 3; ++band) {
        std::array<unsigned, 3> lines{0, 1, 2};
        shuffle(random, lines);
        for (unsigned line = 0; line < 3; ++line) order[3 * band + line] = 3 * bands[band] + lines[line];
    }
    return order;
}

}  // namespace

std::vector<board> read_puzzles(const std::string& file) {
    errno = 0;
    std::ifstream in(file);
    if (!in) throw puzzle_error(file + ": cannot be read (" + std::strerror(errno) + "); give a file of puzzles");
    return read_puzzles(in, file);
}

std::vector<board> read_puzzles(std::istream& in, const std::string& name) {
    std::vector<board> puzzles;
    char bytes[1024];
    for (unsigned line = 1; in.getline(bytes, sizeof bytes) || in.gcount() == sizeof bytes - 1; ++line) {
        const std::string at = name + ":" + std::to_string(line) + ": ";
        if (!in) throw puzzle_error(at + "the line is too long; give 81 cells");
        std::string text = bytes;
        if (!text.empty() && text.back() == '\r') text.pop_back();
        if (text.empty() || text.front() == '#') continue;
        if (const std::string why = why_not(text); !why.empty()) throw puzzle_error(at + why);
        puzzles.push_back(board_of(text));
    }
    if (in.bad()) throw puzzle_error(name + ": cannot be read; give a file of puzzles");
    if (puzzles.empty()) throw puzzle_error(name + ": has no puzzle; give one a line, of 81 cells");
    return puzzles;
}

std::vector<board> make_puzzles(unsigned count, unsigned clues, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<board> puzzles;
    for (unsigned i = 0; i < count; ++i) {
        const std::array<unsigned, side> rows = new_order(random);
        const std::array<unsigned, side> columns = new_order(random);
        std::array<unsigned, side> digits{};
        std::iota(digits.begin(), digits.end(), 1u);
        shuffle(random, digits);
        std::array<unsigned, cells> kept{};
        std::iota(kept.begin(), kept.end(), 0u);
        shuffle(random, kept);
        board b{};
        for (unsigned clue = 0; clue < clues; ++clue) {
            const unsigned row = rows[kept[clue] / side];
            const unsigned column = columns[kept[clue] % side];
            // Each row is the one above moved by three, and the first row of a band the one of the band above by one.
            put(b, kept[clue], digits[(row % 3 * 3 + row / 3 + column) % side]);
        }
        puzzles.push_back(b);
    }
    return puzzles;
}

std::string to_string(const board& b) {
    std::string text;
    for (unsigned cell = 0; cell < cells; ++cell) {
        const unsigned digit = digit_at(b, cell);
        text += digit == 0 ? '.' : static_cast<char>('0' + digit);
    }
    return text;
}

}  // namespace sudoku
